"""Bounds the privacy loss of a released distribution from below, by running it.

A *play* runs one stream with one adaptive schedule of queries and returns scores: numbers that an observer can
compute from the answers. It is played often with the differing element and without it. On the first half of the
plays each score picks its event, {score >= t} or {score <= t} or {score = t}, with the largest ratio; on the second
half Clopper and Pearson's intervals of the two probabilities p, q bound ln((p - delta) / q) from below.

The bound of each of the scores and directions holds with probability 1 - alarm / (2 scores), so an honest mechanism
has a bound above its epsilon with probability `alarm` at most.
"""

import math

import numpy as np
from scipy.stats import beta

ALARM = 1e-6


def lower_bound(play, runs=1600, delta=0.0, alarm=ALARM):
    """The loss that the plays prove, with confidence 1 - alarm."""
    scores = {
        present: np.array([play(present) for _ in range(runs)], dtype=float) for present in (True, False)
    }
    scores = {present: values.reshape(runs, -1) for present, values in scores.items()}
    half, count = runs // 2, scores[True].shape[1]
    best = -math.inf
    for k in range(count):
        for likely in (True, False):
            p, q = scores[likely][:, k], scores[not likely][:, k]
            event = choose(p[:half], q[:half], delta)
            bound = proven(event(p[half:]), event(q[half:]), delta, alarm / (2 * count))
            best = max(best, bound)
    return best


def choose(p, q, delta):
    """The event that promises the largest bound."""
    events = []
    for t in np.unique(np.quantile(np.concatenate([p, q]), np.linspace(0, 1, 41))):
        events += [lambda s, t=t: s >= t, lambda s, t=t: s <= t, lambda s, t=t: s == t]
    return max(events, key=lambda event: proven(event(p), event(q), delta, 1e-3))


def proven(p, q, delta, alarm):
    """ln((p - delta) / q) at least, from two samples of an event."""
    low = beta.ppf(alarm / 2, p.sum(), len(p) - p.sum() + 1) if p.any() else 0.0
    high = beta.ppf(1 - alarm / 2, q.sum() + 1, len(q) - q.sum()) if not q.all() else 1.0
    return math.log((low - delta) / high) if low > delta else -math.inf
