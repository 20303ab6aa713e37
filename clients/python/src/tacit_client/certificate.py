"""The certificate: what a channel really leaks, recomputed by whoever is asked to use it.

    loss = max over reports y and answers x, x' of  ln( P(y | x) / P(y | x') )

Probabilities are ratios of integers, so the maximum is an exact fraction. It is compared with a rational lower
bound of exp(epsilon). No floating-point number takes part in the decision.

>>> from tacit_client.build import srr
>>> certificate = certify(srr(3, 1))
>>> certificate.holds, certificate.loss <= 1, certificate.likely, certificate.unlikely
(True, True, 0, 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tacit_client.check import format_decimal
from tacit_client.errors import TacitError
from tacit_client.exponential import at_most_exp, log_upper
from tacit_client.tables import Table, Value


@dataclass(frozen=True)
class Certificate:
    """The exact worst case of a table: `ratio`, and the answers and the report that attain it."""

    epsilon: Fraction
    ratio: Fraction
    likely: int
    unlikely: int
    report: Value

    @cached_property
    def loss(self) -> float:
        """ln(ratio), rounded up to a float."""
        return log_upper(self.ratio)

    def within(self, bound: Fraction) -> bool:
        """Whether the loss is at most `bound`: True is a proof, in rational arithmetic."""
        return at_most_exp(self.ratio, bound)

    @cached_property
    def holds(self) -> bool:
        """Whether the channel leaks no more than the epsilon it states."""
        return self.within(self.epsilon)


def certify(table: Table) -> Certificate:
    """Compute the exact loss of a table."""
    worst = table.worst()
    return Certificate(table.epsilon, worst.ratio, worst.likely, worst.unlikely, worst.report)


def require_honest(table: Table) -> Certificate:
    """The certificate of a table that leaks no more than it states; refuse any other."""
    certificate = certify(table)
    if not certificate.holds:
        raise TacitError(
            "channel_leaks",
            f"the channel states epsilon {format_decimal(certificate.epsilon)} "
            f"and leaks {certificate.loss:.6g}",
            argument="epsilon",
            hint="do not answer through it; `tacit audit` shows where it leaks",
        )
    return certificate
