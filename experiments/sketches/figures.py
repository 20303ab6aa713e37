"""The figures, from the results that are there.

python -m experiments.sketches.figures
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from experiments.sketches import claims, compare, curves
from experiments.sketches.grid import BATCHES, DEPTHS, EPSILONS, FULL, POOLS
from matplotlib import rc_context
from matplotlib.figure import Figure

FIGURES = Path(__file__).parent / "figures"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#666666")
STYLE: dict[str, Any] = {
    "font.size": 9, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#e5e5e5", "grid.linewidth": 0.6, "legend.frameon": False, "lines.linewidth": 1.6,
    "figure.constrained_layout.use": True,
}  # fmt: skip


def save(figure: Figure, name: str) -> None:
    """A PNG without a date, so that the same results give the same file."""
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / f"{name}.png", dpi=140, metadata={"Software": None})


def figure_1(made: dict[str, Any]) -> None:
    """E(m_i)."""
    figure = Figure(figsize=(5.2, 3.4))
    axes = figure.subplots()
    for (w, values), colour in zip(made["fullest"].items(), COLOURS, strict=False):
        axes.loglog(made["sizes"], values, color=colour)
        axes.annotate(f"w = {int(w):,}", (made["sizes"][-1], values[-1]), xytext=(4, -2), textcoords="offset points",
                      color=colour)  # fmt: skip
    axes.loglog(made["sizes"], made["sizes"], color=COLOURS[3], linestyle=":")
    axes.annotate("all in one cell", (made["sizes"][5], made["sizes"][5]), xytext=(-6, 4), textcoords="offset points",
                  color=COLOURS[3], ha="right")  # fmt: skip
    axes.set(
        xlabel="items in the batch, n_Q",
        ylabel="E(m_i), the fullest cell of a row",
        xlim=(1, 8e6),
        ylim=(0.8, 1e5),
    )
    axes.set_title("A batch shares cells: m_Q grows far more slowly than n_Q", loc="left")
    save(figure, "figure1")


def figure_2(made: dict[str, Any]) -> None:
    """Median against cell perturbation."""
    figure = Figure(figsize=(8, 3))
    for axes, d in zip(figure.subplots(1, 3, sharey=True), curves.DEPTHS, strict=True):
        noise = made["noise"][str(d)]
        axes.plot(made["spreads"], noise["cell"], color=COLOURS[0], label="cells")
        axes.axhline(noise["median"], color=COLOURS[1], label="median, m_Q = d")
        axes.axhline(noise["median, 10^4 items"], color=COLOURS[1], linestyle="--", label="median, 10⁴ items")
        axes.set(title=f"d = {d}", xlabel="u, spread of the exact rows", yscale="log", ylim=(1, 300))
    figure.axes[0].set_ylabel("mean absolute error by the noise")
    figure.axes[0].legend(loc="upper left", fontsize=8)
    figure.suptitle(
        "Noise on the median wins only where rows differ much and the batch is small (epsilon = 1)",
        fontsize=9.5,
    )
    save(figure, "figure2")


def panels(name: str, found: Any, rows: tuple[int, ...], word: str, title: str) -> None:
    """Cumulative errors over time: `found` (times, rows, epsilons, depths). A single batch is a dot at its time."""
    figure = Figure(figsize=(8, 1.5 * len(rows) + 0.8))
    columns = len(EPSILONS) - 1
    grid = figure.subplots(len(rows), columns, sharex=True)
    times = np.arange(1, len(found) + 1) / len(found) * (FULL.items - FULL.start)
    millions = (FULL.start + times) / 1e6
    for r, value in enumerate(rows):
        for e, epsilon in enumerate(EPSILONS[:columns]):
            axes = grid[r][columns - 1 - e]
            for k, d in enumerate(DEPTHS):
                single = (found[:-1, r, e, k] == 0).all()
                kept = slice(-1, None) if single else slice(None)
                axes.plot(millions[kept], found[kept, r, e, k], color=COLOURS[k], label=f"d = {d}",
                          marker="o" if single else None, ms=4)  # fmt: skip
            best = DEPTHS[int(found[-1, r, e].argmin())]
            axes.text(0.03, 0.95, f"best d = {best}", transform=axes.transAxes, va="top", fontsize=8)
            axes.set_ylim(0, 1.15 * found[-1, r, e].max())
            axes.set_xlim(0, FULL.items / 1e6 * 1.03)
            if r == 0:
                axes.set_title(f"epsilon = {epsilon:g}")
        grid[r][0].set_ylabel(f"{word} = {value:,}", fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("stream items, millions")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(DEPTHS), fontsize=8)
    figure.supylabel("cumulative mean relative error", fontsize=9)
    figure.suptitle(title, fontsize=9.5)
    save(figure, name)


def figure_methods() -> None:
    """Errors of the methods by epsilon, one panel a stream."""
    lines = compare.finished()
    streams = list(dict.fromkeys(line["stream"] for line in lines))
    shown = {
        "keep, count, d=3": ("UseAndKeep, d = 3", COLOURS[0], "-"),
        "keep, count, d=9": ("UseAndKeep, d = 9", COLOURS[0], "--"),
        "pan-private, count, d=3": ("pan-private, d = 3", COLOURS[0], ":"),
        "forget, count, d=3, eta=0.9": ("UseAndForget, eta = 0.9", COLOURS[1], "-"),
        "forget, count, d=3": ("UseAndForget, eta = 0.5", COLOURS[1], "--"),
        "median, count, d=9": ("MedianPerturbation", COLOURS[2], "-"),
        "histogram": ("histogram of the known domain", COLOURS[3], "-"),
        "no privacy, count, d=9": ("no privacy", COLOURS[3], ":"),
    }
    figure = Figure(figsize=(8.6, 5.2))
    for axes, name in zip(figure.subplots(2, 2, sharex=True, sharey=True).ravel(), streams, strict=False):
        for method, (label, colour, style) in shown.items():
            means = [
                np.mean([x["mean"][method][0] for x in lines if (x["stream"], x["epsilon"]) == (name, e)])
                for e in compare.EPSILONS
            ]
            axes.loglog(compare.EPSILONS, means, color=colour, linestyle=style, marker="o", ms=3, label=label)
        axes.set_title(name, loc="left")
        axes.set_xticks(compare.EPSILONS, [f"{e:g}" for e in compare.EPSILONS])
        axes.minorticks_off()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8)
    figure.supxlabel("epsilon, for the whole life", fontsize=9)
    figure.supylabel("mean relative error of 20 batches of 100 items", fontsize=9)
    save(figure, "methods")


def main() -> None:
    """Draw all of them."""
    made, found = json.loads(curves.RESULTS.read_text()), claims.errors()
    mean, runs = found.mean(axis=0), len(found)
    with rc_context(STYLE):
        figure_1(made)
        figure_2(made)
        note = f"2^27 items, w = 5000, {runs} runs"
        panels(
            "figure3",
            mean.mean(axis=1),
            BATCHES,
            "n_Q",
            f"Smaller batches noise cells more often: the best d falls ({note})",
        )
        # A single batch at the end would make a step of each curve.
        panels(
            "figure4",
            mean[:, :, :-1].mean(axis=2),
            POOLS,
            "u",
            f"Rarer items have larger relative errors ({note})",
        )
        if compare.finished():
            figure_methods()


if __name__ == "__main__":
    main()
