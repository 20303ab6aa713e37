"""The demo: a private poll, from the question to the estimate.

Twenty thousand simulated people answer "How did you travel to work today?". A thousand of them own real
`tacit_client` devices, each with its own store: it reads the round, checks the certificate, charges its ledger and
randomises with the operating system's randomness. The others are simulated in bulk through the same channel.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from tacit import channels
from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit.evidence import Evidence, Moments
from tacit.rng import generator
from tacit_client import Device, Question, Report, Round, Store, check

QUESTION = Question(
    "commute",
    "How did you travel to work today?",
    labels=("on foot", "by bicycle", "by bus", "by train", "by car", "not at all"),
)
SHARES = (0.09, 0.17, 0.12, 0.22, 0.34, 0.06)
LEVEL = 0.9


@dataclass(frozen=True)
class Result:
    """What the demo learned, and what it really was."""

    round: Round
    channel: channels.Channel[Any]
    first_report: Report
    first_answer: str
    people: int
    devices: int
    truth: Floats
    moments: Moments


def run(
    people: int, devices: int, epsilon: float, seed: int | None, answered: Callable[[], object] = lambda: None
) -> Result:
    """Ask everybody, `devices` of them by a real device, and estimate the shares."""
    people = check.integer(people, "people", 1, 10**8)
    devices = check.integer(devices, "devices", 1, people)
    rng = np.random.default_rng() if seed is None else generator(seed, "seed")
    labels = QUESTION.labels
    answers = rng.choice(len(labels), people, p=SHARES)
    channel = channels.subset(len(labels), epsilon)
    text = Round("commute-demo", QUESTION, 0, channel.table, None).to_json()

    reports = []
    with tempfile.TemporaryDirectory() as folder:
        for person, answer in enumerate(answers[:devices]):
            device = Device(Store(Path(folder, f"{person}.sqlite")), cap=epsilon, total=5 * epsilon)
            reports.append(device.answer(Round.from_json(text), labels[answer]))
            answered()
    evidence = Evidence().add(channel, [report.value for report in reports])
    if devices < people:
        evidence += Evidence().add(channel, channel.sample(answers[devices:], rng))
    truth = np.bincount(answers, minlength=len(labels)) / people
    first = labels[answers[0]]
    asked = Round.from_json(text)
    return Result(asked, channel, reports[0], first, people, devices, truth, evidence.moments())


def show(result: Result, console: Console) -> None:
    """Print the channel, one report, and the estimate beside the truth."""
    labels = result.round.question.labels
    channel = result.channel
    console.print(f"\n[bold]{result.round.question.text}[/bold]")
    console.print(
        f"{result.people:,} people answered through {channel!r}, "
        f"{result.devices:,} of them by a real device with its own ledger.",
        highlight=False,
    )
    console.print(f"Exact privacy loss: {channel.loss:.15g}, at most {channel.epsilon:g}.", highlight=False)
    console.print(
        f"\nThe first person travelled [bold]{result.first_answer}[/bold]. This is all that left the device:"
    )
    console.print(f"  {result.first_report.to_json()}", highlight=False, soft_wrap=True)
    named = ", ".join(labels[cell] for cell in np.atleast_1d(result.first_report.value))
    console.print(f"  It names [italic]{named}[/italic], which any answer may produce.\n", highlight=False)
    console.print(_table(result))
    low, high = result.moments.interval(LEVEL)
    inside = int(((low <= result.truth) & (result.truth <= high)).sum())
    console.print(
        f"{inside} of {len(labels)} intervals contain the true share (on average {LEVEL:.0%} do).\n",
        highlight=False,
    )


def _table(result: Result) -> Table:
    low, high = result.moments.interval(LEVEL)
    table = Table(box=None, header_style="dim", pad_edge=False)
    for heading in ("", "truth", "estimate", f"{LEVEL:.0%} interval"):
        table.add_column(heading, justify="left" if not heading else "right")
    table.add_column(" |truth =interval")
    scale = 24 / max(high.max(), result.truth.max())
    for i, label in enumerate(result.round.question.labels):
        table.add_row(
            label,
            f"{result.truth[i]:.3f}",
            f"{result.moments.theta[i]:.3f}",
            f"{low[i]:.3f} to {high[i]:.3f}",
            _bar(low[i] * scale, high[i] * scale, result.truth[i] * scale),
        )
    return table


def _bar(low: float, high: float, truth: float) -> str:
    cells = ["=" if low <= i + 0.5 <= high or i == int(low) else " " for i in range(int(high) + 1)]
    cells += [" "] * (int(truth) + 1 - len(cells))
    cells[int(truth)] = "[bold green]|[/bold green]"
    return " " + "".join(cells)


def draw(result: Result, path: Path) -> None:
    """Draw the estimate with its intervals against the truth into a PNG file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise TacitError(
            "dependency_missing",
            "matplotlib is not installed",
            argument="plot",
            hint="pip install 'tacit[plot]'",
        ) from None
    low, high = result.moments.interval(LEVEL)
    theta = result.moments.theta
    figure = Figure(figsize=(7.2, 3.6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    rows = np.arange(len(theta))[::-1]
    axes.barh(rows, 100 * result.truth, height=0.62, color="#d8dee9", label="true share")
    reach = 100 * np.array([theta - low, high - theta])
    axes.errorbar(
        100 * theta, rows, xerr=np.maximum(reach, 0), fmt="o", color="#8b1e3f", capsize=4,
        label=f"private estimate, {LEVEL:.0%} interval",
    )  # fmt: skip
    axes.set_yticks(rows, result.round.question.labels)
    axes.set_xlabel("share of people, %")
    axes.set_title(
        f"{result.round.question.text}\n{result.people:,} private answers, "
        f"privacy loss at most {result.channel.epsilon:g}",
        loc="left",
        fontsize=10,
    )
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
