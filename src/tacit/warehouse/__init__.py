"""Evidence from a table of reports, wherever it lies: DuckDB, SQLite, PostgreSQL or Spark.

The table has the text columns `study`, `round` (the round's id) and `value` (`tacit_client.value_to_text`), and may
have an `id`. Evidence depends on reports only through how often each was made, so the engine does the counting:

    SELECT round, value, COUNT(*) ... GROUP BY round, value

Where distinct reports are too many to keep, Evidence keeps their tally alone. Of subsets PostgreSQL and Spark count it
too, cell by cell. Whether a category hashes to a report's bucket is not for SQL: n x K remainders. There the values
stream through a compiled loop in batches, or on Spark each worker runs it on its own partition.

All ways give the same evidence, with the same id, as adding the reports one by one.

>>> import pyarrow
>>> from tacit_client import Question, Round, build, value_to_text
>>> tea = Round("tea", Question("tea", "Tea?", labels=("yes", "no")), 0, build.srr(2, 1), None)
>>> table = pyarrow.table({"study": ["tea"] * 3, "round": [tea.id] * 3, "value": ["0", "1", "0"]})
>>> aggregate(table, [tea]).evidence.tallies[0].counts
array([2, 1])
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tacit import channels
from tacit import evidence as memory
from tacit.channels import Channel
from tacit.channels.subsets import SubsetChannel
from tacit.errors import TacitError
from tacit.evidence import Evidence
from tacit.warehouse import queries
from tacit.warehouse.engines import COLUMNS, SQLITE, DuckDB, Engine, SQLite, unreadable
from tacit.warehouse.folding import SHOWN, Refused, fold, fold_tally, tallied
from tacit_client import Round, check

ENGINES: tuple[str, ...] = ("duckdb", "sqlite", "postgres", "spark")
THREADS = os.cpu_count() or 1  # that tally hashed reports


@dataclass(frozen=True)
class Aggregate:
    """What a table came to: its evidence, its rows, and which of them were left out."""

    evidence: Evidence
    rows: int
    copies: int  # reports that were there more than once, and counted once
    unknown: Refused  # rows of rounds that were not given
    impossible: Refused  # reports that their channel cannot make


def aggregate(
    source: object,
    rounds: Iterable[Round],
    *,
    engine: str = "duckdb",
    table: str = "reports",
    study: str | None = None,
    skip_bad: bool = False,
    check_ids: bool = True,
) -> Aggregate:
    """Count the reports of a table. `table` names it in a database.

    `study` takes the rows of one study and leaves the others alone. `skip_bad` leaves out rows of unknown rounds and
    impossible reports instead of refusing the table. `check_ids` counts reports with the same id once, if the table
    has ids, and refuses an id that stands for two different reports.
    """
    name, known = _known(rounds, study)
    opened = open_source(source, engine, table)
    try:
        _check_columns(opened)
        where = queries.of_study(study)
        relation, rows, copies = _each_once(opened, where, check_ids)
        if not rows:
            raise unreadable(opened.source, "it has no rows" + (f" of {study}" if study else ""))
        present, unknown = _rows_by_round(opened, relation, where, name, known)
        _refuse(unknown, skip_bad, "round_unknown", "rows are of other rounds, or of another study")
        evidence, impossible = _evidence(opened, relation, name, {r: known[r] for r in present})
    finally:
        opened.close()
    _refuse(impossible, skip_bad, "report_impossible", "rows hold a report that its channel cannot make")
    if len(evidence) + impossible.count != sum(present.values()):
        raise unreadable(opened.source, "its rows changed while they were read")
    return Aggregate(evidence, rows, copies, unknown, impossible)


def read_rounds(path: str | os.PathLike[str]) -> list[Round]:
    """The rounds of a file with one canonical JSON in every line."""
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise TacitError(
            "argument_invalid",
            f"{path} cannot be read ({error.strerror})",
            argument="rounds",
            hint="give a file with one round in every line, as Round.to_json writes it",
        ) from None
    return [Round.from_json(line) for line in lines if line]


def open_source(source: object, engine: str, table: str) -> Engine:
    """The engine for a source; a SQLite file is known by its name."""
    if engine == "duckdb" and isinstance(source, str | Path) and Path(source).suffix in SQLITE:
        engine = "sqlite"
    if engine == "duckdb":
        return DuckDB(source)
    if engine == "sqlite":
        return SQLite(source, table)
    if engine == "postgres":
        from tacit.warehouse.postgres import Postgres

        return Postgres(source, table)
    if engine == "spark":
        from tacit.warehouse.spark import Spark

        return Spark(source)
    raise TacitError(
        "argument_invalid",
        f"engine is {check.shown(engine)}",
        argument="engine",
        hint=f"give one of {', '.join(ENGINES)}",
    )


def _known(rounds: Iterable[Round], study: str | None) -> tuple[str, dict[str, Channel[Any]]]:
    """The study of the rounds, and the channel of each round's id."""
    given = list(rounds) if isinstance(rounds, Iterable) else [rounds]
    if not given or not all(isinstance(r, Round) for r in given):
        raise TacitError(
            "argument_invalid",
            f"rounds is {check.shown(given)}",
            argument="rounds",
            hint="give the Rounds of one study, such as study.rounds",
        )
    names = sorted({r.study for r in given})
    if len(names) > 1 or study not in (None, names[0]):
        raise TacitError(
            "argument_invalid",
            f"the rounds are of {', '.join(names[:SHOWN])}" + (f", not of {study}" if study else ""),
            argument="rounds",
            hint="give the rounds of one study, and study= its name or nothing",
        )
    return names[0], {r.id: channels.from_table(r.channel) for r in given}


