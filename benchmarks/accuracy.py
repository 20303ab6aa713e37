"""How near the estimates come: tacit's studies beside other libraries and the papers' own procedure, on the same
people.

    python benchmarks/accuracy.py [--runs 50] [--workers 2] [--quick]

A cell is (K, epsilon, rho): theta is drawn from Dirichlet(rho), 500 K people answer once. Every run of a cell has
its own theta and answers, those of `experiments/adobest/grid.py`, and all methods see the same ones. Each finished
run is a line of results/accuracy.jsonl, so the command can be stopped and goes on where it stood;
`accuracy_tables.py` makes the tables from the lines that are there. The papers' own procedure is in
experiments/adobest/results/grid.jsonl, for the same people.

A line has the total variation error of every method ("tv", "peers") and the squared error of posterior means
("mse"). For the first runs of every cell results/bounds.jsonl has the expected error of efficient unbiased
estimates: through the static channel, and through the best channel of all, a proven lower bound.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the processes share the cores

import bounds
import numpy as np
import rivals
from rich.progress import track

from tacit import Categorical, Evidence, channels, posterior, simulate
from tacit.channels import Channel

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from experiments.adobest.grid import CELLS, RUNS, Cell, population  # noqa: E402

LINES = ROOT / "benchmarks" / "results" / "accuracy.jsonl"
BOUNDS = LINES.with_name("bounds.jsonl")
EXPLAINED = 20  # runs of every cell with other priors and standard randomised response
BOUNDED = {10: 10, 20: 1}  # runs of every cell with bounds, by K: they take longer than the studies
Job = tuple[Cell, int]
Estimates = dict[str, np.ndarray]
Line = dict[str, Any]


def ours(cell: Cell, theta: np.ndarray, answers: np.ndarray, seed: int) -> Estimates:
    """The static study and the adaptive one, with the default prior and estimate; and the static one's mean."""
    k, epsilon, _ = cell
    static = posterior.sample(Categorical(k), reports(channels.subset(k, epsilon), answers, seed), seed=seed)
    adaptive = simulate(theta, epsilon, "risk", answers=answers, seed=seed)
    return {
        "static, learned, tv": static.estimate("tv"),
        "static, learned, mean": static.mean,
        "risk, learned, tv": adaptive.estimate,
    }


def explained(cell: Cell, answers: np.ndarray, seed: int) -> Estimates:
    """Another channel, and other priors on the same reports: they say where the error comes from."""
    k, epsilon, rho = cell
    other = posterior.sample(Categorical(k), reports(channels.srr(k, epsilon), answers, seed), seed=seed)
    out = {"srr, learned, tv": other.estimate("tv")}
    evidence = reports(channels.subset(k, epsilon), answers, seed)
    for name, concentration in (("flat", 1.0), ("oracle", rho)):
        found = posterior.sample(Categorical(k, concentration), evidence, seed=seed)
        out |= {f"static, {name}, mean": found.mean, f"static, {name}, tv": found.estimate("tv")}
    return out


def reports(channel: Channel[Any], answers: np.ndarray, seed: int) -> Evidence:
    """Everybody's report through one channel."""
    return Evidence().add(channel, channel.sample(answers, seed))


def one_run(cell: Cell, run: int) -> Line:
    """The errors of every method in one run."""
    k, epsilon, _ = cell
    theta, answers, seed = population(cell, run)
    found = ours(cell, theta, answers, seed)
    if run < EXPLAINED:
        found |= explained(cell, answers, seed)
    peers = rivals.estimates(answers, k, epsilon, seed)
    line: Line = {"cell": list(cell), "run": run, "code": code()}
    line["tv"] = {name: _short(np.abs(guess - theta).sum() / 2) for name, guess in found.items()}
    line["peers"] = {name: _short(np.abs(guess - theta).sum() / 2) for name, guess in peers.items()}
    line["mse"] = {
        name: _short(((guess - theta) ** 2).sum()) for name, guess in found.items() if name.endswith("mean")
    }
    return line


def one_bound(cell: Cell, run: int) -> Line:
    """The expected errors of efficient unbiased estimates for the population of one run."""
    k, epsilon, _ = cell
    theta, answers, _ = population(cell, run)
    made, root = bounds.from_matrix(channels.subset(k, epsilon).matrix()), np.sqrt(len(answers))
    found = [bounds.tv_error(made, theta) / root, bounds.least(theta, epsilon)[0] / root]
    return {"cell": list(cell), "run": run, "bound": [_short(value) for value in found]}


def _short(value: float) -> float:
    return float(f"{value:.5g}")


@cache
def code() -> str:
    """The commit that the numbers come from, with a mark when the code differs from it."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    sources = (
        "src",
        "clients/python/src",
        "benchmarks/accuracy.py",
        "benchmarks/rivals.py",
        "benchmarks/bounds.py",
    )
    changed = git("status", "--porcelain", "--untracked-files=no", "--", *sources)
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def finished(path: Path) -> list[Line]:
    """The runs made so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def make(path: Path, jobs: list[Job], workers: int, task: Callable[[Cell, int], Line]) -> None:
    """Make those that are not there yet."""
    path.parent.mkdir(exist_ok=True)
    there = {(tuple(line["cell"]), line["run"]) for line in finished(path)}
    with ProcessPoolExecutor(workers) as pool, path.open("a") as out:
        made = [pool.submit(task, *job) for job in jobs if job not in there]
        for job in track(as_completed(made), path.stem, total=len(made)):
            out.write(json.dumps(job.result()) + "\n")
            out.flush()


def main() -> None:
    """Make the missing runs and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of every cell")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument(
        "--quick", action="store_true", help="one run of the first cell, printed and not kept"
    )
    options = parser.parse_args()
    if options.quick:
        print(json.dumps(one_run(CELLS[0], 0), indent=1))
        return
    code()  # before the first process: all lines come from the code that is there now
    jobs = [(cell, run) for run in range(options.runs) for cell in CELLS]
    make(LINES, jobs, options.workers, one_run)
    make(BOUNDS, [(cell, run) for cell, run in jobs if run < BOUNDED[cell[0]]], options.workers, one_bound)
    subprocess.run([sys.executable, Path(__file__).with_name("accuracy_tables.py")], check=True)


if __name__ == "__main__":
    main()
