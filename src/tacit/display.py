"""Studies for people: tables on the terminal, a picture in a file.

A `Look` is what a study knew when a round was full: the estimate, with intervals at LEVEL. The looks of one study show
the posterior closing in on the truth; the looks of several, how the policies compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.posterior import Posterior
from tacit_client.tables import Blocks, Subsets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVEL = 0.9
WIDTH = 28  # characters of a scale on the terminal


@dataclass(frozen=True)
class Look:
    """What a study knew after some number of reports, the last of which came through `channel`."""

    reports: int
    channel: Channel[Any]
    estimate: Floats
    low: Floats
    high: Floats
    expected: float  # the error that the posterior expects of the estimate, which needs no truth

    @classmethod
    def at(cls, posterior: Posterior, channel: Channel[Any], reports: int) -> Look:
        """The estimate of least expected total variation, and equal-tailed intervals."""
        low, high = posterior.interval(LEVEL)
        estimate = posterior.estimate()
        expected = float(np.abs(posterior.draws - estimate).sum(axis=1).mean() / 2)
        return cls(reports, channel, estimate, low, high, expected)

    def error(self, truth: Floats) -> float:
        """Total variation between estimate and truth."""
        return float(np.abs(self.estimate - truth).sum() / 2)


@dataclass(frozen=True)
class Shown:
    """Studies of one population, each by its looks; the first is the one shown in full."""

    title: str
    labels: tuple[str, ...]
    truth: Floats
    runs: dict[str, tuple[Look, ...]]
    caption: str = ""  # under the picture
    without_privacy: Floats | None = None  # the error after each round, had everybody told the truth

    @property
    def looks(self) -> tuple[Look, ...]:
        """Those of the study that is shown in full."""
        return next(iter(self.runs.values()))

    @property
    def inside(self) -> int:
        """How many of its last intervals hold the true share."""
        last = self.looks[-1]
        return int(((last.low <= self.truth) & (self.truth <= last.high)).sum())


def kept(channel: Channel[Any]) -> tuple[int, ...]:
    """The categories that a channel keeps apart: the others share a cell, or are the less likely ones of RRRR."""
    table = channel.table
    if isinstance(table, Subsets) and table.keep is not None:
        return table.keep
    if isinstance(table, Blocks) and table.subset:
        return table.subset
    return tuple(range(channel.k))


def words(channel: Channel[Any]) -> str:
    """What a channel keeps apart, and how many cells a report names."""
    count = len(kept(channel))
    apart = f"all {count}" if count == channel.k else f"{count} of {channel.k}"
    return f"{apart}, names {getattr(channel.table, 'size', 1)}"


class Marks(NamedTuple):
    """The characters of an interval: its line, the truth outside of it, the truth inside."""

    line: str
    truth: str
    both: str

    @classmethod
    def of(cls, console: Console) -> Marks:
        """Box-drawing characters where the terminal has them."""
        return cls("━", "│", "┿") if console.encoding.startswith("utf") else cls("=", "|", "|")

    def bar(self, low: float, high: float, truth: float) -> str:
        """An interval and the truth, in characters from the left edge."""
        at = int(truth)
        cells = [self.line if low <= i + 0.5 <= high or i == int(low) else " " for i in range(int(high) + 1)]
        cells += [" "] * (at + 1 - len(cells))
        cells[at] = f"[bold green]{self.both if cells[at] == self.line else self.truth}[/bold green]"
        return "".join(cells)


def table(shown: Shown, marks: Marks) -> Table:
    """A row for every category: the last look beside the truth."""
    out = Table(box=None, header_style="dim", pad_edge=False)
    out.add_column("")
    for heading in ("truth", "estimate", f"{LEVEL:.0%} interval"):
        out.add_column(heading, justify="right")
    out.add_column(f"{marks.line}interval {marks.truth}truth")
    last = shown.looks[-1]
    scale = (WIDTH - 1) / max(last.high.max(), shown.truth.max())
    for i, label in enumerate(shown.labels):
        out.add_row(
            label,
            f"{shown.truth[i]:.3f}",
            f"{last.estimate[i]:.3f}",
            f"{last.low[i]:.3f} to {last.high[i]:.3f}",
            marks.bar(last.low[i] * scale, last.high[i] * scale, shown.truth[i] * scale),
        )
    return out


def rounds(shown: Shown, marks: Marks) -> Table:
    """A row for every round: its channel, the error after it, and the interval of the commonest category."""
    first = int(np.argmax(shown.truth))
    out = Table(box=None, header_style="dim", pad_edge=False)
    out.add_column("reports", justify="right")
    out.add_column("kept apart")
    out.add_column("expected", justify="right")
    out.add_column("error", justify="right")
    out.add_column(f"{shown.labels[first]}: {marks.line}interval {marks.truth}truth")
    scale = (WIDTH - 1) / max(look.high[first] for look in shown.looks)
    for look in shown.looks:
        bar = marks.bar(look.low[first] * scale, look.high[first] * scale, shown.truth[first] * scale)
        errors = f"{look.expected:.3f}", f"{look.error(shown.truth):.3f}"
        out.add_row(f"{look.reports:,}", words(look.channel), *errors, bar)
    return out


def policies(shown: Shown, about: dict[str, str]) -> Table:
    """A row for every policy: the error that its posterior expected in the end, and the one that it made."""
    out = Table(box=None, header_style="dim", pad_edge=False)
    out.add_column("policy")
    out.add_column("expected", justify="right")
    out.add_column("error", justify="right")
    out.add_column("")
    for name, looks in shown.runs.items():
        errors = f"{looks[-1].expected:.3f}", f"{looks[-1].error(shown.truth):.3f}"
        out.add_row(name, *errors, about.get(name, ""))
    if shown.without_privacy is not None:
        out.add_row("no privacy", "", f"{shown.without_privacy[-1]:.3f}", "everybody's true answer")
    return out


def record(look: Look, truth: Floats) -> dict[str, object]:
    """A look for machines."""
    return {
        "reports": look.reports,
        "channel": look.channel.to_json(),
        "tv": look.error(truth),
        "expected_tv": look.expected,
        "estimate": look.estimate.tolist(),
        "low": look.low.tolist(),
        "high": look.high.tolist(),
    }


# The picture. Colours of Okabe and Ito, which colour-blind readers tell apart; dashes and markers tell them apart in
# grey as well.
BLUE, GREY = "#0072B2", "#666666"
STYLES: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "marker": "o", "dashes": (1, 0), "linewidth": 2.4, "zorder": 4},
    {"color": "#009E73", "marker": "s", "dashes": (5, 1.5), "linewidth": 1.6},
    {"color": "#D55E00", "marker": "^", "dashes": (2, 1.2), "linewidth": 1.6},
    {"color": "#AA4499", "marker": "D", "dashes": (6, 1.5, 1.5, 1.5), "linewidth": 1.6},
)
NOTES: dict[Any, Any] = {
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 9.5,
}


def require_plot(path: Path) -> None:
    """Refuse a picture that could not be written, before the work and not after it."""
    if find_spec("matplotlib") is None:
        raise TacitError(
            "dependency_missing",
            "matplotlib is not installed",
            argument="plot",
            hint="pip install 'tacit[plot]'",
        )
    if not path.parent.is_dir() or path.is_dir():
        raise _unwritable(path, "not a file in a folder that exists")


def _unwritable(path: Path, why: object) -> TacitError:
    return TacitError(
        "argument_invalid",
        f"{path} cannot be written ({why})",
        argument="plot",
        hint="give the path of a PNG file in a folder that exists",
    )


def draw(shown: Shown, path: Path) -> None:
    """Draw the posterior closing in, what the channels kept apart, and the errors, into a PNG file."""
    require_plot(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(NOTES):
        figure = Figure(
            figsize=(10.4, max(1.9 + 0.38 * len(shown.labels), 4.2)), dpi=160, layout="constrained"
        )
        _draw_panels(figure, shown)
        figure.suptitle(shown.title, x=0.012, ha="left", fontsize=13, fontweight="bold")
        figure.supxlabel(shown.caption, x=0.012, ha="left", fontsize=8.5, color=GREY)
    save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a figure, or say why it cannot be written."""
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def _draw_panels(figure: Figure, shown: Shown) -> None:
    """The funnels; a strip for the study shown and for every other that did not keep all apart; the errors."""
    styles = dict(zip(shown.runs, STYLES, strict=False))
    strips = [
        name
        for name, looks in shown.runs.items()
        if looks is shown.looks or any(len(kept(look.channel)) < look.channel.k for look in looks)
    ]
    narrow = 0.62
    widths = [4.6, *[narrow] * len(strips), 4.4 - narrow * len(strips)]
    grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
    funnels = figure.add_subplot(grid[0])
    _draw_funnels(funnels, shown)
    for place, name in enumerate(strips, start=1):
        strip = figure.add_subplot(grid[place], sharey=funnels)
        _draw_kept(strip, shown.runs[name], styles[name]["color"])
        strip.set_xlabel(name, color=styles[name]["color"])
        strip.set_title("kept apart,\nround by round" if place == 1 else "", loc="left")
    _draw_errors(figure.add_subplot(grid[-1]), shown, styles)


