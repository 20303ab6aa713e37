"""The demo: an adaptive study of real devices, and the same people asked by other policies.

Ten thousand simulated people are drawn from a population whose shares are known, and answer "How do you usually travel
to work?". In the study that is shown they own real `tacit_client` devices, each with a store of its own: a device reads
the round as JSON, checks the certificate, charges its ledger and randomises with the operating system's randomness. The
server takes the reports in, looks at the posterior and publishes the next round.

Then the same people are asked by other policies, in simulation. All policies share the model, the posterior and the
estimate, so what differs is the question that is put. The truth is the population, and not only those who were asked:
that is what a posterior is about.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console

from tacit import display
from tacit.arrays import Floats, Integers
from tacit.channels import Channel
from tacit.display import Look, Shown
from tacit.rng import generator
from tacit.study import Study
from tacit_client import Device, Question, Report, Round, Store, check

# Usual travel to work of people aged 16 to 74 in employment, England and Wales, Census 2011 (Office for National
# Statistics, table QS701EW), in per cent as published; made to sum to one below.
POPULATION = {
    "driving": 57.5,
    "on foot": 10.7,
    "by bus": 7.3,
    "works at home": 5.4,
    "by train": 5.2,
    "as a passenger": 5.1,
    "by tube or tram": 3.9,
    "by bicycle": 2.9,
    "by motorcycle": 0.8,
    "another way": 0.6,
    "by taxi": 0.5,
}
QUESTION = Question("commute", "How do you usually travel to work?", labels=tuple(POPULATION))
POLICIES = {
    "risk": "adapts, to leave the least error in the end",
    "static-subset": "subset response, the best fixed channel",
    "honest": "RRRR, restricted to be honest most often",
    "static-srr": "classic randomised response",
}
ADAPTIVE = "risk"  # asked with real devices
DRAWS = 500  # of the posterior after each round
AT_ONCE = 16  # devices that answer at the same time: most of what they do is waiting for a disk
STORE_BYTES = 1 << 15  # room for a device's file and its journal

Told = Callable[[str, int], object]
Ask = Callable[[Study, Integers], None]


@dataclass(frozen=True)
class Demo:
    """What the demo came to: the rounds of every policy, and what the first device sent."""

    shown: Shown
    epsilon: float
    loss: float  # the largest of the channels that the devices answered through
    people: int
    devices: int
    first_answer: str
    first_report: Report

    @property
    def first_named(self) -> list[str]:
        """The answers that the first report names."""
        return [QUESTION.labels[cell] for cell in np.atleast_1d(np.asarray(self.first_report.value))]


def run(
    people: int,
    devices: int | None,
    epsilon: float,
    seed: int | None,
    told: Told = lambda policy, more: None,
) -> Demo:
    """Ask everybody by every policy; in the adaptive study `devices` of them, or all, answer by a real device."""
    people = check.integer(people, "people", 1, 10**8)
    devices = people if devices is None else check.integer(devices, "devices", 1, people)
    rng = np.random.default_rng() if seed is None else generator(seed, "seed")
    theta = np.array(list(POPULATION.values()))
    theta /= theta.sum()
    answers = rng.choice(len(theta), people, p=theta)

    reports: list[Report] = []
    runs = {}
    for policy in POLICIES:
        study = Study(
            question=QUESTION, name="commute-demo", epsilon=epsilon, policy=policy, expected=people, seed=rng
        )
        if policy == ADAPTIVE:
            said = [QUESTION.labels[x] for x in answers]
            with real_devices(said, answers, devices, rng, reports, told) as ask:
                runs[policy] = _followed(study, people, ask, rng)
        else:
            runs[policy] = _followed(study, people, simulated(answers, rng, told), rng)
    shown = _shown(theta, runs, _without_privacy(answers, theta, runs[ADAPTIVE]), people, devices)
    loss = max(look.channel.loss for look in runs[ADAPTIVE])
    return Demo(shown, study.epsilon, loss, people, devices, QUESTION.labels[answers[0]], reports[0])


def _shown(
    theta: Floats, runs: dict[str, tuple[Look, ...]], without: Floats, people: int, devices: int
) -> Shown:
    epsilon = runs[ADAPTIVE][0].channel.epsilon
    title = f"{QUESTION.text}  {people:,} answers, each with a privacy loss of at most {epsilon:g}"
    how = "all" if devices == people else f"{devices:,} of them"
    caption = (
        f"Policy {ADAPTIVE} asked {people:,} people, {how} by a real device. The other policies asked the same people "
        "in simulation, with the same posterior and estimate.\nOne run is one run: the averages are in "
        "docs/explanation/benchmarks-accuracy.md. Population: Census 2011, England and Wales (ONS)."
    )
    return Shown(title, QUESTION.labels, theta, runs, caption, without)


def _followed(study: Study, people: int, ask: Ask, rng: np.random.Generator) -> tuple[Look, ...]:
    return tuple(Look.at(*seen) for seen in followed(study, people, ask, rng))


def followed(
    study: Study, people: int, ask: Ask, rng: np.random.Generator
) -> Iterator[tuple[Any, Channel[Any], int]]:
    """Run a study to its end; whenever a round is full, the posterior, the channel and the number of reports."""
    while len(study.evidence) < people:
        channel, before = study.channel, len(study.evidence)
        ask(study, np.arange(before, min(before + study.wanted, people)))
        yield study.posterior(DRAWS, int(rng.integers(2**31))), channel, len(study.evidence)


def simulated(answers: npt.NDArray[Any], rng: np.random.Generator, told: Told) -> Ask:
    """Ask people who have no device, through the channel's simulation."""

    def ask(study: Study, who: Integers) -> None:
        study.add(study.channel, study.channel.sample(answers[who], rng))
        told(study.policy.name, len(who))

    return ask


