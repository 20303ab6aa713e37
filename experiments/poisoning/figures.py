"""The figure, from the lines of results/poisoning.jsonl: what attacks did beside the gauge, and policy beside policy.

python -m experiments.poisoning.figures [--results FILE] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from experiments.poisoning.run import POLICIES, RESULTS, Line, finished
from experiments.poisoning.summary import Cell, by_cell, error, pooled, push, said
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

FOLDER = Path(__file__).parent / "figures"
# Okabe and Ito's colours: colour-blind readers can tell them apart, and the markers help.
STYLE = {
    "static-subset": ("#009e73", "s"),
    "risk": ("#000000", "D"),
    "honest": ("#d55e00", "^"),
    "semi:0.9": ("#0072b2", "o"),
    "tv_marginal": ("#cc79a7", "v"),
}
SHOWN = ("random", "uniform", "early", "late", "steer", "demote")
LEAST = 0.3  # points: smaller pushes are drawn there
Cells = dict[Cell, list[Line]]


def poisoning(cells: Cells) -> Figure:
    """Two panels side by side."""
    figure = Figure(figsize=(10.5, 4.4), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    beside_gauge(left, cells)
    by_attack(right, cells)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8)
    figure.legend(
        *left.get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=8
    )
    return figure


def beside_gauge(axes: Axes, cells: Cells) -> None:
    """A mark for each study: the push that the gauge says, and the one that late fakes made."""
    axes.axline((1, 1), (10, 10), color="#bbbbbb", linewidth=1, zorder=0)
    named = set()
    for cell, lines in cells.items():
        colour, marker = STYLE[cell.policy]
        axes.plot(
            [max(said(line, "up"), LEAST) for line in lines],
            [max(push(line, "late 0.01"), LEAST) for line in lines],
            marker,
            color=colour,
            mfc="white" if cell.floor else colour,
            markersize=4.5,
            linestyle="none",
            label=None if cell.policy in named or cell.floor else cell.policy,
        )
        named |= set() if cell.floor else {cell.policy}
    ticks = [0.5, 1, 2, 5, 10, 20, 50]
    for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
        scale("log")
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_minor_locator(NullLocator())
    axes.set_xlabel("push of the target that the gauge says, in points", fontsize=9)
    axes.set_ylabel("push that 1 % of late fakes made", fontsize=9)
    axes.set_title("Each study once; hollow: with the floor", loc="left", fontsize=10)


def by_attack(axes: Axes, cells: Cells) -> None:
    """For each attack one mark a policy: the mean over all studies, and two standard errors."""
    for place, policy in enumerate(POLICIES):
        colour, marker = STYLE[policy]
        for row, attack in enumerate(SHOWN):
            values = pooled(cells, policy, lambda line, name=f"{attack} 0.01": push(line, name))
            if values:
                height = len(SHOWN) - 1 - row + 0.3 - 0.15 * place
                reach = 2 * error(values)
                mean = float(np.mean(values))
                axes.errorbar(mean, height, xerr=reach, fmt=marker, color=colour, markersize=4.5, linewidth=1)
    axes.axvline(0, color="#bbbbbb", linewidth=1, zorder=0)
    axes.axvline(1, color="#bbbbbb", linewidth=1, linestyle=":", zorder=0)
    axes.annotate("no privacy", (1, len(SHOWN) - 0.5), fontsize=7, color="#777777", ha="left", va="bottom")
    axes.set_yticks(range(len(SHOWN)), SHOWN[::-1])
    axes.set_ylim(-0.6, len(SHOWN) - 0.3)
    axes.set_xlabel("push by 1 % of fakes, in points", fontsize=9)
    axes.set_title("Means over all K, epsilons and runs", loc="left", fontsize=10)


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of lines")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the figure goes")
    options = parser.parse_args()
    cells = by_cell(finished(options.results))
    if not cells:
        print(f"{options.results} has no lines: run experiments.poisoning.run first", file=sys.stderr)
        sys.exit(2)
    options.folder.mkdir(exist_ok=True)
    draw(cells, options.folder)


def draw(cells: Cells, folder: Path) -> None:
    """Write the PNG file."""
    poisoning(cells).savefig(folder / "poisoning.png")


if __name__ == "__main__":
    main()
