"""What the files of a database say beside its tables, and how it is taken out of them.

No column holds a time or an order, yet the way in which rows lie does. SQLite puts each new row of a page below the one
before, whatever its key; PostgreSQL keeps rows as they came, and each names the transaction that wrote it: the one that
marked the token of an invite, too. The logs of both hold one transaction after another, and what was erased stays in
PostgreSQL's pages until they are cleaned.

`mix` writes the reports and the tokens of a study anew, sorted by their random keys, some thousands by each
transaction, so that all that is left of their order is what came since. `tidy` empties SQLite's log and cleans
PostgreSQL's pages. The worker does both, again and again.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

from sqlalchemy import Column, Connection, Table, and_, delete, insert, select, text

from tacit.collector.database import Database, explained, unusable
from tacit.collector.schema import reports, studies, tokens

MIXED = 2000  # rows by one transaction, so that reports do not wait long
TRIES = 40  # to find a study that nobody is just writing to
PAUSE = 0.02
LOG_PATIENCE = 0.5  # seconds that emptying SQLite's log may keep writers waiting for a reader


class Mixing(Database):
    """The part of the store that leaves no order behind."""

    def mix(self, key: int) -> bool:
        """Write a study's reports and tokens anew, by their keys; False if others write so much that it must wait."""
        for table in (reports, tokens):
            column = list(table.primary_key.columns)[-1]
            after: bytes | None = b""
            while after is not None:
                with self.write() as connection:
                    if not self._alone(connection, key):
                        return False
                    after = self._mix_some(connection, table, column, key, after)
        return True

    def _alone(self, connection: Connection, key: int) -> bool:
        """Lock a study: reports, tokens and erasures look at it first, so that they see a row before or after."""
        if self.sqlite:
            return True
        mine = select(studies.c.id).where(studies.c.id == key).with_for_update(skip_locked=True)
        for _ in range(TRIES):
            if connection.execute(mine).first() is not None:
                return True
            time.sleep(PAUSE)
        return False

    def _mix_some(
        self, connection: Connection, table: Table, column: Column[bytes], key: int, after: bytes
    ) -> bytes | None:
        """The same for the rows that come after a key; the last of them, or None if there are no more."""
        here = and_(table.c.study == key, column > after)
        nth = select(column).where(here).order_by(column).offset(MIXED - 1).limit(1)
        last = connection.execute(nth).scalar()
        some = here if last is None else and_(here, column <= last)
        if self.sqlite:
            rows = [row._asdict() for row in connection.execute(select(table).where(some).order_by(column))]
            connection.execute(delete(table).where(some))
            if rows:
                connection.execute(insert(table), rows)
        else:
            gone = delete(table).where(some).returning(*table.columns).cte("gone")
            names = [column.name for column in table.columns]
            again = select(*(gone.c[name] for name in names)).order_by(gone.c[column.name])
            connection.execute(insert(table).from_select(names, again))
        return None if last is None else bytes(last)

    def tidy(self) -> None:
        """Empty SQLite's log, unless somebody is just reading; let PostgreSQL clean its pages of rows that are gone."""
        if self.sqlite:
            self._empty_log()
            return
        dirty = text(
            "SELECT relname FROM pg_stat_user_tables WHERE n_dead_tup > 0 AND relid IN (to_regclass('reports'), "
            "to_regclass('tokens'))"
        )
        with self.read() as connection:
            names = sorted(connection.execute(dirty).scalars())
        self._vacuum(names)

    def _vacuum(self, names: list[str]) -> None:
        with explained(), self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for name in names:
                connection.execute(text(f"VACUUM {name}"))

    def _empty_log(self) -> None:
        try:
            with closing(sqlite3.connect(str(self.engine.url.database), timeout=LOG_PATIENCE)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            raise unusable(error) from None
