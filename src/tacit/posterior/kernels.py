"""Compiled draws of many one-dimensional laws at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float64]


@njit(cache=True)
def draw_cells(cumulated: Floats, inner: Floats, rho: float, rng: np.random.Generator, out: Floats) -> None:
    """Fill out[d, i] with draws of law i, given by cumulated[i] over cells.

    inner[j] are the ends of cell j and equal parts of the prior's mass between them; within a part a draw is uniform,
    except next to zero, where the prior is t^(rho - 1).
    """
    cells, parts = inner.shape[0], inner.shape[1] - 1
    for d in range(out.shape[0]):
        for i in range(out.shape[1]):
            row = cumulated[i]
            u = rng.random() * row[cells - 1]
            low, high = 0, cells - 1
            while low < high:
                middle = (low + high) // 2
                if row[middle] < u:
                    low = middle + 1
                else:
                    high = middle
            v = rng.random() * parts
            part = min(int(v), parts - 1)
            start, end = inner[low, part], inner[low, part + 1]
            if start == 0.0:
                out[d, i] = end * (v - part) ** (1 / rho)
            else:
                out[d, i] = start + (v - part) * (end - start)
