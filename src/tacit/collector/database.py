"""A database, SQLite or PostgreSQL: connections, transactions, migrations, and refusals in place of driver errors.

SQLite runs with a write-ahead log and `synchronous=FULL`: a transaction is on disk before `write` ends, readers never
wait for a writer, and what is erased is overwritten (`secure_delete`). A transaction that writes takes the lock at its
start, so nothing that it has read can change before it ends. PostgreSQL does that row by row, with `FOR SHARE` and
`FOR UPDATE`.

Migrations run when a database is opened, in one transaction, under a lock: of two processes the second finds them done.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from tacit.errors import TacitError

T = TypeVar("T")

PATIENCE = 10.0  # seconds to wait for another writer, or for a server to answer
_MIGRATING = 0x7AC17  # advisory locks of PostgreSQL
_TURNS = {"turn": 0x7AC18, "archive-turn": 0x7AC19}
_AGAIN = {"40001", "40P01"}  # serialisation failure, deadlock
_TRIES = 5


class Line:
    """Threads wait in the order in which they came.

    SQLite's own waiting is a lottery, which an administrator would lose again and again against steady reports.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Alone in this block, once all that came before have left it."""
        mine = threading.Event()
        with self._guard:
            self._waiting.append(mine)
            if self._waiting[0] is mine:
                mine.set()
        mine.wait()
        try:
            yield
        finally:
            with self._guard:
                self._waiting.popleft()
                if self._waiting:
                    self._waiting[0].set()


