"""Tables and claims of chapter 2 from results/subsample.jsonl.

    python -m experiments.regression.subsample_summary [--write]

With --write the tables go into subsample.md and the means into subsample_expected.json, with the tolerance of a new run
on other splits: four standard errors of each mean, and at least 2 %.

Differences are paired: the same splits for both methods. "Within" compares a mean with that of ten-fold
cross-validation and the standard error of the latter, as the thesis' tables invite; the paired error is sharper.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from experiments.regression.subsample_run import CLOSED, RESULTS, finished
from scipy.stats import friedmanchisquare, rankdata, studentized_range

HERE = Path(__file__).parent
EXPECTED, PAGE = HERE / "subsample_expected.json", HERE / "subsample.md"
BEGIN, END = "<!-- subsample: begin -->", "<!-- subsample: end -->"
TITLES = {
    "linear": "Linear regression (tables 2.1 and 2.5): mean squared error, y standardised",
    "svm": "Support vector machines (table 2.2): misclassified, per cent",
    "logistic": "Logistic regression (tables 2.3 and 2.6): misclassified, per cent",
    "poisson": "Poisson regression (tables 2.4 and 2.7): deviance per row",
    "closed": "Closed-form ridge (table A.1): mean squared error, noise included",
}
SHOWN = {
    "linear": ("none", "cv", "closed-thesis", "closed", "full", "diag", "adjusted", "jackknife", "thesis", "tacit",
               "subagging", "ard", "bayes"),
    "svm": ("none", "cv", "full", "diag", "adjusted", "jackknife", "thesis", "tacit", "hinge", "subagging", "bayes"),
    "logistic": ("none", "cv", "full", "diag", "adjusted", "jackknife", "thesis", "tacit", "subagging", "bayes"),
    "poisson": ("none", "cv", "full", "diag", "adjusted", "jackknife", "thesis", "tacit", "quasi", "subagging",
                "bayes"),
    "closed": ("none", "cv", "full", "jackknife", "closed-thesis", "closed", "tacit", "subagging"),
}  # fmt: skip
RANKED = ("none", "cv", "full", "diag", "adjusted", "jackknife", "tacit", "subagging")
NEEDED = {"linear": 5, "closed": 5}  # how many times faster than cross-validation; 10 for the others
Floats = npt.NDArray[np.float64]


class Cell(NamedTuple):
    """A data set of a task: errors and seconds of each method, over the splits that it ran on."""

    task: str
    data: str
    errors: dict[str, Floats]
    seconds: dict[str, Floats]

    @property
    def splits(self) -> int:
        """How many."""
        return len(self.errors["cv"])

    def mean(self, method: str) -> float:
        """The mean error, over the splits of the method."""
        return float(self.errors[method].mean())

    def error(self, method: str) -> float:
        """Its standard error."""
        values = self.errors[method]
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")

    def apart(self, one: str, other: str) -> tuple[float, float]:
        """The paired difference of two methods, and its standard error."""
        count = min(len(self.errors[one]), len(self.errors[other]))
        off = self.errors[one][:count] - self.errors[other][:count]
        return float(off.mean()), float(off.std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan")

    @property
    def speed(self) -> float:
        """CPU seconds of cross-validation over those of tacit, medians of the same splits."""
        return float(np.median(self.seconds["cv"]) / np.median(self.seconds["tacit"]))


def cells(lines: list[dict[str, Any]]) -> list[Cell]:
    """The data sets in the order of their first line."""
    made: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in sorted(lines, key=lambda line: line["repeat"]):
        made.setdefault((line["task"], line["data"]), []).append(line)

    def columns(group: list[dict[str, Any]], key: str) -> dict[str, Floats]:
        return {m: np.array([line[key][m] for line in group if m in line[key]]) for m in group[0][key]}

    return [Cell(*name, columns(group, "error"), columns(group, "seconds")) for name, group in made.items()]


def nemenyi(means: Floats) -> tuple[Floats, float, float]:
    """Mean ranks (k,) of methods over data sets, means (n, k); Friedman's p; the critical difference at 5 %."""
    n, k = means.shape
    ranks = np.array([rankdata(row) for row in means]).mean(axis=0)
    spread = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    return ranks, float(friedmanchisquare(*means.T).pvalue), float(spread * np.sqrt(k * (k + 1) / (6 * n)))


