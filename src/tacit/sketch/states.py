"""Sketches from the bytes that `to_bytes` wrote: refused unless every byte is as it was.

>>> from tacit.sketch import CountSketch
>>> from_bytes(CountSketch(d=3, w=10).to_bytes())
CountSketch(d=3, w=10, seed=0)
"""

from __future__ import annotations

from tacit.sketch import wire
from tacit.sketch.fresh import CellPerturbation, MedianPerturbation, UseAndForget
from tacit.sketch.private import Private, UseAndKeep
from tacit.sketch.sketches import Sketch, unpack

METHODS: dict[str, type[Private]] = {
    kind.method: kind for kind in (UseAndKeep, UseAndForget, CellPerturbation, MedianPerturbation)
}


def private_from_bytes(data: bytes) -> Private:
    """The private sketch that `to_bytes` wrote; refused unless every byte is as it was."""
    record, parts = wire.unpack(data, "private sketch")
    try:
        return METHODS[record["method"]].from_record(record, parts)
    except (KeyError, TypeError, ValueError):
        raise wire.damaged() from None


def from_bytes(data: bytes) -> Sketch:
    """The sketch that `to_bytes` wrote; refused unless every byte is as it was."""
    record, parts = wire.unpack(data, "sketch")
    try:
        return unpack(record, parts)
    except (KeyError, TypeError, ValueError):
        raise wire.damaged() from None
