"""The predictive check finds reports that no population makes; the sensitivity shows what the prior decides."""

import numpy as np
import pytest

from tacit import Categorical, Evidence, TacitError, channels, posterior

THETA = np.array([0.5, 0.3, 0.15, 0.05])
CHANNELS = [channels.srr(4, 1.0), channels.subset(4, 0.5, 2), channels.hashed(4, 1.0)]


def honest(channel, n=1500, seed=1):
    rng = np.random.default_rng(seed)
    return Evidence().add(channel, channel.sample(rng.choice(4, n, p=THETA), rng))


@pytest.mark.parametrize("channel", CHANNELS, ids=repr)
def test_honest_reports_fit(channel):
    values = []
    for seed in range(12):
        evidence = honest(channel, seed=seed)
        draws = posterior.sample(Categorical(4), evidence, draws=250, seed=seed)
        values += [fit.p_value for fit in posterior.predictive_check(draws, evidence, 60, seed)]
    assert min(values) > 0.01
    assert 0.2 < np.mean(values) < 0.9


@pytest.mark.parametrize(
    ("channel", "reports"),
    [
        (channels.srr(4, 0.5), [2] * 600),  # the same report again and again: at most 0.35 of honest ones
        (channels.subset(4, 0.5, 2), [[0, 1]] * 300 + [[2, 3]] * 20),
        (channels.srr(4, 0.5), np.repeat([0, 1, 2, 3], [500, 300, 150, 50])),  # answers without any noise
    ],
)
def test_reports_that_no_population_makes_do_not_fit(channel, reports):
    evidence = Evidence().add(channel, reports)
    draws = posterior.sample(Categorical(4), evidence, draws=250, seed=1)
    assert posterior.predictive_check(draws, evidence, 200)[0].p_value < 0.01


def test_every_channel_has_its_own_verdict():
    evidence = honest(CHANNELS[0]).add(channels.srr(4, 0.5), [2] * 400)
    draws = posterior.sample(Categorical(4), evidence, draws=250, seed=1)
    fits = {fit.channel.epsilon: fit.p_value for fit in posterior.predictive_check(draws, evidence, 200)}
    assert fits[0.5] < 0.01


def test_the_prior_decides_when_there_are_few_reports():
    few, many = honest(CHANNELS[1], 30), honest(channels.srr(4, 3.0), 20_000)
    spreads = []
    for evidence in (few, many):
        estimates = posterior.sensitivity(evidence, draws=500)
        assert set(estimates) == {"learned", "flat", "sparse"}
        spreads.append(np.abs(estimates["flat"] - estimates["sparse"]).sum() / 2)
    assert spreads[0] > 0.1 > 0.01 > spreads[1]


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda draws: posterior.predictive_check(draws, Evidence()), "evidence"),
        (
            lambda draws: posterior.predictive_check(draws, Evidence().add(channels.srr(5, 1.0), [0])),
            "evidence",
        ),
        (lambda draws: posterior.predictive_check(draws, honest(CHANNELS[0]), 3), "replicates"),
        (lambda draws: posterior.predictive_check(draws, honest(CHANNELS[0]), seed=None), "seed"),
        (lambda draws: posterior.sensitivity(Evidence()), "evidence"),
    ],
)
def test_refusals(call, argument):
    draws = posterior.sample(Categorical(4), honest(CHANNELS[0], 50), draws=50)
    with pytest.raises(TacitError) as refusal:
        call(draws)
    assert refusal.value.argument == argument
