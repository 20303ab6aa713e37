"""The posterior of many categories: one-dimensional laws, conditioned on their sum.

A Dirichlet(rho, ..., rho) vector is K independent Gamma(rho) numbers with any common rate lam, given that they sum
to 1. A channel with a cell for every category (hashed, subset, srr) tells of theta_i by its tally s_i, which is
Binomial(n, q + gain theta_i). Tallies of different categories are nearly independent: the covariance of two inclusions
is -gain^2 theta_i theta_j, besides a part that the sum explains. So the posterior is, given rho, a product

    prod_i Gamma(t_i; rho, lam) Binomial(s_i; n, q + gain t_i),      given that sum t_i = 1.

The rate is free. It is set such that the means sum to 1: then the condition changes each law by a part O(1 / K) of
its variance, and its density is that of a Gaussian (the saddle point approximation). This gives the evidence for rho,

    p(s | rho) = prod_i Z_i(rho, lam)  N(1; sum of means, sum of variances) / Gamma(1; K rho, lam),

so rho is drawn from a grid, and no chain has to find it. All draws are independent. The cost is O(K) for each value on
the grid and O(K) for each draw; nothing of size K x K is made.

Laws are kept on cells: the prior's mass of a cell is exact for any rho, and the likelihood is taken at its middle.
Cells are a part of a standard error wide, in common for all categories within some standard errors of zero; each
larger category has cells of its own. A draw's sum is set to 1 by a shift of each share along its variance.

>>> from tacit import Categorical, Evidence, channels
>>> channel = channels.hashed(1000, 2.0)
>>> truth = np.r_[np.full(10, 0.09), np.full(990, 0.1 / 990)]
>>> answers = np.random.default_rng(1).choice(1000, 100_000, p=truth)
>>> evidence = Evidence().add(channel, channel.sample(answers, 2))
>>> posterior = sample(Categorical(1000), evidence, 400, np.random.default_rng(3))
>>> np.abs(posterior.estimate()[:10] - 0.09).max() < 0.015
np.True_
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tacit.arrays import Floats, Integers
from tacit.channels import Channel
from tacit.channels.blocks import BlockChannel
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.models import Categorical
from tacit.posterior.summary import Posterior

CHAINS = 4  # among which the independent draws are dealt, for R-hat
NEAR = 12.0  # standard errors from zero up to which categories share their cells
REACH = 9.0  # standard errors around its estimate that the cells of a category cover
FINE = 1 / 6  # width of cells in standard errors; narrower towards zero
PARTS = 8  # of a cell, for drawing within it
FEWEST = 100  # categories: the errors of the method are O(1 / K)
NEWTON = 60  # steps at most
SMALLEST_RATE = 0.01  # shares are below 1: such a tilt is none
GRID = 41  # values of ln rho


class Cells(NamedTuple):
    """Ends of cells (M + 1,), and the likelihood of each category at their middles (categories, M), up to a factor."""

    edges: Floats
    likelihood: Floats


class Law(NamedTuple):
    """At one rho: the rate, the log evidence, and the mean and variance of the sum of shares."""

    rho: float
    rate: float
    log_evidence: float
    mean: float
    variance: float


@dataclass(frozen=True)
class Problem:
    """Categories near zero share their cells; the others have cells of their own, (categories, M + 1)."""

    k: int
    near: Integers  # their places
    common: Cells
    far: Integers
    own_edges: Floats
    own_likelihood: Floats
    error: Floats  # standard error of every category


def separable(channel: Channel[Any]) -> tuple[float, float] | None:
    """(q, gain) of a channel whose tally of each category tells of that category alone; else None."""
    if isinstance(channel, BlockChannel):
        if channel.table.subset:
            return None
        uniform = channel.frequencies(np.full(channel.k, 1 / channel.k))
        ones = channel.frequencies(np.eye(1, channel.k)[0])
        gain = float(ones[0] - ones[1])
        return float(uniform[0]) - gain / channel.k, gain
    inclusion = getattr(channel, "moments", None)
    if inclusion is None or inclusion.cells != channel.k or inclusion.gain <= 0:
        return None
    return float(inclusion.q), float(inclusion.gain)


def fits(evidence: Evidence) -> bool:
    """Whether every channel has a cell for every category."""
    return all(separable(tally.channel) is not None for tally in evidence.tallies)


def require(model: Categorical, evidence: Evidence) -> None:
    """Refuse what is no product."""
    if model.k < FEWEST:
        raise TacitError(
            "argument_invalid",
            f"product is for {FEWEST} categories or more",
            argument="method",
            hint='use method="exact" or "auto": with few categories the sum ties them together',
        )
    if not fits(evidence):
        raise TacitError(
            "argument_invalid",
            "a channel of the evidence has cells that several categories share",
            argument="evidence",
            hint="for so many categories ask through a static channel: hashed, subset or srr",
        )
    if len(set(model.base)) > 1:
        raise TacitError(
            "argument_invalid",
            "the concentrations of the categories differ",
            argument="model",
            hint="for so many categories give one concentration, or let it be learned",
        )


def sample(model: Categorical, evidence: Evidence, draws: int, rng: np.random.Generator) -> Posterior:
    """Independent draws of the posterior."""
    from tacit.posterior.kernels import draw_cells

    if not len(evidence):
        return _prior(model, draws, rng)
    require(model, evidence)
    problem = prepare(evidence)
    laws = _laws(model, problem)
    weight = np.array([law.log_evidence for law in laws])
    weight = np.exp(weight - weight.max())
    chosen = np.sort(rng.choice(len(laws), size=draws, p=weight / weight.sum()))
    thetas, log_rho = np.empty((draws, model.k)), np.empty(draws)
    for number in np.unique(chosen):
        law, mine = laws[number], np.flatnonzero(chosen == number)
        log_rho[mine] = np.log(law.rho)
        shares = np.empty((len(mine), len(problem.near)))
        cumulated, inner = _drawable(problem.common, law)
        draw_cells(cumulated, inner, law.rho, rng, shares)
        thetas[np.ix_(mine, problem.near)] = shares
        thetas[np.ix_(mine, problem.far)] = _draw_far(problem, law, len(mine), rng)
    thetas = _summing_to_one(thetas, problem.error)
    order = rng.permutation(draws)
    length = -(-draws // CHAINS)
    order = np.concatenate([order, order])[: CHAINS * length]
    chains = thetas[order].reshape(CHAINS, length, model.k)
    learned = log_rho[order].reshape(CHAINS, length) if model.learned else None
    return Posterior(chains, learned, "product", 0)


def _prior(model: Categorical, draws: int, rng: np.random.Generator) -> Posterior:
    length = -(-draws // CHAINS)
    prior = model.sample_prior(CHAINS * length, rng)
    log_rho = prior.log_rho.reshape(CHAINS, length) if model.learned else None
    return Posterior(prior.theta.reshape(CHAINS, length, model.k), log_rho, "prior", 0)


def prepare(evidence: Evidence) -> Problem:
    """Cells and likelihoods of every category."""
    k = evidence.categories()
    moments = evidence.moments()
    tallies = [(*(separable(t.channel) or (0.0, 0.0)), t.n, t.sums) for t in evidence.tallies]
    information = sum(n * gain**2 / (q * (1 - q)) for q, gain, n, _ in tallies)
    zero_error = float(1 / np.sqrt(information))
    error = np.maximum(moments.standard_error, 1e-12)
    far = np.flatnonzero(moments.theta > NEAR * zero_error)
    near = np.setdiff1d(np.arange(k), far)
    # Up to one standard error the cells grow from a thirtieth of it; then they are of equal width.
    highest = min(1.0, (NEAR + REACH) * zero_error)
    fine = np.geomspace(1 / 30, 1, 20) * zero_error
    count = max(2, round((highest - fine[-1]) / (FINE * zero_error))) if highest > fine[-1] else 0
    edges = np.r_[0.0, fine, np.linspace(fine[-1], highest, count + 1)[1:]] if count else np.r_[0.0, fine]
    edges = np.unique(np.minimum(edges, 1.0))
    common = Cells(
        edges, _likelihood(tallies, near, np.broadcast_to(_middles(edges), (len(near), len(edges) - 1)))
    )
    low = np.maximum(moments.theta[far] - REACH * error[far], 0)
    high = np.minimum(moments.theta[far] + REACH * error[far], 1)
    steps = np.linspace(0, 1, round(2 * REACH / FINE / 2) + 1)
    own = low[:, None] + (high - low)[:, None] * steps
    return Problem(k, near, common, far, own, _likelihood(tallies, far, _middles(own)), error)


def _middles(edges: Floats) -> Floats:
    out: Floats = (edges[..., 1:] + edges[..., :-1]) / 2
    return out


def _likelihood(tallies: list[Any], places: Any, t: Floats) -> Floats:
    out = np.zeros(t.shape)
    for q, gain, n, sums in tallies:
        share = q + gain * t
        held = sums[places][:, None]
        out += held * np.log(share) + (n - held) * np.log1p(-share)
    if out.size:
        out -= out.max(axis=1, keepdims=True)
    likelihood: Floats = np.exp(out)
    return likelihood


def _laws(model: Categorical, problem: Problem) -> list[Law]:
    """The posterior of rho on a grid: first wide, then where it has its mass."""
    if not model.learned:
        rho = float(model.base[0])
        return [_law(problem, rho, problem.k * rho)]
    wide = model.location + model.scale * np.linspace(-5, 5, GRID)
    found = _weighed(model, problem, wide)
    score = np.array([law.log_evidence for law in found])
    kept = wide[score > score.max() - 20]
    step = wide[1] - wide[0]
    return _weighed(model, problem, np.linspace(kept[0] - step / 2, kept[-1] + step / 2, GRID))


def _weighed(model: Categorical, problem: Problem, log_rho: Floats) -> list[Law]:
    out: list[Law] = []
    for place in log_rho:
        rho = float(np.exp(place))
        law = _law(problem, rho, out[-1].rate * rho / out[-1].rho if out else problem.k * rho)
        prior = -(((place - model.location) / model.scale) ** 2) / 2
        out.append(law._replace(log_evidence=law.log_evidence + float(prior)))
    return out


def _law(problem: Problem, rho: float, rate: float) -> Law:
    """At the rate where the means sum to 1, by Newton's method: their sum falls with the rate by the variance.

    For a rho far too small for the reports there is no such rate; the Gaussian then says how far the sum is off.
    """
    from scipy.special import gammaln

    for _ in range(NEWTON):
        log_mass, mean, variance = _sums(problem, rho, rate)
        if abs(mean - 1) < 1e-3 * np.sqrt(variance):
            break
        moved = max(min(max(rate + (mean - 1) / variance, rate / 3), rate * 3), SMALLEST_RATE)
        if moved == rate:
            break
        rate = moved
    else:
        log_mass, mean, variance = _sums(problem, rho, rate)
    here = -((1 - mean) ** 2) / variance / 2 - np.log(2 * np.pi * variance) / 2
    total = problem.k * rho
    prior = total * np.log(rate) - gammaln(total) - rate
    return Law(rho, rate, float(log_mass + here - prior), mean, variance)


def _sums(problem: Problem, rho: float, rate: float) -> tuple[float, float, float]:
    """log of the product of all Z_i, and the sums of posterior means and variances."""
    mass, first, second = _prior_cells(problem.common.edges, rho, rate)
    z, m, s = (problem.common.likelihood @ np.stack([mass, first, second], axis=1)).T
    log_mass = float(np.log(np.maximum(z, 1e-300)).sum())
    mean = m / np.maximum(z, 1e-300)
    total, spread = float(mean.sum()), float((s / np.maximum(z, 1e-300) - mean**2).sum())
    if len(problem.far):
        weight, log_z = _far_weights(problem, rho, rate)
        t = _middles(problem.own_edges)
        own = (weight * t).sum(axis=1)
        log_mass += float(log_z.sum())
        total += float(own.sum())
        spread += float(((weight * t**2).sum(axis=1) - own**2).sum())
    return log_mass, total, max(spread, 1e-18)  # rounding may leave nothing of a difference


def _prior_cells(edges: Floats, rho: float, rate: float) -> tuple[Floats, Floats, Floats]:
    """The prior's mass, first and second moment in every cell, exactly."""
    from scipy.special import gammainc

    x = rate * edges
    mass = np.diff(gammainc(rho, x))
    first = np.diff(gammainc(rho + 1, x)) * rho / rate
    second = np.diff(gammainc(rho + 2, x)) * rho * (rho + 1) / rate**2
    return mass, first, second


