"""Regression for scikit-learn: residuals that are a mixture, and priors from the data themselves. Nothing is private.

The estimators follow scikit-learn's contract. They see the data as they are and publish what they fit; a coefficient
can reveal a row. For answers that must stay with people, see `tacit.Study`.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(300, 3))
>>> y = X @ [1.0, 3.0, -2.0] + rng.standard_cauchy(300)
>>> MixtureRegressor().fit(X, y).coef_.round()
array([ 1.,  3., -2.])
"""

from tacit.errors import TacitError

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "sklearn":
        raise

    class _Missing(TacitError, ImportError):
        """A refusal that is an ImportError too, for those who import on trial."""

    raise _Missing(
        "dependency_missing",
        "tacit.regression needs scikit-learn",
        hint="pip install 'tacit[regression]'",
    ) from None

from tacit.regression.families import Cauchy, Family, Gaussian, Huber, Laplace, StudentT
from tacit.regression.mixture import Convergence, MixtureRegressor
from tacit.regression.plots import plot_outliers, plot_residuals
from tacit.regression.priors import Prior, subsample_prior
from tacit.regression.ridge import ClosedFormRidge, closed_form_ridge
from tacit.regression.selection import MixtureRegressorCV, Step
from tacit.regression.subsample import SubsampleRidge
from tacit.regression.subsample_glm import SubsampleLogistic, SubsamplePoisson
from tacit.regression.subsample_svc import SubsampleLinearSVC
from tacit.regression.trimmed import TrimmedRegressor

__all__ = [
    "Cauchy",
    "ClosedFormRidge",
    "Convergence",
    "Family",
    "Gaussian",
    "Huber",
    "Laplace",
    "MixtureRegressor",
    "MixtureRegressorCV",
    "Prior",
    "Step",
    "StudentT",
    "SubsampleLinearSVC",
    "SubsampleLogistic",
    "SubsamplePoisson",
    "SubsampleRidge",
    "TrimmedRegressor",
    "closed_form_ridge",
    "plot_outliers",
    "plot_residuals",
    "subsample_prior",
]
