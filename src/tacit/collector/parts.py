"""One file of the archive: reports of one round, named by the SHA-256 of its bytes.

    study=NAME/round=ID/part-SHA256.parquet

Its text columns are id, study, round (the round's id) and value, sorted by value and then by id: the order says nothing
about when a report came, and exports merge files without holding them.

>>> part = encode("tea", "0" * 64, [(bytes(16), "1"), (bytes([1] * 16), "0")])
>>> part.n, part.file[:20]
(2, 'study=tea/round=0000')
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from typing import IO, Any, NamedTuple

from tacit.channels import Channel
from tacit.collector.places import PIECE, Place, damaged
from tacit.evidence import Evidence

BATCH = 8192  # rows that are read at a time
GROUP = 1 << 16  # rows of a group in the file, and distinct values folded at a time
_NAME = re.compile(r"\.?part-([0-9a-f]{64})\.parquet(\.tmp)?\Z")


class Part(NamedTuple):
    """A file, and how many reports it holds."""

    file: str
    n: int
    data: bytes


def encode(study: str, round_: str, rows: Sequence[tuple[bytes, str]]) -> Part:
    """A part of (id, value) of some reports to a round."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ordered = sorted(rows, key=lambda row: (row[1], row[0]))
    n = len(ordered)
    same = pa.array([0] * n, pa.int32())
    columns = {
        "id": pa.array([id_.hex() for id_, _ in ordered], pa.string()),
        "study": pa.DictionaryArray.from_arrays(same, [study]),
        "round": pa.DictionaryArray.from_arrays(same, [round_]),
        "value": pa.array([value for _, value in ordered], pa.string()),
    }
    out = pa.BufferOutputStream()
    dictionary = ["study", "round", "value"]
    pq.write_table(
        pa.table(columns), out, compression="zstd", use_dictionary=dictionary, row_group_size=GROUP
    )
    data = out.getvalue().to_pybytes()
    name = hashlib.sha256(data).hexdigest()
    return Part(f"study={study}/round={round_}/part-{name}.parquet", n, data)


def is_part(file: str) -> bool:
    """Whether a file of the archive is a part, finished or not."""
    return _NAME.match(file.rpartition("/")[2]) is not None


def open_part(place: Place, file: str) -> IO[bytes]:
    """A part to be read, all of whose bytes are as they were written; else archive_damaged."""
    stream = place.read(file)
    digest = hashlib.sha256()
    while piece := stream.read(PIECE):
        digest.update(piece)
    found = _NAME.match(file.rpartition("/")[2])
    if found is None or found[1] != digest.hexdigest():
        stream.close()
        raise damaged(file, "is not what was written")
    stream.seek(0)
    return stream


def values(stream: IO[bytes]) -> Iterator[str]:
    """The values of an open part, in increasing order."""
    for batch in _batches(stream, ["value"]):
        yield from batch.column(0).to_pylist()


def without(stream: IO[bytes], ids: Collection[bytes]) -> tuple[int, list[tuple[bytes, str]]]:
    """How many of these reports an open part holds, and the rows that it has without them."""
    gone, kept = {id_.hex() for id_ in ids}, list[tuple[bytes, str]]()
    n = 0
    for batch in _batches(stream, ["id", "value"]):
        n += len(batch)
        pairs = zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)
        kept += [(bytes.fromhex(id_), value) for id_, value in pairs if id_ not in gone]
    return n - len(kept), kept


def holds(stream: IO[bytes], ids: Collection[bytes]) -> bool:
    """Whether an open part holds one of these reports."""
    import pyarrow as pa
    import pyarrow.compute as pc

    asked = pa.array([id_.hex() for id_ in ids], pa.string())
    return any(pc.any(pc.is_in(batch.column(0), asked)).as_py() for batch in _batches(stream, ["id"]))


def evidence(channel: Channel[Any], stream: IO[bytes]) -> Evidence:
    """What the reports in an open part add up to."""
    import numpy as np
    import pyarrow as pa

    from tacit.warehouse.folding import Refused, fold

    total, refused = Evidence(), Refused()
    for batch in _batches(stream, ["value"], GROUP):
        counted = pa.array(batch.column(0)).value_counts()
        counts = counted.field("counts").to_numpy(zero_copy_only=False).astype(np.int64)
        total = total + fold(channel, counted.field("values"), counts, refused)
    if refused.count:
        raise damaged("a part", "holds reports that its channel cannot make")
    return total


def _batches(stream: IO[bytes], columns: list[str], size: int = BATCH) -> Iterator[Any]:
    import pyarrow.parquet as pq

    stream.seek(0)
    yield from pq.ParquetFile(stream).iter_batches(size, columns=columns)
