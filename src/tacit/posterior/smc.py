"""Sequential Monte Carlo: a cloud of weighted particles that follows the posterior while reports come in.

New reports multiply every weight by their likelihood. When that would leave the weights too uneven (an effective size
below half the particles), only a power of the new likelihood is taken in, as much as half the particles can bear;
the particles are resampled and moved at that temperature, and the rest follows. So one report or ten thousand at
once make no difference to the method, and no jump of the posterior empties the cloud.

A move wastes nothing (Dau and Chopin, *Waste-free sequential Monte Carlo*, 2022): a few ancestors are resampled, each
runs a Metropolis chain of STEPS states (more in many dimensions), and all states together are the new cloud. Proposals
are scaled by the covariance of the cloud. A share of them do not depend on where the chain is: for a posterior that is
nearly normal they are accepted most of the time. That share follows how often they were accepted in the move before.

The likelihood is exact, there are no latent answers, and the log evidence, ln p(reports), comes for nothing: the sum of
the logarithms of the mean weights (Chopin, *A sequential particle filter method for static models*, 2002).

>>> class Normal:  # prior N(0, 1), and each of `reports` is N(x, 1)
...     def draw(self, n, rng): return rng.normal(size=(n, 1))
...     def log_prior(self, x): return -x[:, 0] ** 2 / 2
...     def log_likelihood(self, x, reports):
...         return -((x - reports) ** 2).sum(axis=1) / 2 - len(reports) / 2 * np.log(2 * np.pi)
>>> rng = np.random.default_rng(1)
>>> cloud = take(begin(Normal(), 1000, rng), Normal(), np.zeros(0), np.array([1.0, 2.0, 3.0]), rng)
>>> cloud.mean().round(1), abs(cloud.log_evidence + 5.95) < 0.2
(array([1.5]), True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from tacit.arrays import Floats, Integers
from tacit.errors import TacitError

STEPS = 10  # states of a chain in one move, in few dimensions
ENOUGH = 0.5  # effective size, as a share of the particles, below which they are moved
TAILS = 5.0  # degrees of freedom of independent proposals
SHARES = (0.2, 0.9)  # bounds of the share of independent proposals
IMPOSSIBLE = -1e300  # as a log-likelihood
STAGES = 300  # temperatures between one posterior and the next before we give up


class Target(Protocol):
    """What the particles follow: a prior that can be drawn from, and a likelihood of pieces of evidence."""

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Positions (n, d) from the prior."""

    def log_prior(self, x: Floats) -> Floats:
        """Its log density at positions (n, d), up to a constant: (n,)."""

    def log_likelihood(self, x: Floats, evidence: Any) -> Floats:
        """The log-likelihood of the evidence at positions (n, d): (n,)."""


@dataclass(frozen=True)
class Cloud:
    """Particles (N, d) and their log weights (N,), which sum to one; what was taken in, and how the moves went."""

    x: Floats
    log_weight: Floats
    log_evidence: float = 0.0
    moves: int = 0
    independent: float = 0.5  # share of independent proposals
    acceptance: float = 1.0  # of all proposals in the last move
    steps: int = STEPS  # states of a chain in one move

    @property
    def weight(self) -> Floats:
        return np.exp(self.log_weight)

    @property
    def size(self) -> float:
        """How many equally weighted particles these are worth."""
        return _size(self.log_weight)

    def mean(self) -> Floats:
        """The weighted mean, shape (d,)."""
        return self.weight @ self.x

    def covariance(self) -> Floats:
        """The weighted covariance, shape (d, d)."""
        away = self.x - self.mean()
        return (away * self.weight[:, None]).T @ away


