"""Studies, polls and invites in the store: what an administrator makes, opens, closes and deletes.

A study whose reports are many is deleted in steps, so that no long transaction keeps reports waiting: it loses its
name at once, and `sweep` takes away what a crash has left. So do tokens of a closed study, and reports after
`retention_days`. Archived reports go the same way, file by file.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from tacit.collector.archives import drop_archived
from tacit.collector.database import Database
from tacit.collector.database import hour as _hour
from tacit.collector.schema import (
    actions,
    counters,
    estimates,
    poll_studies,
    polls,
    reports,
    rounds,
    studies,
    tokens,
)
from tacit.collector.settings import PollRecord, PollSettings, StudyRecord, StudySettings, settings_of
from tacit.errors import TacitError
from tacit_client import check

log = logging.getLogger("tacit.collector")
STEP = 5000  # rows deleted by one transaction
_HELD: ColumnElement[int] = (
    select(func.coalesce(func.sum(counters.c.n), 0)).where(counters.c.study == studies.c.id).scalar_subquery()
)
_MADE: ColumnElement[int] = (
    select(func.coalesce(func.max(estimates.c.sequence), 0))
    .where(estimates.c.study == studies.c.id)
    .scalar_subquery()
)
_STUDY: Select[Any] = select(studies, _HELD.label("n"), _MADE.label("made"))


class Catalog(Database):
    """The part of the store that holds studies, polls and invites."""

    def create_study(self, settings: StudySettings) -> StudyRecord:
        """A new study with its first round; name_taken if there is one of this name."""
        begun = settings.begin()
        first = begun.round
        row = {
            "name": settings.name,
            "state": settings.state,
            "settings": json.dumps(settings.message()),
            "created": _hour(),
            "rounds": 1,
            "head": first.id,
            "full_at": begun.wanted,
            "seen": 0,
            "purged": False,
        }
        try:
            with self.write() as connection:
                key = connection.execute(insert(studies).values(row).returning(studies.c.id)).scalar_one()
                given = {"study": key, "number": 0, "id": first.id, "text": first.to_json()}
                given["published"] = _hour()
                connection.execute(insert(rounds).values(given))
                act(connection, settings.name, f"made, {settings.state}")
                return _study(connection, settings.name)
        except IntegrityError:
            raise _taken("study", settings.name) from None

    def study(self, name: str) -> StudyRecord:
        """The study of this name."""
        with self.read() as connection:
            return _study(connection, name)

    def studies(self, hidden: bool = False) -> list[StudyRecord]:
        """The listed studies that are not drafts, by name; with `hidden` all."""
        with self.read() as connection:
            rows = connection.execute(_STUDY.where(studies.c.name.is_not(None)).order_by(studies.c.name))
            found = [_study_record(row) for row in rows]
        return [study for study in found if hidden or (study.settings.listed and study.state != "draft")]

    def open_study(self, name: str) -> StudyRecord:
        """Let a draft take reports; an open study stays so, a closed one raises study_closed."""
        with self.write() as connection:
            found = _study(connection, name)
            if found.state == "closed":
                raise TacitError(
                    "study_closed",
                    "a closed study stays closed",
                    argument="study",
                    hint="make a new study: the old one's invitations and last estimate are settled",
                )
            if found.state == "draft":
                connection.execute(update(studies).where(studies.c.name == name).values(state="open"))
                act(connection, name, "opened")
            return _study(connection, name)

    def close_study(self, name: str) -> StudyRecord:
        """No report is taken after this returns, and the invite tokens are gone. Closing twice changes nothing."""
        with self.write() as connection:
            found = _study(connection, name)
            if found.state != "closed":
                # Waits for the reports that are being written; those that come later see the new state.
                closing = update(studies).where(studies.c.name == name)
                connection.execute(closing.values(state="closed", closed=_hour()))
                act(connection, name, "closed")
            key = connection.execute(select(studies.c.id).where(studies.c.name == name)).scalar_one()
        self._clear(tokens, key)
        return self.study(name)

    def delete_study(self, name: str) -> None:
        """Delete reports, rounds, estimates and tokens; polls lose the study."""
        with self.write() as connection:
            gone = (
                update(studies)
                .where(studies.c.name == name)
                .values(name=None, state="deleted", settings="{}")
            )
            key = connection.execute(gone.returning(studies.c.id)).scalar()
            if key is None:
                raise _unknown("study", name)
            for table in (poll_studies, estimates):
                connection.execute(delete(table).where(table.c.study == key))
            act(connection, name, "deleted")
        self._later(self._erase_study, key)

    def sweep(self) -> None:
        """Finish what a crash has left half-way, and delete reports whose time has come."""
        with self.read() as connection:
            closed = select(
                studies.c.id, studies.c.name, studies.c.state, studies.c.closed, studies.c.settings
            )
            due = studies.c.state.in_(["closed", "deleted"]) & ~studies.c.purged
            rows = connection.execute(closed.where(due)).all()
        for key, name, state, hour, settings in rows:
            if state == "deleted":
                self._later(self._erase_study, key)
                continue
            self._clear(tokens, key)
            days = json.loads(settings)["retention_days"]
            if days is not None and hour + 24 * days <= _hour():
                self._later(self._purge, key, name)

    def _later(self, step: Callable[..., None], *arguments: object) -> None:
        """Take a step of a deletion; while the archive is away its end is left to a later sweep."""
        try:
            step(*arguments)
        except TacitError as error:
            if not error.code.startswith("archive_"):
                raise
            log.warning("archived reports wait for their deletion: %s", error.code)

    def _purge(self, key: int, name: str) -> None:
        """Reports go; rounds and estimates stay."""
        self._clear(reports, key)
        drop_archived(self, key)
        with self.write() as connection:
            connection.execute(delete(counters).where(counters.c.study == key))
            connection.execute(update(studies).where(studies.c.id == key).values(purged=True))
            act(connection, name, "reports deleted, as settled")

    def _erase_study(self, key: int) -> None:
        self._clear(reports, key)
        self._clear(tokens, key)
        drop_archived(self, key)
        with self.write() as connection:
            connection.execute(delete(studies).where(studies.c.id == key))

    def _clear(self, table: Table, key: int) -> None:
        """Delete a study's rows of a table, some thousands by each transaction."""
        column = list(table.primary_key.columns)[-1]
        some = select(column).where(table.c.study == key).limit(STEP)
        step = delete(table).where(table.c.study == key, column.in_(some.scalar_subquery()))
        gone = STEP
        while gone == STEP:
            with self.write() as connection:
                gone = connection.execute(step).rowcount

    # invites

    def add_invites(self, name: str, hashes: Iterable[bytes]) -> None:
        """Tokens, by their SHA-256, each good for one report to a study that needs one."""
        given = _hashes(hashes)
        with self.write() as connection:
            found = _study(connection, name, lock=not self.sqlite)
            if found.settings.access != "invite":
                raise TacitError(
                    "argument_invalid",
                    "the study takes reports without invites",
                    argument="study",
                    hint='make a study with access "invite"',
                )
            self._invite(connection, [found], given)
            act(connection, name, f"{len(given)} invites")

    def add_poll_invites(self, name: str, hashes: Iterable[bytes]) -> None:
        """Tokens, each good for one report to each of the poll's studies that need one and are not closed."""
        given = _hashes(hashes)
        with self.write() as connection:
            poll = _poll(connection, name)
            found = [_study(connection, study.name, lock=not self.sqlite) for study in poll.studies]
            needing = [study for study in found if study.settings.access == "invite"]
            if not needing:
                raise TacitError(
                    "argument_invalid",
                    "none of the poll's studies needs invites",
                    argument="poll",
                    hint='make its studies with access "invite"',
                )
            taking = [s for s in needing if s.state != "closed"] or needing
            self._invite(connection, taking, given)
            for study in taking:
                act(connection, study.name, f"{len(given)} invites, with the poll {name}")

    def _invite(self, connection: Connection, found: list[StudyRecord], hashes: list[bytes]) -> None:
        for study in found:
            if study.state == "closed":
                raise TacitError(
                    "study_closed",
                    "the study is closed",
                    argument="study",
                    hint="invites would be of no use",
                )
            key = connection.execute(select(studies.c.id).where(studies.c.name == study.name)).scalar_one()
            connection.execute(insert(tokens), [{"study": key, "hash": h, "used": False} for h in hashes])

    # polls

    def create_poll(self, settings: PollSettings) -> PollRecord:
        """A new poll; name_taken if there is one of this name, study_unknown if one of its studies is not there."""
        try:
            with self.write() as connection:
                row = {"name": settings.name, "title": settings.title}
                key = connection.execute(insert(polls).values(row).returning(polls.c.id)).scalar_one()
                asked = select(studies.c.name, studies.c.id).where(studies.c.name.in_(settings.studies))
                keys = {row.name: row.id for row in connection.execute(asked)}
                for name in settings.studies:
                    if name not in keys:
                        raise _unknown("study", name)
                places = [
                    {"poll": key, "place": i, "study": keys[name]} for i, name in enumerate(settings.studies)
                ]
                connection.execute(insert(poll_studies), places)
                act(connection, settings.name, "poll made")
                return _poll(connection, settings.name)
        except IntegrityError:
            raise _taken("poll", settings.name) from None

    def poll(self, name: str) -> PollRecord:
        """The poll of this name."""
        with self.read() as connection:
            return _poll(connection, name)

    def polls(self) -> list[PollRecord]:
        """All polls, by name."""
        with self.read() as connection:
            names = connection.execute(select(polls.c.name).order_by(polls.c.name)).scalars().all()
            return [_poll(connection, name) for name in names]

    def delete_poll(self, name: str) -> None:
        """Delete a poll; its studies stay."""
        with self.write() as connection:
            if not connection.execute(delete(polls).where(polls.c.name == name)).rowcount:
                raise _unknown("poll", name)
            act(connection, name, "poll deleted")

    def actions(self) -> list[tuple[str, str, str]]:
        """(hour, study or poll, what an administrator did), oldest first."""
        with self.read() as connection:
            rows = connection.execute(
                select(actions.c.hour, actions.c.name, actions.c.what).order_by(actions.c.id)
            )
            return [(str(_written(hour)), name, what) for hour, name, what in rows]


