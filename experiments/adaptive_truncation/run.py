"""The experiment: every method on the same people, for epsilon 1, 2, 5 and 10.

    python -m experiments.adaptive_truncation.run [--runs 400] [--few 30] [--method NAME] [--workers 1] [--backend loky]

A finished (epsilon, run, method) is one line of results/runs.jsonl, so the command may be stopped at any time and
goes on where it stood. A line has

    epsilon, run, method
    mean, sd         of the posterior of (mu, sigma)
    information      exact, of one report at the true (mu, sigma): [F11, F12, F22], averaged over all reports, and over
                     the last half; for the methods with an interval over every 20th report
    seconds          of the processor

| method | interval or channel | posterior |
| --- | --- | --- |
| latent | adaptive, the paper's | latent answers, order of the paper |
| latent program | adaptive, the paper's | latent answers, order and start of the program |
| latent fixed | 50 +- 10 sigma | latent answers, order of the paper |
| mhaar | 50 +- 10 sigma | MHAAR, mended |
| exact | adaptive, the paper's | exact likelihood |
| exact fixed | 50 +- 10 sigma | exact likelihood |
| information, information:mu | ours: graded response, in rounds that grow | exact likelihood |
| long information, ... | ours, with 10,000 people | exact likelihood |

"information" aims at both parameters, "information:mu" at mu. All that adapt know mu ~ N(0, 100^2) and no more: the
question of ours goes from -500 to 500. Those in FEW are run less often, since they are slow or vary little.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from experiments.adaptive_truncation import exact, latent, mhaar
from experiments.adaptive_truncation.people import (
    EPSILONS,
    EVERY,
    MU,
    SIGMA,
    Floats,
    People,
    Trace,
    best,
    fixed,
    population,
    report,
)
from rich.progress import track

from experiments import parallel
from tacit import simulate
from tacit.models.information import clipped_information, finite_information
from tacit.simulation import NumberSimulation
from tacit_client import Question

RESULTS = Path(__file__).parent / "results" / "runs.jsonl"
RUNS, FEWER = 400, 30
LONG = 10_000
QUESTION = Question("number", "What is your number?", (), "units", "-500", "500", "0.01")
TRUTH = [[MU, SIGMA]]
Line = dict[str, Any]
Found = tuple[Floats, Floats, dict[str, list[float]]]


def adaptive(people: People, epsilon: float, rng: np.random.Generator, order: str, start: str) -> Found:
    """The paper's method as it is."""
    found = latent.run(people, epsilon, rng, best=best(epsilon), order=order, start=start)
    return found.mean, found.sd, of_intervals(found, epsilon)


def latent_fixed(people: People, epsilon: float, rng: np.random.Generator) -> Found:
    """The paper's sampler on the interval that does not move."""
    found = latent.run(people, epsilon, rng, interval=fixed())
    return found.mean, found.sd, of_intervals(found, epsilon)


def with_chain(people: People, epsilon: float, rng: np.random.Generator) -> Found:
    """MHAAR on the interval that does not move."""
    chain = mhaar.sample(*on_fixed(people, epsilon), epsilon, rng)
    return chain.mean(axis=0), chain.std(axis=0), {}


def exactly(people: People, epsilon: float, rng: np.random.Generator) -> Found:
    """The paper's policy, without latent answers."""
    found = exact.adaptive(people, epsilon, rng)
    return found.mean, found.sd, of_intervals(found, epsilon)


def exactly_fixed(people: People, epsilon: float, rng: np.random.Generator) -> Found:
    """All reports on the interval that does not move, at once."""
    return *exact.batch(*on_fixed(people, epsilon), epsilon, rng), {}


def ours(people: People, epsilon: float, rng: np.random.Generator, policy: str, n: int = 0) -> Found:
    """A study of tacit; with `n`, of that many new people."""
    answers = rng.normal(MU, SIGMA, n) if n else people.answers
    found = simulate(
        (MU, SIGMA),
        epsilon,
        policy,
        answers=answers,
        model=exact.MODEL,
        question=QUESTION,
        seed=rng,
    )
    return found.posterior.mean, found.posterior.sd, of_channels(found)


