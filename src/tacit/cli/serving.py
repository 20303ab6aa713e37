"""`tacit serve` and `tacit worker`: the collector. Its packages are imported when a command needs them."""

from __future__ import annotations

import os
import secrets
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tacit import demo
from tacit.cli.base import app, progress_bar
from tacit.errors import TacitError
from tacit_client.http import Collector

if TYPE_CHECKING:
    from tacit.collector.serving import Plan

DATABASE = "sqlite:///tacit-collector.db"
START_SECONDS = 60.0
ESTIMATE_SECONDS = 60.0  # that the worker has, on a busy machine, to take in the last reports
SETTLED = 0.9  # of the people: an estimate from so many will do
Database = Annotated[
    str,
    typer.Option(
        envvar="TACIT_DATABASE",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME; a password belongs in TACIT_DATABASE.",
    ),
]

ARCHIVE_TO = "Folder, or URL of fsspec, that old rounds are archived to every hour."
ArchiveTo = Annotated[str | None, typer.Option(envvar="TACIT_ARCHIVE", help=ARCHIVE_TO)]
AfterDays = Annotated[
    float, typer.Option(help="Days after which a closed round is archived and takes no more reports.")
]


@app.command()
def serve(
    database: Database = DATABASE,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="TACIT_PORT", help="Port to listen on; 0 for a free one.")
    ] = 8000,
    workers: Annotated[int, typer.Option(help="Server processes that share the port.")] = 1,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Leave `tacit worker` to somebody else.")
    ] = False,
    trust_proxy: Annotated[
        bool, typer.Option("--trust-proxy", help="Take clients' addresses from the proxy's X-Forwarded-For.")
    ] = False,
    rate: Annotated[
        float, typer.Option(help="Requests or reports a second of one client; 0: no limit.")
    ] = 50.0,
    burst: Annotated[float, typer.Option(help="How many of them at once.")] = 3000.0,
    demo: Annotated[
        bool, typer.Option("--demo", help="Begin with a sample poll, in a folder that goes with it.")
    ] = False,
    people: Annotated[int, typer.Option(help="demo: simulated people who answer over HTTP.")] = 0,
    seconds: Annotated[
        float | None, typer.Option(help="End by itself after so long; demo: people answer over it.")
    ] = None,
    archive_to: ArchiveTo = None,
    after_days: AfterDays = 7.0,
) -> None:
    """Run a collector: the server, and the worker that makes rounds and estimates."""
    _require_collector()
    if people and not demo:
        raise TacitError(
            "argument_invalid",
            "--people is for --demo",
            argument="people",
            hint="add --demo, or leave it out",
        )
    if (
        not 1 <= workers <= 64
        or people < 0
        or people > 100_000
        or not (seconds is None or 0 < seconds < 10**8)
    ):
        raise TacitError(
            "argument_invalid",
            "workers, people or seconds is out of range",
            argument="workers",
            hint="give 1 to 64 workers, 0 to 100000 people, more than 0 seconds",
        )
    with ExitStack() as stack:
        stop = stack.enter_context(_stopping())
        if demo:
            database = _demo_database(stack, database, people)
        # Nobody but this machine is meant: then nor is a page whose name was made to lead here.
        here_only = not trust_proxy and host in ("127.0.0.1", "::1", "localhost")
        plan, where = _plan(database, workers, not no_worker, rate, burst, trust_proxy, here_only)
        if archive_to is not None:
            plan = replace(plan, archive_to=archive_to, after_days=after_days)
        _run(stack, plan, host, port, stop, where, people if demo else None, seconds)


@app.command()
def worker(database: Database = DATABASE, archive_to: ArchiveTo = None, after_days: AfterDays = 7.0) -> None:
    """Make rounds and estimates for a collector's database, until stopped."""
    _require_collector()
    from tacit.collector import worker as working

    working.run(database, None, archive_to, after_days)


@app.command()
def archive(
    database: Database = DATABASE,
    to: Annotated[
        str | None,
        typer.Option(envvar="TACIT_ARCHIVE", help="Folder, or URL of fsspec such as s3://bucket/folder."),
    ] = None,
    after_days: AfterDays = 7.0,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Archive nothing; read all files and compare them with the database."),
    ] = False,
) -> None:
    """Move the reports of old rounds from a collector's database into Parquet files: one pass."""
    _require_collector()
    from tacit.collector import archiver
    from tacit.collector.store import Store

    if not verify and to is None:
        raise TacitError(
            "argument_invalid",
            "there is no place to archive to",
            argument="to",
            hint="give a folder or a URL",
        )
    store = Store.open(database)
    try:
        if verify or to is None:
            typer.echo(f"{archiver.verify(store):,} archived reports are as they were written")
            return
        done = archiver.archive(store, to, after_days)
    finally:
        store.close()
    if done is None:
        typer.echo("another archiver is at work")
        return
    typer.echo(f"archived {done.reports:,} reports in {done.parts:,} files, erased {done.erased:,}")
    if done.orphans:
        typer.echo(f"removed {done.orphans:,} files that an interrupted pass had left")


