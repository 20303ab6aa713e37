"""The tables of the README, from the lines of results/poisoning.jsonl, and the expected numbers with their tolerances.

    python -m experiments.poisoning.summary [--write]

prints the tables; `--write` also puts them between the marks in README.md and writes expected.json. Means are
over runs, and the number in brackets is their standard error. Pushes are in points: hundredths of a share.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from experiments.poisoning.run import EPSILONS, FLOOR, PEOPLE, POLICIES, RESULTS, Line, finished

HERE = Path(__file__).parent
EXPECTED, README = HERE / "expected.json", HERE / "README.md"
MARKS = "<!-- tables -->", "<!-- end of tables -->"
ROOM = 0.01  # of a tolerance, beside five standard errors
COLUMNS = (
    "random 0.01", "uniform 0.005", "uniform 0.01", "uniform 0.05", "early 0.01", "late 0.01", "steer 0.01",
    "demote 0.01",
)  # fmt: skip


class Cell(NamedTuple):
    """All runs of one kind of study."""

    k: int
    epsilon: float
    policy: str
    floor: float

    @property
    def method(self) -> str:
        return f"{self.policy}, floor" if self.floor else self.policy


def by_cell(lines: list[Line]) -> dict[Cell, list[Line]]:
    """Each cell that was run, with its lines in the order of the runs."""
    out = {}
    for cell in _cells():
        mine = [line for line in lines if tuple(line["job"][:4]) == cell]
        if mine:
            out[cell] = sorted(mine, key=lambda line: line["job"][4])
    return out


def _cells() -> Iterator[Cell]:
    for k in PEOPLE:
        for epsilon in EPSILONS:
            for policy in POLICIES:
                for floor in (0.0, FLOOR):
                    yield Cell(k, epsilon, policy, floor)


def push(line: Line, attack: str) -> float:
    """In points."""
    return 100 * float(line["studies"][attack]["push"])


def said(line: Line, what: str, share: str = "0.01") -> float:
    """By the gauge, in points."""
    return 100 * float(line["gauge"][share][what])


def tv(line: Line) -> float:
    """Of the honest study."""
    return float(line["studies"]["honest"]["tv"])


def mean(values: Sequence[float], digits: int = 1) -> str:
    """With the standard error, where there are two values or more."""
    if len(values) < 2:
        return f"{values[0]:.{digits}f}"
    return f"{np.mean(values):.{digits}f} ({error(values):.{digits}f})"


def error(values: Sequence[float]) -> float:
    """The standard error of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def tables(lines: list[Line]) -> str:
    """All tables, in Markdown."""
    cells = by_cell(lines)
    share = ", ".join(f"{lines[0]['share']:.3f} for K = {k}" for k, lines in _first(cells).items())
    parts = [
        (
            "All cells of a method together: error without an attack, and pushes by 1 % of fakes.",
            _methods(cells),
        ),
        (f"The floor, paired with the same policy without it ({FLOOR:.0%} of every round).", _floors(cells)),
        (f"Push of the target, in points. Its true share is {share}.", _pushes(cells)),
        ("What the gauge says of 1 % of fakes, beside what `late` did.", _gauges(cells)),
    ]
    return "\n\n".join(f"{title}\n\n{table}" for title, table in parts)


def _first(cells: dict[Cell, list[Line]]) -> dict[int, list[Line]]:
    return {
        k: next(lines for cell, lines in cells.items() if cell.k == k) for k in {cell.k for cell in cells}
    }


