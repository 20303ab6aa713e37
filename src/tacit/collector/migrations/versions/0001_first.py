"""The first tables. A migration stays as it was released: it does not read `schema`, which moves on."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

VIEW = """
CREATE VIEW report_rows AS
SELECT studies.name AS study, rounds.id AS round, reports.value AS value
FROM reports
JOIN studies ON studies.id = reports.study
JOIN rounds ON rounds.study = reports.study AND rounds.number = reports.round
"""


def _study(table: str) -> list[sa.Column[int] | sa.ForeignKeyConstraint]:
    return [
        sa.Column("study", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name=f"fk_{table}_study", ondelete="CASCADE"),
    ]


def upgrade() -> None:
    _create_studies()
    _create_reports()
    _create_polls()
    op.create_table(
        "actions",
        sa.Column("id", sa.Integer, autoincrement=True),
        sa.Column("hour", sa.Integer, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_actions"),
    )
    pulse = op.create_table(
        "pulse",
        sa.Column("id", sa.Integer, autoincrement=False),
        sa.Column("beat", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_pulse"),
    )
    op.bulk_insert(pulse, [{"id": 1, "beat": False}])
    op.execute(VIEW)


def _create_studies() -> None:
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(64)),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("created", sa.Integer, nullable=False),
        sa.Column("closed", sa.Integer),
        sa.Column("rounds", sa.Integer, nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.Column("full_at", sa.BigInteger, nullable=False),
        sa.Column("seen", sa.BigInteger, nullable=False),
        sa.Column("purged", sa.Boolean, nullable=False),
        sa.UniqueConstraint("name", name="uq_studies_name"),
        sa.CheckConstraint("state IN ('draft', 'open', 'closed', 'deleted')", name=op.f("ck_studies_state")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "rounds",
        *_study("rounds"),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("study", "number", name="pk_rounds"),
    )
    op.create_table(
        "estimates",
        *_study("estimates"),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("used", sa.BigInteger, nullable=False),
        sa.Column("erased", sa.BigInteger, nullable=False),
        sa.Column("final", sa.Boolean, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("study", "sequence", name="pk_estimates"),
    )


def _create_reports() -> None:
    op.create_table(
        "reports",
        sa.Column("study", sa.Integer, nullable=False),
        sa.Column("id", sa.LargeBinary(16), nullable=False),
        sa.Column("round", sa.Integer),
        sa.Column("value", sa.Text),
        sa.PrimaryKeyConstraint("study", "id", name="pk_reports"),
        sa.CheckConstraint("(round IS NULL) = (value IS NULL)", name=op.f("ck_reports_erased")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tokens",
        sa.Column("study", sa.Integer, nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("used", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("study", "hash", name="pk_tokens"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "counters",
        *_study("counters"),
        sa.Column("shard", sa.SmallInteger, nullable=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.Column("erased", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("study", "shard", name="pk_counters"),
        sqlite_with_rowid=False,
    )


def _create_polls() -> None:
    op.create_table(
        "polls",
        sa.Column("id", sa.Integer, autoincrement=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_polls"),
        sa.UniqueConstraint("name", name="uq_polls_name"),
    )
    op.create_table(
        "poll_studies",
        sa.Column("poll", sa.Integer, nullable=False),
        sa.Column("place", sa.SmallInteger, nullable=False),
        *_study("poll_studies"),
        sa.ForeignKeyConstraint(["poll"], ["polls.id"], name="fk_poll_studies_poll", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("poll", "place", name="pk_poll_studies"),
    )
