"""A table of PostgreSQL, read where it lies: in one read-only snapshot, so that reports which arrive meanwhile wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tacit.warehouse.engines import BATCH, Tallier, needed, rows_as_batches, table_name, unreadable
from tacit.warehouse.queries import POSTGRES, Dialect

TEXT = ("text", "varchar", "bpchar")


class Postgres:
    """`url` as psycopg reads it; nothing is written."""

    dialect: Dialect | None = POSTGRES
    tally: Tallier | None = None

    def __init__(self, url: object, table: str) -> None:
        psycopg = needed("psycopg", "collector")
        needed("pyarrow", "scale")
        self.relation = table_name(table)
        self.source = f"table {table}"  # the URL may hold a password
        self._error: Any = psycopg.Error
        try:
            self._connection = psycopg.connect(str(url))
        except psycopg.Error as error:
            raise unreadable(self.source, error) from None
        try:
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            described = self._connection.execute(f"SELECT * FROM {self.relation} LIMIT 0").description  # noqa: S608
        except psycopg.Error as error:
            self.close()
            raise unreadable(self.source, error) from None
        types = self._connection.adapters.types
        self.columns = {c.name: getattr(types.get(c.type_code), "name", "") in TEXT for c in described or ()}

    def batches(self, sql: str) -> Iterator[Any]:
        try:
            with self._connection.cursor(
                name="tacit"
            ) as cursor:  # the rows stay on the server until asked for
                cursor.execute(sql)
                names = [column.name for column in cursor.description or ()]
                yield from rows_as_batches(names, iter(lambda: cursor.fetchmany(BATCH), []))
        except self._error as error:
            raise unreadable(self.source, error) from None

    def close(self) -> None:
        with suppress(self._error):
            self._connection.close()
