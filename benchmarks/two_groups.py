"""Does a two-group prior pay: every category absent, its share exactly 0, or present? Beside the default prior.

    python benchmarks/two_groups.py [--runs 16] [--workers 2] [--output FILE]

The prior: a category is present with probability pi ~ Beta(a, b), at least one is; the present ones share theta ~
Dirichlet(rho, ..., rho), ln rho ~ N(location, scale^2). With pi integrated out, a given set of m has the
probability

    P(m) = B(a + m, b + K - m) / B(a, b), up to a constant.

The sampler has two moves, each of which leaves the posterior as it is. Given who is present, Hamiltonian steps on
the coordinates of `tacit.posterior`, for the present ones. And a jump of one small share t between 0 and (0, c),
the others keeping their proportions: these have the same Dirichlet law whether category k joins them or not, so
with m others

    t > 0: P(m + 1) Beta(t; rho, m rho) L(theta)        t = 0: P(m) L(theta)

are all that enters. A chain starts where a run under the default prior ended. `tests/benchmarks/test_two_groups.py`
compares with sums over all sets and quadrature.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the processes share the cores

import numpy as np
from priors import CELLS, DRAWS, Cell, distance, population, table
from rich.progress import track
from scipy.special import betaln, digamma, expit, gammaln

from tacit import Categorical, Evidence
from tacit.posterior import Posterior, exact
from tacit.posterior.coordinates import FARTHEST, LARGEST, Coordinates, Point, _inverse

RESULTS = Path(__file__).parent / "results" / "two_groups.json"
SPARSE = [Cell(20, epsilon, 1.0, present=4) for epsilon in (0.5, 1.0, 5.0)]
WARMUP, THIN, JUMPS = 80, 3, 8  # transitions before the first draw, for each draw; jumps in each transition


@dataclass(frozen=True)
class TwoGroups:
    """The prior: pi ~ Beta(a, b), ln rho ~ N(location, scale^2)."""

    a: float
    b: float
    location: float
    scale: float

    def __str__(self) -> str:
        return f"pi Beta({self.a:g}, {self.b:g}), ln rho N({self.location:g}, {self.scale:g}²)"

    def log_set(self, k: int) -> np.ndarray:
        """ln of the probability of one given set of m present categories, m = 0, ..., K, up to a constant."""
        m = np.arange(k + 1)
        out = betaln(self.a + m, self.b + k - m)
        out[0] = -np.inf
        return out


PRIORS = (TwoGroups(1, 1, 0, 2), TwoGroups(1, 1, 0, 1))


@dataclass(frozen=True)
class Present(Coordinates):
    """The coordinates for the categories that are present, (P, K); an absent one's coordinate is N(floor, 1),
    unused."""

    present: np.ndarray

    def point(self, x: np.ndarray) -> Point:
        alpha = np.exp(x[:, -1:]) * np.ones(self.model.k)
        y = x[:, :-1]
        below, share = np.logaddexp(0.0, self.floor - y), expit(self.floor - y)
        bend = 1 - 1 / alpha
        z = np.where(self.present, y + bend * below, -np.inf)
        top = z.max(axis=1, keepdims=True)
        log_sum = top + np.log(np.exp(z - top).sum(axis=1, keepdims=True))
        slope = np.where(self.present, 1 - bend * share, 1.0)
        return Point(np.exp(z - log_sum), z - log_sum, log_sum, alpha, below, share, slope)

    def scattered(self, log_theta: np.ndarray, log_rho: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Positions of given draws, with everything that theta does not depend on drawn afresh."""
        log_sum = rng.normal(size=(len(log_theta), 1))
        alpha = np.exp(log_rho)[:, None] * np.ones(self.model.k)
        y = self.floor - _inverse(self.floor - np.where(self.present, log_theta, 0.0) - log_sum, alpha)
        spare = self.floor + rng.normal(size=y.shape)
        return np.column_stack([np.where(self.present, y, spare), log_rho])

    def log_density(self, x: np.ndarray) -> np.ndarray:
        p, on = self.point(x), self.present
        total = (p.alpha * on).sum(axis=1)
        own = p.alpha * np.where(on, p.log_theta, 0.0) - gammaln(p.alpha)
        spare = -((x[:, :-1] - self.floor) ** 2) / 2
        out = np.where(on, own, spare).sum(axis=1) + gammaln(total)
        out += np.log(p.slope).sum(axis=1) - p.log_sum[:, 0] ** 2 / 2
        away = (x[:, -1] - self.model.location) / self.model.scale
        out = np.where((np.abs(away) > FARTHEST) | (total > LARGEST), -np.inf, out - away**2 / 2)
        return out + self.likelihood.value(p.theta)

    def gradient(self, x: np.ndarray) -> np.ndarray:
        p, on = self.point(x), self.present
        by_theta = getattr(self.likelihood, "rough_gradient", self.likelihood.gradient)(p.theta)
        inner = (p.theta * by_theta).sum(axis=1, keepdims=True)
        total = (p.alpha * on).sum(axis=1, keepdims=True)
        by_z = p.alpha * on - p.theta * (total + p.log_sum) + p.theta * (by_theta - inner)
        bend = (1 - 1 / p.alpha) * p.share * (1 - p.share) / p.slope
        out = np.empty_like(x)
        out[:, :-1] = np.where(on, by_z * p.slope + bend, self.floor - x[:, :-1])
        direct = p.alpha * (np.where(on, p.log_theta, 0.0) + digamma(total) - digamma(p.alpha))
        moved = (by_z * p.below - p.share / p.slope) / p.alpha
        out[:, -1] = np.where(on, direct + moved, 0.0).sum(axis=1)
        out[:, -1] -= (x[:, -1] - self.model.location) / self.model.scale**2
        return out


