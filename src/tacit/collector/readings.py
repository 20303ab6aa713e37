"""Reports read back from the store and its archive: as evidence, and row by row for exports.

What lies in the database and what has left it are read in one snapshot, so that a report on its way to the archive is
seen once. Evidence needs no file: the sum of what is archived stands in the database. Rows come from the files, merged
with those of the database value by value; all files are opened and their bytes checked before the first row comes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import IO, NamedTuple

import numpy as np
from sqlalchemy import Connection, func, select

from tacit.arrays import Integers
from tacit.collector import parts as files
from tacit.collector.archives import marked_place
from tacit.collector.database import Database
from tacit.collector.reports import channel_of, unknown_study
from tacit.collector.schema import archives, parts, reports, rounds, studies
from tacit.errors import TacitError
from tacit.evidence import Evidence

CHUNK = 1 << 16  # distinct values folded at a time
_TRIES = 3  # a pass of the archiver may have just replaced a file


class Counted(NamedTuple):
    """Distinct values of one round, a row of integers for each, and how often each was reported."""

    round: int
    values: Integers
    counts: Integers


class Readings(Database):
    """The part of the store that reads reports."""

    def evidence(self, name: str) -> Evidence:
        """All reports of a study."""
        with self.read() as connection:
            asked = select(studies.c.id, rounds.c.number, rounds.c.text)
            joined = asked.join(rounds, rounds.c.study == studies.c.id).where(studies.c.name == name)
            found = connection.execute(joined.order_by(rounds.c.number)).all()
        if not found:
            raise unknown_study(name)
        return self.fold(found[0].id, [row.text for row in found])[0]

    def fold(self, key: int, texts: Sequence[str]) -> tuple[Evidence, list[int]]:
        """The reports to the rounds of these texts as Evidence, and how many there are to each."""
        evidence, by_round = Evidence(), [0] * len(texts)
        with self.snapshot() as connection:
            asked = select(archives.c.round, archives.c.n, archives.c.evidence).where(archives.c.study == key)
            for row in connection.execute(asked):
                if row.round < len(texts):
                    evidence = evidence + Evidence.from_bytes(bytes(row.evidence))
                    by_round[row.round] += row.n
            for part in _counts(connection, key):
                if part.round < len(texts):  # a round that was published since: its reports count next time
                    channel = channel_of(texts[part.round])
                    values = part.values if channel.table.columns else part.values[:, 0]
                    evidence = evidence.add_counts(channel, values, part.counts)
                    by_round[part.round] += int(part.counts.sum())
        return evidence, by_round

    def rows(self, name: str) -> Iterator[tuple[str, str]]:
        """(round id, value) of every report, by round number, then value: streamed, for exports."""
        for attempt in range(_TRIES):
            with ExitStack() as stack:
                connection = stack.enter_context(self.snapshot())
                try:
                    archived = self._archived(connection, stack, name)
                except TacitError as error:
                    if error.code == "archive_damaged" and attempt < _TRIES - 1:
                        continue
                    raise
                asked = select(rounds.c.number, rounds.c.id).join(studies).where(studies.c.name == name)
                ids = {row.number: row.id for row in connection.execute(asked)}
                for number, value in heapq.merge(self._live(connection, name), archived):
                    yield ids[number], value
                return

    def _live(self, connection: Connection, name: str) -> Iterator[tuple[int, str]]:
        value = reports.c.value if self.sqlite else reports.c.value.collate("C")  # as Python compares texts
        asked = (
            select(reports.c.round, reports.c.value)
            .join(studies, studies.c.id == reports.c.study)
            .where(studies.c.name == name, reports.c.value.is_not(None))
            .order_by(reports.c.round, value)
        )
        for row in connection.execution_options(yield_per=10_000).execute(asked):
            yield row[0], row[1]

    def _archived(self, connection: Connection, stack: ExitStack, name: str) -> Iterator[tuple[int, str]]:
        """(number, value) of the archived reports, in order; every file is open when this returns."""
        asked = select(parts.c.round, parts.c.file).join(studies, studies.c.id == parts.c.study)
        found = connection.execute(asked.where(studies.c.name == name).order_by(parts.c.round)).all()
        if not found:
            return iter(())
        place = marked_place(connection)
        opened = [(row.round, stack.enter_context(files.open_part(place, row.file))) for row in found]
        return _merged(opened)


def _merged(opened: list[tuple[int, IO[bytes]]]) -> Iterator[tuple[int, str]]:
    for number in sorted({number for number, _ in opened}):
        streams = [files.values(stream) for of, stream in opened if of == number]
        for value in heapq.merge(*streams):
            yield number, value


def _counts(connection: Connection, key: int) -> Iterator[Counted]:
    """How often each value of each round was reported: one pass, in chunks, while others write."""
    number, values, times = -1, list[str](), list[int]()
    asked = (
        select(reports.c.round, reports.c.value, func.count())
        .where(reports.c.study == key, reports.c.value.is_not(None))
        .group_by(reports.c.round, reports.c.value)
        .order_by(reports.c.round, reports.c.value)
    )
    for row in connection.execution_options(yield_per=10_000).execute(asked):
        if values and (row[0] != number or len(values) == CHUNK):
            yield Counted(number, _integers(values), np.array(times))
            values, times = [], []
        number = row[0]
        values.append(row[1])
        times.append(row[2])
    if values:
        yield Counted(number, _integers(values), np.array(times))


def _integers(values: list[str]) -> Integers:
    """The values as rows (n, w)."""
    return np.array(",".join(values).split(","), dtype=np.int64).reshape(len(values), -1)
