"""Studies of a number for people: tables on the terminal, and a picture of the cloud closing in.

A `NumberLook` is what a study knew when a round was full: draws of (mu, sigma), and the cuts that its last reports
came through. The picture shows the draws over time with the cuts among them, the laws of the answer that they stand
for, and the errors of several policies.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from tacit.arrays import Floats
from tacit.channels import BinnedChannel
from tacit.display import BLUE, GREY, LEVEL, NOTES, STYLES, WIDTH, Marks, name_lines, require_plot, save
from tacit.posterior import NumberPosterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = ("mu", "sigma")


@dataclass(frozen=True)
class NumberLook:
    """What a study knew after some number of reports, the last of which came through `channel`."""

    posterior: NumberPosterior
    channel: BinnedChannel
    reports: int

    def error(self, truth: Floats) -> Floats:
        """How far the estimates of mu and sigma are off."""
        return np.abs(self.posterior.estimate() - truth)


@dataclass(frozen=True)
class NumberShown:
    """Studies of one population, each by its looks; the first is the one shown in full. `truth` is (mu, sigma)."""

    title: str
    unit: str
    truth: Floats
    runs: dict[str, tuple[NumberLook, ...]]
    caption: str = ""

    @property
    def looks(self) -> tuple[NumberLook, ...]:
        """Those of the study that is shown in full."""
        return next(iter(self.runs.values()))

    @property
    def span(self) -> tuple[float, float]:
        """Where the answers are: four true sigmas to either side."""
        return self.truth[0] - 4 * self.truth[1], self.truth[0] + 4 * self.truth[1]


def words(channel: BinnedChannel) -> str:
    """The cut of a channel, or how many there are, from the first to the last."""
    cuts = channel.cuts
    if len(cuts) == 1:
        return f"{cuts[0]:g}"
    return f"{len(cuts)}: {cuts[0]:g} to {cuts[-1]:g}"


def table(shown: NumberShown, marks: Marks) -> Table:
    """The last look beside the truth: location and scale, and what they say of most people's answers."""
    out = Table(box=None, header_style="dim", pad_edge=False)
    out.add_column("")
    for heading in ("truth", "estimate", f"{LEVEL:.0%} interval"):
        out.add_column(heading, justify="right")
    out.add_column(f"{marks.line}interval {marks.truth}truth")
    posterior = shown.looks[-1].posterior
    estimate = posterior.estimate()
    low, high = posterior.interval(LEVEL)
    for i, name in enumerate(NAMES):
        scale = (WIDTH - 1) / max(high[i], shown.truth[i]) if min(low[i], shown.truth[i]) > 0 else 0.0
        bar = marks.bar(low[i] * scale, high[i] * scale, shown.truth[i] * scale) if scale else ""
        ends = f"{low[i]:.4g} to {high[i]:.4g}"
        out.add_row(name, f"{shown.truth[i]:.4g}", f"{estimate[i]:.4g}", ends, bar)
    for share in (0.1, 0.5, 0.9):
        value, below, above = posterior.quantile(share, LEVEL)
        true = posterior.model.quantile(shown.truth[None], share)[0, 0]
        out.add_row(
            f"{share:.0%} are below", f"{true:.4g}", f"{value:.4g}", f"{below:.4g} to {above:.4g}", ""
        )
    return out


def rounds(shown: NumberShown, marks: Marks) -> Table:
    """A row for every round: its cuts, what was known after it, and the interval of mu."""
    out = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("reports", "cuts", "mu", "sigma", "error of mu"):
        out.add_column(heading, justify="left" if heading == "cuts" else "right", no_wrap=True)
    out.add_column(f"mu: {marks.line}interval {marks.truth}truth")
    start, end = shown.span
    for look in shown.looks:
        low, high = look.posterior.interval(LEVEL)
        places = (
            (np.clip([low[0], high[0], shown.truth[0]], start, end) - start) / (end - start) * (WIDTH - 1)
        )
        estimate = look.posterior.estimate()
        out.add_row(
            f"{look.reports:,}",
            words(look.channel),
            f"{estimate[0]:.4g}",
            f"{estimate[1]:.3g}",
            f"{look.error(shown.truth)[0]:.3g}",
            marks.bar(*places),
        )
    return out


def policies(shown: NumberShown, about: dict[str, str]) -> Table:
    """A row for every policy: posterior standard deviations in the end, and the errors made."""
    out = Table(box=None, header_style="dim", pad_edge=False)
    out.add_column("policy")
    for heading in ("sd of mu", "error", "sd of sigma", "error"):
        out.add_column(heading, justify="right")
    out.add_column("")
    for name, looks in shown.runs.items():
        sd, error = looks[-1].posterior.sd, looks[-1].error(shown.truth)
        numbers = (f"{value:.3g}" for value in (sd[0], error[0], sd[1], error[1]))
        out.add_row(name, *numbers, about.get(name, ""))
    return out


