"""The papers' three theorems, tried out: results/theorems.json.

    python -m experiments.adobest.theorems

**Theorem 3.** Whatever chooses the subsets, the posterior mass of the ball of radius c n^-a around theta* goes to 1
for every a < 1/2. (The paper writes the square of the distance, and a < 1.) The subsets are chosen at exact posterior
draws, at draws of the papers' sampler, and at draws of the prior that never look at the data; the posterior is always
the exact one, of `tacit.posterior`. c is set so that the ball holds half of the mass at the first checkpoint.

**Theorem 4.** When theta is drawn exactly, P(S_n = S*) goes to 1. Given the reports, that probability is the posterior
mass of the thetas whose best subset is S*, and it is computed as such; the next respondents, up to the next
checkpoint, each draw their own theta. For the papers' sampler it is the share of respondents since the last checkpoint
who were asked with S*. That sampler is not exact however long it runs: see `floor`.

**Theorem 2**, that U6 restricted to the nested sets has the global maximum, is in `nested`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from experiments.adobest.choice import RULES, best_size
from experiments.adobest.floor import floors
from experiments.adobest.grid import YEAR
from experiments.adobest.loop import STEP, UPDATES, draw_report, langevin, likelihood
from experiments.adobest.matrices import Floats, entries
from experiments.adobest.nested import every_subset
from experiments.adobest.reading import RESULTS, short, write
from experiments.adobest.subsets import best_masks, mask_of, members
from experiments.parallel import at_least_one
from numba import njit
from rich.progress import track

from tacit import Categorical, Evidence, channels, posterior
from tacit.channels import Channel

OUTPUT = RESULTS / "theorems.json"
THETA = np.array([0.40, 0.30, 0.15, 0.10, 0.05])  # strictly ordered, with one best subset for each of METHODS
K = len(THETA)
EPSILON, KAPPA = 2.0, 0.8
METHODS = ("tv_marginal", "entropy")  # for "honest", S* is empty here
CHECKPOINTS = tuple(100 * 2**j for j in range(13))  # to 409,600
BALLS = (0.25, 0.4, 0.5, 0.6)  # a: the theorem speaks of those below 1/2
RUNS = 10
DRAWS = 500


class Trace(NamedTuple):
    """One study at each checkpoint: `best`, the probability or the share of S*; `distance` from theta* of the draws
    that choose the subsets, root mean square; `posterior` (checkpoints, DRAWS), distances of exact posterior draws."""

    best: list[float]
    distance: list[float]
    posterior: list[Floats]


@cache
def channel_of(mask: int) -> Channel[Any]:
    """RRRR on the categories whose bits are set."""
    return channels.rrrr(K, members(mask), EPSILON, KAPPA)


def best_mask(method: str) -> int:
    """S* of a utility."""
    return int(best_masks(THETA[None], entries(K, EPSILON, KAPPA), RULES.index(method))[0])


def asked(masks: npt.NDArray[np.int64], people: int, rng: np.random.Generator) -> Evidence:
    """The reports of new people, each asked with the subset of a draw taken at random."""
    evidence = Evidence()
    subsets, shares = np.unique(masks, return_counts=True)
    for mask, count in zip(subsets, rng.multinomial(people, shares / shares.sum()), strict=True):
        if count:
            channel = channel_of(int(mask))
            evidence = evidence.add(channel, channel.sample(rng.choice(K, count, p=THETA), rng))
    return evidence


def away(draws: Floats) -> Floats:
    """The Euclidean distance of each draw from theta*."""
    return np.asarray(np.linalg.norm(draws - THETA, axis=1))


def study(method: str, run: int, blind: bool = False) -> Trace:
    """Subsets at exact posterior draws; `blind`: at draws of the prior, for ever."""
    rng = np.random.default_rng([YEAR, 4, METHODS.index(method), blind, run])
    matrix, code, best = entries(K, EPSILON, KAPPA), RULES.index(method), best_mask(method)
    model, evidence = Categorical(K, 1.0), Evidence()
    chosen = model.sample_prior(DRAWS, rng).theta
    trace = Trace([], [], [])
    for before, now in pairwise((0, *CHECKPOINTS)):
        evidence = evidence + asked(best_masks(chosen, matrix, code), now - before, rng)
        draws = posterior.sample(model, evidence, "exact", DRAWS, rng).draws
        if not blind:
            chosen = draws
        trace.best.append(float((best_masks(chosen, matrix, code) == best).mean()))
        trace.distance.append(float(np.sqrt((away(chosen) ** 2).mean())))
        trace.posterior.append(away(draws))
    return trace


@njit(cache=True)
def respondents(answers, matrix, code, falling, best, ends, rng):
    """The papers' loop: for each part of `ends`, the share of rounds with S*, the mean squared distance of the draws
    from THETA, and how often each report came from each subset up to its end."""
    n, k = len(answers), matrix.shape[1]
    phi = np.full(k, 1.0 / k)
    rows, place, mean = np.empty((n, k)), np.empty(k, np.int64), np.empty(k)
    hits, squares = np.zeros(len(ends)), np.zeros(len(ends))
    counts = np.zeros((len(ends), 1 << k, k), np.int64)
    part = 0
    for t in range(n):
        if t == ends[part]:
            part += 1
            counts[part] = counts[part - 1]
        theta = phi / phi.sum()
        order = np.argsort(-theta, kind="mergesort")
        for i in range(k):
            place[order[i]] = i
        size = best_size(theta[order], matrix, code, 0.0, 0)
        mask = mask_of(order, size)
        y = draw_report(place[answers[t]], size, matrix, rng)
        likelihood(rows[t], order, y, size, matrix)
        hits[part] += mask == best
        squares[part] += ((theta - THETA) ** 2).sum()
        counts[part, mask, order[y]] += 1
        langevin(phi, rows, t + 1, UPDATES, STEP / (t + 1 if falling else n), rng, mean)
    return hits, squares, counts


def papers_study(method: str, run: int, rule: str) -> Trace:
    """Subsets at the draws of the papers' sampler."""
    rng = np.random.default_rng([YEAR, 4, METHODS.index(method), 2, run])
    answers = rng.choice(K, CHECKPOINTS[-1], p=THETA)
    matrix, code, ends = entries(K, EPSILON, KAPPA), RULES.index(method), np.array(CHECKPOINTS)
    hits, squares, counts = respondents(
        answers, matrix, code, rule == "falling", best_mask(method), ends, rng
    )
    people = np.diff(ends, prepend=0)
    trace = Trace((hits / people).tolist(), np.sqrt(squares / people).tolist(), [])
    for table in counts:
        draws = posterior.sample(Categorical(K, 1.0), gathered(table), "exact", DRAWS, rng).draws
        trace.posterior.append(away(draws))
    return trace


