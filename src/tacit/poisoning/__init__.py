"""Poisoning: how far hostile respondents can push an estimate.

Local privacy hides lies as well as truth. Whoever takes part may send any report that a channel can make, to
any round of the study, for late reports count. `gauge` says how far m such reports can push the reported
estimate of every category, or of a number's location and scale, up and down. `attack` makes one such push and
gives the evidence that it leaves.

**One report.** A fraction w of a report with row r, added, moves the posterior mean of a goal g at the rate

    d E[g] / d w = Cov(g, ln(r . theta))       under the posterior.

The worst report has the largest of these among all reports of all rounds' channels; `menus` finds it by
sorting. `linear_up` and `linear_down` are m times that rate.

**m reports.** Two reports are judged for every goal: the one that the posterior covariance of one half of the
draws says is worst, judged by the other half (the largest of many noisy numbers flatters itself), and the one
that the likelihood alone says is worst. Draws are reweighted by (r . theta)^m, which holds the prior, its
shrinkage and all curvature, for as many reports as leave a fifth of the draws effective: a push of one or two
standard deviations. The others are taken at the rate of the likelihood alone, P s with s = r / (r . theta)
and P the inverse information on the simplex, times n / (n + left): pushed clear of its prior, an estimate
moves as an unbiased one does.

So `up` and `down` are approximations, and no bounds. They leave out that a mixture of reports may do a little
more than one report repeated. `exact=True` runs the posterior again with the fakes in it, chosen anew in
several steps: an attack that does exist. `moment_up` and `moment_down` are those of the unbiased
`Evidence.moments`, in closed form and exact. `plain_up` and `plain_down` are those of a poll without privacy,
m / (n + m) times what is left to win or lose; `price` is how many times more the private poll can be pushed
up.

Attacks of this kind: A. Cheu, A. Smith, J. Ullman (2021), Manipulation attacks in local differential privacy;
X. Cao, J. Jia, N. Z. Gong (2021), Data poisoning attacks to local differential privacy protocols.

>>> import numpy as np
>>> from tacit import Evidence, channels
>>> channel = channels.subset(4, 1.0)
>>> answers = np.repeat([0, 1, 2, 3], [2000, 1000, 600, 400])
>>> evidence = Evidence().add(channel, channel.sample(answers, rng=1))
>>> found = gauge(evidence, fakes=40)
>>> (found.up > found.plain_up).all(), found.say(["red", "green", "blue", "grey"])[:31]
(np.True_, '40 fake reports (1 %) can move ')
"""

from __future__ import annotations

from tacit.poisoning.attacks import Attack, attack
from tacit.poisoning.gauges import Gauge, gauge
from tacit.poisoning.moments import moment_push

__all__ = ["Attack", "Gauge", "attack", "gauge", "moment_push"]