@dataclass(frozen=True)
class Chains:
    """A team: `state` holds ln theta (chains, K), -inf for what is absent, ln rho, and what was adapted."""

    state: exact.State
    values: np.ndarray  # the log-likelihoods (chains,)


def default(evidence: Evidence, draws: int, rng: np.random.Generator) -> tuple[Posterior, exact.State]:
    """Draws under the default prior, and the team at the end."""
    state = exact.init(Categorical(evidence.k or 0), evidence, rng)
    thetas, rhos = [], []
    for i in range(exact.WARMUP + exact.THIN * -(-draws // len(state.log_rho))):
        state, _ = exact.step(state, evidence, rng, adapt=i < exact.WARMUP)
        if i >= exact.WARMUP and (i - exact.WARMUP) % exact.THIN == exact.THIN - 1:
            thetas.append(np.exp(state.log_theta))
            rhos.append(state.log_rho)
    return Posterior(np.stack(thetas, axis=1), np.stack(rhos, axis=1), "exact", 0), state


def sample(
    prior: TwoGroups,
    evidence: Evidence,
    start: exact.State,
    draws: int,
    rng: np.random.Generator,
    thin: int = THIN,
) -> Posterior:
    """Draws under the two-group prior, from a team that was drawn under the default prior."""
    likelihood = evidence.likelihood()
    model = Categorical(start.model.k, location=prior.location, scale=prior.scale)
    state = replace(start, model=model, adapted=0)
    chains = Chains(state, likelihood.value(np.exp(state.log_theta)))
    log_set = prior.log_set(model.k)
    thetas, rhos = [], []
    for i in range(WARMUP + thin * -(-draws // len(chains.values))):
        for _ in range(JUMPS):
            chains = jumped(chains, likelihood, log_set, rng)
        chains = travelled(chains, likelihood, rng, adapt=i < WARMUP)
        if i >= WARMUP and (i - WARMUP) % thin == thin - 1:
            thetas.append(np.exp(chains.state.log_theta))
            rhos.append(chains.state.log_rho)
    return Posterior(np.stack(thetas, axis=1), np.stack(rhos, axis=1), "two groups", 0)


def travelled(chains: Chains, likelihood: exact.Likelihood, rng: np.random.Generator, adapt: bool) -> Chains:
    """One Hamiltonian transition of every chain, given who is present."""
    state = chains.state
    space = Present(state.model, likelihood, state.floor, state.log_theta > -np.inf)
    x = space.scattered(state.log_theta, state.log_rho, rng)
    size = state.step_size * rng.uniform(0.8, 1.2)
    leaps = int(min(exact.MAX_LEAPS, np.ceil(exact.LENGTH * rng.uniform(0.5, 1.5) / size)))
    momentum = rng.normal(size=x.shape)
    before = space.log_density(x) - (momentum**2).sum(axis=1) / 2
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        moved, momentum = exact._leapfrog(space, state.factor, x, momentum, size, leaps)
        gain = space.log_density(moved) - (momentum**2).sum(axis=1) / 2 - before
    gain = np.where(np.isfinite(gain), gain, -np.inf)
    accepted = np.log(rng.random(len(x))) < gain
    x = np.where(accepted[:, None], moved, x)
    point = space.point(x)
    # What stays, stays to the last digit, and an absent category absent.
    log_theta = np.where(accepted[:, None], point.log_theta, state.log_theta)
    state = replace(state, log_theta=log_theta, log_rho=x[:, -1])
    if adapt:
        state = adapted(state, space, x, float(np.exp(np.minimum(gain, 0)).mean()))
    return Chains(state, likelihood.value(np.exp(state.log_theta)))


def adapted(state: exact.State, space: Present, x: np.ndarray, acceptance: float) -> exact.State:
    """Step size, and at set times the metric and the weights of the jumps, as the default sampler does it."""
    count = state.adapted + 1
    size = float(np.clip(state.step_size * np.exp((acceptance - exact.TARGET) * 2 / count**0.6), 0.01, 1.5))
    state = replace(state, step_size=size, adapted=count)
    if count not in exact.METRIC_AT:
        return state
    whole = Coordinates(space.model, space.likelihood, space.floor)
    return replace(state, factor=exact._metric(whole, x), doubt=weights(state.log_theta, state.floor))


def weights(log_theta: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """How often a jump should try each category (K,): large where some chains have it small or absent."""
    out: np.ndarray = 0.02 + (log_theta < exact._edge(floor)).mean(axis=0)
    return out


def jumped(
    chains: Chains, likelihood: exact.Likelihood, log_set: np.ndarray, rng: np.random.Generator
) -> Chains:
    """One Metropolis jump of one small share t in every chain: half the proposals are 0; the others lie in (0, c),
    half by the prior's tail and half uniform, whatever t was. The category is drawn by its weight among those below
    their c."""
    state = chains.state
    log_theta, rows = state.log_theta, np.arange(len(state.log_theta))
    edge = exact._edge(state.floor)
    near = log_theta < edge
    k = np.argmax(np.where(near, rng.random(near.shape) ** (1 / state.doubt), -1.0), axis=1)
    before = log_theta[rows, k]
    others = (log_theta > -np.inf).sum(axis=1) - (before > -np.inf)
    own = np.exp(state.log_rho)
    u = np.log(rng.random(len(rows)))
    t = np.where(rng.random(len(rows)) < 0.5, u / own, u) + edge[k]
    t = np.where(rng.random(len(rows)) < 0.5, -np.inf, t)

    def ratio(log_t: np.ndarray) -> np.ndarray:
        """ln of the prior over the proposal, both with respect to a point mass at 0 and length on (0, c)."""
        beta = (own - 1) * log_t + (others * own - 1) * np.log1p(-np.exp(log_t)) - betaln(own, others * own)
        proposal = np.logaddexp(np.log(own) + (own - 1) * (log_t - edge[k]), 0.0) - np.log(2) - edge[k]
        return np.where(log_t > -np.inf, log_set[others + 1] + beta - proposal, log_set[others])

    with np.errstate(divide="ignore", invalid="ignore"):
        moved = log_theta + (np.log1p(-np.exp(t)) - np.log1p(-np.exp(before)))[:, None]
        moved[rows, k] = t
        values = likelihood.value(np.exp(moved))
        choice = np.log(near @ state.doubt) - np.log((moved < edge) @ state.doubt)
        gain = values - chains.values + ratio(t) - ratio(before) + choice
        accepted = near.any(axis=1) & (np.log(rng.random(len(rows))) < gain)
    state = replace(state, log_theta=np.where(accepted[:, None], moved, log_theta))
    return Chains(state, np.where(accepted, values, chains.values))


def one_run(cell: Cell, run: int) -> dict[str, list[float]]:
    """The errors of the default and of every two-group prior from the same reports, and how far to trust the
    draws."""
    theta, evidence = population(cell, run)
    rng = np.random.default_rng([run, cell.k, 3])
    first, state = default(evidence, DRAWS, rng)
    found = [first, *(sample(prior, evidence, state, DRAWS, rng) for prior in PRIORS)]
    return {
        "tv": [distance(posterior.estimate(), theta) for posterior in found],
        "rhat": [float(np.nanmax(posterior.rhat(), initial=1.0)) for posterior in found],
        "ess": [float(np.median(posterior.ess())) for posterior in found],
    }


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=16, help="runs of every cell, at least 2")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where the numbers go")
    options = parser.parse_args()
    cells = CELLS + SPARSE
    jobs = [(cell, run) for cell in cells for run in range(options.runs)]
    with ProcessPoolExecutor(options.workers) as pool:
        found = list(track(pool.map(one_run, *zip(*jobs, strict=True)), "runs", total=len(jobs)))
    names = ["default", *map(str, PRIORS)]
    records = []
    for i, cell in enumerate(cells):
        lines = found[i * options.runs : (i + 1) * options.runs]
        record = {
            "cell": cell._asdict(),
            "priors": names,
            "tv": [np.round(line["tv"], 6).tolist() for line in lines],
        }
        record["largest rhat"] = np.round(np.max([line["rhat"] for line in lines], axis=0), 3).tolist()
        record["least ess"] = np.round(np.min([line["ess"] for line in lines], axis=0)).tolist()
        records.append(record)
    options.output.write_text("[\n" + ",\n".join(json.dumps(record) for record in records) + "\n]\n")
    print("\n".join(table(cells, np.array([record["tv"] for record in records]), names)))


if __name__ == "__main__":
    main()
