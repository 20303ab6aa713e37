"""Best intervals: the table of the information, brute force, Theorem 3."""

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import TacitError
from tacit.models import clipped_information, finite_information
from tacit.policies import best_graded, best_interval

BASE = [[0.0, 1.0]]
SCORES = {
    "mu": lambda f: f[0, 0],
    "sigma": lambda f: f[1, 1],
    "trace": lambda f: f[0, 0] + f[1, 1],
    "det": lambda f: np.log(max(np.linalg.det(f), 1e-300)),
}


def graded(steps, epsilon):
    a, places = math.exp(-epsilon / steps), range(steps + 1)
    inner = {True: 1.0, False: 1 - a}
    return np.array([[a ** abs(i - j) / (1 + a) * inner[i in (0, steps)] for j in places] for i in places])


def information(base, a, b, epsilon, steps=None, point=(0.0, 1.0)):
    """Of the interval mu + sigma (a, b) at the point (mu, sigma)."""
    mu, sigma = point
    if steps is None:
        ends = mu + sigma * a, mu + sigma * b
        return clipped_information(base, *ends, sigma * (b - a) / epsilon, [point])[0]
    cuts = mu + sigma * (a + (np.arange(steps) + 0.5) * (b - a) / steps)
    return finite_information(base, cuts, graded(steps, epsilon), [point])[0]


# epsilon, c* and F11 of clipped Laplace noise; F11 of the sign; the best graded F11 and its steps.
TABLE = [
    (0.5, 0.0192, 0.033245, 0.038188, 0.0382, 1),
    (1.0, 0.0706, 0.108872, 0.135952, 0.1360, 1),
    (2.0, 0.2234, 0.285997, 0.369256, 0.3693, 1),
    (5.0, 0.7281, 0.612222, 0.619691, 0.664, 2),
    (10.0, 1.2244, 0.804410, 0.636504, 0.829, 4),
]


@pytest.mark.parametrize("row", TABLE, ids=[str(row[0]) for row in TABLE])
def test_the_table_of_best_intervals_for_mu(row):
    epsilon, c, at_c, sign, best, best_steps = row
    a, b = best_interval("normal", epsilon, "mu")
    assert a == -b
    assert b == pytest.approx(c, abs=6e-5)
    assert information("normal", a, b, epsilon)[0, 0] == pytest.approx(at_c, abs=6e-7)
    a, b, steps = best_graded("normal", epsilon, "mu")
    assert steps == best_steps
    assert information("normal", a, b, epsilon, steps)[0, 0] == pytest.approx(best, abs=6e-4)
    assert best_interval("normal", epsilon, "mu", noise="graded") == (a, b)
    a, b = best_interval("normal", epsilon, "mu", noise="graded", steps=1)
    assert (a, b) == (-1, 1)
    assert information("normal", a, b, epsilon, 1)[0, 0] == pytest.approx(sign, abs=6e-7)


# One threshold has no determinant: test_refusals.
SEARCHED = [(steps, score) for steps in (None, 1, 3) for score in SCORES if (steps, score) != (1, "det")]


@pytest.mark.parametrize("base", ["normal", "student:3"])
@pytest.mark.parametrize(("steps", "score"), SEARCHED)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_no_interval_of_a_fine_grid_is_better(base, steps, score, epsilon):
    best = best_interval(base, epsilon, score, noise="laplace" if steps is None else "graded", steps=steps)
    value = SCORES[score](information(base, *best, epsilon, steps))
    others = [SCORES[score](other) for other in around(base, epsilon, steps)]
    assert max(others) <= value + 1e-7 * abs(value)


@lru_cache
def around(base, epsilon, steps):
    """The information of every interval between the places of a grid."""
    places = np.concatenate([np.linspace(-3, 3, 25), [-0.02, -0.005, 0.005, 0.02]])
    return [information(base, a, b, epsilon, steps) for a in places for b in places if a + 1e-9 < b]


def test_the_best_interval_for_sigma_lies_to_one_side():
    """A threshold at the mean says nothing about sigma, so a short interval must leave it."""
    a, b = best_interval("normal", 1.0, "sigma")
    assert a > 0.5
    symmetric = max(information("normal", -c, c, 1.0)[1, 1] for c in np.geomspace(0.01, 5, 60))
    assert information("normal", a, b, 1.0)[1, 1] > 1.5 * symmetric
    np.testing.assert_allclose(
        information("normal", a, b, 1.0)[1, 1], information("normal", -b, -a, 1.0)[1, 1], rtol=1e-10
    )
    a, b = best_interval("normal", 1.0, "sigma", noise="graded", steps=1)
    thresholds = np.linspace(0, 3, 3001)
    values = finite_sigma(thresholds)
    assert (a + b) / 2 == pytest.approx(thresholds[np.argmax(values)], abs=2e-3)


def finite_sigma(thresholds):
    """F[sigma, sigma] of the sign at t, by hand: (t phi(t))^2 (2 p - 1)^2 / (q (1 - q))."""
    from scipy.stats import norm

    p = math.e / (1 + math.e)
    q = p * norm.sf(thresholds) + (1 - p) * norm.cdf(thresholds)
    return (thresholds * norm.pdf(thresholds) * (2 * p - 1)) ** 2 / (q * (1 - q))


