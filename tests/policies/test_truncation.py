"""Where the policies for numbers put their cuts, and what a report is expected to tell."""

from fractions import Fraction

import numpy as np
import pytest

from tacit import TacitError, channels
from tacit.models import family
from tacit.policies import truncation
from tacit.policies.truncation import Grid, expected_variance, policy

NORMAL = family("normal")
GRID = Grid("0", "100", "0.5")
RNG = np.random.default_rng(3)
NARROW = np.column_stack([RNG.normal(50, 0.02, 2000), np.exp(RNG.normal(np.log(5), 0.004, 2000))])
WIDE = np.column_stack([RNG.normal(40, 30, 500), np.exp(RNG.normal(1, 1, 500))])


def brute_information(cuts, rows, mu, sigma):
    """The Fisher information about (mu, ln sigma) by differences of ln p."""

    def p(m, s):
        below = np.concatenate([[0], NORMAL.cdf((np.array(cuts) - m) / np.exp(s)), [1]])
        return rows @ np.diff(below)

    h = 1e-5
    at = p(mu, np.log(sigma))
    slopes = np.array(
        [
            (p(mu + h, np.log(sigma)) - p(mu - h, np.log(sigma))) / (2 * h),
            (p(mu, np.log(sigma) + h) - p(mu, np.log(sigma) - h)) / (2 * h),
        ]
    )
    return slopes / at @ slopes.T


@pytest.mark.parametrize("steps", [1, 2, 4])
@pytest.mark.parametrize("aim", [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
def test_for_a_narrow_posterior_a_report_is_worth_its_fisher_information(steps, aim):
    rows = channels.graded(0, 1, steps, 2.0).matrix()
    cuts = 48 + 3.0 * np.arange(steps)
    n, weights = 500, np.diag([aim[0], aim[1] * 25])
    found = expected_variance(cuts[None], NARROW, NORMAL, rows, n, weights)[0]
    logs = np.column_stack([NARROW[:, 0], np.log(NARROW[:, 1])])
    prior = np.linalg.inv(np.cov(logs.T))
    exact = np.trace(weights @ np.linalg.inv(prior + n * brute_information(cuts, rows, 50.0, 5.0)))
    assert found == pytest.approx(exact, rel=0.01)


def test_one_report_explains_what_the_best_linear_estimate_from_it_explains():
    """n = 1: the residual variance of a weighted regression of mu on the indicator of the report."""
    rows = channels.graded(0, 1, 1, 1.0).matrix()
    found = expected_variance(np.array([[35.0]]), WIDE, NORMAL, rows, 1, np.diag([1.0, 0.0]))[0]
    p = rows[1] @ np.array(
        [NORMAL.cdf((35 - WIDE[:, 0]) / WIDE[:, 1]), 1 - NORMAL.cdf((35 - WIDE[:, 0]) / WIDE[:, 1])]
    )
    mu = WIDE[:, 0]
    residual = mu.var() - np.cov(mu, p, bias=True)[0, 1] ** 2 / (p.mean() * (1 - p.mean()))
    assert found == pytest.approx(residual, rel=1e-6)


def chosen(name, points, epsilon=1.0, n=100):
    return policy(name, NORMAL, GRID).choose(points, epsilon, n, np.random.default_rng(0))


def test_for_the_mean_at_small_epsilon_the_sign_at_the_mean_is_best():
    channel = chosen("information:mu", NARROW)
    assert len(channel.cuts) == 1
    assert abs(channel.cuts[0] - 50) < 0.5
    assert channel.loss <= 1.0


def test_for_the_scale_the_cut_is_far_from_the_mean_or_there_are_two():
    channel = chosen("information:sigma", NARROW, epsilon=1.0)
    assert np.abs(channel.cuts - 50).max() > 3


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0, 10.0])
@pytest.mark.parametrize("aim", ["mu", "sigma", "both"])
def test_no_candidate_on_a_finer_search_is_much_better(epsilon, aim):
    """The choice against random cuts of up to four steps, at any place and width."""
    weights = np.diag(truncation.WEIGHTS[aim]) * np.diag([1.0, 25.0])
    cuts = truncation.best_cuts(NARROW[:128], NORMAL, epsilon, 1000, truncation.WEIGHTS[aim])
    rows = {steps: channels.graded(0, 1, steps, epsilon).matrix() for steps in range(1, 9)}
    mine = expected_variance(cuts[None], NARROW[:128], NORMAL, rows[len(cuts)], 1000, weights)[0]
    rng = np.random.default_rng(1)
    for steps in (1, 2, 3, 4):
        middle, width = rng.uniform(30, 70, (300, 1)), rng.uniform(0.5, 30, (300, 1))
        others = middle + width * (np.linspace(-0.5, 0.5, steps) if steps > 1 else np.zeros(1))
        values = expected_variance(others, NARROW[:128], NORMAL, rows[steps], 1000, weights)
        assert mine <= values.min() * 1.03


def test_truncation_moves_with_the_draw_and_static_never_looks():
    one, other = np.array([[20.0, 2.0]]), np.array([[70.0, 2.0]])
    assert abs(chosen("truncation", one).cuts.mean() - 20) < 1
    assert abs(chosen("truncation", other).cuts.mean() - 70) < 1
    assert policy("static", NORMAL, GRID).adaptive is False


def test_cuts_lie_between_answers_and_inside_the_range():
    cuts = GRID.cuts(np.array([-5.0, 0.3, 0.4, 49.9, 1e9]))
    assert cuts == (Fraction(1, 4), Fraction("49.75"), Fraction("99.75"))
    assert Grid("-1.5", "2", "0.5").cuts(np.array([-1.1])) == (Fraction("-1.25"),)


def test_a_cut_outside_the_range_is_moved_inside():
    far = np.column_stack([np.full(50, 1e6), np.full(50, 3.0)])
    assert chosen("information", far).cuts.tolist() == [99.75]


@pytest.mark.parametrize("name", ["risk", "information:tv", "information:", "honest", None, 3])
def test_unknown_policies(name):
    with pytest.raises(TacitError) as refusal:
        policy(name, NORMAL, GRID)
    assert refusal.value.argument == "policy"