def _check_columns(engine: Engine) -> None:
    for column in COLUMNS:
        if column not in engine.columns:
            raise unreadable(
                engine.source, f"it has no column {column}, but {', '.join(engine.columns) or 'none'}"
            )
        if not engine.columns[column]:
            raise unreadable(engine.source, f"its column {column} is not text")


def _each_once(engine: Engine, where: str, check_ids: bool) -> tuple[str, int, int]:
    """The relation in which no report is twice, how many rows the table has, and how many are copies."""
    relation = engine.relation
    if not check_ids or "id" not in engine.columns:
        rows = sum(row["made"] for row in _rows(engine, queries.by_round(relation, where)))
        return relation, rows, 0
    (found,) = _rows(engine, queries.distinct_ids(relation, where))
    rows, copies = found["made"], found["made"] - found["ids"]
    if found["missing"]:
        raise TacitError(
            "report_impossible",
            f"{found['missing']} reports have no id",
            argument="source",
            hint="give every report its id, or skip the check of ids",
        )
    if not copies:
        return relation, rows, 0
    relation = queries.each_once(relation, where)
    clashes = [row["id"] for row in _rows(engine, queries.same_id(relation, SHOWN))]
    if clashes:
        raise TacitError(
            "report_conflict",
            f"an id stands for different reports, such as {check.shown(clashes[0])}",
            argument="source",
            hint="find out which one is true; the check of ids can be skipped, and then all count",
        )
    return relation, rows, copies


def _rows_by_round(
    engine: Engine, relation: str, where: str, name: str, known: dict[str, Channel[Any]]
) -> tuple[dict[str, int], Refused]:
    """How many rows every known round has, and the rows of no known round."""
    present: dict[str, int] = {}
    unknown = Refused()
    for row in _rows(engine, queries.by_round(relation, where)):
        if row["study"] == name and row["round"] in known:
            present[row["round"]] = row["made"]
        else:
            unknown.add(row["made"], f"{row['study']}/{row['round']}")
    return present, unknown


def _refuse(found: Refused, skip_bad: bool, code: str, what: str) -> None:
    if found.count and not skip_bad:
        raise TacitError(
            code,
            f"{found.count} {what}, such as {', '.join(found.examples)}",
            argument="source",
            hint="give all rounds of the study and name it; skip_bad leaves these rows out",
        )


