"""The exact sampler: Hamiltonian Monte Carlo by a team of chains, on the coordinates of `coordinates`.

All chains take each leapfrog step together, so one matrix product serves them all. The team also adapts: its mean
acceptance steers the step size, and the information at its middle is the metric. Adaptation gains fall off, and are
zero while draws are recorded. When new evidence comes, the team is resampled by it and goes on from where it stands:
between rounds only a few transitions are needed.

Proposals use a gradient in single precision: any deterministic gradient leaves the leapfrog reversible and
volume-preserving, and the acceptance test uses the density in full precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tacit.arrays import Floats
from tacit.evidence import Evidence
from tacit.likelihood import Likelihood
from tacit.models import Categorical
from tacit.posterior.coordinates import Coordinates

CHAINS = 25
WARMUP = 90  # transitions from a cold start, the last metric is taken at 64
THIN = 2  # transitions for each draw that is kept
TARGET = 0.9  # mean acceptance
LENGTH = 2.5  # of a trajectory in units of the metric, jittered: a quarter turn is 1.6, and tails are longer
MAX_LEAPS = 16
REACH = 8.0  # standard errors from zero within which a category may be absent
METRIC_AT = (3, 8, 16, 32, 64)  # transitions since new evidence
DIVERGENT = 1000.0  # loss of log density at which a trajectory counts as broken


@dataclass(frozen=True)
class State:
    """The chains at one moment, and what they have adapted. `log_theta` is (chains, K), `log_rho` (chains,)."""

    model: Categorical
    moments: bool  # whether the Gaussian of the sums stands for the reports
    log_theta: Floats
    log_rho: Floats
    floor: Floats
    doubt: Floats  # weights of the categories in a jump: large where "absent" and "present" are both likely
    step_size: float
    factor: Floats  # its square is the covariance that the metric assumes
    adapted: int


class Info(NamedTuple):
    """One transition: mean acceptance, broken trajectories, leapfrog steps."""

    acceptance: float
    divergences: int
    leaps: int


def init(
    model: Categorical,
    evidence: Evidence,
    rng: np.random.Generator,
    chains: int = CHAINS,
    moments: bool = False,
) -> State:
    """A team scattered around the moment estimate, as wide as the evidence leaves it; without any, the prior."""
    prior = model.sample_prior(chains, rng)
    eye = np.eye(model.k + model.learned)
    state = State(
        model, moments, prior.log_theta, prior.log_rho, np.zeros(model.k), np.ones(model.k), 0.3, eye, 0
    )
    if not len(evidence):
        return state
    likelihood = evidence.likelihood(moments)
    theta = centre(model, evidence)
    floor = visible(model, likelihood, theta)
    space = Coordinates(model, likelihood, floor)
    middle = space.positions(np.log(theta)[None], np.array([model.location]))
    factor = _metric(space, middle)
    x = middle + rng.normal(size=(chains, space.dimension)) @ factor.T
    log_rho = x[:, -1] if model.learned else state.log_rho
    return replace(state, log_theta=space.point(x).log_theta, log_rho=log_rho, floor=floor, factor=factor)


def centre(model: Categorical, evidence: Evidence) -> Floats:
    """The moment estimate and the prior's mean, weighted by the answers that each is worth."""
    moments = evidence.moments()
    share = moments.projected()
    variance = float((np.minimum(moments.standard_error, 1.0) ** 2).sum())
    worth = (1 - (share**2).sum()) / variance
    alpha = np.exp(model.location if model.learned else 0.0) * np.array(model.base)
    theta: Floats = np.maximum((worth * share + alpha) / (worth + alpha.sum()), 1e-3 / model.k)
    theta /= theta.sum()
    return theta


