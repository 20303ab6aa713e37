"""The paper's adaptive method without latent answers: particles (mu, sigma), moved on the exact likelihood.

Clipped Laplace noise of a normal answer has a density in closed form. With s = sigma / b, yc = clip(y, l, r), standardised
z = (yc - mu) / sigma, z_l and z_r, and H(z) = exp(s^2 / 2 - s z) Phi(z - s),

    ln p(y) = - ln(2 b) - abs(y - yc) / b + ln T,
    T = H(z) + H(-z) + exp(-(yc - l) / b) [Phi(z_l) - H(z_l)] + exp(-(r - yc) / b) [Phi(-z_r) - H(-z_r)],

T between exp(-epsilon) and 1. `tacit.posterior.smc` does the rest: O(N) for a report and O(N t) for a move, of which there
are O(log n), so O(N n) in all; each report keeps its own interval, O(N + n) numbers.

>>> from experiments.adaptive_truncation.people import population
>>> trace = adaptive(population(0), 5.0, np.random.default_rng(1))
>>> trace.mean.round(), trace.intervals.shape
(array([50.,  3.]), (1000, 2))
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from experiments.adaptive_truncation.people import EVERY, PARTICLES, PRIOR, Floats, People, Trace, best, report
from numba import njit

from tacit.models import Normal
from tacit.posterior import smc
from tacit.posterior.numbers import CellTarget

MODEL = Normal(mean=PRIOR.mean, sd=math.sqrt(PRIOR.variance), shape=PRIOR.shape, rate=PRIOR.rate)
FAR = 25.0  # of erfc: beyond it the asymptotic series of exp(x^2) erfc(x) has 13 digits
COLUMNS = 7  # of a report: constant, yc, l, r, 1 / b, u_l, u_r
SMALLEST = 600.0  # minus the logarithm of the least product of T


@dataclass(frozen=True)
class ClippedTarget(CellTarget):
    """What `smc` asks; evidence is an array (n, COLUMNS) of reports."""

    def log_likelihood(self, x: Floats, evidence: Floats) -> Floats:
        points = self.points(x)
        return log_likelihood(np.ascontiguousarray(points[:, 0]), np.ascontiguousarray(points[:, 1]), evidence)


def adaptive(
    people: People,
    epsilon: float,
    rng: np.random.Generator,
    *,
    interval: tuple[float, float] | None = None,
    particles: int = PARTICLES,
) -> Trace:
    """A study, one report at a time: the interval is given, or the best one for a posterior draw; the first for (0, 1)."""
    a, b = best(epsilon)
    target, n = ClippedTarget(MODEL), len(people.answers)
    cloud = smc.begin(target, particles, rng)
    reports, intervals, clouds = np.empty((n, COLUMNS)), np.empty((n, 2)), []
    m, c = 0.0, 1.0
    for t, (answer, noise) in enumerate(zip(*people, strict=True)):
        low, high = interval or (m + c * a, m + c * b)
        intervals[t] = low, high
        reports[t] = columns(report(answer, low, high, epsilon, noise), low, high, (high - low) / epsilon)
        cloud = smc.take(cloud, target, reports[:t], reports[t : t + 1], rng)
        m, c = target.points(cloud.x[smc.resample(cloud.weight, 1, rng)])[0]
        if (t + 1) % EVERY == 0:
            clouds.append(target.points(cloud.x[smc.resample(cloud.weight, particles, rng)]))
    mean, sd = moments(target.points(cloud.x), cloud.weight)
    return Trace(mean, sd, intervals, np.array(clouds))


def batch(
    y: Floats, low: Floats, high: Floats, epsilon: float, rng: np.random.Generator, particles: int = PARTICLES
) -> tuple[Floats, Floats]:
    """Posterior mean and standard deviation of (mu, sigma) from reports that are all there at once."""
    target = ClippedTarget(MODEL)
    reports = np.array(
        [columns(*row) for row in zip(y, low, high, (high - low) / epsilon, strict=True)]
    )
    cloud = smc.take(smc.begin(target, particles, rng), target, reports[:0], reports, rng)
    return moments(target.points(cloud.x), cloud.weight)


def moments(points: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weighted mean and standard deviation."""
    mean = weight @ points
    return mean, np.sqrt(weight @ (points - mean) ** 2)


def columns(y: float, low: float, high: float, b: float) -> tuple[float, ...]:
    """What the likelihood of a report needs."""
    near = min(max(y, low), high)
    constant = -math.log(2 * b) - abs(y - near) / b
    return constant, near, low, high, 1 / b, math.exp((low - near) / b), math.exp((near - high) / b)


@njit(cache=True)
def log_likelihood(mu: Floats, sigma: Floats, reports: Floats) -> Floats:
    """The sum over reports (n, COLUMNS) of ln p at each of the points: shape (P,).

    Logarithms are taken of products of T, as many at a time as cannot underflow.
    """
    out = np.zeros(len(mu))
    product = np.ones(len(mu))
    bound = 0.0
    for k in range(len(reports)):
        constant, near, low, high, steep, left, right = reports[k]
        loss = (high - low) * steep
        if bound + loss > SMALLEST:
            for p in range(len(mu)):
                out[p] += math.log(product[p])
                product[p] = 1.0
            bound = 0.0
        bound += loss
        for p in range(len(mu)):
            out[p] += constant
            product[p] *= _mixed(mu[p], sigma[p], near, low, high, steep, left, right)
    for p in range(len(mu)):
        out[p] += math.log(product[p])
    return out


@njit(cache=True)
def _mixed(
    mu: float, sigma: float, near: float, low: float, high: float, steep: float, left: float, right: float
) -> float:
    """T. At an end of the interval two of its terms cancel, and are left out."""
    inverse = 1 / sigma
    s = sigma * steep
    z, z_l, z_r = (near - mu) * inverse, (low - mu) * inverse, (high - mu) * inverse
    if near == low:
        total = _phi(z_l)
    else:
        total = _h(z, s) + left * (_phi(z_l) - _h(z_l, s))
    if near == high:
        return total + _phi(-z_r)
    return total + _h(-z, s) + right * (_phi(-z_r) - _h(-z_r, s))


@njit(cache=True)
def _phi(z: float) -> float:
    return 0.5 * math.erfc(-z * math.sqrt(0.5))


@njit(cache=True)
def _h(z: float, s: float) -> float:
    """exp(s^2 / 2 - s z) Phi(z - s)."""
    x = (s - z) * math.sqrt(0.5)
    if x < FAR:
        return 0.5 * math.exp(s * (0.5 * s - z)) * math.erfc(x)
    q = 0.5 / (x * x)
    series = 1 - q * (1 - 3 * q * (1 - 5 * q * (1 - 7 * q * (1 - 9 * q))))
    return 0.5 * math.exp(-0.5 * z * z) * series / (x * math.sqrt(math.pi))
