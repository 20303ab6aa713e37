"""Compiled inner loops of the sketches. Imported only when one is called: numba takes half a second to load.

Each has a plain numpy twin in tests/oracles.py, and a test that compares the two. `coefficients` (d, 6) and the
meaning of a digest are those of `tacit.sketch.hashing`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

BLOCK = 1024  # digests that are spread over one row before the next row comes into the cache
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_63 = np.uint64(63)
_MULTIPLIER = np.uint64(0x9FB21C651E98DF25)  # PRIME_MX2 of XXH3
_49, _15, _24, _40, _35, _28, _8 = (np.uint64(n) for n in (49, 15, 24, 40, 35, 28, 8))


@njit(inline="always")
def _digest(key: np.uint64, flip: np.uint64) -> np.uint64:
    # XXH3_64 of the eight bytes of `key`; `flip` holds the secret and the seed.
    h = ((key >> _32) | (key << _32)) ^ flip
    h ^= ((h << _49) | (h >> _15)) ^ ((h << _24) | (h >> _40))
    h *= _MULTIPLIER
    h ^= (h >> _35) + _8
    h *= _MULTIPLIER
    return h ^ (h >> _28)


@njit(inline="always")
def _column(digest: np.uint64, row: Words, w: np.uint64) -> np.uint64:
    word = (row[0] + (digest & _LOW)) * (row[1] + (digest >> _32)) + row[2]
    column: np.uint64 = ((word >> _32) * w) >> _32
    return column


@njit(inline="always")
def _sign(digest: np.uint64, row: Words) -> np.int64:
    word = (row[3] + (digest & _LOW)) * (row[4] + (digest >> _32)) + row[5]
    return np.int64(1) - np.int64(2) * np.int64(word >> _63)


@njit(cache=True)
def digest_integers(keys: Words, flip: np.uint64, out: Words) -> None:
    """Set out[n] to the digest of keys[n]."""
    for n in range(keys.shape[0]):
        out[n] = _digest(keys[n], flip)


@njit(inline="always")
def _spread(digests: Words, weights: Counts, coefficients: Words, signed: bool, cells: Counts) -> None:
    one = weights.shape[0] == 1 and digests.shape[0] != 1
    w = np.uint64(cells.shape[1])
    for i in range(cells.shape[0]):
        row, line = coefficients[i], cells[i]
        for n in range(digests.shape[0]):
            weight = weights[0] if one else weights[n]
            if signed:
                weight *= _sign(digests[n], row)
            line[_column(digests[n], row, w)] += weight


@njit(cache=True)
def add_integers(
    keys: Words, flip: np.uint64, weights: Counts, coefficients: Words, signed: bool, cells: Counts
) -> None:
    """Add integer items to `cells` (d, w); one weight stands for all of them."""
    block = np.empty(BLOCK, np.uint64)
    for start in range(0, keys.shape[0], BLOCK):
        n = min(BLOCK, keys.shape[0] - start)
        for k in range(n):
            block[k] = _digest(keys[start + k], flip)
        part = weights if weights.shape[0] == 1 else weights[start : start + n]
        _spread(block[:n], part, coefficients, signed, cells)


@njit(cache=True)
def add_digests(digests: Words, weights: Counts, coefficients: Words, signed: bool, cells: Counts) -> None:
    """Add items to `cells` (d, w) by their digests; one weight stands for all of them."""
    for start in range(0, digests.shape[0], BLOCK):
        stop = min(start + BLOCK, digests.shape[0])
        part = weights if weights.shape[0] == 1 else weights[start:stop]
        _spread(digests[start:stop], part, coefficients, signed, cells)


@njit(cache=True)
def places(digests: Words, coefficients: Words, w: int, columns: Counts, signs: npt.NDArray[np.int8]) -> None:
    """Fill `columns` and `signs` (n, d): where the rows keep each item."""
    wide = np.uint64(w)
    for n in range(digests.shape[0]):
        for i in range(coefficients.shape[0]):
            columns[n, i] = _column(digests[n], coefficients[i], wide)
            signs[n, i] = _sign(digests[n], coefficients[i])


@njit(cache=True)
def read(digests: Words, coefficients: Words, signed: bool, cells: Counts, out: Counts) -> None:
    """Fill `out` (n, d) with what each row says of each item."""
    w = np.uint64(cells.shape[1])
    for n in range(digests.shape[0]):
        for i in range(cells.shape[0]):
            value = cells[i, _column(digests[n], coefficients[i], w)]
            out[n, i] = value * _sign(digests[n], coefficients[i]) if signed else value


@njit(cache=True)
def medians(rows: Counts, out: Counts) -> None:
    """Set out[n] to the median of rows[n] (odd d), by insertion: d is small."""
    d = rows.shape[1]
    line = np.empty(d, np.int64)
    for n in range(rows.shape[0]):
        for i in range(d):
            value = rows[n, i]
            k = i
            while k > 0 and line[k - 1] > value:
                line[k] = line[k - 1]
                k -= 1
            line[k] = value
        out[n] = line[d // 2]