def _run(
    stack: ExitStack,
    plan: Plan,
    host: str,
    port: int,
    stop: threading.Event,
    key_file: Path | None,
    people: int | None,
    seconds: float | None,
) -> None:
    """Start everything, say where it is, wait, and end everything."""
    from tacit.collector import serving

    console = Console(highlight=False, soft_wrap=True)
    listener = stack.enter_context(serving.listen(host, port))
    failed = stack.enter_context(serving.running(plan, listener))
    url = _address(host, listener.getsockname()[1])
    here = _address("127.0.0.1" if host == "0.0.0.0" else host, listener.getsockname()[1])  # noqa: S104
    _await(here, stop, failed)
    if stop.is_set() or failed.is_set():
        raise SystemExit(2 if failed.is_set() else 0)
    console.print(f"The collector is at {url}/")
    if key_file is not None:
        console.print(f"The administrator's key is in {key_file}")
    end = None if seconds is None else time.monotonic() + seconds
    if people is not None:
        _show_demo(console, here, people, seconds, stop)
    elif seconds is None:
        console.print("Ctrl-C ends it.")
    while not stop.is_set() and not failed.is_set() and (end is None or time.monotonic() < end):
        stop.wait(0.2)
    if people and seconds is not None and not stop.is_set():
        _show_estimate(console, here, people, stop)
    if failed.is_set():
        raise SystemExit(2)


def _plan(
    database: str, workers: int, work: bool, rate: float, burst: float, trust_proxy: bool, here_only: bool
) -> tuple[Plan, Path | None]:
    """What to run; the database is opened once, so that what is wrong with it is said here."""
    from sqlalchemy import make_url

    from tacit.collector.options import Options, find_key
    from tacit.collector.serving import Plan
    from tacit.collector.store import Store

    if not 0 <= rate < 1e9 or not 1000 <= burst < 1e9:
        raise TacitError(
            "argument_invalid",
            f"rate is {rate:g} and burst {burst:g}",
            argument="burst",
            hint="give a rate of 0 or more, and a burst of at least 1000, which one batch may need",
        )
    Store.open(database).close()
    url = make_url(database)
    file = Path(str(url.database)) if url.get_backend_name() == "sqlite" else None
    beside = None if file is None else file.with_name(f"{file.name}.key")
    key, path = find_key(os.environ, beside)
    options = Options.of(key, rate=rate, burst=burst, trust_proxy=trust_proxy, here_only=here_only)
    return Plan(database, options, workers, work), path


def _demo_database(stack: ExitStack, database: str, people: int) -> str:
    from tacit.collector import demo as sample
    from tacit.collector.store import Store

    if database == DATABASE:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tacit-demo-"))
        database = f"sqlite:///{folder}/demo.db"
    store = Store.open(database)
    try:
        sample.make(store, people)
    finally:
        store.close()
    return database


def _show_demo(console: Console, url: str, people: int, seconds: float | None, stop: threading.Event) -> None:
    """Say where to look, and let the people answer."""
    from tacit.collector import demo as sample

    first = sample.STUDIES[0]["name"]
    console.print(f"Answer the poll:      {url}/p/{sample.POLL}")
    console.print(f"Watch it being learned: {url}/s/{first}/results")
    if not people:
        console.print("Ctrl-C ends it.")
        return
    span = 60.0 if seconds is None else 0.7 * seconds
    with tempfile.TemporaryDirectory(dir=demo.memory_folder(people)) as folder, progress_bar() as progress:
        task = progress.add_task("people answer", total=people)
        confirmed = sample.answer(
            url,
            sample.draw(people, secrets.randbits(63)),
            Path(folder),
            span,
            stop,
            lambda more: progress.advance(task, more),
        )
    console.print(f"{people:,} people with devices of their own handed in {confirmed:,} reports.")


def _show_estimate(console: Console, url: str, people: int, stop: threading.Event) -> None:
    """The estimate, as HTTP gives it, beside the truth that only the simulation knows."""
    from tacit.collector import demo as sample

    study = str(sample.STUDIES[0]["name"])
    collector = Collector(url)
    end = time.monotonic() + ESTIMATE_SECONDS
    while True:
        found: dict[str, Any] = collector.call("GET", f"/v1/studies/{study}/estimate")
        if found["used"] >= SETTLED * people or time.monotonic() > end or stop.is_set():
            break
        stop.wait(0.5)
    console.print(
        f"From {found['used']:,} reports, epsilon {found['epsilon']}, odds at most {found['odds']:.1f} to 1:"
    )
    for label, low, point, high in zip(
        found["labels"], found["low"], found["estimate"], found["high"], strict=True
    ):
        console.print(
            f"  {label:24} {point:6.1%}  ({low:.1%} to {high:.1%}; truth {sample.SHARES[label]:.0%})"
        )


def _await(url: str, stop: threading.Event, failed: threading.Event) -> None:
    collector = Collector(url, attempts=1)
    end = time.monotonic() + START_SECONDS
    while not stop.is_set() and not failed.is_set():
        try:
            collector.call("GET", "/v1/health")
        except TacitError as error:
            if time.monotonic() > end:
                raise TacitError(
                    "server_unreachable",
                    "the server does not start",
                    argument="port",
                    hint=f"what it printed above says why ({error.code})",
                ) from None
            stop.wait(0.1)
        else:
            return


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set."""
    stop = threading.Event()
    before = {n: signal.signal(n, lambda *_: stop.set()) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _require_collector() -> None:
    """Say what to install when the extra is not there."""
    try:
        import alembic  # noqa: F401
        import fastapi  # noqa: F401
        import sqlalchemy  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise TacitError(
            "dependency_missing",
            f"{error.name} is not installed",
            argument="collector",
            hint="pip install 'tacit[collector]'",
        ) from None
