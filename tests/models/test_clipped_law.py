"""The law of clipped and noisy reports against many digits: closed form, adaptive quadrature, differences."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate

from oracles import clipped_log_densities
from tacit import TacitError
from tacit.models import ClippedTable, LocationScale, Normal, clipped_kernels

NAMES = ["normal", "logistic", "laplace", "student:0.5", "student:3", "student:40"]
NORMAL = Normal(mean=0, sd=1)


def by_quadrature(table, i, model, mu, sigma):
    """ln p, its derivatives by mu and sigma, and the sizes of these before they cancel; adaptive, 25 digits.

    The derivatives are those of f, with the clipped tails by f at the ends: not the form that the library uses.
    """
    law, gaussian = model.family, table.noise == "gaussian"
    with mp.workdps(25):
        y, lo, hi, b, mu, sigma = (
            mp.mpf(float(v)) for v in (table.reports[i], table.lo[i], table.hi[i], table.scale[i], mu, sigma)
        )
        inside = min(max(y, lo), hi)

        def weight(x):
            if gaussian:
                return mp.exp(((y - inside) ** 2 - (y - x) ** 2) / (2 * b * b))
            return mp.exp(-abs(inside - x) / b)

        def density(z):
            if law.name == "normal":
                return mp.npdf(z)
            if law.name == "logistic":
                return mp.exp(-abs(z)) / (1 + mp.exp(-abs(z))) ** 2
            if law.name == "laplace":
                return mp.exp(-abs(z)) / 2
            df = mp.mpf(law.df)
            return (1 + z * z / df) ** (-(df + 1) / 2) / (mp.sqrt(df) * mp.beta(df / 2, mp.mpf(1) / 2))

        def tail(z):
            if z < 0:
                return 1 - tail(-z)
            if law.name == "normal":
                return mp.erfc(z / mp.sqrt(2)) / 2
            if law.name == "logistic":
                return 1 / (1 + mp.exp(z))
            if law.name == "laplace":
                return mp.exp(-z) / 2
            half = mp.mpf(law.df) / 2
            return mp.betainc(half, mp.mpf(1) / 2, 0, law.df / (law.df + z * z), regularized=True) / 2

        steps = [s * k for s in (1, -1) for k in (0.3, 1, 2, 4, 6, 9, 14, 20, 30, 45, 100, 1e3, 1e4)]
        knots = {mu, inside, *(mu + sigma * k for k in steps), *(inside + b * k for k in steps)}
        knots = [lo, *sorted(k for k in knots if lo < k < hi), hi]

        def pull(x):
            return (y - x) / (b * b) if gaussian else mp.sign(inside - x) / b

        def integral(value):
            return mp.quad(lambda x: value(x) * density((x - mu) / sigma) / sigma * weight(x), knots)

        below, above = tail((mu - lo) / sigma), tail((hi - mu) / sigma)
        t = integral(lambda x: 1) + below * weight(lo) + above * weight(hi)
        slopes = [integral(pull) / t, integral(lambda x: pull(x) * (x - mu) / sigma) / t]
        sizes = [
            integral(lambda x: abs(pull(x))) / t,
            integral(lambda x: abs(pull(x) * (x - mu) / sigma)) / t,
        ]
        away = abs(y - inside) / b
        constant = mp.log(b * mp.sqrt(2 * mp.pi)) + away**2 / 2 if gaussian else mp.log(2 * b) + away
        return float(mp.log(t) - constant), [float(v) for v in slopes], [float(v) for v in sizes]


def in_closed_form(y, lo, hi, b, mu, sigma):
    """The same for normal answers and Laplace noise, by the textbook formulas and 120 digits."""
    with mp.workdps(120):
        y, lo, hi, b, mu, sigma = (mp.mpf(float(v)) for v in (y, lo, hi, b, mu, sigma))
        inside, s = min(max(y, lo), hi), sigma / b
        z, left, right = ((v - mu) / sigma for v in (inside, lo, hi))

        def phi(t):
            return mp.erfc(-t / mp.sqrt(2)) / 2

        def between(p, q):
            return phi(q) - phi(p) if q < 0 else phi(-p) - phi(-q)

        a = mp.exp(s * s / 2 - s * z) * between(left - s, z - s)
        c = mp.exp(s * s / 2 + s * z) * between(z + s, right + s)
        low, high = mp.exp((lo - inside) / b), mp.exp((inside - hi) / b)
        t = a + c + low * phi(left) + high * phi(-right)
        a1 = s * a - mp.npdf(z) + low * mp.npdf(left)
        c1 = mp.npdf(z) - high * mp.npdf(right) - s * c
        value = mp.log(t / (2 * b)) - abs(y - inside) / b
        scores = [(a - c) / (b * t), (a1 - c1) / (b * t)]
        sizes = [(abs(a) + abs(c)) / (b * t), (abs(a1) + abs(c1)) / (b * t)]
        return float(value), [float(v) for v in scores], [float(v) for v in sizes]


def case(rng, gaussian=False):
    """A report anywhere: sigma / b from 1e-3 to 1e6, epsilon from 0.01 to 49, mu and report far out too."""
    b = 10 ** rng.uniform(-2, 2)
    sigma = b * 10 ** rng.uniform(-3, 6)
    lo = 10 * rng.normal()
    hi = lo + b * 10 ** rng.uniform(-2, 1.0 if gaussian else 1.69)
    mu = rng.choice([lo, hi, (lo + hi) / 2]) + rng.normal() * sigma * rng.choice([0.1, 1, 5, 20])
    far = rng.uniform(0, 40 if gaussian else 700) * b
    y = rng.choice([rng.uniform(lo, hi), rng.uniform(lo, hi), lo - far, hi + far, lo, hi])
    return y, lo, hi, b, mu, sigma


def assert_close(got, expected, sizes, rel):
    for value, exact, size in zip(got, expected, sizes, strict=True):
        if size > 1e-280:
            assert abs(value - exact) <= rel * size


def test_normal_answers_and_laplace_noise_over_wide_ranges():
    """Log-likelihood and score to 1e-12, and the kernel's quadrature as good as its closed form."""
    rng = np.random.default_rng(1)
    for _ in range(400):
        *report, mu, sigma = case(rng)
        expected, scores, sizes = in_closed_form(*report, mu, sigma)
        table, point = ClippedTable.of(*report), np.array([[mu, sigma]])
        assert table.value(NORMAL, point)[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        slow = np.zeros((1, 1))
        clipped_kernels.log_densities(NORMAL.family.key, *table._arrays, point, False, slow)
        assert slow[0, 0] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert_close(table.score(NORMAL, point)[0], scores, sizes, 1e-12)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", NAMES)
def test_every_family_against_adaptive_quadrature(name, noise):
    """1e-10 relative, for the log-likelihood (of which 1 is the scale) and the score before it cancels."""
    rng, model = np.random.default_rng(7), LocationScale(name, mean=0, sd=1)
    for _ in range(12):
        *report, mu, sigma = case(rng, noise == "gaussian")
        table = ClippedTable.of(*report, noise)
        expected, scores, sizes = by_quadrature(table, 0, model, mu, sigma)
        assert table.value(model, [[mu, sigma]])[0] == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert_close(table.score(model, [[mu, sigma]])[0], scores, sizes, 1e-10)


def test_the_textbook_score_by_sigma_loses_its_digits_where_this_one_does_not():
    """s (A + B) - 2 phi(z) + ... cancels like (y - mu) b / sigma^2: here ten digits are lost."""
    y, lo, hi, b, mu, sigma = 0.3, 0.0, 1.0, 1.0, -300.0, 1e6
    _, (_, exact), _ = in_closed_form(y, lo, hi, b, mu, sigma)
    s, z, left, right = sigma / b, (y - mu) / sigma, (lo - mu) / sigma, (hi - mu) / sigma
    h = clipped_kernels._tilted
    a, c = h(z, s) - math.exp(lo - y) * h(left, s), h(-z, s) - math.exp(y - hi) * h(-right, s)
    t = math.exp(ClippedTable.of(y, lo, hi, b).value(NORMAL, [[mu, sigma]])[0]) * 2 * b

    def phi(v):
        return math.exp(-v * v / 2) / math.sqrt(2 * math.pi)

    textbook = (s * (a + c) - 2 * phi(z) + math.exp(lo - y) * phi(left) + math.exp(y - hi) * phi(right)) / (
        b * t
    )
    ours = ClippedTable.of(y, lo, hi, b).score(NORMAL, [[mu, sigma]])[0, 1]
    assert ours == pytest.approx(exact, rel=1e-12)
    assert abs(textbook / exact - 1) > 1e-7


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_kernel_and_its_numpy_twin(noise):
    rng = np.random.default_rng(3)
    reports = np.array([case(rng, noise == "gaussian")[:4] for _ in range(60)])
    table = ClippedTable.of(*reports.T, noise)
    points = np.column_stack([rng.normal(0, 20, 80), np.exp(rng.normal(0, 3, 80))])
    values = table.values(NORMAL, points)
    twin = clipped_log_densities(*reports.T, noise, points)
    np.testing.assert_allclose(values, twin, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(table.value(NORMAL, points), values.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        table.score(NORMAL, points), table.scores(NORMAL, points).sum(axis=0), rtol=1e-9
    )


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", NAMES)
def test_score_is_the_derivative_of_the_value(name, noise):
    model = LocationScale(name, mean=0, sd=1)
    table = ClippedTable.of(
        [-3.0, 0.4, 0.9, 7.0], [0.0, 0.0, 0.0, -1], [1.0, 1.0, 2.0, 4.0], [0.5, 1.0, 1.0, 2.0], noise
    )
    point, h = np.array([0.7, 1.3]), 1e-5
    for axis in range(2):
        shift = h * np.eye(2)[axis]
        high, low = table.value(model, [point + shift]), table.value(model, [point - shift])
        assert table.score(model, [point])[0, axis] == pytest.approx((high - low)[0] / (2 * h), rel=1e-6)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", NAMES)
def test_densities_integrate_to_one(name, noise):
    model = LocationScale(name, mean=0, sd=1)

    def density(y):
        return math.exp(ClippedTable.of(y, 0.0, 3.0, 0.8, noise).value(model, [[1.0, 2.0]])[0])

    pieces = [(-30, -6), (-6, 0), (0, 1), (1, 3), (3, 9), (9, 33)]
    assert sum(integrate.quad(density, *piece)[0] for piece in pieces) == pytest.approx(1, abs=1e-8)


def test_reports_of_the_simulated_channel_follow_the_law():
    """The mean of the score is zero at the truth, and not elsewhere: five standard errors, 1e-6 each."""
    from tacit import channels

    model, truth, n = Normal(mean=0, sd=1), (0.4, 1.5), 20_000
    answers = model.sample([truth], n, 5)[0]
    for channel in (channels.clipped_laplace(-1, 2, 1.0), channels.clipped_gaussian(-1, 2, 1.0, 1e-5)):
        table = ClippedTable.of(channel.sample(answers, 6), -1, 2, channel.scale, channel.noise)
        for point, right in ((truth, True), ((2.4, 1.5), False)):
            scores = table.scores(model, [point])[:, 0]
            z = scores.mean(axis=0) / scores.std(axis=0) * math.sqrt(n)
            assert (np.abs(z) < 5).all() == right


def test_tables_add_up():
    first, second = ClippedTable.of([1.0, 2.0], 0, 3, 1), ClippedTable.of([5.0], 2, 4, 2)
    both, points = first + second, [[1.0, 2.0], [3.0, 0.5]]
    assert len(both) == 3
    np.testing.assert_allclose(
        both.value(NORMAL, points), first.value(NORMAL, points) + second.value(NORMAL, points)
    )
    with pytest.raises(TacitError):
        first + ClippedTable.of([5.0], 2, 4, 2, "gaussian")
    with pytest.raises(TypeError):
        first + 1


def test_refusals():
    good = {"reports": [1.0, 2.0], "lo": 0.0, "hi": 3.0, "scale": 1.0, "noise": "laplace"}
    nan, inf = math.nan, math.inf
    bad = {
        "reports": [[], [nan], [inf], None, "x", [[1.0]], [True]],
        "lo": [nan, -inf, 3.0, 4.0, [0, 1, 2], None, True],
        "hi": [nan, inf, 0.0, -1.0, [1, 2, 3], None],
        "scale": [0.0, -1.0, 0.05, nan, inf, None, "1"],
        "noise": ["t", None, 3],
    }
    for argument, values in bad.items():
        for value in values:
            with pytest.raises(TacitError) as refusal:
                ClippedTable.of(**(good | {argument: value}))
            assert refusal.value.argument in (argument, "hi")
    with pytest.raises(TacitError):
        ClippedTable.of(**good).value(NORMAL, [[0, 0]])
