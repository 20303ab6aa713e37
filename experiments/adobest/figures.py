"""The papers' figures, made from the results that are there.

    python -m experiments.adobest.figures [--output FOLDER]

| file | what | from |
| --- | --- | --- |
| figure2.png | P(Y = X) against theta_i / theta_i+1 | `tacit.policies.utility_curve` |
| figure3.png, figure4.png | total variation errors, kappa 0.8 and 0.9 | results/grid.jsonl |
| figure5.png, figure6.png | mean sizes of S, kappa 0.8 and 0.9 | results/grid.jsonl |
| optimal.png | RRRR beside the optimal mechanism (thesis, 5.7 to 5.10) | results/optimal.json |
| theorems.png | the three theorems | results/theorems.json |

Boxes of the published code stand beside those at the true epsilon, with the epsilon that this code really has.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from experiments.adobest import reading
from experiments.adobest.choice import RULES
from experiments.adobest.grid import CELLS, KAPPAS, Cell
from experiments.adobest.loop import METHODS
from experiments.adobest.matrices import Floats, entries, worst_loss
from experiments.adobest.run import Line
from experiments.adobest.style import (
    BLUE,
    FIGURES,
    GREEN,
    GREY,
    NORMAL,
    ORANGE,
    PURPLE,
    RED,
    SMALL,
    boxes,
    canvas,
    clean,
    label,
    save,
)
from experiments.adobest.theorem_figure import theorem_figure
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tacit.policies import utility_curve

STEP = "fixed"  # the step rule of the preprint and of the published code
OURS = {"static, learned, tv": "static SS", "risk, learned, tv": "risk"}
COLOURS = {"true": ORANGE, "faulty": PURPLE, "semi": BLUE, "srr": GREY, "ours": GREEN}
FIGURE_2_SIZES = (1, 2, 3, 5, 10, 15, 19)


def true_epsilon(cell: Cell, kappa: float) -> float:
    """What the published code really leaks."""
    return worst_loss(entries(cell[0], cell[1], kappa, faulty=True))


def error_figure(found: reading.Found, ours: reading.Ours, kappa: float) -> Figure:
    """Figures 3 and 4: a panel for each cell, rows (K, epsilon), columns rho."""
    figure = canvas(11, 12.5)
    grid = figure.subplots(6, 3, sharex=True, sharey="row")
    for cell, axes in zip(CELLS, grid.flat, strict=True):
        clean(axes)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        if cell in found:
            error_panel(axes, found[cell], ours.get(cell, {}), kappa)
        if cell[2] == CELLS[0][2]:
            leak = f"published code: {true_epsilon(cell, kappa):.2f}"
            axes.set_ylabel(f"K = {cell[0]}, ε = {cell[1]:g}\n{leak}\nTV error", fontsize=NORMAL)
    for row, start in zip(grid, range(0, len(CELLS), 3), strict=True):
        # In sparse populations tacit's errors reach down to nothing, and would press all others flat.
        mine = [found[cell] for cell in CELLS[start : start + 3] if cell in found]
        least = min((np.min(line["tv"][f"{STEP} {kappa}"]) for lines in mine for line in lines), default=1e-3)
        row[0].set_ylim(bottom=least / 3)
    for axes, cell in zip(grid[0], CELLS, strict=False):
        axes.set_title(rf"$\rho$ = {cell[2]:g}", fontsize=NORMAL)
    names = [label(method) for method in METHODS] + (list(OURS.values()) if ours else [])
    for axes in grid[-1]:
        axes.set_xticks(range(len(names)), names, rotation=90)
    key = [("srr", "SRR"), ("semi", r"semi-adaptive, $\alpha$"), ("true", "utilities, ε as stated")]
    key += [("faulty", "utilities, published code: more than ε")] + ([("ours", "tacit")] if ours else [])
    handles = [
        Patch(facecolor=COLOURS[name], edgecolor="black", linewidth=0.5, label=text) for name, text in key
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(key), fontsize=NORMAL, frameon=False)
    below = "; where a box reaches the axis, it goes on below" if ours else ""
    figure.supxlabel(f"ε₁ = {kappa:g} ε, step 0.5 / T; {reading.runs_made(found)}{below}", fontsize=NORMAL)
    return figure


def error_panel(axes: Axes, lines: list[Line], ours: dict[str, Floats], kappa: float) -> None:
    """The boxes of one cell; the published code's beside those of the same utility."""
    for place, method in enumerate(METHODS):
        kind = "srr" if method == "srr" else "true" if method in RULES else "semi"
        true = reading.column(lines, f"{STEP} {kappa}", method)
        if kind == "true":
            faulty = reading.column(lines, f"faulty {kappa}", method)
            boxes(axes, [true], [place - 0.2], COLOURS[kind], 0.36)
            boxes(axes, [faulty], [place + 0.2], COLOURS["faulty"], 0.36)
        else:
            boxes(axes, [true], [place], COLOURS[kind])
    for place, name in enumerate(OURS if ours else (), len(METHODS)):
        boxes(axes, [ours[name]], [place], COLOURS["ours"])


