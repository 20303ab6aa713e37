"""Plans against simulation, and against themselves turned round."""

import numpy as np
import pytest

from tacit import Evidence, TacitError, plan
from tacit.planning import error_of_one

THETA = [0.4, 0.3, 0.2, 0.1]


def test_the_error_is_that_of_the_moment_estimate():
    made = plan(k=4, epsilon=1.0, n=3000, theta=THETA)
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(500):
        reports = made.channel.sample(rng.choice(4, made.n, p=THETA), rng)
        errors.append(np.abs(Evidence().add(made.channel, reports).moments().theta - THETA).sum() / 2)
    assert np.mean(errors) == pytest.approx(made.error, abs=4 * np.std(errors) / np.sqrt(500))


def test_two_give_the_third():
    first = plan(k=10, epsilon=1.0, error=0.03)
    assert plan(k=10, epsilon=1.0, n=first.n).error == pytest.approx(0.03, rel=1e-4)
    assert plan(k=10, n=first.n, error=0.03).epsilon == pytest.approx(1.0, abs=0.011)
    assert plan(k=10, epsilon=1.0, n=4 * first.n).error == pytest.approx(0.015, rel=1e-4)
    assert plan(k=10, n=first.n, error=0.03).error <= 0.03


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 6.0])
def test_no_population_is_worse_than_even_shares(epsilon):
    worst = error_of_one(6, epsilon, np.full(6, 1 / 6))
    rng = np.random.default_rng(1)
    for concentration in (0.05, 0.5, 5.0, 100.0):
        assert all(
            error_of_one(6, epsilon, rng.dirichlet(np.full(6, concentration))) <= worst for _ in range(50)
        )


def test_check_simulates_the_default_study():
    made = plan(k=3, epsilon=2.0, n=600, theta=[0.8, 0.2, 0.0])
    mean, error = made.check(8, "static-subset", seed=1)
    assert 0 < mean < 1.5 * made.error
    assert 0 < error < mean


def test_what_cannot_be_reached_says_how_many_people_it_takes():
    with pytest.raises(TacitError) as refusal:
        plan(k=10, n=100, error=0.01)
    assert refusal.value.argument == "n"
    needed = int(refusal.value.hint.split()[3])
    assert plan(k=10, n=needed, error=0.01).epsilon < 20


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"k": 1, "epsilon": 1, "n": 100}, "k"),
        ({"k": 4, "epsilon": 1}, "error"),
        ({"k": 4, "epsilon": 1, "n": 5, "error": 0.1}, "error"),
        ({"k": 4, "epsilon": 0, "n": 5}, "epsilon"),
        ({"k": 4, "epsilon": 1, "n": 0}, "n"),
        ({"k": 4, "epsilon": 1, "error": 0}, "error"),
        ({"k": 4, "epsilon": 1, "error": float("nan")}, "error"),
        ({"k": 4, "epsilon": 1, "n": 5, "theta": [0.5, 0.5]}, "theta"),
    ],
)
def test_refusals(options, argument):
    with pytest.raises(TacitError) as refusal:
        plan(**options)
    assert refusal.value.argument == argument
