"""The worker: a process of its own that turns reports into rounds and estimates.

It looks at all studies, again and again, and refreshes those that are due. A refresh reads the counts of all reports,
restores the study from its settings, its rounds and these counts, lets it choose the next channel when the round is
full, makes the estimate, and writes both. Nothing is kept between refreshes but times, so a worker may die at any
moment and its work is simply done again: no report is lost or counted twice, because nobody marks a report as counted.

Rounds grow geometrically and so do the refreshes, so the reports read in all are a constant times the reports held.

| what | when |
| --- | --- |
| next channel | the round is full, or it is `max_age` old and `slow_growth` more reports came |
| sorting | a minute has passed and reports came, or the study is closed: then nothing in the files tells their order |
| estimate | `growth` more reports came, or any in `patience`; at once for an erased report or a closing study |

Between two estimates lies `rest` at least, and more for studies whose refresh takes long. One process works at a time;
others wait for their turn, which the death of the first gives them.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, NoReturn

from tacit.collector import archiver, estimates
from tacit.collector.published import Standing
from tacit.collector.store import Store
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.posterior import MANY
from tacit.study import Study
from tacit_client import Round

log = logging.getLogger("tacit.collector.worker")

RETRY = 60.0  # seconds before a study that failed is tried again, twice as long each time
LONGEST_RETRY = 3600.0
ARCHIVE = 3600.0  # seconds between two passes of the archiver
DETAIL = 10**6  # distinct reports x categories up to which each report's likelihood is used, and not moments


@dataclass(frozen=True)
class Pace:
    """When something is due, in seconds and in parts of what was there before."""

    max_age: float = 300.0
    slow_growth: float = 0.1
    growth: float = 0.05
    rest: float = 2.0
    patience: float = 30.0
    look: float = 0.5  # between two looks at all studies
    sweep: float = 60.0
    mix: float = 60.0  # between two times that what came is sorted


class Due(NamedTuple):
    """What a study waits for."""

    channel: bool
    estimate: bool


@dataclass
class _Memory:
    """Times of one study, by the worker's own clock; a new worker begins anew."""

    asked: float
    estimated: float
    cost: float = 0.0
    mixed: tuple[int, int] = (0, 0)  # how many reports were held and erased when they were last sorted
    mix_at: float = -float("inf")
    failures: int = 0
    retry_at: float = 0.0


