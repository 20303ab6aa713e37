"""Planning: of privacy, number of people and error, two give the third.

The error is the expected total variation between the estimated and the true shares. For an unbiased estimate through
the best static subset channel each share has a known variance v_k (respondents and noise both), its error is close to
normal, and so

    error = 1/2 sum over k of sqrt(2 v_k / pi),    v_k proportional to 1 / n.

v_k is a concave function of theta_k, the same for every k, so the sum of roots is largest for even shares: these are
taken when theta is left out, and no population is worse. The default study does better where shares are uneven, because
it learns that; `Plan.check` simulates it.

>>> plan(k=10, epsilon=1.0, error=0.03).n
53059
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit import arrays, channels
from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.rng import generator
from tacit.simulation import simulate
from tacit_client import check
from tacit_client.tables import Subsets

MAX_EPSILON = 20.0
MAX_PEOPLE = 10**12


@dataclass(frozen=True)
class Plan:
    """Privacy, people and expected error that go together, for the population `theta`."""

    k: int
    epsilon: float
    n: int
    error: float
    theta: Floats

    @property
    def channel(self) -> Channel[Subsets]:
        """The static channel that the error is computed for."""
        return channels.subset(self.k, self.epsilon)

    def check(self, runs: int = 20, policy: str = "risk", seed: object = 0) -> tuple[float, float]:
        """Mean error of simulated default studies of this size, and its standard error."""
        count = check.integer(runs, "runs", 2, 10_000)
        rng = generator(seed, "seed")
        errors = [simulate(self.theta, self.epsilon, policy, n=self.n, seed=rng).tv for _ in range(count)]
        return float(np.mean(errors)), float(np.std(errors, ddof=1) / math.sqrt(count))


def plan(
    k: int,
    epsilon: float | None = None,
    n: int | None = None,
    error: float | None = None,
    theta: npt.ArrayLike | None = None,
) -> Plan:
    """Solve for the one of epsilon, n and error that is left out; theta=None takes even shares, the worst case."""
    size = check.integer(k, "k", 2, 100_000)
    if sum(value is None for value in (epsilon, n, error)) != 1:
        raise TacitError(
            "argument_invalid",
            "two of epsilon, n and error are needed",
            argument="error",
            hint="give two of them; the third is solved for",
        )
    shares = np.full(size, 1 / size) if theta is None else arrays.distribution(theta, "theta", size)
    people = None if n is None else check.integer(n, "n", 1, MAX_PEOPLE)
    bound = None if epsilon is None else float(check.epsilon(epsilon))
    wanted = 0.0
    if error is not None:
        wanted = float(check.bounded(error, "error", lambda v: 0 < v < 1, "give an error between 0 and 1"))
    if bound is None:
        assert people is not None
        bound = _least_epsilon(size, people, wanted, shares)
    single = error_of_one(size, bound, shares)
    if people is None:
        people = math.ceil((single / wanted) ** 2)
    return Plan(size, bound, people, single / math.sqrt(people), shares)


def error_of_one(k: int, epsilon: float, theta: Floats) -> float:
    """The expected error with n reports, times sqrt(n)."""
    channel = channels.subset(k, epsilon)
    variance = channel.unbiased(channel.frequencies(theta), 1)[1]
    return float(np.sqrt(2 * variance / math.pi).sum() / 2)


def _least_epsilon(k: int, n: int, error: float, theta: Floats) -> float:
    """The smallest epsilon that reaches the error with n people, to three digits, rounded up."""

    def reached(epsilon: float) -> bool:
        return bool(error_of_one(k, epsilon, theta) <= error * math.sqrt(n))

    if not reached(MAX_EPSILON):
        least = float(np.sqrt(2 * theta * (1 - theta) / math.pi).sum() / 2)
        raise TacitError(
            "argument_invalid",
            f"{n} people cannot give an error of {error:g}, even without privacy",
            argument="n",
            hint=f"ask at least {math.ceil((least / error) ** 2 * 1.01)} people, or accept a larger error",
        )
    low, high = 1e-3, MAX_EPSILON
    while high / low > 1.0005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    digits = 2 - math.floor(math.log10(high))
    return math.ceil(high * 10.0**digits) / 10.0**digits