def _draw_funnels(axes: Axes, shown: Shown) -> None:
    """For every category a funnel: the intervals from the first look (top) to the last, and the truth."""
    looks = shown.looks
    depth = np.linspace(-0.38, 0.38, len(looks)) if len(looks) > 1 else np.zeros(1)
    share = 100 * np.array([[look.low, look.estimate, look.high] for look in looks])  # (looks, 3, K)
    for i in range(len(shown.labels)):
        low, middle, high = share[:, :, i].T
        axes.fill_betweenx(i + depth, low, high, color=BLUE, alpha=0.28, linewidth=0)
        axes.plot(middle, i + depth, color=BLUE, linewidth=1.3)
        axes.plot([low[-1], high[-1]], [i + depth[-1]] * 2, color=BLUE, linewidth=3, solid_capstyle="butt")
        axes.plot([100 * shown.truth[i]] * 2, [i - 0.44, i + 0.44], color="black", linewidth=1.6)
    axes.set_yticks(range(len(shown.labels)), shown.labels)
    axes.set_ylim(len(shown.labels) - 0.4, -0.6)
    axes.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
    ticks = [t for t in (0, 1, 5, 10, 20, 40, 60, 80, 100) if t <= max(share.max(), 10)]
    axes.set_xticks(ticks, [f"{t}%" for t in ticks])
    axes.set_xlim(left=0)
    first = next(iter(shown.runs))
    axes.set_title(
        f"what {first} knew: {LEVEL:.0%} intervals, first round (top) to last,\nand the truth (black)",
        loc="left",
    )
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _draw_kept(axes: Axes, looks: tuple[Look, ...], colour: str) -> None:
    """A column for every round, and a mark for every category that its channel kept apart."""
    for column, look in enumerate(looks):
        rows = np.array(kept(look.channel))
        axes.bar(np.full(len(rows), column), 0.5, 0.75, rows - 0.25, color=colour, linewidth=0)
    axes.set_xlim(-0.8, max(len(looks), 4) - 0.2)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0, labelleft=False)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)