class Database:
    """An engine and its transactions. Every driver error comes out as `store_unusable`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.sqlite = engine.dialect.name == "sqlite"
        self._writer = engine.execution_options(write=True)
        self._still = engine if self.sqlite else engine.execution_options(isolation_level="REPEATABLE READ")
        self._line = Line()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with explained(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A transaction that only reads, and all of whose statements see one state."""
        with explained(), self._still.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction: on disk when the block has ended, undone by any error in it."""
        with explained(), self._begun() as connection:
            yield connection

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        with self._line.turn() if self.sqlite else nullcontext(), self._writer.begin() as connection:
            yield connection

    def transact(self, work: Callable[[Connection], T]) -> T:
        """The result of `work` in a transaction that writes; tried again after a deadlock, so it may run twice."""
        for attempt in range(_TRIES):
            with explained():
                try:
                    with self._begun() as connection:
                        return work(connection)
                except DBAPIError as error:
                    if getattr(error.orig, "sqlstate", None) not in _AGAIN or attempt == _TRIES - 1:
                        raise
                    time.sleep(0.005 * 2**attempt)
        raise AssertionError

    @contextmanager
    def turn(self, name: str = "turn") -> Iterator[bool]:
        """Whether this process has the turn to do what one process is to do at a time; given back when it dies.

        Another file is locked for SQLite, so that nobody else waits; PostgreSQL lends a lock to the connection. The
        archiver has a turn of its own, "archive-turn".
        """
        with self._sqlite_turn(name) if self.sqlite else self._postgres_turn(_TURNS[name]) as mine:
            yield mine

    @contextmanager
    def _sqlite_turn(self, name: str) -> Iterator[bool]:
        path = Path(f"{self.engine.url.database}.{name}")
        with explained():
            try:
                connection = sqlite3.connect(path, timeout=0, isolation_level=None)
            except sqlite3.Error as error:
                raise unusable(error) from None
            try:
                mine = True
                try:
                    connection.execute("BEGIN EXCLUSIVE")
                except sqlite3.OperationalError as error:
                    if "locked" not in str(error):
                        raise unusable(error) from None
                    mine = False
                yield mine
            finally:
                connection.close()

    @contextmanager
    def _postgres_turn(self, lock: int) -> Iterator[bool]:
        with explained(), self.engine.connect() as connection:
            mine = bool(connection.execute(text(f"SELECT pg_try_advisory_lock({lock})")).scalar())
            connection.commit()
            try:
                yield mine
            finally:
                if mine:
                    with suppress(DBAPIError):
                        connection.execute(text(f"SELECT pg_advisory_unlock({lock})"))
                        connection.commit()

    def shrink(self, most: int) -> int:
        """Make room that was freed usable again; how many bytes of it went back to the file system.

        A SQLite file is written anew if more than half of it is free, and at most `most` bytes are not: writers wait.
        """
        with explained():
            if not self.sqlite:
                with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.execute(text("VACUUM reports"))
                return 0
            raw = self.engine.raw_connection()
            try:
                return self._rewritten(raw.cursor(), most)
            except sqlite3.Error as error:
                raise unusable(error) from None
            finally:
                raw.close()

    def _rewritten(self, cursor: Any, most: int) -> int:
        size, pages, free = (
            cursor.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_size", "page_count", "freelist_count")
        )
        if 2 * free < pages or (pages - free) * size > most:
            return 0
        with self._line.turn():
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(free * size)

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def connect(url: str | URL) -> Engine:
    """An engine for a URL of SQLite (a file) or PostgreSQL."""
    try:
        where = make_url(url)
    except ArgumentError:
        raise _bad_url("the URL cannot be read") from None
    if where.get_backend_name() == "sqlite":
        return _sqlite(where)
    if where.get_backend_name() == "postgresql":
        return _postgres(where)
    raise _bad_url(f"no store for {where.get_backend_name()}")


def _sqlite(where: URL) -> Engine:
    if not where.database or where.database == ":memory:" or where.query:
        raise _bad_url("the URL names no file")
    path = Path(where.database)
    try:
        # Only the collector's own user may read the file; SQLite gives its log the same mode.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise unusable(error) from None
    engine = create_engine(
        where.set(drivername="sqlite+pysqlite"),
        connect_args={"timeout": PATIENCE, "check_same_thread": False},
        hide_parameters=True,
        pool_size=8,
        max_overflow=16,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # BEGIN is said below, as the transaction needs it
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            "secure_delete=ON",
            "cache_size=-65536",
            "journal_size_limit=67108864",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        kind = "IMMEDIATE" if connection.get_execution_options().get("write") else "DEFERRED"
        connection.exec_driver_sql(f"BEGIN {kind}")

    return engine


def _postgres(where: URL) -> Engine:
    try:
        return create_engine(
            where.set(drivername="postgresql+psycopg"),
            connect_args={"connect_timeout": int(PATIENCE)},
            hide_parameters=True,
            pool_pre_ping=True,
            pool_size=8,
            max_overflow=16,
            pool_timeout=PATIENCE,
        )
    except ImportError:
        raise TacitError(
            "dependency_missing",
            "psycopg is not installed",
            argument="url",
            hint="pip install 'tacit[collector]', or 'psycopg[binary]'",
        ) from None


def migrate(database: Database) -> None:
    """Bring the tables up to this release; one made by a newer release is refused."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    script = ScriptDirectory.from_config(config)
    newest = script.get_current_head()

    def current(connection: Connection) -> str | None:
        found = MigrationContext.configure(connection).get_current_revision()
        if found is not None:
            try:
                script.get_revision(found)
            except CommandError:
                raise TacitError(
                    "version_unknown",
                    f"the database has the tables of a newer release ({found})",
                    argument="url",
                    hint=f"this release knows them up to {newest}: update tacit, or give another database",
                ) from None
        return found

    with database.read() as connection:
        if current(connection) == newest:
            return
    with database.write() as connection:
        if not database.sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATING})"))
        if current(connection) != newest:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


@contextmanager
def explained() -> Iterator[None]:
    """Driver errors as refusals, without statements or values; a broken constraint is the caller's to explain."""
    try:
        yield
    except IntegrityError:
        raise
    except (DBAPIError, PoolTimeout) as error:
        raise unusable(getattr(error, "orig", None) or error) from None


def unusable(error: BaseException) -> TacitError:
    """What went wrong with a store, by the first line that its driver says."""
    said = str(error).strip().partition("\n")[0] if isinstance(error, sqlite3.Error | OSError) else ""
    state = getattr(error, "sqlstate", None)
    detail = said or " ".join(part for part in (type(error).__name__, state) if part)
    return TacitError(
        "store_unusable",
        f"the collector's store cannot be read or written ({detail})",
        hint="wait, then send the same again; whoever runs the collector looks at the disk and the database",
    )


def hour() -> int:
    """Whole hours since 1970: no time is kept that is finer."""
    return int(time.time() // 3600)


def _bad_url(message: str) -> TacitError:
    return TacitError(
        "argument_invalid",
        message,
        argument="url",
        hint="give sqlite:////path/to/file.db, or postgresql://user@host/database",
    )