def _evidence(
    engine: Engine, relation: str, study: str, known: dict[str, Channel[Any]]
) -> tuple[Evidence, Refused]:
    """The evidence of the rows of known rounds, and the rows among them that are no reports."""
    total, impossible = Evidence(), Refused()
    wide: dict[str, list[str]] = {}
    few = []
    for name, channel in known.items():
        if _is_wide(channel):
            wide.setdefault(channel.id, []).append(name)
        else:
            few.append(name)
    if few:
        total = total + _grouped(engine, queries.by_value(relation, study, few), known, impossible)
    for names in wide.values():
        total = total + _of_wide(engine, relation, study, known[names[0]], names, impossible)
    return total, impossible


def _is_wide(channel: Channel[Any]) -> bool:
    return channel.table.columns > 0 and channel._report_count() > memory.MAX_DISTINCT


def _grouped(engine: Engine, sql: str, known: dict[str, Channel[Any]], impossible: Refused) -> Evidence:
    """Fold the answer to `by_value`."""
    total = Evidence()
    for batch in engine.batches(sql):
        counts = batch.column("made").to_numpy(zero_copy_only=False).astype(np.int64)
        names = batch.column("round").to_numpy(zero_copy_only=False)
        for name in np.unique(names.astype(str)):
            mine = names == name
            total = total + fold(known[name], batch.column("value").filter(mine), counts[mine], impossible)
    return total


def _of_wide(
    engine: Engine, relation: str, study: str, channel: Channel[Any], names: list[str], impossible: Refused
) -> Evidence:
    """The reports of one channel that can make more distinct ones than Evidence keeps.

    Its first rows mostly show that it did make them. Else the engine groups after all.
    """
    first, unused = Evidence(), Refused()
    for batch in engine.batches(queries.values(relation, study, names, 2 * memory.MAX_DISTINCT)):
        first = first + fold(channel, batch.column("value"), None, unused)
    if first.exact:
        by_value = queries.by_value(relation, study, names)
        return _grouped(engine, by_value, dict.fromkeys(names, channel), impossible)
    if isinstance(channel, SubsetChannel) and engine.dialect is not None:
        return _inclusion(engine, relation, study, channel, names, impossible)
    return _streamed(engine, channel, queries.values(relation, study, names), impossible)


def _inclusion(
    engine: Engine, relation: str, study: str, channel: SubsetChannel, names: list[str], impossible: Refused
) -> Evidence:
    """The tally of subsets, counted by the engine."""
    assert engine.dialect is not None
    t = channel.table
    sums = np.zeros(t.cells, dtype=np.int64)
    query = queries.Inclusion(engine.dialect, relation, study, tuple(names), t.cells, t.size)
    for row in _rows(engine, query.held()):
        sums[row["cell"]] = row["made"]
    n = int(sums.sum()) // t.size
    for row in _rows(engine, query.left_out()):
        impossible.add(row["made"], row["value"])
    return tallied(channel, n, sums)


def _streamed(engine: Engine, channel: Channel[Any], sql: str, impossible: Refused) -> Evidence:
    """The tally of reports that come in batches, a few of them at a time in as many threads."""
    if engine.tally is not None:
        found, refused = engine.tally(channel, sql)
        impossible.join(refused)
        return found
    total = Evidence()

    def one(batch: Any) -> tuple[Evidence, Refused]:
        refused = Refused()
        return fold_tally(channel, batch.column("value"), refused), refused

    batches = engine.batches(sql)
    with ThreadPoolExecutor(THREADS) as pool:
        while chunk := list(islice(batches, THREADS)):
            for found, refused in pool.map(one, chunk):
                total = total + found
                impossible.join(refused)
    return total


def _rows(engine: Engine, sql: str) -> list[dict[str, Any]]:
    return [row for batch in engine.batches(sql) for row in batch.to_pylist()]