def record(look: NumberLook, truth: Floats) -> dict[str, object]:
    """A look for machines."""
    low, high = look.posterior.interval(LEVEL)
    return {
        "reports": look.reports,
        "channel": look.channel.to_json(),
        "estimate": look.posterior.estimate().tolist(),
        "sd": look.posterior.sd.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "error": look.error(truth).tolist(),
    }


def draw(shown: NumberShown, path: Path) -> None:
    """Draw the cloud over time with the cuts, the law of the answer, and the errors, into a PNG file."""
    require_plot(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(NOTES):
        figure = Figure(figsize=(10.4, 4.6), dpi=160, layout="constrained")
        cloud, law, errors = figure.subplots(1, 3, width_ratios=(4.4, 2.2, 3.2))
        _draw_cloud(cloud, shown)
        _draw_law(law, shown)
        _draw_errors(errors, shown)
        for axes in (cloud, law, errors):
            axes.spines[["top", "right"]].set_visible(False)
        figure.suptitle(shown.title, x=0.012, ha="left", fontsize=13, fontweight="bold")
        figure.supxlabel(shown.caption, x=0.012, ha="left", fontsize=8.5, color=GREY)
    save(figure, path)


def _draw_cloud(axes: Axes, shown: NumberShown) -> None:
    """Draws of mu after every round, the cuts of the round, and the truth."""
    start, end = shown.span
    rng = np.random.default_rng(0)
    for place, look in enumerate(shown.looks):
        mu = look.posterior.draws[:250, 0]
        axes.plot(
            place + rng.uniform(-0.3, 0.3, len(mu)), mu, ".", color=BLUE, markersize=2, alpha=0.35, mew=0
        )
        axes.hlines(look.channel.cuts, place - 0.42, place + 0.42, color="#D55E00", linewidth=1.3)
    axes.axhline(shown.truth[0], color="black", linewidth=1.2)
    axes.set_xticks(range(len(shown.looks)), [f"{look.reports:,}" for look in shown.looks], rotation=60)
    axes.set_ylim(start, end)
    axes.set(xlabel="reports", ylabel=shown.unit)
    first = next(iter(shown.runs))
    axes.set_title(f"{first}: draws of mu (blue), cuts (orange),\ntrue mu (black)", loc="left")


def _draw_law(axes: Axes, shown: NumberShown) -> None:
    """The law of the answer by some draws after the first, a middle and the last round; and the truth."""
    start, end = shown.span
    numbers = np.linspace(start, end, 200)
    looks = [shown.looks[i] for i in sorted({0, len(shown.looks) // 2, len(shown.looks) - 1})]
    family = shown.looks[-1].posterior.model.family
    for look, alpha in zip(looks, np.linspace(0.06, 0.25, len(looks)), strict=True):
        for mu, sigma in look.posterior.draws[:40]:
            axes.plot(
                family.pdf((numbers - mu) / sigma) / sigma, numbers, color=BLUE, alpha=alpha, linewidth=0.7
            )
    mu, sigma = shown.truth
    peak = family.pdf(np.zeros(1))[0] / sigma
    axes.plot(family.pdf((numbers - mu) / sigma) / sigma, numbers, color="black", linewidth=1.4)
    axes.set_ylim(start, end)
    axes.set_xlim(0, 1.6 * peak)
    axes.set_xticks([])
    axes.set_title("laws of the answer: more reports,\nstronger blue; true (black)", loc="left")


def _draw_errors(axes: Axes, shown: NumberShown) -> None:
    """The posterior standard deviation of mu against reports, a line for each policy; marks: errors made."""
    ends = {}
    styles: dict[str, dict[str, Any]] = dict(zip(shown.runs, STYLES, strict=False))
    for name, style in styles.items():
        looks = shown.runs[name]
        reports = [look.reports for look in looks]
        line = {key: style[key] for key in style if key != "marker"}
        sds = [look.posterior.sd[0] for look in looks]
        axes.plot(reports, sds, **line)
        made = [max(look.error(shown.truth)[0], 1e-3 * sds[-1]) for look in looks]
        axes.plot(reports, made, style["marker"], color=style["color"], markersize=4, mec="white", mew=0.5)
        ends[name] = sds[-1], style["color"]
    axes.set(xscale="log", yscale="log", xlabel="reports")
    axes.set_ylim(bottom=min(value for value, _ in ends.values()) / 8)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    name_lines(axes, ends)
    axes.set_title(f"error of mu in {shown.unit}\nlines: posterior sd; marks: made", loc="left")
    axes.grid(color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
