"""Estimates for people: a table on the terminal, a picture in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.table import Table

from tacit.arrays import Floats
from tacit.errors import TacitError

LEVEL = 0.9
WIDTH = 24  # characters of the largest share


@dataclass(frozen=True)
class Shown:
    """Estimated shares with intervals at LEVEL, beside the true ones of a simulation."""

    title: str
    labels: tuple[str, ...]
    truth: Floats
    estimate: Floats
    low: Floats
    high: Floats

    @property
    def inside(self) -> int:
        """How many intervals hold the true share."""
        return int(((self.low <= self.truth) & (self.truth <= self.high)).sum())


def table(shown: Shown) -> Table:
    """A row for every category, with a bar for its interval and a mark for the truth."""
    out = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("", "truth", "estimate", f"{LEVEL:.0%} interval"):
        out.add_column(heading, justify="left" if not heading else "right")
    out.add_column(" |truth =interval")
    scale = WIDTH / max(shown.high.max(), shown.truth.max())
    for i, label in enumerate(shown.labels):
        out.add_row(
            label,
            f"{shown.truth[i]:.3f}",
            f"{shown.estimate[i]:.3f}",
            f"{shown.low[i]:.3f} to {shown.high[i]:.3f}",
            _bar(shown.low[i] * scale, shown.high[i] * scale, shown.truth[i] * scale),
        )
    return out


def _bar(low: float, high: float, truth: float) -> str:
    cells = ["=" if low <= i + 0.5 <= high or i == int(low) else " " for i in range(int(high) + 1)]
    cells += [" "] * (int(truth) + 1 - len(cells))
    cells[int(truth)] = "[bold green]|[/bold green]"
    return " " + "".join(cells)


def draw(shown: Shown, path: Path) -> None:
    """Draw the estimates with their intervals against the truth into a PNG file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise TacitError(
            "dependency_missing",
            "matplotlib is not installed",
            argument="plot",
            hint="pip install 'tacit[plot]'",
        ) from None
    figure = Figure(figsize=(7.2, 1.4 + 0.37 * len(shown.labels)), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    rows = np.arange(len(shown.labels))[::-1]
    axes.barh(rows, 100 * shown.truth, height=0.62, color="#d8dee9", label="true share")
    reach = 100 * np.array([shown.estimate - shown.low, shown.high - shown.estimate])
    axes.errorbar(
        100 * shown.estimate,
        rows,
        xerr=np.maximum(reach, 0),
        fmt="o",
        color="#8b1e3f",
        capsize=4,
        label=f"private estimate, {LEVEL:.0%} interval",
    )
    axes.set_yticks(rows, shown.labels)
    axes.set_xlabel("share of people, %")
    axes.set_title(shown.title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise TacitError(
            "argument_invalid",
            f"{path} cannot be written ({error})",
            argument="plot",
            hint="give the path of a PNG file in a folder that exists",
        ) from None
