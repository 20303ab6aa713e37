"""Server-sent events: who watches a study learns of new reports and estimates.

One task asks the store about the watched studies, once a second, for all listeners of the process together; without
listeners it sleeps. A listener holds no queue: it is told what is so now, so a slow one costs nothing and misses
nothing that is still true. Listeners are counted, and end when the server stops.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from tacit.collector.problems import Busy, failed
from tacit.errors import TacitError

HEARTBEAT = 15.0  # seconds: keeps proxies from closing a quiet stream
STILL_HERE = b": still here\n\n"
RETRY = b"retry: 5000\n\n"  # milliseconds until a browser connects again


class Now(NamedTuple):
    """What a listener is told about."""

    n: int
    state: str
    estimates: int


class HasStudy(Protocol):
    """What is asked of the store here."""

    def study(self, name: str) -> Any: ...


class _Watched:
    def __init__(self, now: Now) -> None:
        self.now: Now | None = now
        self.changed = asyncio.Event()
        self.listeners = 0


class Watch:
    """The studies that somebody watches, in one process."""

    def __init__(self, store: HasStudy, most: int, each: int, seconds: float) -> None:
        self._store = store
        self._most = most
        self._each = each
        self._seconds = seconds
        self._watched: dict[str, _Watched] = {}
        self._clients: Counter[bytes] = Counter()
        self._task: asyncio.Task[None] | None = None
        self.closing = asyncio.Event()

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return self._clients.total()

    @asynccontextmanager
    async def listening(self, name: str, client: bytes, now: Now) -> AsyncIterator[_Watched]:
        """A place among the listeners, for as long as the block runs; refused when there is none."""
        if self.listeners >= self._most or self._clients[client] >= self._each:
            raise Busy("server_busy", "too many listen already", seconds=30)
        watched = self._watched.setdefault(name, _Watched(now))
        watched.listeners += 1
        self._clients[client] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            yield watched
        finally:
            watched.listeners -= 1
            self._clients -= Counter((client,))
            if not watched.listeners and self._watched.get(name) is watched:
                del self._watched[name]

    def close(self) -> None:
        """Tell all listeners to go, and stop looking."""
        self.closing.set()
        for watched in self._watched.values():
            _wake(watched)
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        while self._watched and not self.closing.is_set():
            await asyncio.sleep(self._seconds)
            for name, watched in list(self._watched.items()):
                try:
                    found: Now | None = now(await run_in_threadpool(self._store.study, name))
                except TacitError as error:
                    if error.code != "study_unknown":
                        continue  # the store is away for a moment
                    found = None
                except Exception as error:
                    failed(error)
                    continue
                if found != watched.now:
                    watched.now = found
                    _wake(watched)


def now(record: Any) -> Now:
    """What is so, from a study's record."""
    return Now(record.n, record.state, record.estimates)


def _wake(watched: _Watched) -> None:
    watched.changed.set()
    watched.changed = asyncio.Event()


class Stream:
    """The answer to one listener, as an ASGI application."""

    def __init__(self, watch: Watch, name: str, record: Any) -> None:
        self._watch = watch
        self._name = name
        self._first = now(record)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._watch.listening(self._name, scope["tacit.client"], self._first) as watched:
            headers = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            gone = asyncio.create_task(_gone(receive))
            try:
                await self._tell(watched, gone, send)
            finally:
                gone.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, watched: _Watched, gone: asyncio.Task[None], send: Send) -> None:
        told: Now | None = None
        text = RETRY
        while True:
            changed = watched.changed  # before looking, so that no change falls between
            present = watched.now
            if present is None:  # the study was deleted
                return
            text += _events(told, present)
            told = present
            if text:
                await send({"type": "http.response.body", "body": text, "more_body": True})
            woken = asyncio.create_task(changed.wait())
            done, _ = await asyncio.wait(
                {woken, gone}, timeout=HEARTBEAT, return_when=asyncio.FIRST_COMPLETED
            )
            woken.cancel()
            if gone in done or self._watch.closing.is_set():
                return
            text = b"" if done else STILL_HERE


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _events(told: Now | None, present: Now) -> bytes:
    out = b""
    if told is None or (told.n, told.state) != (present.n, present.state):
        out += _event("count", {"n": present.n, "state": present.state})
    if present.estimates and (told is None or told.estimates != present.estimates):
        out += _event("estimate", present._asdict())
    return out


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
