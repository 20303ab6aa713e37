"""Known faults of real libraries, planted on purpose. Each must be refused by the certificate or the chi-square.

The certificate judges tables; a fault in the sampler leaves the table as it was, and only draws can show it. A test
that passes with the fault in place would be worth nothing, so every mutant here must be caught.
"""

import math
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from test_samplers import ALARM, DRAWS, smallest_p

from oracles import rrrr_matrix
from tacit import channels
from tacit_client import TacitError, certify
from tacit_client.exponential import ratio_below_exp
from tacit_client.tables import Blocks, Dense, Subsets


def as_table(matrix, epsilon):
    """The integers nearest to a matrix of floats, stated to keep epsilon whatever they leak."""
    rows = [[round(p * 2**60) for p in row] for row in matrix]
    last = [2**60 - sum(column) for column in zip(*rows[:-1], strict=True)]
    return Dense(len(last), Fraction(repr(float(epsilon))), tuple(map(tuple, [*rows[:-1], last])))


def assert_certificate_refuses(table):
    assert not certify(table).holds
    with pytest.raises(TacitError) as refusal:
        channels.from_table(table)
    assert refusal.value.code == "channel_leaks"


@pytest.mark.parametrize("fault", ["no logarithm", "indexed by |S|", "published"])
def test_faulty_epsilon_2_is_refused(fault):
    k, epsilon, kappa = 20, 0.5, 0.9
    caught = 0
    for size in range(1, k):
        faulty = rrrr_matrix(k, range(size), epsilon, kappa, faulty=fault)
        true = math.log((faulty.max(axis=1) / faulty.min(axis=1)).max())
        table = as_table(faulty, epsilon)
        assert certify(table).loss == pytest.approx(true, rel=1e-9)
        if true > epsilon * (1 + 1e-9):
            assert_certificate_refuses(table)
            caught += 1
    assert caught >= 8


def test_the_published_code_leaks_up_to_1_83_epsilon():
    losses = [
        certify(as_table(rrrr_matrix(20, range(size), 0.5, 0.9, faulty="published"), 0.5)).loss
        for size in range(1, 20)
    ]
    assert max(losses) / 0.5 == pytest.approx(1.83, abs=0.01)


def unary_encoding(k, own_kept):
    """Each of k bits reported as is with probability p; the own bit, by mistake, with `own_kept`."""
    p = math.exp(0.5) / (1 + math.exp(0.5))  # symmetric unary encoding at epsilon = 1
    matrix = np.ones((2**k, k))
    for report in range(2**k):
        for x in range(k):
            for bit in range(k):
                sent = report >> bit & 1
                if bit == x:
                    matrix[report, x] *= own_kept if sent else 1 - own_kept
                else:
                    matrix[report, x] *= 1 - p if sent else p
    return matrix


def test_own_bit_kept():
    honest = math.exp(0.5) / (1 + math.exp(0.5))
    assert certify(as_table(unary_encoding(3, honest), 1.0)).loss == pytest.approx(1.0, abs=1e-9)
    assert_certificate_refuses(as_table(unary_encoding(3, (1 + honest) / 2), 1.0))
    with pytest.raises(TacitError) as refusal:
        channels.from_matrix(unary_encoding(3, 1.0), 1.0)
    assert refusal.value.code == "channel_infinite_loss"


def test_probability_rounded_to_two_decimals():
    p = round(math.exp(12) / (1 + math.exp(12)), 2)
    assert p == 1.0
    with pytest.raises(TacitError) as refusal:
        channels.from_matrix([[p, 1 - p], [1 - p, p]], 12)
    assert refusal.value.code == "channel_infinite_loss"
    p = round(math.exp(4) / (1 + math.exp(4)), 2)  # 0.982 becomes 0.98: safe; q = 0.018 becomes 0.02
    q = round(math.exp(3.7) / (1 + math.exp(3.7)), 2)  # 0.976 becomes 0.98
    assert certify(as_table([[p, 1 - p], [1 - p, p]], 4)).holds
    assert_certificate_refuses(as_table([[q, 1 - q], [1 - q, q]], 3.7))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0])
