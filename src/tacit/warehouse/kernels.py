"""The compiled reader of report values: integers in decimal, joined by commas, in their one spelling.

The oracle is `tacit_client.value_from_text`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

COMMA, ZERO, NINE = ord(","), ord("0"), ord("9")
LARGEST = 2**31


@njit(cache=True, nogil=True)
def parse_values(
    ends: npt.NDArray[np.int64], text: npt.NDArray[np.uint8], out: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Read value i, text[ends[i]:ends[i + 1]], into row i of `out`; whether it has that form, one entry a value."""
    good = np.zeros(out.shape[0], np.bool_)
    columns = out.shape[1]
    for i in range(out.shape[0]):
        column, number, digits, fits = 0, 0, 0, True
        for j in range(ends[i], ends[i + 1]):
            c = text[j]
            if c == COMMA and digits > 0 and column < columns - 1:
                out[i, column] = number
                column, number, digits = column + 1, 0, 0
            elif ZERO <= c <= NINE and not (digits > 0 and number == 0):
                number, digits = number * 10 + (c - ZERO), digits + 1
                if number > LARGEST:
                    fits = False
                    break
            else:
                fits = False
                break
        if fits and digits > 0 and column == columns - 1:
            out[i, column] = number
            good[i] = True
    return good
