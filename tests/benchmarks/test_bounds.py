"""benchmarks/bounds.py: derivatives, the proven bound against what is known in closed form, columns generated or
all."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tacit import Categorical, channels

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import bounds
from bounds import Mechanism, covariance, from_matrix, least, tv_error, van_trees

THETA = np.array([0.5, 0.3, 0.15, 0.05])


def test_the_covariance_is_that_of_the_multinomial_without_noise():
    made = from_matrix(channels.srr(4, 30.0).matrix())
    np.testing.assert_allclose(covariance(made, THETA), np.diag(THETA) - np.outer(THETA, THETA), atol=1e-9)


def test_derivatives():
    columns = bounds._columns(np.arange(1, 15), 4, np.exp(1.0))
    weights = np.random.default_rng(1).random(14) / 20
    first, second = bounds._slopes(Mechanism(columns, weights), THETA)
    for i, step in enumerate(1e-6 * np.eye(14)):
        up, down = Mechanism(columns, weights + step), Mechanism(columns, weights - step)
        assert (tv_error(up, THETA) - tv_error(down, THETA)) / 2e-6 == pytest.approx(first[i], rel=1e-6)
        change = (bounds._slopes(up, THETA)[0] - bounds._slopes(down, THETA)[0]) / 2e-6
        np.testing.assert_allclose(change, second[i], rtol=1e-5, atol=1e-6 * np.abs(second).max())


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_two_categories_leave_only_randomised_response(epsilon):
    theta = np.array([0.7, 0.3])
    proved, reached = least(theta, epsilon)
    exact = tv_error(from_matrix(channels.srr(2, epsilon).matrix()), theta)
    assert proved <= exact * (1 + 1e-9)
    assert proved == pytest.approx(exact, rel=2e-4)
    assert reached == pytest.approx(exact, rel=2e-4)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_for_even_shares_the_best_subset_channel_is_the_best_of_all(epsilon):
    """Ye and Barg (2018): subset selection is optimal at the uniform distribution."""
    theta = np.full(5, 0.2)
    exact = min(tv_error(from_matrix(channels.subset(5, epsilon, w).matrix()), theta) for w in range(1, 5))
    assert least(theta, epsilon)[0] == pytest.approx(exact, rel=3e-4)


def test_no_channel_is_below_the_bound_and_the_gap_is_small():
    for epsilon in (0.5, 2.0, 5.0):
        proved, reached = least(THETA, epsilon)
        assert proved <= reached <= proved * (1 + bounds.GAP)
        made = [channels.srr(4, epsilon), channels.subset(4, epsilon), channels.rrrr(4, [0], epsilon, 0.8)]
        made.append(channels.rrrr(4, [0, 1], epsilon, 0.9))
        assert min(tv_error(from_matrix(channel.matrix()), THETA) for channel in made) > proved


def test_generated_columns_reach_what_all_columns_reach(monkeypatch):
    theta = np.random.default_rng(3).dirichlet(np.full(7, 0.5))
    whole = least(theta, 1.5)
    monkeypatch.setattr(bounds, "ENUMERATED", 3)
    monkeypatch.setattr(bounds, "BATCH", 8)
    generated = least(theta, 1.5)
    assert generated[0] == pytest.approx(whole[0], rel=2e-3)
    assert generated[0] <= whole[1] * (1 + 1e-9)


def test_van_trees_by_matrices_and_below_what_is_reached():
    """The same with the K x K matrices of the definition; and the best estimate from n answers without noise has the
    error (A / (A + 1)) (K - 1) / (K (A + n)), which no bound may exceed."""
    k, rho, n, epsilon = 4, 0.5, 200, 1.0
    made = from_matrix(channels.subset(k, epsilon).matrix())
    slope, known = np.zeros((k, k)), np.zeros((k, k))
    thetas = Categorical(k, rho).sample_prior(20_000, 1).theta
    prior = k * rho**2 * k * np.cov(thetas.T)
    for theta in thetas[:4000]:
        by_z = np.diag(theta) - np.outer(theta, theta)
        scaled = made.columns @ by_z * np.sqrt(made.weights / (made.columns @ theta))[:, None]
        slope += by_z / 4000
        known += scaled.T @ scaled / 4000
    full = np.trace(slope @ np.linalg.pinv(n * known + prior, rcond=1e-9) @ slope)
    assert van_trees(k, epsilon, rho, n, draws=4000) == pytest.approx(full, rel=0.05)
    total = k * rho
    exact = total / (total + 1) * (k - 1) / k / (total + n)
    assert van_trees(k, 30.0, rho, n, draws=4000) <= exact * 1.02


def test_too_many_categories_are_refused():
    with pytest.raises(ValueError, match="at most 22"):
        least(np.full(30, 1 / 30), 1.0)
