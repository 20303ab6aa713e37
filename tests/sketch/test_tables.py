"""Sketches without privacy: what goes in, what comes out, what is refused."""

import math
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacit.errors import TacitError
from tacit.sketch import (
    CountMinSketch,
    CountSketch,
    UseAndKeep,
    from_bytes,
    private_from_bytes,
    sketches,
    wire,
)

KINDS = [CountSketch, CountMinSketch]
WORDS = ["ant", "bee", "ant", "cow", "ä", "bee", "ant"]


def filled(kind=CountSketch, seed=1, items=WORDS):
    sketch = kind(5, 1000, seed)
    sketch.update(items)
    return sketch


@pytest.mark.parametrize("kind", KINDS)
def test_a_wide_sketch_counts_exactly(kind):
    counts = Counter(WORDS)
    assert filled(kind).query(list(counts)).tolist() == list(counts.values())


@pytest.mark.parametrize(
    "items",
    [
        np.array(WORDS),
        np.array(WORDS, dtype=object),
        [word.encode() for word in WORDS],
        tuple(WORDS),
        pa.array(WORDS),
        pa.chunked_array([WORDS[:3], WORDS[3:], []], pa.string()),
        pa.array(WORDS, pa.large_string()),
        pa.array([word.encode() for word in WORDS]),
        pa.array(WORDS).dictionary_encode(),
        pl.Series(WORDS),
        pl.Series(WORDS, dtype=pl.Categorical),
        pd.Series(WORDS),
        pd.Series(WORDS, dtype="category"),
        pd.Series(WORDS, dtype=object),
    ],
    ids=lambda items: f"{type(items).__module__}.{type(items).__name__}",
)
def test_every_kind_of_column_is_the_same_stream(items):
    assert (filled(items=items).cells == filled().cells).all()


@pytest.mark.parametrize(
    "items",
    [
        [5, 7, 5],
        np.array([5, 7, 5], np.uint8),
        np.array([5, 7, 5], ">i4"),
        [np.int32(5), 7, np.uint64(5)],
        pa.array([5, 7, 5]),
        pl.Series([5, 7, 5]),
        pd.Series([5, 7, 5]),
        np.array([5, 0, 7, 0, 5, 0])[::2],
    ],
    ids=str,
)
def test_every_kind_of_integer_is_the_same_stream(items):
    assert (filled(items=items).cells == filled(items=np.array([5, 7, 5])).cells).all()


def test_integers_and_their_digits_are_different_items():
    assert (filled(items=[7]).cells != filled(items=["7"]).cells).any()


BAD_ITEMS = [
    [], [None], ["a", None], [1.5], [True], [1, "a"], [2**63], [-(2**63) - 1], ["a", ["b"]], "ant", b"ant", 7, None,
    np.array([0.5]), np.array([True]), np.zeros((2, 2), int), np.array([2**63], np.uint64), [float("nan")],
    pd.Series(["a", None]), pd.Series([1.0, np.nan]), pl.Series(["a", None]), pa.array([1, None]), pa.array([0.5]),
    pa.array([True]), pa.array([], pa.string()), pa.array([["a"]]), {"a"}, iter(["a"]),
    np.array(["NaT"], "datetime64[s]"),
]  # fmt: skip


@pytest.mark.parametrize("items", BAD_ITEMS, ids=lambda items: f"{type(items).__name__}:{str(items)[:9]!r}")
def test_bad_items_are_refused_and_change_nothing(items):
    sketch = CountSketch(3, 10)
    for call in (sketch.update, sketch.query):
        with pytest.raises(TacitError) as refused:
            call(items)
        assert (refused.value.code, refused.value.argument) == ("argument_invalid", "items")
    assert not sketch.cells.any()
    assert sketch.total == 0


@pytest.mark.parametrize(
    "weights",
    [[1], [1, 2, 3], [0.5, 1], [True, 1], [None, 1], 2, [2**31, 1], np.array([np.nan, 1]), [], "12"],
)
def test_bad_weights_are_refused(weights):
    for kind in KINDS:
        with pytest.raises(TacitError) as refused:
            kind(3, 10).update(["a", "b"], weights)
        assert (refused.value.code, refused.value.argument) == ("argument_invalid", "weights")


def test_weights_count_and_negative_ones_take_away():
    sketch = CountSketch(5, 1000)
    sketch.update(["a", "b", "a"], [3, 4, -1])
    assert sketch.query(["a", "b"]).tolist() == [2, 4]
    assert sketch.total == 6
    with pytest.raises(TacitError):
        CountMinSketch(5, 1000).update(["a"], [-1])


def test_cells_cannot_overflow(monkeypatch):
    monkeypatch.setattr(sketches, "LARGEST_TOTAL", 10)
    sketch = CountSketch(3, 10)
    sketch.update(["a"], [6])
    before = sketch.to_bytes()
    for act in (lambda: sketch.update(["a"], [-5]), lambda: sketch.merge(sketch.copy())):
        with pytest.raises(TacitError):
            act()
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("name", ["d", "w", "seed"])
@pytest.mark.parametrize("value", [-1, 0.5, True, None, "3", float("nan"), 2**70])
def test_bad_shapes_are_refused(name, value):
    for kind in KINDS:
        with pytest.raises(TacitError) as refused:
            kind(**{"d": 3, "w": 10, "seed": 1} | {name: value})
        assert refused.value.argument == name


