"""The population of the experiment, its prior, and how an answer becomes a report.

Answers are X ~ N(50, 10), that is sigma = sqrt(10). A priori mu ~ N(0, 10^4) and sigma^2 ~ IG(1, 1), independent.
A report is Y = clip(X, l, r) + b V with b = (r - l) / epsilon and V ~ Laplace(1). A run fixes X and V of everybody, for
every method and epsilon: comparisons are paired.

>>> people = population(0)
>>> people.answers.shape, people.noise.shape
((1000,), (1000,))
>>> report(60.0, 49.0, 51.0, 10.0, noise=1.0)
51.2
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.policies.intervals import best_interval

Floats = npt.NDArray[np.float64]

MU, SIGMA = 50.0, float(np.sqrt(10.0))
PEOPLE = 1000
EPSILONS = (1.0, 2.0, 5.0, 10.0)
PARTICLES = 1000
REACH = 10  # the fixed interval is mu +- REACH sigma
EVERY = 20  # reports between two pictures of the cloud


class Prior(NamedTuple):
    """mu ~ N(mean, variance), sigma^2 ~ inverse gamma(shape, rate)."""

    mean: float = 0.0
    variance: float = 1e4
    shape: float = 1.0
    rate: float = 1.0


PRIOR = Prior()


class People(NamedTuple):
    """Answers (n,) and standard noise (n,)."""

    answers: Floats
    noise: Floats


class Trace(NamedTuple):
    """One study: posterior mean and standard deviation of (mu, sigma), the interval of every report, and clouds.

    `clouds` holds equally weighted particles (P, 2) after every EVERY reports, for figures.
    """

    mean: Floats
    sd: Floats
    intervals: Floats
    clouds: Floats


def population(run: int, n: int = PEOPLE) -> People:
    """The people of a run."""
    rng = np.random.default_rng([run, 4])
    return People(rng.normal(MU, SIGMA, n), rng.laplace(size=n))


def report(answer: float, low: float, high: float, epsilon: float, noise: float) -> float:
    """Clipped Laplace noise; in floating point, so for simulation only."""
    return float(min(max(answer, low), high) + (high - low) / epsilon * noise)


def fixed() -> tuple[float, float]:
    """The interval of the methods that do not adapt."""
    return MU - REACH * SIGMA, MU + REACH * SIGMA


def best(epsilon: float) -> tuple[float, float]:
    """The paper's (a*, b*), for information about mu; rounded, so that no run hangs on an optimiser's last digit."""
    low, high = best_interval("normal", epsilon, "mu")
    return round(low, 4), round(high, 4)
