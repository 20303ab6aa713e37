"""`tacit sketch build` and `tacit sketch query`: a private sketch in a file.

The file is secret. A query writes the new state before it prints an answer, so what was answered is always
accounted for, and it holds a lock: two queries of one state at a time would answer from the same increments twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tacit.errors import TacitError
from tacit.sketch import bounds, reading
from tacit.sketch.answers import Answers, Survey
from tacit.sketch.privacy import Privacy
from tacit.sketch.private import UseAndKeep
from tacit.sketch.sketches import KINDS
from tacit.sketch.states import private_from_bytes
from tacit_client import check

app = typer.Typer(
    no_args_is_help=True, help="Count a stream privately: build a sketch, then query it at any time."
)


@app.command()
def build(
    file: Annotated[Path, typer.Argument(help="Lines, CSV or Parquet; .gz too; - for standard input.")],
    output: Annotated[Path, typer.Option(help="Where the secret state is written.")],
    epsilon: Annotated[float | None, typer.Option(help="Bound of the privacy loss, for life.")] = None,
    delta: Annotated[float | None, typer.Option(help="With it, Gaussian noise and (epsilon, delta).")] = None,
    width: Annotated[int, typer.Option(help="Columns.")] = 5000,
    depth: Annotated[int, typer.Option(help="Rows; odd.")] = 9,
    seed: Annotated[int, typer.Option(help="Public seed of the hashes.")] = 0,
    kind: Annotated[str, typer.Option(help="count or count-min")] = "count",
    column: Annotated[str | None, typer.Option(help="The column of a CSV or Parquet file.")] = None,
    pan_private: Annotated[
        bool, typer.Option("--pan-private", help="Also cover one look into the file.")
    ] = False,
    onto: Annotated[Path | None, typer.Option(help="Go on from this state, and remove it.")] = None,
) -> None:
    """Count a stream into a private use-and-keep sketch."""
    if output.exists() and (onto is None or not (onto.exists() and output.samefile(onto))):
        raise TacitError(
            "argument_invalid",
            f"{output} exists",
            argument="output",
            hint="give a new name, or go on from it with --onto",
        )
    if onto is None:
        sketch = _empty(kind, depth, width, seed, epsilon, delta, pan_private)
        count = _feed(sketch, file, column)
        _save(sketch, output)
    elif epsilon is not None or delta is not None:
        raise TacitError(
            "argument_invalid",
            "the state has its epsilon",
            argument="epsilon",
            hint="leave it out with --onto",
        )
    else:
        with _locked(onto):
            sketch = _load(onto)
            count = _feed(sketch, file, column)
            _save(sketch, output)
            if not output.samefile(onto):
                onto.unlink()
    print(f"{count:,} items counted into {output}: {sketch.d} rows of {sketch.w}, {sketch.privacy}")


def _empty(
    kind: str,
    depth: int,
    width: int,
    seed: int,
    epsilon: float | None,
    delta: float | None,
    pan_private: bool,
) -> UseAndKeep:
    if epsilon is None:
        raise TacitError(
            "argument_invalid", "epsilon is missing", argument="epsilon", hint="give --epsilon, such as 1"
        )
    if kind not in KINDS:
        raise TacitError(
            "argument_invalid",
            f"kind is {check.shown(kind)}",
            argument="kind",
            hint=f"give one of {', '.join(KINDS)}",
        )
    return UseAndKeep(KINDS[kind](depth, width, seed), Privacy(epsilon=epsilon, delta=delta), pan_private)


def _feed(sketch: UseAndKeep, file: Path, column: str | None) -> int:
    count = 0
    size = file.stat().st_size if file.is_file() else None
    with _progress() as progress:
        task = progress.add_task("counting", total=size)
        for chunk in reading.chunks(file, column, lambda done: progress.advance(task, done)):
            sketch.update(chunk)
            count += len(chunk)
    return count


@app.command()
def query(
    state: Annotated[Path, typer.Argument(help="The state that `tacit sketch build` wrote.")],
    items: Annotated[list[str] | None, typer.Argument(help="The items to ask for.")] = None,
    file: Annotated[Path | None, typer.Option("--items", help="A file of items, as for build.")] = None,
    column: Annotated[str | None, typer.Option(help="The column of that file.")] = None,
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    survey: Annotated[
        bool, typer.Option("--survey", help="Use every cell once, for intervals of any shape.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Answer a batch of queries from a private sketch, and write its new state."""
    bounds.check_level(level)
    names = list(items or [])
    if file is not None:
        for chunk in reading.chunks(file, column):
            names += [_name(value) for value in chunk]
    if not names:
        raise TacitError(
            "argument_invalid", "items are missing", argument="items", hint="name items, or give --items FILE"
        )
    with _locked(state):
        sketch = _load(state)
        known = sketch.survey() if survey else None
        answers = sketch.query(names)
        _save(sketch, state)  # before anything is shown
    low, high = _ends(answers, level, known)
    if as_json:
        shown = [
            {"item": name, "estimate": estimate, "low": a, "high": b}
            for name, estimate, a, b in zip(names, answers.estimates.tolist(), low, high, strict=True)
        ]
        print(json.dumps({"answers": shown, "level": level, "privacy": sketch.privacy.record()}))
        return
    table = Table("item", *(f"{title:>8}" for title in ("estimate", "from", "to")), box=None, pad_edge=False)
    for name, estimate, a, b in zip(names, answers.estimates, low, high, strict=True):
        table.add_row(name, *(_number(value) for value in (estimate, a, b)))
    for column_ in table.columns[1:]:
        column_.justify = "right"
    Console().print(table, markup=False, highlight=False)


def _name(value: object) -> str:
    value = value.as_py() if hasattr(value, "as_py") else value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _ends(
    answers: Answers, level: float, known: Survey | None
) -> tuple[list[float | None], list[float | None]]:
    """The intervals, where the shape of the sketch or a survey gives them."""
    if known is None and (not answers.signed or bounds.ranks(1 - level, answers.d) == 0):
        nothing: list[float | None] = [None] * len(answers)
        return nothing, nothing
    low, high = answers.interval(level, known)
    return low.tolist(), high.tolist()


def _load(path: Path) -> UseAndKeep:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _file_error(path, "read", error) from None
    sketch = private_from_bytes(data)
    if not isinstance(sketch, UseAndKeep):
        raise TacitError(
            "sketch_mismatch",
            f"{path} holds a {sketch.method} sketch",
            argument="state",
            hint="query it with tacit.sketch; the command line works on use-and-keep sketches",
        )
    return sketch


def _save(sketch: UseAndKeep, path: Path) -> None:
    """Replace the file in one step, readable by its owner alone."""
    part = path.with_name(path.name + ".part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write(sketch.to_bytes())
            out.flush()
            os.fsync(out.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise _file_error(path, "written", error) from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = path.with_name(path.name + ".lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise TacitError(
            "argument_invalid",
            f"{path} is in use",
            argument="state",
            hint=f"wait for the other query; if there is none, remove {lock}",
        ) from None
    except OSError as error:
        raise _file_error(path, "locked", error) from None
    try:
        yield
    finally:
        lock.unlink()


def _file_error(path: Path, verb: str, error: OSError) -> TacitError:
    return TacitError(
        "argument_invalid",
        f"{path} cannot be {verb} ({error.strerror})",
        argument="state",
        hint="give the path of a state in a folder that you may write to",
    )


def _progress() -> Progress:
    """A bar on the terminal, and nothing at all in a pipe or a log."""
    console = Console(stderr=True)
    return Progress(transient=True, disable=not console.is_terminal, console=console)
