"""What a device keeps: its ledger and the reports it has made, in one SQLite file.

One row for each study holds the charge, the report and whether a server has confirmed it. Charge and report
are thus written by one statement: a crash leaves both or neither. Rows are never deleted, because a
report must be sent again unchanged and a charge can not be taken back. The true answer is never written.

Charges are whole numbers of 1e-12 units of epsilon, rounded up, so that their sum is exact.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tacit_client.errors import TacitError
from tacit_client.messages import Report

UNITS = 10**12
_APPLICATION = 0x7AC17
_VERSION = 1
_PATIENCE = 30.0  # seconds to wait for another process that is answering
_SCHEMA = """
CREATE TABLE kept (
    study TEXT PRIMARY KEY,
    charge INTEGER NOT NULL CHECK (charge >= 0),
    report TEXT NOT NULL,
    confirmed INTEGER NOT NULL DEFAULT 0,
    head TEXT
) WITHOUT ROWID
"""


class Store:
    """A device's file. Safe for several threads and processes; nothing stays open between calls."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike) or str(path) in ("", ":memory:"):
            raise TacitError(
                "argument_invalid",
                f"path is {path!r}",
                argument="path",
                hint="give the path of a file: a ledger that is not kept protects nobody",
            )
        self.path = Path(path)
        with _explained(self.path):
            # Created before SQLite opens it, so that no other user can ever read it.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        with self.transaction() as transaction:
            transaction.prepare()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """One exclusive transaction: committed at the end of the block, or undone by any error in it."""
        with _explained(self.path), closing(_connect(self.path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Transaction(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def kept(self, study: str) -> Report | None:
        """The report made for a study, if there is one."""
        with self.transaction() as transaction:
            return transaction.kept(study)

    def spent(self) -> Fraction:
        """The epsilon charged so far, over all studies."""
        with self.transaction() as transaction:
            return Fraction(transaction.spent_units(), UNITS)

    def pending(self) -> list[Report]:
        """The reports that no server has confirmed."""
        with self.transaction() as transaction:
            return transaction.pending()


@dataclass(frozen=True)
class Transaction:
    """What can be done inside one transaction of a `Store`."""

    connection: sqlite3.Connection

    def prepare(self) -> None:
        """Create the table in a new file; refuse the file of another program or version."""
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        if (application, version) == (_APPLICATION, _VERSION):
            return
        tables = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application or version or tables:
            raise TacitError(
                "version_unknown",
                "the store is of another program or a later version",
                argument="path",
                hint="update tacit_client, or give the path of a new file",
            )
        self.connection.execute(_SCHEMA)
        self.connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        self.connection.execute(f"PRAGMA user_version = {_VERSION}")

    def kept(self, study: str) -> Report | None:
        row = self.connection.execute("SELECT report FROM kept WHERE study = ?", (study,)).fetchone()
        return Report.from_json(row[0]) if row else None

    def spent_units(self) -> int:
        (spent,) = self.connection.execute("SELECT coalesce(sum(charge), 0) FROM kept").fetchone()
        return int(spent)

    def pending(self) -> list[Report]:
        rows = self.connection.execute("SELECT report FROM kept WHERE NOT confirmed ORDER BY study")
        return [Report.from_json(text) for (text,) in rows]

    def keep(self, report: Report, charge_units: int) -> None:
        """Write the charge and the report, together."""
        self.connection.execute(
            "INSERT INTO kept (study, charge, report) VALUES (?, ?, ?)",
            (report.study, charge_units, report.to_json()),
        )

    def confirm(self, report: Report, head: str) -> None:
        """Note that the server holds the report of a study."""
        self.connection.execute(
            "UPDATE kept SET confirmed = 1, head = ? WHERE study = ? AND report = ?",
            (head, report.study, report.to_json()),
        )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    # EXTRA also syncs the folder when the journal goes: after a power cut a sent report is still in the ledger.
    connection.execute("PRAGMA synchronous = EXTRA")
    return connection


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise TacitError(
            "store_unusable",
            f"the store {path} cannot be used ({error})",
            argument="path",
            hint="nothing was sent; check that the file is a tacit store, can be written, "
            "and that the disk has room",
        ) from error