def _draw_errors(axes: Axes, shown: Shown, styles: dict[str, dict[str, Any]]) -> None:
    """Error against reports: a line for what every posterior expects of itself, marks for what was made."""
    ends = {}
    reports = [look.reports for look in shown.looks]
    if shown.without_privacy is not None:
        axes.plot(reports, shown.without_privacy, ".", color=GREY, markersize=4)
        ends["no privacy"] = shown.without_privacy[-1], GREY
    for name, style in styles.items():
        looks = shown.runs[name]
        line = {key: style[key] for key in style if key != "marker"}
        axes.plot([look.reports for look in looks], [look.expected for look in looks], **line)
        made = [look.error(shown.truth) for look in looks]
        axes.plot(
            [look.reports for look in looks], made, style["marker"], color=style["color"], markersize=4,
            markeredgecolor="white", markeredgewidth=0.5, zorder=5,
        )  # fmt: skip
        ends[name] = looks[-1].expected, style["color"]
    axes.set(xscale="log", yscale="log", xlabel="reports", xlim=(reports[0] / 1.15, reports[-1] * 1.15))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    low, high = axes.get_ylim()
    ticks = [t for t in (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if low <= t <= high]
    axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_yticks([], minor=True)
    name_lines(axes, ends)
    axes.set_title("total variation error\nlines: expected by the posterior; marks: made", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)


def name_lines(axes: Axes, ends: dict[str, tuple[float, str]]) -> None:
    """Names beside the ends of lines, from the lowest up, each far enough above the one before."""
    bottom, top = np.log(axes.get_ylim())
    least = 0.05 * (top - bottom)
    place = -np.inf
    for name, (value, colour) in sorted(ends.items(), key=lambda end: end[1]):
        place = max(float(np.log(value)), place + least)
        axes.annotate(
            f" {name}", (1.0, np.exp(place)), xycoords=("axes fraction", "data"),
            color=colour, va="center", annotation_clip=False, fontsize=9.5,
        )  # fmt: skip
