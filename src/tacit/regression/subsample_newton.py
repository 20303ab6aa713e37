"""Newton's method with halved steps on many penalised fits at once.

Member i of a batch minimises  sum of losses + (b - centre)' P (b - centre) / 2.  The decrement g' H^-1 g is the
squared length of a step in posterior standard deviations, so it says when to stop in units that mean something:
after a step with a decrement of 1e-10, what is left is of the order of its square.

Where no finite fit is best (separated classes, a column whose rows all count zero) Newton's steps do not shrink
quadratically but by exp(-1) each. So a fit is only called converged when the decrement is small and fell
by more than a factor of ten, or when nothing was left to gain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tacit.arrays import Floats, Integers
from tacit.regression.subsample_design import Booleans
from tacit.regression.subsample_losses import Loss

SMALL = 1e-10  # a decrement after which one more step ends the search
FALL = 0.1  # and it must have fallen by this factor: a diverging fit's falls by exp(-1)
SLOW = 0.2  # a decrement below 1 that three times fell by less belongs to a fit that has no end
JITTER = 1e-13  # part of the mean curvature added to every direction: a flat one is not moved along

State = tuple[Floats, Floats, Floats]
Terms = Callable[[Floats], State]


class Fits(NamedTuple):
    """`values` (m, D), the `curvature` there (m, D, D) with the penalty in it, and who `converged` (m,)."""

    values: Floats
    curvature: Floats
    converged: Booleans


def terms(loss: Loss, z: Floats, y: Floats, b: Floats) -> State:
    """Sum of the loss over rows z (m, n, d), its gradient (m, q d) and curvature (m, q d, q d) at b (m, q d)."""
    m, _, d = z.shape
    q = loss.q
    eta = z @ b.reshape(m, q, d).swapaxes(1, 2)
    with np.errstate(all="ignore"):  # a step too far may overflow; its value is then refused
        return _sums(loss, z, y, eta)


def _sums(loss: Loss, z: Floats, y: Floats, eta: Floats) -> State:
    m, _, d = z.shape
    q = loss.q
    value, slope, curve = loss.rows(eta, y)
    gradient = (slope.swapaxes(1, 2) @ z).reshape(m, q * d)
    curvature = np.empty((m, q, d, q, d))
    for i in range(q):
        for j in range(i):
            curvature[:, i, :, j, :] = z.swapaxes(1, 2) @ (z * curve[..., i, j, None])
            curvature[:, j, :, i, :] = curvature[:, i, :, j, :].swapaxes(1, 2)
        weighted = z * np.sqrt(np.maximum(curve[..., i, i, None], 0.0))
        for member, rows in enumerate(
            weighted
        ):  # numpy multiplies a matrix by its own transpose in half the time
            np.matmul(rows.T, rows, out=curvature[member, i, :, i, :])
    return value.sum(axis=1), gradient, curvature.reshape(m, q * d, q * d)


def _penalised(parts: State, b: Floats, centre: Floats, precision: Floats) -> State:
    value, gradient, curvature = parts
    off = b - centre
    pull = (precision @ off[..., None])[..., 0]
    return value + 0.5 * (off * pull).sum(axis=-1), gradient + pull, curvature + precision


def solve(curvature: Floats, gradient: Floats, damping: float = 0.0) -> Floats:
    """(curvature + damping)^-1 gradient, not moving along flat directions."""
    size = curvature.shape[-1]
    mean = np.trace(curvature, axis1=-2, axis2=-1) / size
    ridge = JITTER * np.maximum(mean, np.finfo(float).tiny / JITTER) + damping
    return np.linalg.solve(curvature + ridge[:, None, None] * np.eye(size), gradient[..., None])[..., 0]


class _Batch:
    """The members still at work: their numbers, and a function for them alone, made again when many have ended."""

    def __init__(
        self, terms_of: Callable[[Integers], Terms], centre: Floats, precision: Floats, m: int
    ) -> None:
        self.terms_of, self.centre, self.precision = terms_of, centre, precision
        self.who = np.arange(m)
        self.evaluate = terms_of(self.who)

    def keep(self, who: Integers) -> None:
        """Go on with these members only."""
        self.who, self.evaluate = who, self.terms_of(who)

    def at(self, b: Floats, some: Integers | None = None) -> State:
        """The penalised objective, its gradient and its curvature; of some of those at work, or of all."""
        if some is None:
            return _penalised(self.evaluate(b), b, self.centre[self.who], self.precision)
        who = self.who[some]
        return _penalised(self.terms_of(who)(b), b, self.centre[who], self.precision)


def newton(
    terms_of: Callable[[Integers], Terms],
    start: Floats,
    centre: Floats,
    precision: Floats,
    *,
    steps: int = 25,
    small: float = SMALL,
    damping: float = 0.0,
    hopeless: Callable[[Integers, Floats], Booleans] | None = None,
) -> Fits:
    """Minimise every member from `start` (m, D), with a prior at `centre` (m, D) of `precision` (D, D).

    `terms_of(members)` gives the function that evaluates those members. `hopeless(members, values)` may give some
    up early; `small` is the decrement at which a fit ends.
    """
    m, size = start.shape
    values, curvature, good = start.copy(), np.zeros((m, size, size)), np.zeros(m, dtype=bool)
    batch = _Batch(terms_of, centre, precision, m)
    b, state = start.copy(), batch.at(start)
    before, active = np.full(m, np.inf), np.ones(m, dtype=bool)
    slow = np.zeros(m, dtype=np.int64)
    for _ in range(steps):
        step = solve(state[2], state[1], damping)
        decrement = np.maximum((state[1] * step).sum(axis=1), 0.0) * active
        fell = (decrement <= FALL * before) | (decrement < SMALL * SMALL)
        slow = np.where((decrement < 1.0) & (decrement > SLOW * before), slow + 1, 0)
        b, state, moved = _search(batch, b, state, step * active[:, None], decrement)
        done = active & (decrement < small) & (fell | ~moved)
        values[batch.who], curvature[batch.who] = b, state[2]
        good[batch.who] |= done
        active &= ~done & moved
        before = decrement
        if hopeless is not None and active.any():
            active &= ~hopeless(batch.who, b)
            active &= slow < 3
        if not active.any():
            break
        if active.sum() < 0.7 * len(active):
            b, before, slow = b[active], before[active], slow[active]
            state = (state[0][active], state[1][active], state[2][active])
            batch.keep(batch.who[active])
            active = np.ones(len(b), dtype=bool)
    return Fits(values, curvature, good)


def _search(
    batch: _Batch, b: Floats, state: State, step: Floats, decrement: Floats
) -> tuple[Floats, State, Booleans]:
    """Halve the steps of the members that would not come down; those that cannot move stay where they are."""
    there = b - step
    found = batch.at(there)
    floor = 1e-13 * np.abs(state[0])  # below the sum's own rounding nothing can be seen
    length = 1.0
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~(found[0] <= state[0] - 1e-4 * decrement + floor))
    moved = np.ones(len(b), dtype=bool)
    while len(bad):
        length *= 0.5
        stuck = length < 1e-10
        there[bad] = b[bad] if stuck else b[bad] - length * step[bad]
        part = batch.at(there[bad], bad)
        for all_of, some in zip(found, part, strict=True):
            all_of[bad] = some
        if stuck:
            moved[bad] = False
            break
        with np.errstate(invalid="ignore"):
            fine = part[0] <= state[0][bad] - 1e-4 * length * decrement[bad] + floor[bad]
        bad = bad[~fine]
    return there, found, moved
