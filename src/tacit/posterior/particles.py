"""Shares by sequential Monte Carlo: the engine of `smc` in the coordinates of the exact sampler.

It goes from the prior to the posterior by degrees, and so knows what no chain knows: the log evidence, ln p(reports),
by which two priors, or two ways to merge categories, are compared. For up to some twenty categories; for draws alone
`exact` is faster.

>>> from tacit import Evidence, channels
>>> channel = channels.srr(3, 3.0)
>>> evidence = Evidence().add(channel, channel.sample(np.repeat([0, 1, 2], [900, 60, 40]), rng=1))
>>> flat, even = (sample(Categorical(3, c), evidence, 1000, np.random.default_rng(1)) for c in (1.0, 1000.0))
>>> flat.log_evidence > even.log_evidence + 100
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import Floats
from tacit.evidence import Evidence
from tacit.likelihood import Likelihood
from tacit.models import Categorical
from tacit.posterior import exact, smc
from tacit.posterior.coordinates import Coordinates
from tacit.posterior.summary import Posterior

CHAINS = 40  # of each move, at least
SETTLED = 1  # moves at the posterior before draws are taken


class Nothing:
    """The likelihood of no reports."""

    def value(self, theta: Floats) -> Floats:
        return np.zeros(len(theta))

    def gradient(self, theta: Floats) -> Floats:
        return np.zeros(theta.shape)

    def information(self, theta: Floats) -> Floats:
        return np.zeros((len(theta), len(theta)))


@dataclass(frozen=True)
class SharesTarget:
    """What `smc` asks, for positions in `space`, whose own likelihood is that of nothing."""

    space: Coordinates

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        prior = self.space.model.sample_prior(n, rng)
        return self.space.positions(prior.log_theta, prior.log_rho, rng.normal(size=(n, 1)))

    def log_prior(self, x: Floats) -> Floats:
        return self.space.log_density(x)

    def log_likelihood(self, x: Floats, evidence: Likelihood) -> Floats:
        return evidence.value(self.space.point(x).theta)


def sample(model: Categorical, evidence: Evidence, draws: int, rng: np.random.Generator) -> Posterior:
    """Equally weighted draws, with the log evidence. It is that of the rows of `Evidence.likelihood`, which leave a
    constant out: differences between models of the same evidence have a meaning, single values have none."""
    likelihood = evidence.likelihood()
    floor = exact.visible(model, likelihood, exact.centre(model, evidence))
    target = SharesTarget(Coordinates(model, Nothing(), floor))
    steps = smc.STEPS * target.space.dimension
    cloud = smc.begin(target, max(draws, CHAINS * steps), rng, steps)
    cloud = smc.take(cloud, target, Nothing(), likelihood, rng)
    for _ in range(SETTLED):
        cloud = smc.refresh(cloud, target, likelihood, rng)
    x = cloud.x[smc.resample(cloud.weight, draws, rng)]
    log_rho = x[None, :, -1] if model.learned else None
    return Posterior(target.space.point(x).theta[None], log_rho, "smc", 0, cloud.log_evidence)
