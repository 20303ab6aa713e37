"""Fits on many subsamples at once, and what is done where there is none.

A subsample may have no unique finite fit: its classes are separated, all counts of a level are zero, or it shows
fewer directions than the whole table does. Such a subsample gets a weak prior: N(0, 2.5^2) for each standardised
coefficient, the default of rstanarm (Gelman and others 2008), worth about a sixth of a row, and the same for its
intercept around that of a model without columns. The covariance of such fits is too small: with the curvature A of
loss and weak prior W together, a posterior has the covariance A^-1, a shrunk fit only A^-1 - A^-1 W A^-1. So the
mean of A^-1 W A^-1 is added to S, and a direction that no subsample sees keeps the variance 2.5^2. Directions that
the whole table does not have (a constant column, all levels of a factor beside an intercept) are held at zero.

>>> import numpy as np
>>> from tacit.regression.subsample_design import Design
>>> from tacit.regression.subsample_losses import Logistic
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(1000, 2))
>>> y = (X[:, 0] + rng.logistic(size=1000) > 0).astype(float)
>>> design, rows = Design(X, intercept=True), list(rng.integers(1000, size=(20, 100)))
>>> gram = design.gram()
>>> fits = loss_fits(Logistic(), design, y, rows, gram=gram)
>>> fits.values.shape, fits.weak
((20, 1, 3), 0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tacit.arrays import Floats, Integers
from tacit.regression.priors import FLAT, Prior, from_fits
from tacit.regression.subsample_design import BLOCK, Booleans, Design
from tacit.regression.subsample_losses import Loss
from tacit.regression.subsample_newton import Terms, newton, terms

WEAK = 1 / 2.5**2  # precision of the weak prior, standardised columns
ROUGH = 1e-2  # the decrement at which fits of subsamples stop: a tenth of a deviation before their last step


class Fits(NamedTuple):
    """Standardised coefficients `values` (m, q, width), and how many are not plain fits.

    `held` is the mean variance that weak priors took away, `weak` counts the subsamples that needed one, and
    `unbounded` those of them that show every direction, so that only more rows would help.
    """

    values: Floats
    held: Floats
    weak: int
    unbounded: int

    def prior(self, columns: int, size: int, rows: int, variant: str) -> Prior:
        """The prior of the q x columns standardised slopes."""
        m = len(self.values)
        q, width = self.values.shape[1:]
        keep = (np.arange(q * width) % width) < columns
        slopes = self.values.reshape(m, -1)[:, keep]
        return from_fits(slopes, size, rows, variant, self.held[np.ix_(keep, keep)])


def missing(gram: Floats, columns: int) -> Floats:
    """A projection (width, width) on the directions of the slopes that a table with this Z'Z does not have."""
    projection = np.zeros_like(gram)
    slopes = gram[:columns, :columns]
    if columns < len(gram):  # what is left beside the intercept
        slopes = slopes - np.outer(gram[:columns, -1], gram[-1, :columns]) / gram[-1, -1]
    values, vectors = np.linalg.eigh(slopes)
    none = vectors[:, values <= FLAT * max(values[-1], 1e-300)]
    projection[:columns, :columns] = none @ none.T
    return projection


def each(q: int, matrix: Floats) -> Floats:
    """The block-diagonal matrix of q copies."""
    made: Floats = np.kron(np.eye(q), matrix)  # type: ignore[assignment]
    return made


def _deficient(z: Floats, absent: Floats) -> Booleans:
    """Which batches of rows z (m, n, d) lack a direction that the whole table has."""
    if z.shape[1] + round(np.trace(absent)) < z.shape[2]:
        return np.ones(len(z), dtype=bool)
    gram = z.swapaxes(1, 2) @ z / z.shape[1] + absent
    return np.linalg.eigvalsh(gram)[:, 0] < FLAT * np.trace(gram, axis1=1, axis2=2)  # type: ignore[no-any-return]


def _blocked(
    work: Callable[[Integers], Any], chosen: Sequence[Integers], width: int, n_jobs: int | None
) -> list[Any]:
    """`work` on blocks of subsamples, in threads when asked for: the arithmetic releases the interpreter."""
    step = max(1, BLOCK // max(1, len(chosen[0]) * width))
    parts = [np.array(chosen[i : i + step]) for i in range(0, len(chosen), step)]
    if n_jobs is None or n_jobs == 1:
        return [work(part) for part in parts]
    from joblib import Parallel, delayed

    done: list[Any] = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(work)(part) for part in parts)
    return done


def _joined(parts: list[tuple[Floats, Floats, int, int]], q: int) -> Fits:
    values = np.concatenate([part[0] for part in parts])
    held = np.sum([part[1] for part in parts], axis=0) / len(values)
    weak, unbounded = (sum(part[i] for part in parts) for i in (2, 3))
    return Fits(values.reshape(len(values), q, -1), held, int(weak), int(unbounded))


def diagonal(design: Design, q: int, slopes: float) -> Floats:
    """A diagonal precision: `slopes`, and the weak prior's for the intercept."""
    one = np.full(design.width, slopes)
    one[design.columns :] = WEAK
    return np.diag(np.tile(one, q))


