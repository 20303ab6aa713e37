"""Compiled inner loops. Imported only when one is called: numba takes half a second to load.

Each has a plain numpy twin in tests/oracles.py, and a test that compares the two.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from tacit_client.tables.hashed import PRIME


@njit(cache=True)
def sample_subsets(
    cells: npt.NDArray[np.int64],
    m: int,
    include: float,
    rng: np.random.Generator,
    out: npt.NDArray[np.integer],
) -> None:
    """Fill the rows of `out` with sorted cells of 0..m-1: each holds its own cell with probability `include`.

    Floyd's algorithm over the labels 0..m-2 of the other cells: O(size) random numbers and no shuffle. The own cell
    trades places with the last one, so that a label is its cell except that label `own` stands for cell m-1. One random
    double serves two choices: its 53 bits make every pair of labels equally likely within m^2 / 2^53.
    """
    size = out.shape[1]
    others = m - 1
    held = np.zeros(m, np.uint8)
    row = np.zeros(m + 1, out.dtype)
    for i in range(cells.shape[0]):
        own = cells[i]
        held[:] = 0
        hit = rng.random() < include
        j = others - size + hit
        if (size - hit) % 2 == 1:
            held[np.uint64(rng.random() * (j + 1))] = 1
            j += 1
        while j < others:
            v = rng.random() * (j + 1)
            choice = np.uint64(v)
            _hold(held, choice, np.uint64(j))
            _hold(held, np.uint64((v - choice) * (j + 2)), np.uint64(j + 1))
            j += 2
        held[others] = held[own]
        held[own] = hit
        # Without a branch: write every cell, move on only past the held ones.
        count = np.uint64(0)
        for cell in range(m):
            row[count] = cell
            count += np.uint64(held[np.uint64(cell)])
        out[i, :] = row[:size]


@njit(inline="always")
def _hold(held: npt.NDArray[np.uint8], choice: np.uint64, last: np.uint64) -> None:
    # One step of Floyd's algorithm: the choice, or the last label if the choice is held already.
    taken = held[choice]
    held[choice] = 1
    held[last] |= taken


@njit(cache=True, nogil=True)
def hashed_tally(
    reports: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    buckets: int,
    out: npt.NDArray[np.int64],
) -> None:
    """Add to out[x] the counts of the reports (a, b, bucket) that category x hashes to.

    From one category to the next the hash a x + b mod p moves by one addition, and so does what it leaves modulo
    `buckets`: there is no division. A block of reports goes through all categories together, in 32-bit lanes.
    """
    block = min(2048, reports.shape[0])
    hashed, step = np.empty(block, np.uint32), np.empty(block, np.uint32)
    rest, rest_step, wanted = np.empty(block, np.int32), np.empty(block, np.int32), np.empty(block, np.int32)
    made = np.empty(block, np.int64)
    prime, g, prime_rest = np.uint32(PRIME), np.int32(buckets), np.int32(PRIME % buckets)
    for start in range(0, reports.shape[0], block):
        size = min(block, reports.shape[0] - start)
        for i in range(size):
            a, b, bucket = reports[start + i]
            step[i], hashed[i], wanted[i] = a, b, bucket
            rest_step[i], rest[i], made[i] = a % buckets, b % buckets, counts[start + i]
        for x in range(out.shape[0]):
            hits = np.int64(0)
            for i in range(size):
                hits += made[i] if rest[i] == wanted[i] else 0
                moved = np.uint32(hashed[i] + step[i])
                wraps = moved >= prime
                hashed[i] = moved - prime if wraps else moved
                left = np.int32(rest[i] + rest_step[i] - (prime_rest if wraps else np.int32(0)))
                left = left + g if left < 0 else left
                rest[i] = left - g if left >= g else left
            out[x] += hits


@njit(cache=True)
def hashed_likelihood(
    reports: npt.NDArray[np.int64], buckets: int, odds: float, out: npt.NDArray[np.float64]
) -> None:
    """Set out[i, x] to `odds` where category x hashes to the bucket of report i, and to 1 elsewhere."""
    for i in range(reports.shape[0]):
        a, value, bucket = reports[i, 0], reports[i, 1], reports[i, 2]
        for x in range(out.shape[1]):
            out[i, x] = odds if value % buckets == bucket else 1.0
            value += a
            if value >= PRIME:
                value -= PRIME
