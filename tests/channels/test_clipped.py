"""Clipped noise: its laws, the exact calibration of Gaussian noise, and what it cannot do."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

import tacit_client
from tacit import Evidence, Study, TacitError, channels
from tacit.channels import clipped_gaussian, clipped_laplace

NAN, INF = math.nan, math.inf


def exact_delta(ratio, epsilon):
    """sup over sets of P(S) - exp(epsilon) P'(S), from its definition: the noise at 0 against that at `ratio`, sd 1.

    The best set is a half-line beyond which the log-ratio ratio x - ratio^2 / 2 is above epsilon.
    """
    with mp.workdps(60):
        u, e = mp.mpf(ratio), mp.mpf(epsilon)
        edge = e / u + u / 2
        return mp.erfc((edge - u) / mp.sqrt(2)) / 2 - mp.exp(e) * mp.erfc(edge / mp.sqrt(2)) / 2


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.0, 4.0, 50.0])
@pytest.mark.parametrize("delta", [1e-200, 1e-12, 1e-5, 0.1, 0.9])
def test_gaussian_scale_is_the_least_that_keeps_epsilon_and_delta(epsilon, delta):
    scale = clipped_gaussian(-1, 2, epsilon, delta).scale
    assert exact_delta(3 / scale, epsilon) == pytest.approx(delta, rel=1e-7)
    assert exact_delta(3 / (scale * 1.0001), epsilon) < delta < exact_delta(3 / (scale / 1.0001), epsilon)


def test_gaussian_delta_against_integration_of_the_density_gap():
    channel = clipped_gaussian(0, 1, 1.0, 1e-3)
    x = np.linspace(-12, 13, 2_000_001) * channel.scale
    gap = norm.pdf(x, 1, channel.scale) - math.e * norm.pdf(x, 0, channel.scale)
    assert np.maximum(gap, 0).sum() * (x[1] - x[0]) == pytest.approx(1e-3, rel=1e-6)


def test_gaussian_scale_is_below_the_classic_bound():
    """sqrt(2 ln(1.25 / delta)) / epsilon is valid for epsilon < 1 only, and larger than needed."""
    for epsilon in (0.1, 0.5, 0.99):
        classic = math.sqrt(2 * math.log(1.25 / 1e-5)) / epsilon
        assert clipped_gaussian(0, 1, epsilon, 1e-5).scale < 0.95 * classic


def test_laplace_scale():
    channel = clipped_laplace(20, 80, 0.5)
    assert (channel.lo, channel.hi, channel.epsilon, channel.delta, channel.scale) == (20, 80, 0.5, 0, 120)
    assert clipped_gaussian(20, 80, 0.5, 1e-6).delta == 1e-6


@pytest.mark.parametrize("answer", [-100.0, 20.0, 33.0, 1e6])
def test_samples_follow_the_law(answer):
    """False alarms: 1e-6 each."""
    centre = min(max(answer, 20), 80)
    answers = np.full(20_000, answer)
    one, other = clipped_laplace(20, 80, 1.0), clipped_gaussian(20, 80, 1.0, 1e-5)
    assert kstest(one.sample(answers, 1), laplace(centre, 60).cdf).pvalue > 1e-6
    assert kstest(other.sample(answers, 1), norm(centre, other.scale).cdf).pvalue > 1e-6
    assert kstest(one.sample(answers, 1), laplace(centre, 55).cdf).pvalue < 1e-6
    np.testing.assert_array_equal(one.sample(answers, 1), one.sample(answers, np.random.default_rng(1)))


@pytest.mark.parametrize(
    "channel", [clipped_laplace(0, 1, 1.0), clipped_gaussian(0, 1, 1.0, 1e-6)], ids=["laplace", "gaussian"]
)
def test_no_real_answer_can_be_given_with_it(channel):
    for name in ("respond", "to_json", "table", "certificate", "likelihood", "id"):
        assert not hasattr(channel, name)
    assert not isinstance(channel, channels.Channel)
    with pytest.raises(TacitError):
        Evidence().add(channel, [0.5])
    study = Study(["no", "yes"], epsilon=1.0)
    with pytest.raises(TacitError):
        study.add(channel, [0.5])
    assert len(study.evidence) == 0
    with pytest.raises(TacitError):
        tacit_client.Round("s", study.question, 0, channel, None)
    with pytest.raises(TacitError):
        channels.from_table(channel)


@pytest.mark.parametrize(
    "make", [clipped_laplace, lambda *a: clipped_gaussian(*a, 1e-6)], ids=["laplace", "gaussian"]
)
def test_refusals(make):
    cases = [((1, 1, 1.0), "hi"), ((2, 1, 1.0), "hi"), ((NAN, 1, 1.0), "lo"), ((-INF, 1, 1.0), "lo")]
    cases += [((0, NAN, 1.0), "hi"), ((0, INF, 1.0), "hi"), ((True, 2, 1.0), "lo"), ((0, "1", 1.0), "hi")]
    cases += [((0, 1, bad), "epsilon") for bad in (0, -1, 50.1, NAN, INF, True, None, "1")]
    for arguments, argument in cases:
        with pytest.raises(TacitError) as refusal:
            make(*arguments)
        assert refusal.value.code == "argument_invalid"
        assert refusal.value.argument == argument
    for bad in ([], [NAN], [INF], [True], ["1"], None, 3.0, [[1.0]]):
        with pytest.raises(TacitError) as refusal:
            make(0, 1, 1.0).sample(bad, 1)
        assert refusal.value.argument == "answers"
    with pytest.raises(TacitError) as refusal:
        make(0, 1, 1.0).sample([0.5], -1)
    assert refusal.value.argument == "rng"


def test_refused_delta():
    for bad in (0, 1, -0.1, 2, NAN, INF, True, None, "0.1", 1 - 1e-12):
        with pytest.raises(TacitError) as refusal:
            clipped_gaussian(0, 1, 1.0, bad)
        assert refusal.value.argument == "delta"
