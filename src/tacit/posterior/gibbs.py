"""The papers' Gibbs sampler, on Evidence: latent answers given theta, then theta given the answers.

Reports that are alike share one multinomial draw of their latent answers, so a sweep costs O(distinct x K) where
the papers' costs O(n K). Given the answers' counts m, theta is Dirichlet(alpha + m). A learned rho moves by
Metropolis steps on its law given m with theta integrated out, sum ln G(rho b + m) - ln G(rho b) + ..., before theta
is drawn. The chain is exact in the limit, and slow when epsilon is small: a report then says little about its
latent answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tacit.arrays import Floats
from tacit.evidence import Evidence
from tacit.likelihood import TableLikelihood
from tacit.models import Categorical

CHAINS = 4
WARMUP = 500
THIN = 1
RHO_STEPS = 5
RHO_WIDTH = 0.7


@dataclass(frozen=True)
class State:
    """Chains at one moment: `log_theta` (chains, K), `log_rho` (chains,)."""

    model: Categorical
    log_theta: Floats
    log_rho: Floats


class Info(NamedTuple):
    """Share of accepted moves of rho; 1 when it is fixed."""

    acceptance: float


def init(
    model: Categorical,
    evidence: Evidence,
    rng: np.random.Generator,
    chains: int = CHAINS,
    moments: bool = False,
) -> State:
    """Chains at draws of the prior."""
    prior = model.sample_prior(chains, rng)
    return State(model, prior.log_theta, prior.log_rho)


def step(
    state: State,
    evidence: Evidence,
    rng: np.random.Generator,
    new: Evidence | None = None,
    adapt: bool = True,
) -> tuple[State, Info]:
    """One sweep of every chain."""
    model = state.model
    log_theta, log_rho = state.log_theta.copy(), state.log_rho.copy()
    accepted = 1.0 if not model.learned else 0.0
    for i in range(len(log_theta)):
        counts = _latent_counts(np.exp(log_theta[i]), evidence, rng) if len(evidence) else np.zeros(model.k)
        for _ in range(RHO_STEPS if model.learned else 0):
            proposal = log_rho[i] + rng.normal(scale=RHO_WIDTH)
            gain = _log_rho_density(model, proposal, counts) - _log_rho_density(model, log_rho[i], counts)
            if np.log(rng.random()) < gain:
                log_rho[i] = proposal
                accepted += 1 / (RHO_STEPS * len(log_theta))
        alpha = np.exp(log_rho[i]) * np.array(model.base) + counts
        log_phi = np.log(rng.gamma(alpha + 1)) + np.log(rng.random(model.k)) / alpha
        top = log_phi.max()
        log_theta[i] = log_phi - top - np.log(np.exp(log_phi - top).sum())
    return replace(state, log_theta=log_theta, log_rho=log_rho), Info(accepted)


def _latent_counts(theta: Floats, evidence: Evidence, rng: np.random.Generator) -> Floats:
    table = evidence.likelihood()
    assert isinstance(table, TableLikelihood), "gibbs needs every distinct report"
    weights = table.rows * theta
    weights /= weights.sum(axis=1, keepdims=True)
    drawn: Floats = rng.multinomial(table.counts.astype(np.int64), weights).sum(axis=0).astype(np.float64)
    return drawn


def _log_rho_density(model: Categorical, log_rho: float, counts: Floats) -> float:
    from scipy.special import gammaln

    alpha = np.exp(log_rho) * np.array(model.base)
    total = alpha.sum()
    out = (gammaln(alpha + counts) - gammaln(alpha)).sum() + gammaln(total) - gammaln(total + counts.sum())
    return float(out - ((log_rho - model.location) / model.scale) ** 2 / 2)
