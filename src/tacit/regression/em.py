"""The EM algorithm of a mixture of m-estimators, faster and no less safe.

Residuals r_i = y_i - x_i' b have density f(r) = sum_j a_j f_j(r; s_j). One round, with row weights v:

    z_ij  proportional to a_j f_j(r_i; s_j)                 whose row is i?
    a_j   = sum_i v_i z_ij / sum_i v_i
    b     = penalised least squares with weights v_i sum_j z_ij w_j(r_i)
    s_j   = highest sum_i v_i z_ij log f_j(r_i; s_j), with the new residuals and the old z, kept above a floor

No round lowers sum_i v_i log f(r_i) - 1/2 (b - m)' P (b - m). (Aydın's thesis divides each component's weights by
their sum, which loses this; a test shows it.) EM is slow where components overlap, so two rounds are extended along
the path they took (SQUAREM; Varadhan and Roland, 2008, Scandinavian Journal of Statistics 35), and the longer step is
kept only where the objective is at least that of the first round.

All is in units of a typical residual, so that floors and tolerances mean the same for every y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from tacit.arrays import Floats, Integers
from tacit.regression.design import BLOCK, Design, Penalty
from tacit.regression.families import Family

LEAST = 1e-12  # weight of a component that is gone; a row that nothing else explains brings it back
GONE = 1e-9  # weight below which a scale is left as it is
SMALL = 0.05  # weight of a component that may be about to go
CEILING = 1e8  # of a scale
TINY = 1e-290  # density below which logarithms are needed


class State(NamedTuple):
    """Coefficients (q,), weights (J,) and scales (J,)."""

    beta: Floats
    weights: Floats
    scales: Floats


class Expectation(NamedTuple):
    """What a state says of the rows: residuals (n,), z v (J, n), weights for least squares (n,), and the objective."""

    r: Floats
    z: Floats
    w: Floats
    value: float


@dataclass(frozen=True)
class Problem:
    """Rows, families and what may move: `floor` of the scales, `learned` whether they move at all."""

    design: Design
    y: Floats
    v: Floats
    families: tuple[Family, ...]
    penalty: Penalty
    floor: float
    learned: bool
    total: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", float(self.v.sum()))

    def expect(self, state: State) -> Expectation:
        """Residuals, responsibilities and the objective."""
        r = self.y - self.design.predict(state.beta)
        z, w = np.empty((len(self.families), len(r))), np.empty(len(r))
        value = -self.penalty.value(state.beta)
        for start in range(0, len(r), BLOCK):
            rows = slice(start, start + BLOCK)
            v = self.v[rows]
            part, log = responsibilities(self.families, state, r[rows])
            value += float(v @ log)
            part *= v
            z[:, rows] = part
            w[rows] = row_weights(self.families, state, r[rows], part)
        return Expectation(r, z, w, value)

    def maximise(self, state: State, seen: Expectation) -> State:
        """One round of EM from what `expect` saw."""
        beta = self.design.solve(seen.w, self.y, self.penalty)
        weights = seen.z.sum(axis=1) / self.total
        if not self.learned:
            return State(beta, weights, state.scales)
        r = self.y - self.design.predict(beta)
        scales = state.scales.copy()
        for k, one in enumerate(self.families):
            if weights[k] > GONE:
                scales[k] = one.best_scale(r, seen.z[k], float(scales[k]), self.floor, CEILING)
        return State(beta, weights, scales)

    def extend(self, zero: State, one: State, two: State) -> State | None:
        """Where the path from `zero` over `one` to `two` is heading."""
        path = [self._flatten(state) for state in (zero, one, two)]
        step = path[1] - path[0]
        bend = path[2] - path[1] - step
        length = float(np.linalg.norm(bend))
        if length == 0:
            return None
        alpha = max(float(np.linalg.norm(step)) / length, 1.0)
        far = path[0] + 2 * alpha * step + alpha**2 * bend
        q, j = self.design.q, len(self.families)
        if not np.isfinite(far).all() or np.abs(far[q:]).max() > 300:
            return None
        weights = np.maximum(np.exp(far[q : q + j]), LEAST)
        scales = np.clip(np.exp(far[q + j :]), self.floor, CEILING) if self.learned else two.scales
        return State(far[:q], weights / weights.sum(), scales)

    def without(self, one: State, two: State) -> State | None:
        """`two` without its components that are small and shrink: they would take EM a thousand rounds to lose."""
        fading = (two.weights < SMALL) & (two.weights < one.weights) & (two.weights > 2 * LEAST)
        if not fading.any():
            return None
        weights = np.where(fading, LEAST, two.weights)
        return two._replace(weights=weights / weights.sum())

    def _flatten(self, state: State) -> Floats:
        parts = [state.beta, np.log(np.maximum(state.weights, LEAST))]
        return np.concatenate([*parts, np.log(state.scales)] if self.learned else parts)

    def take(self, rows: Integers) -> Problem:
        """The same on some of the rows; a prior counts in proportion to them."""
        design = self.design.take(rows)
        v = self.v[rows]
        share = float(v.sum()) / self.total
        penalty = Penalty(self.penalty.precision * share, self.penalty.pull * share)
        return replace(self, design=design, y=self.y[rows], v=v, penalty=penalty)


class Climb(NamedTuple):
    """Where a climb ended: `history` is the objective of each state on its way."""

    state: State
    seen: Expectation
    history: list[float]
    rounds: int
    converged: bool


def responsibilities(families: tuple[Family, ...], state: State, r: Floats) -> tuple[Floats, Floats]:
    """z (J, n) and log f (n,) at residuals r (n,)."""
    if len(families) == 1:
        return np.ones((1, len(r))), families[0].log_density(r, float(state.scales[0]))
    z = np.empty((len(families), len(r)))
    for row, one, a, s in zip(z, families, state.weights, state.scales, strict=True):
        np.multiply(one.density(r, float(s)), a, out=row)
    total = z.sum(axis=0)
    if total.min() >= TINY:
        z /= total
        return z, np.log(total, out=total)
    return far_responsibilities(families, state, r)


def far_responsibilities(families: tuple[Family, ...], state: State, r: Floats) -> tuple[Floats, Floats]:
    """The same by logarithms, for residuals that are so far off that all densities vanish as floats."""
    logs = [
        one.log_density(r, float(s)) + (math.log(a) if a > 0 else -math.inf)
        for one, a, s in zip(families, state.weights, state.scales, strict=True)
    ]
    z = np.array(logs)
    top = z.max(axis=0)
    z = np.exp(z - top)
    total = z.sum(axis=0)
    return z / total, top + np.log(total)


def row_weights(families: tuple[Family, ...], state: State, r: Floats, z: Floats) -> Floats:
    """sum_j z_ij w_j(r_i), (n,)."""
    found = np.zeros(len(r))
    for one, part, s in zip(families, z, state.scales, strict=True):
        found += part * one.weight(r, float(s))
    return found


def climb(problem: Problem, state: State, rounds: int, tol: float) -> Climb:
    """Rounds of EM, extended where that helps, until neither gains `tol` for each row, or `rounds` are over."""
    seen = problem.expect(state)
    history, enough, used = [seen.value], tol * problem.total, 0
    while used < rounds:
        one = problem.maximise(state, seen)
        at_one = problem.expect(one)
        used += 1
        history.append(at_one.value)
        settled = at_one.value - seen.value <= enough
        if used >= rounds:
            return Climb(one, at_one, history, used, settled)
        two = problem.maximise(one, at_one)
        used += 1
        ahead = [
            far for far in (problem.extend(state, one, two), problem.without(one, two)) if far is not None
        ]
        there = [problem.expect(far) for far in ahead]
        state, seen = max(
            zip(ahead, there, strict=True), key=lambda pair: pair[1].value, default=(two, at_one)
        )
        if not ahead or seen.value < at_one.value:
            state, seen = two, problem.expect(two)
        history.append(seen.value)
        if settled and seen.value - at_one.value <= enough:
            return Climb(state, seen, history, used, True)
    return Climb(state, seen, history, used, False)
