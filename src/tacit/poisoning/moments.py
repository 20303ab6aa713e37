"""The worst case of the unbiased estimate, in closed form.

`Evidence.moments` averages each channel's own estimate with weights n_c / v_c, v_c the variance of one report
at a uniform distribution. A report of channel c alone estimates u; after m of them the estimate of a category
is

    (sum_c (n_c / v_c) e_c + (m / v_c) u) / (sum_c n_c / v_c + m / v_c),

so the worst report has the largest or the smallest u / v_c-weighted pull. For one subset or hashed channel u
is (1 - q) / (p - q) when the report holds the category and -q / (p - q) when not: a report moves the estimate
up by (1 - f) / (p - q) / (n + 1), f the share of reports that hold it. Without privacy it would be (1 -
theta) / (n + 1).

>>> from tacit import Evidence, channels
>>> channel = channels.subset(4, 1.0, 1)
>>> evidence = Evidence().add(channel, np.repeat([[0], [1], [2], [3]], 250, axis=0))
>>> p, q = channel.inclusion
>>> up, down = moment_push(evidence, 10)
>>> np.allclose(up, 10 / 1010 * 0.75 / (p - q)), np.allclose(down, 10 / 1010 * 0.25 / (p - q))
(True, True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.arrays import Floats
from tacit.channels import Channel
from tacit.channels.hashed import HashedChannel
from tacit.channels.subsets import SubsetChannel
from tacit.evidence import Evidence


def moment_push(
    evidence: Evidence, fakes: int, channels: Sequence[Channel[Any]] = ()
) -> tuple[Floats, Floats]:
    """How far `fakes` reports, all alike, can push each entry of `evidence.moments().theta`, up and down: two (K,).

    Reports of `channels` may be sent too. A category that nothing tells apart has infinity.
    """
    k = evidence.categories()
    uniform = np.full(k, 1 / k)
    weights, total = np.zeros(k), np.zeros(k)
    menus = {tally.channel.id: tally.channel for tally in evidence.tallies}
    menus |= {channel.id: channel for channel in channels}
    for tally in evidence.tallies:
        estimate, _ = tally.channel.unbiased(tally.sums / tally.n, tally.n)
        weight = tally.n * _precision(tally.channel, uniform)
        weights += weight
        total += np.where(weight > 0, weight * estimate, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        now = total / weights
    up, down = np.zeros(k), np.zeros(k)
    for channel in menus.values():
        weight = fakes * _precision(channel, uniform)
        least, most = _extremes(channel)
        known = weight > 0
        for single, sign, push in ((most, 1, up), (least, -1, down)):
            with np.errstate(divide="ignore", invalid="ignore"):
                after = (total + np.where(known, weight * single, 0)) / (weights + weight)
                moved = np.where(known, sign * (after - now), 0)
            np.maximum(push, moved, out=push)
    unknown = weights == 0
    return np.where(unknown, np.inf, up), np.where(unknown, np.inf, down)


def _precision(channel: Channel[Any], uniform: Floats) -> Floats:
    """Of one report about each category, at a uniform distribution; 0 where it tells nothing."""
    _, variance = channel.unbiased(channel.frequencies(uniform), 1)
    return np.divide(1.0, variance, out=np.zeros(len(variance)), where=np.isfinite(variance))


def _extremes(channel: Channel[Any]) -> tuple[Floats, Floats]:
    """The smallest and the largest estimate of each category that a single report gives: two (K,)."""
    if isinstance(channel, SubsetChannel | HashedChannel):
        cells = channel.table.cells if isinstance(channel, SubsetChannel) else channel.k
        return channel.unbiased(np.zeros(cells), 1)[0], channel.unbiased(np.ones(cells), 1)[0]
    singles = np.array([channel.unbiased(one, 1)[0] for one in np.eye(len(channel.reports()))])
    return singles.min(axis=0), singles.max(axis=0)
