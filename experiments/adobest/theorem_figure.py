"""The three theorems and the floor of the papers' sampler in one figure, from results/theorems.json."""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.adobest.style import BLUE, GREEN, GREY, NORMAL, ORANGE, RED, SMALL, canvas, clean, label
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WAYS = {  # of choosing S: colour, line, words
    "exact": (BLUE, "-", "exact draws"),
    "blind": (GREY, "-", "draws of the prior"),
    "sgld fixed": (ORANGE, "--", "papers' sampler, step 0.5 / T"),
    "sgld falling": (RED, "-.", "papers' sampler, step 0.5 / t"),
}


def theorem_figure(results: dict[str, Any]) -> Figure:
    """Four panels."""
    figure = canvas(10, 6.4)
    mass, best, floor, subsets = figure.subplots(2, 2).flat
    mass_panel(mass, results)
    best_panel(best, results)
    floor_panel(floor, results["floor"])
    subset_panel(subsets, results["subsets"])
    return figure


def mass_panel(axes: Axes, results: dict[str, Any]) -> None:
    """Theorem 3, by a and by what chooses the subsets."""
    first = next(iter(results["best"]))
    ways = [name.split(", ") for name in results["convergence"]]
    found = {way: results["convergence"][f"{first}, {way}"] for method, way in ways if method == first}
    balls = list(found["exact"]["mass"])
    shades = [colormaps["viridis"](0.85 * i / (len(balls) - 1)) for i in range(len(balls))]
    for a, shade in zip(balls, shades, strict=True):
        for way, style, width in (("exact", "-", 1.8), ("sgld falling", "-.", 1.0), ("blind", ":", 1.3)):
            axes.plot(results["n"], found[way]["mass"][a], style, color=shade, linewidth=width)
        axes.annotate(
            f"a = {a}", (results["n"][-1], found["exact"]["mass"][a][-1]), (4, 0), textcoords="offset points",
            fontsize=SMALL, color=shade, va="center",
        )  # fmt: skip
    for way, style in (("exact", "-"), ("sgld falling", "-."), ("blind", ":")):
        axes.plot([], [], style, color="black", label=f"S at {WAYS[way][2]}")
    finish(axes, "Theorem 3: posterior mass within c n⁻ᵃ of θ*", "respondents n", "log")
    axes.set_ylim(-0.03, 1.03)
    axes.legend(fontsize=SMALL, frameon=False)


def best_panel(axes: Axes, results: dict[str, Any]) -> None:
    """Theorem 4."""
    first = next(iter(results["best"]))
    for name, record in results["convergence"].items():
        method, way = name.split(", ")
        if way == "blind":
            continue
        colour, style, words = WAYS[way]
        colour = colour if method == first else GREEN
        values, error = np.array(record["best"]), np.array(record["best se"])
        axes.plot(results["n"], values, style, color=colour, linewidth=1.4, label=f"{label(method)}, {words}")
        axes.fill_between(results["n"], values - error, values + error, color=colour, alpha=0.15, linewidth=0)
    finish(axes, "Theorem 4: P(S = S*) for the next respondent", "respondents n", "log")
    axes.set_ylim(-0.03, 1.03)
    axes.legend(fontsize=SMALL, frameon=False)


def floor_panel(axes: Axes, floor: dict[str, Any]) -> None:
    """The spread of both samplers' draws, and what it does to P(S*)."""
    for name, colour, style, words in (
        ("exact sd", BLUE, "o-", "exact draws"),
        ("sgld sd", RED, "s-", "papers' sampler"),
        ("predicted sd", "black", ":", "predicted for it"),
    ):
        axes.plot(floor["n"], floor[name], style, color=colour, markersize=3.5, linewidth=1.4, label=words)
    for i, n in enumerate(floor["n"]):
        text = f"P(S*) = {floor['exact best'][i]:.2f}"
        axes.annotate(
            text, (n, floor["exact sd"][i]), (-6, -6), textcoords="offset points",
            fontsize=SMALL - 0.5, color=BLUE, ha="right", va="top",
        )  # fmt: skip
        if i:
            axes.annotate(
                f"P(S*) = {floor['sgld best'][i]:.2f}", (n, floor["sgld sd"][i]), (0, 6), textcoords="offset points",
                fontsize=SMALL - 0.5, color=RED, ha="center",
            )  # fmt: skip
    axes.set_yscale("log")
    finish(axes, "The papers' sampler has a floor: sd of θ at one n", "reports n", "log")
    axes.margins(x=0.2, y=0.15)
    axes.legend(fontsize=SMALL, frameon=False)


def subset_panel(axes: Axes, subsets: dict[str, Any]) -> None:
    """Theorem 2, and the same question for the other utilities."""
    missed = {name: np.array(counts) / subsets["cases"] for name, counts in subsets["missed"].items()}
    order = sorted(missed, key=lambda name: missed[name].mean())
    for i, name in enumerate(order):
        share = 1 - missed[name]
        axes.plot(
            share,
            np.full(len(share), i) + np.linspace(-0.22, 0.22, len(share)),
            ".",
            color=BLUE,
            markersize=5,
        )
        total = int(sum(subsets["missed"][name]))
        axes.annotate(
            f"{total} missed of {len(share) * subsets['cases']:,}", (share.min(), i), (-8, 0),
            textcoords="offset points", fontsize=SMALL, ha="right", va="center",
        )  # fmt: skip
    axes.set_yticks(range(len(order)), [label(name) for name in order])
    finish(
        axes,
        "Theorem 2: how often the best of all subsets is nested",
        "one dot for each K, 3 to 10",
        "linear",
    )
    low = min(share.min() for share in (1 - values for values in missed.values()))
    axes.set_xlim(1 - 2.2 * (1 - low) - 1e-4, 1 + 0.1 * (1 - low) + 1e-4)


def finish(axes: Axes, title: str, below: str, scale: str) -> None:
    """Scale, title and grid."""
    axes.set_xscale(scale)
    axes.set_title(title, fontsize=NORMAL, loc="left")
    axes.set_xlabel(below, fontsize=NORMAL)
    clean(axes, grid="both")
