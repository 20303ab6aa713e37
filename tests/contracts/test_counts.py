"""Counted reports are the reports themselves: one Evidence, however they are listed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit.evidence
from tacit import Evidence, TacitError, channels
from tacit.channels import kernels

CHANNELS = [
    channels.srr(5, 1.0),
    channels.rrrr(5, [0, 1], 1.0, 0.9),
    channels.subset(5, 0.5, 2),
    channels.coarse(5, [0, 2], 0.5, 1),
    channels.hashed(5, 2.0),
    channels.from_matrix(channels.srr(5, 1.0).matrix(), 1.0),
    channels.graded(20, 80, 4, 1.0),
    channels.binned([20, 40, 60], channels.subset(4, 0.5, 2)),
]


def listed(channel, seed):
    """Reports, some of them listed twice, with counts; and all of them one by one."""
    rng = np.random.default_rng(seed)
    answers = rng.normal(50, 20, 6) if channel.numeric else rng.integers(0, channel.k, 6)
    distinct = channel.sample(answers, rng)
    rows = distinct[rng.integers(0, len(distinct), 10)]
    counts = rng.integers(1, 9, len(rows))
    return rows, counts, rng.permutation(np.repeat(rows, counts, axis=0))


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_adding_counts_is_adding_one_by_one(channel, seed):
    rows, counts, singles = listed(channel, seed)
    one_by_one = Evidence()
    for i in range(len(singles)):
        one_by_one = one_by_one.add(channel, singles[i : i + 1])
    counted = Evidence().add_counts(channel, rows, counts)
    assert counted.id == one_by_one.id == Evidence().add(channel, singles).id
    assert len(counted) == counts.sum()
    halves = (
        Evidence()
        .add_counts(channel, rows[:4], counts[:4])
        .add_counts(channel, rows[4:], counts[4:].tolist())
    )
    assert halves == counted
    assert (channel.tally(rows, counts) == channel.tally(singles)).all()


@pytest.mark.parametrize("channel", [CHANNELS[2], CHANNELS[4]], ids=repr)
def test_above_the_limit_only_the_tally_is_kept(channel, monkeypatch):
    monkeypatch.setattr(tacit.evidence, "MAX_DISTINCT", 2)
    rows, counts, singles = listed(channel, 7)
    assert len(np.unique(rows, axis=0)) > 2
    counted = Evidence().add_counts(channel, rows, counts)
    assert not counted.exact
    few = sum((Evidence().add(channel, singles[i : i + 1]) for i in range(len(singles))), Evidence())
    assert counted == few


def test_the_limit_itself():
    channel = channels.hashed(20, 1.0)
    singles = channel.sample(np.arange(150_000) % 20, 3)
    counts = np.ones(len(singles), dtype=np.int64)
    below = Evidence().add_counts(channel, singles[:131_072], counts[:131_072])
    assert below.exact
    assert below == Evidence().add(channel, singles[:131_072])
    above = below.add_counts(channel, singles[131_072:], counts[131_072:])
    assert not above.exact
    assert above == Evidence().add(channel, singles)


@pytest.mark.parametrize("factor", [0, 1, tacit.evidence._FACTOR])
def test_distinct_reports_do_not_depend_on_their_keys(factor, monkeypatch):
    """Even when all reports have the same key."""
    monkeypatch.setattr(tacit.evidence, "_FACTOR", factor)
    for channel in CHANNELS:
        rows, counts, _ = listed(channel, 3)
        (tally,) = Evidence().add_counts(channel, rows, counts).tallies
        distinct, where = np.unique(rows, axis=0, return_inverse=True)
        assert tally.reports.tolist() == distinct.tolist()
        assert tally.counts.tolist() == np.bincount(where.ravel(), counts).tolist()


@given(st.integers(0, 10**6), st.integers(2, 256), st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_compiled_tallies_of_hashed_reports(seed, buckets, k):
    """Against the definition, in Python's integers; values at the ends of the range among them."""
    rng = np.random.default_rng(seed)
    p = kernels.PRIME
    ends = np.array([[1, 0, 0], [1, p - 1, 1], [p - 1, p - 1, 0], [p - 1, 0, 1]])
    drawn = np.column_stack([rng.integers(1, p, 30), rng.integers(0, p, 30), rng.integers(0, buckets, 30)])
    rows = np.concatenate([ends, drawn])
    counts = rng.integers(1, 2**40, len(rows))
    held = [[(a * x + b) % p % buckets == c for x in range(k)] for a, b, c in rows.tolist()]
    counted = np.zeros(k, dtype=np.int64)
    kernels.hashed_tally(rows, counts, buckets, counted)
    assert counted.tolist() == (np.array(held) * counts[:, None]).sum(axis=0).tolist()


@pytest.mark.parametrize(
    "counts",
    [None, [], [1], [1, 0], [1, -1], [1, True], [1, 1.0], [1, 2**53], [[1, 1]], "11", [1, 2**70], [1, None]],
)
def test_bad_counts_are_refused(counts):
    with pytest.raises(TacitError) as refusal:
        Evidence().add_counts(CHANNELS[0], [0, 1], counts)
    assert (refusal.value.code, refusal.value.argument) == ("argument_invalid", "counts")


def test_impossible_reports_are_refused_with_counts_too():
    for channel, reports in ((CHANNELS[0], [5]), (CHANNELS[2], [[1, 1]]), ("srr", [0])):
        with pytest.raises(TacitError) as refusal:
            Evidence().add_counts(channel, reports, [3])
        assert refusal.value.code in ("report_impossible", "argument_invalid")
