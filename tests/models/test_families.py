"""The base laws against forty digits of mpmath, in both tails."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import kstest

from tacit import TacitError
from tacit.models import kernels
from tacit.models.families import StudentFamily, family

NAMES = [
    "normal",
    "logistic",
    "laplace",
    "student:0.1",
    "student:1",
    "student:2.5",
    "student:30",
    "student:1000",
]
PLACES = np.concatenate(
    [[1e-12, 1e-8, 1e-4, 1 - 1e-15, 1 + 1e-15], np.logspace(-3, 1.55, 25), [1e2, 1e3, 1e5]]
)


def exact_tail(law, z):
    """P(Z > z) for z >= 0."""
    z = mp.mpf(float(z))
    if law.name == "normal":
        return mp.erfc(z / mp.sqrt(2)) / 2
    if law.name == "logistic":
        return 1 / (1 + mp.exp(z))
    if law.name == "laplace":
        return mp.exp(-z) / 2
    half = mp.mpf(law.df) / 2
    return mp.betainc(half, mp.mpf(1) / 2, 0, law.df / (law.df + z * z), regularized=True) / 2


def exact_pdf(law, z):
    z = abs(mp.mpf(float(z)))
    if law.name == "normal":
        return mp.npdf(z)
    if law.name == "logistic":
        return mp.exp(-z) / (1 + mp.exp(-z)) ** 2
    if law.name == "laplace":
        return mp.exp(-z) / 2
    df = mp.mpf(law.df)
    return (1 + z * z / df) ** (-(df + 1) / 2) / (mp.sqrt(df) * mp.beta(df / 2, mp.mpf(1) / 2))


@pytest.mark.parametrize("name", NAMES)
def test_tails_and_densities(name):
    law = family(name)
    with mp.workdps(40):
        for z in PLACES:
            tail = exact_tail(law, z)
            if tail < 1e-300:
                continue
            assert law.sf(z) == pytest.approx(float(tail), rel=3e-13, abs=0)
            assert law.cdf(-z) == law.sf(z)
            assert law.half(np.array(z)) == pytest.approx(float(mp.mpf(0.5) - tail), rel=1e-13, abs=0)
            assert kernels.tail(*law.key, z) == pytest.approx(float(tail), rel=3e-13, abs=0)
            assert law.pdf(z) == pytest.approx(float(exact_pdf(law, z)), rel=3e-13, abs=0)
            if z > 1e-3 and float(tail) < 0.5:
                assert law.quantile(float(tail)) == pytest.approx(-z, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_score_is_the_derivative_of_the_log_density(name):
    law = family(name)
    z = np.array([-30.0, -2.5, -0.3, 0.2, 1.7, 12.0])
    step = 1e-5
    slope = (law.log_pdf(z + step) - law.log_pdf(z - step)) / (2 * step)
    np.testing.assert_allclose(law.score(z), slope, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_intervals_keep_their_relative_accuracy(name):
    """Wide and narrow, in the middle and far out: 1e-12 against forty digits."""
    law = family(name)
    with mp.workdps(60):
        for low in (-1e4, -20.0, -3.0, -1e-9, 0.0, 1e-9, 0.7, 6.0, 25.0, 1e4):
            for width in (1e-12, 1e-6, 1e-3, 0.05, 0.3, 2.0, 40.0):
                high = low + width
                if high == low:
                    continue
                sides = [exact_tail(law, abs(v)) for v in (low, high)]
                exact = abs(sides[0] - sides[1]) if low * high >= 0 else 1 - sides[0] - sides[1]
                if exact < 1e-300:
                    continue
                got = law.mass(np.array(low), np.array(high), np.array(high - low))
                assert got == pytest.approx(float(exact), rel=1e-12, abs=0), (low, width)


@pytest.mark.parametrize("name", NAMES)
def test_samples_follow_the_cdf(name):
    """False alarms: 1e-6 a law."""
    law = family(name)
    draws = law.sample(20_000, np.random.default_rng(5))
    assert kstest(draws, law.cdf).pvalue > 1e-6
    assert kstest(draws + 0.1, law.cdf).pvalue < 1e-6 or law.df < 1


def test_infinite_ends():
    for name in NAMES:
        law = family(name)
        ends = np.array([-np.inf, 0.0, np.inf])
        np.testing.assert_array_equal(law.mass(ends[:-1], ends[1:], np.diff(ends)), [0.5, 0.5])


def test_student_with_many_degrees_of_freedom_is_nearly_normal():
    z = np.linspace(-4, 4, 33)
    np.testing.assert_allclose(family("student:1000").cdf(z), family("normal").cdf(z), atol=5e-4)


def test_names():
    for name in NAMES:
        law = family(name)
        assert law.name == name
        assert family(law) is law
    assert StudentFamily(5) == family("student:5")
    for bad in (
        "gauss",
        "student",
        "student:",
        "student:x",
        "student:nan",
        "student:0",
        "student:inf",
        "",
        None,
        3,
        True,
        [],
    ):
        with pytest.raises(TacitError) as refusal:
            family(bad)
        assert refusal.value.code == "argument_invalid"
        assert refusal.value.argument in ("family", "df")
    for bad in (0, -1, math.nan, math.inf, True, "5", None):
        with pytest.raises(TacitError):
            StudentFamily(bad)
