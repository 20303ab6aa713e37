"""Rational bounds of the exponential function: the only analysis that the certificate needs.

Every partial sum of exp(x) = 1 + x + x^2/2! + ... with x >= 0 lies below exp(x), and rounding each term
down keeps it below. So a loop over integers gives an integer n with n / 2^bits <= exp(x), and a loss
is compared with epsilon without one floating-point operation.

>>> exp_lower(Fraction(1), 20) / 2**20
2.71827...
>>> at_most_exp(Fraction(271828, 100000), Fraction(1)), at_most_exp(Fraction(271829, 100000), Fraction(1))
(True, False)
"""

from __future__ import annotations

import math
from fractions import Fraction

GUARD_BITS = 256
RATIO_BITS = 43


def exp_lower(x: Fraction, bits: int = GUARD_BITS) -> int:
    """An integer n with n <= 2^bits exp(x), short of it by a relative 2^-(bits - 80) at most; 0 <= x <= 600."""
    term = total = 1 << bits
    i = 0
    while term:
        i += 1
        term = term * x.numerator // (x.denominator * i)
        total += term
    return total


def at_most_exp(ratio: Fraction, x: Fraction, bits: int = GUARD_BITS) -> bool:
    """Whether ratio <= exp(x), by a rational lower bound of exp(x): True is a proof."""
    return ratio.numerator << bits <= exp_lower(x, bits) * ratio.denominator


def ratio_below_exp(x: Fraction) -> Fraction:
    """The ratio u/v that a channel with epsilon = x uses: u/v < exp(x) <= (1 + 2^-40) u/v.

    u keeps 43 significant bits, and more when x is small so that u/v - 1 keeps them too. One unit is
    taken off, which leaves the loss below epsilon even after both are rounded to a float.
    """
    lower = exp_lower(x)
    magnitude = lower.bit_length() - GUARD_BITS
    bits = RATIO_BITS + (x.denominator // x.numerator).bit_length()
    u = (lower >> (GUARD_BITS + magnitude - bits)) - 1
    shift = bits - magnitude
    return Fraction(u, 1 << shift) if shift >= 0 else Fraction(u << -shift)


def log_upper(ratio: Fraction) -> float:
    """ln(ratio) as a float rounded up: a certified upper bound, a few units in the last place away."""
    if ratio == 1:
        return 0.0
    guess = math.log1p(float(ratio - 1)) if ratio < 2 else math.log(ratio)
    for _ in range(3):
        guess = math.nextafter(guess, 0.0)
    # A ratio near 1 has a small logarithm: the bound must resolve its last place too.
    bits = GUARD_BITS + math.ceil(1 / (ratio - 1)).bit_length()
    while not at_most_exp(ratio, Fraction(guess), bits):
        guess = math.nextafter(guess, math.inf)
    return guess
