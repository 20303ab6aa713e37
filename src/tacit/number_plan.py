"""Planning for a number: of privacy, number of people and error of its location, two give the third.

An efficient estimate from n reports through graded response, at the best place, has the standard error

    error = sigma / sqrt(n I(epsilon)),     I the information about mu of the best graded channel, at sigma = 1.

A study has to find that place first: `NumberPlan.check` simulates whole ones. Without privacy I = 1 for the normal law,
so 1 / I is how many private answers are worth one plain answer.

>>> made = plan_number(scale=10, epsilon=1.0, error=0.5)
>>> made.n, round(made.price, 2)
(2943, 7.36)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from tacit.channels import graded
from tacit.errors import TacitError
from tacit.models import families, finite_information
from tacit.policies.intervals import best_graded
from tacit.rng import generator
from tacit.simulation import simulate
from tacit_client import check

MAX_EPSILON = 20.0
MAX_PEOPLE = 10**12


@dataclass(frozen=True)
class NumberPlan:
    """Privacy, people and standard error of the location that go together, for answers with this scale."""

    family: str
    scale: float
    epsilon: float
    n: int
    error: float

    @property
    def price(self) -> float:
        """How many private answers tell as much about the location as one answer without privacy."""
        return plain_information(self.family) / information(self.family, self.epsilon)

    def check(self, runs: int = 20, policy: str = "information:mu", seed: object = 0) -> tuple[float, float]:
        """Root mean squared error of the location in simulated studies of this size, and its standard error."""
        count = check.integer(runs, "runs", 2, 10_000)
        rng = generator(seed, "seed")
        squared = np.array([self._squared_error(policy, rng) for _ in range(count)])
        root = math.sqrt(squared.mean())
        return root, float(squared.std(ddof=1) / math.sqrt(count) / (2 * root))

    def _squared_error(self, policy: str, rng: np.random.Generator) -> float:
        truth = (rng.normal(0, 3 * self.scale), self.scale)
        done = simulate(truth, self.epsilon, policy, n=self.n, model=self.family, seed=rng)
        return float(done.error[0] ** 2)


def plan_number(
    scale: float,
    epsilon: float | None = None,
    n: int | None = None,
    error: float | None = None,
    family: str = "normal",
) -> NumberPlan:
    """Solve for the one of epsilon, n and error that is left out; `scale` is what sigma is expected to be."""
    name = families.family(family).name
    sigma = float(check.bounded(scale, "scale", lambda v: 0 < v < math.inf, "give a scale above 0"))
    if sum(value is None for value in (epsilon, n, error)) != 1:
        raise TacitError(
            "argument_invalid",
            "two of epsilon, n and error are needed",
            argument="error",
            hint="give two of them; the third is solved for",
        )
    people = None if n is None else check.integer(n, "n", 1, MAX_PEOPLE)
    bound = None if epsilon is None else float(check.epsilon(epsilon))
    wanted = 0.0
    if error is not None:
        wanted = float(check.bounded(error, "error", lambda v: 0 < v < math.inf, "give an error above 0"))
    if bound is None:
        assert people is not None
        bound = _least_epsilon(name, people, wanted / sigma)
    single = sigma / math.sqrt(information(name, bound))
    if people is None:
        people = math.ceil((single / wanted) ** 2)
    return NumberPlan(name, sigma, bound, people, single / math.sqrt(people))


def information(family: str, epsilon: float) -> float:
    """About the location, of one report through the best graded channel, at scale 1."""
    low, high, steps = best_graded(family, epsilon, "mu")
    channel = graded(low, high, steps, epsilon)
    return float(finite_information(family, channel.cuts, channel.matrix(), [[0.0, 1.0]])[0, 0, 0])


@cache
def plain_information(family: str) -> float:
    """About the location, of one answer without privacy, at scale 1: the mean squared score."""
    law = families.family(family)
    middles = (np.arange(100_000) + 0.5) / 100_000
    return float((law.score(law.quantile(middles)) ** 2).mean())


def _least_epsilon(family: str, n: int, relative: float) -> float:
    """The smallest epsilon that reaches the error (in units of the scale) with n people, to three digits."""

    def reached(epsilon: float) -> bool:
        return information(family, epsilon) * n * relative**2 >= 1

    if not reached(MAX_EPSILON):
        least = 1 / (plain_information(family) * relative**2)
        raise TacitError(
            "argument_invalid",
            f"{n} people cannot give an error of {relative:g} scales, even without privacy",
            argument="n",
            hint=f"ask at least {math.ceil(least * 1.1)} people, or accept a larger error",
        )
    low, high = 1e-3, MAX_EPSILON
    while high / low > 1.0005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    digits = 2 - math.floor(math.log10(high))
    return math.ceil(high * 10.0**digits) / 10.0**digits
