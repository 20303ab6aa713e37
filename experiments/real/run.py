"""Every method on real answers: drawn from the shares of the data, everyone shuffled, and in the order of time.

    TACIT_DATA=DIR python -m experiments.real.run [--runs 10] [--workers 1] [--backend loky] [--only NAME]

A finished run of a cell is one line of results/real.jsonl, so the command may be stopped at any time and goes on where
it stood. A cell is a data set, an order of the people, an epsilon and a number of people:

    drawn      n people drawn with replacement: independent answers from the shares of the data, as the model has it
    time       people of the data in the order in which they came: all, or n drawn without replacement
    shuffled   the same in random order

All methods of a run ask the same people. A line has, for each method,

    tv, mean        total variation between the estimate and the shares of the data; the same for the posterior mean
    cover, common   the part of the 90 % intervals that hold the share of the data: of all categories, and of those
                    with a share of at least 1 %
    rhat, sampler   the largest R-hat of a share; "exact", or "moments" where tacit chose so
    channels        how many different channels were used; `static` is the part of the reports from the first

and for people in time order or shuffled also

    recent, recent_cover   tv and cover against the shares of the last month
    target, target_recent  total variation of the mixture that the channels aim at (`drift.mixture`) to the shares of
                           the data, and to those of the last month
    off                    total variation between estimate and mixture
    early                  the weight that the mixture gives to the first half of the people, averaged over them
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from experiments.real import data, drift
from rich.progress import track

from experiments import parallel
from tacit import Categorical, Evidence, Study, TacitError, posterior
from tacit.channels import Channel
from tacit.posterior import Posterior

RESULTS = Path(__file__).parent / "results" / "real.jsonl"
METHODS = ("static-srr", "static-subset", "honest", "risk")
FLAT = "srr, flat mean"  # the estimate of the papers, from the reports of static-srr
ORDERS = ("drawn", "time", "shuffled")
LEVEL, COMMON = 0.9, 0.01
Line = dict[str, Any]
Integers = npt.NDArray[np.int64]


class Cell(NamedTuple):
    """What is run: `people` is None for everyone; `runs` at most."""

    name: str
    order: str
    epsilon: float
    people: int | None
    runs: int

    @property
    def key(self) -> tuple[str, str, float]:
        return self.name, self.order, self.epsilon


SMALL = ("occupation", "carrier", "country", "votes2020")
CELLS = [
    *(Cell(name, "drawn", 3.0, 10_000, 10) for name in SMALL),
    *(Cell(name, "drawn", 1.0, 10_000, 10) for name in ("occupation", "carrier")),
    *(Cell(name, "drawn", 1.0, 10_000, 5) for name in ("country", "votes2020")),
    Cell("votes2016", "drawn", 3.0, 10_000, 5),
    *(Cell("destination", "drawn", epsilon, 20_000, 5) for epsilon in (1.0, 3.0)),
    Cell("breed", "drawn", 3.0, 20_000, 4),
    *(Cell("carrier", order, epsilon, None, 5) for epsilon in (1.0, 3.0) for order in ("time", "shuffled")),
    *(Cell("destination", order, 3.0, None, 3) for order in ("time", "shuffled")),
    Cell("breed", "time", 3.0, 20_000, 3),
]
RUNS = 10


class Asked(NamedTuple):
    """What a study gathered: its evidence, and for each round the channel and the number of people."""

    evidence: Evidence
    rounds: tuple[tuple[Channel[Any], int], ...]


def one_run(folder: Path, cell: Cell, number: int) -> Line:
    """Every method on one population; posteriors of the same evidence are drawn once."""
    began = time.process_time()
    facts = data.read(folder, cell.name)
    rows, answers, seed = population(facts, cell, number)
    k, n = len(facts.labels), len(answers)
    found: dict[str, Line] = {}
    drawn: dict[str, Posterior] = {}
    for method in METHODS:
        asked = ask(answers, k, cell.epsilon, method, seed)
        name = asked.evidence.id
        if name not in drawn:
            drawn[name] = posterior.sample(Categorical(k), asked.evidence, seed=seed)
        post, estimate = drawn[name], drawn[name].estimate("tv")
        found[method] = judge(post, estimate, facts) | use(asked)
        if rows is not None:
            found[method] |= aim(asked, answers, facts, post, estimate)
        if method == "static-srr":
            flat = posterior.sample(Categorical(k, 1.0), asked.evidence, seed=seed)
            found[FLAT] = judge(flat, flat.mean, facts)
    line = {"cell": list(cell.key), "run": number, "n": n, "k": k, "methods": found}
    if number == 0 and rows is not None:
        line["month_of"] = months_of(facts, rows)
    return line | {"seconds": round(time.process_time() - began, 1)}


def population(facts: data.Data, cell: Cell, number: int) -> tuple[Integers | None, Integers, int]:
    """Who is asked, in order: the rows of the data (None when drawn), the answers, and a seed for what follows."""
    place = list(data.SOURCES).index(cell.name), ORDERS.index(cell.order)
    rng = np.random.default_rng([*place, round(1000 * cell.epsilon), number])
    if cell.order == "drawn":
        answers = rng.choice(len(facts.labels), cell.people, p=facts.shares)
        return None, answers, int(rng.integers(2**31))
    rows = rng.permutation(len(facts.answers))[: cell.people]
    if cell.order == "time":
        rows.sort()
    return rows, facts.answers[rows], int(rng.integers(2**31))


def ask(answers: Integers, k: int, epsilon: float, policy: str, seed: int) -> Asked:
    """Let everyone take part in a study, round after round."""
    rng = np.random.default_rng(seed)
    labels = [f"category {i}" for i in range(k)]
    study = Study(labels, epsilon=epsilon, policy=policy, kappa=0.9, expected=len(answers), seed=rng)
    rounds = []
    while (begun := len(study.evidence)) < len(answers):
        channel, people = study.channel, answers[begun : begun + study.wanted]
        rounds.append((channel, len(people)))
        study.add(channel, channel.sample(people, rng))
    return Asked(study.evidence, tuple(rounds))


def judge(post: Posterior, estimate: npt.NDArray[np.float64], facts: data.Data) -> Line:
    """Estimate and intervals against the shares of the data."""
    inside, common = covered(post, facts.shares), facts.shares >= COMMON
    return {
        "tv": short(distance(estimate, facts.shares)),
        "mean": short(distance(post.mean, facts.shares)),
        "cover": short(inside.mean()),
        "common": short(inside[common].mean()),
        "rhat": short(np.nanmax(post.rhat())),
        "sampler": post.method,
    }


def use(asked: Asked) -> Line:
    """How much the study changed its channel."""
    first = asked.rounds[0][0]
    total = sum(size for _, size in asked.rounds)
    return {
        "channels": len({channel for channel, _ in asked.rounds}),
        "static": short(sum(size for channel, size in asked.rounds if channel == first) / total),
    }


def aim(
    asked: Asked, answers: Integers, facts: data.Data, post: Posterior, estimate: npt.NDArray[np.float64]
) -> Line:
    """Estimate and target against the last month, and the target against everyone."""
    sizes = np.array([size for _, size in asked.rounds])
    starts = np.cumsum(sizes) - sizes
    k = len(facts.labels)
    counts = np.array(
        [np.bincount(answers[i : i + size], minlength=k) for i, size in zip(starts, sizes, strict=True)]
    )
    target = drift.mixture([channel for channel, _ in asked.rounds], counts)
    last = facts.monthly()[-1]
    half = np.clip((len(answers) / 2 - starts) / sizes, 0, 1)  # of each round, asked in the first half
    shown = np.argsort(-facts.shares, kind="stable")[[0, k // 4, k // 2]]
    return {
        "recent": short(distance(estimate, last)),
        "recent_cover": short(covered(post, last).mean()),
        "target": short(distance(target.theta, facts.shares)),
        "target_recent": short(distance(target.theta, last)),
        "off": short(distance(estimate, target.theta)),
        "early": short(float(half @ target.weight @ facts.shares)),
        "rounds": sizes.tolist(),
        "shown": shown.tolist(),
        "weight": [[short(w) for w in row] for row in target.weight[:, shown].T],
    }


def months_of(facts: data.Data, rows: Integers) -> list[int]:
    """How many of those asked came in each month."""
    return np.bincount(facts.month[rows], minlength=facts.month[-1] + 1).tolist()


def covered(post: Posterior, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Whether the equal-tailed interval of each category holds its share."""
    low, high = post.interval(LEVEL)
    return (low <= shares) & (shares <= high)