def step(
    state: State,
    evidence: Evidence,
    rng: np.random.Generator,
    new: Evidence | None = None,
    adapt: bool = True,
) -> tuple[State, Info]:
    """One transition of every chain; `new` is evidence that has just been added."""
    if not len(evidence):
        prior = state.model.sample_prior(len(state.log_theta), rng)
        return replace(state, log_theta=prior.log_theta, log_rho=prior.log_rho), Info(1.0, 0, 0)
    likelihood = evidence.likelihood(state.moments)
    if new is not None:
        state = _met(_resampled(state, new, rng), likelihood)
    space = Coordinates(state.model, likelihood, state.floor)
    # lse(z) is drawn afresh: theta does not depend on it.
    x = space.positions(state.log_theta, state.log_rho, rng.normal(size=(len(state.log_theta), 1)))
    step_size = state.step_size * rng.uniform(0.8, 1.2)
    leaps = int(min(MAX_LEAPS, np.ceil(LENGTH * rng.uniform(0.5, 1.5) / step_size)))
    momentum = rng.normal(size=x.shape)
    before = space.log_density(x) - (momentum**2).sum(axis=1) / 2
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        moved, momentum = _leapfrog(space, state.factor, x, momentum, step_size, leaps)
        gain = space.log_density(moved) - (momentum**2).sum(axis=1) / 2 - before
    gain = np.where(np.isfinite(gain), gain, -np.inf)
    x = np.where((np.log(rng.random(len(x))) < gain)[:, None], moved, x)
    info = Info(float(np.exp(np.minimum(gain, 0)).mean()), int((gain < -DIVERGENT).sum()), leaps)
    log_rho = x[:, -1] if state.model.learned else state.log_rho
    state = replace(state, log_theta=space.point(x).log_theta, log_rho=log_rho)
    state = _adapted(state, space, x, info.acceptance) if adapt else state
    return _jumped(state, likelihood, rng), info


def _leapfrog(
    space: Coordinates, factor: Floats, x: Floats, momentum: Floats, step_size: float, leaps: int
) -> tuple[Floats, Floats]:
    momentum = momentum + step_size / 2 * space.gradient(x) @ factor
    for i in range(leaps):
        x = x + step_size * momentum @ factor.T
        last = 0.5 if i == leaps - 1 else 1.0
        momentum = momentum + last * step_size * space.gradient(x) @ factor
    return x, momentum


def _jumped(state: State, likelihood: Likelihood, rng: np.random.Generator) -> State:
    """One Metropolis jump of one small share t in every chain, the others keeping their proportions.

    "Absent" and "a few standard errors from zero" can be two modes, and no trajectory crosses what lies between.
    Given the proportions of the others, t has the prior Beta(alpha_k, sum alpha - alpha_k). The proposal on (0, c),
    c = REACH standard errors, does not depend on t: half the prior's tail t^(alpha_k - 1), half uniform. The category
    is drawn by its weight among those below their c, so the sums of these weights, before and after, enter the ratio.
    """
    log_theta, rows = state.log_theta, np.arange(len(state.log_theta))
    edge = _edge(state.floor)
    near = log_theta < edge
    k = np.argmax(np.where(near, rng.random(near.shape) ** (1 / state.doubt), -1.0), axis=1)
    alpha = np.exp(state.log_rho)[:, None] * np.array(state.model.base)
    own, others = alpha[rows, k], alpha.sum(axis=1) - alpha[rows, k]
    u = np.log(rng.random(len(rows)))
    t = np.where(rng.random(len(rows)) < 0.5, u / own, u) + edge[k]
    before = log_theta[rows, k]
    moved = log_theta + (np.log1p(-np.exp(t)) - np.log1p(-np.exp(before)))[:, None]
    moved[rows, k] = t

    def gain(log_t: Floats, value: Floats, weight: Floats) -> Floats:
        proposal = np.logaddexp(np.log(own) + (own - 1) * (log_t - edge[k]), 0.0)
        prior = (own - 1) * log_t + (others - 1) * np.log1p(-np.exp(log_t))
        out: Floats = value + prior - proposal - np.log(weight)
        return out

    values = likelihood.value(np.exp(np.concatenate([log_theta, moved])))
    weights = near @ state.doubt, (moved < edge) @ state.doubt
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = gain(t, values[len(rows) :], weights[1]) - gain(before, values[: len(rows)], weights[0])
    accepted = (weights[0] > 0) & (np.log(rng.random(len(rows))) < ratio)
    return replace(state, log_theta=np.where(accepted[:, None], moved, log_theta))


