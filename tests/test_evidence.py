"""Evidence: monoid laws, honest moment intervals, refusals."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit import Evidence, TacitError, channels

THETA = np.array([0.5, 0.25, 0.15, 0.1])
CHANNELS = [
    channels.srr(4, 1.0),
    channels.rrrr(4, [0, 1], 1.0, 0.9),
    channels.subset(4, 0.5, 2),
    channels.coarse(4, [0, 2], 0.5, 1),
    channels.hashed(4, 2.0),
    channels.from_matrix(channels.srr(4, 1.0).matrix(), 1.0),
]


def batches(seed):
    rng = np.random.default_rng(seed)
    return [(c, c.sample(rng.integers(0, 4, rng.integers(1, 6)), rng)) for c in CHANNELS]


def one_by_one(channel, reports):
    evidence = Evidence()
    for i in range(len(reports)):
        evidence = evidence.add(channel, reports[i : i + 1])
    return evidence


@given(st.integers(0, 10_000), st.permutations(range(len(CHANNELS))))
@settings(max_examples=50, deadline=None)
def test_evidence_is_a_commutative_monoid(seed, order):
    parts = [Evidence().add(channel, reports) for channel, reports in batches(seed)]
    total = sum(parts, Evidence())
    assert total + Evidence() == Evidence() + total == total
    assert sum((parts[i] for i in order), Evidence()) == total
    left, right = parts[0] + (parts[1] + parts[2]), (parts[0] + parts[1]) + parts[2]
    assert left == right
    singles = [one_by_one(channel, reports) for channel, reports in batches(seed)]
    assert sum(singles, Evidence()) == total
    assert len(total) == sum(len(reports) for _, reports in batches(seed))
    assert total + parts[0] != total


def test_reading_never_writes_and_adding_changes_nothing_in_place():
    evidence = Evidence().add(CHANNELS[0], [0, 1, 2])
    before = pickle.dumps(evidence)
    evidence.moments().interval(0.5)
    evidence.add(CHANNELS[0], [3])
    assert pickle.loads(before) == evidence
    assert len(evidence) == 3


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_moment_intervals_cover(channel):
    """Coverage of 90 % intervals at fixed theta: 99.9999 % band of a binomial with 1,000 repeats."""
    rng = np.random.default_rng(11)
    repeats, n = 1000, 3000
    hits = np.zeros(4)
    for _ in range(repeats):
        answers = rng.choice(4, n, p=THETA)
        low, high = Evidence().add(channel, channel.sample(answers, rng)).moments().interval(0.9)
        hits += (low <= THETA) & (high >= THETA)
    known = np.isfinite(channel.unbiased(channel.frequencies(THETA), n)[1])
    assert known.sum() >= 2
    assert np.abs(hits[known] / repeats - 0.9).max() < 4.9 * np.sqrt(0.09 / repeats)
    assert (hits[~known] == repeats).all()


def test_channels_together_are_unbiased_and_sharper():
    rng = np.random.default_rng(2)
    estimates, errors = [], []
    for _ in range(400):
        evidence = Evidence()
        for channel in CHANNELS:
            evidence = evidence.add(channel, channel.sample(rng.choice(4, 500, p=THETA), rng))
        moments = evidence.moments()
        estimates.append(moments.theta)
        errors.append(moments.standard_error)
        alone = min(evidence.tallies, key=lambda t: t.n)
        assert (Evidence((alone,)).moments().standard_error >= moments.standard_error).all()
    spread = np.std(estimates, axis=0)
    assert np.abs(np.mean(estimates, axis=0) - THETA).max() < 5 * spread.max() / 20
    np.testing.assert_allclose(np.mean(errors, axis=0), spread, rtol=0.15)


@pytest.mark.parametrize("channel", [c for c in CHANNELS if c.table.kind != "hashed"], ids=repr)
def test_variance_and_mean_are_exact(channel):
    """`unbiased` against the whole law of the tally, by brute force over the reports."""
    law = channel.matrix() @ THETA
    tallies = np.array([channel.tally([report]) for report in channel.reports()])
    mean = law @ tallies
    assert mean == pytest.approx(channel.frequencies(THETA), abs=1e-14)
    estimate, variance = channel.unbiased(mean, 1)
    known = np.isfinite(variance)
    assert estimate[known] == pytest.approx(THETA[known], abs=1e-12)
    single = np.array([channel.unbiased(tally, 1)[0] for tally in tallies])[:, known]
    exact = law @ (single - THETA[known]) ** 2
    assert variance[known] == pytest.approx(exact, rel=1e-9)


def test_category_that_no_channel_tells_apart_is_unknown():
    coarse = channels.coarse(5, [0], 1.0, 1)
    moments = Evidence().add(coarse, [[0], [1], [1]]).moments()
    low, high = moments.interval()
    assert np.isnan(moments.theta[1:]).all()
    assert (low[1:] == 0).all()
    assert (high[1:] == 1).all()


@pytest.mark.parametrize(
    ("call", "code", "argument"),
    [
        (lambda: Evidence().moments(), "argument_invalid", "evidence"),
        (lambda: Evidence().add("srr", [0]), "argument_invalid", "channel"),
        (lambda: Evidence().add(CHANNELS[0], []), "report_impossible", "reports"),
        (lambda: Evidence().add(CHANNELS[0], [4]), "report_impossible", "reports"),
        (lambda: Evidence().add(CHANNELS[0], [True]), "report_impossible", "reports"),
        (lambda: Evidence().add(CHANNELS[0], [0.5]), "report_impossible", "reports"),
        (lambda: Evidence().add(CHANNELS[2], [[1, 0]]), "report_impossible", "reports"),
        (lambda: Evidence().add(CHANNELS[2], [[1, 1]]), "report_impossible", "reports"),
        (lambda: Evidence().add(CHANNELS[2], [1]), "report_impossible", "reports"),
        (lambda: Evidence().add(CHANNELS[4], [[0, 1, 1]]), "report_impossible", "reports"),
        (lambda: Evidence().add(CHANNELS[4], [[1, 1, 99]]), "report_impossible", "reports"),
        (
            lambda: Evidence().add(CHANNELS[0], [0]) + Evidence().add(channels.srr(5, 1.0), [0]),
            "channel_mismatch",
            "channel",
        ),
        (lambda: Evidence().add(CHANNELS[0], [0]).moments().interval(1), "argument_invalid", "level"),
        (lambda: Evidence().add(CHANNELS[0], [0]).moments().interval(np.nan), "argument_invalid", "level"),
    ],
)
def test_refusals(call, code, argument):
    with pytest.raises(TacitError) as refusal:
        call()
    assert (refusal.value.code, refusal.value.argument) == (code, argument)
    assert refusal.value.hint


NUMERIC = [
    channels.graded(20, 80, 1, 1.0),
    channels.graded(30, 50, 4, 1.0),
    channels.binned([20, 40, 60], channels.subset(4, 0.5, 2)),
    channels.binned([20, 40, 60], channels.hashed(4, 2.0)),
]


@given(st.integers(0, 10_000), st.permutations(range(len(NUMERIC))))
@settings(max_examples=25, deadline=None)
def test_evidence_about_a_number_is_a_monoid_too(seed, order):
    rng = np.random.default_rng(seed)
    asked = [(channel, channel.sample(rng.normal(50, 20, rng.integers(1, 6)), rng)) for channel in NUMERIC]
    parts = [Evidence().add(channel, reports) for channel, reports in asked]
    total = sum(parts, Evidence())
    assert total + Evidence() == Evidence() + total == total
    assert sum((parts[i] for i in order), Evidence()) == total
    assert sum((one_by_one(channel, reports) for channel, reports in asked), Evidence()) == total
    assert (parts[0] + parts[1]) + parts[2] == parts[0] + (parts[1] + parts[2])
    assert Evidence.from_bytes(total.to_bytes()) == total
    assert (total.k, total.numeric, total.exact, Evidence().numeric) == (None, True, True, False)


def test_rows_of_numeric_evidence_are_those_of_each_channel():
    evidence = Evidence()
    for channel in NUMERIC:
        evidence = evidence.add(channel, channel.sample(np.linspace(0, 100, 50), 1))
    for tally in evidence.tallies:
        rows, counts = tally.likelihood_rows()
        expected = tally.channel.inner.likelihood(tally.reports)
        np.testing.assert_allclose(rows, expected / expected.min(axis=1, keepdims=True))
        assert rows.shape == (len(tally.reports), tally.channel.k)
        assert counts.sum() == tally.n == 50


def test_a_number_has_no_shares_of_categories():
    channel = NUMERIC[2]
    evidence = Evidence().add(channel, [[0, 1], [1, 2]])
    calls = {
        "moments": evidence.moments,
        "likelihood": evidence.likelihood,
        "log_likelihood": lambda: evidence.log_likelihood([[0.25] * 4]),
        "gradient": lambda: evidence.gradient([[0.25] * 4]),
        "sample": lambda: tacit.posterior.sample(tacit.Categorical(4), evidence),
        "sensitivity": lambda: tacit.posterior.sensitivity(evidence),
        "add categories": lambda: evidence.add(channel.inner, [[0, 1]]),
        "add to categories": lambda: Evidence().add(channel.inner, [[0, 1]]) + evidence,
        "study": lambda: tacit.Study(["a", "b", "c", "d"], epsilon=1.0).add(channel, [[0, 1]]),
    }
    for name, call in calls.items():
        with pytest.raises(TacitError) as refusal:
            call()
        assert (refusal.value.code, refusal.value.argument) in (
            ("channel_mismatch", "evidence"),
            ("channel_mismatch", "channel"),
        ), name
    with pytest.raises(TacitError):
        tacit.posterior.predictive_check(
            tacit.posterior.sample(tacit.Categorical(4), Evidence(), draws=50), evidence
        )


def test_the_cells_of_one_channel_are_categories_of_its_inner_one():
    channel = NUMERIC[2]
    answers = np.random.default_rng(4).normal(45, 20, 20_000)
    moments = Evidence().add(channel.inner, channel.sample(answers, 5)).moments()
    shares = np.bincount(channel.cells(answers), minlength=4) / len(answers)
    assert (np.abs(moments.theta - shares) < 5 * moments.standard_error).all()


def test_public_names_are_the_ones_listed():
    assert all(hasattr(tacit, name) for name in tacit.__all__)
