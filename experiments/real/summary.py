"""The tables of the README, from the lines of results/real.jsonl, and the expected numbers with their tolerances.

    python -m experiments.real.summary [--write]

prints the tables; `--write` also puts them between the marks in README.md and writes expected.json. Means are over
runs, and the number in brackets is their standard error: runs are independent; categories and methods within one
are not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from experiments.real.run import CELLS, FLAT, METHODS, RESULTS, Cell, Line, finished
from scipy.stats import t as student

HERE = Path(__file__).parent
EXPECTED, README = HERE / "expected.json", HERE / "README.md"
COLUMNS = (METHODS[0], FLAT, *METHODS[1:])
MARKS = "<!-- tables -->", "<!-- end of tables -->"
DOUBT = 0.01  # of a t test: what is marked
ROOM = 0.005  # of a tolerance, beside five standard errors


class Mean(NamedTuple):
    """A mean over runs and its standard error; `of` is their number."""

    value: float
    error: float
    of: int

    @classmethod
    def over(cls, values: Sequence[float]) -> Mean:
        n = len(values)
        return cls(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else np.nan, n)

    def away(self, from_: float) -> bool:
        """Whether a two-sided t test at DOUBT tells the mean from a number."""
        return self.of > 1 and abs(self.value - from_) > student.ppf(1 - DOUBT / 2, self.of - 1) * self.error

    def shown(self, digits: int = 3) -> str:
        if self.of < 2:
            return f"{self.value:.{digits}f}"
        return f"{self.value:.{digits}f} ({self.error:.{digits}f})"


def by_cell(lines: list[Line]) -> Iterator[tuple[Cell, list[Line]]]:
    """Each cell that was run, with its lines in the order of the runs."""
    for cell in CELLS:
        mine = sorted(
            (line for line in lines if tuple(line["cell"]) == cell.key), key=lambda line: line["run"]
        )
        if mine:
            yield cell, mine


def mean(lines: list[Line], method: str, field: str) -> Mean:
    """Of one number of one method."""
    return Mean.over([line["methods"][method][field] for line in lines])


def gain(lines: list[Line], method: str, other: str) -> Mean:
    """The total variation of a method less that of another, on the same people."""
    return Mean.over([line["methods"][method]["tv"] - line["methods"][other]["tv"] for line in lines])


def tables(lines: list[Line]) -> str:
    """All tables, in Markdown."""
    cells = list(by_cell(lines))
    drawn = [(cell, mine) for cell, mine in cells if cell.order == "drawn"]
    asked = [(cell, mine) for cell, mine in cells if cell.order != "drawn"]
    parts = [
        ("Total variation error, people drawn.", _grid(drawn, lambda mine, m: mean(mine, m, "tv").shown())),
        (
            "Of the posterior mean, instead of the estimate that minimises it.",
            _grid(drawn, lambda mine, m: mean(mine, m, "mean").shown()),
        ),
        (
            "Coverage of the 90 % intervals, all categories, people drawn. A star: not 0.9 by a t test at 1 %.",
            _grid(drawn, lambda mine, m: _starred(mean(mine, m, "cover"), 0.9)),
        ),
        (
            "The same for the categories with a share of at least 1 %.",
            _grid(drawn, lambda mine, m: _starred(mean(mine, m, "common"), 0.9)),
        ),
        ("Paired differences of the error. A star: not 0 by a t test at 1 %.", _paired(cells)),
        ("Everyone, in the order of time and shuffled.", _ordered(asked)),
        ("What was run, and how well the draws mixed.", _effort(cells)),
    ]
    return "\n\n".join(f"{title}\n\n{table}" for title, table in parts)


def _starred(of: Mean, target: float, digits: int = 2) -> str:
    return of.shown(digits) + ("*" if of.away(target) else "")


def _table(head: Sequence[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _start(cell: Cell) -> list[str]:
    return [cell.name, f"{cell.epsilon:g}"]


def _grid(cells: list[tuple[Cell, list[Line]]], entry: Callable[[list[Line], str], str]) -> str:
    head = ["data", "epsilon", *COLUMNS]
    return _table(head, [[*_start(cell), *(entry(mine, m) for m in COLUMNS)] for cell, mine in cells])


def _paired(cells: list[tuple[Cell, list[Line]]]) -> str:
    pairs = [("risk", "static-subset"), ("honest", "static-subset"), ("honest", "static-srr")]
    head = ["data", "order", "epsilon", *(f"{one} - {other}" for one, other in pairs)]
    rows = []
    for cell, mine in cells:
        found = [_starred(gain(mine, *pair), 0.0, 4) for pair in pairs]
        rows.append([cell.name, cell.order, f"{cell.epsilon:g}", *found])
    return _table(head, rows)


def _ordered(cells: list[tuple[Cell, list[Line]]]) -> str:
    names = ["tv", "recent", "target", "target_recent", "off", "early", "cover", "recent_cover"]
    rows = []
    for cell, mine in cells:
        for method in METHODS:
            found = [mean(mine, method, name).shown(3 if name != "cover" else 2) for name in names]
            rows.append([cell.name, f"{cell.epsilon:g}", cell.order, method, *found])
    return _table(["data", "epsilon", "order", "method", *names], rows)


def _effort(cells: list[tuple[Cell, list[Line]]]) -> str:
    rows = []
    for cell, mine in cells:
        worst = [max(line["methods"][method]["rhat"] for line in mine) for method in METHODS]
        samplers = sorted({line["methods"][method]["sampler"] for line in mine for method in METHODS})
        left = [mean(mine, method, "static").value for method in ("honest", "risk")]
        seconds = sum(line["seconds"] for line in mine)
        rows.append(
            [
                cell.name,
                cell.order,
                f"{cell.epsilon:g}",
                str(mine[0]["k"]),
                f"{mine[0]['n']:,}",
                str(len(mine)),
            ]
            + [f"{value:.2f}" for value in worst]
            + [" and ".join(samplers), f"{left[0]:.2f}", f"{left[1]:.2f}", f"{seconds:.0f}"]
        )
    head = ["data", "order", "epsilon", "K", "people", "runs", *(f"R-hat, {method}" for method in METHODS)]
    return _table([*head, "sampler", "first channel, honest", "first channel, risk", "seconds"], rows)


def expected(lines: list[Line]) -> dict[str, Any]:
    """For each cell and method: mean and tolerance of the error and of the coverage."""
    out: dict[str, Any] = {}
    for cell, mine in by_cell(lines):
        entry = out.setdefault(" ".join(map(str, cell.key)), {"runs": len(mine)})
        for method in COLUMNS:
            found = {field: mean(mine, method, field) for field in ("tv", "cover")}
            entry[method] = {
                field: [round(of.value, 4), round(5 * of.error + ROOM, 4)] for field, of in found.items()
            }
    return out


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into README.md and expected.json")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of lines")
    options = parser.parse_args()
    lines = finished(options.results)
    if not lines:
        print(f"{options.results} has no lines: run experiments.real.run first", file=sys.stderr)
        sys.exit(2)
    text = tables(lines)
    print(text)
    if options.write:
        before, after = README.read_text().split(MARKS[0])[0], README.read_text().split(MARKS[1])[1]
        README.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")
        EXPECTED.write_text(json.dumps(expected(lines), indent=1) + "\n")


if __name__ == "__main__":
    main()
