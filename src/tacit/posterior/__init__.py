"""Posteriors: draws of theta given Evidence, by samplers with one contract, or at once.

A sampler is a module with `init(model, evidence, rng, chains) -> state` and
`step(state, evidence, rng, new) -> (state, info)`. States are frozen; `log_theta` (chains, K) and `log_rho` (chains,)
are their draws.

| method | what | when |
| --- | --- | --- |
| exact | Hamiltonian Monte Carlo on the likelihood of every distinct report | the default |
| moments | the same on the Gaussian law of the tallies | many categories, or too many distinct reports |
| gibbs | the papers' data augmentation | small checks |
| sgld | the papers' stochastic gradient Langevin dynamics | comparison |
| product | independent draws, from the tallies of channels with a cell for each category | more than 500 categories |
| smc | sequential Monte Carlo, which also gives the log evidence | comparing priors, up to some twenty categories |

The location and scale of a number are drawn by sequential Monte Carlo; see `numbers` and `smc`.

>>> from tacit import Evidence, channels
>>> channel = channels.srr(3, 2.0)
>>> answers = np.repeat([0, 1, 2], [600, 300, 100])
>>> evidence = Evidence().add(channel, channel.sample(answers, rng=1))
>>> posterior = sample(Categorical(3), evidence, seed=1)
>>> posterior.method, posterior.estimate().round(1)
('exact', array([0.6, 0.3, 0.1]))
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import overload

import numpy as np
from threadpoolctl import threadpool_limits

from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.models import Categorical, LocationScale
from tacit.posterior import exact, gibbs, numbers, particles, product, sgld
from tacit.posterior.checks import predictive_check
from tacit.posterior.numbers import NumberPosterior
from tacit.posterior.shape import Fit, NumberCheck
from tacit.posterior.summary import Posterior
from tacit.rng import generator
from tacit_client import check

SAMPLERS: dict[str, ModuleType] = {"exact": exact, "moments": exact, "gibbs": gibbs, "sgld": sgld}
MAX_CATEGORIES = 2000  # of samplers with a metric, a K x K matrix
MANY = 500  # categories above which "auto" is "product"
MOST = 2**15  # categories of "product": a thousand draws are 250 MB
EXACT_ENTRIES = 2 * 10**7  # rows x K above which "auto" goes by moments


@overload
def sample(
    model: Categorical,
    evidence: Evidence,
    method: str = "auto",
    draws: int = 1000,
    seed: object = 0,
    progress: Callable[[int, int], object] = ...,
) -> Posterior: ...


@overload
def sample(
    model: LocationScale,
    evidence: Evidence,
    method: str = "auto",
    draws: int = 1000,
    seed: object = 0,
    progress: Callable[[int, int], object] = ...,
) -> NumberPosterior: ...


def sample(
    model: Categorical | LocationScale,
    evidence: Evidence,
    method: str = "auto",
    draws: int = 1000,
    seed: object = 0,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Posterior | NumberPosterior:
    """Draws of the posterior. Without evidence they are draws of the prior, and `method` says "prior".

    Of a LocationScale model the draws are (mu, sigma), always by sequential Monte Carlo.
    """
    for given, kind, argument in (
        (model, Categorical | LocationScale, "model"),
        (evidence, Evidence, "evidence"),
    ):
        if not isinstance(given, kind):
            raise TacitError(
                "argument_invalid",
                f"{argument} is {check.shown(given)}",
                argument=argument,
                hint=f"give a tacit.{'Categorical or tacit.Normal' if argument == 'model' else 'Evidence'}",
            )
    if isinstance(model, LocationScale):
        numbers.require_method(method)
        return numbers.sample(model, evidence, draws, seed)
    return _sample_categories(model, evidence, method, draws, seed, progress)


def _sample_categories(
    model: Categorical,
    evidence: Evidence,
    method: str,
    draws: int,
    seed: object,
    progress: Callable[[int, int], object],
) -> Posterior:
    if len(evidence) and evidence.categories() != model.k:
        raise TacitError(
            "channel_mismatch",
            f"the evidence has {evidence.k} categories and the model {model.k}",
            argument="model",
            hint="give the model the k of the question",
        )
    count = check.integer(draws, "draws", 1, 10**7)
    rng = generator(seed, "seed")
    if method == "smc" and len(evidence):
        return particles.sample(model, evidence, count, rng)
    name = choose(evidence, "auto" if method == "smc" else method, model.k)
    require_size(model, name)
    if name == "product":
        return product.sample(model, evidence, count, rng)
    sampler = SAMPLERS[name]
    state = sampler.init(model, evidence, rng, moments=name == "moments")
    chains = len(state.log_theta)
    length = -(-count // chains)
    total = sampler.WARMUP + length * sampler.THIN
    thetas = np.empty((chains, length, model.k))
    rhos = np.empty((chains, length))
    divergences = 0
    # The products are small: a second thread costs more in waiting than it saves.
    with threadpool_limits(limits=1, user_api="blas"):
        for i in range(total):
            place, rest = divmod(i - sampler.WARMUP, sampler.THIN)
            state, info = sampler.step(state, evidence, rng, adapt=place < 0)
            if place >= 0:
                divergences += getattr(info, "divergences", 0)
            if place >= 0 and rest == sampler.THIN - 1:
                thetas[:, place] = np.exp(state.log_theta)
                rhos[:, place] = state.log_rho
            progress(i + 1, total)
    said = name if len(evidence) else "prior"
    return Posterior(thetas, rhos if model.learned else None, said, divergences)


PRIORS: dict[str, float | str] = {"learned": "learned", "flat": 1.0, "sparse": 0.1}


def sensitivity(
    evidence: Evidence, minimise: str = "tv", method: str = "auto", draws: int = 1000, seed: object = 0
) -> dict[str, Floats]:
    """The estimate under a learned, a flat (rho = 1) and a sparse (rho = 0.1) prior: where they differ, the prior
    decides and not the reports."""
    if not len(evidence):
        raise TacitError(
            "argument_invalid",
            "there is no evidence yet",
            argument="evidence",
            hint="add reports first: without them the prior decides everything",
        )
    k = evidence.categories()
    return {
        name: sample(Categorical(k, prior), evidence, method, draws, seed).estimate(minimise)
        for name, prior in PRIORS.items()
    }


def choose(evidence: Evidence, method: str, k: int = 0) -> str:
    """What `method` stands for, with k categories; refused when the evidence lacks what it needs."""
    many = k > MAX_CATEGORIES or (k > MANY and product.fits(evidence))
    if method == "product" or (method == "auto" and many):
        return "product"
    if method == "auto":
        return "exact" if _fits(evidence) else "moments"
    if not isinstance(method, str) or method not in SAMPLERS:
        raise TacitError(
            "argument_invalid",
            f"method is {check.shown(method)}",
            argument="method",
            hint=f"give one of auto, {', '.join(SAMPLERS)}, product",
        )
    if method != "moments" and not evidence.exact:
        raise TacitError(
            "argument_invalid",
            f"{method} needs every distinct report, and only their sums were kept",
            argument="method",
            hint='use method="moments" or "auto"',
        )
    return method


def _fits(evidence: Evidence) -> bool:
    # Counted before any row is built: for many categories the rows themselves would fill the memory.
    rows = sum(len(tally.reports) for tally in evidence.tallies if tally.reports is not None)
    return evidence.exact and rows * (evidence.k or 0) <= EXACT_ENTRIES


def require_size(model: Categorical, method: str) -> None:
    """Refuse a model that is out of proportion: a metric is a K x K matrix, draws of "product" are K numbers each."""
    most = MOST if method == "product" else MAX_CATEGORIES
    if model.k > most:
        raise TacitError(
            "argument_invalid",
            f"the model has {model.k} categories",
            argument="model",
            hint=f"{method} is for up to {most}"
            + (", product for more" if most < MOST else "; Evidence.moments() estimates any number"),
        )


__all__ = ["Fit", "NumberCheck", "NumberPosterior", "Posterior", "predictive_check", "sample", "sensitivity"]
