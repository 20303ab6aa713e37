"""Reports in the store: many in one transaction, each with its own outcome.

A transaction looks at the state of each study under a lock, so that a report either comes before its study closes or is
refused. New reports are inserted by one statement that says which ids were new. All others are then compared
with what is held: the same content is confirmed again, other content refused. So a report that is held needs neither an
open study nor a fresh token. A token is marked in the transaction that inserts its report.

Rounds whose reports go to the archive take no more, from before the first of them goes: an id that lies there cannot
be compared any more. The erasure of an archived report keeps its id for the archiver, whose next pass looks for it.

Whether a channel can make a value is asked of its table, which is kept from one transaction to the next.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import lt
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, bindparam, insert, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from tacit import channels
from tacit.channels import Channel
from tacit.collector.database import Database
from tacit.collector.intake import Outcome, Submission
from tacit.collector.schema import counters, erasures, reports, rounds, studies, tokens
from tacit.collector.settings import settings_of
from tacit.errors import TacitError
from tacit_client import Report, Round, check
from tacit_client.tables import Binned, Subsets, Table

SHARDS = 16
# Statements of every transaction are made once: to make one takes as long as to run it.
_DOORS = (
    select(
        studies.c.id,
        studies.c.name,
        studies.c.state,
        studies.c.settings,
        studies.c.head,
        studies.c.rounds,
        studies.c.archived,
    )
    .where(studies.c.name.in_(bindparam("names", expanding=True)))
    .order_by(studies.c.id)
    .with_for_update(read=True)
)
COLUMNS = ("study", "id", "round", "value")
_ASKED = 500  # ids looked up by one statement
_INSERTED = sqlite.insert(reports).on_conflict_do_nothing().returning(reports.c.study, reports.c.id)
# Four arrays and no placeholder for each value: psycopg reads a long statement anew each time, at twice the cost.
_UNNESTED = text(
    "INSERT INTO reports (study, id, round, value) SELECT * FROM unnest(CAST(:study AS integer[]), "
    "CAST(:id AS bytea[]), CAST(:round AS integer[]), CAST(:value AS text[])) "
    "ON CONFLICT DO NOTHING RETURNING study, id"
)


class Asked(NamedTuple):
    """What the store needs to know of a round when a report comes: its number, and which values are possible."""

    number: int
    listed: bool
    possible: Callable[[str], bool]


class Door(NamedTuple):
    """A study as one transaction sees it."""

    key: int
    open: bool
    invite: bool
    head: str
    archived: int
    chain: dict[str, Asked]


class Reports(Database):
    """The part of the store that holds reports."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._chains: dict[int, dict[str, Asked]] = {}
        counting = self._insertion(counters)
        sums = {name: counters.c[name] + counting.excluded[name] for name in ("n", "erased")}
        self._counting = counting.on_conflict_do_update(index_elements=["study", "shard"], set_=sums)

    def submit(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Store many reports by one transaction, each with its own outcome. From an event loop use `Ingest`."""
        if not submissions:
            return []
        return self.transact(lambda connection: self._submit(connection, submissions))

    def _submit(self, connection: Connection, submissions: Sequence[Submission]) -> list[Outcome]:
        doors = self._doors(connection, {s.study for s in submissions})
        codes = [_refused(doors.get(s.study), s) for s in submissions]
        _admit(connection, doors, submissions, codes)
        fresh: dict[tuple[int, bytes], int] = {}
        for i, (code, s) in enumerate(zip(codes, submissions, strict=True)):
            if code is None:
                fresh.setdefault((doors[s.study].key, s.id), i)
        new = self._insert(connection, doors, submissions, fresh)
        rest = [i for i, s in enumerate(submissions) if i not in new and s.study in doors]
        held = _held(connection, {(doors[submissions[i].study].key, submissions[i].id) for i in rest})
        for i in rest:
            s = submissions[i]
            door = doors[s.study]
            if (door.key, s.id) in held:
                codes[i] = _compared(held[door.key, s.id], door.chain.get(s.round), s)
        _spend(connection, doors, [submissions[i] for i in new])
        self._count(connection, Counter(doors[submissions[i].study].key for i in new))
        return [
            Outcome(code, i in new, doors[s.study].head if s.study in doors else "")
            for i, (code, s) in enumerate(zip(codes, submissions, strict=True))
        ]

    def _doors(self, connection: Connection, names: set[str]) -> dict[str, Door]:
        found = connection.execute(_DOORS, {"names": sorted(names)}).all()
        return {
            row.name: Door(
                row.id,
                row.state == "open",
                settings_of(row.settings).access == "invite",
                row.head,
                row.archived,
                self._chain(connection, row.id, row.rounds),
            )
            for row in found
        }

    def _chain(self, connection: Connection, key: int, length: int) -> dict[str, Asked]:
        """The rounds of a study by their ids; those that were not there last time are read."""
        chain = self._chains.get(key, {})
        if len(chain) < length:
            later = select(rounds.c.number, rounds.c.id, rounds.c.text).where(
                rounds.c.study == key, rounds.c.number >= len(chain)
            )
            new = {row.id: asked(row.number, row.text) for row in connection.execute(later)}
            chain = self._chains[key] = {**chain, **new}
        return chain

    def _insert(
        self,
        connection: Connection,
        doors: dict[str, Door],
        submissions: Sequence[Submission],
        fresh: dict[tuple[int, bytes], int],
    ) -> set[int]:
        """Insert what is not there yet; the places of those that were new."""
        if not fresh:
            return set()
        rows = []
        for key, id_ in sorted(fresh):  # in one order, so that two transactions do not wait for each other
            s = submissions[fresh[key, id_]]
            rows.append((key, id_, doors[s.study].chain[s.round].number, s.value))
        if self.sqlite:
            named = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
            done = connection.execute(_INSERTED, named)
        else:
            columns = zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)
            done = connection.execute(_UNNESTED, dict(columns))
        return {fresh[key, bytes(id_)] for key, id_ in done}

    def _insertion(self, table: Any) -> Any:
        return sqlite.insert(table) if self.sqlite else postgresql.insert(table)

    def _count(self, connection: Connection, more: dict[int, int], erased: int = 0) -> None:
        if not more:
            return
        shard = 0 if self.sqlite else os.getpid() % SHARDS
        rows = [{"study": key, "shard": shard, "n": n, "erased": erased} for key, n in sorted(more.items())]
        connection.execute(self._counting, rows)

    def erase(self, name: str, report: str) -> None:
        """Forget a report (32 hexadecimal digits) for good. An id that never came is refused from now on, too."""
        id_ = bytes.fromhex(Report(report, name, "0" * 64, 0).id)

        def work(connection: Connection) -> None:
            door = self._doors(connection, {name}).get(name)
            if door is None:
                raise unknown_study(name)
            if door.open or door.archived:
                # First, for it waits for a transaction that is just writing this report; the update then sees it.
                tombstone = self._insertion(reports).values(study=door.key, id=id_, round=None, value=None)
                new = tombstone.on_conflict_do_nothing().returning(reports.c.id)
                if connection.execute(new).first() is not None:
                    if door.archived:
                        connection.execute(insert(erasures).values(study=door.key, id=id_))
                    return
            here = (reports.c.study == door.key) & (reports.c.id == id_)
            gone = update(reports).where(here, reports.c.value.is_not(None)).values(round=None, value=None)
            if connection.execute(gone).rowcount:
                self._count(connection, {door.key: -1}, erased=1)

        self.transact(work)


def _refused(door: Door | None, s: Submission) -> str | None:
    """Why a report cannot be stored, but for its token and for what is held."""
    if door is None:
        return "study_unknown"
    asked = door.chain.get(s.round)
    if asked is not None and asked.number < door.archived:
        return "round_archived"
    if not door.open:
        return "study_closed"
    if asked is None:
        return "round_unknown"
    if asked.listed != s.listed or not asked.possible(s.value):
        return "report_impossible"
    return "invite_required" if door.invite and s.token is None else None


def _admit(
    connection: Connection, doors: dict[str, Door], submissions: Sequence[Submission], codes: list[str | None]
) -> None:
    """Look at the tokens, each good for the first report that gives it; those that are taken stay locked."""
    asked = {
        (doors[s.study].key, s.token): i
        for i, s in reversed(list(enumerate(submissions)))
        if codes[i] is None and doors[s.study].invite and s.token is not None
    }
    used: dict[tuple[int, bytes], bool] = {}
    for key in sorted({key for key, _ in asked}):
        hashes = sorted(token for study, token in asked if study == key)
        for start in range(0, len(hashes), _ASKED):
            some = tokens.c.hash.in_(hashes[start : start + _ASKED])
            found = select(tokens.c.hash, tokens.c.used).where(tokens.c.study == key, some)
            for row in connection.execute(found.order_by(tokens.c.hash).with_for_update()):
                used[key, bytes(row.hash)] = row.used
    for i, s in enumerate(submissions):
        if codes[i] is None and doors[s.study].invite and s.token is not None:
            place = doors[s.study].key, s.token
            if place not in used:
                codes[i] = "invite_required"
            elif used[place] or submissions[asked[place]].id != s.id:
                codes[i] = "invite_used"


def _spend(connection: Connection, doors: dict[str, Door], stored: list[Submission]) -> None:
    """Mark the tokens of the reports that were stored."""
    for name, door in doors.items():
        spent = [s.token for s in stored if s.study == name] if door.invite else []
        for start in range(0, len(spent), _ASKED):
            mine = (tokens.c.study == door.key) & tokens.c.hash.in_(spent[start : start + _ASKED])
            connection.execute(update(tokens).where(mine).values(used=True))


def _held(
    connection: Connection, places: set[tuple[int, bytes]]
) -> dict[tuple[int, bytes], tuple[int | None, str | None]]:
    """What is held under these ids: the number of the round and the value, None for an erased report."""
    held = {}
    for key in sorted({key for key, _ in places}):
        ids = sorted(id_ for study, id_ in places if study == key)
        for start in range(0, len(ids), _ASKED):
            some = reports.c.id.in_(ids[start : start + _ASKED])
            found = select(reports.c.id, reports.c.round, reports.c.value).where(reports.c.study == key, some)
            for row in connection.execute(found):
                held[key, bytes(row.id)] = (row.round, row.value)
    return held


def _compared(held: tuple[int | None, str | None], asked: Asked | None, s: Submission) -> str | None:
    """What to say of a report whose id is held."""
    number, value = held
    if value is None:
        return "report_erased"
    same = asked is not None and (asked.number, asked.listed, value) == (number, s.listed, s.value)
    return None if same else "report_conflict"


def asked(number: int, text: str) -> Asked:
    """What to know of a round, from its canonical text."""
    table = Round.from_json(text).channel
    return Asked(number, table.columns > 0, _possible(table.inner if isinstance(table, Binned) else table))


def _possible(table: Table) -> Callable[[str], bool]:
    """Whether the table can make a value, its integers in plain decimal joined by commas."""
    if isinstance(table, Subsets):
        size, cells = table.size, table.cells

        def holds(value: str) -> bool:
            # As `check_report` decides, at a tenth of its cost for large sets.
            found = list(map(int, value.split(","))) if value else []
            return len(found) == size and found[-1] < cells and all(map(lt, found, found[1:]))

        return holds

    def checked(value: str) -> bool:
        try:
            table.check_report(tuple(map(int, value.split(","))) if table.columns else int(value))
        except (TacitError, ValueError):
            return False
        return True

    return checked


@lru_cache(256)
def channel_of(text: str) -> Channel[Any]:
    """The channel of a round."""
    return channels.from_table(Round.from_json(text).channel)


def unknown_study(name: str) -> TacitError:
    """The refusal of a name that no study has."""
    return TacitError(
        "study_unknown", f"there is no study {check.shown(name)}", argument="study", hint="check the name"
    )
