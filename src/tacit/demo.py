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

from tacit import channels, display
from tacit.arrays import Floats
from tacit.evidence import Evidence, Moments
from tacit.rng import generator
from tacit_client import Device, Question, Report, Round, Store, check

QUESTION = Question(
    "commute",
    "How did you travel to work today?",
    labels=("on foot", "by bicycle", "by bus", "by train", "by car", "not at all"),
)
SHARES = (0.09, 0.17, 0.12, 0.22, 0.34, 0.06)


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
    shown = summary(result)
    console.print(display.table(shown))
    share = f"(on average {display.LEVEL:.0%} do)"
    console.print(
        f"{shown.inside} of {len(labels)} intervals contain the true share {share}.\n", highlight=False
    )


def summary(result: Result) -> display.Shown:
    """The estimate beside the truth, for a table or a picture."""
    question = result.round.question
    title = (
        f"{question.text}\n{result.people:,} private answers, privacy loss at most {result.channel.epsilon:g}"
    )
    low, high = result.moments.interval(display.LEVEL)
    return display.Shown(title, question.labels, result.truth, result.moments.theta, low, high)
