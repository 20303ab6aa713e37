"""The demo for a number: people of a made-up town, the time they sleep, and real devices that never tell it.

Sleep is normal with a mean and a standard deviation that the server does not know: it starts from a prior as wide as
the question's range. Devices place their own answer between the cuts of a round and randomise which side they report.
The same people are then asked by other policies, in simulation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console

from tacit import demo, number_display
from tacit.channels import BinnedChannel, Channel
from tacit.display import LEVEL, Marks
from tacit.number_display import NumberLook, NumberShown
from tacit.rng import generator
from tacit.study import Study
from tacit_client import Question, Report, check

QUESTION = Question(
    "sleep", "How many minutes did you sleep last night?", (), "minutes", lowest="0", highest="1440", step="1"
)
TRUTH = np.array([428.0, 62.0])  # of the people who are made up here
POLICIES = {
    "information": "cuts where most is learned",
    "information:mu": "the same, for the mean alone",
    "truncation": "best interval at one draw",
    "static": "the range in eight even steps",
}
ADAPTIVE = "information"  # asked with real devices


@dataclass(frozen=True)
class NumberDemo:
    """What the demo came to: the rounds of every policy, and what the first device sent."""

    shown: NumberShown
    epsilon: float
    loss: float
    people: int
    devices: int
    first_answer: str
    first_report: Report


def run(
    people: int,
    devices: int | None,
    epsilon: float,
    seed: int | None,
    told: demo.Told = lambda policy, more: None,
) -> NumberDemo:
    """Ask everybody by every policy; in the adaptive study `devices` of them, or all, answer by a real device."""
    people = check.integer(people, "people", 1, 10**8)
    devices = people if devices is None else check.integer(devices, "devices", 1, people)
    rng = np.random.default_rng() if seed is None else generator(seed, "seed")
    low, high = float(str(QUESTION.lowest)), float(str(QUESTION.highest))
    answers = np.clip(np.rint(rng.normal(TRUTH[0], TRUTH[1], people)), low, high)
    said = [str(int(answer)) for answer in answers]
    reports: list[Report] = []
    runs = {}
    for policy in POLICIES:
        study = Study(
            question=QUESTION, name="sleep-demo", epsilon=epsilon, policy=policy, expected=people, seed=rng
        )
        if policy == ADAPTIVE:
            with demo.real_devices(said, answers, devices, rng, reports, told) as ask:
                seen = list(demo.followed(study, people, ask, rng))
        else:
            seen = list(demo.followed(study, people, demo.simulated(answers, rng, told), rng))
        runs[policy] = tuple(NumberLook(posterior, _numeric(channel), n) for posterior, channel, n in seen)
    loss = max(look.channel.loss for look in runs[ADAPTIVE])
    return NumberDemo(
        _shown(runs, people, devices, epsilon), epsilon, loss, people, devices, said[0], reports[0]
    )


def _numeric(channel: Channel[Any]) -> BinnedChannel:
    assert isinstance(channel, BinnedChannel)
    return channel


def _shown(runs: dict[str, tuple[NumberLook, ...]], people: int, devices: int, epsilon: float) -> NumberShown:
    title = f"{QUESTION.text}  {people:,} answers, each with a privacy loss of at most {epsilon:g}"
    how = "all" if devices == people else f"{devices:,} of them"
    caption = (
        f"Policy {ADAPTIVE} asked {people:,} simulated people, {how} by a real device; the other policies asked the "
        "same people in simulation. One run is one run:\nthe averages are in docs/explanation/benchmarks-numbers.md."
    )
    return NumberShown(title, str(QUESTION.unit), TRUTH, runs, caption)


def show(found: NumberDemo, console: Console) -> None:
    """Print the question, one report, the rounds, the estimate beside the truth, and the policies."""
    shown, marks = found.shown, Marks.of(console)

    def say(text: str = "") -> None:
        console.print(text, highlight=False, soft_wrap=True)

    say(f"\n[bold]{QUESTION.text}[/bold]")
    how = "each" if found.devices == found.people else f"{found.devices:,} of them"
    say(f"{found.people:,} people answered, {how} by a real device with its own ledger.")
    say(f"Exact privacy loss of an answer: {found.loss:.15g}, at most {found.epsilon:g}.\n")
    say(
        f"The first person's answer is [bold]{found.first_answer} minutes[/bold]. This is all that left the device:"
    )
    say(f"  {found.first_report.to_json()}\n")
    say(f"Policy [bold]{ADAPTIVE}[/bold], round by round: where it cut the range, and what was known then.")
    console.print(number_display.rounds(shown, marks))
    say(f"\nIn the end, with {LEVEL:.0%} intervals:")
    console.print(number_display.table(shown, marks))
    say("\nThe same people asked by other policies, with the same model and prior:")
    console.print(number_display.policies(shown, POLICIES))
    say("One run is one run: the averages are in docs/explanation/benchmarks-numbers.md.\n")


def record(found: NumberDemo) -> dict[str, object]:
    """The same for machines."""
    shown = found.shown
    return {
        "people": found.people,
        "devices": found.devices,
        "epsilon": found.epsilon,
        "loss": found.loss,
        "truth": shown.truth.tolist(),
        "first_report": json.loads(found.first_report.to_json()),
        "policies": {
            name: [number_display.record(look, shown.truth) for look in looks]
            for name, looks in shown.runs.items()
        },
    }
