"""Streams from files: lines, a column of CSV, a column of Parquet, in chunks, so that memory does not grow.

Every item is text (its UTF-8 bytes), as the command line has no other; numbers of a Parquet column are written out.
Blank lines are left out. Files that end in `.gz` are unpacked on the way.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from tacit.errors import TacitError
from tacit_client import check

CHUNK = 2**16  # items
Progress = Callable[[int], None]  # bytes of the file that were read since the last call


def chunks(file: Path, column: str | None = None, progress: Progress = lambda done: None) -> Iterator[Any]:
    """The items of a file, or of standard input for "-", a chunk at a time."""
    try:
        if file.suffix == ".parquet":
            yield from _parquet(file, column, progress)
        else:
            with _opened(file) as raw:
                source = gzip.GzipFile(fileobj=raw) if file.suffix == ".gz" else raw
                yield from _text(source, raw, column, progress)
    except OSError as error:
        raise unreadable(file, error.strerror or error) from None
    except (EOFError, csv.Error, UnicodeDecodeError) as error:
        raise unreadable(file, error) from None


def _opened(file: Path) -> IO[bytes]:
    return sys.stdin.buffer if str(file) == "-" else file.open("rb")


def _text(source: Any, raw: IO[bytes], column: str | None, progress: Progress) -> Iterator[list[Any]]:
    if column is None:
        items: Iterator[Any] = (line for text in source if (line := text.rstrip(b"\r\n")))
    else:
        rows = csv.reader(io.TextIOWrapper(source, encoding="utf-8", newline=""))
        where = _place(column, next(rows, []))
        items = (_cell(row, where, rows.line_num) for row in rows if row)
    before = 0
    while chunk := list(islice(items, CHUNK)):
        yield chunk
        if raw is not sys.stdin.buffer:
            after = raw.tell()
            progress(after - before)
            before = after


def _place(column: str, names: list[str]) -> int:
    if column not in names:
        raise TacitError(
            "argument_invalid",
            f"there is no column {check.shown(column)}",
            argument="column",
            hint=f"the file has {', '.join(names[:20]) or 'no header line'}",
        )
    return names.index(column)


def _cell(row: list[str], where: int, line: int) -> str:
    if where >= len(row):
        raise TacitError(
            "argument_invalid",
            f"line {line} has {len(row)} fields",
            argument="file",
            hint="give a CSV file whose lines have as many fields as its header",
        )
    return row[where]


def _parquet(file: Path, column: str | None, progress: Progress) -> Iterator[Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise TacitError(
            "dependency_missing",
            "Parquet is read by pyarrow, which is not installed",
            argument="file",
            hint="pip install 'tacit[sketch]', or give lines or CSV",
        ) from None
    try:
        with parquet.ParquetFile(file) as opened:
            names = opened.schema_arrow.names
            name = names[0] if column is None and len(names) == 1 else column
            _place(name or "", names)
            rows = max(opened.metadata.num_rows, 1)
            size = file.stat().st_size
            for batch in opened.iter_batches(CHUNK, columns=[name]):
                values = batch.column(0)
                yield values if pa.types.is_binary(values.type) else values.cast(pa.string())
                progress(size * len(values) // rows)
    except pa.ArrowException as error:
        raise unreadable(file, error) from None


def unreadable(file: Path, why: object) -> TacitError:
    """The refusal of a file."""
    return TacitError(
        "argument_invalid",
        f"{file} cannot be read ({why})",
        argument="file",
        hint="give a file of lines, CSV with --column, or Parquet; - is standard input",
    )