@contextmanager
def real_devices(
    said: Sequence[str],
    answers: npt.NDArray[Any],
    devices: int,
    rng: np.random.Generator,
    reports: list[Report],
    told: Told,
) -> Iterator[Ask]:
    """Ask people who own devices, spread evenly among the others, whose answers are simulated.

    `said` is what people tell their devices, `answers` the same for `Channel.sample`; `reports` gathers the first of
    every round.
    """
    owners = np.arange(len(answers)) * devices % len(answers) < devices

    with (
        tempfile.TemporaryDirectory(dir=memory_folder(devices)) as folder,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):

        def ask(study: Study, who: Integers) -> None:
            channel, text, cap = study.channel, study.round.to_json(), study.epsilon

            def answer(person: int) -> Report:
                device = Device(Store(Path(folder, f"{person}.sqlite")), cap=cap, total=5 * cap)
                return device.answer(Round.from_json(text), said[person])

            sent = []
            for report in pool.map(answer, who[owners[who]].tolist()):
                sent.append(report)
                told(study.policy.name, 1)
            study.update(sent)
            reports.extend(sent[:1])
            others = who[~owners[who]]
            if len(others):
                study.add(channel, channel.sample(answers[others], rng))
                told(study.policy.name, len(others))

        yield ask


def memory_folder(devices: int) -> str | None:
    """A folder in memory, where there is one with room, or None for the usual one.

    A store waits for the disk several times before it lets a report go. Ten thousand devices on one disk would
    wait for each other, as devices in ten thousand pockets do not.
    """
    memory = "/dev/shm"  # noqa: S108 -- the files go into a new folder of mode 0700
    try:
        roomy = shutil.disk_usage(memory).free > devices * STORE_BYTES
    except OSError:
        return None
    return memory if roomy and os.access(memory, os.W_OK | os.X_OK) else None


def _without_privacy(answers: Integers, theta: Floats, looks: tuple[Look, ...]) -> Floats:
    """The error, after each round, had everybody told the truth: what is left is the luck of who was asked."""
    counted = [np.bincount(answers[: look.reports], minlength=len(theta)) / look.reports for look in looks]
    errors: Floats = np.abs(np.array(counted) - theta).sum(axis=1) / 2
    return errors


def show(demo: Demo, console: Console) -> None:
    """Print the question, one report, the rounds, the estimate beside the truth, and the policies."""
    shown, marks = demo.shown, display.Marks.of(console)

    def say(text: str = "") -> None:
        console.print(text, highlight=False, soft_wrap=True)

    say(f"\n[bold]{QUESTION.text}[/bold]")
    how = "each" if demo.devices == demo.people else f"{demo.devices:,} of them"
    say(f"{demo.people:,} people answered, {how} by a real device with its own ledger.")
    say(f"Exact privacy loss of an answer: {demo.loss:.15g}, at most {demo.epsilon:g}.\n")
    say(f"The first person's answer is [bold]{demo.first_answer}[/bold]. This is all that left the device:")
    say(f"  {demo.first_report.to_json()}")
    say(f"  It names [italic]{', '.join(demo.first_named)}[/italic], which any answer may produce.\n")

    say(
        f"Policy [bold]{ADAPTIVE}[/bold], round by round: what its channel kept apart, and the error since then."
    )
    console.print(display.rounds(shown, marks))
    say("\nIn the end:")
    console.print(display.table(shown, marks))
    say(
        f"{shown.inside} of {len(shown.labels)} intervals contain the true share; they aim at {display.LEVEL:.0%}."
    )

    say("\nThe same people asked by other policies, with the same posterior and estimate:")
    console.print(display.policies(shown, POLICIES))
    say("One run is one run: the averages are in docs/explanation/benchmarks-accuracy.md.\n")


def record(demo: Demo) -> dict[str, object]:
    """The same for machines."""
    shown = demo.shown
    return {
        "people": demo.people,
        "devices": demo.devices,
        "epsilon": demo.epsilon,
        "loss": demo.loss,
        "labels": list(shown.labels),
        "truth": shown.truth.tolist(),
        "first_report": json.loads(demo.first_report.to_json()),
        "policies": {
            name: [display.record(look, shown.truth) for look in looks] for name, looks in shown.runs.items()
        },
    }
