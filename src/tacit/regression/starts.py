"""From rows to a fitted mixture: the unit, the starts, and the climb.

The unit is a typical residual: 1.4826 times the median absolute one of least squares, or of a line nearer to least
absolute deviations where that is much smaller. EM starts at the coefficients of least absolute deviations with
three spreads of the heavier components, if asked also at those of least squares and of least squares on the half of
the rows that fit best; each start climbs a little, and the best one to the end. From 32,768 rows on (or 40 for each
coefficient) all this happens on a sample of half as many, and only the end on all.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from tacit.arrays import Floats
from tacit.regression.design import Design
from tacit.regression.em import Climb, Problem, State, climb
from tacit.regression.families import Family

NORMAL = 1.4826  # standard deviation over median absolute value
NOTHING = 1e-9  # part of the spread of y that is rounding
SHORT = 4  # rounds of each start
SPREADS = (3.0, 10.0, 1.0)  # of the heavier components, beside a Gaussian
SAMPLE, SAMPLE_EACH = 16_384, 20  # rows that starts climb on, at least, and for each coefficient
AWAKE = 0.02  # least weight of a component when all rows come in: the sample may have missed what it is for
MOST_STARTS = 9


class Settings(NamedTuple):
    """What a fit is told: `fixed` the scales if they do not move, `prior` mean and precision of the coefficients."""

    families: tuple[Family, ...]
    fixed: Floats | None
    prior: tuple[Floats, Floats] | None
    intercept: bool
    floor: float
    n_starts: int
    max_iter: int
    tol: float


class Fit(NamedTuple):
    """A problem in its own coordinates, what was found there, and the way back: y = centre + unit times its y."""

    problem: Problem
    climb: Climb
    starts: tuple[float, ...]
    centre: float
    unit: float
    perfect: bool

    @property
    def log_likelihood(self) -> float:
        """sum v log f(r), in units of y, without the prior."""
        of_prior = self.problem.penalty.value(self.climb.state.beta)
        return self.climb.seen.value + of_prior - self.problem.total * float(np.log(self.unit))


def median(values: Floats, v: Floats) -> float:
    """The lower weighted median."""
    if v.max() == v.min():
        place = (len(values) + 1) // 2 - 1
        return float(np.partition(values, place)[place])
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(v[order])
    return float(values[order[np.searchsorted(mass, mass[-1] / 2 * (1 - 1e-12))]])


def fit(x: Any, y: Floats, v: Floats, settings: Settings, rng: np.random.Generator) -> Fit:
    """The whole of it. Rows of weight 0 take no part."""
    if v.min() <= 0:
        keep = np.flatnonzero(v > 0)
        x, y, v = x[keep], y[keep], v[keep]
    design = Design(x, v, settings.intercept)
    centre = median(y, v) if settings.intercept else 0.0
    unit, perfect = typical(design, y - centre, v, settings.prior is not None)
    learned = settings.fixed is None
    problem = Problem(
        design,
        (y - centre) / unit,
        v,
        settings.families,
        design.flat if settings.prior is None else design.penalty(settings.prior[1], settings.prior[0], unit),
        settings.floor if learned else 0.0,
        learned,
    )
    fixed = None if settings.fixed is None else settings.fixed / unit
    if perfect:
        return Fit(problem, at_rest(problem, fixed), (), centre, unit, perfect)
    start, values = best_start(problem, fixed, settings, rng)
    found = climb(problem, start, settings.max_iter, settings.tol)
    return Fit(problem, found, values, centre, unit, perfect)


def typical(design: Design, y: Floats, v: Floats, penalised: bool) -> tuple[float, bool]:
    """The unit, and whether least squares leaves no residuals to speak of."""
    spread = middle(np.abs(y), v)
    r = np.abs(y - design.predict(design.solve(v, y, design.flat)))
    if middle(r, v, NOTHING * spread) > NOTHING * spread:
        return NORMAL * smaller(design, y, v, r, NOTHING * spread), False
    if penalised and spread > 0:
        # Least squares meets all rows, but a penalty keeps the line away from them.
        return NORMAL * spread, False
    return NORMAL * 1e-6 * spread if spread > 0 else 1.0, True


def smaller(design: Design, y: Floats, v: Floats, r: Floats, nothing: float) -> float:
    """The typical residual of a line nearer to least absolute deviations, as long as that is much less.

    Far outliers turn the line of least squares, and then its typical residual says little.
    """
    size = middle(r, v, nothing)
    for _ in range(50):
        beta = design.solve(v / np.maximum(r, 0.07 * size), y, design.flat)
        left = np.abs(y - design.predict(beta))
        found = middle(left, v, nothing)
        if not nothing < found < 0.9 * size:
            break
        r, size = left, found
    return size


def middle(r: Floats, v: Floats, nothing: float = 0.0) -> float:
    """The median of `r`, or of what is above `nothing` where half of it is not."""
    found = median(r, v)
    if found > nothing or not (r > nothing).any():
        return found
    return median(r[r > nothing], v[r > nothing])


def at_rest(problem: Problem, fixed: Floats | None) -> Climb:
    """The line through all rows. The likelihood has no maximum there, so the scales stand at their floor."""
    count = len(problem.families)
    scales = np.full(count, problem.floor) if fixed is None else fixed
    state = State(squares(problem), np.full(count, 1 / count), scales)
    seen = problem.expect(state)
    return Climb(state, seen, [seen.value], 0, True)


def best_start(
    problem: Problem, fixed: Floats | None, settings: Settings, rng: np.random.Generator
) -> tuple[State, tuple[float, ...]]:
    """The state that the best of the starts climbs to, and the objective of each for one row."""
    few = problem
    size = max(SAMPLE, SAMPLE_EACH * problem.design.q)
    if problem.design.n >= 2 * size:
        few = problem.take(np.sort(rng.choice(problem.design.n, size, replace=False)))
    count = 1 if [one.name for one in problem.families] == ["gaussian"] else settings.n_starts
    climbs = [climb(few, state, SHORT, settings.tol) for state in starts(few, fixed, count)]
    best = max(climbs, key=lambda one: one.seen.value)
    state = best.state
    if few is not problem:
        state = climb(few, state, settings.max_iter, settings.tol).state
        weights = np.maximum(state.weights, AWAKE)
        state = state._replace(weights=weights / weights.sum())
    return state, tuple(one.seen.value / few.total for one in climbs)


def starts(problem: Problem, fixed: Floats | None, count: int) -> list[State]:
    """The first `count` of three lines times three spreads of the heavier components."""
    lines = (absolute, squares, trimmed)[: 1 if fixed is None and count <= 3 else 3]
    found = []
    for line in lines:
        beta = line(problem)
        for spread in SPREADS if fixed is None else (1.0,):
            scales = fixed if fixed is not None else first_scales(problem, beta, spread)
            found.append(State(beta, np.full(len(scales), 1 / len(scales)), scales))
    return found[:count]


def first_scales(problem: Problem, beta: Floats, spread: float) -> Floats:
    """Of one family the second is three times the first; those that are not Gaussian times `spread`."""
    size = median(np.abs(problem.y - problem.design.predict(beta)), problem.v) or 1.0
    seen: dict[str, int] = {}
    scales = []
    for one in problem.families:
        scales.append(
            one.median * size * 3.0 ** seen.get(one.name, 0) * (spread if one.name != "gaussian" else 1)
        )
        seen[one.name] = seen.get(one.name, 0) + 1
    return np.maximum(scales, problem.floor)


def squares(problem: Problem) -> Floats:
    """Least squares."""
    return problem.design.solve(problem.v, problem.y, problem.penalty)


def absolute(problem: Problem) -> Floats:
    """Nearly least absolute deviations."""
    beta = squares(problem)
    for _ in range(8):
        r = np.abs(problem.y - problem.design.predict(beta))
        beta = problem.design.solve(problem.v / np.maximum(r, 0.05), problem.y, problem.penalty)
    return beta


def trimmed(problem: Problem) -> Floats:
    """Least squares on the better half of the rows, three times over."""
    beta = absolute(problem)
    for _ in range(3):
        r = np.abs(problem.y - problem.design.predict(beta))
        near = problem.v * (r <= median(r, problem.v))
        if np.count_nonzero(near) <= problem.design.q:
            return beta
        beta = problem.design.solve(near, problem.y, problem.penalty)
    return beta


def warn(fit: Fit, max_iter: int) -> None:
    """Tell what a user must know of a fit that is there all the same."""
    from sklearn.exceptions import ConvergenceWarning

    if fit.perfect:
        warnings.warn(
            "least squares leaves no residuals (y is a linear function of X, or X has too few rows): scales and "
            "likelihoods mean nothing; give more rows than columns, or a penalty (alpha)",
            UserWarning,
            stacklevel=3,
        )
    if not fit.climb.converged:
        warnings.warn(
            f"EM has not settled after {max_iter} rounds: raise max_iter or tol, or standardise X and y",
            ConvergenceWarning,
            stacklevel=3,
        )
