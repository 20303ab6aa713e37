"""The paper's sampler: sequential Monte Carlo in which every particle carries all answers x_1, ..., x_t.

*Differentially private online Bayesian estimation with adaptive truncation* (Yıldırım), Algorithms 2 and 3. A particle
is (mu, sigma, x_1, ..., x_t). It is rejuvenated by, for every k,

    a random walk x' = x_k + 3 sigma z,    then an independent x' ~ N(mu, sigma^2),

each accepted by Metropolis and Hastings for N(x; mu, sigma^2) Laplace(y_k - clip(x, l_k, r_k); b_k), then by Gibbs
draws of mu given (x, sigma) and of sigma given (x, mu). Scale 3, the pair of moves and the Gibbs draws are those of
the authors' program. That is O(N t) for report t, so O(N n^2) in all, and N n numbers to keep.

| order | at each report | interval from |
| --- | --- | --- |
| paper | resample, rejuvenate on the reports before, propagate, weight | a weighted draw |
| program | propagate, weight, resample, rejuvenate on the reports so far | an equally weighted draw |

Both begin at the prior. The program begins elsewhere, at mu = x_1 = y_1 and sigma = 1 for all particles:
`start="report"` does that, and what the first reports say is then forgotten only as fast as the moves mix.

>>> from experiments.adaptive_truncation.people import population
>>> trace = run(population(0, 60), 10.0, np.random.default_rng(1), particles=200, interval=(40.0, 60.0))
>>> bool(abs(trace.mean[0] - 50) < 3)
True
"""

from __future__ import annotations

import numpy as np
from experiments.adaptive_truncation.people import (
    EVERY,
    PARTICLES,
    PRIOR,
    Floats,
    People,
    Prior,
    Trace,
    report,
)
from numba import njit

from tacit.posterior.smc import resample

WALK = 3.0
ORDERS = ("paper", "program")


class Particles:
    """The state: places in arrays that are allocated once, since they are N n numbers."""

    def __init__(self, n: int, particles: int, prior: Prior, rng: np.random.Generator) -> None:
        self.mu = rng.normal(prior.mean, np.sqrt(prior.variance), particles)
        self.sigma = np.sqrt(prior.rate / rng.gamma(prior.shape, size=particles))
        self.weight = np.full(particles, 1 / particles)
        self.x = np.empty((particles, n))
        self.reports = np.empty((n, 4))  # y, l, r, 1 / b
        self.n = 0
        self.prior = prior

    def take(self, y: float, low: float, high: float, b: float, order: str, rng: np.random.Generator) -> None:
        """One report in."""
        if order == "paper":
            self.settle(rng)
        self.reports[self.n] = y, low, high, 1 / b
        new = self.mu + self.sigma * rng.standard_normal(len(self.mu))
        self.x[:, self.n] = new
        weight = self.weight * np.exp(-(np.abs(y - np.clip(new, low, high)) - _least(y, low, high)) / b)
        self.weight = weight / weight.sum()
        self.n += 1
        if order == "program":
            self.settle(rng)

    def settle(self, rng: np.random.Generator) -> None:
        """Resample, rejuvenate."""
        counts = np.bincount(resample(self.weight, len(self.mu), rng), minlength=len(self.mu))
        self.weight = np.full(len(self.mu), 1 / len(self.mu))
        _copy(self.x, self.mu, self.sigma, counts, self.n)
        rejuvenate(self.x, self.mu, self.sigma, self.reports[: self.n], tuple(self.prior), rng)

    def points(self, count: int, rng: np.random.Generator) -> Floats:
        """Equally weighted (mu, sigma)."""
        chosen = resample(self.weight, count, rng)
        return np.column_stack([self.mu[chosen], self.sigma[chosen]])


