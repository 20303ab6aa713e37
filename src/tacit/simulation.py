"""Simulated studies: what a policy would have learned, had the truth been theta.

>>> result = simulate([0.6, 0.3, 0.1], epsilon=2.0, policy="static-subset", n=2000, seed=1)
>>> result.tv < 0.05
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.models import Categorical
from tacit.posterior import Posterior
from tacit.rng import generator
from tacit.study import Study
from tacit_client import check


@dataclass(frozen=True)
class Simulation:
    """What a simulated study came to; `channels` holds each round's channel and its number of reports."""

    theta: Floats
    estimate: Floats
    posterior: Posterior
    channels: tuple[tuple[Channel[Any], int], ...]

    @property
    def tv(self) -> float:
        """Total variation between estimate and truth."""
        return float(np.abs(self.estimate - self.theta).sum() / 2)


def simulate(
    theta: npt.ArrayLike,
    epsilon: float,
    policy: str = "risk",
    *,
    n: int = 10_000,
    answers: npt.ArrayLike | None = None,
    kappa: float = 0.9,
    method: str = "auto",
    model: Categorical | None = None,
    minimise: str = "tv",
    schedule: str = "geometric",
    seed: object = 0,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Simulation:
    """Let n simulated people with answers from theta take part in a study; or those whose `answers` are given."""
    truth = arrays.distribution(theta)
    rng = generator(seed, "seed")
    if answers is None:
        total = check.integer(n, "n", 1, 10**9)
        people = rng.choice(len(truth), total, p=truth / truth.sum())
    else:
        people = arrays.integers(answers, "answers", 0, len(truth) - 1)
        total = len(people)
    study = Study(
        [f"category {i}" for i in range(len(truth))],
        epsilon=epsilon,
        policy=policy,
        kappa=kappa,
        model=model,
        method=method,
        expected=total,
        schedule=schedule,
        seed=rng,
    )
    used: list[tuple[Channel[Any], int]] = []
    while len(study.evidence) < total:
        channel = study.channel
        asked = people[len(study.evidence) :][: study.wanted]
        used.append((channel, len(asked)))
        study.add(channel, channel.sample(asked, rng))
        progress(len(study.evidence), total)
    posterior = study.posterior(seed=int(rng.integers(2**31)))
    return Simulation(truth, posterior.estimate(minimise), posterior, tuple(used))
