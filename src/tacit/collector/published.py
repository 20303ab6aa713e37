"""Rounds and estimates in the store: what the worker publishes, and what it looks at to know that it should.

A round is published by compare-and-set: only if the chain is as long as the worker believed. An estimate takes
the next place in its study's sequence, or loses it to another worker. So two workers may do the same work twice, and
never publish two rounds of one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from tacit.collector.database import Database, hour
from tacit.collector.reports import unknown_study
from tacit.collector.schema import counters, estimates, rounds, studies
from tacit.collector.settings import EstimateRecord, RoundRecord, StudySettings, settings_of
from tacit_client import Round

KEPT = 2  # estimates of a study that stay: a reader of the one before the newest finds it


class Standing(NamedTuple):
    """How a study stands: what came, what the newest round is waiting for, and what the newest estimate holds."""

    key: int
    name: str
    state: str
    settings: StudySettings
    rounds: int
    full_at: int
    seen: int  # reports that the choice of the newest channel has seen
    n: int
    erased: int
    sequence: int  # of the newest estimate, 0 for none
    used: int
    used_erased: int  # how many had been erased when it was made
    final: bool


class Published(Database):
    """The part of the store that the worker writes."""

    def round(self, name: str) -> RoundRecord:
        """The newest round."""
        asked = select(rounds.c.number, rounds.c.id, rounds.c.text).join(studies)
        with self.read() as connection:
            newest = asked.where(studies.c.name == name).order_by(rounds.c.number.desc()).limit(1)
            row = connection.execute(newest).one_or_none()
        if row is None:
            raise unknown_study(name)
        return RoundRecord(row.number, row.id, row.text)

    def rounds(self, name: str) -> list[RoundRecord]:
        """The chain, from number 0 on."""
        asked = select(rounds.c.number, rounds.c.id, rounds.c.text).join(studies)
        with self.read() as connection:
            found = connection.execute(asked.where(studies.c.name == name).order_by(rounds.c.number)).all()
        if not found:
            raise unknown_study(name)
        return [RoundRecord(row.number, row.id, row.text) for row in found]

    def estimate(self, name: str) -> EstimateRecord | None:
        """The newest estimate; None before the worker made the first."""
        asked = select(studies.c.id, estimates.c.sequence, estimates.c.used, estimates.c.payload)
        joined = asked.outerjoin(estimates, estimates.c.study == studies.c.id)
        with self.read() as connection:
            newest = joined.where(studies.c.name == name).order_by(estimates.c.sequence.desc()).limit(1)
            row = connection.execute(newest).one_or_none()
        if row is None:
            raise unknown_study(name)
        return None if row.sequence is None else EstimateRecord(row.sequence, row.used, row.payload)

    def standings(self) -> list[Standing]:
        """All studies that reports may come to or an estimate may be due of."""
        held = (
            select(
                counters.c.study,
                func.sum(counters.c.n).label("n"),
                func.sum(counters.c.erased).label("erased"),
            )
            .group_by(counters.c.study)
            .subquery()
        )
        last = select(estimates.c.study, func.max(estimates.c.sequence).label("sequence"))
        newest = last.group_by(estimates.c.study).subquery()
        asked = (
            select(studies, held.c.n, held.c.erased, estimates.c.sequence, estimates.c.used)
            .add_columns(estimates.c.erased.label("used_erased"), estimates.c.final)
            .outerjoin(held, held.c.study == studies.c.id)
            .outerjoin(newest, newest.c.study == studies.c.id)
            .outerjoin(
                estimates,
                (estimates.c.study == studies.c.id) & (estimates.c.sequence == newest.c.sequence),
            )
            .where(studies.c.state.in_(["open", "closed"]), ~studies.c.purged)
            .order_by(studies.c.id)
        )
        with self.read() as connection:
            return [
                Standing(
                    row.id,
                    row.name,
                    row.state,
                    settings_of(row.settings),
                    row.rounds,
                    row.full_at,
                    row.seen,
                    int(row.n or 0),
                    int(row.erased or 0),
                    row.sequence or 0,
                    row.used or 0,
                    row.used_erased or 0,
                    bool(row.final),
                )
                for row in connection.execute(asked)
            ]

    def publish(self, standing: Standing, new: Sequence[Round], full_at: int, seen: int) -> bool:
        """Add rounds to the chain of an open study and say when the newest is full; False if the chain has moved on."""
        with self.write() as connection:
            values = {"rounds": standing.rounds + len(new), "full_at": full_at, "seen": seen}
            if new:
                values["head"] = new[-1].id  # type: ignore[assignment]
            same = (studies.c.id == standing.key) & (studies.c.rounds == standing.rounds)
            moved = update(studies).where(same, studies.c.state == "open").values(values)
            if not connection.execute(moved).rowcount:
                return False
            if new:
                rows = [
                    {
                        "study": standing.key,
                        "number": r.number,
                        "id": r.id,
                        "text": r.to_json(),
                        "published": hour(),
                    }
                    for r in new
                ]
                connection.execute(insert(rounds), rows)
            return True

    def save_estimate(self, standing: Standing, used: int, payload: str) -> bool:
        """Keep an estimate made from what `standing` said; False if another was kept before, or the study is gone."""
        row = {
            "study": standing.key,
            "sequence": standing.sequence + 1,
            "used": used,
            "erased": standing.erased,
            "final": standing.state == "closed",
            "payload": payload,
        }
        try:
            with self.write() as connection:
                connection.execute(insert(estimates).values(row))
                old = estimates.c.sequence <= standing.sequence + 1 - KEPT
                connection.execute(delete(estimates).where(estimates.c.study == standing.key, old))
        except IntegrityError:
            return False
        return True
