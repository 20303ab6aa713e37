"""The naive way with outliers: leave them out, fit again, and so on.

Rows whose absolute residual is above three times the mean absolute residual are left out of least squares, then all
rows are judged again by the new line, until the same rows stay. It is fast and, where outliers are far and errors
are light, hard to beat (tables 3.4 to 3.6 of the thesis). It has no model of the residuals: it says neither how
sure it is nor how far off a row is, it trims good rows too, and its answer may depend on where it started. It gives
no privacy.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(200, 1))
>>> y = X @ [2.0] + rng.normal(size=200)
>>> y[:10] += 50
>>> model = TrimmedRegressor().fit(X, y)
>>> model.coef_.round(1), int((~model.inlier_mask_[:10]).sum())
(array([2.]), 10)
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tacit.regression import checks
from tacit.regression.design import Design
from tacit.regression.linear import LinearPredictor


class TrimmedRegressor(LinearPredictor):
    """Least squares without the rows whose residuals are above `threshold` times the mean absolute residual.

    Attributes: `coef_` (p,), `intercept_`, `inlier_mask_` (n,) True for the rows that stayed, `n_iter_`. It gives no
    privacy.
    """

    def __init__(self, threshold: float = 3.0, *, fit_intercept: bool = True, max_iter: int = 100) -> None:
        self.threshold = threshold
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Trim and fit until the same rows stay."""
        threshold = checks.number(self.threshold, "threshold", above=1)
        rounds = checks.whole(self.max_iter, "max_iter", 1)
        X, y, v = self._read(X, y, sample_weight)  # noqa: N806
        design = Design(X, v, bool(self.fit_intercept))
        inside, seen = np.ones(len(y), dtype=bool), set()
        for self.n_iter_ in range(1, rounds + 1):
            beta = design.solve(v * inside, y, design.flat)
            r = np.abs(y - design.predict(beta))
            seen.add(inside.tobytes())
            near = r <= max(threshold * float(v @ r) / float(v.sum()), 1e-12 * float(np.abs(y).max()))
            if np.count_nonzero(near & (v > 0)) <= design.rank or (near == inside).all():
                break
            inside = near
            # Trimming may go round in circles; each state of a circle is as good as the others.
            if inside.tobytes() in seen:
                break
        else:
            warnings.warn(
                f"the rows that stay still change after {rounds} rounds: raise max_iter",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.inlier_mask_ = inside
        self.intercept_, self.coef_ = design.user(beta, 0.0, 1.0)
        return self