def test_float_rounding_that_lifts_the_ratio_above_exp(epsilon):
    # The float nearest to exp(epsilon), or the next one, lies above exp(epsilon): a leak of 1e-16.
    exact = Fraction(repr(epsilon))
    lifted = Fraction(math.nextafter(math.exp(epsilon), math.inf))
    assert_certificate_refuses(Blocks(4, exact, (), (0, 0, 0), (lifted.numerator, 0, lifted.denominator)))
    assert_certificate_refuses(Subsets(4, exact, None, 2, lifted.numerator, lifted.denominator))
    kept = ratio_below_exp(exact)
    assert certify(Blocks(4, exact, (), (0, 0, 0), (kept.numerator, 0, kept.denominator))).holds


def draws(table, x):
    return [table.respond(x) for _ in range(DRAWS)]


class LieMayBeTheTruth(Blocks):
    def _draw(self, x, randbelow):
        own = self.outside[0]
        return x if randbelow(self.total) < own else randbelow(self.k)


class OwnCellAlwaysHeld(Subsets):
    def _draw(self, x, randbelow):
        report = super()._draw(x, randbelow)
        own = self.cell(x)
        return report if own in report else tuple(sorted((*report[1:], own)))


class PairedFill(Subsets):
    """Right inclusion of every cell, wrong pairs: the fill is a run of neighbours."""

    def _draw(self, x, randbelow):
        own, others = self.cell(x), [c for c in range(self.cells) if c != self.cell(x)]
        weight = self.size * self.own
        include = randbelow(weight + (self.cells - self.size) * self.other) < weight
        start = randbelow(len(others))
        fill = [others[(start + i) % len(others)] for i in range(self.size - include)]
        return tuple(sorted([*fill, own] if include else fill))


class SurplusForgotten(Blocks):
    def _draw(self, x, randbelow):
        own, to_subset, to_rest = self.inside if x in self.subset else self.outside
        t = randbelow(self.total) - own  # forgets that the own block gives it a share already
        if t < 0:
            return x
        if t < len(self.subset) * to_subset:
            return self.subset[t // to_subset]
        return min(self.outsider((t - len(self.subset) * to_subset) // to_rest), self.k - 1)


@pytest.mark.parametrize(
    ("mutant", "made"),
    [
        (LieMayBeTheTruth, channels.srr(5, 1.0)),
        (OwnCellAlwaysHeld, channels.subset(5, 1.0, 2)),
        (OwnCellAlwaysHeld, channels.subset(20, 1.0, 5)),
        (PairedFill, channels.subset(20, 1.0, 5)),
        (SurplusForgotten, channels.rrrr(6, [0, 1], 1.0, 0.9)),
    ],
)
def test_faulty_samplers_are_caught(mutant, made):
    values = {name: getattr(made.table, name) for name in (f.name for f in fields(made.table))}
    faulty = mutant(**values)
    assert certify(faulty).holds, "this fault is in the sampler, not in the table"
    x = made.k - 2
    assert smallest_p(made, x, draws(made.table, x)) > ALARM
    assert smallest_p(made, x, draws(faulty, x)) < ALARM


def test_reports_of_another_epsilon_are_caught():
    made = channels.srr(20, 1.0)
    assert smallest_p(made, 3, draws(channels.srr(20, 1.3).table, 3)) < ALARM


def test_audit_measures_a_leak_that_a_sampler_hides():
    from tacit.audit import audit

    made = channels.srr(5, 0.5).table
    faulty = OwnCellAlwaysHeld(5, Fraction(1, 2), None, 1, *made.outside[::2])
    result = audit(faulty, samples=5000)
    assert result.certificate.holds
    assert result.empirical.lower_bound > 1
    assert not result.passes
