"""Expected numbers with tolerances: expected.json, and the quick form of the experiment that is held against it.

    python -m experiments.adobest.expected           make the quick form and compare, about ten seconds
    python -m experiments.adobest.expected --write   derive the quick numbers anew, about four minutes
    python -m experiments.adobest.expected --grid    write the means of results/grid.jsonl beside them

**quick**: a few runs of two cells. A platform may round otherwise, and the sampler then takes another path, so a
number is expected only as well as the paths agree. The populations are fixed and the paths are made SEEDS times: the
mean m and the standard deviation s over these give the tolerance q s sqrt(1 + 1 / SEEDS) around m, with q the quantile
of Student's t with SEEDS - 1 degrees of freedom that lets all numbers together pass but for a probability ALARM.

**grid**: for the full grid, means over the runs of each cell with five standard errors.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from experiments.adobest import mle, reading
from experiments.adobest.grid import Cell, population
from experiments.adobest.loop import METHODS, run
from experiments.adobest.run import distance
from rich.progress import track
from scipy.stats import t as student

EXPECTED = Path(__file__).parent / "expected.json"
QUICK_CELLS: tuple[Cell, ...] = ((10, 1.0, 0.01), (10, 1.0, 1.0))
QUICK_RUNS = 6
QUICK: tuple[tuple[str, float, str], ...] = (
    ("fixed", 0.9, "srr"),
    ("fixed", 0.9, "semi:0.9"),
    ("fixed", 0.9, "entropy"),
    ("fixed", 0.9, "honest"),
    ("falling", 0.8, "honest"),
    ("faulty", 0.9, "honest"),
)
SEEDS = 30
ALARM = 1e-6
DETERMINISTIC = 1e-9  # the tolerance of a number that no path changes
Values = dict[str, float]


def quick(path: int | None = None) -> Values:
    """The numbers of the quick form: with the seeds of the grid, or on path 0, 1, ..."""
    made: dict[str, list[float]] = {}
    for cell in QUICK_CELLS:
        for number in range(QUICK_RUNS):
            theta, answers, seed = population(cell, number)
            for rule, kappa, method in QUICK:
                faulty = rule == "faulty"
                rng = np.random.default_rng(seed if path is None else [seed, path])
                found = run(
                    answers, cell[0], cell[1], method, kappa, rng, "fixed" if faulty else rule, faulty
                )
                name = f"{reading.cell_name(cell)}, {rule} {kappa}, {method}"
                made.setdefault(f"{name}, tv", []).append(distance(found.estimate, theta))
                made.setdefault(f"{name}, size", []).append(found.mean_size)
                if (rule, method) == ("fixed", "honest"):
                    likely = mle.estimate(found.rows)
                    made.setdefault(f"{name}, likelihood", []).append(distance(likely, theta))
    return {name: float(np.mean(values)) for name, values in made.items()}


def tolerances(paths: list[Values]) -> dict[str, list[float]]:
    """[mean, tolerance] of every number, from independent paths."""
    n = len(paths)
    reach = float(student.ppf(1 - ALARM / (2 * len(paths[0])), n - 1)) * np.sqrt(1 + 1 / n)
    out = {}
    for name in paths[0]:
        values = np.array([path[name] for path in paths])
        wide = max(reach * values.std(ddof=1), DETERMINISTIC)
        out[name] = [float(f"{values.mean():.5g}"), float(f"{wide:.2g}")]
    return out


def differences(found: Values, expected: dict[str, list[float]]) -> list[str]:
    """What lies outside its tolerance, or is missing, in words."""
    out = [f"{name} is missing" for name in sorted(set(found) ^ set(expected))]
    for name in sorted(set(found) & set(expected)):
        value, tolerance = expected[name]
        if not abs(found[name] - value) <= tolerance:
            out.append(f"{name} is {found[name]:.5g}, expected {value:.5g} within {tolerance:.2g}")
    return out


def grid_means(found: reading.Found) -> dict[str, Any]:
    """[mean, tolerance] of the error of every method in every cell, at the main variant."""
    out: dict[str, Any] = {"runs": reading.runs_made(found)}
    for cell, lines in found.items():
        for method in METHODS:
            values = reading.column(lines, reading.MAIN, method)
            wide = 5 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float(values[0])
            out[f"{reading.cell_name(cell)}, {method}"] = [
                float(f"{values.mean():.4g}"),
                float(f"{wide:.2g}"),
            ]
    return out


def main() -> None:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="derive the quick numbers anew")
    parser.add_argument("--grid", action="store_true", help="take the means of the grid that is there")
    options = parser.parse_args()
    made = reading.load(EXPECTED) if EXPECTED.exists() else {}
    if options.write:
        made["quick"] = tolerances([quick(path) for path in track(range(SEEDS), "paths")])
    if options.grid:
        made["grid"] = grid_means(reading.cells())
    if options.write or options.grid:
        reading.write(EXPECTED, made)
        return
    wrong = differences(quick(), made["quick"])
    print("\n".join(wrong) or f"all {len(made['quick'])} numbers are as expected")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
