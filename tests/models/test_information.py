"""Fisher information against its definition: adaptive quadrature, finite differences, and the paper's Monte Carlo."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from tacit import TacitError
from tacit.models import clipped_information, family, finite_information

NAMES = ["normal", "logistic", "laplace", "student:3"]
BASE = [[0.0, 1.0]]


def graded(steps, epsilon):
    """P(report | cell): the truncated geometric mechanism, by its definition."""
    a = math.exp(-epsilon / steps)
    out = np.empty((steps + 1, steps + 1))
    for j in range(steps + 1):
        for i in range(steps + 1):
            out[i, j] = a ** abs(i - j) / (1 + a) * (1 if i in (0, steps) else 1 - a)
    return out


def report_density(law, lo, hi, scale, noise, y, mu, sigma):
    """By adaptive quadrature over the answer; the clipped tails are cdfs."""

    def kernel(x):
        d = (y - x) / scale
        return (
            math.exp(-abs(d)) / (2 * scale)
            if noise == "laplace"
            else math.exp(-d * d / 2) / (scale * math.sqrt(2 * math.pi))
        )

    def integrand(x):
        return float(law.pdf((x - mu) / sigma)) / sigma * kernel(x)

    knots = sorted({min(max(k, lo), hi) for k in (y, mu, mu - 4 * sigma, mu + 4 * sigma)} | {lo, hi})
    inner = sum(integrate.quad(integrand, a, b, epsabs=0, epsrel=1e-11)[0] for a, b in pairwise(knots))
    return (
        inner + float(law.cdf((lo - mu) / sigma)) * kernel(lo) + float(law.sf((hi - mu) / sigma)) * kernel(hi)
    )


def information_by_definition(law, lo, hi, scale, noise, mu, sigma):
    """Central differences of the density, and a composite Simpson rule over reports."""
    reach = (25 if noise == "laplace" else 9) * scale
    pieces = [(lo - reach, lo), (lo, min(max(mu, lo), hi)), (min(max(mu, lo), hi), hi), (hi, hi + reach)]
    total = np.zeros((2, 2))
    h = 1e-4 * sigma
    for start, end in pieces:
        if end <= start:
            continue
        ys = np.linspace(start, end, 301)
        values = []
        for y in ys:
            p = [
                report_density(law, lo, hi, scale, noise, y, mu + dm, sigma + ds)
                for dm, ds in ((0, 0), (h, 0), (-h, 0), (0, h), (0, -h))
            ]
            slope = np.array([p[1] - p[2], p[3] - p[4]]) / (2 * h)
            values.append(np.outer(slope, slope) / p[0])
        total += integrate.simpson(np.array(values), x=ys, axis=0)
    return total


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("name", "lo", "hi", "scale", "point"),
    [
        ("normal", -1.0, 2.0, 0.6, (0.5, 1.0)),
        ("laplace", -2.0, 1.0, 1.5, (0.3, 0.7)),
        ("student:3", 0.0, 3.0, 1.0, (-1.0, 2.0)),
        ("logistic", 40.0, 60.0, 4.0, (52.0, 3.0)),
    ],
)
def test_clipped_information_by_definition(noise, name, lo, hi, scale, point):
    expected = information_by_definition(family(name), lo, hi, scale, noise, *point)
    got = clipped_information(name, lo, hi, scale, [point], noise)[0]
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-7 * np.abs(expected).max())


def monte_carlo_information(lo, hi, scale, mu, sigma, rng, reports=2000, particles=4000):
    """The paper's estimator (its equation 8 with its Algorithm 4), for the normal family and Laplace noise."""
    y = np.clip(rng.normal(mu, sigma, reports), lo, hi) + rng.laplace(0, scale, reports)
    x = rng.normal(mu, sigma, (reports, particles))
    weights = np.exp(-np.abs(y[:, None] - np.clip(x, lo, hi)) / scale)
    weights /= weights.sum(axis=1, keepdims=True)
    z = (x - mu) / sigma
    score = np.stack([(weights * z).sum(axis=1), (weights * (z**2 - 1)).sum(axis=1)]) / sigma
    products = score[:, None] * score
    return products.mean(axis=-1), products.std(axis=-1) / math.sqrt(reports)


@pytest.mark.parametrize(("lo", "hi", "scale"), [(-0.6, 0.4, 0.3), (-2.0, 3.0, 1.0)])
def test_the_papers_monte_carlo_estimator_agrees(lo, hi, scale):
    """Within five standard errors and its bias of order 1 / particles: false alarms below 1e-5."""
    got, error = monte_carlo_information(lo, hi, scale, 0.2, 1.3, np.random.default_rng(2))
    exact = clipped_information("normal", lo, hi, scale, [[0.2, 1.3]])[0]
    assert (np.abs(got - exact) < 5 * error + 3 / 4000).all()
    assert (np.abs(got - 1.3 * exact) > 5 * error + 3 / 4000).any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("steps", [1, 3])
