"""The scalar penalty of a ridge in closed form, from one least squares fit: no grid, no folds.

For centred columns with n S = X'X, eigenvalues e_j of S, and g_j the squared coordinates of the true coefficients
in its eigenbasis, the ridge with penalty v has the expected squared error of prediction

    R(v) = sum_j e_j (s^2 n e_j + v^2 g_j) / (n e_j + v)^2.

The thesis expands this to second order around v = 0 and gets

    v = tr S^-1 / (tr S^-2 / n + b' S^-1 b / s^2),

which fails where the best v is not small beside n e_j: "thesis". "exact" minimises R itself, in one dimension.

Both need b, and have the least squares fit, whose g_j is too large by s^2 / (n e_j) on average: b' S^-1 b is too
large by s^2 tr S^-2 / n. `correct` takes that away. R is then an unbiased estimate of the risk (Mallows' C_L
without its constant), and needs no b at all. What the formulas need is that the noise has one variance s^2, and
more rows than columns.

Source: appendix A.1 of Aydın's thesis; Mallows (1973). No privacy.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(100, 60))
>>> y = X @ rng.normal(size=60) + 10 * rng.normal(size=100)
>>> fit = closed_form_ridge(X, y)
>>> bool(10 < fit.penalty < 1000)
True
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils import check_X_y

from tacit.arrays import Floats
from tacit.errors import TacitError

RULES = ("exact", "thesis")


class ClosedFormRidge(NamedTuple):
    """A ridge fit: `penalty` (of |b|^2 beside the sum of squares), `coef` (p,), `intercept`, and `noise_variance`."""

    penalty: float
    coef: Floats
    intercept: float
    noise_variance: float

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Means at the rows of X."""
        return np.asarray(X, dtype=np.float64) @ self.coef + self.intercept


def risk(penalty: Floats | float, eigenvalues: Floats, squares: Floats, noise: float, rows: int) -> Floats:
    """R(v) at one penalty or many (...,), for eigenvalues e (p,) and squared coordinates g (p,)."""
    v = np.asarray(penalty, dtype=np.float64)[..., None]
    scaled = rows * eigenvalues
    parts = eigenvalues * (noise * scaled + v**2 * squares) / (scaled + v) ** 2
    total: Floats = parts.sum(axis=-1)
    return total


def thesis_penalty(eigenvalues: Floats, squares: Floats, noise: float, rows: int) -> float:
    """The thesis' second-order penalty; a b' S^-1 b below zero, which the correction can give, counts as zero."""
    signal = max(float((squares / eigenvalues).sum()), 0.0)
    return float((1 / eigenvalues).sum() / ((eigenvalues**-2.0).sum() / rows + signal / noise))


def exact_penalty(eigenvalues: Floats, squares: Floats, noise: float, rows: int) -> float:
    """The minimum of R: the best of 400 penalties over all scales that matter, then Brent's method around it."""
    low, high = np.log(1e-6 * rows * eigenvalues.min()), np.log(1e6 * rows * eigenvalues.max())
    grid = np.linspace(low, high, 400)
    at = int(np.argmin(risk(np.exp(grid), eigenvalues, squares, noise, rows)))
    around = (grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)])
    found = minimize_scalar(
        lambda u: float(risk(np.exp(u), eigenvalues, squares, noise, rows)),
        bounds=around, method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    best = min(
        (float(found.x), float(grid[at])), key=lambda u: risk(np.exp(u), eigenvalues, squares, noise, rows)
    )
    return float(np.exp(best))


def closed_form_ridge(X: Any, y: Any, *, rule: str = "exact", correct: bool = True) -> ClosedFormRidge:  # noqa: N803
    """The ridge with the penalty of a rule, "exact" or "thesis", for a table X (N, p) and numbers y (N,).

    The columns are centred, not scaled: scale them first if their units differ. The intercept is not penalised.
    """
    if rule not in RULES:
        raise TacitError(
            "argument_invalid", f"rule is {rule!r}", argument="rule", hint="give exact or thesis"
        )
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True)  # noqa: N806
    middle, mean = X.mean(axis=0), float(y.mean())
    values, vectors = np.linalg.eigh((X - middle).T @ (X - middle))
    seen = values > 1e-10 * max(values[-1], 0.0)  # a direction without data keeps the coefficient 0
    values, vectors = values[seen], vectors[:, seen]
    n, free = len(y), len(y) - 1 - len(values)
    if free < 1 or len(values) == 0:
        raise TacitError(
            "argument_invalid", f"X has {n} rows and {len(values)} independent columns", argument="X",
            hint="give at least two rows more than columns, and a column that varies; or use SubsampleRidge",
        )  # fmt: skip
    right = vectors.T @ ((X - middle).T @ (y - mean))
    plain = right / values
    noise = float(((y - mean - (X - middle) @ (vectors @ plain)) ** 2).sum()) / free
    if noise <= 1e-24 * float(np.mean((y - mean) ** 2)) or noise == 0.0:
        penalty = 0.0
    else:
        squares = plain**2 - (noise / values if correct else 0.0)
        pick = exact_penalty if rule == "exact" else thesis_penalty
        penalty = pick(values / n, squares, noise, n)
    coef = vectors @ (right / (values + penalty))
    return ClosedFormRidge(penalty, coef, float(mean - middle @ coef), noise)
