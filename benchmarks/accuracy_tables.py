"""The tables of the accuracy grid, from the lines that `accuracy.py` and `experiments/adobest/run.py` left.

    python benchmarks/accuracy_tables.py [--write]

A ratio compares mean errors over the first runs, those that both sides have, on the same people; its standard error
is paired, by linearisation. "Best in hindsight" takes, in every cell, the method with the least mean error. Holm's
procedure says which cells are above a bound when all 18 are looked at. With --write the tables go into
docs/explanation/benchmarks-accuracy.md, between its markers, and the numbers into results/accuracy.json.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from accuracy import BOUNDS, LINES, ROOT, Line, finished
from bounds import van_trees
from experiments.adobest.choice import RULES
from experiments.adobest.grid import CELLS, PEOPLE, Cell
from experiments.adobest.loop import METHODS
from experiments.adobest.run import RESULTS as PAPERS
from scipy.stats import norm

SUMMARY = LINES.with_suffix(".json")
PAGE = ROOT / "docs" / "explanation" / "benchmarks-accuracy.md"
DEFAULT, STATIC, RISK = "default", "static, learned, tv", "risk, learned, tv"
COLUMNS = {
    STATIC: "static",
    RISK: "risk",
    "static, learned, mean": "learned, mean",
    "static, flat, mean": "flat, mean",
    "static, oracle, tv": "oracle prior",
    "srr, learned, tv": "SRR",
}
PARTS = (
    ("estimate: least total variation / posterior mean, same draws", STATIC, "static, learned, mean"),
    ("prior: learned / flat, posterior means", "static, learned, mean", "static, flat, mean"),
    ("prior: learned / oracle", STATIC, "static, oracle, tv"),
    ("channel: static subset response / SRR", STATIC, "srr, learned, tv"),
    ("policy: risk / static subset response", RISK, STATIC),
)


class Ratio(NamedTuple):
    """Of two mean errors, with its standard error and the number of runs."""

    value: float
    error: float
    runs: int


def compared(mine: np.ndarray, other: np.ndarray) -> Ratio:
    """mean(mine) / mean(other), paired."""
    value = mine.mean() / other.mean()
    spread = (mine - value * other).std(ddof=1) / math.sqrt(len(mine)) / other.mean()
    return Ratio(float(value), float(spread), len(mine))


def geometric(ratios: Iterable[Ratio]) -> tuple[float, float]:
    """The geometric mean over cells, which are independent, and its standard error."""
    found = list(ratios)
    mean = math.exp(np.mean([math.log(r.value) for r in found]))
    return mean, mean * math.sqrt(sum((r.error / r.value) ** 2 for r in found)) / len(found)


def above(ratios: list[Ratio], bound: float, level: float = 0.05) -> list[int]:
    """Which ratios are above the bound, by Holm's procedure over all of them."""
    p = np.array([norm.sf((r.value - bound) / r.error) for r in ratios])
    rejected = []
    for place, i in enumerate(np.argsort(p)):
        if p[i] > level / (len(p) - place):
            break
        rejected.append(int(i))
    return sorted(rejected)


def papers() -> dict[tuple[Cell, int], dict[str, float]]:
    """The papers' own procedure at the true epsilon: every variant's error by cell and run."""
    out = {}
    for line in finished(PAPERS):
        errors = {}
        for variant, found in line["tv"].items():
            names = RULES if variant.startswith("faulty") else METHODS
            if not variant.startswith("faulty"):
                errors |= {f"{name}, {variant}": value for name, value in zip(names, found, strict=True)}
        out[tuple(line["cell"]), line["run"]] = errors
    return out


def best(lines: list[dict[str, float]]) -> tuple[str, np.ndarray]:
    """The method with the least mean, and its errors."""
    names = set.intersection(*(set(line) for line in lines))
    columns = {name: np.array([line[name] for line in lines]) for name in sorted(names)}
    name = min(columns, key=lambda name: columns[name].mean())
    return name, columns[name]


def record(cell: Cell, lines: list[Line], theirs: dict[tuple[Cell, int], dict[str, float]]) -> dict[str, Any]:
    """Everything about one cell."""
    k, epsilon, rho = cell
    n = PEOPLE * k
    errors = {}
    for name in COLUMNS:
        errors[name] = np.array([line["tv"][name] for line in lines if name in line["tv"]])
    peer, peers = best([line["peers"] for line in lines])
    shared = [i for i, line in enumerate(lines) if (cell, line["run"]) in theirs]
    out: dict[str, Any] = {
        "cell": list(cell),
        "runs": len(lines),
        "peer": peer,
        "peer tv": float(peers.mean()),
    }
    out["tv"] = {
        name: [float(v.mean()), float(v.std(ddof=1) / math.sqrt(len(v)))] for name, v in errors.items()
    }
    out["ratios"] = {
        "risk / peer": compared(errors[RISK], peers),
        "static / peer": compared(errors[STATIC], peers),
    }
    for title, name, other in PARTS:
        both = min(
            len(errors[name]), len(errors[other])
        )  # the runs are in order, and some methods have the first only
        out["ratios"][title] = compared(errors[name][:both], errors[other][:both])
    if len(shared) > 1:
        variant, values = best([theirs[cell, lines[i]["run"]] for i in shared])
        out |= {"papers": variant, "papers tv": float(values.mean())}
        out["ratios"] |= {
            f"{name} / papers": compared(errors[method][shared], values)
            for name, method in (("risk", RISK), ("static", STATIC))
        }
    bounded = [line["bound"] for line in finished(BOUNDS) if tuple(line["cell"]) == cell]
    out["bounds"] = np.mean(bounded, axis=0).tolist() if bounded else None
    out["bounded runs"] = len(bounded)
    squared = {
        name: math.sqrt(np.mean([line["mse"][name] for line in lines if name in line["mse"]]))
        for name in lines[0]["mse"]
    }
    out["rmse"] = squared | {"van Trees": math.sqrt(van_trees(k, epsilon, rho, n, draws=100))}
    return out


