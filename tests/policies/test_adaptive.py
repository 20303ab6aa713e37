"""Policies by name, and the risk policy against matrices written out."""

import numpy as np
import pytest

from tacit import TacitError, channels
from tacit.policies import best_subset, policy, risk

RNG = np.random.default_rng(3)
DRAWS = RNG.dirichlet([40, 20, 5, 2, 1, 1], 400)


def chosen(name, draws=DRAWS, epsilon=1.0, n=1000, kappa=0.8):
    return policy(name, kappa).choose(draws, epsilon, n, np.random.default_rng(1))


def test_static():
    assert chosen("static-srr") == channels.srr(6, 1.0)
    assert chosen("static-subset") == channels.subset(6, 1.0)
    assert not policy("static-srr").adaptive


def test_semi_adaptive_takes_the_fewest_likeliest_categories_with_the_mass():
    theta = np.array([[0.05, 0.5, 0.3, 0.1, 0.05]])
    assert chosen("semi:0.5", theta).table.subset == (1,)
    assert chosen("semi:0.6", theta).table.subset == (1, 2)
    assert chosen("semi:0.85", theta).table.subset == (1, 2, 3)
    assert len(chosen("semi:1", theta).table.subset) == 4  # at most K - 1
    assert len(chosen("semi:0.9", np.array([[1.0, 0.0, 0.0]])).table.subset) == 1


@pytest.mark.parametrize("name", ["fisher", "entropy", "tv_posterior", "tv_marginal", "mse", "honest"])
def test_utilities_act_on_one_posterior_draw(name):
    theta = DRAWS[np.random.default_rng(1).integers(len(DRAWS))]
    expected = best_subset(theta / theta.sum(), 1.0, 0.8, name)
    assert chosen(name) == channels.rrrr(6, expected, 1.0, 0.8)


def written_out(channel, mean, covariance, n):
    """The error left by the best linear estimate from the mean report, with every matrix built by enumeration."""
    law = channel.matrix() @ mean
    held = np.array([np.isin(np.arange(channel.table.cells), report) for report in channel.reports()], float)
    first = law @ held
    one = (held * law[:, None]).T @ held - np.outer(first, first)
    to_cells = np.zeros((channel.table.cells, len(mean)))
    to_cells[channel.cell_of, np.arange(len(mean))] = 1
    a = channel.gain * to_cells
    kept = slice(0, channel.table.cells - 1)
    a, one = a[kept], one[kept, kept]
    joint = (1 - 1 / n) * a @ covariance @ a.T + one / n
    return np.diag(covariance - covariance @ a.T @ np.linalg.inv(joint) @ a @ covariance)


@pytest.mark.parametrize(
    "channel",
    [channels.subset(6, 1.0), channels.coarse(6, [0, 1], 1.0, 1), channels.coarse(6, [1, 2, 4], 2.0, 2)],
    ids=repr,
)
@pytest.mark.parametrize("n", [2, 50, 5000])
def test_expected_error(channel, n):
    mean, covariance = DRAWS.mean(axis=0), np.cov(DRAWS.T)
    left = written_out(channel, mean, covariance, n)
    assert risk.expected_error(channel, mean, covariance, n, "mse") == pytest.approx(left.sum(), rel=1e-8)
    assert risk.expected_error(channel, mean, covariance, n, "tv") == pytest.approx(
        np.sqrt(left).sum(), rel=1e-8
    )


def test_draws_that_agree_leave_nothing_to_choose():
    for epsilon in (1.0, 50.0):
        draws = np.tile([1.0, 0.0, 0.0], (50, 1))
        assert risk.choose(draws, epsilon, 100).channel == channels.subset(3, epsilon)


def test_more_reports_leave_less_error():
    channel, mean, covariance = channels.subset(6, 1.0), DRAWS.mean(axis=0), np.cov(DRAWS.T)
    errors = [risk.expected_error(channel, mean, covariance, n, "mse") for n in (2, 10, 100, 1000)]
    assert (np.diff(errors) < 0).all()
    assert errors[0] < np.trace(covariance)


def test_risk_leaves_the_static_channel_only_for_a_clear_gain():
    even = np.random.default_rng(2).dirichlet(np.full(6, 50), 400)
    assert risk.choose(even, 1.0, 5000).channel == channels.subset(6, 1.0)
    # One category dominates and the others are known to be tiny: a large epsilon pays for telling it from the rest.
    sure = np.random.default_rng(2).dirichlet([300, 100, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3], 400)
    choice = risk.choose(sure, 1.0, 5000)
    assert choice.ratio < 1 - risk.MARGIN
    assert choice.channel.table.keep is not None
    assert {0, 1} >= set(choice.channel.table.keep[:1])


@pytest.mark.parametrize(
    "name", ["", "risky", "semi", "semi:", "semi:0", "semi:1.5", "semi:nan", "semi:x", None, 3]
)
def test_unknown_policies(name):
    with pytest.raises(TacitError) as refusal:
        policy(name)
    assert refusal.value.argument == "policy"


@pytest.mark.parametrize("kappa", [0, 1.1, float("nan"), True, "0.9"])
def test_bad_kappa(kappa):
    with pytest.raises(TacitError) as refusal:
        policy("honest", kappa)
    assert refusal.value.argument == "kappa"
