"""What the duration of one `respond` tells about the answer and about the outcome.

The outcome is whether the report shows the answer: it is the answer (srr, rrrr), holds it (subset), or is its
bucket (hashed). Who learns the outcome and sees the report knows more than the channel's epsilon allows.

Calls with the two answers are mixed at random, so a drift of the machine's speed touches both alike. A rule is
learnt on every other call and judged on the rest, with both groups given the same weight: 0.5 is guessing.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import numpy as np

from tacit import channels
from tacit_client.tables import Table

BATCH = 20_000
CEILING = 99.5  # percentile: interrupted calls count as this long in the mean and the deviation
Times = np.ndarray
Truthful = Callable[..., bool]


def _cases() -> list[tuple[str, Table, int, int, Truthful]]:
    """The name, the table, two answers, and whether a report shows the answer."""
    srr, wide = channels.srr(20, 1).table, channels.hashed(100_000, 2).table
    rrrr = channels.rrrr(20, range(5), 1, 0.9).table

    def same(report: object, x: int) -> bool:
        return report == x

    def bucket(report: tuple[int, int, int], x: int) -> bool:
        return wide.bucket(report[0], report[1], x) == report[2]

    return [
        ("srr, K = 20", srr, 0, 0, same),  # a control: there is nothing to find
        ("srr, K = 20", srr, 0, 19, same),
        ("rrrr, K = 20", rrrr, 0, 19, same),  # 0 is in its subset, 19 is not
        ("subset, K = 20", channels.subset(20, 1).table, 0, 19, lambda report, x: x in report),
        ("hashed, K = 100,000", wide, 0, 99_999, bucket),  # 0 a is a short product
        ("hashed, K = 100,000", wide, 50_000, 99_999, bucket),
    ]


def response_times(calls: int) -> list[dict[str, object]]:
    """Compare the durations by answer, and by outcome for each answer, from `calls` calls or more each."""
    rows = []
    for name, table, first, second, truthful in _cases():
        ns, by_second, shows = _measure(table, (first, second), truthful, calls)
        groups = {f"answer {first} / {second}": (~by_second, by_second)}
        if first != second:
            for answer, chosen in ((first, ~by_second), (second, by_second)):
                groups[f"answer {answer}: shown / not shown"] = (chosen & shows, chosen & ~shows)
        for label, (one, other) in groups.items():
            rows.append({"channel": name, "groups": label} | compare(ns[one], ns[other]))
    return rows


def _measure(
    table: Table, answers: tuple[int, int], truthful: Truthful, calls: int
) -> tuple[Times, np.ndarray, np.ndarray]:
    """Durations in ns, which calls had the second answer, and which reports show the answer."""
    rng = np.random.default_rng(5)
    batches: list[tuple[Times, np.ndarray, np.ndarray]] = []
    counts = np.zeros((2, 2), dtype=np.int64)
    gc.collect()
    gc.disable()
    try:
        _batch(table, answers, truthful, rng)  # warm up
        while counts.min() < calls:
            batches.append(_batch(table, answers, truthful, rng))
            _, by_second, shows = batches[-1]
            np.add.at(counts, (by_second.astype(int), shows.astype(int)), 1)
    finally:
        gc.enable()
    ns, by_second, shows = (np.concatenate(part) for part in zip(*batches, strict=True))
    return ns, by_second, shows


def _batch(
    table: Table, answers: tuple[int, int], truthful: Truthful, rng: np.random.Generator
) -> tuple[Times, np.ndarray, np.ndarray]:
    clock, respond = time.perf_counter_ns, table.respond
    order = rng.integers(0, 2, BATCH)
    asked = [answers[which] for which in order.tolist()]  # so that the loop knows the answer and nothing else
    ns, shows = [], []
    for x in asked:
        start = clock()
        report = respond(x)
        end = clock()
        ns.append(end - start)
        shows.append(truthful(report, x))
    return np.array(ns), order == 1, np.array(shows)


def compare(one: Times, other: Times) -> dict[str, object]:
    """Percentiles of two samples of durations, their standardised difference, and how well a rule tells them."""
    ceiling = np.percentile(np.concatenate([one, other]), CEILING)
    a, b = np.minimum(one, ceiling), np.minimum(other, ceiling)
    deviation = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2)
    return {
        "calls": f"{len(one):,} / {len(other):,}",
        "median ns": f"{np.median(one):,.0f} / {np.median(other):,.0f}",
        "5% to 95% ns": f"{_range(one)} / {_range(other)}",
        "Cohen's d": float((a.mean() - b.mean()) / deviation),
        "best threshold": _judged(one, other, _threshold),
        "best rule": _judged(one, other, _table),
    }


def _range(ns: Times) -> str:
    return "{:,.0f}-{:,.0f}".format(*np.percentile(ns, (5, 95)))


def _judged(
    one: Times, other: Times, learn: Callable[[Times, Times], Callable[[Times], np.ndarray]]
) -> float:
    """The accuracy, on the odd calls, of a rule learnt from the even ones."""
    rule = learn(one[::2], other[::2])
    return float((rule(one[1::2]).mean() + 1 - rule(other[1::2]).mean()) / 2)


def _threshold(one: Times, other: Times) -> Callable[[Times], np.ndarray]:
    """Guess the first group on the better side of the best single threshold."""
    edges = np.unique(np.concatenate([one, other]))
    gap = [np.searchsorted(np.sort(group), edges, side="right") / len(group) for group in (one, other)]
    lead = gap[0] - gap[1]
    at = int(np.abs(lead).argmax())
    return lambda ns: (ns <= edges[at]) == (lead[at] > 0)


def _table(one: Times, other: Times) -> Callable[[Times], np.ndarray]:
    """Guess, for every short span of time, the group that is likelier there."""
    edges = np.unique(np.percentile(np.concatenate([one, other]), np.linspace(0, 100, 201)))
    share = [
        np.bincount(np.searchsorted(edges, group), minlength=len(edges) + 1) / len(group)
        for group in (one, other)
    ]
    return lambda ns: (share[0] > share[1])[np.searchsorted(edges, ns)]