def distance(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Total variation."""
    return float(np.abs(one - other).sum() / 2)


def short(value: float) -> float:
    """Five digits."""
    return float(f"{value:.5g}")


def finished(path: Path = RESULTS) -> list[Line]:
    """The runs made so far; a line that is still being written does not count."""
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines(keepends=True) if text.endswith("\n")]


def make(
    folder: Path, cells: list[Cell], runs: int, workers: int, path: Path = RESULTS, backend: str = "loky"
) -> None:
    """Add the lines that are missing: the first run of every cell, then the second, and so on."""
    for cell in cells:
        data.read(folder, cell.name)  # a missing file is told before anything is run
    path.parent.mkdir(parents=True, exist_ok=True)
    _trim(path)
    there = {(*line["cell"], line["run"]) for line in finished(path)}
    missing = [
        (cell, number)
        for number in range(runs)
        for cell in cells
        if number < cell.runs and (*cell.key, number) not in there
    ]
    jobs = [(folder, *job) for job in missing]
    made = track(parallel.each(one_run, jobs, workers, backend), f"{len(missing)} runs", total=len(missing))
    try:
        with path.open("a") as out:
            for line in made:
                out.write(json.dumps(line, separators=(",", ":")) + "\n")
                out.flush()
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on from here")


def _trim(path: Path) -> None:
    """Take away a last line that was cut off."""
    if path.exists():
        with path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)


def main() -> None:
    """Make the missing runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("TACIT_DATA", "data"), help="folder of the files"
    )
    parser.add_argument(
        "--runs", type=parallel.at_least_one, default=RUNS, help="runs of every cell, at most those planned"
    )
    parallel.options(parser)
    parser.add_argument(
        "--only", choices=data.SOURCES, action="append", help="this data set; may be given again"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of lines")
    options = parser.parse_args()
    cells = [cell for cell in CELLS if not options.only or cell.name in options.only]
    try:
        make(options.data, cells, options.runs, options.workers, options.output, options.backend)
    except TacitError as error:
        print(f"{error.message}: {error.hint}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
