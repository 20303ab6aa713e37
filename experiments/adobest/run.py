"""The full grid: 18 cells, 50 runs, every method of the papers, at the true epsilon and with the published matrices.

    python -m experiments.adobest.run [--runs 50] [--workers 2] [--backend loky] [--cell K,EPSILON,RHO] [--output FILE]

A finished run of a cell is one line of results/grid.jsonl, so the command may be stopped at any time and goes on where
it stood. A line has

    cell, run      which population (`grid.population`)
    tv, size       for each variant "STEP KAPPA" one number for each method, in the order of `loop.METHODS`: the total
                   variation error, and the mean |S|; "empty" is the share of rounds with an empty S
    ml             for runs below 10, the error of the maximum likelihood estimate from the very reports of the variant
                   "fixed 0.9", for each of LIKELIEST

The variants "faulty KAPPA" take the matrices of the published code, which leak more than epsilon, for the utilities
alone. All variants of a run share the population and the seed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from experiments.adobest import mle
from experiments.adobest.choice import RULES
from experiments.adobest.grid import CELLS, KAPPAS, RUNS, Cell, population
from experiments.adobest.loop import METHODS, STEPS, run
from rich.progress import track

from experiments import parallel

RESULTS = Path(__file__).parent / "results" / "grid.jsonl"
VARIANTS = [(rule, kappa) for rule in (*STEPS, "faulty") for kappa in KAPPAS]
LIKELIEST = ("srr", "semi:0.9", *RULES)
LIKELIEST_RUNS = 10
Line = dict[str, Any]


def methods(rule: str) -> tuple[str, ...]:
    """What runs with a step rule; "faulty" is the published code, with its fixed step."""
    return RULES if rule == "faulty" else METHODS


def one_run(cell: Cell, number: int) -> Line:
    """Every method on one population."""
    k, epsilon, _ = cell
    theta, answers, seed = population(cell, number)
    line: Line = {"cell": list(cell), "run": number, "tv": {}, "size": {}, "empty": {}}
    likeliest = {}
    for rule, kappa in VARIANTS:
        faulty = rule == "faulty"
        found = []
        for method in methods(rule):
            result = run(answers, k, epsilon, method, kappa, seed, "fixed" if faulty else rule, faulty)
            found.append((distance(result.estimate, theta), result.mean_size, result.unrestricted))
            if number < LIKELIEST_RUNS and (rule, kappa) == ("fixed", 0.9) and method in LIKELIEST:
                likeliest[method] = distance(mle.estimate(result.rows), theta)
        name = f"{rule} {kappa}"
        line["tv"][name], line["size"][name], line["empty"][name] = (
            [float(f"{value:.5g}") for value in values] for values in zip(*found, strict=True)
        )
    if likeliest:
        line["ml"] = [float(f"{likeliest[method]:.5g}") for method in LIKELIEST]
    return line


def distance(estimate: np.ndarray, theta: np.ndarray) -> float:
    """Total variation."""
    return float(np.abs(estimate - theta).sum() / 2)


def finished(path: Path = RESULTS) -> list[Line]:
    """The runs made so far; a line that is still being written does not count."""
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines(keepends=True) if text.endswith("\n")]


def make(cells: list[Cell], runs: int, workers: int, path: Path = RESULTS, backend: str = "loky") -> None:
    """Add the lines that are missing."""
    path.parent.mkdir(exist_ok=True)
    _trim(path)
    lines = finished(path)
    there = {(tuple(line["cell"]), line["run"]) for line in lines}
    missing = [(cell, number) for number in range(runs) for cell in cells if (cell, number) not in there]
    made = track(
        parallel.each(one_run, missing, workers, backend), f"{len(missing)} runs", total=len(missing)
    )
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


def by_cell(lines: list[Line]) -> Iterator[tuple[Cell, list[Line]]]:
    """Each cell with its lines, in the order of the runs."""
    for cell in CELLS:
        mine = sorted((line for line in lines if tuple(line["cell"]) == cell), key=lambda line: line["run"])
        if mine:
            yield cell, mine


def a_cell(text: str) -> Cell:
    """K,EPSILON,RHO as a cell of the grid."""
    known = {f"{k},{epsilon},{rho}": (k, epsilon, rho) for k, epsilon, rho in CELLS}
    if text not in known:
        raise argparse.ArgumentTypeError(f"give one of {' '.join(known)}")
    return known[text]


def main() -> None:
    """Make the missing runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=parallel.at_least_one, default=RUNS, help="runs of every cell")
    parallel.options(parser, workers=2)
    parser.add_argument("--cell", type=a_cell, action="append", help="this cell only; may be given again")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of lines")
    options = parser.parse_args()
    make(options.cell or CELLS, options.runs, options.workers, options.output, options.backend)


if __name__ == "__main__":
    main()
