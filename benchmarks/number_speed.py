"""Speed of learning a number: the paper's adaptive truncation without latent answers, beside the authors' program.

    python benchmarks/number_speed.py [--matlab DIR] [--sizes 1000,10000,100000] [--output FILE] [--show]

Everybody has an own interval, chosen after the report before: the posterior is updated and drawn from once a person.
N = 1,000 particles, epsilon = 1. Ours are `experiments/adaptive_truncation/exact.py` (exact likelihood), `latent.py`
(the paper's sampler, compiled) and a study of tacit, in rounds that grow. Seconds are those of the processor, since
a shared machine stretches those of the clock; the start of Octave and our compilation are left out. "exponent" is
the slope of ln seconds by ln n from the smallest to the largest n. Memory is the peak of what Python and numpy
allocate.

DIR holds the authors' files, which are not part of this project: SMC_DP_norm.m, trunc_lr.m, laprnd.m and resample.m
of the GitHub repository sinanyildirim/SMC_DP_adaTr. They run unchanged in GNU Octave; gamrnd and randsample, which
Octave keeps in its statistics package, are replaced by one line each. Without DIR or without Octave they are left
out; --show prints the last measurement.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy, and for Octave too

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))
from experiments.adaptive_truncation import exact, latent
from experiments.adaptive_truncation.people import MU, PARTICLES, SIGMA, best, population
from experiments.adaptive_truncation.run import QUESTION

from tacit import simulate

RESULTS = Path(__file__).parent / "results" / "numbers.json"
EPSILON = 1.0
OCTAVE = (250, 500, 1000)
PROGRAM = """
addpath('{folder}');
x = load('{answers}')';
prior = struct('mu_prior_m', 0, 'mu_prior_v', 1e4, 'var_prior_alpha', 1, 'var_prior_beta', 1);
used = cputime;
[mu, sigma] = SMC_DP_norm(x, {epsilon}, [{low} {high}], {low}, {high}, {particles}, prior, struct('sigma_q', 3), 1);
printf('%.6f %.6f %.6f\\n', cputime - used, mean(mu(:, end)), mean(sigma(:, end)));
"""
STAND_INS = {
    "gamrnd.m": "function r = gamrnd(shape, scale)\n r = scale .* randg(shape, size(scale));\nend\n",
    "randsample.m": "function r = randsample(values, count)\n r = values(randi(numel(values), 1, count));\nend\n",
}
Row = dict[str, Any]


def in_octave(folder: Path, n: int) -> Row:
    """Processor seconds of the authors' program on the first n people, and its posterior mean."""
    low, high = best(EPSILON)
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        np.savetxt(here / "answers.txt", population(0, n).answers)
        for name, text in STAND_INS.items():
            (here / name).write_text(text)
        program = here / "measure.m"
        program.write_text(
            PROGRAM.format(
                folder=folder.resolve(),
                answers=here / "answers.txt",
                epsilon=EPSILON,
                low=low,
                high=high,
                particles=PARTICLES,
            )
        )
        done = subprocess.run(
            ["octave", "--no-gui", "--quiet", "--norc", program.name],
            capture_output=True,
            text=True,
            check=True,
            cwd=here,
        )
    seconds, *mean = (float(word) for word in done.stdout.split()[-3:])
    return {"what": "authors' program, Octave", "n": n, "seconds": seconds, "mean": mean}


def exactly(n: int) -> np.ndarray:
    """The paper's policy, exact likelihood."""
    return exact.adaptive(population(0, n), EPSILON, np.random.default_rng(1), every=n).mean


def latently(n: int) -> np.ndarray:
    """The paper's sampler, compiled."""
    return latent.run(population(0, n), EPSILON, np.random.default_rng(1), best=best(EPSILON)).mean


def studied(n: int) -> np.ndarray:
    """A study, in rounds that grow."""
    answers = population(0, n).answers
    found = simulate((MU, SIGMA), EPSILON, answers=answers, model=exact.MODEL, question=QUESTION, seed=1)
    return found.posterior.mean


def timed(what: str, run: Callable[[int], np.ndarray], n: int, repeats: int) -> Row:
    """Processor seconds of the fastest of some calls."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        mean = run(n)
        times.append(time.process_time() - start)
    return {"what": what, "n": n, "seconds": min(times), "mean": [float(v) for v in mean]}


def memory(n: int, particles: int) -> Row:
    """The peak of a run, beyond what was there before."""
    people = population(0, n)
    tracemalloc.start()
    exact.adaptive(people, EPSILON, np.random.default_rng(1), particles=particles, every=n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"n": n, "particles": particles, "megabytes": peak / 1e6}


def measure(sizes: list[int], folder: Path | None) -> Row:
    """All of it; the authors' program right after ours."""
    for warm in (exactly, latently, studied):
        warm(50)
    rows = [timed("exact", exactly, n, 5 if n <= 1000 else 1) for n in sizes]
    rows += [timed("latent", latently, n, 1) for n in (250, 500, 1000)]
    rows += [timed("study", studied, n, 3 if n <= 1000 else 1) for n in sizes]
    made: Row = {"rows": rows, "memory": [memory(*job) for job in ((1000, 1000), (8000, 1000), (1000, 8000))]}
    if folder is not None and shutil.which("octave"):
        rows += [in_octave(folder, n) for n in OCTAVE]
        theirs = next(row for row in reversed(rows) if row["n"] == sizes[0])
        made["ratio"] = theirs["seconds"] / rows[0]["seconds"]
    made["exponents"] = {
        what: exponent([row for row in rows if row["what"] == what]) for what in ("exact", "latent", "study")
    }
    made["date"] = datetime.now(UTC).date().isoformat()
    made["machine"] = f"{platform.machine()}, {os.cpu_count()} processors"
    return made


def exponent(rows: list[Row]) -> float:
    """The slope of ln seconds by ln n, from end to end."""
    first, last = rows[0], rows[-1]
    return math.log(last["seconds"] / first["seconds"]) / math.log(last["n"] / first["n"])


def show(made: Row) -> None:
    """The tables."""
    console = Console(width=110)
    table = Table("what", "n", "seconds", "mean of mu, sigma")
    for row in made["rows"]:
        table.add_row(
            row["what"], f"{row['n']:,}", f"{row['seconds']:.3g}", ", ".join(f"{v:.2f}" for v in row["mean"])
        )
    console.print(table)
    table = Table("n", "N", "peak MB")
    for row in made["memory"]:
        table.add_row(f"{row['n']:,}", f"{row['particles']:,}", f"{row['megabytes']:.2f}")
    console.print(table)
    console.print(
        "exponents in n: " + ", ".join(f"{name} {value:.2f}" for name, value in made["exponents"].items())
    )
    if "ratio" in made:
        console.print(f"n = 1,000: {made['ratio']:.0f} times as fast as the authors' program in Octave")
    console.print(f"{made['date']}, {made['machine']}, processor seconds")


def main() -> None:
    """Measure and keep, or show what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--matlab", type=Path, metavar="DIR", help="where the authors' files are")
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of people, the first 1000")
    parser.add_argument("--show", action="store_true", help="the last measurement, nothing new")
    parser.add_argument("--output", type=Path, default=RESULTS, help="JSON file")
    options = parser.parse_args()
    if options.show:
        made = json.loads(RESULTS.read_text())
    else:
        made = measure([int(text) for text in options.sizes.split(",")], options.matlab)
        options.output.write_text(json.dumps(made, indent=1) + "\n")
    show(made)


if __name__ == "__main__":
    main()