def test_finite_information_by_definition(name, steps):
    law, matrix = family(name), graded(steps, 1.5)
    cuts = -1 + (np.arange(steps) + 0.5) * 3 / steps
    for mu, sigma in ((0.0, 1.0), (0.7, 2.0), (-4.0, 0.5)):
        edges = [-np.inf, *cuts, np.inf]

        def reported(m, s, edges=edges):
            f = law.cdf((np.array(edges) - m) / s)
            return matrix @ np.diff(f)

        h = 1e-5
        slopes = np.array(
            [
                (reported(mu + h, sigma) - reported(mu - h, sigma)) / (2 * h),
                (reported(mu, sigma + h) - reported(mu, sigma - h)) / (2 * h),
            ]
        )
        expected = (slopes / reported(mu, sigma)) @ slopes.T
        got = finite_information(name, cuts, matrix, [[0.0, 1.0], [mu, sigma]])[1]
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1.0, 4.0, 30.0])
def test_the_sign_at_the_mean(epsilon):
    """(2 / pi) tanh(epsilon / 2)^2 about mu and nothing about sigma, at the smallest epsilon too."""
    odds = graded(1, epsilon)
    got = finite_information("normal", [3.0], odds, [[3.0, 2.0]])[0]
    assert got[0, 0] == pytest.approx(2 / math.pi * math.tanh(epsilon / 2) ** 2 / 4, rel=1e-9)
    assert np.abs(got[[0, 1, 1], [1, 0, 1]]).max() < 1e-15


# epsilon, half-width c, F11 there, the paper's c, F11 there, sign response, best graded and its steps, clip at 10.
TABLE = [
    (0.5, 0.0192, 0.033245, None, None, 0.038188, None, None, 0.000608),
    (1.0, 0.0706, 0.108872, 0.06, 0.108868, 0.135952, 0.1360, 1, 0.002364),
    (2.0, 0.2234, 0.285997, 0.12, 0.285145, 0.369256, 0.3693, 1, 0.008946),
    (5.0, 0.7281, 0.612222, 0.54, 0.607477, 0.619691, 0.664, 2, 0.047554),
    (10.0, 1.2244, 0.804410, 0.96, 0.795226, 0.636504, 0.829, 4, 0.147155),
]


@pytest.mark.parametrize("row", TABLE, ids=[str(row[0]) for row in TABLE])
def test_the_table_of_information_about_mu(row):
    """To all digits given; the optima are checked in tests/policies/test_intervals.py."""
    epsilon, best, at_best, papers, at_papers, sign, _, _, wide = row

    def clipped(c):
        return clipped_information("normal", -c, c, 2 * c / epsilon, BASE)[0, 0, 0]

    assert clipped(best) == pytest.approx(at_best, abs=6e-7)
    if papers is not None:
        assert clipped(papers) == pytest.approx(at_papers, abs=6e-7)
    assert clipped(10) == pytest.approx(wide, abs=6e-7)
    assert finite_information("normal", [0.0], graded(1, epsilon), BASE)[0, 0, 0] == pytest.approx(
        sign, abs=6e-7
    )


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_information_of_another_point_is_that_of_the_base_law(noise):
    """Theorem 3's first step: F at (m, c) of the interval m + c (a, b) is F at (0, 1) of (a, b), over c^2."""
    m, c = 57.0, 13.0
    base = clipped_information("normal", -0.4, 1.1, 0.8, BASE, noise)[0]
    moved = clipped_information("normal", m - 0.4 * c, m + 1.1 * c, 0.8 * c, [[m, c]], noise)[0]
    np.testing.assert_allclose(moved, base / c**2, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_little_noise_and_a_wide_interval_give_the_information_of_the_answer(name):
    law = family(name)

    def integrand(z, i, j):
        score = np.array([float(law.score(z)), z * float(law.score(z)) + 1])
        return float(law.pdf(z)) * score[i] * score[j]

    expected = [integrate.quad(integrand, -np.inf, np.inf, args=(i, i), limit=200)[0] for i in range(2)]
    # 2,000 cells see nearly everything.
    cuts = law.quantile((np.arange(1999) + 1) / 2000)
    got = finite_information(name, cuts, np.eye(2000), BASE)[0]
    np.testing.assert_allclose(np.diag(got), expected, rtol=0.01)


def test_far_away_there_is_no_information():
    far = clipped_information("normal", 0, 1, 0.5, [[1e6, 1.0], [-300.0, 1.0], [0.5, 1e-3]])
    assert (np.abs(far[:2]) < 1e-300).all()
    assert np.isfinite(far).all()
    # Nearly all answers are mu: only the noise is left, and Laplace noise has the information 1 / b^2 about it.
    assert far[2, 0, 0] == pytest.approx(4.0, rel=2e-2)


def test_refusals():
    good = {"family": "normal", "lo": 0.0, "hi": 1.0, "scale": 1.0, "points": BASE}
    nan, inf = math.nan, math.inf
    cases = [("lo", 1.0), ("lo", 2.0), ("lo", nan), ("lo", -inf), ("hi", 0.0), ("hi", inf), ("hi", None)]
    cases += [("scale", 0.0), ("scale", -1), ("scale", 0.01), ("scale", nan), ("scale", True), ("noise", "t")]
    cases += [("points", [[0, 0]]), ("points", [0, 1]), ("family", "gauss")]
    for argument, value in cases:
        with pytest.raises(TacitError) as refusal:
            clipped_information(**(good | {argument: value}))
        assert refusal.value.code == "argument_invalid"
        assert refusal.value.argument in (argument, "hi" if argument == "lo" else argument)
    cases = [([], [[1.0]], "cuts"), ([1.0, 0.0], [[1, 1, 1]], "cuts"), ([0.0], [[0.5, 0.5, 0.5]], "matrix")]
    cases += [([0.0], bad, "matrix") for bad in ([[nan, 1]], [[-1, 1]], [[0, 0]], [], None)]
    for cuts, matrix, argument in cases:
        with pytest.raises(TacitError) as refusal:
            finite_information("normal", cuts, matrix, BASE)
        assert refusal.value.argument == argument