def test_no_rows_no_columns_and_even_medians_are_refused():
    for kind, d, w in [
        (CountSketch, 0, 5),
        (CountMinSketch, 3, 0),
        (CountSketch, 4, 5),
        (CountMinSketch, 255, 2**31 - 1),
    ]:
        with pytest.raises(TacitError):
            kind(d, w)
    assert CountMinSketch(4, 5).d == 4


@pytest.mark.parametrize("kind", KINDS)
def test_merging_is_counting_together(kind):
    left, right, both = (
        filled(kind),
        filled(kind, items=["dog", "ant"]),
        filled(kind, items=[*WORDS, "dog", "ant"]),
    )
    left.merge(right)
    assert left.to_bytes() == both.to_bytes()


@pytest.mark.parametrize(
    "other",
    [CountSketch(5, 1000, 2), CountSketch(5, 999, 1), CountSketch(3, 1000, 1), CountMinSketch(5, 1000, 1), None,
     UseAndKeep(CountSketch(5, 1000, 1), 1.0)],
    ids=str,
)  # fmt: skip
def test_strangers_do_not_merge(other):
    sketch = filled()
    before = sketch.to_bytes()
    with pytest.raises(TacitError) as refused:
        sketch.merge(other)
    assert refused.value.code == "sketch_mismatch"
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_go_round(kind):
    sketch = filled(kind)
    again = from_bytes(sketch.to_bytes())
    assert type(again) is kind
    assert again.to_bytes() == sketch.to_bytes()
    again.update(["new"])
    assert (again.query(["new"]), sketch.query(["new"])) == ([1], [0])


def test_every_damaged_byte_is_noticed():
    data = filled(items=["a"]).to_bytes()
    step = max(len(data) // 300, 1)
    for k in [*range(0, 200), *range(200, len(data), step)]:
        broken = data[:k] + bytes([data[k] ^ 1]) + data[k + 1 :]
        with pytest.raises(TacitError) as refused:
            from_bytes(broken)
        assert refused.value.code in ("message_malformed", "version_unknown")
    for broken in (b"", data[:-1], data + b"x", data[: len(data) // 2]):
        with pytest.raises(TacitError):
            from_bytes(broken)


def test_the_future_and_other_kinds_are_refused():
    sketch, private = filled(items=["a"]), UseAndKeep(CountSketch(3, 10), 1.0)
    cases = [
        (lambda: from_bytes(sketch.to_bytes().replace(b"sketch 1", b"sketch 2", 1)), "version_unknown"),
        (lambda: from_bytes(private.to_bytes()), "sketch_mismatch"),
        (lambda: private_from_bytes(sketch.to_bytes()), "sketch_mismatch"),
        (lambda: from_bytes("text"), "argument_invalid"),
        (
            lambda: from_bytes(wire.pack("sketch", sketch.header() | {"d": 4}, {"cells": sketch.cells})),
            "message_malformed",
        ),
        (
            lambda: from_bytes(wire.pack("sketch", sketch.header(), {"cells": sketch.cells[:2]})),
            "message_malformed",
        ),
        (
            lambda: from_bytes(wire.pack("sketch", {"kind": "bloom"}, {"cells": sketch.cells})),
            "message_malformed",
        ),
        (lambda: from_bytes(wire.pack("sketch", [], {})), "message_malformed"),
    ]
    for act, code in cases:
        with pytest.raises(TacitError) as refused:
            act()
        assert refused.value.code == code


def test_a_long_query_is_read_in_parts(monkeypatch):
    sketch, items = filled(items=np.arange(500)), np.arange(1000)
    whole = sketch.query(items)
    monkeypatch.setattr(sketches, "LARGEST_BATCH", 64)
    assert (sketch.query(items) == whole).all()


def test_heavy_hitters_come_in_order():
    sketch = CountSketch(5, 1000)
    sketch.update(["a"] * 5 + ["b"] * 50 + ["c"] * 45)
    assert sketch.heavy_hitters(["a", "c", "b", "x"], 0.05).tolist() == [2, 1, 0]
    assert sketch.heavy_hitters(["a", "c", "b", "x"], 0.46).tolist() == [2]
    for share in (0, -1, 2, float("nan")):
        with pytest.raises(TacitError):
            sketch.heavy_hitters(["a"], share)


@pytest.mark.parametrize("d", [5, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover(kind, d):
    """Over 600 seeds, narrow sketches: 95 % intervals hold the count in at least 94 % but for a chance below 1e-6."""
    counts = np.array([300, 150, 100, 75, 60, 50, 43, 37, 33, 30] + [3] * 200)
    hits = []
    for seed in range(600):
        sketch = kind(d, 40, seed)
        sketch.update(np.arange(len(counts)), counts)
        low, high = sketch.interval(np.arange(0, 210, 21))
        hits.append(((low <= counts[::21]) & (counts[::21] <= high)).mean())
    hits = np.array(hits)
    assert hits.mean() > 0.95 - 5 * hits.std() / math.sqrt(len(hits))
    with pytest.raises(TacitError):
        kind(d, 40).interval([1], level=1)


def test_memory_does_not_grow_with_the_stream():
    """Ten million distinct items leave a process with hardly more memory than ten thousand do."""
    code = """
import resource, sys, numpy as np
from tacit.sketch import CountSketch, UseAndKeep
sketch = UseAndKeep(CountSketch(5, 1000), 1.0)
for k in range(int(sys.argv[1])):
    sketch.update(np.arange(k * 10_000, (k + 1) * 10_000))
    sketch.query([k])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    used = [
        int(
            subprocess.run([sys.executable, "-c", code, n], capture_output=True, text=True, check=True).stdout
        )
        for n in ("1", "1000")
    ]
    assert used[1] - used[0] < 20_000  # kilobytes
