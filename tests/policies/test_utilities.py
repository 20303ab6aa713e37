"""The curves U1..U6 against the definitions, on the whole matrix, for every k."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import rrrr_matrix
from tacit import TacitError, policies
from tacit.policies.utilities import UTILITIES, matrix_entries


def brute_force(theta, matrix, name):
    """The utility by its definition; theta ordered decreasingly."""
    h = matrix @ theta
    joint = matrix * theta
    if name == "fisher":
        a = matrix[:, :-1] - matrix[:, -1:]
        information = a.T @ np.diag(1 / h) @ a
        if np.linalg.matrix_rank(information, tol=1e-11) < len(theta) - 1:
            return -np.inf
        return -np.trace(np.linalg.inv(information))
    return {
        "entropy": (h * np.log(h)).sum(),
        "tv_posterior": np.abs(joint - np.outer(h, theta)).sum() / 2,
        "tv_marginal": -np.abs(h - theta).sum() / 2,
        "mse": (joint**2 / h[:, None]).sum() - 1,
        "honest": np.trace(joint),
    }[name]


@pytest.mark.parametrize("name", UTILITIES)
@given(
    k=st.integers(2, 9),
    epsilon=st.floats(0.1, 6),
    kappa=st.sampled_from([0.5, 0.8, 0.9, 0.97]),
    concentration=st.sampled_from([0.1, 1.0, 20.0]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_curve_is_the_definition(name, k, epsilon, kappa, concentration, seed):
    theta = np.random.default_rng(seed).dirichlet(np.full(k, concentration))
    theta = (theta + 1e-6) / (theta + 1e-6).sum()
    ordered = np.sort(theta)[::-1]
    expected = [brute_force(ordered, rrrr_matrix(k, range(s), epsilon, kappa), name) for s in range(k)]
    np.testing.assert_allclose(
        policies.utility_curve(theta, epsilon, kappa, name), expected, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("name", UTILITIES)
def test_kappa_one(name):
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    curve = policies.utility_curve(theta, 1.0, 1.0, name)
    expected = [brute_force(theta, rrrr_matrix(4, range(s), 1.0, 1.0), name) for s in range(4)]
    if name == "fisher":
        assert np.isneginf(curve[1:3]).all()
        assert np.isfinite(curve[[0, 3]]).all()
    np.testing.assert_allclose(curve, expected, rtol=1e-9)


def test_zeros_in_theta():
    for name in UTILITIES:
        assert np.isfinite(policies.utility_curve([1.0, 0.0, 0.0], 0.5, 0.8, name)).all()


def test_entries_are_those_of_the_channel():
    from tacit import channels

    entries = matrix_entries(6, 1.3, 0.8)
    for size in range(1, 6):
        matrix = channels.rrrr(6, range(size), 1.3, 0.8).matrix()
        assert matrix[0, 0] == pytest.approx(entries.a[size])
        assert matrix[0, 5] == pytest.approx(entries.b[size])
        assert matrix[5, 0] == pytest.approx(entries.o[size])
        assert matrix[5, 5] == pytest.approx(entries.e[size])
        if size < 5:
            assert matrix[5, 4] == pytest.approx(entries.g[size])


def test_honest_over_sizes_is_the_maximum_over_all_subsets():
    """U6 depends on S through its mass: the best of all 2^K subsets is one of the K nested ones."""
    from itertools import combinations

    rng = np.random.default_rng(8)
    for _ in range(20):
        theta = rng.dirichlet(np.full(5, 0.7))
        values = [
            (np.diag(rrrr_matrix(5, s, 1.0, 0.8)) * theta).sum()
            for size in range(5)
            for s in combinations(range(5), size)
        ]
        assert max(values) == pytest.approx(policies.utility_curve(theta, 1.0, 0.8, "honest").max())


def test_best_subset_names_the_likeliest_categories():
    theta = [0.05, 0.6, 0.3, 0.05]
    size = int(np.argmax(policies.utility_curve(theta, 0.5, 0.8, "honest")))
    assert policies.best_subset(theta, 0.5, 0.8, "honest").tolist() == sorted([1, 2, 0, 3][:size])


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        (([0.5, 0.6], 1, 0.9, "honest"), "theta"),
        (([1.0], 1, 0.9, "honest"), "theta"),
        (([0.5, float("nan")], 1, 0.9, "honest"), "theta"),
        (([1.5, -0.5], 1, 0.9, "honest"), "theta"),
        (([0.5, 0.5], 0, 0.9, "honest"), "epsilon"),
        (([0.5, 0.5], 1, 1.1, "honest"), "kappa"),
        (([0.5, 0.5], 1, 0, "honest"), "kappa"),
        (([0.5, 0.5], 1, 0.9, "honesty"), "name"),
    ],
)
def test_refusals(arguments, argument):
    for call in (policies.utility_curve, policies.best_subset):
        with pytest.raises(TacitError) as refusal:
            call(*arguments)
        assert refusal.value.argument == argument
