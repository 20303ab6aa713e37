"""The papers' sampler: stochastic gradient Langevin dynamics on phi, with minibatches drawn from Evidence.

    phi_k ~ Gamma(alpha_k, 1),  theta = phi / sum(phi)
    phi <- abs(phi + (a / 2) (grad log prior + (n / m) sum over a minibatch of m of grad log likelihood) + sqrt(a) W)

With s = sum(phi), the gradient of ln(row . theta) by phi_i is (row_i / (row . theta) - 1) / s. The papers print the
noise as a W; their code and the theory have sqrt(a) W. The step is a = 0.5 / T with T the number of respondents
expected (their code, `rule="fixed"`) or 0.5 / n with n those so far (the journal and the thesis, `rule="falling"`).
It never accepts or rejects: its draws are biased by the step and by the minibatch, and the more so the larger n / m
is. Kept for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.likelihood import TableLikelihood
from tacit.models import Categorical

CHAINS = 1
WARMUP = 50  # steps of UPDATES updates each: the papers drop the first 1,000 of 2,000
THIN = 1
UPDATES = 20  # M of the papers, for every step
BATCH = 50  # m of the papers
STEP = 0.5


@dataclass(frozen=True)
class State:
    """Chains at one moment: `phi` (chains, K)."""

    model: Categorical
    phi: Floats
    rule: Literal["fixed", "falling"]
    expected: int  # T, for the fixed rule

    @property
    def log_theta(self) -> Floats:
        share: Floats = np.maximum(self.phi, 1e-300)
        share /= share.sum(axis=1, keepdims=True)
        return np.log(share)

    @property
    def log_rho(self) -> Floats:
        return np.zeros(len(self.phi))


class Info(NamedTuple):
    """The step size a that was used."""

    step_size: float


def init(
    model: Categorical,
    evidence: Evidence,
    rng: np.random.Generator,
    chains: int = CHAINS,
    moments: bool = False,
    rule: Literal["fixed", "falling"] = "falling",
    expected: int | None = None,
) -> State:
    """Chains at the uniform distribution, as in the papers."""
    if model.learned:
        raise TacitError(
            "argument_invalid",
            "sgld cannot learn the concentration",
            argument="method",
            hint="give the model a concentration, such as Categorical(k, 1.0), or use another method",
        )
    return State(model, np.ones((chains, model.k)), rule, expected or max(len(evidence), 1))


def step(
    state: State,
    evidence: Evidence,
    rng: np.random.Generator,
    new: Evidence | None = None,
    adapt: bool = True,
) -> tuple[State, Info]:
    """UPDATES updates of every chain."""
    n = len(evidence)
    size = STEP / (state.expected if state.rule == "fixed" else max(n, 1))
    alpha = np.array(state.model.base)
    phi = state.phi
    table = evidence.likelihood() if n else None
    edges = None
    if table is not None:
        assert isinstance(table, TableLikelihood), "sgld needs every distinct report"
        edges = np.cumsum(table.counts)
    for _ in range(UPDATES):
        slope = (alpha - 1) / np.maximum(phi, 1e-12) - 1
        if isinstance(table, TableLikelihood) and edges is not None:
            total = phi.sum(axis=1, keepdims=True)
            batch = np.searchsorted(edges, rng.random((len(phi), BATCH)) * n, side="right")
            rows = table.rows[np.minimum(batch, len(edges) - 1)]  # (chains, m, K)
            mixed = np.einsum("cmk,ck->cm", rows, phi / total)
            slope = slope + n / BATCH * (np.einsum("cmk,cm->ck", rows, 1 / mixed) - BATCH) / total
        phi = np.abs(phi + size / 2 * slope + np.sqrt(size) * rng.normal(size=phi.shape))
    return replace(state, phi=phi), Info(size)
