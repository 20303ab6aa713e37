"""How many answers of a batch one element of the stream can touch: the sensitivity of median perturbation.

An element that comes or goes changes at most one cell in every row. It touches an answer when the two share a cell
in some row. With j_i^x the column of item x in row i, the number of touched answers is at most

    m = max over columns j_1, ..., j_d of #{x in the batch: j_1 = j_1^x or ... or j_d = j_d^x},

a maximum cover with one set from each row (NP-hard, the thesis says). Always m <= sum_i max_j N(i, j), N(i, j) the
number of the batch's items in cell (i, j) (Algorithm 4 of the thesis), and m <= n; for n <= d items m = n. Small
batches are searched by branch and bound; if that takes too long, the bound is used. m depends on the queries and
the public hashes alone.

>>> most_touched(np.array([[0, 0], [0, 1], [1, 1], [2, 2]]))
3
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import Integers

SMALL = 256  # items that are searched
NODES = 50_000  # steps of the search, about a tenth of a second


def most_touched(columns: Integers) -> int:
    """m for a batch of distinct items with these columns (n, d): exact, or Algorithm 4's bound."""
    n, d = columns.shape
    if n <= d:
        return int(n)
    bound = touched_bound(columns)
    if n > SMALL:
        return bound
    return _search(columns, bound)


def touched_bound(columns: Integers) -> int:
    """The sum over the rows of the fullest cell's items, at most n."""
    fullest = [int(np.unique(line, return_counts=True)[1].max()) for line in columns.T]
    return min(sum(fullest), len(columns))


def _search(columns: Integers, bound: int) -> int:
    """Depth first over the rows: sets of items are bits of a whole number; a branch that cannot win is cut."""
    choices = sorted((_cells(line) for line in columns.T), key=lambda sets: -sets[0].bit_count())
    rest = [0] * (len(choices) + 1)
    for i in reversed(range(len(choices))):
        rest[i] = rest[i + 1] + choices[i][0].bit_count()
    best, nodes = 0, 0
    stack = [(0, 0)]
    while stack:
        depth, held = stack.pop()
        size = held.bit_count()
        best = max(best, size)
        if best == bound:
            return bound
        if depth == len(choices) or size + rest[depth] <= best:
            continue
        nodes += len(choices[depth])
        if nodes > NODES:
            return bound
        reached = {held | cell for cell in choices[depth]}
        stack.extend((depth + 1, union) for union in sorted(reached, key=int.bit_count))
    return best


def _cells(line: Integers) -> list[int]:
    """The sets of items that share a column, the largest first."""
    sets: dict[int, int] = {}
    for k, column in enumerate(line.tolist()):
        sets[column] = sets.get(column, 0) | 1 << k
    return sorted(sets.values(), key=lambda bits: -bits.bit_count())
