"""Unpenalised fits on many subsamples at once, and what is done where there is none.

A subsample may have no unique finite fit: its classes are separated, all counts of a level are zero, or it shows fewer
directions than the whole table does. Such a subsample is fitted again with a weak normal prior on the
standardised scale, N(0, 2.5^2) for each coefficient (Gelman and others 2008; the default of rstanarm), worth about
a sixth of a row, also for the distance of the intercept from that of a model without columns.

That prior takes variance away. With a precision W in a fit of total curvature A, the variance of the posterior exceeds
the variance of the estimate by A^-1 W A^-1. The mean of that over all subsamples is added to S, so a direction that the
subsamples cannot see keeps the weak prior's variance and is not called certain.

Directions that the whole table does not have (a constant column, all levels of a factor and an intercept) are held at zero.

>>> import numpy as np
>>> from tacit.regression.subsample_design import Design
>>> from tacit.regression.subsample_losses import Logistic
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(1000, 2))
>>> y = (X[:, 0] + rng.logistic(size=1000) > 0).astype(float)
>>> fits = loss_fits(Logistic(), Design(X, True), y, list(rng.integers(1000, size=(20, 100))))
>>> fits.values.shape, fits.weak
((20, 1, 3), 0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tacit.arrays import Floats, Integers
from tacit.regression.priors import FLAT, Prior, from_fits
from tacit.regression.subsample_design import BLOCK, Design
from tacit.regression.subsample_losses import Loss
from tacit.regression.subsample_newton import newton, terms

WEAK = 1 / 2.5**2  # precision of the weak prior, standardised columns


class Fits(NamedTuple):
    """Standardised coefficients `values` (m, q, width), and what became of subsamples without a fit of their own.

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
        return from_fits(
            self.values.reshape(m, -1)[:, keep], size, rows, variant, self.held[np.ix_(keep, keep)]
        )


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


def _deficient(z: Floats, absent: Floats) -> Floats:
    """Which batches of rows z (m, n, d) lack a direction that the whole table has."""
    if z.shape[1] + round(np.trace(absent)) < z.shape[2]:
        return np.ones(len(z), dtype=bool)  # type: ignore[return-value]
    gram = z.swapaxes(1, 2) @ z / z.shape[1] + absent
    return np.linalg.eigvalsh(gram)[:, 0] < FLAT * np.trace(gram, axis1=1, axis2=2)  # type: ignore[no-any-return]


def _blocked(work: Callable[[Integers], Any], chosen: Sequence[Integers], width: int, n_jobs: int | None) -> list[Any]:
    """`work` on blocks of subsamples, in threads when asked for: the arithmetic releases the interpreter."""
    step = max(1, BLOCK // max(1, len(chosen[0]) * width))
    parts = [np.array(chosen[i : i + step]) for i in range(0, len(chosen), step)]
    if n_jobs is None or n_jobs == 1:
        return [work(part) for part in parts]
    from joblib import Parallel, delayed

    return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(work)(part) for part in parts)  # type: ignore[no-any-return]


def loss_fits(
    loss: Loss,
    design: Design,
    y: Floats,
    chosen: Sequence[Integers],
    *,
    gram: Floats | None = None,
    n_jobs: int | None = None,
    always_weak: bool = False,
) -> Fits:
    """Fits of a loss on the rows `chosen`, a list of m index arrays of one length.

    With `always_weak` every fit has the weak prior and none is counted as held back: for losses without a likelihood.
    """
    q, d = loss.q, design.width
    absent = missing(design.gram() if gram is None else gram, design.columns)
    centre = np.zeros((q, d))
    if design.intercept:
        centre[:, -1] = loss.null(y)
    centre = centre.ravel()
    none = np.kron(np.eye(q), absent)

    def work(part: Integers) -> tuple[Floats, Floats, int, int]:
        z, answers = design.rows(part), y[part]
        start = np.broadcast_to(centre, (len(part), q * d))

        def hopeless(b: Floats) -> Floats:
            return loss.apart(z @ b.reshape(-1, q, d).swapaxes(1, 2), answers)

        values, held = np.array(start), np.zeros((q * d, q * d))
        short = np.zeros(len(part), dtype=bool) if always_weak else _deficient(z, absent)
        bad = np.ones(len(part), dtype=bool) if always_weak else short | hopeless(start)
        if not bad.all():
            good = newton(lambda b: terms(loss, z, answers, b), start, start, none, hopeless=hopeless)
            values, bad = good.values, bad | ~good.converged
        if bad.any():
            weak = WEAK * np.eye(q * d)
            some, theirs, begin = z[bad], answers[bad], start[bad]
            again = newton(lambda b: terms(loss, some, theirs, b), begin, begin, weak, steps=60)
            values = np.where(bad[:, None], 0.0, values)
            values[bad] = again.values
            if not always_weak:
                inverse = np.linalg.inv(again.curvature)
                held = WEAK * (inverse @ inverse).sum(axis=0)
        return values, held, int(bad.sum()), int((bad & ~short).sum())

    return _joined(_blocked(work, chosen, d * q, n_jobs), q)


def _joined(parts: list[tuple[Floats, Floats, int, int]], q: int) -> Fits:
    values = np.concatenate([part[0] for part in parts])
    held = np.sum([part[1] for part in parts], axis=0) / len(values)
    weak, unbounded = (sum(part[i] for part in parts) for i in (2, 3))
    return Fits(values.reshape(len(values), q, -1), held, int(weak), int(unbounded))


def squared_fits(
    design: Design,
    y: Floats,
    chosen: Sequence[Integers],
    *,
    gram: Floats | None = None,
    n_jobs: int | None = None,
) -> Fits:
    """Least squares on the rows `chosen` by normal equations; the weak prior is in units of y's deviation."""
    d = design.width
    absent = missing(design.gram() if gram is None else gram, design.columns)
    middle = y.mean() if design.intercept else 0.0
    deviation = float(np.sqrt(np.mean((y - middle) ** 2)))

    def work(part: Integers) -> tuple[Floats, Floats, int, int]:
        z, answers = design.rows(part), y[part] - middle
        gram = z.swapaxes(1, 2) @ z
        bad = _deficient(z, absent)
        added = np.where(bad[:, None, None], WEAK * np.eye(d), absent * part.shape[1])
        right = (z.swapaxes(1, 2) @ answers[..., None])[..., 0]
        values = np.linalg.solve(gram + added, right[..., None])[..., 0]
        inverse = np.linalg.inv(gram[bad] + added[bad])
        return values, WEAK * deviation**2 * (inverse @ inverse).sum(axis=0), int(bad.sum()), 0

    fits = _joined(_blocked(work, chosen, d, n_jobs), 1)
    if design.intercept:
        fits.values[..., -1] += middle
    return fits
