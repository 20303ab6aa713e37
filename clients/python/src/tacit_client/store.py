"""What a device keeps: its ledger and the reports it has made, in one SQLite file.

One row for each study holds the charge, the report and whether a server has confirmed it. Charge and report
are thus written by one statement: a crash leaves both or neither. Rows are never deleted, because a
report must be sent again unchanged and a charge can not be taken back. The true answer is never written.

Charges are whole numbers of 1e-12 units of epsilon, rounded up, so that their sum is exact.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tacit_client.errors import TacitError
from tacit_client.messages import Report

UNITS = 10**12
_APPLICATION = 0x7AC17
_VERSION = 1
_WAITING, _CONFIRMED, _REFUSED = 0, 1, 2  # what the column `confirmed` holds
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
        if (
            not isinstance(path, str | os.PathLike)
            or Path(path).name in ("", ":memory:")
            or "\0" in str(path)
        ):
            raise TacitError(
                "argument_invalid",
                f"path is {path!r}",
                argument="path",
                hint="give the path of a file: a ledger that is not kept protects nobody",
            )
        self.path = Path(os.path.abspath(path))
        with _explained(self.path, sqlite3.Error, OSError, ValueError):
            if not self.path.exists():
                _create(self.path)
            if os.name == "posix" and stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                self.path.chmod(0o600)
        with self.transaction(write=False) as transaction:
            transaction.recognise()

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator[Transaction]:
        """One transaction, exclusive when it writes: committed at the end of the block, undone by any error in it."""
        with _explained(self.path, sqlite3.Error), closing(_connect(self.path)) as connection:
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield Transaction(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def kept(self, study: str) -> Report | None:
        """The report made for a study, if there is one."""
        with self.transaction(write=False) as transaction:
            return transaction.kept(study)

    def spent(self) -> Fraction:
        """The epsilon charged so far, over all studies."""
        with self.transaction(write=False) as transaction:
            return Fraction(transaction.spent_units(), UNITS)

    def pending(self) -> list[Report]:
        """The reports that no server has confirmed, nor refused for good."""
        with self.transaction(write=False) as transaction:
            return transaction.pending()

    def refused(self) -> list[Report]:
        """The reports that a server has refused for good."""
        with self.transaction(write=False) as transaction:
            return transaction.refused()

    def seen(self, study: str) -> tuple[str, ...]:
        """The ids of rounds that this device was shown in a study: the one it answered, and the head in its receipt."""
        with self.transaction(write=False) as transaction:
            return transaction.seen(study)


@dataclass(frozen=True)
class Transaction:
    """What can be done inside one transaction of a `Store`."""

    connection: sqlite3.Connection

    def recognise(self) -> None:
        """Refuse the file of another program or version, and an empty one: only `_create` makes a store."""
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        if (application, version) == (_APPLICATION, _VERSION):
            return
        if application == _APPLICATION:
            raise TacitError(
                "version_unknown",
                f"the store has version {version}",
                argument="path",
                hint=f"this release reads version {_VERSION}: update tacit_client",
            )
        raise TacitError(
            "store_unusable",
            "the file is not a tacit store, or what was in it is lost",
            argument="path",
            hint="give the path of a new file, if this device has never answered",
        )

    def kept(self, study: str) -> Report | None:
        row = self.connection.execute("SELECT report FROM kept WHERE study = ?", (study,)).fetchone()
        return _read(row[0]) if row else None

    def spent_units(self) -> int:
        (spent,) = self.connection.execute("SELECT coalesce(sum(charge), 0) FROM kept").fetchone()
        return int(spent)

    def pending(self) -> list[Report]:
        return self._in_state(_WAITING)

    def refused(self) -> list[Report]:
        return self._in_state(_REFUSED)

    def _in_state(self, state: int) -> list[Report]:
        rows = self.connection.execute("SELECT report FROM kept WHERE confirmed = ? ORDER BY study", (state,))
        return [_read(text) for (text,) in rows]

    def seen(self, study: str) -> tuple[str, ...]:
        row = self.connection.execute("SELECT report, head FROM kept WHERE study = ?", (study,)).fetchone()
        if row is None:
            return ()
        return tuple(dict.fromkeys(name for name in (_read(row[0]).round, row[1]) if name))

    def keep(self, report: Report, charge_units: int) -> None:
        """Write the charge and the report, together."""
        self.connection.execute(
            "INSERT INTO kept (study, charge, report) VALUES (?, ?, ?)",
            (report.study, charge_units, report.to_json()),
        )

    def confirm(self, report: Report, head: str) -> bool:
        """Note that the server holds a report; False if this store does not."""
        cursor = self.connection.execute(
            "UPDATE kept SET confirmed = ?, head = ? WHERE study = ? AND report = ?",
            (_CONFIRMED, head, report.study, report.to_json()),
        )
        return cursor.rowcount == 1

    def refuse(self, report: Report) -> None:
        """Note that the server will not take a report, unless it has taken it meanwhile."""
        self.connection.execute(
            "UPDATE kept SET confirmed = ? WHERE study = ? AND report = ? AND confirmed = ?",
            (_REFUSED, report.study, report.to_json(), _WAITING),
        )


def _create(path: Path) -> None:
    """Make a new store under another name and link it into place, whole or not at all.

    An existing file is never opened outside SQLite: closing it again would drop every lock that this process has on it.
    """
    file, name = tempfile.mkstemp(prefix=".tacit-", dir=path.parent)  # mode 0600
    os.close(file)
    made = Path(name)
    try:
        with closing(_connect(made)) as connection:
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        with suppress(FileExistsError):  # another process was faster: its store is the store
            os.link(made, path)
    finally:
        made.unlink()


def _connect(path: Path) -> sqlite3.Connection:
    # mode=rw: a store that vanished must not be replaced by an empty one without a word.
    uri = path.as_uri() + "?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
    try:
        # EXTRA also syncs the folder when the journal goes: after a power cut a sent report is still in the ledger.
        connection.execute("PRAGMA synchronous = EXTRA")
    except BaseException:
        connection.close()
        raise
    return connection


def _read(text: str) -> Report:
    try:
        return Report.from_json(text)
    except TacitError as error:
        raise _unusable(f"a report in the store is damaged ({error.code})") from error


@contextmanager
def _explained(path: Path, *kinds: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kinds as error:
        if isinstance(error, TacitError):
            raise
        raise _unusable(f"the store {path} cannot be used ({error})") from error


def _unusable(message: str) -> TacitError:
    return TacitError(
        "store_unusable",
        message,
        argument="path",
        hint="nothing was sent; check that the file is a tacit store, can be written, and that the disk has room",
    )
