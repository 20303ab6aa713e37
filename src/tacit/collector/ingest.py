"""Group commit: many callers, one transaction, one wait for the disk.

A thread takes all that waits, stores it by one transaction, and tells each caller what became of its own. While it
waits for the disk the next group gathers, so the groups grow with the load and nobody waits for a timer. If the
transaction fails every caller in it gets `store_unusable`, and nothing is half done; the next group tries again, so
the thread recovers with the database. More than `waiting` reports are not queued: the caller is told to come back.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tacit.collector.intake import Outcome, Submission
from tacit.errors import TacitError


class Storing(Protocol):
    """What takes submissions: a Store."""

    def submit(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """What became of each."""


class _Waiting(NamedTuple):
    submissions: Sequence[Submission]
    future: asyncio.Future[list[Outcome]]
    loop: asyncio.AbstractEventLoop


class Ingest:
    """A queue in front of a store, and the one thread that empties it."""

    def __init__(self, store: Storing, most: int = 4000, waiting: int = 20_000) -> None:
        """At most `most` reports in a transaction and `waiting` in the queue."""
        self._store = store
        self._most = most
        self._room = waiting
        self._queue: deque[_Waiting] = deque()
        self._ready = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="tacit-ingest", daemon=True)
        self._thread.start()

    async def submit(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """What became of each, once the transaction is on disk; store_unusable if it failed or too much waits."""
        if not submissions:
            return []
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Outcome]] = loop.create_future()
        with self._ready:
            if self._closing or len(submissions) > self._room:
                raise TacitError(
                    "store_unusable",
                    "the collector is closing" if self._closing else "too many reports wait to be written",
                    hint="wait, then send the same again",
                )
            self._room -= len(submissions)
            self._queue.append(_Waiting(submissions, future, loop))
            self._ready.notify()
        return await future

    def close(self) -> None:
        """Write what waits, then end the thread."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        self._thread.join()

    def _run(self) -> None:
        while group := self._next():
            together = [s for waiting in group for s in waiting.submissions]
            found: list[Outcome] | BaseException
            try:
                found = self._store.submit(together)
            except BaseException as error:
                found = error  # the caller's to explain; the thread goes on
            with self._ready:
                self._room += len(together)
            self._tell(group, found)

    def _next(self) -> list[_Waiting]:
        """All that waits, up to `most` reports or one caller's; empty when there is nothing more to come."""
        with self._ready:
            while not self._queue and not self._closing:
                self._ready.wait()
            group: list[_Waiting] = []
            size = 0
            while self._queue and (not group or size + len(self._queue[0].submissions) <= self._most):
                group.append(self._queue.popleft())
                size += len(group[-1].submissions)
            return group

    @staticmethod
    def _tell(group: list[_Waiting], found: list[Outcome] | BaseException) -> None:
        """Wake the callers of each event loop by one call."""
        told: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[list[Outcome]], object]]] = {}
        place = 0
        for waiting in group:
            answer: object = found
            if isinstance(found, list):
                answer = found[place : place + len(waiting.submissions)]
            place += len(waiting.submissions)
            told.setdefault(waiting.loop, []).append((waiting.future, answer))
        for loop, answers in told.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, answers)


def _resolve(answers: list[tuple[asyncio.Future[list[Outcome]], object]]) -> None:
    for future, answer in answers:
        if future.done():  # its caller has gone; the report is stored all the same
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)  # type: ignore[arg-type]
