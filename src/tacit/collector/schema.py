"""The tables of a collector: what is kept, and by its absence what is not.

`reports` and `tokens` hold no time and no sequence. SQLite keeps them as B-trees by their random keys, WITHOUT ROWID.
No index orders them in another way, and no column leads from a token to a report. What the files say besides,
`tacit.collector.mixing` takes out of them. An erased report leaves its id, without round and value. Times stand in
`studies`, `rounds` and `actions` only, as whole hours since 1970.

`parts` names the files that hold the reports which have left `reports` for the archive, and `archives` what these add
up to, so that no file is read to make an estimate.

`report_rows` is the view for engines that fold reports themselves: study, round id, value. Archived reports are not in
it: their files are a table of the same columns.

>>> sorted(set(metadata.tables) - {"actions", "polls", "poll_studies", "pulse"})
['archive', 'archives', 'counters', 'erasures', 'estimates', 'parts', 'reports', 'rounds', 'studies', 'tokens']
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    Text,
)

VIEW = """
CREATE VIEW report_rows AS
SELECT studies.name AS study, rounds.id AS round, reports.value AS value
FROM reports
JOIN studies ON studies.id = reports.study
JOIN rounds ON rounds.study = reports.study AND rounds.number = reports.round
"""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def _study(**options: Any) -> Column[int]:
    return Column("study", Integer, ForeignKey("studies.id", ondelete="CASCADE"), **options)


# A number is never given twice, so that what belonged to a deleted study cannot pass for another's. A deleted study
# has no name; it stays until the last of its reports is gone.
studies = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", String(64), unique=True),
    Column("state", String(8), nullable=False),
    Column("settings", Text, nullable=False),
    Column("created", Integer, nullable=False),
    Column("closed", Integer),
    Column("rounds", Integer, nullable=False),  # how many there are: the next one's number
    Column("head", String(64), nullable=False),
    Column("full_at", BigInteger, nullable=False),  # reports that fill the newest round
    Column("seen", BigInteger, nullable=False),  # reports that the choice of the newest channel has seen
    Column("purged", Boolean, nullable=False),
    # Rounds below this number take no more reports: theirs are in the archive, or on their way there.
    Column("archived", Integer, nullable=False, server_default="0"),
    CheckConstraint("state IN ('draft', 'open', 'closed', 'deleted')", name="state"),
    sqlite_autoincrement=True,
)

rounds = Table(
    "rounds",
    metadata,
    _study(nullable=False),
    Column("number", Integer, nullable=False),
    Column("id", String(64), nullable=False),
    Column("text", Text, nullable=False),
    Column("published", Integer),
    PrimaryKeyConstraint("study", "number"),
)

reports = Table(
    "reports",
    metadata,
    Column("study", Integer, nullable=False),
    Column("id", LargeBinary(16), nullable=False),
    Column("round", Integer),
    Column("value", Text),
    PrimaryKeyConstraint("study", "id"),
    CheckConstraint("(round IS NULL) = (value IS NULL)", name="erased"),
    sqlite_with_rowid=False,
)

tokens = Table(
    "tokens",
    metadata,
    Column("study", Integer, nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
    Column("used", Boolean, nullable=False),
    PrimaryKeyConstraint("study", "hash"),
    sqlite_with_rowid=False,
)

# How many reports are held and how many were erased, so that neither needs a scan. Every server process writes to a
# shard of its own, so that two do not wait for each other.
counters = Table(
    "counters",
    metadata,
    _study(nullable=False),
    Column("shard", SmallInteger, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("erased", BigInteger, nullable=False),
    PrimaryKeyConstraint("study", "shard"),
    sqlite_with_rowid=False,
)

# Where the archive is, in one row, and the mark that its folder bears.
archive = Table(
    "archive",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("url", Text, nullable=False),
    Column("mark", String(32), nullable=False),
)

archives = Table(
    "archives",
    metadata,
    _study(nullable=False),
    Column("round", Integer, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("evidence", LargeBinary, nullable=False),
    PrimaryKeyConstraint("study", "round"),
)

parts = Table(
    "parts",
    metadata,
    _study(nullable=False),
    Column("file", String(255), nullable=False),
    Column("round", Integer, nullable=False),
    Column("n", BigInteger, nullable=False),
    PrimaryKeyConstraint("study", "file"),
)

# Ids that were erased and may lie in the archive: the next pass looks there.
erasures = Table(
    "erasures",
    metadata,
    Column("study", Integer, nullable=False),
    Column("id", LargeBinary(16), nullable=False),
    PrimaryKeyConstraint("study", "id"),
    sqlite_with_rowid=False,
)

estimates = Table(
    "estimates",
    metadata,
    _study(nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("used", BigInteger, nullable=False),
    Column("erased", BigInteger, nullable=False),
    Column("final", Boolean, nullable=False),  # made after the study was closed
    Column("payload", Text, nullable=False),
    PrimaryKeyConstraint("study", "sequence"),
)

polls = Table(
    "polls",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("title", Text, nullable=False),
)

poll_studies = Table(
    "poll_studies",
    metadata,
    Column("poll", Integer, ForeignKey("polls.id", ondelete="CASCADE"), nullable=False),
    Column("place", SmallInteger, nullable=False),
    _study(nullable=False),
    PrimaryKeyConstraint("poll", "place"),
)

actions = Table(
    "actions",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("hour", Integer, nullable=False),
    Column("name", String(64), nullable=False),
    Column("what", Text, nullable=False),
)

# One row, which a health check turns over: a write that fails when nothing can be written.
pulse = Table(
    "pulse",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("beat", Boolean, nullable=False),
)