def begin(target: Target, particles: int, rng: np.random.Generator, steps: int = STEPS) -> Cloud:
    """A cloud from the prior; the number of particles is rounded up to a multiple of `steps`."""
    n = -(-particles // steps) * steps
    return Cloud(target.draw(n, rng), np.full(n, -np.log(n)), steps=steps)


def take(cloud: Cloud, target: Target, old: Any, new: Any, rng: np.random.Generator) -> Cloud:
    """The cloud after the evidence `new`, when it stood for `old` before."""
    gained = _finite(target.log_likelihood(cloud.x, new))
    done = 0.0
    for _ in range(STAGES):
        share = _bearable(cloud.log_weight, gained, 1 - done)
        log_weight = cloud.log_weight + share * gained
        total = float(np.logaddexp.reduce(log_weight))
        if total < IMPOSSIBLE / 1e10:
            break
        cloud = replace(cloud, log_weight=log_weight - total, log_evidence=cloud.log_evidence + total)
        done += share
        if done >= 1:
            return cloud
        power = done

        def log_density(x: Floats, power: float = power) -> tuple[Floats, Floats]:
            part = _finite(target.log_likelihood(x, new))
            return target.log_prior(x) + target.log_likelihood(x, old) + power * part, part

        cloud, gained = _moved(cloud, log_density, rng)
    raise TacitError(
        "posterior_lost",
        "no particle can explain the reports",
        argument="evidence",
        hint="check the reports and the model; more particles help if the prior is far from the data",
    )


def refresh(cloud: Cloud, target: Target, evidence: Any, rng: np.random.Generator) -> Cloud:
    """The same posterior in equally weighted particles, by one move."""

    def log_density(x: Floats) -> tuple[Floats, Floats]:
        return target.log_prior(x) + target.log_likelihood(x, evidence), np.zeros(len(x))

    return _moved(cloud, log_density, rng)[0]


def _moved(
    cloud: Cloud, log_density: Callable[[Floats], tuple[Floats, Floats]], rng: np.random.Generator
) -> tuple[Cloud, Floats]:
    """Resample ancestors, run their chains, keep all states; with them the second value of `log_density`.

    Where the chain is, a fit m, L of the whole cloud proposes m + L t (Student's t, whatever x is) or
    x + 2.38 / sqrt(d) L z. The choice between the two is made beforehand, so each is a Metropolis kernel of its own.
    """
    n, d = cloud.x.shape
    centre, factor = cloud.mean(), _factor(cloud.covariance())
    chains = n // cloud.steps
    x = cloud.x[resample(cloud.weight, chains, rng)]
    density, extra = log_density(x)
    out, extras = np.empty((cloud.steps, chains, d)), np.empty((cloud.steps, chains))
    tried, taken = np.zeros(2), np.zeros(2)
    for step in range(cloud.steps):
        out[step], extras[step] = x, extra
        if step == cloud.steps - 1:
            break
        free = rng.random(chains) < cloud.independent
        z = rng.normal(size=x.shape)
        z[free] *= np.sqrt(TAILS / rng.chisquare(TAILS, (free.sum(), 1)))
        start = np.where(free[:, None], centre, x)
        proposal = start + np.where(free, 1.0, 2.38 / np.sqrt(d))[:, None] * (z @ factor.T)
        there, there_extra = log_density(proposal)
        back = np.where(free, _tails(x, centre, factor) - _tails(proposal, centre, factor), 0.0)
        accepted = np.log(rng.random(chains)) < there - density + back
        x = np.where(accepted[:, None], proposal, x)
        density, extra = np.where(accepted, there, density), np.where(accepted, there_extra, extra)
        for kind, mine in enumerate((free, ~free)):
            tried[kind] += mine.sum()
            taken[kind] += (mine & accepted).sum()
    share = float(np.clip(taken[0] / max(tried[0], 1), *SHARES))
    moved = Cloud(
        out.reshape(n, d),
        np.full(n, -np.log(n)),
        cloud.log_evidence,
        cloud.moves + 1,
        share,
        float(taken.sum() / tried.sum()),
        cloud.steps,
    )
    return moved, extras.ravel()


def resample(weight: Floats, count: int, rng: np.random.Generator, scheme: str = "systematic") -> Integers:
    """`count` places in `weight` (it sums to one), each as often as its weight says on average.

    "systematic" puts one random comb over the cumulated weights, "stratified" one point into each of `count` equal
    parts, "multinomial" draws independently: from the least noise to the most.
    """
    if scheme == "systematic":
        points = (np.arange(count) + rng.random()) / count
    elif scheme == "stratified":
        points = (np.arange(count) + rng.random(count)) / count
    else:
        points = np.sort(rng.random(count))
    edges = np.cumsum(weight)
    return np.searchsorted(edges[:-1] / edges[-1], points, side="right")


def _bearable(log_weight: Floats, gained: Floats, most: float) -> float:
    """The largest share of `gained`, up to `most`, that leaves an effective size of ENOUGH; maybe none."""
    least = ENOUGH * len(log_weight)
    if _size(log_weight + most * gained) >= least:
        return most
    low, high = 0.0, most
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _size(log_weight + middle * gained) >= least else (low, middle)
    return low


def _size(log_weight: Floats) -> float:
    top = log_weight.max()
    if not np.isfinite(top):
        return 0.0
    weight = np.exp(log_weight - top)
    return float(weight.sum() ** 2 / (weight**2).sum())


def _factor(covariance: Floats) -> Floats:
    """A Cholesky factor, with a trace of the diagonal added where the cloud is flat."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(scale, scale)
    out: Floats = scale[:, None] * np.linalg.cholesky(correlation + 1e-9 * np.eye(len(scale)))
    return out


def _tails(x: Floats, centre: Floats, factor: Floats) -> Floats:
    """The log density of the independent proposals, up to a constant."""
    away = np.linalg.solve(factor, (x - centre).T)
    out: Floats = -(TAILS + x.shape[1]) / 2 * np.log1p((away**2).sum(axis=0) / TAILS)
    return out


def _finite(values: Floats) -> Floats:
    """Values that are no numbers count as impossible; a finite number can be multiplied by no share at all."""
    return np.where(np.isfinite(values), values, IMPOSSIBLE)