def gathered(table: npt.NDArray[np.int64]) -> Evidence:
    """The Evidence of a table of counts, (subset as bits, report)."""
    evidence = Evidence()
    for mask in np.flatnonzero(table.sum(axis=1)):
        evidence = evidence.add(channel_of(int(mask)), np.repeat(np.arange(K), table[mask]))
    return evidence


def studies(runs: int) -> Iterator[tuple[str, str, list[Trace]]]:
    """Each way to choose subsets, with its runs."""
    for method in METHODS:
        yield method, "exact", [study(method, run) for run in track(range(runs), f"{method}, exact")]
    first = METHODS[0]
    yield first, "blind", [study(first, run, blind=True) for run in track(range(runs), f"{first}, blind")]
    for rule in ("fixed", "falling"):
        made = [papers_study(first, run, rule) for run in track(range(runs), f"{first}, SGLD {rule}")]
        yield first, f"sgld {rule}", made


def summary(traces: list[Trace], radius: float) -> dict[str, Any]:
    """Over the runs: means of `best` and `distance` with standard errors, and the mass of each ball; its radius at the
    first checkpoint is `radius`."""
    out: dict[str, Any] = {}
    for name in ("best", "distance"):
        values = np.array([getattr(trace, name) for trace in traces])
        out[name] = short(values.mean(axis=0))
        out[f"{name} se"] = short(values.std(axis=0, ddof=1) / np.sqrt(len(values)))
    reached = np.array([trace.posterior for trace in traces])  # (runs, checkpoints, DRAWS)
    shrunk = np.array(CHECKPOINTS) / CHECKPOINTS[0]
    out["mass"] = {
        str(a): short((reached <= radius * shrunk[:, None] ** -a).mean(axis=(0, 2))) for a in BALLS
    }
    return out


def make(runs: int = RUNS, output: Path = OUTPUT) -> None:
    """All three theorems."""
    made = list(studies(runs))
    radius = float(np.median([trace.posterior[0] for trace in made[0][2]]))
    settings = {"theta": THETA.tolist(), "epsilon": EPSILON, "kappa": KAPPA, "runs": runs, "draws": DRAWS}
    convergence = {f"{method}, {way}": summary(traces, radius) for method, way, traces in made}
    write(
        output,
        settings
        | {"best": {method: members(best_mask(method)) for method in METHODS}, "n": list(CHECKPOINTS)}
        | {"radius": radius, "convergence": convergence, "floor": floors(runs), "subsets": every_subset()},
    )


def main() -> None:
    """Make results/theorems.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=at_least_one, default=RUNS, help="studies of each kind")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the file of results")
    options = parser.parse_args()
    make(options.runs, options.output)


if __name__ == "__main__":
    main()
