"""The collector's demo: a sample poll, and people who answer it with real devices over HTTP.

Each person owns a `tacit_client.Device` with a store of its own, fetches the current round, answers what is true for
it, and hands the report in. The collector learns nothing else of them. The shares are made up, and printed beside the
estimate.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.collector.settings import PollSettings, StudySettings
from tacit.collector.store import Store
from tacit.errors import TacitError
from tacit.rng import generator
from tacit_client import Device, flush
from tacit_client import Store as DeviceStore
from tacit_client.http import Collector

POLL = "team-2026"
AT_ONCE = 8
SHARES = {
    "once a week or less": 0.09,
    "on two or three days": 0.46,
    "on four or five days": 0.33,
    "every day": 0.08,
}
SHARES |= {"Prefer not to say": 0.04}
HOURS = (7.1, 1.0)  # mean and standard deviation of a normal law
STUDIES = (
    {
        "name": "office-days",
        "question": {"text": "How often do you come to the office?", "labels": list(SHARES)},
        "epsilon": "1.5",
    },
    {
        "name": "sleep",
        "question": {
            "text": "How long did you sleep last night?",
            "unit": "hours",
            "lowest": "0",
            "highest": "16",
            "step": "0.5",
        },
        "epsilon": "1.5",
    },
    {
        "name": "rested",
        "question": {"text": "Do you feel rested today?", "labels": ["yes", "no", "Prefer not to say"]},
        "epsilon": "1",
    },
)
RESTED = (0.55, 0.4, 0.05)


@dataclass(frozen=True)
class Person:
    """What is true for one person: an answer to each study."""

    answers: dict[str, str]


def make(store: Store, people: int) -> None:
    """The sample poll, planned for so many people; what is there already stays."""
    for settings in STUDIES:
        try:
            store.create_study(StudySettings.read({**settings, "expected": max(people, 100)}))
        except TacitError as error:
            if error.code != "name_taken":
                raise
    poll = {
        "name": POLL,
        "title": "How the team works",
        "studies": [settings["name"] for settings in STUDIES],
    }
    try:
        store.create_poll(PollSettings.read(poll))
    except TacitError as error:
        if error.code != "name_taken":
            raise


def draw(people: int, seed: object) -> list[Person]:
    """People with made-up answers; simulation, so numpy's randomness will do."""
    rng = generator(seed, "seed")
    days = rng.choice(list(SHARES), people, p=list(SHARES.values()))
    hours = np.clip(np.round(rng.normal(*HOURS, people) * 2) / 2, 0, 16)
    rested = rng.choice(["yes", "no", "Prefer not to say"], people, p=RESTED)
    return [
        Person({"office-days": str(day), "sleep": f"{hour:g}", "rested": str(mood)})
        for day, hour, mood in zip(days, hours, rested, strict=True)
    ]


def answer(
    url: str,
    crowd: list[Person],
    folder: Path,
    seconds: float,
    stop: threading.Event,
    told: Callable[[int], object],
) -> int:
    """Let people answer, evenly over so many seconds; how many reports the collector confirmed."""
    began = time.monotonic()
    confirmed = 0

    def take_part(i: int) -> int:
        if stop.wait(max(began + seconds * i / len(crowd) - time.monotonic(), 0)):
            return 0
        collector = Collector(url, attempts=6)
        store = DeviceStore(folder / f"{i}.sqlite")
        device = Device(store, cap=1.5, total=4)
        for study, said in crowd[i].answers.items():
            device.answer(collector.round(study), said)
        return len(flush(store, collector.send).receipts)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for reports in pool.map(take_part, range(len(crowd))):
            confirmed += reports
            told(1)
    return confirmed
