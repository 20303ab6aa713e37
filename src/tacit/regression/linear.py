"""What the linear estimators of this room share: reading rows and weights, and predicting.

>>> read_weights(None, 3)
array([1., 1., 1.])
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tacit.arrays import Floats
from tacit.errors import TacitError


class LinearPredictor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What linear estimators share: `predict`, and reading of X, y and weights."""

    coef_: Floats
    intercept_: float

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """intercept + X coef, (n,)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)  # noqa: N806
        found: Floats = X @ self.coef_ + self.intercept_
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Floats, Floats]:  # noqa: N803
        X, y = validate_data(  # noqa: N806
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True, ensure_min_samples=2
        )
        y = np.asarray(y, dtype=np.float64)
        return X, y, read_weights(sample_weight, len(y))


def read_weights(sample_weight: Any, n: int) -> Floats:
    """Weights (n,), not negative and not all 0; None and one number stand for equal ones."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, float(sample_weight))
    v = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if v.shape != (n,) or v.min() < 0 or v.max() == 0:
        raise TacitError(
            "argument_invalid",
            f"sample_weight has the shape {v.shape} and values from {v.min():g} to {v.max():g}",
            argument="sample_weight",
            hint=f"give {n} weights, one a row, none negative and not all zero",
        )
    return np.asarray(v, dtype=np.float64)