def act(connection: Connection, name: str, what: str) -> None:
    """Keep what an administrator did, with the hour."""
    connection.execute(insert(actions).values(hour=_hour(), name=name, what=what))


def _study(connection: Connection, name: str, lock: bool = False) -> StudyRecord:
    asked = _STUDY.where(studies.c.name == name)
    row = connection.execute(asked.with_for_update(read=True, of=studies) if lock else asked).one_or_none()
    if row is None:
        raise _unknown("study", name)
    return _study_record(row)


def _study_record(row: Row[Any]) -> StudyRecord:
    return StudyRecord(
        settings_of(row.settings),
        row.state,
        str(_written(row.created)),
        _written(row.closed),
        int(row.n),
        row.rounds,
        row.head,
        row.made,
        row.purged,
    )


def _poll(connection: Connection, name: str) -> PollRecord:
    row = connection.execute(select(polls.c.id, polls.c.title).where(polls.c.name == name)).one_or_none()
    if row is None:
        raise _unknown("poll", name)
    joined = _STUDY.join(poll_studies, poll_studies.c.study == studies.c.id)
    rows = connection.execute(joined.where(poll_studies.c.poll == row.id).order_by(poll_studies.c.place))
    return PollRecord(name, row.title, tuple(_study_record(study) for study in rows))


def _hashes(hashes: Iterable[bytes]) -> list[bytes]:
    given = list(hashes)
    if not given or not all(isinstance(h, bytes) and len(h) == 32 for h in given):
        raise TacitError(
            "argument_invalid",
            f"hashes is {check.shown(given)}",
            argument="hashes",
            hint="give the SHA-256 of one token or more, 32 bytes each",
        )
    return sorted(given)


def _written(hour: int | None) -> str | None:
    return None if hour is None else datetime.fromtimestamp(hour * 3600, UTC).strftime("%Y-%m-%dT%H:00Z")


def _unknown(kind: str, name: str) -> TacitError:
    return TacitError(
        f"{kind}_unknown", f"there is no {kind} {check.shown(name)}", argument=kind, hint="check the name"
    )


def _taken(kind: str, name: str) -> TacitError:
    return TacitError(
        "name_taken",
        f"there is a {kind} {check.shown(name)} already",
        argument="name",
        hint="choose another name, or delete the old one first",
    )