def size_figure(found: reading.Found, kappa: float) -> Figure:
    """Figures 5 and 6: rows methods, columns cells; the published code below."""
    rows = [(f"{STEP} {kappa}", method) for method in METHODS[1:]]
    rows += [(f"faulty {kappa}", method) for method in RULES]
    figure = canvas(9.5, 5.2)
    for axes, k in zip(figure.subplots(1, 2, sharey=True), (10, 20), strict=True):
        cells = [cell for cell in CELLS if cell[0] == k]
        sizes = np.full((len(rows), len(cells)), np.nan)
        for (i, row), (j, cell) in ((a, b) for a in enumerate(rows) for b in enumerate(cells)):
            if cell in found:
                sizes[i, j] = reading.column(found[cell], *row, what="size").mean()
        image = axes.imshow(sizes, aspect="auto", cmap="cividis", vmin=0, vmax=k - 1)
        for (i, j), size in np.ndenumerate(sizes):
            if np.isfinite(size):
                shade = "white" if size < k / 2 else "black"
                axes.text(j, i, f"{size:.1f}", ha="center", va="center", fontsize=SMALL, color=shade)
        for edge in (2.5, 5.5):
            axes.axvline(edge, color="white", linewidth=2)
        axes.axhline(len(METHODS) - 1.5, color="white", linewidth=4)
        axes.axhline(len(METHODS) - len(RULES) - 1.5, color="white", linewidth=2)
        axes.set_title(f"K = {k}", fontsize=NORMAL)
        axes.set_xticks(range(9), [f"{cell[2]:g}" for cell in cells])
        axes.set_yticks(range(len(rows)), [row_name(*row) for row in rows])
        axes.tick_params(labelsize=SMALL, length=0)
        axes.spines[:].set_visible(False)
        for i, cell in enumerate(cells[1::3]):
            axes.text(1 + 3 * i, len(rows) + 0.9, rf"$\rho$;  ε = {cell[1]:g}", ha="center", fontsize=SMALL)
        bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.01)
        bar.ax.tick_params(labelsize=SMALL)
        bar.outline.set_visible(False)
    figure.supxlabel(f"\nmean |S|, ε₁ = {kappa:g} ε; {reading.runs_made(found)}", fontsize=NORMAL)
    return figure


def row_name(variant: str, method: str) -> str:
    """A method, marked when it is the published code's."""
    return f"{label(method)}, published code" if variant.startswith("faulty") else label(method)


