"""The estimators keep scikit-learn's contract."""

import pytest

pytest.importorskip("sklearn")
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.regression import MixtureRegressor, MixtureRegressorCV, TrimmedRegressor


# As in scikit-learn's own tests: some of its data have more columns than rows, or no noise.
@pytest.mark.filterwarnings("ignore:least squares leaves no residuals:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        MixtureRegressor(),
        MixtureRegressor(("student_t", "huber", "gaussian"), alpha=0.1, covariance="information"),
        MixtureRegressor("laplace", scales="fixed", fit_intercept=False),
        MixtureRegressorCV(),
        TrimmedRegressor(),
    ]
)
def test_scikit_learns_contract(estimator, check):
    check(estimator)