class Worker:
    """Refreshes the studies of a store that are due."""

    def __init__(
        self, store: Store, pace: Pace | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.store = store
        self.pace = pace or Pace()
        self._clock = clock
        self._memories: dict[int, _Memory] = {}
        self._sweep_at = -float("inf")

    def run(self, stop: threading.Event) -> None:
        """Work until told to stop; while the database is away, wait for it."""
        wait = self.pace.look
        while not stop.is_set():
            try:
                self.look(stop)
                wait = self.pace.look
            except TacitError as error:
                log.warning("the store does not answer: %s", error.code)
                wait = min(2 * max(wait, 0.5), 30.0)
            stop.wait(wait)

    def look(self, stop: threading.Event | None = None) -> int:
        """Look at all studies once, if it is this process's turn; how many were refreshed."""
        done = 0
        with self.store.turn() as mine:
            if not mine:
                return 0
            standings = self.store.standings()
            for standing in standings:
                if stop is not None and stop.is_set():
                    break
                done += self._attend(standing)
                self._mix(standing)
            # Last, so that a study whose reports go as soon as it is closed has had its last estimate.
            self._sweep()
            here = {standing.key for standing in standings}
            self._memories = {key: kept for key, kept in self._memories.items() if key in here}
        return done

    def _attend(self, standing: Standing) -> bool:
        """Refresh one study if it is due; a study that fails does not stop the others."""
        now = self._clock()
        memory = self._memories.setdefault(standing.key, _Memory(now, -float("inf")))
        due = self.due(standing, now - memory.asked, now - memory.estimated, memory.cost)
        if now < memory.retry_at or not any(due):
            return False
        try:
            refreshed(self.store, standing, due.channel)
        except Exception as error:
            if isinstance(error, TacitError) and error.code == "store_unusable":
                raise
            # The kind of the error and no more: its text may hold reports.
            what = error.code if isinstance(error, TacitError) else type(error).__name__
            log.error("study %s was not refreshed: %s", standing.name, what)
            memory.retry_at = now + min(RETRY * 2**memory.failures, LONGEST_RETRY)
            memory.failures += 1
            return False
        memory.estimated = self._clock()
        memory.cost = memory.estimated - now
        memory.failures = 0
        if due.channel:
            memory.asked = memory.estimated
        return True

    def _sweep(self) -> None:
        """Take away what is to go, from the tables and from the files; it may take one twentieth of the time."""
        now = self._clock()
        if now < self._sweep_at:
            return
        self.store.sweep()
        self.store.tidy()
        after = self._clock()
        self._sweep_at = after + max(self.pace.sweep, 20 * (after - now))

    def _mix(self, standing: Standing) -> None:
        """Sort what came to an open study since the last time; it may take one fiftieth of the time."""
        memory, now = self._memories[standing.key], self._clock()
        held = standing.n, standing.erased
        if standing.state != "open" or held == memory.mixed or now < memory.mix_at:
            return
        if self.store.mix(standing.key):
            memory.mixed = held
            after = self._clock()
            memory.mix_at = after + max(self.pace.mix, 50 * (after - now))

    def due(self, standing: Standing, asked: float, estimated: float, cost: float) -> Due:
        """What a study waits for, `asked` and `estimated` seconds after the last of each, which took `cost`."""
        pace, new = self.pace, standing.n - standing.seen
        slow = asked >= pace.max_age and new > pace.slow_growth * standing.seen
        channel = standing.state == "open" and (standing.n >= standing.full_at or slow)
        if standing.sequence == 0 or (standing.state == "closed" and not standing.final):
            return Due(channel, True)
        erased = standing.erased != standing.used_erased
        more = abs(standing.n - standing.used)
        soon = erased or more > pace.growth * standing.used
        rest = max(pace.rest, 2 * cost) if soon else max(pace.patience, 20 * cost)
        return Due(channel, channel or ((soon or more > 0) and estimated >= rest))


def refreshed(store: Store, standing: Standing, ask: bool) -> bool:
    """Refresh one study: the next channel if `ask`, and the estimate; False if another worker was faster."""
    texts = [record.text for record in store.rounds(standing.name)]
    evidence, by_round = store.fold(standing.key, texts)
    arguments = standing.settings.arguments()
    del arguments["question"], arguments["name"]
    study = Study.resumed(
        [_read(text) for text in texts],
        evidence,
        standing.full_at,
        method=_method(evidence),
        seed=len(evidence),
        **arguments,
    )
    if ask:
        study.advance()
        full_at = len(evidence) + study.wanted
        if not store.publish(standing, study.rounds[len(texts) :], full_at, len(evidence)):
            return False
    if standing.state == "closed" and not standing.final and not store.mix(standing.key):
        return False
    return _estimate(store, standing, study, by_round)


def _estimate(store: Store, standing: Standing, study: Study, by_round: Sequence[int]) -> bool:
    last = store.estimate(standing.name)
    before = None if last is None else json.loads(last.payload)
    by_round = [*by_round, *[0] * (len(study.rounds) - len(by_round))]
    made = estimates.estimate(study, standing.state, max(standing.n, len(study.evidence)), by_round, before)
    payload = json.dumps(made, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return store.save_estimate(standing, len(study.evidence), payload)


def _method(evidence: Evidence) -> str:
    """Moments say nearly as much of many categories, in seconds where all distinct reports take minutes.

    Above MANY categories "auto" is of this kind by itself.
    """
    k = evidence.k or 0
    kept = sum(len(tally.counts) for tally in evidence.tallies if tally.counts is not None)
    return "moments" if kept * k > DETAIL and k <= MANY else "auto"


@lru_cache(1024)
def _read(text: str) -> Round:
    return Round.from_json(text)


class _Told(BaseException):
    """This process was told to end. What it has begun is undone, and done again by the next one."""


def run(url: str, pace: Pace | None = None, archive_to: str | None = None, after_days: float = 7.0) -> None:
    """Work on a database until SIGTERM or SIGINT, and once an hour on its archive, if asked."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    store = None
    try:
        for number in numbers:
            signal.signal(number, _end)
        with suppress(AttributeError, OSError):
            os.nice(5)  # requests come first
        store = Store.open(url)
        if archive_to is not None:
            given = (store, archive_to, after_days)
            threading.Thread(target=archive_hourly, args=given, name="tacit-archive", daemon=True).start()
        Worker(store, pace).run(threading.Event())
    except _Told:
        return
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        if store is not None:
            store.close()


def archive_hourly(store: Store, to: str, after_days: float) -> None:
    """A pass of the archiver now and after every hour; one that fails is said, and tried again in its turn.

    A daemon thread runs it, which dies with the worker at any moment: that is safe.
    """
    while True:
        try:
            archiver.archive(store, to, after_days)
        except Exception as error:
            # Of a strange error the kind and no more: its text may hold reports.
            what = error if isinstance(error, TacitError) else type(error).__name__
            log.error("the archiver stopped: %s", what)
        time.sleep(ARCHIVE)


def _end(*_: object) -> NoReturn:
    raise _Told
