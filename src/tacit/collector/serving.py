"""The processes of a running collector: a parent, server processes that share one port, and the worker.

The parent binds the port, starts the others, starts those again that die, and ends all with itself. What they need to
know (the key too) goes through a pipe, not through arguments or the environment, where other programs could read it.
Each child watches that pipe: when the parent is gone, however it went, the child ends too.

uvicorn is told to log nothing about clients: no access log, no debug output, and no belief in what proxies say.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from io import FileIO
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from tacit.collector import worker
from tacit.collector.app import create_app
from tacit.collector.connections import Connection
from tacit.collector.options import KEY, Options
from tacit.collector.store import Store
from tacit.errors import TacitError

GRACE = 5  # seconds that requests have to end when the server stops
FIRST_RETRY, LONGEST_RETRY = 0.5, 30.0  # seconds before a child that died is started again
BACKLOG = 2048
CHILD = (sys.executable, "-m", "tacit.collector.serving")


@dataclass(frozen=True)
class Plan:
    """What to run: the database, the options of the servers, and how many of them."""

    database: str
    options: Options
    workers: int = 1
    work: bool = True
    archive_to: str | None = None
    after_days: float = 7.0


def configure(app: FastAPI) -> uvicorn.Config:
    """How uvicorn runs the application."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_level="error",
        backlog=BACKLOG,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
    )


def listen(host: str, port: int) -> socket.socket:
    """The port, bound; refused with a word when it is taken."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        raise TacitError(
            "argument_invalid",
            f"{host} port {port} cannot be used ({error})",
            argument="port",
            hint="give another port, or stop the program that uses it; --port 0 takes a free one",
        ) from None


@contextmanager
def running(plan: Plan, listener: socket.socket) -> Iterator[threading.Event]:
    """The processes of a collector, kept alive until the block ends; the event is set when one cannot be kept."""
    keeper = _Keeper(plan, listener)
    thread = threading.Thread(target=keeper.keep, name="tacit-keeper")
    thread.start()
    try:
        yield keeper.failed
    finally:
        keeper.stop.set()
        thread.join()


class _Keeper:
    """Starts children, and starts those again that die."""

    def __init__(self, plan: Plan, listener: socket.socket) -> None:
        self._plan = plan
        self._listener = listener
        self.stop = threading.Event()
        self.failed = threading.Event()

    def keep(self) -> None:
        tasks = ["serve"] * self._plan.workers + ["work"] * self._plan.work
        children = [self._start(task) for task in tasks]
        retry = [FIRST_RETRY] * len(tasks)
        due: dict[int, float] = {}
        while not self.stop.wait(0.1):
            for i, child in enumerate(children):
                if child.poll() is None:
                    continue
                if i not in due:
                    print(
                        f"tacit: a process ({tasks[i]}) ended with {child.returncode}",
                        file=sys.stderr,
                        flush=True,
                    )
                    if child.returncode == 2:  # it said why it cannot go on
                        self.failed.set()
                    due[i] = time.monotonic() + retry[i]
                    retry[i] = min(2 * retry[i], LONGEST_RETRY)
                elif time.monotonic() >= due[i]:
                    del due[i]
                    children[i] = self._start(tasks[i])
        _end(children)

    def _start(self, task: str) -> subprocess.Popen[bytes]:
        plan, descriptor = self._plan, self._listener.fileno()
        options = asdict(plan.options) | {"key_hash": plan.options.key_hash.hex()}
        told = {"task": task, "database": plan.database, "options": options, "descriptor": descriptor}
        told |= {"archive_to": plan.archive_to, "after_days": plan.after_days}
        environment = {name: value for name, value in os.environ.items() if name != KEY}
        # A group of its own: Ctrl-C reaches the parent alone, which ends its children in order.
        child = subprocess.Popen(  # noqa: S603
            CHILD, stdin=subprocess.PIPE, pass_fds=(descriptor,), start_new_session=True, env=environment
        )
        assert child.stdin is not None
        with suppress(BrokenPipeError):
            child.stdin.write(json.dumps(told).encode() + b"\n")
            child.stdin.flush()
        return child


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    """Ask all to end, then insist."""
    for child in children:
        if child.poll() is None:
            child.terminate()
    end = time.monotonic() + 2 * GRACE + 5
    for child in children:
        try:
            child.wait(max(end - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdin is not None:
            with suppress(BrokenPipeError):
                child.stdin.close()


def room_for_connections(wanted: int) -> int:
    """How many connections fit into the open files that the system allows, which is raised as far as it goes."""
    try:
        import resource
    except ImportError:  # not on this system
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = wanted + 256
    if soft != resource.RLIM_INFINITY and soft < need:
        soft = need if hard == resource.RLIM_INFINITY else min(need, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else max(min(wanted, soft - 256), 16)


def _child(pipe: FileIO) -> None:
    """What a child process does."""
    told: dict[str, Any] = json.loads(pipe.readline())
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    if told["task"] == "work":
        worker.run(told["database"], None, told["archive_to"], told["after_days"])
        return
    options = told["options"] | {"key_hash": bytes.fromhex(told["options"]["key_hash"])}
    options["connections"] = room_for_connections(options["connections"])
    listener = socket.socket(fileno=told["descriptor"])
    store = Store.open(told["database"])
    try:
        # uvicorn raises the signal again that ended it: by then all is done.
        signal.signal(signal.SIGTERM, _quietly)
        uvicorn.Server(configure(create_app(store, Options(**options)))).run(sockets=[listener])
    finally:
        store.close()


def _quietly(number: int, frame: FrameType | None) -> None:
    """End without a word."""
    raise SystemExit(0)


def _end_with(pipe: FileIO) -> None:
    """End this process when the pipe does."""
    with suppress(OSError, ValueError):
        pipe.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    try:
        _child(FileIO(sys.stdin.fileno(), closefd=False))  # unbuffered: no lock is left when it ends
    except TacitError as error:
        print(f"tacit: {error} ({error.code})", file=sys.stderr)
        raise SystemExit(2) from None
