"""The paper's adaptive method without latent answers: particles (mu, sigma), moved on the exact likelihood.

Clipped Laplace noise of a normal answer has a density in closed form (`tacit.models.clipped`), so there is nothing
latent to sample. `tacit.posterior.smc` does the rest: O(N) for a report and O(N t) for a move, of which there are
O(log n), so O(N n) in all; each report keeps its own interval, O(N + n) numbers.

>>> from experiments.adaptive_truncation.people import population
>>> trace = adaptive(population(0), 5.0, np.random.default_rng(1))
>>> trace.mean.round(), trace.intervals.shape
(array([50.,  3.]), (1000, 2))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from experiments.adaptive_truncation.people import (
    EVERY,
    PARTICLES,
    PRIOR,
    Floats,
    People,
    Trace,
    best,
    report,
)

from tacit.models import Normal
from tacit.models.clipped import ClippedTable
from tacit.posterior import smc
from tacit.posterior.numbers import CellTarget

MODEL = Normal(mean=PRIOR.mean, sd=math.sqrt(PRIOR.variance), shape=PRIOR.shape, rate=PRIOR.rate)


@dataclass(frozen=True)
class ClippedTarget(CellTarget):
    """What `smc` asks; evidence is a ClippedTable."""

    def log_likelihood(self, x: Floats, evidence: Any) -> Floats:
        if not len(evidence):
            return np.zeros(len(x))
        found: Floats = evidence.value(self.model, self.points(x))
        return found


def adaptive(
    people: People,
    epsilon: float,
    rng: np.random.Generator,
    *,
    interval: tuple[float, float] | None = None,
    particles: int = PARTICLES,
    every: int = EVERY,
) -> Trace:
    """A study, one report at a time. The interval is given, or the best one for a posterior draw, first for (0, 1)."""
    a, b = best(epsilon)
    target, n = ClippedTarget(MODEL), len(people.answers)
    cloud = smc.begin(target, particles, rng)
    made, clouds = np.empty((4, n)), []  # y, l, r, b
    m, c = 0.0, 1.0
    for t, (answer, noise) in enumerate(zip(*people, strict=True)):
        low, high = interval or (m + c * a, m + c * b)
        made[:, t] = report(answer, low, high, epsilon, noise), low, high, (high - low) / epsilon
        # Views, unchecked: a checked copy of all reports for each of them would cost O(n^2).
        old, new = ClippedTable(*made[:, :t], "laplace"), ClippedTable(*made[:, t : t + 1], "laplace")
        cloud = smc.take(cloud, target, old, new, rng)
        m, c = target.points(cloud.x[smc.resample(cloud.weight, 1, rng)])[0]
        if (t + 1) % every == 0:
            clouds.append(target.points(cloud.x[smc.resample(cloud.weight, particles, rng)]))
    return Trace(*moments(target.points(cloud.x), cloud.weight), made[1:3].T, np.array(clouds))


def batch(
    y: Floats, low: Floats, high: Floats, epsilon: float, rng: np.random.Generator, particles: int = PARTICLES
) -> tuple[Floats, Floats]:
    """Posterior mean and standard deviation of (mu, sigma) from reports that are all there at once."""
    target = ClippedTarget(MODEL)
    reports = ClippedTable.of(y, low, high, (high - low) / epsilon)
    cloud = smc.take(smc.begin(target, particles, rng), target, (), reports, rng)
    return moments(target.points(cloud.x), cloud.weight)


def moments(points: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weighted mean and standard deviation."""
    mean = weight @ points
    return mean, np.sqrt(weight @ (points - mean) ** 2)
