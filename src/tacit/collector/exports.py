"""Exports: all reports of a study as a table of (study, round, value), as a stream in constant memory.

Rows come sorted by round and value, so that their order says nothing about when a report came. `round` is the id of
the round, `value` the text of `tacit_client.value_to_text`. Parquet needs to be written before it can be read, so it
goes through an unnamed temporary file.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Protocol

from starlette.concurrency import iterate_in_threadpool
from starlette.types import Receive, Scope, Send

from tacit.collector.problems import Busy

ROWS = 20_000  # in one piece
PIECE = 1 << 20
TYPES = {"csv": "text/csv", "json": "application/json", "parquet": "application/vnd.apache.parquet"}
CONTENT: dict[str, Any] = {
    "application/json": {"schema": {"type": "object"}},
    "text/csv": {"schema": {"type": "string"}},
    "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
}


class HasRows(Protocol):
    """What is asked of the store here."""

    def rows(self, name: str) -> Iterator[tuple[str, str]]: ...


class Room:
    """A few places for heavy reading. Nobody waits in line: who finds none is told to come back."""

    def __init__(self, places: int) -> None:
        self._free = places

    @contextmanager
    def place(self) -> Iterator[None]:
        """One of the places, for as long as the block runs."""
        if self._free < 1:
            raise Busy("server_busy", "others are exporting already", seconds=10)
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1


class Export:
    """One export, as an ASGI application. Until the first piece is there it may be refused.

    Who reads slowly keeps a place, and an old state of the database: so it ends, unfinished, after some minutes.
    """

    seconds = 900.0

    def __init__(self, store: HasRows, study: str, kind: str, room: Room) -> None:
        self._pieces: Callable[[HasRows, str], Iterator[bytes]] = {
            "csv": _csv,
            "json": _json,
            "parquet": _parquet,
        }[kind]
        self._store, self._study, self._kind, self._room = store, study, kind, room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A study's name holds nothing that a header could not.
        name = f'attachment; filename="{self._study}.{self._kind}"'
        headers = [(b"content-type", TYPES[self._kind].encode()), (b"content-disposition", name.encode())]
        started = False
        with self._room.place():
            async with asyncio.timeout(self.seconds):
                async for piece in iterate_in_threadpool(self._pieces(self._store, self._study)):
                    if not started:
                        await send({"type": "http.response.start", "status": 200, "headers": headers})
                        started = True
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b""})


def _chunks(store: HasRows, study: str) -> Iterator[list[tuple[str, str]]]:
    rows = store.rows(study)
    while chunk := list(islice(rows, ROWS)):
        yield chunk


def _begun(store: HasRows, study: str) -> Iterator[list[tuple[str, str]]]:
    """The same, the first chunk read already: what is wrong with the store or its archive is said before any of it."""
    chunks = _chunks(store, study)
    first = next(chunks, [])
    return chain([first] if first else [], chunks)


def _csv(store: HasRows, study: str) -> Iterator[bytes]:
    chunks = _begun(store, study)
    yield b"study,round,value\r\n"
    for chunk in chunks:
        # Names and ids need no quotes; a value does when it holds commas.
        yield "".join(
            f'{study},{round_},"{value}"\r\n' if "," in value else f"{study},{round_},{value}\r\n"
            for round_, value in chunk
        ).encode("ascii")


def _json(store: HasRows, study: str) -> Iterator[bytes]:
    chunks = _begun(store, study)
    yield f'{{"study":{json.dumps(study)},"reports":['.encode()
    comma = ""
    for chunk in chunks:
        rows = ",".join(f'{{"round":"{round_}","value":"{value}"}}' for round_, value in chunk)
        yield (comma + rows).encode("ascii")
        comma = ","
    yield b"]}"


def _parquet(store: HasRows, study: str) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("study", words), ("round", words), ("value", pa.string())])
    with tempfile.TemporaryFile() as file:
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for chunk in _chunks(store, study):
                columns = [[study] * len(chunk), [row[0] for row in chunk], [row[1] for row in chunk]]
                arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece
