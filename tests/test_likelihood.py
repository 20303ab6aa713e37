"""The likelihood of Evidence against brute force over reports, its derivatives, and its forms at rest."""

from contextlib import suppress

import numpy as np
import pytest

from tacit import Evidence, TacitError, channels, evidence
from tacit.likelihood import MomentLikelihood, SumLikelihood, TableLikelihood

RNG = np.random.default_rng(4)
THETAS = RNG.dirichlet(np.ones(5), 6)
CHANNELS = [
    channels.srr(5, 1.0),
    channels.rrrr(5, [0, 1], 1.0, 0.9),
    channels.rrrr(5, [0, 3], 1.0, 0.9),
    channels.subset(5, 0.5, 2),
    channels.coarse(5, [0, 2], 0.5, 1),
    channels.hashed(5, 2.0),
]


def gathered(n=40, chosen=CHANNELS):
    rng = np.random.default_rng(9)
    reports = [(c, c.sample(rng.integers(0, 5, n), rng)) for c in chosen]
    return reports, sum((Evidence().add(c, r) for c, r in reports), Evidence())


def test_log_likelihood_is_the_sum_over_reports():
    reports, ev = gathered()
    expected = np.zeros(len(THETAS))
    for channel, rows in reports:
        for row in rows:
            value = tuple(row) if np.ndim(row) else int(row)
            weights = np.array([float(channel.table.weight(value, x)) for x in range(5)])
            expected += np.log(THETAS @ weights)
    actual = ev.log_likelihood(THETAS)
    np.testing.assert_allclose(actual - actual[0], expected - expected[0], rtol=1e-10)


@pytest.mark.parametrize("moments", [False, True])
def test_gradient_and_information_are_derivatives(moments):
    likelihood = gathered()[1].likelihood(moments)
    theta, step = THETAS[:1], 1e-6
    for j in range(5):
        shift = np.zeros((1, 5))
        shift[0, j] = step
        up, down = theta + shift, theta - shift
        slope = (likelihood.value(up) - likelihood.value(down)) / (2 * step)
        assert likelihood.gradient(theta)[0, j] == pytest.approx(slope[0], rel=1e-5, abs=1e-4)
        bend = (likelihood.gradient(up) - likelihood.gradient(down))[0] / (2 * step)
        np.testing.assert_allclose(likelihood.information(theta[0])[j], -bend, rtol=1e-4, atol=1e-3)


def test_rough_gradient_is_near_the_gradient():
    likelihood = gathered(chosen=CHANNELS[:4])[1].likelihood()
    assert isinstance(likelihood, TableLikelihood)
    np.testing.assert_allclose(likelihood.rough_gradient(THETAS), likelihood.gradient(THETAS), rtol=1e-4)


def test_reports_inside_the_subset_collapse_across_rrrr_channels():
    """Category 0 is in both subsets: its row is 1 + (exp(e1) - 1) at 0, whatever else the subset held."""
    ev = Evidence().add(CHANNELS[1], [0, 0, 1]).add(CHANNELS[2], [0, 3])
    likelihood = ev.likelihood()
    assert sorted(likelihood.counts) == [1, 1, 3]


def test_moments_have_the_exact_mean_and_covariance():
    """Against the whole law of a subset report, enumerated."""
    channel = channels.subset(6, 1.3, 3)
    theta = np.random.default_rng(1).dirichlet(np.ones(6))
    law = channel.matrix() @ theta
    held = np.array([np.isin(np.arange(6), report) for report in channel.reports()], float)
    mean = law @ held
    covariance = (held * law[:, None]).T @ held - np.outer(mean, mean)
    made = MomentLikelihood.of(channel.moments, mean + 0.01 * np.arange(6), 7, theta)
    residual = (0.01 * np.arange(6))[:5]
    expected = -7 / 2 * residual @ np.linalg.inv(covariance[:5, :5]) @ residual
    assert made.value(theta[None])[0] == pytest.approx(expected, rel=1e-9)


