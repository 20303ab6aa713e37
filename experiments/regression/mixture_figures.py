"""The figures of the mixtures: two for the documentation, from abalone, and one of the results.

TACIT_DATA=DIR python -m experiments.regression.mixture_figures [--data DIR]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from experiments.regression import data
from experiments.regression.mixture_run import RESULTS, SETS, SHARE, finished
from experiments.regression.mixture_summary import Results, settings
from matplotlib import rc_context
from matplotlib.figure import Figure

from tacit.regression import MixtureRegressor, plot_outliers, plot_residuals

HERE = Path(__file__).parent
FIGURES, IMAGES = HERE / "figures", HERE.parents[1] / "docs" / "images"
SHOWN = {
    "ols": "#666666",
    "mixture, fixed": "#56b4e9",
    "mixture, learned": "#0072b2",
    "trimmed": "#d55e00",
    "Huber": "#009e73",
    "RLM biweight": "#cc79a7",
    "Theil-Sen": "#e69f00",
}
STYLE: dict[str, Any] = {
    "font.size": 9, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False,
    "legend.frameon": False, "figure.constrained_layout.use": True,
}  # fmt: skip


def save(figure: Figure, path: Path) -> None:
    """A PNG without a date, so that the same results give the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, metadata={"Software": None})


def contaminated(y: Any, low: float, high: float) -> Any:
    """A tenth of y moved by U[low, high] standard deviations, either sign."""
    rng = np.random.default_rng(1)
    moved = rng.choice(len(y), round(SHARE * len(y)), replace=False)
    y = y.copy()
    y[moved] += rng.uniform(low, high, len(moved)) * rng.choice([-1, 1], len(moved)) * y.std(ddof=1)
    return y


def of_the_documentation(folder: Path | None, name: str, images: Path) -> None:
    """Residuals under their density as they are and with outliers, and which rows count."""
    x, y, _ = data.standardised(data.load(folder, name))
    figure = Figure(figsize=(9.2, 3.6))
    for axes, target, title in zip(
        figure.subplots(1, 2),
        (y, contaminated(y, 2, 4)),
        ("as it is", "with outliers"),
        strict=True,
    ):
        plot_residuals(MixtureRegressor().fit(x, target), x, target, ax=axes)
        axes.set_title(f"{name}, {title}", loc="left")
    save(figure, images / "regression-mixture-residuals.png")
    figure = Figure(figsize=(6.4, 3.6))
    target = contaminated(y, 2, 4)
    plot_outliers(MixtureRegressor().fit(x, target), x, target, ax=figure.subplots())
    save(figure, images / "regression-mixture-outliers.png")


def errors(found: Results, figures: Path) -> None:
    """Test errors by setting; bars are standard errors."""
    figure = Figure(figsize=(9.2, 3.6))
    for axes, name in zip(figure.subplots(1, 3), [each for each in SETS if found.lines[each]], strict=False):
        names = settings(name)
        for k, (method, colour) in enumerate(SHOWN.items()):
            means = [found.field(name, setting, method) for setting in names]
            axes.errorbar(
                np.arange(len(names)) + 0.07 * (k - 3), [m.value for m in means], [m.error for m in means],
                fmt="o", ms=3.5, lw=1, color=colour, label=method,
            )  # fmt: skip
        axes.set_xticks(range(len(names)), names)
        axes.set(title=name, xlabel="outliers, in standard deviations of y", yscale="log")
        axes.yaxis.set_major_formatter("{x:.2f}")
        axes.yaxis.set_minor_formatter("{x:.2f}")
    figure.axes[0].set_ylabel("test error")
    figure.axes[0].legend(fontsize=7)
    save(figure, figures / "mixture_errors.png")


def main() -> None:
    """Draw all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("TACIT_DATA", "data"), help="folder of the files"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of lines")
    options = parser.parse_args()
    with rc_context(STYLE):
        of_the_documentation(Path(options.data), "abalone", IMAGES)
        errors(Results(finished(options.results)), FIGURES)


if __name__ == "__main__":
    main()
