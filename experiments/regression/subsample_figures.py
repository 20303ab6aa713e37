"""Figure 2.1 of the thesis made again: mean ranks of the methods, and what Nemenyi's test cannot tell apart.

    python -m experiments.regression.subsample_figures

A bar joins methods whose mean ranks differ by less than the critical difference at 5 %.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from experiments.regression.subsample_run import RESULTS, finished
from experiments.regression.subsample_summary import RANKED, cells, ranked

FIGURES = Path(__file__).parent / "figures"
NAMES = {
    "linear": "Linear regression",
    "svm": "SVM",
    "logistic": "Logistic regression",
    "poisson": "Poisson regression",
}


def cliques(ranks: Any, critical: float) -> list[tuple[float, float]]:
    """The longest runs of sorted ranks that span less than the critical difference."""
    order = np.sort(ranks)
    runs: list[tuple[float, float]] = []
    for i, low in enumerate(order):
        high = float(order[order <= low + critical][-1])
        if high > low and (not runs or high > runs[-1][1]) and i < len(order) - 1:
            runs.append((float(low), high))
    return runs


def panel(axis: Any, title: str, ranks: Any, critical: float, p: float, count: int) -> None:
    """A critical-difference diagram."""
    k = len(ranks)
    half = (k + 1) // 2
    axis.set_xlim(-1.2, k + 2.2)
    axis.set_ylim(-half - 2.2, 2.2)
    axis.axis("off")
    axis.set_title(f"{title}: {count} sets, Friedman p = {p:.2g}", fontsize=10)
    axis.plot([1, k], [0, 0], color="black", lw=1)
    for tick in range(1, k + 1):
        axis.plot([tick, tick], [0, 0.12], color="black", lw=1)
        axis.text(tick, 0.2, str(tick), ha="center", va="bottom", fontsize=8)
    axis.plot([1, 1 + critical], [1.2, 1.2], color="black", lw=1.5)
    axis.text(
        1 + critical / 2, 1.28, f"critical difference {critical:.2f}", ha="center", va="bottom", fontsize=8
    )
    runs = cliques(ranks, critical)
    for i, (low, high) in enumerate(runs):
        axis.plot(
            [low - 0.04, high + 0.04], [-0.25 - 0.22 * i] * 2, color="tab:blue", lw=3, solid_capstyle="round"
        )
    deep = 0.4 + 0.22 * len(runs)
    for place, i in enumerate(np.argsort(ranks, kind="stable")):
        left = place < half
        level = -deep - (place if left else k - 1 - place) * 0.75
        edge = 0.6 if left else k + 0.4
        axis.plot([ranks[i], ranks[i], edge], [0, level, level], color="grey", lw=0.8)
        axis.text(
            edge + (-0.08 if left else 0.08), level, f"{RANKED[i]} ({ranks[i]:.2f})",
            ha="right" if left else "left", va="center", fontsize=8,
        )  # fmt: skip


def draw(results: Path, output: Path) -> None:
    """Write the figure."""
    from matplotlib.figure import Figure

    found = cells(finished(results))
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    for axis, (task, title) in zip(axes.flat, NAMES.items(), strict=True):
        group = [cell for cell in found if cell.task == task]
        if len(group) < 3:
            axis.axis("off")
            continue
        ranks, p, critical = ranked(task, group)
        panel(axis, title, ranks, critical, p, len(group))
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=110)


def main() -> None:
    """Draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of lines")
    options = parser.parse_args()
    draw(options.results, FIGURES / "subsample_ranks.png")


if __name__ == "__main__":
    main()
