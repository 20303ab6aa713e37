"""Pictures of a fitted mixture: its residuals, and the rows that hardly count. They need `tacit[plot]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import TacitError
from tacit.regression.mixture import SHOWN, FittedMixture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def plot_residuals(model: FittedMixture, X: Any, y: Any, ax: Axes | None = None, bins: int = 60) -> Axes:  # noqa: N803
    """A histogram of the residuals under the fitted density and its components; residuals beyond the axis are counted.

    The axis holds the middle 96 % of the residuals with as much again; ticks under it are the rows with an outlier
    score above a half.
    """
    ax = _axes(ax)
    r = model._residuals(X, y)
    low, high = np.quantile(r, [0.02, 0.98])
    low, high = low - (high - low) / 2, high + (high - low) / 2
    inside = r[(r >= low) & (r <= high)]
    width = (high - low) / bins
    counts, edges = np.histogram(inside, bins=bins, range=(low, high))
    ax.stairs(counts / (len(r) * width), edges, fill=True, color="0.85", label="residuals")
    t = np.linspace(low, high, 801)
    for k, (name, a) in enumerate(zip(model.components_, model.weights_, strict=True)):
        if a > 1e-3:
            ax.plot(t, model.density(t, k), color=COLOURS[k % len(COLOURS)], lw=1.2, label=f"{name}, {a:.2f}")
    ax.plot(t, model.density(t), color="black", lw=1.5, label="all components")
    far = model.outlier_scores(X, y) > SHOWN
    shown = r[far & (r >= low) & (r <= high)]
    ax.plot(shown, np.zeros(len(shown)), "|", color="black", ms=7, clip_on=False, alpha=0.5)
    ax.set(xlim=(low, high), ylim=(0, None), xlabel="residual", ylabel="density")
    beyond = len(r) - len(inside)
    ax.set_title(f"{beyond} of {len(r)} residuals beyond the axis", fontsize="small", loc="right")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_outliers(model: FittedMixture, X: Any, y: Any, ax: Axes | None = None) -> Axes:  # noqa: N803
    """Residuals against predictions, darker the less a row counts."""
    ax = _axes(ax)
    r, score = model._residuals(X, y), model.outlier_scores(X, y)
    order = np.argsort(score)
    points = ax.scatter(
        (np.asarray(y) - r)[order], r[order], c=score[order], s=12, cmap="viridis_r", vmin=0, vmax=1
    )
    ax.figure.colorbar(points, ax=ax, label="outlier score")
    ax.axhline(0, color="0.5", lw=0.8)
    few = int((score > SHOWN).sum())
    ax.set(xlabel="prediction", ylabel="residual")
    ax.set_title(
        f"{few} of {len(r)} rows count less than half of a typical one", fontsize="small", loc="right"
    )
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise TacitError(
            "dependency_missing",
            "matplotlib is not installed",
            argument="ax",
            hint="pip install 'tacit[plot]'",
        ) from None
    return plt.subplots(figsize=(6, 4), layout="constrained")[1]