def _far_weights(problem: Problem, rho: float, rate: float) -> tuple[Floats, Floats]:
    """Posterior mass of the cells of each large category, and ln Z; their prior is smooth within a cell."""
    from scipy.special import gammaln

    edges = problem.own_edges
    t = np.maximum(_middles(edges), 1e-300)
    log = (
        rho * np.log(rate) - gammaln(rho) + (rho - 1) * np.log(t) - rate * t + np.log(np.diff(edges, axis=1))
    )
    with np.errstate(divide="ignore"):
        log = log + np.log(problem.own_likelihood)
    top = log.max(axis=1, keepdims=True)
    weight = np.exp(log - top)
    z = weight.sum(axis=1, keepdims=True)
    return weight / z, (top + np.log(z))[:, 0]


def _drawable(cells: Cells, law: Law) -> tuple[Floats, Floats]:
    """Cumulated posterior mass (categories, M), and the ends of equal parts of the prior's mass in each cell."""
    from scipy.special import gammainc, gammaincinv

    mass, _, _ = _prior_cells(cells.edges, law.rho, law.rate)
    at = gammainc(law.rho, law.rate * cells.edges)
    parts = at[:-1, None] + np.diff(at)[:, None] * np.linspace(0, 1, PARTS + 1)
    inner = gammaincinv(law.rho, parts) / law.rate
    # Where the prior has no mass left that a float can tell apart, a cell is divided evenly.
    even = cells.edges[:-1, None] + np.diff(cells.edges)[:, None] * np.linspace(0, 1, PARTS + 1)
    inner = np.where((np.diff(at) > 1e-12)[:, None], inner, even)
    inner = np.clip(inner, cells.edges[:-1, None], cells.edges[1:, None])
    return np.cumsum(cells.likelihood * mass, axis=1), np.ascontiguousarray(inner)


def _draw_far(problem: Problem, law: Law, count: int, rng: np.random.Generator) -> Floats:
    if not len(problem.far):
        return np.empty((count, 0))
    weight, _ = _far_weights(problem, law.rho, law.rate)
    cumulated = np.cumsum(weight, axis=1)
    out = np.empty((count, len(problem.far)))
    for i, row in enumerate(cumulated):
        cell = np.minimum(np.searchsorted(row, rng.random(count) * row[-1]), len(row) - 1)
        ends = problem.own_edges[i]
        out[:, i] = ends[cell] + rng.random(count) * (ends[cell + 1] - ends[cell])
    return out


def _summing_to_one(thetas: Floats, error: Floats) -> Floats:
    """Shift every share along its variance, less where it is near zero, until each draw sums to 1."""
    over = thetas.sum(axis=1, keepdims=True) - 1
    scale = error**2 * thetas / (thetas + error)
    thetas = thetas - over * scale / scale.sum(axis=1, keepdims=True)
    thetas = np.maximum(thetas, 0)
    out: Floats = thetas / thetas.sum(axis=1, keepdims=True)
    return out
