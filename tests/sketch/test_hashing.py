"""Hashes: the published functions, the same everywhere, and as independent as the mathematics asks."""

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from scipy.stats import binomtest

from oracles import sketch_cells, sketch_place
from sketch.support import chi_square_p
from tacit.sketch import CountMinSketch, CountSketch, hashing
from tacit.sketch.items import read_items

ALARM = 1e-6
SEEDS = (0, 1, 12345678901, 2**64 - 1)
GOLDEN = {
    "integer": 5820955060966382888,
    "string": 221771365752029822,
    "columns": [249, 705, 159, 521],
    "signs": [-1, 1, 1, 1],
}
KEYS = np.array([0, 1, -1, 77, 2**62, -(2**63), 2**63 - 1], np.int64)


@pytest.mark.parametrize("seed", SEEDS)
def test_integers_are_hashed_by_xxh3(seed):
    own = int(hashing._stream(seed, 2)[0])
    expected = [xxhash.xxh3_64_intdigest(int(k).to_bytes(8, "little", signed=True), own) for k in KEYS]
    assert hashing.digest(KEYS, seed).tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_strings_of_every_length_are_hashed_by_xxh3(seed):
    own = int(hashing._stream(seed, 2)[1])
    rng = np.random.default_rng(1)
    strings = [rng.bytes(size) for size in [*range(40), 100, 129, 241, 5000] for _ in range(5)]
    expected = [xxhash.xxh3_64_intdigest(string, own) for string in strings]
    assert read_items(strings, seed).digests.tolist() == expected
    words = ["", "é", "ant", "a long word above sixteen", "中文"]
    expected = [xxhash.xxh3_64_intdigest(word.encode(), own) for word in words]
    for items in (
        words,
        pa.array(words),
        pa.array(words)[1:].take([0, 1, 2, 3]),
        pa.array(["x", *words])[1:],
    ):
        assert read_items(items, seed).digests.tolist() == expected[-len(items) :]


def test_a_seed_means_the_same_everywhere():
    """Written on one machine; a difference would make sketches of two machines strangers."""
    assert hashing.digest([7], 3).tolist() == [GOLDEN["integer"]]
    assert read_items(["ant"], 3).digests.tolist() == [GOLDEN["string"]]
    columns, signs = hashing.places(hashing.digest([7], 3), 3, 4, 1000)
    assert (columns[0].tolist(), signs[0].tolist()) == (GOLDEN["columns"], GOLDEN["signs"])


@pytest.mark.parametrize("w", [1, 2, 997, 2**20])
def test_places_are_those_of_the_formula(w):
    digests = np.random.default_rng(0).integers(0, 2**64, 200, np.uint64)
    columns, signs = hashing.places(digests, 5, 4, w)
    for i, words in enumerate(hashing.coefficients(5, 4).tolist()):
        expected = [sketch_place(digest, words, w) for digest in digests.tolist()]
        assert list(zip(columns[:, i].tolist(), signs[:, i].tolist(), strict=True)) == expected


def test_a_deeper_sketch_has_the_same_first_rows():
    assert (hashing.coefficients(9, 15)[:3] == hashing.coefficients(9, 3)).all()


@pytest.mark.parametrize("kind", [CountSketch, CountMinSketch])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 3000])
def test_the_table_is_the_sum_over_items(kind, weighted, count):
    rng = np.random.default_rng(count)
    keys, weights = rng.integers(0, 50, count), rng.integers(0, 9, count)
    words = hashing.coefficients(2, 3).tolist()
    for items in (keys, [f"w{k}" for k in keys]):
        sketch = kind(3, 17, seed=2)
        sketch.update(items, weights if weighted else None)
        digests = read_items(items, 2).digests.tolist()
        ones = weights.tolist() if weighted else [1] * count
        assert (sketch.cells == sketch_cells(digests, ones, words, 17, kind is CountSketch)).all()
        assert sketch.total == sum(ones)
        assert (sketch.rows(items[:5]) == twin_rows(sketch, digests[:5], words)).all()


def twin_rows(sketch, digests, words):
    rows = []
    for digest in digests:
        places = [sketch_place(digest, row, sketch.w) for row in words]
        rows.append([sketch.cells[i, j] * (s if sketch.signed else 1) for i, (j, s) in enumerate(places)])
    return np.array(rows)


@pytest.mark.parametrize("keys", [np.arange(200_000), np.arange(200_000) * 2**40, np.arange(200_000) ** 2])
def test_columns_and_signs_of_orderly_keys_are_even(keys):
    """Six tests at 1e-6 a case: columns, signs, and both together."""
    columns, signs = hashing.places(hashing.digest(keys, 11), 11, 3, 64)
    for i in range(3):
        together = columns[:, i] * 2 + (signs[:, i] > 0)
        assert chi_square_p(np.bincount(together, minlength=128), np.full(128, 1 / 128)) > ALARM
    pairs = columns[:, 0] * 64 + columns[:, 1]
    assert chi_square_p(np.bincount(pairs, minlength=4096), np.full(4096, 1 / 4096)) > ALARM


def test_pairs_collide_and_agree_as_often_as_independence_says():
    """Over seeds: two columns agree with probability 1/w; two signs in half of the cases, also where columns do."""
    seeds, w = range(4000), 8
    same, agree, both = 0, 0, 0
    for seed in seeds:
        columns, signs = hashing.places(hashing.digest([1, 2], seed), seed, 1, w)
        hit, alike = columns[0, 0] == columns[1, 0], signs[0, 0] == signs[1, 0]
        same, agree, both = same + hit, agree + alike, both + (hit and alike)
    assert binomtest(int(same), len(seeds), 1 / w).pvalue > ALARM
    assert binomtest(int(agree), len(seeds), 0.5).pvalue > ALARM
    assert binomtest(int(both), int(same), 0.5).pvalue > ALARM


def test_a_row_has_the_mean_and_variance_of_the_theory():
    """Over seeds: mean f_x, variance (F - f_x^2) / w; five standard errors, 1e-6."""
    counts = np.array([40, 30, 20, 10, 5, 5, 1])
    found = []
    for seed in range(4000):
        sketch = CountSketch(1, 8, seed)
        sketch.update(np.arange(7), counts)
        found.append(sketch.query([2])[0])
    errors = np.array(found) - 20
    variance = (counts @ counts - 20**2) / 8
    assert abs(errors.mean()) < 5 * errors.std() / len(errors) ** 0.5
    squares = errors.astype(float) ** 2
    assert abs(squares.mean() - variance) < 5 * squares.std() / len(errors) ** 0.5