METHODS: dict[str, Callable[[People, float, np.random.Generator], Found]] = {
    "latent": lambda *job: adaptive(*job, "paper", "prior"),
    "latent program": lambda *job: adaptive(*job, "program", "report"),
    "latent fixed": latent_fixed,
    "mhaar": with_chain,
    "exact": exactly,
    "exact fixed": exactly_fixed,
    "information": lambda *job: ours(*job, "information"),
    "information:mu": lambda *job: ours(*job, "information:mu"),
    "long information": lambda *job: ours(*job, "information", LONG),
    "long information:mu": lambda *job: ours(*job, "information:mu", LONG),
}
FEW = ("latent", "latent program", "latent fixed", "mhaar", "long information", "long information:mu")


def on_fixed(people: People, epsilon: float) -> tuple[Floats, Floats, Floats]:
    """Reports and ends of the interval that does not move."""
    low, high = fixed()
    y = np.array([report(x, low, high, epsilon, v) for x, v in zip(*people, strict=True)])
    return y, np.full(len(y), low), np.full(len(y), high)


def of_intervals(trace: Trace, epsilon: float) -> dict[str, list[float]]:
    """Information of the intervals, every EVERY-th of them."""
    chosen = trace.intervals[EVERY - 1 :: EVERY]
    made = np.array(
        [clipped_information("normal", low, high, (high - low) / epsilon, TRUTH)[0] for low, high in chosen]
    )
    return _averages(made, np.ones(len(made)))


def of_channels(found: NumberSimulation) -> dict[str, list[float]]:
    """Information of the channels of a study, each as often as it was used."""
    made = np.array(
        [
            finite_information("normal", channel.cuts, channel.matrix(), TRUTH)[0]
            for channel, _ in found.channels
        ]
    )
    return _averages(made, np.array([count for _, count in found.channels], dtype=float))


def _averages(information: Floats, counts: Floats) -> dict[str, list[float]]:
    """[F11, F12, F22] averaged over reports, and over the last half of them."""
    before = counts.sum() / 2 - (np.cumsum(counts) - counts)
    late = counts - np.clip(before, 0, counts)
    parts = information[:, [0, 0, 1], [0, 1, 1]]
    return {
        name: [float(f"{v:.6g}") for v in weights @ parts / weights.sum()]
        for name, weights in (("all", counts), ("late", late))
    }


def one(epsilon: float, run: int, method: str) -> Line:
    """One method on one population."""
    rng = np.random.default_rng([run, list(METHODS).index(method), round(epsilon * 1000)])
    begun = time.process_time()
    mean, sd, information = METHODS[method](population(run), epsilon, rng)
    return {
        "epsilon": epsilon,
        "run": run,
        "method": method,
        "mean": [float(f"{v:.6g}") for v in mean],
        "sd": [float(f"{v:.4g}") for v in sd],
        "information": information,
        "seconds": float(f"{time.process_time() - begun:.3g}"),
    }


def finished(path: Path = RESULTS) -> list[Line]:
    """The lines made so far; one that is still being written does not count."""
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines(keepends=True) if text.endswith("\n")]


def make(
    methods: list[str],
    runs: int,
    few: int,
    path: Path = RESULTS,
    workers: int = 1,
    backend: str = "loky",
) -> None:
    """Add the lines that are missing."""
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        with path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
    there = {(line["epsilon"], line["run"], line["method"]) for line in finished(path)}
    wanted = [
        (epsilon, run, method)
        for run in range(runs)
        for method in methods
        for epsilon in EPSILONS
        if run < few or method not in FEW
    ]
    missing = [job for job in wanted if job not in there]
    with path.open("a") as out:
        made = parallel.each(one, missing, workers, backend)
        for line in track(made, f"{len(missing)} lines", total=len(missing)):
            out.write(json.dumps(line, separators=(",", ":")) + "\n")
            out.flush()


def main() -> None:
    """Make the missing lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of the quick methods")
    parser.add_argument("--few", type=int, default=FEWER, help="runs of the methods in FEW")
    parser.add_argument(
        "--method", choices=METHODS, action="append", help="this one only; may be given again"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of lines")
    parallel.options(parser)
    options = parser.parse_args()
    make(
        options.method or list(METHODS),
        options.runs,
        options.few,
        options.output,
        options.workers,
        options.backend,
    )


if __name__ == "__main__":
    main()