def _table(head: Sequence[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def pooled(cells: dict[Cell, list[Line]], method: str, of: Callable[[Line], float]) -> list[float]:
    """One number of every run of a method, in all its cells."""
    return [of(line) for cell, lines in cells.items() if cell.method == method for line in lines]


def _methods(cells: dict[Cell, list[Line]]) -> str:
    names = [attack for attack in COLUMNS if attack.endswith(" 0.01")]
    rows = []
    for method in dict.fromkeys(cell.method for cell in cells):
        row = [method, mean(pooled(cells, method, tv), 3)]
        row += [mean(pooled(cells, method, lambda line, name=name: push(line, name))) for name in names]
        row.append(mean(pooled(cells, method, lambda line: said(line, "up"))))
        row.append(mean(pooled(cells, method, lambda line: said(line, "worst"))))
        rows.append(row)
    names = [name.removesuffix(" 0.01") for name in names]
    return _table(["method", "tv", *names, "gauge, target", "gauge, worst category"], rows)


def differences(cells: dict[Cell, list[Line]], policy: str, of: Callable[[Line], float]) -> list[float]:
    """With the floor less without, run by run."""
    out = []
    for cell, lines in cells.items():
        if cell.policy == policy and cell.floor:
            without = {line["job"][4]: line for line in cells.get(cell._replace(floor=0.0), [])}
            out += [of(line) - of(without[line["job"][4]]) for line in lines if line["job"][4] in without]
    return out


def _floors(cells: dict[Cell, list[Line]]) -> str:
    rows = []
    for policy in dict.fromkeys(cell.policy for cell in cells if cell.floor):
        found = differences(cells, policy, tv)
        row = [policy, str(len(found)), mean(found, 3)]
        row.append(mean(differences(cells, policy, lambda line: line["studies"]["uniform 0.05"]["tv"]), 3))
        for name in ("uniform 0.01", "uniform 0.05", "late 0.01", "steer 0.01", "demote 0.01"):
            row.append(mean(differences(cells, policy, lambda line, name=name: abs(push(line, name)))))
        row.append(mean(differences(cells, policy, lambda line: said(line, "worst"))))
        rows.append(row)
    head = ["policy", "pairs", "tv", "tv under 5 %", "uniform", "uniform, 5 %", "late", "steer", "demote"]
    return _table([*head, "gauge, worst category"], rows)


def _start(cell: Cell) -> list[str]:
    return [str(cell.k), f"{cell.epsilon:g}", cell.method]


def _pushes(cells: dict[Cell, list[Line]]) -> str:
    rows = [
        [
            *_start(cell),
            str(len(lines)),
            mean([tv(line) for line in lines], 3),
            *(mean([push(line, name) for line in lines]) for name in COLUMNS),
        ]
        for cell, lines in cells.items()
    ]
    return _table(["K", "epsilon", "method", "runs", "tv", *COLUMNS], rows)


def _gauges(cells: dict[Cell, list[Line]]) -> str:
    names = ["plain", "moment", "linear", "up"]
    rows = [
        [
            *_start(cell),
            *(mean([said(line, name) for line in lines]) for name in names),
            mean([push(line, "late 0.01") for line in lines]),
            mean([said(line, "worst") for line in lines]),
        ]
        for cell, lines in cells.items()
    ]
    head = ["K", "epsilon", "method", "without privacy", "unbiased", "linear", "gauge", "late did"]
    return _table([*head, "gauge, worst category"], rows)


def expected(lines: list[Line]) -> dict[str, Any]:
    """For each cell: mean and tolerance of the honest error, of two attacks, and of what the gauge says."""
    out: dict[str, Any] = {}
    for cell, mine in by_cell(lines).items():
        entry: dict[str, Any] = {"runs": len(mine)}
        for name, values in numbers(mine).items():
            entry[name] = [round(float(np.mean(values)), 4), round(5 * error(values) + ROOM, 4)]
        out[" ".join(map(str, cell))] = entry
    return out


def numbers(lines: list[Line]) -> dict[str, list[float]]:
    """What expected.json holds."""
    return {
        "tv": [tv(line) for line in lines],
        "uniform": [push(line, "uniform 0.01") / 100 for line in lines],
        "late": [push(line, "late 0.01") / 100 for line in lines],
        "gauge": [said(line, "up") / 100 for line in lines],
    }


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into README.md and expected.json")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of lines")
    options = parser.parse_args()
    lines = finished(options.results)
    if not lines:
        print(f"{options.results} has no lines: run experiments.poisoning.run first", file=sys.stderr)
        sys.exit(2)
    text = tables(lines)
    print(text)
    if options.write:
        before, after = README.read_text().split(MARKS[0])[0], README.read_text().split(MARKS[1])[1]
        README.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")
        EXPECTED.write_text(json.dumps(expected(lines), indent=1) + "\n")


if __name__ == "__main__":
    main()
