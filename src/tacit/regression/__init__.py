"""Regression for scikit-learn: priors that the data give themselves. Nothing here is private.

The estimators follow scikit-learn's contract. They see the data as they are and publish what they fit; a coefficient
can reveal a row. For answers that must stay with people, see `tacit.Study`.
"""

from tacit.regression.priors import Prior, subsample_prior
from tacit.regression.ridge import ClosedFormRidge, closed_form_ridge
from tacit.regression.subsample import SubsampleRidge
from tacit.regression.subsample_glm import SubsampleLogistic, SubsamplePoisson
from tacit.regression.subsample_svc import SubsampleLinearSVC

__all__ = [
    "ClosedFormRidge",
    "Prior",
    "SubsampleLinearSVC",
    "SubsampleLogistic",
    "SubsamplePoisson",
    "SubsampleRidge",
    "closed_form_ridge",
    "subsample_prior",
]
