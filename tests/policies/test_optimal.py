"""The optimal mechanism against the formulation with K^3 constraints, and its use as a channel."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from tacit import TacitError, channels
from tacit.policies import optimal_matrix


def thesis_optimum(theta, epsilon):
    """max sum theta_x P_xx over all epsilon-LDP matrices: one constraint for every y, x, x'."""
    k, ratio = len(theta), math.exp(epsilon)
    rows = []
    for y in range(k):
        for x in range(k):
            for other in range(k):
                if x != other:
                    row = np.zeros((k, k))
                    row[y, x], row[y, other] = 1, -ratio
                    rows.append(row.ravel())
    sums = np.tile(np.eye(k), k)
    result = linprog(
        -np.diag(theta).ravel(), np.array(rows), np.zeros(len(rows)), sums, np.ones(k), method="highs"
    )
    return -result.fun


def some_thetas(k):
    rng = np.random.default_rng(k)
    return [rng.dirichlet(np.full(k, rho)) for rho in (0.05, 0.5, 5.0)]


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_linear_optimum(k, epsilon):
    for theta in some_thetas(k):
        matrix = optimal_matrix(theta, epsilon, "linear")
        assert np.diag(matrix) @ theta == pytest.approx(thesis_optimum(theta, epsilon), abs=1e-8)


@pytest.mark.parametrize("k", [2, 3, 6, 20])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("utility", ["linear", "cross_entropy"])
def test_the_matrix_is_a_channel_of_its_epsilon(k, epsilon, utility):
    for theta in some_thetas(k):
        matrix = optimal_matrix(theta, epsilon, utility)
        channel = channels.from_matrix(matrix, epsilon)
        assert channel.loss <= epsilon
        used = matrix.any(axis=1)
        np.testing.assert_allclose(channel.matrix(), matrix[used], atol=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_cross_entropy_optimum_beats_its_neighbours(epsilon):
    """No mixture with any other epsilon-LDP matrix is better: first-order optimality of a concave problem."""
    theta = np.array([0.5, 0.3, 0.15, 0.05])
    best = np.diag(optimal_matrix(theta, epsilon, "cross_entropy"))
    gain = thesis_optimum(theta / best, epsilon) - (theta / best) @ best
    assert gain < 1e-4


def test_linear_optimum_can_be_useless():
    matrix = optimal_matrix([0.9, 0.05, 0.05], 0.5, "linear")
    np.testing.assert_allclose(matrix, [[1, 1, 1], [0, 0, 0], [0, 0, 0]], atol=1e-9)


def test_uniform_theta_gives_standard_randomised_response():
    matrix = optimal_matrix(np.full(5, 0.2), 1.0, "cross_entropy")
    np.testing.assert_allclose(matrix, channels.srr(5, 1.0).matrix(), atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        (([0.5, 0.6], 1, "linear"), "theta"),
        (([0.5, 0.5], 0, "linear"), "epsilon"),
        (([0.5, 0.5], 1, "best"), "utility"),
    ],
)
def test_refusals(arguments, argument):
    with pytest.raises(TacitError) as refusal:
        optimal_matrix(*arguments)
    assert refusal.value.argument == argument
