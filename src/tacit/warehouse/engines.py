"""The engines: where a table of reports lies, and how rows come out of it.

| engine | source |
| --- | --- |
| duckdb | files by path, pattern, folder or fsspec URL: Parquet (folders `round=...` are columns) or CSV; data frames |
| sqlite | a database file, by Python's own module, in one transaction |
| postgres | a URL, in one read-only snapshot |
| spark | a path, or a Spark data frame |

An engine answers SQL with Arrow batches, and never holds more than one of them here.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from tacit.channels import Channel
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.warehouse.folding import Refused
from tacit.warehouse.queries import Dialect
from tacit_client import check

BATCH = 1 << 17  # rows that come at once
COLUMNS = ("study", "round", "value")
SQLITE = (".sqlite", ".sqlite3", ".db")
_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?\Z")


Tallier = Callable[[Channel[Any], str], tuple[Evidence, Refused]]


class Engine(Protocol):
    """What `aggregate` needs."""

    @property
    def source(self) -> object:
        """What is read, for messages."""

    @property
    def relation(self) -> str:
        """What stands after FROM."""

    @property
    def columns(self) -> dict[str, bool]:
        """The columns of the table, and whether each is text."""

    @property
    def dialect(self) -> Dialect | None:
        """How lists are written; None if they do not pay."""

    @property
    def tally(self) -> Tallier | None:
        """Counts a query's values where they are, if the engine can."""

    def batches(self, sql: str) -> Iterator[Any]:
        """The answer to a query as Arrow record batches."""

    def close(self) -> None:
        """Let go of the source."""


def needed(module: str, extra: str) -> Any:
    """An optional package, or the refusal that says how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise TacitError(
            "dependency_missing",
            f"{module} is not installed",
            argument="engine",
            hint=f"pip install 'tacit[{extra}]'",
        ) from None


def unreadable(source: object, error: object) -> TacitError:
    """The refusal of a table that cannot be read."""
    said = " ".join(str(error).split())
    return TacitError(
        "table_unreadable",
        f"{check.shown(source)} cannot be read ({said[:300]})",
        argument="source",
        hint="give a whole table of reports, with the text columns study, round and value",
    )


def table_name(table: object) -> str:
    """A table's name, with its schema if it has one, quoted."""
    if not isinstance(table, str) or not _TABLE.match(table):
        raise TacitError(
            "argument_invalid",
            f"table is {check.shown(table)}",
            argument="table",
            hint="give the name of a table, such as reports or archive.reports",
        )
    return ".".join(f'"{part}"' for part in table.split("."))


def rows_as_batches(names: list[str], rows: Iterable[list[Any]]) -> Iterator[Any]:
    """Chunks of rows from a driver of Python as record batches."""
    import pyarrow

    for chunk in rows:
        yield pyarrow.RecordBatch.from_pydict(
            dict(zip(names, map(list, zip(*chunk, strict=True)), strict=True))
        )


class DuckDB:
    """Files and data frames, read by an embedded DuckDB."""

    dialect: Dialect | None = (
        None  # lists of DuckDB take six times as long as our own loop in the same process
    )
    tally: Tallier | None = None

    def __init__(self, source: object, memory: str = "2GB") -> None:
        duckdb = needed("duckdb", "scale")
        needed("pyarrow", "scale")
        self.source, self._error = source, duckdb.Error
        settings = {"preserve_insertion_order": "false", "memory_limit": memory}
        self._connection = duckdb.connect(config=settings)
        self._connection.execute(
            "SET enable_progress_bar = false"
        )  # it would write among the caller's own output
        try:
            self.relation = self._relation(source)
            described = self._connection.execute(f"DESCRIBE SELECT * FROM {self.relation}").fetchall()  # noqa: S608
        except (duckdb.Error, OSError, ValueError, ImportError) as error:
            self.close()
            raise unreadable(source, error) from None
        self.columns = {str(name): str(kind) == "VARCHAR" for name, kind, *_ in described}

    def _relation(self, source: object) -> str:
        if not isinstance(source, str | Path):
            self._connection.register("reports", source)
            return "reports"
        path = str(source)
        scheme, found, _ = path.partition("://")
        if found and scheme not in ("file", "http", "https"):
            self._connection.register_filesystem(needed("fsspec", "scale").filesystem(scheme))
        if not found and Path(path).is_dir():
            path = f"{path}/**/*.parquet"
        quoted = "'" + path.replace("'", "''") + "'"
        if re.search(r"\.(csv|tsv)(\.gz|\.zst)?$", path):
            return f"read_csv({quoted}, header = true, all_varchar = true, hive_types_autocast = false)"
        return f"read_parquet({quoted}, hive_types_autocast = false)"

    def batches(self, sql: str) -> Iterator[Any]:
        try:
            yield from self._connection.sql(sql).to_arrow_reader(BATCH)
        except (self._error, OSError) as error:
            raise unreadable(self.source, error) from None

    def close(self) -> None:
        self._connection.close()


class SQLite:
    """A table of a SQLite file."""

    dialect: Dialect | None = None
    tally: Tallier | None = None

    def __init__(self, source: object, table: str) -> None:
        needed("pyarrow", "scale")
        self.source, self.relation = source, table_name(table)
        try:
            path = Path(str(source)).resolve(strict=True)
            self._connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            raise unreadable(source, error) from None
        try:
            self._connection.execute("BEGIN")  # all queries see one state
            described = self._connection.execute(
                f"PRAGMA table_info({self.relation.split('.')[-1]})"
            ).fetchall()
        except sqlite3.Error as error:
            self.close()
            raise unreadable(source, error) from None
        # A column's type is a wish in SQLite: each value has its own, and the parser looks at it.
        self.columns = {str(row[1]): "INT" not in str(row[2]).upper() for row in described}

    def batches(self, sql: str) -> Iterator[Any]:
        try:
            cursor = self._connection.execute(sql)
            names = [column[0] for column in cursor.description]
            yield from rows_as_batches(names, iter(lambda: cursor.fetchmany(BATCH), []))
        except sqlite3.Error as error:
            raise unreadable(self.source, error) from None

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()
