"""How the figures look: one size of type, colours that colour-blind readers can tell apart, nothing that is not data.

The colours are Okabe and Ito's; figures that order things by size use viridis or cividis, which are also safe in grey.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

FIGURES = Path(__file__).parent / "figures"
GREY, BLUE, ORANGE, GREEN, RED, PURPLE = "#7f7f7f", "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7"
SMALL, NORMAL = 7.0, 8.5

# The papers' figures call U4, the marginal one, "TV1" and U3 "TV2": their program numbers them so.
NAMES = {
    "srr": "SRR",
    "fisher": "FIM",
    "tv_posterior": "TV posterior",
    "tv_marginal": "TV marginal",
    "mse": "MSE",
}


def label(method: str) -> str:
    """A method's name for people."""
    if method.startswith("semi:"):
        return f"semi {method.removeprefix('semi:').removeprefix('0')}"
    return NAMES.get(method, method)


def canvas(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def clean(axes: Axes, grid: str | None = "y") -> None:
    """Small type, two spines, thin grid lines along one axis."""
    axes.tick_params(labelsize=SMALL, length=2, width=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_linewidth(0.6)
    if grid:
        axes.grid(axis=grid, linewidth=0.4, color="#dddddd")
        axes.set_axisbelow(True)


def boxes(
    axes: Axes, values: list[Any], places: list[float], colour: str, width: float = 0.7, **more: Any
) -> None:
    """Box plots as the papers': the median, the quartiles, whiskers to 1.5 times their distance, outliers as dots."""
    axes.boxplot(
        values,
        positions=places,
        widths=width,
        patch_artist=True,
        manage_ticks=False,
        boxprops={"facecolor": colour, "linewidth": 0.5, "edgecolor": "black"} | more,
        medianprops={"color": "black", "linewidth": 1.2},
        whiskerprops={"linewidth": 0.5},
        capprops={"linewidth": 0.5},
        flierprops={"marker": ".", "markersize": 1.5, "markeredgecolor": colour, "markerfacecolor": colour},
    )


def save(figure: Figure, name: str, folder: Path = FIGURES) -> None:
    """A PNG in the folder of the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / name)
