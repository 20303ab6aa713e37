"""What the result files hold, as arrays: the one place that knows the layout of a line of the grid.

>>> line = {"cell": [10, 0.5, 0.1], "run": 0, "tv": {"faulty 0.8": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}}
>>> column([line], "faulty 0.8", "mse")
array([0.5])
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from experiments.adobest.grid import CELLS, Cell
from experiments.adobest.matrices import Floats
from experiments.adobest.run import RESULTS as GRID
from experiments.adobest.run import Line, by_cell, finished, methods

RESULTS = GRID.parent
OURS = Path(__file__).parents[2] / "benchmarks" / "results" / "accuracy.jsonl"
MAIN = "fixed 0.9"  # the variant that stands for all: the preprint's step, and the kappa it suggests

Found = dict[Cell, list[Line]]
Ours = dict[Cell, dict[str, Floats]]


def cells(path: Path = GRID) -> Found:
    """The lines that are there, by cell."""
    found = dict(by_cell(finished(path)))
    if not found:
        raise SystemExit(f"{path.name} has no finished run: python -m experiments.adobest.run makes them")
    return found


def column(lines: list[Line], variant: str, method: str, what: str = "tv") -> Floats:
    """One number a run: `what` ("tv", "size" or "empty") of a method in a variant "STEP KAPPA"."""
    place = methods(variant.split()[0]).index(method)
    return np.array([line[what][variant][place] for line in lines])


def mean(lines: list[Line], variant: str, method: str, what: str = "tv") -> float:
    """Over the runs of a cell."""
    return float(column(lines, variant, method, what).mean())


def best_of(lines: list[Line], variant: str, methods: tuple[str, ...]) -> str:
    """The method with the least mean error over these very runs."""
    return min(methods, key=lambda method: mean(lines, variant, method))


def chosen(lines: list[Line], variant: str, methods: tuple[str, ...], pick: Callable[..., str]) -> Floats:
    """One error a run, of the method that `pick` (min or max) takes by the means over the other half of the runs."""
    out = np.empty(len(lines))
    halves = (lines[::2], lines[1::2]) if len(lines) > 1 else (lines, lines)
    for start, (own, others) in enumerate((halves, halves[::-1])):
        method = pick(methods, key=lambda method, others=others: mean(others, variant, method))
        out[start::2] = column(own, variant, method)[: len(out[start::2])]
    return out


def cell_name(cell: Cell) -> str:
    """K, epsilon and rho."""
    return f"K={cell[0]} epsilon={cell[1]:g} rho={cell[2]:g}"


def runs_made(found: Found) -> str:
    """In words, for every place where numbers are shown."""
    counts = [len(found.get(cell, [])) for cell in CELLS]
    span = str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"{span} runs of each of {len(CELLS)} cells, {sum(counts)} in all"


def ours(path: Path = OURS) -> tuple[Ours, str]:
    """tacit's own studies on the same populations, by cell and name, and a sentence about what was found."""
    if not path.exists():
        return {}, f"no {path.name}: tacit's own studies are left out"
    lines = [json.loads(text) for text in path.read_text().splitlines(keepends=True) if text.endswith("\n")]
    found = {}
    for cell, rows in by_cell(lines):
        names = set.intersection(*(set(row["tv"]) for row in rows))  # the first runs have more
        found[cell] = {name: np.array([row["tv"][name] for row in rows]) for name in sorted(names)}
    return found, f"tacit's own studies: {len(lines)} runs of {path.name}"


def load(path: Path) -> Any:
    """A result file, or a word about how to make it."""
    if not path.exists():
        raise SystemExit(f"no {path.name}: python -m experiments.adobest.{path.stem} makes it")
    return json.loads(path.read_text())


def write(path: Path, content: Any) -> None:
    """One JSON file, every list of plain values on one line."""
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(content, indent=1, allow_nan=False)
    text = re.sub(r"\[[^\[\]{}]*\]", lambda found: re.sub(r"\s*\n\s*", " ", found[0]), text)
    path.write_text(text.replace("[ ", "[").replace(" ]", "]") + "\n")


def short(values: Floats) -> list[float]:
    """Four digits are enough for a result file."""
    return [float(f"{value:.4g}") for value in values]
