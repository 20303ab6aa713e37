"""The audit of a channel: what it leaks by proof, and what an attacker could measure.

The proof is the certificate. Beside it stands an experiment on the code that answers: for the worst pair of
answers, run `respond` many times and count how often the report is one that favours the first as strongly as any
can. Exact binomial (Clopper-Pearson) bounds of the two rates then bound the loss from below with stated
confidence. But for one audit in a
thousand, an experiment above the certificate disproves the code; one far below it means too few samples.

>>> from tacit_client.build import srr
>>> result = audit(srr(3, 1), samples=2000)
>>> result.certificate.holds, result.empirical.lower_bound < 1.0
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tacit_client import check
from tacit_client.certificate import Certificate, certify
from tacit_client.tables import Table

CONFIDENCE = 0.999


@dataclass(frozen=True)
class Empirical:
    """Counts of the most telling reports under the two worst answers, and the bound they give."""

    samples: int
    hits_likely: int
    hits_unlikely: int
    confidence: float
    lower_bound: float


@dataclass(frozen=True)
class Audit:
    """A certificate and an experiment on the same channel."""

    certificate: Certificate
    empirical: Empirical

    @property
    def passes(self) -> bool:
        """Whether the channel leaks no more than it states, by proof and by experiment."""
        return self.certificate.holds and self.empirical.lower_bound <= self.certificate.loss


def audit(
    table: Table, samples: int = 20_000, progress: Callable[[int], object] = lambda done: None
) -> Audit:
    """Certify a table and attack its real randomiser with `samples` reports for each of the two answers."""
    count = check.integer(samples, "samples", 100, 10**9)
    certificate = certify(table)
    hits = [0, 0]
    for side, answer in enumerate((certificate.likely, certificate.unlikely)):
        for i in range(count):
            hits[side] += _telling(table, certificate, answer)
            if i % 1000 == 999:
                progress(1000)
    # Each rate at half the error: together they hold with the stated confidence.
    low = clopper_pearson(hits[0], count, (1 - CONFIDENCE) / 2)[0]
    high = clopper_pearson(hits[1], count, (1 - CONFIDENCE) / 2)[1]
    bound = max(0.0, math.log(low / high)) if low > 0 else 0.0
    return Audit(certificate, Empirical(count, hits[0], hits[1], CONFIDENCE, bound))


def _telling(table: Table, certificate: Certificate, answer: int) -> bool:
    """Whether a fresh report favours the likely answer as strongly as any report can."""
    report = table.respond(answer)
    likely = table.weight(report, certificate.likely)
    return Fraction(likely, table.weight(report, certificate.unlikely)) == certificate.ratio


def clopper_pearson(hits: int, samples: int, error: float) -> tuple[float, float]:
    """One-sided exact lower and upper bounds of a rate, each wrong with probability at most `error`."""
    from scipy.special import betaincinv

    low = float(betaincinv(hits, samples - hits + 1, error)) if hits else 0.0
    high = float(betaincinv(hits + 1, samples - hits, 1 - error)) if hits < samples else 1.0
    return low, high


def posterior(ratio: Fraction, prior: float) -> float:
    """The most that one report can raise the probability `prior` that somebody's answer is a given one."""
    odds = float(ratio) * prior / (1 - prior)
    return odds / (1 + odds)
