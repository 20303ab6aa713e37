"""What the database knows of the archive: where it is, its files, what they add up to, and what is to be erased there.

A report is either a row of `reports` or in exactly one file that `parts` names. One transaction moves it: it deletes
the rows, names the file and adds to the sums, or does none of it. Rounds are sealed first, so no report comes to them
any more; an erasure that came in between shows in the number of rows deleted, and undoes the move.

A file that `parts` does not name is nothing: what a pass left that died before its transaction, or what one has
replaced. It is removed under a lock that a move shares, and a move looks once more that its file is there.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import (
    Connection,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError

from tacit.collector.database import Database
from tacit.collector.places import Place, open_place, unusable
from tacit.collector.schema import (
    archive,
    archives,
    counters,
    erasures,
    estimates,
    parts,
    reports,
    rounds,
    studies,
)
from tacit.errors import TacitError
from tacit.evidence import Evidence

MARK = "tacit-archive.json"
_ASKED = 500


class Sealed(NamedTuple):
    """A round whose reports go, or have gone, to the archive."""

    key: int
    study: str
    number: int
    id: str
    text: str


class Changed(Exception):
    """What was to be moved is no longer what it was; nothing was done."""


def marked_place(connection: Connection) -> Place:
    """The archive that the database names; archive_unusable if it is away, or another lies in its place."""
    row = connection.execute(select(archive.c.url, archive.c.mark)).one_or_none()
    if row is None:
        raise unusable("there is none yet")
    place = open_place(row.url)
    if read_mark(place) != row.mark:
        raise unusable("it does not bear the mark of this collector: is its disk there?", row.url)
    return place


def read_mark(place: Place) -> str | None:
    """The mark that a place bears; None if it bears none."""
    try:
        with place.read(MARK) as file:
            return str(json.loads(file.read())["archive"])
    except TacitError as error:
        if error.code == "archive_damaged":
            return None
        raise
    except (ValueError, KeyError, TypeError):
        raise unusable(f"{MARK} cannot be read", place.url) from None


class Archives(Database):
    """The part of the store that says what is archived."""

    def bind_archive(self, place: Place) -> None:
        """Take a place for this collector's archive, or know it again; refused if it is another's."""
        found = read_mark(place)
        try:
            mark = self._bind(place, found)
        except IntegrityError:
            raise unusable("another archiver has just taken a place", place.url) from None
        if found is None:
            place.write(MARK, json.dumps({"archive": mark, "format": 1}).encode())

    def _bind(self, place: Place, found: str | None) -> str:
        with self.write() as connection:
            row = connection.execute(select(archive.c.mark)).one_or_none()
            if row is None and found is None:
                connection.execute(insert(archive).values(id=1, url=place.url, mark=secrets.token_hex(16)))
            elif row is None or found not in (None, row.mark):
                raise unusable("it belongs to another collector", place.url)
            elif found is None and connection.execute(select(parts.c.file).limit(1)).first() is not None:
                raise unusable("it does not bear the mark of this collector: is its disk there?", place.url)
            else:
                connection.execute(update(archive).values(url=place.url))
            return str(connection.execute(select(archive.c.mark)).scalar_one())

    def seal(self, limit: int) -> None:
        """Take no more reports to rounds that another had followed by the hour `limit`, or whose study was closed."""
        final = exists().where(estimates.c.study == studies.c.id, estimates.c.final)
        followed = select(func.max(rounds.c.number)).where(
            rounds.c.study == studies.c.id, rounds.c.published <= limit
        )
        closed = (studies.c.state == "closed") & (studies.c.closed <= limit) & final
        asked = select(studies.c.id, studies.c.rounds, studies.c.archived, closed, followed.scalar_subquery())
        alive = studies.c.state.in_(["open", "closed"]) & ~studies.c.purged
        with self.read() as connection:
            found = connection.execute(asked.where(alive).order_by(studies.c.id)).all()
        for key, length, before, over, last in found:
            below = length if over else last or 0
            if below > before:
                with self.write() as connection:  # waits for the reports that are being written
                    connection.execute(update(studies).where(studies.c.id == key).values(archived=below))

    def sealed(self, key: int | None = None) -> list[Sealed]:
        """All sealed rounds, or those of one study."""
        asked = (
            select(studies.c.id, studies.c.name, rounds.c.number, rounds.c.id, rounds.c.text)
            .join(rounds, (rounds.c.study == studies.c.id) & (rounds.c.number < studies.c.archived))
            .where(studies.c.state.in_(["open", "closed"]), ~studies.c.purged)
            .order_by(studies.c.id, rounds.c.number)
        )
        with self.read() as connection:
            found = connection.execute(asked if key is None else asked.where(studies.c.id == key))
            return [Sealed(*row) for row in found]

    def held(self, key: int) -> set[int]:
        """The rounds of a study that still have reports in the database."""
        with self.read() as connection:
            asked = select(reports.c.round).where(reports.c.study == key, reports.c.round.is_not(None))
            return set(connection.execute(asked.distinct()).scalars())

    def take(self, rnd: Sealed, after: bytes, rows: int, size: int) -> list[tuple[bytes, str]]:
        """The next (id, value) of a round beyond an id: at most so many, and not many more characters."""
        asked = (
            select(reports.c.id, reports.c.value)
            .where(reports.c.study == rnd.key, reports.c.id > after, reports.c.round == rnd.number)
            .order_by(reports.c.id)
            .limit(rows)
        )
        taken: list[tuple[bytes, str]] = []
        with self.read() as connection:
            for id_, value in connection.execution_options(yield_per=10_000).execute(asked):
                taken.append((bytes(id_), value))
                size -= len(value)
                if size < 0:
                    break
        return taken

    def move(
        self, rnd: Sealed, file: str, ids: Sequence[bytes], more: Evidence, there: Callable[[str], bool]
    ) -> None:
        """Delete these reports and name the file that holds them, by one transaction; Changed if one is not there."""

        def work(connection: Connection) -> None:
            _share(connection, rnd.key, [file], there)
            if self._remove(connection, rnd, ids) != len(ids):
                raise Changed
            connection.execute(insert(parts).values(study=rnd.key, file=file, round=rnd.number, n=len(ids)))
            here = (archives.c.study == rnd.key) & (archives.c.round == rnd.number)
            asked = select(archives.c.n, archives.c.evidence).where(here)
            row = connection.execute(asked.with_for_update()).one_or_none()
            if row is None:
                data = more.to_bytes()
                connection.execute(
                    insert(archives).values(study=rnd.key, round=rnd.number, n=len(ids), evidence=data)
                )
            else:
                data = (Evidence.from_bytes(bytes(row.evidence)) + more).to_bytes()
                connection.execute(update(archives).where(here).values(n=row.n + len(ids), evidence=data))

        try:
            self.transact(work)
        except IntegrityError:  # an archiver that has lost its turn without knowing was faster
            raise Changed from None

    def _remove(self, connection: Connection, rnd: Sealed, ids: Sequence[bytes]) -> int:
        if self.sqlite:
            one = delete(reports).where(
                reports.c.study == rnd.key, reports.c.id == bindparam("gone"), reports.c.round == rnd.number
            )
            return connection.execute(one, [{"gone": id_} for id_ in ids]).rowcount
        statement = (
            "DELETE FROM reports USING unnest(CAST(:ids AS bytea[])) AS gone(id) "
            "WHERE reports.study = :study AND reports.round = :round AND reports.id = gone.id"
        )
        given = {"ids": list(ids), "study": rnd.key, "round": rnd.number}
        return connection.execute(text(statement), given).rowcount

    def pending(self) -> dict[int, list[bytes]]:
        """Ids that may lie in the archive and are erased, by study."""
        found: dict[int, list[bytes]] = {}
        with self.read() as connection:
            for row in connection.execute(select(erasures.c.study, erasures.c.id)):
                found.setdefault(row.study, []).append(bytes(row.id))
        return found

    def files(self, key: int | None = None, number: int | None = None) -> dict[str, int]:
        """The files of the archive, of a study, or of one of its rounds, and how many reports each holds."""
        asked = select(parts.c.file, parts.c.n)
        if key is not None:
            asked = asked.where(parts.c.study == key)
        if number is not None:
            asked = asked.where(parts.c.round == number)
        with self.read() as connection:
            return {row.file: row.n for row in connection.execute(asked)}

    def archived_sum(self, rnd: Sealed) -> tuple[int, Evidence]:
        """How many reports of a round are archived, and their evidence, as the database knows them."""
        here = (archives.c.study == rnd.key) & (archives.c.round == rnd.number)
        with self.read() as connection:
            row = connection.execute(select(archives.c.n, archives.c.evidence).where(here)).one_or_none()
        return (0, Evidence()) if row is None else (row.n, Evidence.from_bytes(bytes(row.evidence)))

    def replace(
        self,
        rnd: Sealed,
        new: dict[str, tuple[str, int] | None],
        total: Evidence,
        there: Callable[[str], bool],
    ) -> None:
        """Name other files, with fewer reports, in the place of some, and count again, by one transaction."""

        def work(connection: Connection) -> None:
            _share(connection, rnd.key, [given[0] for given in new.values() if given], there)
            for old, given in new.items():
                here = (parts.c.study == rnd.key) & (parts.c.file == old)
                change = update(parts).where(here).values(file=given[0], n=given[1]) if given else None
                if connection.execute(delete(parts).where(here) if change is None else change).rowcount != 1:
                    raise Changed
            where = (archives.c.study == rnd.key) & (archives.c.round == rnd.number)
            row = connection.execute(select(archives.c.n).where(where).with_for_update()).one()
            gone = row.n - len(total)
            connection.execute(update(archives).where(where).values(n=len(total), evidence=total.to_bytes()))
            self._count_erased(connection, rnd.key, gone)

        self.transact(work)

    def _count_erased(self, connection: Connection, key: int, gone: int) -> None:
        one = select(func.min(counters.c.shard)).where(counters.c.study == key).scalar_subquery()
        here = (counters.c.study == key) & (counters.c.shard == one)
        connection.execute(
            update(counters).where(here).values(n=counters.c.n - gone, erased=counters.c.erased + gone)
        )

    def erased(self, key: int, ids: Sequence[bytes]) -> None:
        """Note that the archive was searched for these."""
        for start in range(0, len(ids), _ASKED):
            some = erasures.c.id.in_(ids[start : start + _ASKED])
            with self.write() as connection:
                connection.execute(delete(erasures).where(erasures.c.study == key, some))

    def clear_orphans(self, place: Place, found: Iterable[str]) -> int:
        """Remove those of the files found that no study has; how many they were.

        A file system may ignore case, so files are known by their last name, which is their content's.
        """
        known = set(map(_last, self.files()))
        seen = [file for file in found if _last(file) not in known]
        if not seen:
            return 0
        with self.write() as connection:
            connection.execute(update(archive).values(mark=archive.c.mark))  # moves wait, or have been
            known = {_last(file) for file in connection.execute(select(parts.c.file)).scalars()}
            gone = [file for file in seen if _last(file) not in known]
            for file in gone:
                place.remove(file)
        return len(gone)


def _last(file: str) -> str:
    return file.rpartition("/")[2]


def _share(connection: Connection, key: int, files: Collection[str], there: Callable[[str], bool]) -> None:
    """Keep orphans from being cleared and the study from being deleted; Changed if it is too late for that."""
    connection.execute(select(archive.c.id).with_for_update(read=True))
    alive = (studies.c.id == key) & studies.c.state.in_(["open", "closed"]) & ~studies.c.purged
    if connection.execute(select(studies.c.id).where(alive).with_for_update(read=True)).first() is None:
        raise Changed
    if not all(map(there, files)):
        raise Changed


def drop_archived(database: Database, key: int) -> None:
    """Delete all files of a study, then what is known of them; archive_unusable leaves the rest for another time."""
    while True:
        with database.read() as connection:
            mine = connection.execute(select(parts.c.file).where(parts.c.study == key)).scalars().all()
            place = marked_place(connection) if mine else None
        if place is None:
            break
        for file in mine:
            place.remove(file)
        with database.write() as connection:
            gone = [{"gone": file} for file in mine]
            connection.execute(
                delete(parts).where(parts.c.study == key, parts.c.file == bindparam("gone")), gone
            )
    with database.write() as connection:
        connection.execute(delete(archives).where(archives.c.study == key))
        connection.execute(delete(erasures).where(erasures.c.study == key))