def _edge(floor: Floats) -> Floats:
    out: Floats = np.minimum(np.log(REACH) + floor, np.log(0.5))
    return out


def _doubt(log_theta: Floats, floor: Floats) -> Floats:
    out: Floats = 0.02 + np.exp(np.minimum(log_theta - _edge(floor), 0)).mean(axis=0)
    return out


def _resampled(state: State, new: Evidence, rng: np.random.Generator) -> State:
    """Chains that the new evidence contradicts give way to copies of others, as in a particle filter.

    The weights are its likelihood, to the largest power (1, 1/2, 1/4, ...) that leaves half of the team effective; the
    transitions that follow make up for the rest.
    """
    gain = new.likelihood(state.moments).value(np.exp(state.log_theta))
    gain -= gain.max()
    weights = np.exp(gain)
    while weights.sum() ** 2 < len(gain) / 2 * (weights**2).sum():
        gain /= 2
        weights = np.exp(gain)
    places = (rng.random() + np.arange(len(gain))) / len(gain)
    kept = np.searchsorted(np.cumsum(weights) / weights.sum(), places).clip(max=len(gain) - 1)
    return replace(state, log_theta=state.log_theta[kept], log_rho=state.log_rho[kept])


def _met(state: State, likelihood: Likelihood) -> State:
    """The team before new evidence: floor and metric are taken anew at its middle, and adaptation restarts."""
    floor = visible(state.model, likelihood, np.exp(state.log_theta).mean(axis=0))
    space = Coordinates(state.model, likelihood, floor)
    factor = _metric(space, space.positions(state.log_theta, state.log_rho))
    doubt = _doubt(state.log_theta, floor)
    return replace(state, floor=floor, factor=factor, doubt=doubt, adapted=0)


def visible(model: Categorical, likelihood: Likelihood, theta: Floats) -> Floats:
    """ln of the standard error of each category alone, at most ln(1 / K): what the data can see."""
    information = np.diag(likelihood.information(theta))
    return -np.log(np.sqrt(np.maximum(information, float(model.k) ** 2)))


def _metric(space: Coordinates, x: Floats) -> Floats:
    """A factor of the covariance assumed by the metric: from the information at the middle of the team."""
    root = np.linalg.cholesky(space.precision(np.median(x, axis=0, keepdims=True)))
    return np.linalg.inv(root).T


def _gathered(x: Floats, space: Coordinates) -> Floats:
    """The positions, those left behind in a place of far lower density moved onto others. While warming up only.

    In d dimensions the log density of draws varies by sqrt(d / 2); a chain many times that below the middle sits in a
    corner that it would leave in its own time, not in ours.
    """
    density = space.log_density(x)
    far = density < np.median(density) - 4 - 4 * np.sqrt(space.dimension / 2)
    near = np.flatnonzero(~far)
    x = x.copy()
    x[far] = x[near[np.arange(far.sum()) % len(near)]]
    return x


def _adapted(state: State, space: Coordinates, x: Floats, acceptance: float) -> State:
    """Step size by stochastic approximation; the metric at a few set times."""
    count = state.adapted + 1
    if count in METRIC_AT:
        x = _gathered(x, space)
        log_rho = x[:, -1] if state.model.learned else state.log_rho
        log_theta = space.point(x).log_theta
        state = replace(state, log_theta=log_theta, log_rho=log_rho, doubt=_doubt(log_theta, state.floor))
    pull = (acceptance - TARGET) * 2 / count**0.6
    step_size = float(np.clip(state.step_size * np.exp(pull), 0.01, 1.5))
    factor = _metric(space, x) if count in METRIC_AT else state.factor
    return replace(state, step_size=step_size, adapted=count, factor=factor)
