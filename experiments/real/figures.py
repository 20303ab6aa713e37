"""The figures, from the lines of results/real.jsonl: errors, coverage, and what is estimated under drift.

    python -m experiments.real.figures [--results FILE] [--folder FOLDER]

Bars are two standard errors over runs, in either direction.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from experiments.real.run import FLAT, LEVEL, METHODS, ORDERS, RESULTS, Cell, Line, finished
from experiments.real.summary import COLUMNS, Mean, by_cell, mean
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FOLDER = Path(__file__).parent / "figures"
# Okabe and Ito's colours: colour-blind readers can tell them apart, and the markers help.
STYLE = {
    "static-srr": ("#0072b2", "o"),
    FLAT: ("#56b4e9", "v"),
    "static-subset": ("#009e73", "s"),
    "honest": ("#d55e00", "^"),
    "risk": ("#000000", "D"),
}
Cells = list[tuple[Cell, list[Line]]]


def canvas(columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure in inches with panels side by side."""
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    panels = list(np.atleast_1d(figure.subplots(1, columns)))
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    return figure, panels


def rows_of(axes: Axes, cells: Cells, field: str, legend: bool) -> None:
    """One row for each data set, one mark for each method."""
    for place, method in enumerate(COLUMNS):
        colour, marker = STYLE[method]
        means = [mean(lines, method, field) for _, lines in cells]
        heights = np.arange(len(cells))[::-1] + 0.3 - 0.15 * place
        axes.errorbar(
            [of.value for of in means],
            heights,
            xerr=[reach(of) for of in means],
            fmt=marker,
            markersize=4.5,
            linewidth=1,
            color=colour,
            label=method if legend else None,
        )
    axes.set_yticks(
        np.arange(len(cells))[::-1], [f"{cell.name}\n(K = {lines[0]['k']})" for cell, lines in cells]
    )
    for line in np.arange(len(cells) - 1) + 0.5:
        axes.axhline(line, color="#e5e5e5", linewidth=0.8, zorder=0)


def reach(of: Mean) -> float:
    """Two standard errors; nothing for a single run."""
    return 2 * of.error if of.of > 1 else 0.0


def by_epsilon(cells: Cells, field: str, caption: str, height: float) -> Figure:
    """A panel for each epsilon, people drawn."""
    drawn = [entry for entry in cells if entry[0].order == "drawn"]
    found = sorted({cell.epsilon for cell, _ in drawn})
    figure, panels = canvas(len(found), 4.6 * len(found), height)
    for i, (axes, epsilon) in enumerate(zip(panels, found, strict=True)):
        mine = sorted((e for e in drawn if e[0].epsilon == epsilon), key=lambda e: e[1][0]["k"])
        rows_of(axes, mine, field, legend=i == 0)
        axes.set_title(f"epsilon = {epsilon:g}", loc="left", fontsize=10)
        axes.set_xlabel(caption, fontsize=9)
    figure.legend(loc="outside lower center", ncols=len(COLUMNS), frameon=False, fontsize=8)
    return figure


def accuracy(cells: Cells) -> Figure:
    """Total variation errors, on a logarithmic scale."""
    figure = by_epsilon(cells, "tv", "total variation error", 5.2)
    for axes in figure.axes:
        axes.set_xscale("log")
        ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes.minorticks_off()
        axes.grid(axis="x", color="#eeeeee")
    return figure


def coverage(cells: Cells) -> Figure:
    """How many of the intervals hold the true share."""
    figure = by_epsilon(cells, "cover", f"part of the {LEVEL:.0%} intervals that hold the share", 5.2)
    for axes in figure.axes:
        axes.axvline(LEVEL, color="#888888", linewidth=1, linestyle="--", zorder=0)
        axes.set_xlim(0, 1.04)
    return figure


def drifting(cells: Cells) -> Figure:
    """The target of every method, and its estimate, against everyone and against the last month."""
    mine = [entry for entry in cells if entry[0].order != "drawn"]
    names = sorted({(cell.name, cell.epsilon) for cell, _ in mine})
    figure, panels = canvas(len(names), 3.2 * len(names), 3.9)
    for i, (axes, key) in enumerate(zip(panels, names, strict=True)):
        lines = {cell.order: found for cell, found in mine if (cell.name, cell.epsilon) == key}
        axes.axline((0, 0), slope=1, color="#cccccc", linewidth=0.8, zorder=0)
        for method in METHODS:
            for order in ORDERS[1:]:
                if order in lines:
                    _target(axes, lines[order], method, order)
        axes.set_title(f"{key[0]}, epsilon = {key[1]:g}", loc="left", fontsize=9)
        axes.set_xlabel("target to the shares of everyone", fontsize=8)
        if i == 0:
            axes.set_ylabel("target to the shares of the last month", fontsize=8)
            axes.legend(frameon=False, fontsize=7)
    return figure


def _target(axes: Axes, lines: list[Line], method: str, order: str) -> None:
    colour, marker = STYLE[method]
    x, y = mean(lines, method, "target"), mean(lines, method, "target_recent")
    label = method if order == "time" else None
    face = colour if order == "time" else "white"
    bars: dict[str, Any] = {"xerr": reach(x), "yerr": reach(y)}
    axes.errorbar(x.value, y.value, fmt=marker, color=colour, mfc=face, markersize=5, label=label, **bars)


def weights(cells: Cells) -> Figure:
    """What one report counts for, over the year, in the first run of each adaptive study in time order."""
    mine = [(cell, lines[0]) for cell, lines in cells if cell.order == "time" and lines[0]["run"] == 0]
    figure, panels = canvas(len(mine), 3.2 * len(mine), 3.4)
    for i, (axes, (cell, line)) in enumerate(zip(panels, mine, strict=True)):
        axes.axhline(1, color=STYLE["static-subset"][0], linewidth=1.5, label="static: every report the same")
        found = line["methods"]["honest"]
        sizes = np.array(found["rounds"])
        edges = np.concatenate([[0], np.cumsum(sizes)]) / sizes.sum()
        names = ("commonest", "of rank K/4", "of rank K/2")
        for row, name, style in zip(found["weight"], names, ("-", "--", ":"), strict=True):
            one = np.array(row) * sizes.sum() / sizes
            axes.stairs(one, edges, color=STYLE["honest"][0], linestyle=style, baseline=None, label=name)
        axes.set_title(f"{cell.name}, epsilon = {cell.epsilon:g}", loc="left", fontsize=9)
        axes.set_xlabel("people asked so far, in time order", fontsize=8)
        axes.set_xlim(0, 1)
        axes.set_yscale("symlog", linthresh=0.1)
        if i == 0:
            axes.set_ylabel("weight of one report (honest)", fontsize=8)
            axes.legend(frameon=False, fontsize=7)
    return figure


def main() -> None:
    """Draw all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of lines")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the figures go")
    options = parser.parse_args()
    cells = list(by_cell(finished(options.results)))
    if not cells:
        print(f"{options.results} has no lines: run experiments.real.run first", file=sys.stderr)
        sys.exit(2)
    options.folder.mkdir(exist_ok=True)
    draw(cells, options.folder)


def draw(cells: Cells, folder: Path) -> None:
    """Write the PNG files; those about time need runs in time order."""
    figures = [accuracy, coverage]
    if any(cell.order == "time" for cell, _ in cells):
        figures += [drifting, weights]
    for figure in figures:
        figure(cells).savefig(folder / f"{figure.__name__}.png")


if __name__ == "__main__":
    main()