class _Part:
    """The rows of a block of subsamples, and Newton's method on them."""

    def __init__(self, loss: Loss, z: Floats, y: Floats, centre: Floats) -> None:
        self.loss, self.z, self.y = loss, z, y
        self.start = np.tile(centre, (len(z), 1))

    def _terms(self, who: Integers) -> Terms:
        z, y = self.z[who], self.y[who]
        return lambda b: terms(self.loss, z, y, b)

    def apart(self, who: Integers, b: Floats) -> Booleans:
        """Who has no finite fit, as b shows."""
        eta = self.z[who] @ b.reshape(len(who), self.loss.q, -1).swapaxes(1, 2)
        return self.loss.apart(eta, self.y[who])

    def plain(self, who: Integers, precision: Floats) -> tuple[Floats, Booleans]:
        """Fits without a prior, and which of them are none."""
        done = newton(
            lambda some: self._terms(who[some]), self.start[who], self.start[who], precision, small=ROUGH,
            hopeless=lambda some, b: self.apart(who[some], b),
        )  # fmt: skip
        return done.values, ~done.converged

    def shrunk(self, who: Integers, precision: Floats, start: Floats) -> tuple[Floats, Floats]:
        """Fits with a prior, and their curvatures."""
        done = newton(
            lambda some: self._terms(who[some]), start, self.start[who], precision, steps=60, small=ROUGH
        )
        return done.values, done.curvature


def centre_of(loss: Loss, design: Design, y: Floats) -> Floats:
    """Where weak priors have their centre (q width): no slopes, and the intercepts of a model without columns."""
    centre = np.zeros((loss.q, design.width))
    if design.intercept:
        centre[:, -1] = loss.null(y)
    return centre.ravel()


def loss_fits(
    loss: Loss,
    design: Design,
    y: Floats,
    chosen: Sequence[Integers],
    *,
    gram: Floats,
    n_jobs: int | None = None,
    all_weak: bool = False,
) -> Fits:
    """Fits of a loss on the rows `chosen`, a list of m index arrays of one length; `gram` is Z'Z of all rows.

    With `all_weak` nobody looks for plain fits.
    """
    q, d = loss.q, design.width
    centre, none = centre_of(loss, design, y), each(q, missing(gram, design.columns))
    prior = diagonal(design, q, WEAK)

    def work(block: Integers) -> tuple[Floats, Floats, int, int]:
        part = _Part(loss, design.rows(block), y[block], centre)
        everyone = np.arange(len(block))
        values, held = part.start.copy(), np.zeros((q * d, q * d))
        if all_weak:
            short, weak = np.zeros(len(block), dtype=bool), np.ones(len(block), dtype=bool)
        else:
            short = _deficient(part.z, none[:d, :d])
            weak = short | part.apart(everyone, part.start)
        rest = np.flatnonzero(~weak)
        if len(rest):
            values[rest], weak[rest] = part.plain(rest, none)
        who = np.flatnonzero(weak)
        if len(who):
            values[who], curvature = part.shrunk(who, prior, part.start[who])
            inverse = np.linalg.inv(curvature)
            held = (inverse @ prior @ inverse).sum(axis=0)
        return values, held, int(weak.sum()), int((weak & ~short).sum())

    return _joined(_blocked(work, chosen, d * q, n_jobs), q)


def unbounded(loss: Loss, design: Design, y: Floats, trial: Sequence[Integers], gram: Floats) -> bool:
    """Whether most subsamples have no finite fit although they show every direction: more rows would help."""
    rows, none = np.array(trial), each(loss.q, missing(gram, design.columns))
    part = _Part(loss, design.rows(rows), y[rows], centre_of(loss, design, y))
    everyone = np.arange(len(rows))
    apart = part.apart(everyone, part.start)
    short = _deficient(part.z, none[: design.width, : design.width])
    who = np.flatnonzero(~apart & ~short)
    if len(who):
        apart[who] = part.plain(who, none)[1]
    return bool(2 * (apart & ~short).sum() > len(rows))


def moments(design: Design, y: Floats) -> tuple[float, float]:
    """The mean that least squares starts from, and the deviation of y, by which the weak prior is free of units."""
    middle = float(y.mean()) if design.intercept else 0.0
    return middle, float(np.sqrt(np.mean((y - middle) ** 2)))


def squared_fits(
    design: Design,
    y: Floats,
    chosen: Sequence[Integers],
    *,
    gram: Floats,
    n_jobs: int | None = None,
) -> Fits:
    """Least squares on the rows `chosen` by normal equations; the weak prior's deviation is in units of y's."""
    d = design.width
    absent = missing(gram, design.columns)
    middle, deviation = moments(design, y)
    prior = diagonal(design, 1, WEAK)

    def work(block: Integers) -> tuple[Floats, Floats, int, int]:
        z, answers = design.rows(block), y[block] - middle
        products = z.swapaxes(1, 2) @ z
        weak = _deficient(z, absent)
        added = np.where(weak[:, None, None], prior, absent * block.shape[1])
        right = (z.swapaxes(1, 2) @ answers[..., None])[..., 0]
        values = np.linalg.solve(products + added, right[..., None])[..., 0]
        inverse = np.linalg.inv(products[weak] + added[weak])
        held: Floats = deviation**2 * (inverse @ prior @ inverse).sum(axis=0)
        return np.asarray(values, dtype=np.float64), held, int(weak.sum()), 0

    fits = _joined(_blocked(work, chosen, d, n_jobs), 1)
    if design.intercept:
        fits.values[..., -1] += middle
    return fits
