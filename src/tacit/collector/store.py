"""All that a collector keeps, in SQLite or PostgreSQL, and what of it lies in an archive.

Every method may raise `TacitError("store_unusable")`: nothing is half done then. Names that are not there raise
study_unknown or poll_unknown, a name that is taken name_taken.

>>> import tempfile
>>> from tacit.collector.settings import StudySettings
>>> asked = {"name": "tea", "question": {"text": "Tea?", "labels": ["yes", "no"]}, "epsilon": 1}
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store.open(f"sqlite:///{folder}/tacit.db")
...     made = store.create_study(StudySettings.read(asked))
...     store.close()
>>> made.state, made.n, made.rounds
('open', 0, 1)
"""

from __future__ import annotations

from sqlalchemy import URL, not_, update

from tacit.collector.archives import Archives
from tacit.collector.catalog import Catalog
from tacit.collector.database import connect, migrate, unusable
from tacit.collector.mixing import Mixing
from tacit.collector.published import Published
from tacit.collector.readings import Readings
from tacit.collector.reports import Reports
from tacit.collector.schema import pulse


class Store(Catalog, Reports, Readings, Published, Archives, Mixing):
    """One database. Safe for several threads; each process opens its own."""

    @classmethod
    def open(cls, url: str | URL) -> Store:
        """The database at a URL (sqlite:////path/file.db, postgresql://...), made or migrated if need be.

        One made by a newer release raises version_unknown.
        """
        store = cls(connect(url))
        try:
            migrate(store)
        except BaseException:
            store.close()
            raise
        return store

    def check(self) -> None:
        """Write something small and commit it; store_unusable if that fails."""
        with self.write() as connection:
            if not connection.execute(update(pulse).values(beat=not_(pulse.c.beat))).rowcount:
                raise unusable(LookupError("pulse"))