def test_moments_are_close_to_the_exact_likelihood_at_small_epsilon():
    channel = channels.subset(8, 0.3)
    theta = np.full(8, 1 / 8)
    rng = np.random.default_rng(3)
    ev = Evidence().add(channel, channel.sample(rng.integers(0, 8, 20_000), rng))
    along = np.vstack([np.eye(7), -np.ones(7)])  # directions in which theta keeps its sum
    exact, moments = (along.T @ ev.likelihood(m).information(theta) @ along for m in (False, True))
    np.testing.assert_allclose(np.linalg.eigvalsh(np.linalg.solve(exact, moments)), 1, atol=0.06)


def test_many_distinct_reports_leave_their_sums(monkeypatch):
    monkeypatch.setattr(evidence, "MAX_DISTINCT", 12)
    channel = channels.hashed(5, 2.0)
    rows = channel.sample(RNG.integers(0, 5, 30), 1)
    whole = Evidence().add(channel, rows)
    split = Evidence().add(channel, rows[:10]) + (
        Evidence().add(channel, rows[10:20]) + Evidence().add(channel, rows[20:])
    )
    assert not whole.exact
    assert Evidence().add(channel, rows[:10]).exact
    assert whole == split
    assert isinstance(whole.likelihood(), MomentLikelihood)
    both = whole.add(CHANNELS[0], [1])
    assert isinstance(both.likelihood(), SumLikelihood)
    assert np.isfinite(both.log_likelihood(THETAS)).all()


def test_too_many_distinct_reports_without_moments_are_refused_and_not_forgotten(monkeypatch):
    """A channel whose tally has no Gaussian form: the likelihood was once that of no report at all."""
    monkeypatch.setattr(evidence, "MAX_DISTINCT", 3)
    many = Evidence().add(CHANNELS[0], [0, 1, 2, 3, 4])
    assert not many.exact
    assert np.isfinite(many.moments().theta).all()
    with pytest.raises(TacitError) as refusal:
        many.log_likelihood(THETAS)
    assert (refusal.value.code, refusal.value.argument) == ("too_many_reports", "evidence")


def test_bytes_and_identity():
    _, ev = gathered()
    again = Evidence.from_bytes(ev.to_bytes())
    assert again == ev
    assert again.id == ev.id
    assert len(again) == len(ev)
    np.testing.assert_array_equal(again.log_likelihood(THETAS), ev.log_likelihood(THETAS))
    assert Evidence.from_bytes(Evidence().to_bytes()) == Evidence()
    known = Evidence().add(channels.srr(3, 1.0), [0, 1, 1, 2])
    assert known.id == "642d1eea956b8708c6b810fcce07aba3c09cadca30cbd76b7e3075eb70860adb"


def test_damaged_bytes_are_refused():
    data = gathered()[1].to_bytes()
    for damaged in (b"", b"PK", data[:-30], data[: len(data) // 2], data.replace(b"evidence", b"evidense")):
        with pytest.raises(TacitError) as refusal:
            Evidence.from_bytes(damaged)
        assert refusal.value.code == "message_malformed"


def test_any_damaged_byte_is_refused():
    data = bytearray(Evidence().add(CHANNELS[3], [[0, 1], [1, 4]]).to_bytes())
    original = Evidence.from_bytes(bytes(data))
    for place in range(0, len(data), 7):
        data[place] ^= 0x41
        with suppress(
            TacitError
        ):  # any other error fails; a byte of the archive that carries no content may pass
            assert Evidence.from_bytes(bytes(data)) == original
        data[place] ^= 0x41


def test_no_evidence_has_no_likelihood():
    with pytest.raises(TacitError) as refusal:
        Evidence().log_likelihood([[0.5, 0.5]])
    assert refusal.value.argument == "evidence"


@pytest.mark.parametrize(
    "theta",
    [[0.5, 0.5], [0.2, 0.2, 0.2, 0.2, 0.3], [np.nan] * 5, "theta", [[[0.2] * 5]], [1.2, -0.2, 0, 0, 0]],
)
def test_theta_that_is_no_distribution_is_refused(theta):
    with pytest.raises(TacitError) as refusal:
        gathered()[1].log_likelihood(theta)
    assert refusal.value.argument == "theta"