def honest_figure() -> Figure:
    """Figure 2: the probability of an honest report against the evenness of theta."""
    ratios = np.geomspace(1, 3, 121)
    figure = canvas(8, 3)
    for axes, epsilon in zip(figure.subplots(1, 2), (1.0, 5.0), strict=True):
        thetas = ratios[:, None] ** -np.arange(20.0)
        thetas /= thetas.sum(axis=1, keepdims=True)
        curves = np.array([utility_curve(theta, epsilon, 0.9, "honest") for theta in thetas])
        for i, size in enumerate(FIGURE_2_SIZES):
            colour = colormaps["viridis"](0.92 * i / (len(FIGURE_2_SIZES) - 1))
            axes.plot(ratios, curves[:, size], color=colour, linewidth=1.4, label=f"RRRR, k = {size}")
        axes.plot(ratios, curves[:, 0], color="black", linestyle="--", linewidth=1.4, label="SRR (k = 0)")
        clean(axes)
        axes.set_title(f"K = 20, ε = {epsilon:g}, ε₁ = 0.9 ε", fontsize=NORMAL)
        axes.set_xlabel("θᵢ / θᵢ₊₁", fontsize=NORMAL)
    figure.axes[0].set_ylabel("P(Y = X)", fontsize=NORMAL)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=SMALL, frameon=False)
    return figure


def optimal_figure(results: dict[str, Any]) -> Figure:
    """Figures 5.7 to 5.10 of the thesis in one: rows utilities, columns kappa."""
    figure = canvas(10, 5)
    titles = {"linear": "mean of P(Y = X)", "cross_entropy": "mean of ln P(Y = X)"}
    names = ("srr", "rrrr", "optimal")
    colours = dict(zip(names, (GREY, ORANGE, GREEN), strict=True))
    grid = figure.subplots(2, len(KAPPAS), sharex=True, sharey="row")
    for row, (utility, title) in zip(grid, titles.items(), strict=True):
        settings = [record for record in results["settings"] if record["utility"] == utility]
        for axes, kappa in zip(row, KAPPAS, strict=True):
            for i, record in enumerate(settings):
                for j, name in enumerate(names):
                    values = record[f"rrrr {kappa}" if name == "rrrr" else name]
                    boxes(axes, [values], [i + 0.26 * (j - 1)], colours[name], 0.22)
            clean(axes)
            for edge in (2.5, 5.5):
                axes.axvline(edge, color=RED, linewidth=0.6, linestyle=":")
            axes.set_xticks(
                range(len(settings)), [f"ε {r['epsilon']:g}\n$\\rho$ {r['rho']:g}" for r in settings]
            )
            axes.set_title(f"ε₁ = {kappa:g} ε", fontsize=NORMAL)
        row[0].set_ylabel(title, fontsize=NORMAL)
    key = {"srr": "SRR", "rrrr": "RRRR, best k", "optimal": "optimal mechanism"}
    handles = [
        Patch(facecolor=colours[name], edgecolor="black", linewidth=0.5, label=key[name]) for name in names
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=NORMAL, frameon=False)
    figure.supxlabel(f"K = {results['k']}, {results['runs']} runs", fontsize=NORMAL)
    return figure


def make(folder: Path = FIGURES, grid: Path = reading.GRID, accuracy: Path = reading.OURS) -> None:
    """Every figure whose results are there; the others are named."""
    save(honest_figure(), "figure2.png", folder)
    found = reading.cells(grid)
    print(reading.runs_made(found))
    ours, said = reading.ours(accuracy)
    print(said)
    for kappa, errors, sizes in zip(KAPPAS, (3, 4), (5, 6), strict=True):
        save(error_figure(found, ours, kappa), f"figure{errors}.png", folder)
        save(size_figure(found, kappa), f"figure{sizes}.png", folder)
    for name, draw in (("optimal", optimal_figure), ("theorems", theorem_figure)):
        path = grid.parent / f"{name}.json"
        if path.exists():
            save(draw(reading.load(path)), f"{name}.png", folder)
        else:
            print(f"no {path.name}: python -m experiments.adobest.{name} makes it; its figure is left out")


def main() -> None:
    """Draw all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=FIGURES, help="the folder of the figures")
    make(parser.parse_args().output)


if __name__ == "__main__":
    main()
