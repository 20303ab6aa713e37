"""Policies for a number: where to cut its range, given what is known of its location and scale.

All of them ask through graded response (`channels.graded`): the answer is placed among a few equal cells, and a
neighbouring cell is the likelier report the nearer it is. They differ in where the cells are.

| name | cells |
| --- | --- |
| information, information:mu, information:sigma | those that leave the least posterior variance: of both, of one |
| truncation | the paper's: best for the base law, moved and scaled to one posterior draw (Thompson sampling) |
| static | the whole range in eight even steps, always |

**What a report is worth.** With posterior draws theta_i = (mu_i, sigma_i), f = (mu, ln sigma) and p_y(theta) the
probability of report y through a channel c, one report explains of the posterior covariance S of f the part

    C = sum over y of cov(f, p_y) cov(f, p_y)' / mean(p_y),

which is exact, however wide the posterior is, for the best linear estimate from that report. It is worth as much as an
observation with the precision G = (S - C)^-1 - S^-1. As the posterior narrows, G becomes the Fisher information of the
channel. After the n reports of the next round the covariance is about (S^-1 + n G)^-1, and `information` takes the
channel with the least tr(W (S^-1 + n G)^-1), W the weights of squared errors of mu and sigma: an error of sigma
counts half as much as one of mu, or all of it goes to one of them (`information:mu`, `information:sigma`). One
threshold tells about one direction of (mu, sigma) only: the formula sees that for n reports, and spreads thresholds
over the rounds.

>>> rng = np.random.default_rng(1)
>>> known = np.column_stack([rng.normal(50, 0.3, 400), np.exp(rng.normal(1, 0.05, 400))])
>>> grid = Grid("0", "100", "1")
>>> policy("information:mu", families.family("normal"), grid).choose(known, 1.0, 100, rng).cuts
array([50.5])
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np

from tacit import channels
from tacit.arrays import Floats
from tacit.channels.binned import BinnedChannel
from tacit.errors import TacitError
from tacit.models import families
from tacit.policies.intervals import best_graded
from tacit_client import build, check

STEPS = (1, 2, 3, 4, 6, 8)  # of graded response; more than 1 + epsilon never paid
EVEN = 8  # steps of the static channel
CENTRES = np.linspace(-2.5, 2.5, 21)  # in units of the spread of an answer, as predicted
WIDTHS = np.geomspace(0.5, 6, 9)  # from the first cut to the last, likewise
POINTS = 128  # posterior draws that a choice looks at
WEIGHTS = {"both": (1.0, 0.25), "mu": (1.0, 0.0), "sigma": (0.0, 1.0)}


@dataclass(frozen=True)
class Grid:
    """The numbers that may be answered: lowest, highest and step of a Question. Cuts lie half-way between two."""

    lowest: str
    highest: str
    step: str

    @property
    def cells(self) -> int:
        """How many cuts there can be."""
        return int((Fraction(self.highest) - Fraction(self.lowest)) / Fraction(self.step))

    def cuts(self, wanted: Floats) -> tuple[Fraction, ...]:
        """The nearest places for cuts, each once, in order."""
        low, step = Fraction(self.lowest), Fraction(self.step)
        places = np.floor((np.asarray(wanted) - float(low)) / float(step))
        return tuple(
            low + (int(i) + Fraction(1, 2)) * step for i in np.unique(np.clip(places, 0, self.cells - 1))
        )


class NumberPolicy(Protocol):
    """Chooses the channel of the next round."""

    @property
    def name(self) -> str:
        """As given to `policy`."""

    @property
    def adaptive(self) -> bool:
        """Whether the choice looks at the draws."""

    def choose(self, points: Floats, epsilon: float, n: int, rng: np.random.Generator) -> BinnedChannel:
        """From posterior draws (P, 2) of (mu, sigma) and the number of reports that the round will take."""


@dataclass(frozen=True)
class Information:
    """The least expected posterior variance after the round."""

    name: str
    family: families.Family
    grid: Grid
    weights: tuple[float, float]
    adaptive: bool = True

    def choose(self, points: Floats, epsilon: float, n: int, rng: np.random.Generator) -> BinnedChannel:
        chosen = points[np.linspace(0, len(points) - 1, min(POINTS, len(points))).astype(int)]
        return graded_at(self.grid, best_cuts(chosen, self.family, epsilon, n, self.weights), epsilon)


@dataclass(frozen=True)
class Static:
    """Graded response over the whole range."""

    grid: Grid
    name: str = "static"
    adaptive: bool = False

    def choose(self, points: Floats, epsilon: float, n: int, rng: np.random.Generator) -> BinnedChannel:
        ends = float(Fraction(self.grid.lowest)), float(Fraction(self.grid.highest))
        return graded_at(self.grid, equal_cuts(*ends, EVEN), epsilon)


@dataclass(frozen=True)
class Truncation:
    """The best interval for the base law, moved and scaled to one posterior draw."""

    name: str
    family: families.Family
    grid: Grid
    score: str = "mu"
    adaptive: bool = True

    def choose(self, points: Floats, epsilon: float, n: int, rng: np.random.Generator) -> BinnedChannel:
        mu, sigma = points[rng.integers(len(points))]
        low, high, steps = best_graded(self.family, epsilon, self.score)
        return graded_at(self.grid, mu + sigma * equal_cuts(low, high, steps), epsilon)


def best_cuts(
    points: Floats, family: families.Family, epsilon: float, n: int, weights: tuple[float, float]
) -> Floats:
    """Among equal cells of every number, place and width: the cuts (steps,) with the least expected variance."""
    mu, sigma = points.T
    middle, typical = mu.mean(), np.exp(np.log(sigma).mean())
    spread = np.sqrt(mu.var() + typical**2)
    scaled = np.diag([weights[0], weights[1] * typical**2])  # an error of ln sigma is one of sigma over sigma
    best, least = np.empty(0), np.inf
    for steps in (count for count in STEPS if count <= 1 + epsilon):
        candidates = middle + spread * _candidates(steps)
        values = expected_variance(candidates, points, family, _rows(steps, epsilon), n, scaled)
        place = int(values.argmin())
        if values[place] < least * (1 - 1e-9):
            best, least = candidates[place], values[place]
    return best


def expected_variance(
    cuts: Floats, points: Floats, family: families.Family, rows: Floats, n: int, weights: Floats
) -> Floats:
    """tr(W (S^-1 + n G)^-1) for candidates of cuts (C, m), shape (C,); `rows` is P(report | cell)."""
    mu, sigma = points.T
    below = family.cdf((cuts - mu[:, None, None]) / sigma[:, None, None])
    ends = np.ones((*below.shape[:2], 1))
    cells = np.diff(np.concatenate([0 * ends, below, ends], axis=2), axis=2)
    p = cells @ rows.T  # (P, C, reports)
    f = np.column_stack([mu, np.log(sigma)])
    f = f - f.mean(axis=0)
    with_report = np.einsum("pf,pcy->cyf", f, p) / len(f)
    explained = np.einsum("cyf,cyg,cy->cfg", with_report, with_report, 1 / p.mean(axis=0))
    # What is known for sure, such as a given scale, still has to have a precision.
    floor = np.array([1e-6 * (sigma**2).mean(), 1e-6])
    prior = f.T @ f / len(f) + 1e-9 * np.diag(f.var(axis=0) + floor)
    before = np.linalg.inv(prior)
    gained = np.linalg.inv(prior - explained) - before
    after = np.linalg.inv(before + n * gained)
    out: Floats = np.einsum("fg,cgf->c", weights, after)
    return out


@cache
def _candidates(steps: int) -> Floats:
    """Cuts (C, steps) around 0."""
    if steps == 1:
        return np.linspace(CENTRES[0], CENTRES[-1], 4 * len(CENTRES) - 3)[:, None]
    shape = np.linspace(-0.5, 0.5, steps)
    grid = CENTRES[:, None, None] + WIDTHS[None, :, None] * shape
    return grid.reshape(-1, steps)


@cache
def _rows(steps: int, epsilon: float) -> Floats:
    """The matrix of graded response."""
    return channels.graded(0, 1, steps, epsilon).matrix()


def equal_cuts(low: float, high: float, steps: int) -> Floats:
    """Half-way between the steps + 1 grades from low to high."""
    return low + (np.arange(steps) + 0.5) * (high - low) / steps


def graded_at(grid: Grid, cuts: Floats, epsilon: float) -> BinnedChannel:
    """Graded response with cuts at the nearest places of the grid."""
    places = grid.cuts(cuts)
    inner = channels.graded(0, 1, len(places), epsilon).inner
    return BinnedChannel(build.binned(places, inner.table), inner)


def policy(name: object, family: families.Family, grid: Grid) -> NumberPolicy:
    """The policy of a name."""
    if isinstance(name, str):
        head, _, aim = name.partition(":")
        if head == "information" and (aim in WEIGHTS or name == head):
            return Information(name, family, grid, WEIGHTS[aim or "both"])
        if name == "truncation":
            return Truncation(name, family, grid)
        if name == "static":
            return Static(grid)
    raise TacitError(
        "argument_invalid",
        f"policy is {check.shown(name)}",
        argument="policy",
        hint="give one of information, information:mu, information:sigma, truncation, static",
    )
