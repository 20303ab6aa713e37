"""What archiving a million reports costs and gives back: bytes of the database and the folder, seconds.

    python benchmarks/archive.py [--database postgresql://...] [--reports 1000000] [--k 10]

The reports are simulated, of one round of subset response; a second round follows, so that the first may go. The
database must be an empty one; without --database it is a SQLite file in a temporary folder.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
from collections import deque
from pathlib import Path

import numpy as np
from sqlalchemy import text

from tacit.collector import archiver
from tacit.collector.intake import Submission
from tacit.collector.reports import channel_of
from tacit.collector.settings import StudySettings
from tacit.collector.store import Store
from tacit_client import Round, build, value_to_text


def fill(store: Store, reports: int, k: int, seed: int) -> None:
    """A study with two rounds and so many reports to the first."""
    labels = [f"label {i}" for i in range(k)]
    given = {"name": "bench", "question": {"text": "Which?", "labels": labels}, "epsilon": 1}
    store.create_study(StudySettings.read({**given, "policy": "static-subset"}))
    first = store.round("bench")
    channel, rng = channel_of(first.text), np.random.default_rng(seed)
    for start in range(0, reports, 4000):
        drawn = channel.sample(rng.integers(0, k, min(4000, reports - start)), rng).tolist()
        values = [tuple(value) if isinstance(value, list) else value for value in drawn]
        store.submit(
            [
                Submission("bench", secrets.token_bytes(16), first.id, value_to_text(v), isinstance(v, tuple))
                for v in values
            ]
        )
    asked = Round.from_json(first.text)
    following = Round("bench", asked.question, 1, build.srr(k, 1), asked.id)
    (standing,) = store.standings()
    store.publish(standing, [following], 10**9, reports)


def size(store: Store) -> int:
    """Bytes that the database takes on the disk, its log left out."""
    with store.read() as connection:
        if store.sqlite:
            pages, each = (
                connection.execute(text(f"PRAGMA {p}")).scalar() for p in ("page_count", "page_size")
            )
            return pages * each
        total = (
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = "
        )
        return int(connection.execute(text(f"{total} current_schema()::regnamespace")).scalar())


def timed(work) -> tuple[float, object]:
    """Seconds that work took, and its result."""
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def main() -> None:
    """Fill, measure, archive, measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--database")
    parser.add_argument("--reports", type=int, default=10**6)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(chosen.database or f"sqlite:///{folder}/tacit.db")
        place = Path(folder) / "archive"
        spent, _ = timed(lambda: fill(store, chosen.reports, chosen.k, chosen.seed))
        print(f"stored {chosen.reports:,} reports in {spent:.1f} s")
        show(store, "before")
        before = store.evidence("bench").id
        moves: list[float] = []
        spent, done = timed(
            lambda: archiver.archive(store, place, 0, lambda s: moves.append(time.perf_counter()))
        )
        files = list(place.rglob("*.parquet"))
        kept = sum(path.stat().st_size for path in files)
        print(
            f"archived {done.reports:,} reports in {spent:.1f} s, {len(files)} files of {kept / 1e6:.1f} MB"
        )
        longest = max(b - a for a, b in zip(moves[1::2], moves[2::2], strict=True))
        print(f"the longest transaction, for which writers to SQLite wait: {longest:.2f} s")
        show(store, "after")
        assert store.evidence("bench").id == before
        store.erase("bench", _an_id(files[0]))
        again, _ = timed(lambda: archiver.archive(store, place, 0))
        print(f"an archived report is erased by a pass of {again:.1f} s")
        store.close()


def show(store: Store, when: str) -> None:
    """The size, and what reading takes."""
    evidence, _ = timed(lambda: store.evidence("bench"))
    export, _ = timed(lambda: deque(store.rows("bench"), maxlen=0))
    print(f"{when}: database {size(store) / 1e6:.1f} MB, evidence {evidence:.2f} s, rows {export:.2f} s")


def _an_id(file: Path) -> str:
    import pyarrow.parquet as pq

    return str(pq.read_table(file, columns=["id"])["id"][0])


if __name__ == "__main__":
    main()
