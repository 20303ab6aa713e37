"""Requests that arrive when they want, not when the server is ready: an open-loop load over loopback.

Arrivals are a Poisson process of a given rate. A latency is counted from the moment at which the request was due, so
a server that stalls is charged for everything that had to wait meanwhile, in a queue of this program too. Requests
are bytes rendered before the clock starts, and connections stay open: the generator shares the machine with
the server that it measures, and should cost little.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Load:
    """What became of a load: a latency in seconds for each answered request, and how many answers of each status."""

    latencies: np.ndarray
    statuses: Counter[int]
    seconds: float

    def quantile(self, share: float) -> float:
        """A quantile of the latencies, in milliseconds."""
        return float(np.quantile(self.latencies, share)) * 1e3

    @property
    def rate(self) -> float:
        """Answers a second, from the first moment to the last answer."""
        return len(self.latencies) / self.seconds


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def request(
    method: str, path: str, body: bytes = b"", kind: str = "application/json", **headers: str
) -> bytes:
    """An HTTP/1.1 request as bytes; `a_b="c"` in headers is `a-b: c`."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    if body:
        lines.append(f"Content-Type: {kind}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body


def arrivals(count: int, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Seconds, from the start, at which `count` requests of a Poisson process are due."""
    return np.cumsum(rng.exponential(1 / rate, count))


class Connection(asyncio.Protocol):
    """One connection that carries one request at a time; the answer's head and body are read to their end."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.due = 0.0
        self.left = -1  # bytes of the body that are still to come; -1 while the head is read
        self.head = b""
        self.status = 0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.run.lost(self)

    def send(self, data: bytes, due: float) -> None:
        assert self.transport is not None
        self.due = due
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        if self.left < 0:
            self.head += data
            head, found, body = self.head.partition(b"\r\n\r\n")
            if not found:
                return
            self.status = int(head[9:12])
            self.left = _length(head) - len(body)
            self.head = b""
        else:
            self.left -= len(data)
        if self.left <= 0:
            self.left = -1
            self.run.answered(self)


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise ValueError(f"an answer without Content-Length: {head!r}")


class _Run:
    """The requests of one load, the connections that carry them, and what came back."""

    def __init__(self, requests: Iterator[bytes], total: int, closed: bool) -> None:
        self.requests = requests
        self.closed = closed
        self.total = total
        self.free: deque[Connection] = deque()
        self.waiting: deque[float] = deque()  # when each request that found no free connection was due
        self.latencies: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.done = asyncio.get_running_loop().create_future()

    def arrive(self, due: float) -> None:
        if self.free:
            self.free.popleft().send(next(self.requests), due)
        else:
            self.waiting.append(due)

    def answered(self, connection: Connection) -> None:
        self.latencies.append(time.perf_counter() - connection.due)
        self.statuses[connection.status] += 1
        if self.waiting:
            due = self.waiting.popleft()
            connection.send(next(self.requests), time.perf_counter() if self.closed else due)
        else:
            self.free.append(connection)
        if len(self.latencies) == self.total and not self.done.done():
            self.done.set_result(None)

    def lost(self, connection: Connection) -> None:
        if not self.done.done():
            self.done.set_exception(ConnectionError("the server closed a connection"))


async def _load(port: int, requests: Sequence[bytes], due: np.ndarray, connections: int) -> Load:
    run = _Run(iter(requests), len(requests), closed=not due.any())
    loop = asyncio.get_running_loop()
    opened = [
        await loop.create_connection(lambda: Connection(run), "127.0.0.1", port) for _ in range(connections)
    ]
    run.free.extend(protocol for _, protocol in opened)
    start = time.perf_counter()
    for moment in due:
        wait = start + moment - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        elif len(run.waiting) > 100:
            await asyncio.sleep(0)  # answers are read even when the arrivals are behind
        run.arrive(start + moment)
    await run.done
    seconds = time.perf_counter() - start
    for transport, _ in opened:
        transport.close()
    return Load(np.array(run.latencies), run.statuses, seconds)


def load(port: int, requests: Sequence[bytes], rate: float, connections: int = 64, seed: int = 0) -> Load:
    """Send the requests to a server on this machine at `rate` a second.

    An infinite rate is a closed loop: each connection sends when it has its answer, and a latency counts from there.
    """
    rng = np.random.default_rng(seed)
    due = np.zeros(len(requests)) if np.isinf(rate) else arrivals(len(requests), rate, rng)
    return asyncio.run(_load(port, requests, due, connections))
