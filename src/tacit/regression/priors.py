"""A prior for the coefficients of a linear model from fits on small parts of the data.

Draw m subsamples of n of the N rows, each without replacement, and fit the model on each. The mean of the fits is
the prior mean b0, their covariance S (divisor m - 1) the prior covariance, by one of four rules:

    full        S
    diag        the diagonal of S
    adjusted    n S: the variance of one row's worth of data, a weaker prior
    jackknife   n / (N - n) S: the delete-d jackknife estimate of the covariance of the fit on all N rows

A fit on n rows has about N / n times the variance of the fit on all rows. So `full` is a prior worth n rows,
`adjusted` one worth a single row, and `jackknife` one worth as much as the data again: the data then count twice,
and a posterior that treats this prior as outside knowledge states half the variance that it has (`coef_interval`
does not). The thesis' jackknife factor, n (m - 1) / ((N - n) m), belongs to a covariance with divisor m; on S it is
too small by (m - 1) / m.

Where the subsamples did not vary, S is singular, and the prior says nothing: `Prior.precision` is the
pseudo-inverse of S. With m <= p subsamples there always are such directions.

Source: chapter 2 of Aydın's thesis, and Shao and Wu (1989) for the jackknife. It gives no privacy: a prior shows the
rows that made it.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(2000, 2))
>>> y = X @ [1.0, -1.0] + rng.normal(size=2000)
>>> least_squares = lambda X, y: np.linalg.lstsq(X, y, rcond=None)[0]
>>> prior = subsample_prior(least_squares, X, y, n_subsamples=40, size=100, rng=1)
>>> prior.mean.round(1)
array([ 1., -1.])
>>> bool(np.allclose(np.sqrt(np.diag(prior.cov)), 0.1, atol=0.03))  # sigma / sqrt(size)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from tacit.arrays import Floats, Integers
from tacit.errors import TacitError
from tacit.rng import generator

VARIANTS = ("full", "diag", "adjusted", "jackknife")
FLAT = 1e-10  # a direction with less than this part of the largest scaled variance did not vary


@dataclass(frozen=True)
class Prior:
    """A normal prior of coefficients: `mean` (p,), `cov` (p, p), and the `spread` S (p, p) before the variant."""

    mean: Floats
    cov: Floats
    spread: Floats

    @cached_property
    def precision(self) -> Floats:
        """The pseudo-inverse of `cov` (p, p): zero in directions that the subsamples say nothing about."""
        return pseudo_inverse(self.cov)


def pseudo_inverse(matrix: Floats, flat: float = FLAT) -> Floats:
    """The inverse of a covariance, zero where it has no variance; its units are taken out first."""
    scale = np.sqrt(np.clip(np.diag(matrix), 0.0, None))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    values, vectors = np.linalg.eigh(matrix * np.outer(inverse, inverse))
    known = values > flat * max(values[-1], 0.0)
    half = vectors[:, known] / np.sqrt(values[known])
    made: Floats = (half @ half.T) * np.outer(inverse, inverse)
    return made


def from_fits(fits: Floats, size: int, rows: int, variant: str, held: Floats | float = 0.0) -> Prior:
    """The prior of fits (m, p) on `size` of `rows` rows.

    `held` is the variance that priors of the fits themselves took away: it is added, and no variant scales it.
    """
    mean = fits.mean(axis=0)
    apart = fits - mean
    spread = apart.T @ apart / (len(fits) - 1)
    if variant == "diag":
        return Prior(mean, np.diag(np.diag(spread + held)), spread)
    factors = {"full": 1.0, "adjusted": float(size), "jackknife": size / (rows - size)}
    return Prior(mean, spread * factors[variant] + held, spread)


def plan(
    rows: int, columns: int, n_subsamples: int | None, size: int | float | None, variant: str = "full"
) -> tuple[int, int]:
    """How many subsamples of how many rows; `size` may be a share of the rows, None stands for the defaults.

    The default is a twentieth of the rows, at least 5 for each coefficient and at most half of the rows, and then
    as many subsamples as it takes to use every row once, at least 20. A full covariance is inverted: it gets
    2 subsamples for each coefficient, up to 200, since with m near p its inverse is mostly noise.
    """
    n = _size(rows, columns, size)
    if n_subsamples is None:
        enough = 0 if variant == "diag" else min(2 * columns, 200)
        return max(20, math.ceil(rows / n), enough), n
    if _whole(n_subsamples) and 2 <= n_subsamples <= 100_000:
        return int(n_subsamples), n
    raise TacitError(
        "argument_invalid", f"n_subsamples is {n_subsamples!r}", argument="n_subsamples",
        hint="give a whole number from 2 to 100000, or None",
    )  # fmt: skip


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _size(rows: int, columns: int, size: int | float | None) -> int:
    if rows < 2:
        raise TacitError(
            "argument_invalid", f"X has n_samples = {rows}", argument="X", hint="give two rows or more"
        )
    if size is None:
        return max(1, min(max(math.ceil(rows / 20), 5 * (columns + 1)), rows // 2))
    if _whole(size) and 1 <= size < rows:
        return int(size)
    if isinstance(size, float | np.floating) and 0 < size < 1:
        return min(max(1, round(float(size) * rows)), rows - 1)
    raise TacitError(
        "argument_invalid", f"size is {size!r} with {rows} rows", argument="size",
        hint=f"give a whole number from 1 to {rows - 1}, a share of the rows between 0 and 1, or None",
    )  # fmt: skip


def check_variant(variant: object) -> str:
    """`variant`, or a refusal."""
    if isinstance(variant, str) and variant in VARIANTS:
        return variant
    raise TacitError(
        "argument_invalid", f"variant is {variant!r}", argument="variant",
        hint=f"give one of {', '.join(VARIANTS)}",
    )  # fmt: skip


def draws(rows: int, m: int, n: int, rng: np.random.Generator) -> Iterator[Integers]:
    """The row numbers of m subsamples; each is without replacement, and they are independent."""
    for _ in range(m):
        yield rng.choice(rows, size=n, replace=False, shuffle=False).astype(np.int64, copy=False)


def subsample_prior(
    fit: Callable[[Any, Any], Any],
    X: Any,  # noqa: N803
    y: Any,
    *,
    n_subsamples: int | None = None,
    size: int | float | None = None,
    variant: str = "full",
    rng: object = 0,
    n_jobs: int | None = None,
) -> Prior:
    """The prior of the coefficients that `fit(X, y)` returns, from fits on subsamples of the rows.

    `fit` takes some rows of X (N, p) and of y, and returns a vector: coefficients without the intercept, which a
    prior should not pull. `size` is a number of rows or a share of them. With `n_jobs` the fits run in parallel
    (joblib).
    """
    kind = check_variant(variant)
    table = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    target = np.asarray(y)
    if table.ndim != 2 or target.ndim == 0 or len(target) != table.shape[0]:
        raise TacitError(
            "argument_invalid", f"X has the shape {table.shape} and y {target.shape}", argument="X",
            hint="give a table of rows and one y for each",
        )  # fmt: skip
    m, n = plan(table.shape[0], table.shape[1], n_subsamples, size, kind)
    chosen = draws(len(target), m, n, generator(rng))
    if n_jobs is None:
        results = [fit(table[rows], target[rows]) for rows in chosen]
    else:
        from joblib import Parallel, delayed

        results = Parallel(n_jobs=n_jobs)(delayed(fit)(table[rows], target[rows]) for rows in chosen)
    try:
        fits = np.array([np.ravel(result) for result in results], dtype=np.float64)
    except (ValueError, TypeError):
        fits = np.empty((m, 0))
    if fits.ndim != 2 or fits.shape[1] == 0 or not np.isfinite(fits).all():
        raise TacitError(
            "argument_invalid", f"a fit on {n} rows has no finite coefficients", argument="fit",
            hint="give a larger size, or a fit that returns finite numbers, always as many, whatever rows it gets",
        )  # fmt: skip
    return from_fits(fits, n, len(target), kind)
