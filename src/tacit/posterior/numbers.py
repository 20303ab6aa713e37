"""The posterior of a number's location and scale, by sequential Monte Carlo on the exact likelihood.

A report through cuts c_1 < ... < c_m has the probability sum over cells j of P(report | j) [F(c_{j+1}) - F(c_j)], F the
law of the answer: there is nothing latent to sample. Particles move in (mu, ln sigma), or in mu alone where the scale
is given; see `smc`.

>>> from tacit import Evidence, Normal, channels
>>> rng = np.random.default_rng(1)
>>> channel = channels.graded(lo=40, hi=60, steps=4, epsilon=2.0)
>>> evidence = Evidence().add(channel, channel.sample(rng.normal(52, 4, 4000), rng))
>>> found = sample(Normal(mean=50, sd=50), evidence, seed=1)
>>> found.mean.round(), found.interval(0.9)[0] < [52, 4]
(array([52.,  4.]), array([ True,  True]))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats
from tacit.channels.binned import BinnedChannel
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.models import CellTable, LocationScale
from tacit.posterior import smc
from tacit.rng import generator
from tacit_client import check

PARTICLES = 1000
AIMS = ("mse", "mae")
FARTHEST = 200.0  # of ln sigma
SETTLED = 2  # moves after the last report before draws are taken


Tables = tuple[CellTable, ...]


@dataclass(frozen=True)
class CellTarget:
    """What `smc` asks, for particles (mu, ln sigma) or (mu,) and evidence as tables."""

    model: LocationScale

    def points(self, x: Floats) -> Floats:
        """(mu, sigma) of particles; a proposal so far out that sigma is no number is one just inside."""
        if self.model.scale is not None:
            return np.column_stack([x[:, 0], np.full(len(x), self.model.scale)])
        return np.column_stack([x[:, 0], np.exp(np.clip(x[:, 1], -FARTHEST, FARTHEST))])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        points = self.model.sample_prior(n, rng)
        x = np.column_stack([points[:, 0], np.log(points[:, 1])])
        return x if self.model.scale is None else x[:, :1]

    def log_prior(self, x: Floats) -> Floats:
        return self.model.log_prior(self.points(x))

    def log_likelihood(self, x: Floats, evidence: Tables) -> Floats:
        points = self.points(x)
        return sum((table.value(self.model, points) for table in evidence), np.zeros(len(x)))


def grown(tables: Tables, new: CellTable) -> Tables:
    """With one more. Neighbours of like size are joined, so that n reports, one by one, are copied log n times each."""
    out = (*tables, new)
    while len(out) > 1 and 2 * len(out[-1].counts) >= len(out[-2].counts):
        out = (*out[:-2], out[-2] + out[-1])
    return out


def cell_table(evidence: Evidence) -> CellTable:
    """The reports as the model reads them: for every distinct one its cuts, P(report | cell) and how often."""
    parts = []
    for tally in evidence.tallies:
        found = tally.likelihood_rows()
        if found is None:
            raise TacitError(
                "too_many_reports",
                f"{tally.channel!r} made too many distinct reports to keep",
                argument="evidence",
                hint="use a channel with fewer reports, such as graded with few steps",
            )
        channel: BinnedChannel = tally.channel  # type: ignore[assignment]  # the evidence is numeric
        parts.append((channel.cuts, *found))
    return CellTable.of(parts)


@dataclass(frozen=True)
class NumberPosterior:
    """Draws of (mu, sigma), shape (P, 2), equally weighted."""

    model: LocationScale
    draws: Floats
    log_evidence: float
    moves: int
    acceptance: float
    method: str = "smc"

    @property
    def mean(self) -> Floats:
        """The posterior mean of (mu, sigma)."""
        out: Floats = self.draws.mean(axis=0)
        return out

    @property
    def sd(self) -> Floats:
        """The posterior standard deviations of (mu, sigma)."""
        out: Floats = self.draws.std(axis=0)
        return out

    def estimate(self, minimise: str = "mae") -> Floats:
        """(mu, sigma) with the least expected absolute error ("mae": the median) or squared error ("mse": the mean).

        After few reports the mean of sigma may not exist, as it does not under the default prior.
        """
        if minimise not in AIMS:
            raise TacitError(
                "argument_invalid",
                f"minimise is {check.shown(minimise)}",
                argument="minimise",
                hint=f"give one of {', '.join(AIMS)}",
            )
        return self.mean if minimise == "mse" else np.median(self.draws, axis=0)

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Lower and upper ends for (mu, sigma), with equal tails."""
        share = float(check.bounded(level, "level", lambda v: 0 < v < 1, "give a level between 0 and 1"))
        low, high = np.quantile(self.draws, [(1 - share) / 2, (1 + share) / 2], axis=0)
        return low, high

    def cdf(self, numbers: npt.ArrayLike) -> Floats:
        """The predicted part of the answers that lie below each number."""
        return self.model.predictive_cdf(self.draws, arrays.reals(numbers, "numbers"))

    def quantile(self, share: float, level: float = 0.9) -> tuple[float, float, float]:
        """The number that this share of answers lies below: posterior mean, and the ends of its interval."""
        part = float(check.bounded(share, "share", lambda v: 0 < v < 1, "give a share between 0 and 1"))
        inside = float(check.bounded(level, "level", lambda v: 0 < v < 1, "give a level between 0 and 1"))
        values = self.model.quantile(self.draws, part)[:, 0]
        low, high = np.quantile(values, [(1 - inside) / 2, (1 + inside) / 2])
        return float(values.mean()), float(low), float(high)

    def to_arviz(self) -> Any:
        """The draws as an ArviZ object (`pip install arviz`); they are one chain, and were not made as one."""
        try:
            import arviz
        except ImportError:
            raise TacitError(
                "dependency_missing", "arviz is not installed", argument="to_arviz", hint="pip install arviz"
            ) from None
        draws = {"mu": self.draws[None, :, 0], "sigma": self.draws[None, :, 1]}
        if int(arviz.__version__.partition(".")[0]) >= 1:
            return arviz.from_dict({"posterior": draws})
        return arviz.from_dict(posterior=draws)


