"""Subsets as bits, chosen at many draws of theta at once.

>>> from experiments.adobest.matrices import entries
>>> theta = np.array([[0.1, 0.7, 0.2]])
>>> members(int(best_masks(theta, entries(3, 1.0, 0.9), code=5)[0]))
[1]
"""

from __future__ import annotations

import numpy as np
from experiments.adobest.choice import best_size
from numba import njit


@njit(cache=True)
def mask_of(order, size):
    """The first `size` categories of an order as bits."""
    mask = 0
    for i in range(size):
        mask |= 1 << order[i]
    return mask


@njit(cache=True)
def best_masks(draws, matrix, code):
    """The best subset by RULES[code] at each draw (n, K); `matrix` (5, K) as in `matrices.entries`."""
    out = np.empty(len(draws), np.int64)
    for i in range(len(draws)):
        order = np.argsort(-draws[i], kind="mergesort")
        out[i] = mask_of(order, best_size(draws[i][order], matrix, code, 0.0, 0))
    return out


def members(mask: int) -> list[int]:
    """The categories whose bits are set."""
    return [x for x in range(mask.bit_length()) if mask >> x & 1]
