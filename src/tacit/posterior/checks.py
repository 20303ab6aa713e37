"""Two questions to ask of a posterior: do the reports look like any population, and what did the prior decide?

The predictive check compares each channel's tally with the tallies of simulated people, by

    T(s, theta) = sum over cells of (s - n mu)^2 / (n mu (1 - mu)),    mu the mean tally at theta,

at posterior draws of theta. A channel limits what honest reports can look like: if everybody sends the same report, or
a program sends reports without the noise, no theta explains the tally, and T of the real one is larger than of nearly
all simulated ones. A small p-value says that the model is wrong, not why.

For a number there is one more question, whether its law has the shape of the model: see `shape`.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.posterior.numbers import NumberPosterior
from tacit.posterior.shape import Fit, NumberCheck, number_check
from tacit.posterior.summary import Posterior
from tacit.rng import generator
from tacit_client import check

MAX_PEOPLE = 20_000  # simulated for one replicate: the law of T hardly depends on their number


@overload
def predictive_check(
    posterior: Posterior, evidence: Evidence, replicates: int = 200, seed: object = 0
) -> list[Fit]: ...


@overload
def predictive_check(
    posterior: NumberPosterior, evidence: Evidence, replicates: int = 200, seed: object = 0
) -> NumberCheck: ...


def predictive_check(
    posterior: Posterior | NumberPosterior, evidence: Evidence, replicates: int = 200, seed: object = 0
) -> list[Fit] | NumberCheck:
    """The posterior predictive p-value of every channel's tally. Below 0.01, look at how the reports were made.

    For a number also that of the shape of its law: below 0.01, the model's family is in doubt.
    """
    count = check.integer(replicates, "replicates", 20, 100_000)
    rng = generator(seed, "seed")
    number = isinstance(posterior, NumberPosterior)
    if (
        not len(evidence)
        or evidence.numeric != number
        or (not number and evidence.k != posterior.draws.shape[1])
    ):
        raise TacitError(
            "argument_invalid",
            f"the evidence has {len(evidence)} reports that are not about what the posterior is about",
            argument="evidence",
            hint="give the evidence that the posterior was drawn from",
        )
    chosen = posterior.draws[rng.integers(len(posterior.draws), size=count)]
    if isinstance(posterior, NumberPosterior):
        return number_check(posterior.model, chosen, evidence, rng)
    return _category_check(chosen / chosen.sum(axis=1, keepdims=True), evidence, rng)


def _category_check(thetas: Floats, evidence: Evidence, rng: np.random.Generator) -> list[Fit]:
    fits = []
    for tally in evidence.tallies:
        n = min(tally.n, MAX_PEOPLE)
        further = 0
        for theta in thetas:
            mean = tally.channel.frequencies(theta)
            people = rng.choice(len(theta), n, p=theta)
            simulated = tally.channel.tally(tally.channel.sample(people, rng)) / n
            further += _distance(simulated, mean, n) >= _distance(tally.sums / tally.n, mean, tally.n)
        fits.append(Fit(tally.channel, tally.n, (further + 1) / (len(thetas) + 1)))
    return fits


def _distance(frequencies: Floats, mean: Floats, n: int) -> float:
    return float(((frequencies - mean) ** 2 / (mean * (1 - mean))).sum() * n)