def run(
    people: People,
    epsilon: float,
    rng: np.random.Generator,
    *,
    best: tuple[float, float] = (-1.0, 1.0),
    interval: tuple[float, float] | None = None,
    order: str = "paper",
    start: str = "prior",
    particles: int = PARTICLES,
    prior: Prior = PRIOR,
) -> Trace:
    """A study. The interval is given, or `best` (of the base law) moved to (m, c): first to (0, 1), then to a draw."""
    state = Particles(len(people.answers), particles, prior, rng)
    intervals, clouds = np.empty((len(people.answers), 2)), []
    m, c = 0.0, 1.0
    for t, (answer, noise) in enumerate(zip(*people, strict=True)):
        low, high = interval or (m + c * best[0], m + c * best[1])
        intervals[t] = low, high
        y = report(answer, low, high, epsilon, noise)
        if t == 0 and start == "report":
            _begin_at(state, y, low, high, epsilon, rng)
        else:
            state.take(y, low, high, (high - low) / epsilon, order, rng)
        m, c = state.points(1, rng)[0]
        if (t + 1) % EVERY == 0:
            clouds.append(state.points(particles, rng))
    points = np.column_stack([state.mu, state.sigma])
    mean = state.weight @ points
    sd = np.sqrt(state.weight @ (points - mean) ** 2)
    return Trace(mean, sd, intervals, np.array(clouds))


def _begin_at(
    state: Particles, y: float, low: float, high: float, epsilon: float, rng: np.random.Generator
) -> None:
    """The program's first step: every particle sits on the first report."""
    state.mu[:], state.sigma[:], state.x[:, 0] = y, 1.0, y
    state.reports[0] = y, low, high, epsilon / (high - low)
    state.n = 1
    state.settle(rng)


def _least(y: float, low: float, high: float) -> float:
    return abs(y - min(max(y, low), high))


@njit(cache=True)
def _copy(x: Floats, mu: Floats, sigma: Floats, counts: np.ndarray, t: int) -> None:
    """Particle i as often as counts[i] says; only those that are there more than once move, into places of the dead."""
    free = 0
    for i in range(len(counts)):
        for _ in range(counts[i] - 1):
            while counts[free] > 0:
                free += 1
            x[free, :t] = x[i, :t]
            mu[free], sigma[free] = mu[i], sigma[i]
            free += 1


@njit(cache=True)
def rejuvenate(
    x: Floats,
    mu: Floats,
    sigma: Floats,
    reports: Floats,
    prior: tuple[float, float, float, float],
    rng: np.random.Generator,
) -> None:
    """One sweep of Algorithm 3 over every particle."""
    mean, variance, shape, rate = prior
    t = len(reports)
    for i in range(len(mu)):
        m, s = mu[i], sigma[i]
        half = 1 / (2 * s * s)
        total = 0.0
        for k in range(t):
            x[i, k] = _moved(
                x[i, k], m, s, half, reports[k, 0], reports[k, 1], reports[k, 2], reports[k, 3], rng
            )
            total += x[i, k]
        precision = 1 / variance + t / s**2
        m = (mean / variance + total / s**2) / precision + rng.standard_normal() / np.sqrt(precision)
        squares = 0.0
        for k in range(t):
            squares += (x[i, k] - m) ** 2
        mu[i] = m
        sigma[i] = np.sqrt((rate + squares / 2) / rng.standard_gamma(shape + t / 2))


@njit(cache=True)
def _moved(
    here: float,
    m: float,
    s: float,
    half: float,
    y: float,
    low: float,
    high: float,
    steep: float,
    rng: np.random.Generator,
) -> float:
    """One answer after both moves; `half` is 1 / (2 s^2) and `steep` 1 / b.

    ln U is minus an exponential, so nothing has to be exponentiated.
    """
    far = abs(y - min(max(here, low), high))
    there = here + WALK * s * rng.standard_normal()
    new = abs(y - min(max(there, low), high))
    loss = (new - far) * steep + ((there - m) ** 2 - (here - m) ** 2) * half
    if loss <= 0 or rng.standard_exponential() > loss:
        here, far = there, new
    there = m + s * rng.standard_normal()
    loss = (abs(y - min(max(there, low), high)) - far) * steep
    if loss <= 0 or rng.standard_exponential() > loss:
        here = there
    return here
