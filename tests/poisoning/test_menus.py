"""The worst report that sorting finds, against all reports of small channels."""

from itertools import product

import numpy as np
import pytest

from tacit import TacitError, channels
from tacit.poisoning import menus

CHANNELS = {
    "srr": channels.srr(5, 1.0),
    "rrrr": channels.rrrr(5, [1, 3], 1.0, 0.9),
    "subset of 2": channels.subset(6, 0.5, 2),
    "subset of 3": channels.subset(6, 2.0, 3),
    "subset of all but 1": channels.subset(4, 1.0, 3),
    "coarse": channels.coarse(7, [1, 2, 5], 1.0, 2),
    "dense": channels.from_matrix([[0.5, 0.3, 0.2], [0.2, 0.4, 0.3], [0.3, 0.3, 0.5]], 1.0),
    "graded": channels.graded(0, 10, 4, 1.0),
    "binned subset": channels.binned([1, 2, 3, 4], channels.subset(5, 1.0, 2)),
    "almost deterministic": channels.subset(5, 20.0, 1),
}


def pulls(k, rng, count=40):
    """Rows that sum to zero, as covariances with shares do, and shares."""
    pull = rng.normal(size=(count, k))
    return pull - pull.mean(axis=1, keepdims=True), rng.dirichlet(np.ones(k) / 2)


@pytest.mark.parametrize("name", CHANNELS)
def test_no_report_is_worse_than_the_one_found(name):
    channel = CHANNELS[name]
    reports = channel.check_reports(channel.reports())
    rows = channel.likelihood(reports)
    pull, mean = pulls(channel.k, np.random.default_rng(1))
    found = menus.best(channel, pull, mean)
    scores = (pull @ rows.T) / (rows @ mean)
    assert found.gain == pytest.approx(scores.max(axis=1), rel=1e-9, abs=1e-12)
    for goal, gain in enumerate(found.gain):
        row = channel.likelihood(np.array([found.report(goal)]))[0]
        assert row / row.min() == pytest.approx(found.rows[goal])
        assert pull[goal] @ row / (row @ mean) == pytest.approx(gain, abs=1e-12)


def test_a_hashed_channel_is_bounded_by_any_set():
    channel = channels.hashed(6, 1.5)
    odds = channel.table.own / channel.table.other
    pull, mean = pulls(6, np.random.default_rng(2))
    found = menus.best(channel, pull, mean)
    rows = 1 + (odds - 1) * np.array(list(product([0, 1], repeat=6)))
    assert found.gain == pytest.approx(((pull @ rows.T) / (rows @ mean)).max(axis=1))
    made = channel.likelihood(channel.sample(np.arange(6).repeat(500), 1))
    assert (((pull @ made.T) / (made @ mean)).max(axis=1) <= found.gain + 1e-12).all()
    with pytest.raises(TacitError, match="hashed"):
        found.report(0)


def test_a_worse_search_would_be_noticed():
    """Sorting once, without Dinkelbach's steps, misses the best set: the test above can fail."""
    channel = CHANNELS["subset of 3"]
    pull, mean = pulls(6, np.random.default_rng(1))
    once = np.ones_like(pull)
    np.put_along_axis(once, np.argsort(-pull, axis=1)[:, :3], np.exp(2.0), axis=1)
    assert ((pull * once).sum(axis=1) / (once @ mean) < menus.best(channel, pull, mean).gain - 1e-3).any()
