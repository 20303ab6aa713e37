"""The thesis' parameters, and what it leaves open.

The stream has 2^27 items from Zipf(1) on {1, ..., 2^29}. A scenario has a privacy epsilon, d rows, queries in
batches of n_Q items, and a pool: items come from the u most frequent. Queries begin after 500,000 items; 10^6 items
are queried in all.

Open in the text, and settled so: the k-th of B batches comes after 500,000 + k (2^27 - 500,000) / B items; a batch
is drawn with replacement, for n_Q may exceed u; the u most frequent items are those of the law, 1..u; the relative
error is abs(estimate - f) / max(f, 1), since most of 500,000 items have not occurred in the beginning. Epsilon
infinity is a sketch without noise. All scenarios of a run share the stream, the hashes (deeper sketches add rows)
and the queries of their pool and batch size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

POOLS = (50, 5000, 500_000)
BATCHES = (1, 1000, 10_000, 100_000, 1_000_000)
EPSILONS = (0.01, 0.05, 1.0, math.inf)
DEPTHS = (3, 9, 15)
RUNS = 20
STREAM_SEED = 20240


@dataclass(frozen=True)
class Size:
    """How long a run is. A checkpoint is written after each of `checkpoints` equal parts of the queries."""

    items: int = 2**27
    domain: int = 2**29
    start: int = 500_000
    queries: int = 1_000_000
    w: int = 5000
    checkpoints: int = 40
    batches: tuple[int, ...] = BATCHES
    pools: tuple[int, ...] = POOLS


FULL = Size()
QUICK = Size(2**18, 2**20, 2000, 4000, 500, 20, (1, 100, 4000), (50, 5000))