def test_weights_between_mu_and_sigma_move_the_interval():
    by_weight = [best_interval("normal", 1.0, [1.0, w]) for w in (0.0, 0.2, 1.0, 5.0, 100.0)]
    middles = [a + b for a, b in by_weight]
    assert middles[0] == 0
    assert all(x <= y for x, y in pairwise(middles))
    assert by_weight[0] == best_interval("normal", 1.0, "mu")
    assert by_weight[2] == best_interval("normal", 1.0, "trace") == best_interval("normal", 1.0, np.eye(2))
    assert by_weight[4] == pytest.approx(best_interval("normal", 1.0, "sigma"), abs=0.02)


def test_off_diagonal_weights_choose_a_side():
    upper = best_interval("normal", 2.0, [[1.0, 0.5], [0.5, 1.0]])
    lower = best_interval("normal", 2.0, [[1.0, -0.5], [-0.5, 1.0]])
    assert sum(upper) > 0
    assert lower == pytest.approx((-upper[1], -upper[0]), abs=1e-5)


@settings(deadline=None, max_examples=60)
@given(
    mu=st.floats(-1e3, 1e3),
    sigma=st.floats(1e-2, 1e3),
    ends=st.tuples(st.floats(-3, 3), st.floats(0.01, 4)),
    others=st.tuples(st.floats(-3, 3), st.floats(0.01, 4)),
    epsilon=st.floats(0.2, 12),
    score=st.sampled_from(sorted(SCORES)),
    base=st.sampled_from(["normal", "logistic", "laplace", "student:4"]),
    steps=st.sampled_from([None, 2, 5]),
)
def test_theorem_3(mu, sigma, ends, others, epsilon, score, base, steps):
    """F at (m, c) on m + c (a, b) is F at (0, 1) on (a, b) over c^2; so which of two intervals is better is fixed."""

    def at(interval, point):
        a, length = interval
        return information(base, a, a + length, epsilon, steps, point)

    for interval in (ends, others):
        np.testing.assert_allclose(
            at(interval, (mu, sigma)) * sigma**2, at(interval, (0.0, 1.0)), rtol=1e-6, atol=1e-9
        )
    gain = SCORES[score](at(ends, (0.0, 1.0))) - SCORES[score](at(others, (0.0, 1.0)))
    if abs(gain) > 1e-5:
        moved = SCORES[score](at(ends, (mu, sigma))) - SCORES[score](at(others, (mu, sigma)))
        assert np.sign(moved) == np.sign(gain)


def test_theorem_3_needs_a_score_that_scales():
    """The paper states it for every score. A reward that saturates prefers one interval or the other by sigma."""

    def saturating(f):
        return f[0, 0] - 5 * f[0, 0] ** 2

    gains = []
    for sigma in (0.5, 5.0):
        wide, narrow = (information("normal", -c, c, 1.0, point=(0.0, sigma)) for c in (3.0, 0.07))
        gains.append(saturating(wide) - saturating(narrow))
    assert gains[0] > 0 > gains[1]


def test_the_best_interval_is_best_around_every_point():
    for score in ("mu", "sigma", "trace", "det"):
        a, b = best_interval("normal", 2.0, score)
        for point in ((50.0, 3.0), (-7.0, 0.02)):
            best = SCORES[score](information("normal", a, b, 2.0, point=point) * point[1] ** 2)
            for da, db in ((0.05, 0), (-0.05, 0), (0, 0.05), (0, -0.05), (0.05, 0.05)):
                other = information("normal", a + da, b + db, 2.0, point=point) * point[1] ** 2
                assert SCORES[score](other) < best


def test_the_ends_of_the_range_of_epsilon():
    for epsilon in (1e-9, 1e-3, 50.0):
        for score in ("mu", "trace"):
            a, b = best_interval("normal", epsilon, score)
            assert -10 < a < b < 10
    a, b, steps = best_graded("normal", 50.0)
    assert 10 < steps < 64
    assert (
        information("normal", a, b, 50.0, steps)[0, 0]
        > information("normal", *best_interval("normal", 50.0), 50.0)[0, 0]
    )


def test_laplace_answers_are_best_cut_at_the_median():
    """The score grows until the interval is a point; the shortest one is returned."""
    a, b = best_interval("laplace", 1.0, "mu")
    assert a == -b
    assert b - a == pytest.approx(1e-6, rel=1e-3)


def test_refusals():
    nan = math.nan
    cases = [
        (("gauss", 1.0), "family"),
        (("normal", 0), "epsilon"),
        (("normal", nan), "epsilon"),
        (("normal", 51), "epsilon"),
    ]
    bad = [
        "best",
        "",
        None,
        3,
        [1],
        [1, 2, 3],
        [nan, 1],
        [0, 0],
        [-1, 1],
        [[1, 2], [3, 4]],
        [[1, 2], [2, 1]],
        [True, True],
    ]
    cases += [(("normal", 1.0, score), "score") for score in bad]
    cases += [(("normal", 1.0, "mu", noise), "noise") for noise in ("gaussian", None, 3)]
    cases += [(("normal", 1.0, "mu", "graded", steps), "steps") for steps in (0, 65, 1.0, True, "2")]
    cases += [(("normal", 1.0, "mu", "laplace", 2), "steps"), (("normal", 1.0, "det", "graded", 1), "steps")]
    for arguments, argument in cases:
        with pytest.raises(TacitError) as refusal:
            best_interval(*arguments)
        assert refusal.value.code == "argument_invalid"
        assert refusal.value.argument == argument, arguments
        assert refusal.value.hint
    with pytest.raises(TacitError):
        best_graded("normal", 1.0, "best")