def sample(
    model: LocationScale,
    evidence: Evidence,
    draws: int = 1000,
    seed: object = 0,
    particles: int = PARTICLES,
) -> NumberPosterior:
    """Draws of the posterior, from the prior to all of the evidence in one go. Without evidence, of the prior."""
    count = check.integer(draws, "draws", 1, 10**6)
    if len(evidence) and not evidence.numeric:
        raise TacitError(
            "channel_mismatch",
            "the evidence is about categories and the model about a number",
            argument="model",
            hint="give a tacit.Categorical",
        )
    rng = generator(seed, "seed")
    target, tables = CellTarget(model), (cell_table(evidence),)
    cloud = smc.begin(target, max(count, particles), rng)
    if len(evidence):
        cloud = smc.take(cloud, target, (), tables, rng)
        for _ in range(SETTLED):
            cloud = smc.refresh(cloud, target, tables, rng)
    return summary(model, cloud, count, rng, "smc" if len(evidence) else "prior")


def require_method(method: object) -> None:
    """Refuse the samplers of shares."""
    if method not in ("auto", "smc"):
        raise TacitError(
            "argument_invalid",
            f"method is {check.shown(method)}",
            argument="method",
            hint='a number is learned by "smc"; leave method out',
        )


def summary(
    model: LocationScale, cloud: smc.Cloud, draws: int, rng: np.random.Generator, method: str = "smc"
) -> NumberPosterior:
    """Equally weighted draws from a cloud."""
    chosen = smc.resample(cloud.weight, draws, rng)
    points = CellTarget(model).points(cloud.x[chosen])
    return NumberPosterior(model, points, cloud.log_evidence, cloud.moves, cloud.acceptance, method)