def records(lines: list[Line]) -> list[dict[str, Any]]:
    """One for every cell that has at least two runs."""
    theirs, out = papers(), []
    for cell in CELLS:
        mine = sorted((line for line in lines if tuple(line["cell"]) == cell), key=lambda line: line["run"])
        if len(mine) > 1:
            out.append(record(cell, mine, theirs))
    return out


def shown(ratio: Ratio) -> str:
    """As in the tables."""
    return f"{ratio.value:.2f} ({ratio.error:.2f})"


def _head(r: dict[str, Any]) -> str:
    k, epsilon, rho = r["cell"]
    return f"| {k} | {epsilon:g} | {rho:g} | "


def _table(headings: list[str], rows: list[str]) -> list[str]:
    first = ["K", "epsilon", "rho", *headings]
    return ["| " + " | ".join(first) + " |", "|" + " ---: |" * len(first), *rows, ""]


def error_table(found: list[dict[str, Any]]) -> list[str]:
    """Mean errors."""
    rows = []
    for r in found:
        cells = [f"{r['tv'][name][0]:.4f} ({r['tv'][name][1]:.4f})" for name in COLUMNS]
        papers = f"{r['papers tv']:.4f} {r['papers']}" if "papers" in r else "-"
        bound = " | ".join(f"{value:.4f}" for value in r["bounds"]) if r["bounds"] else "- | -"
        row = (
            f"{r['runs']} | "
            + " | ".join(cells)
            + f" | {r['peer tv']:.4f} {r['peer']} | {papers} | {bound} |"
        )
        rows.append(_head(r) + row)
    return _table(
        ["runs", *COLUMNS.values(), "best peer", "best of the papers", "bound, static", "bound, any"], rows
    )


RATIOS = ("risk / peer", "static / peer", PARTS[-1][0], "risk / papers")


def ratio_table(found: list[dict[str, Any]]) -> list[str]:
    """Ratios cell by cell."""
    rows = [
        _head(r)
        + " | ".join(shown(r["ratios"][name]) if name in r["ratios"] else "-" for name in RATIOS)
        + " |"
        for r in found
    ]
    return _table(["risk / peer", "static / peer", "risk / static", "risk / papers"], rows)


def squared_table(found: list[dict[str, Any]]) -> list[str]:
    """Root mean squared errors of posterior means, beside van Trees."""
    names = ("static, learned, mean", "static, oracle, mean", "static, flat, mean", "van Trees")
    rows = [_head(r) + " | ".join(f"{r['rmse'][name]:.4f}" for name in names) + " |" for r in found]
    return _table(["learned", "oracle prior", "flat", "van Trees"], rows)


def verdicts(found: list[dict[str, Any]]) -> list[str]:
    """Geometric means over the cells, and the cells that are above a bound."""
    lines = ["| ratio of errors | geometric mean over cells | cells above |", "| --- | ---: | --- |"]
    bounds = {"risk / peer": 1.05, "static / peer": 1.05, PARTS[-1][0]: 1.03}
    extra = [name for name in ("risk / papers", "static / papers") if all(name in r["ratios"] for r in found)]
    for name in ["risk / peer", "static / peer", *extra, *(part[0] for part in PARTS)]:
        ratios = [r["ratios"][name] for r in found]
        mean, error = geometric(ratios)
        bound = bounds.get(name)
        cells = [] if bound is None else [found[i]["cell"] for i in above(ratios, bound)]
        word = "" if bound is None else f"{bound:g}: {', '.join(map(str, cells)) or 'none'} (Holm, 5 %)"
        lines.append(f"| {name} | {mean:.3f} ({error:.3f}) | {word} |")
    return [*lines, ""]


TABLES: dict[str, Callable[[list[dict[str, Any]]], list[str]]] = {
    "verdicts": verdicts,
    "errors": error_table,
    "ratios": ratio_table,
    "squared": squared_table,
}


def written(text: str, found: list[dict[str, Any]]) -> str:
    """A page with the tables between their markers made anew."""
    for name, build in TABLES.items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        if start not in text or end not in text:
            raise ValueError(f"the page has no place for {name}")
        new = "\n".join([start, *build(found), end])
        text = re.sub(f"{re.escape(start)}.*?{re.escape(end)}", lambda _, new=new: new, text, flags=re.DOTALL)
    return text


def main() -> None:
    """Print the tables, and put them where they belong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="put them into the page, and write accuracy.json"
    )
    options = parser.parse_args()
    lines = finished(LINES)
    found = records(lines)
    if not found:
        raise SystemExit(f"{LINES.name} has no cell with two runs: make some with benchmarks/accuracy.py")
    for build in TABLES.values():
        print("\n".join(build(found)))
    print(f"{len(lines)} runs, made by {', '.join(sorted({line['code'] for line in lines}))}")
    if options.write:
        SUMMARY.write_text(json.dumps(found, indent=1) + "\n")
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
