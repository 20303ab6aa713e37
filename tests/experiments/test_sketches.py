"""The experiments on sketches: compiled loop against library, recursions against brute force, the quick form."""

import json
import math
from functools import cache

import numpy as np
import pytest
from experiments.sketches import curves, expected
from experiments.sketches.grid import DEPTHS, EPSILONS, QUICK, STREAM_SEED, Size
from experiments.sketches.loop import laplace, run, zipf
from numba import njit

from sketch.support import chi_square_p
from tacit.sketch import CountSketch, UseAndKeep, noise

ALARM = 1e-6
TINY = Size(6000, 3000, 500, 600, 60, 3, (1, 20, 600), (10, 300))


@njit
def draws(rng, scale, out):
    for n in range(len(out)):
        out[n] = laplace(rng, scale)


@pytest.mark.parametrize("scale", [0.4, 3.0, 300.0])
def test_the_loop_draws_the_discrete_laplace_law(scale):
    out = np.empty(40_000, np.int64)
    draws(np.random.default_rng(1), scale, out)
    width = max(1, round(scale / 2))
    a, edges = math.exp(-1 / scale), np.arange(-8, 9) * width
    mass = lambda low, high: sum(a ** abs(v) for v in range(low, high)) * (1 - a) / (1 + a)  # noqa: E731
    counts = [((out >= low) & (out < low + width)).sum() for low in edges]
    expected = [mass(low, low + width) for low in edges.tolist()]
    counts.append(len(out) - sum(counts))
    assert chi_square_p(counts, [*expected, 1 - sum(expected)]) > ALARM


def test_the_stream_is_zipf():
    out = np.empty(100_000, np.int64)
    zipf(np.random.default_rng(2), 50, out)
    share = 1 / np.arange(1, 51)
    assert chi_square_p(np.bincount(out, minlength=51)[1:], share / share.sum()) > ALARM


def played(number, size, epsilon, d, batch, pool, queries):
    """The same run by the library's own sketch, with these queried items."""
    every = size.start + np.arange(size.queries + 1) * (size.items - size.start) // size.queries
    every[0] = 0
    stream = np.empty(size.items, np.int64)
    rng, start = np.random.default_rng(STREAM_SEED), 0
    for stop in every[1:]:
        zipf(rng, size.domain, stream[start:stop])
        start = stop
    sketch = CountSketch(d, size.w, seed=number)
    if not math.isinf(epsilon):
        sketch = UseAndKeep(sketch, epsilon)
        sketch._source = noise.Simulated(np.random.default_rng([7, number]))
    total, start = 0.0, 0
    for k in range(size.queries // batch):
        stop = every[(k + 1) * batch]
        sketch.update(stream[start:stop])
        start = stop
        asked = queries.integers(1, pool + 1, batch)
        found = sketch.query(asked)
        found = found if math.isinf(epsilon) else found.estimates
        counts = np.bincount(stream[:stop], minlength=size.domain + 1)[asked]
        total += (np.abs(found - counts) / np.maximum(counts, 1)).sum()
    return total / size.queries


def test_the_loop_is_the_librarys_use_and_keep():
    """Mean errors over 40 runs, paired by hashes and stream: 6 comparisons, 5.5 standard errors, 1e-6 in all."""
    runs = [run(number, TINY)[-1] / TINY.queries for number in range(40)]
    for pool, batch, epsilon, d in [
        (0, 0, 1.0, 3), (0, 1, 0.05, 9), (1, 1, 1.0, 9), (1, 2, 0.05, 3), (0, 0, math.inf, 9), (1, 2, math.inf, 15)
    ]:  # fmt: skip
        mine = np.array([found[pool, batch, EPSILONS.index(epsilon), DEPTHS.index(d)] for found in runs])
        theirs = np.array(
            [
                played(
                    number,
                    TINY,
                    epsilon,
                    d,
                    TINY.batches[batch],
                    TINY.pools[pool],
                    np.random.default_rng([8, number]),
                )
                for number in range(40)
            ]
        )
        difference = mine - theirs
        assert abs(difference.mean()) < 5.5 * difference.std(ddof=1) / math.sqrt(40) + 1e-12, (
            pool,
            batch,
            epsilon,
            d,
        )
        assert mine.mean() > 0


def test_the_quick_form_gives_what_is_expected():
    found = expected.table(expected.quick(), QUICK, 6)
    assert expected.differences(found, json.loads(expected.EXPECTED.read_text())["quick"]) == []


def test_another_number_is_noticed():
    right = {"a": [1.0, 0.1], "b": [2.0, 0.1]}
    assert expected.differences({"a": [1.2, 0.1]}, right) == ["b is missing", "a: 1.2, expected 1 within 0.1"]


def recursion(n, w):
    """E(m_i) cell by cell (Ramakrishna, 1988): the first of c cells takes k items, the others the rest."""

    @cache
    def at_most(c, rest, m):
        if c == 1:
            return float(rest <= m)
        return sum(
            math.comb(rest, k) * (1 / c) ** k * (1 - 1 / c) ** (rest - k) * at_most(c - 1, rest - k, m)
            for k in range(min(m, rest) + 1)
        )

    return sum(1 - at_most(w, n, m) for m in range(n))


@pytest.mark.parametrize(("n", "w"), [(1, 5), (7, 5), (30, 8), (12, 60), (200, 3)])
def test_the_fullest_cell_is_that_of_the_recursion(n, w):
    assert curves.fullest(n, w) == pytest.approx(recursion(n, w), rel=1e-8)


def test_the_fullest_cell_of_a_large_batch():
    """400 simulated batches, five standard errors."""
    rng = np.random.default_rng(1)
    found = np.array([np.bincount(rng.integers(0, 5000, 10**4)).max() for _ in range(400)])
    assert abs(found.mean() - curves.fullest(10**4, 5000)) < 5 * found.std() / 20


@pytest.mark.parametrize(("d", "u", "scale"), [(3, 0, 3.0), (9, 20, 9.0), (15, 5, 15.0)])
def test_the_noise_of_medians_and_cells(d, u, scale):
    """40,000 simulated medians, five standard errors."""
    rows = (
        noise.Simulated(np.random.default_rng(d)).draw(noise.Law("laplace", scale), 40_000 * d).reshape(-1, d)
    )
    for found, exact in [
        (np.abs(rows[:, 0]), curves.median_noise(scale)),
        (np.abs(np.median(rows + u * (np.arange(d) > d // 2), axis=1)), curves.cell_noise(d, u, scale)),
    ]:
        assert abs(found.mean() - exact) < 5 * found.std() / 200