def ranked(task: str, group: list[Cell]) -> tuple[Floats, float, float]:
    """The ranks of a task, from mean errors to four digits, which leaves ties where the tables show them."""
    del task
    means = [[float(f"{cell.mean(method):.4g}") for method in RANKED] for cell in group]
    return nemenyi(np.array(means))


def _label(cell: Cell) -> str:
    if cell.task != "closed":
        return cell.data
    rows, columns, law, noise, zeros = CLOSED[int(cell.data)]
    return f"{rows}, {columns}, {law}, sd {noise}, {zeros:g} zero"


def table(task: str, group: list[Cell]) -> str:
    """A table of means (standard errors)."""
    shown = [m for m in SHOWN[task] if any(m in cell.errors for cell in group)]
    digits = 1 if task == "closed" else 2 if task in ("svm", "logistic") else 4
    lines = [
        "| data (splits) | " + " | ".join(shown) + " | times faster |",
        "| --- " * (len(shown) + 2) + "|",
    ]
    for cell in group:
        parts = [
            f"{cell.mean(m):.{digits}f} ({cell.error(m):.{digits}f})" if m in cell.errors else ""
            for m in shown
        ]
        parts = [f"{part:.7}" if len(part) > 24 else part for part in parts]
        lines.append(f"| {_label(cell)} ({cell.splits}) | " + " | ".join(parts) + f" | {cell.speed:.0f} |")
    return "\n".join(lines)


def claims(group: list[Cell], task: str) -> list[tuple[str, str, str]]:
    """(claim, how often it holds, the exceptions)."""

    def count(fine: dict[str, bool], note: dict[str, str]) -> tuple[str, str]:
        wrong = [f"{name} {note[name]}" for name, good in fine.items() if not good]
        return f"{sum(fine.values())} of {len(fine)}", "; ".join(wrong)

    near, fast, ahead, notes = {}, {}, {}, {}
    for cell in group:
        name = _label(cell)
        off, error = cell.apart("tacit", "cv")
        near[name] = off <= cell.error("cv")
        notes[name] = f"({off:+.3g}, paired error {error:.2g}, error of cv {cell.error('cv'):.2g})"
        fast[name] = cell.speed >= NEEDED.get(task, 10)
        bag, bag_error = cell.apart("tacit", "subagging")
        ahead[name] = bag <= 0
        notes[name + "bag"] = f"({bag:+.3g}, paired error {bag_error:.2g})"
    speeds = {_label(cell): f"({cell.speed:.1f})" for cell in group}
    bags = {name: notes[name + "bag"] for name in ahead}
    return [
        ("tacit within one standard error of cross-validation", *count(near, notes)),
        (f"at least {NEEDED.get(task, 10)} times faster", *count(fast, speeds)),
        ("ahead of subagging", *count(ahead, bags)),
    ]


def text(lines: list[dict[str, Any]]) -> str:
    """All tables, as Markdown."""
    found = cells(lines)
    out = []
    for task, title in TITLES.items():
        group = [cell for cell in found if cell.task == task and cell.splits > 1]
        if not group:
            continue
        out += [
            f"### {title}",
            "",
            table(task, group),
            "",
            "| claim | holds | where not |",
            "| --- | --- | --- |",
        ]
        out += [f"| {claim} | {holds} | {where} |" for claim, holds, where in claims(group, task)]
        if task != "closed" and len(group) > 2:
            ranks, p, critical = ranked(task, group)
            order = np.argsort(ranks)
            listed = ", ".join(f"{RANKED[i]} {ranks[i]:.2f}" for i in order)
            out += ["", f"Mean ranks: {listed}. Friedman p = {p:.2g}; critical difference {critical:.2f}."]
        out.append("")
    return "\n".join(out)


def expected(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Means and tolerances of tacit and cross-validation."""
    made: dict[str, Any] = {}
    for cell in cells(lines):
        if cell.splits > 1:
            for method in ("tacit", "cv"):
                room = max(4 * cell.error(method), 0.02 * cell.mean(method))
                made[f"{cell.task} {cell.data} {method}"] = [
                    float(f"{cell.mean(method):.5g}"), float(f"{room:.2g}")
                ]  # fmt: skip
    return made


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into subsample.md and subsample_expected.json")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of lines")
    options = parser.parse_args()
    lines = finished(options.results)
    made = text(lines)
    if not options.write:
        print(made)
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{made}{END}{rest.partition(END)[2]}", encoding="utf-8")
    EXPECTED.write_text(json.dumps(expected(lines), indent=1) + "\n")


if __name__ == "__main__":
    main()
