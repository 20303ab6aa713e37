"""The closed form of the unbiased estimate's worst case, against the estimate with the fakes added."""

import numpy as np
import pytest

from tacit import Evidence, channels, poisoning

CASES = {
    "srr": [channels.srr(4, 1.0)],
    "subset": [channels.subset(5, 0.5, 2)],
    "rrrr": [channels.srr(5, 1.0), channels.rrrr(5, [0, 3], 1.0, 0.9)],
    "coarse": [channels.subset(5, 1.0), channels.coarse(5, [0, 1], 1.0)],
    "dense": [channels.from_matrix([[0.5, 0.3, 0.2], [0.2, 0.4, 0.3], [0.3, 0.3, 0.5]], 1.0)],
}


def evidence_of(used, n=400):
    rng = np.random.default_rng(3)
    evidence = Evidence()
    for channel in used:
        answers = rng.choice(channel.k, n, p=np.arange(channel.k, 0, -1) / np.arange(channel.k + 1).sum())
        evidence = evidence.add(channel, channel.sample(answers, rng))
    return evidence


@pytest.mark.parametrize("name", CASES)
def test_no_report_does_more_and_one_does_as_much(name):
    evidence, fakes = evidence_of(CASES[name]), 20
    now = evidence.moments().theta
    moved = np.array(
        [
            evidence.add(channel, np.array([report] * fakes)).moments().theta - now
            for channel in CASES[name]
            for report in channel.reports()
        ]
    )
    up, down = poisoning.moment_push(evidence, fakes)
    assert up == pytest.approx(moved.max(axis=0))
    assert down == pytest.approx(-moved.min(axis=0))


def test_one_report_of_one_channel_moves_by_one_minus_q_over_p_minus_q():
    channel = channels.hashed(8, 1.0)
    evidence = evidence_of([channel], 1000)
    p, q = channel.inclusion
    held = evidence.tallies[0].sums / 1000
    up, down = poisoning.moment_push(evidence, 50)
    assert up == pytest.approx(50 / 1050 * (1 - held) / (p - q))
    assert down == pytest.approx(50 / 1050 * held / (p - q))


def test_what_no_channel_tells_apart_can_be_anything():
    evidence = evidence_of([channels.coarse(5, [0, 1], 1.0)])
    up, _ = poisoning.moment_push(evidence, 5)
    assert np.isinf(up).tolist() == [False, False, True, True, True]
    more, _ = poisoning.moment_push(evidence_of([channels.subset(5, 1.0)]), 5, [channels.srr(5, 1.0)])
    assert np.isfinite(more).all()
