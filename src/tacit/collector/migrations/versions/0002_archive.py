"""The archive, and the hour at which each round was published; rounds that were there before count from now on."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("studies", sa.Column("archived", sa.Integer, nullable=False, server_default="0"))
    op.add_column("rounds", sa.Column("published", sa.Integer))
    rounds = sa.table("rounds", sa.column("published", sa.Integer))
    op.execute(rounds.update().values(published=int(time.time() // 3600)))
    op.create_table(
        "archive",
        sa.Column("id", sa.Integer, autoincrement=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("mark", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_archive"),
    )
    op.create_table(
        "archives",
        *_study("archives"),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.Column("evidence", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("study", "round", name="pk_archives"),
    )
    op.create_table(
        "parts",
        *_study("parts"),
        sa.Column("file", sa.String(255), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("study", "file", name="pk_parts"),
    )
    op.create_table(
        "erasures",
        sa.Column("study", sa.Integer, nullable=False),
        sa.Column("id", sa.LargeBinary(16), nullable=False),
        sa.PrimaryKeyConstraint("study", "id", name="pk_erasures"),
        sqlite_with_rowid=False,
    )


def _study(table: str) -> list[sa.Column[int] | sa.ForeignKeyConstraint]:
    return [
        sa.Column("study", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name=f"fk_{table}_study", ondelete="CASCADE"),
    ]
