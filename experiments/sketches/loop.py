"""One run of Algorithm 6 for all scenarios at once: one pass over the stream.

Noise that is kept adds to the exact cells, so a scenario needs a table of its noise alone; the exact table, for the
deepest sketch, is shared. Noise is discrete Laplace as in `tacit.sketch.noise`: the difference of two geometric
numbers, from numpy's generator. `tests/experiments/test_sketches.py` holds the loop to `tacit.sketch.UseAndKeep`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from experiments.sketches.grid import DEPTHS, EPSILONS, STREAM_SEED, Size
from numba import njit

from tacit.sketch import CountSketch, hashing
from tacit.sketch.kernels import add_integers

Array = npt.NDArray[Any]


@njit(cache=True)
def zipf(rng: np.random.Generator, domain: int, out: Array) -> None:
    """Draws of Zipf(1) on 1..domain by rejection-inversion (Hoermann and Derflinger, 1996)."""
    first, last = math.log(1.5) - 1.0, math.log(domain + 0.5)
    sure = 2.0 - math.exp(math.log(2.5) - 0.5)
    for n in range(out.shape[0]):
        while True:
            u = last + rng.random() * (first - last)
            x = math.exp(u)
            k = min(max(np.int64(x + 0.5), 1), domain)
            if k - x <= sure or u >= math.log(k + 0.5) - 1.0 / k:
                out[n] = k
                break


@njit(inline="always")
def laplace(rng: np.random.Generator, scale: float) -> np.int64:
    """Discrete Laplace: floor(scale * exponential) is geometric."""
    return np.int64(-scale * math.log(1.0 - rng.random())) - np.int64(-scale * math.log(1.0 - rng.random()))


@njit(inline="always")
def median(line: Array, d: int) -> np.int64:
    """The median of the first d entries, which are sorted in place."""
    for i in range(1, d):
        value, k = line[i], i
        while k > 0 and line[k - 1] > value:
            line[k] = line[k - 1]
            k -= 1
        line[k] = value
    return line[d // 2]


@njit(cache=True)
def answer(
    rng: np.random.Generator, items: Array, number: int, cells: Array, columns: Array, signs: Array, counts: Array,
    scales: Array, depths: Array, noise: Array, stamps: Array, sums: Array,
) -> None:  # fmt: skip
    """Answer one batch in every sketch: `noise` (E, D, rows, w) and `sums` (E, D) of relative errors grow."""
    rows = cells.shape[0]
    line = np.empty(rows, np.int64)
    for n in range(items.shape[0]):
        x = items[n] - 1
        for i in range(rows):
            j = columns[x, i]
            if stamps[i, j] != number:
                stamps[i, j] = number
                for e in range(scales.shape[0]):
                    for k in range(depths.shape[0]):
                        if i < depths[k] and scales[e, k] > 0:
                            noise[e, k, i, j] += laplace(rng, scales[e, k])
        for e in range(scales.shape[0]):
            for k in range(depths.shape[0]):
                for i in range(depths[k]):
                    j = columns[x, i]
                    line[i] = (cells[i, j] + noise[e, k, i, j]) * signs[x, i]
                error = abs(median(line, depths[k]) - counts[x])
                sums[e, k] += error / max(counts[x], 1)


@njit(cache=True)
def advance(
    rng: np.random.Generator, stream: np.random.Generator, ticks: Array, times: Array, domain: int, flip: np.uint64,
    words: Array, one: Array, cells: Array, columns: Array, signs: Array, counts: Array, scales: Array,
    depths: Array, pools: Array, batches: Array, noise: Array, stamps: Array, sums: Array,
) -> None:  # fmt: skip
    """Play the ticks: the stream up to the time of each, then the batches that end there."""
    for t in range(ticks.shape[0]):
        items = np.empty(times[t + 1] - times[t], np.int64)
        zipf(stream, domain, items)
        add_integers(items.view(np.uint64), flip, one, words, True, cells)
        for n in range(items.shape[0]):
            if items[n] <= counts.shape[0]:
                counts[items[n] - 1] += 1
        for b in range(batches.shape[0]):
            if ticks[t] % batches[b] == 0:
                for p in range(pools.shape[0]):
                    asked = np.empty(batches[b], np.int64)
                    for n in range(batches[b]):
                        asked[n] = np.int64(rng.random() * pools[p]) + 1
                    number = ticks[t] // batches[b]
                    answer(rng, asked, number, cells, columns, signs, counts, scales, depths, noise[p, b],
                           stamps[p, b], sums[p, b])  # fmt: skip


def run(number: int, size: Size, progress: Any = lambda part: None) -> Array:
    """The cumulative sums of relative errors: (checkpoints, pools, batch sizes, epsilons, depths)."""
    rng, stream = np.random.default_rng([number, 1]), np.random.default_rng(STREAM_SEED)
    depths = np.array(DEPTHS)
    sketch = CountSketch(max(DEPTHS), size.w, seed=number)
    placed, signs = sketch.places(np.arange(1, max(size.pools) + 1))
    columns = placed.astype(np.int32)
    scales = np.array([[0.0 if math.isinf(e) else d / e for d in DEPTHS] for e in EPSILONS])
    shape = (len(size.pools), len(size.batches))
    noise = np.zeros((*shape, len(EPSILONS), len(DEPTHS), max(DEPTHS), size.w), np.int32)
    stamps = np.zeros((*shape, max(DEPTHS), size.w), np.int32)
    sums = np.zeros((*shape, len(EPSILONS), len(DEPTHS)))
    counts = np.zeros(max(size.pools), np.int64)
    words, flip = hashing.coefficients(number, max(DEPTHS)), hashing.integer_flip(number)
    every = size.start + np.arange(size.queries + 1) * (size.items - size.start) // size.queries
    every[0] = 0
    out = []
    for part in np.array_split(np.arange(1, size.queries + 1), size.checkpoints):
        times = every[part[0] - 1 : part[-1] + 1]
        advance(rng, stream, part, times, size.domain, flip, words, np.ones(1, np.int64), sketch.cells, columns, signs,
                counts, scales, depths, np.array(size.pools), np.array(size.batches), noise, stamps, sums)  # fmt: skip
        out.append(sums.copy())
        progress(len(out))
    return np.array(out)
