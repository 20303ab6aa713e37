"""The promise and the ledger: exact fractions, every refusal."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from tacit.errors import TacitError
from tacit.sketch import Ledger, Privacy
from tacit.sketch.privacy import largest_rho, promise


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 7])
@pytest.mark.parametrize("rate", [0.9, 0.5, 0.01])
def test_sampling_gives_the_stated_loss(epsilon, rate):
    inner = Privacy(epsilon=epsilon, sampling=rate).budget
    outer = math.log1p(rate * math.expm1(float(inner)))
    assert outer == pytest.approx(epsilon, rel=1e-9)
    with localcontext(prec=100):
        e, r = Decimal(str(epsilon)), Decimal(str(rate))
        exact = (1 + (e.exp() - 1) / r).ln()
        assert exact * (1 - Decimal("1e-38")) < Decimal(inner.numerator) / Decimal(inner.denominator) < exact


def test_sampling_never_helps_the_noise():
    """After rescaling, the noise of one cell has scale 1 / (r e'), and r e' < e."""
    for epsilon in (0.01, 1, 5):
        for rate in (0.1, 0.5, 0.9):
            assert rate * Privacy(epsilon=epsilon, sampling=rate).budget < epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-6), (1, 0.01), (5, 1e-9)])
def test_the_conversion_is_safe_and_near_the_best(epsilon, delta):
    """Gaussian noise of that rho has its exact delta (Balle and Wang's formula) below the stated one, not far."""
    rho = largest_rho(epsilon, delta)
    scale = 1 / math.sqrt(2 * rho)

    def exact(scale):
        first = norm.cdf(1 / (2 * scale) - epsilon * scale)
        return first - math.exp(epsilon) * norm.cdf(-1 / (2 * scale) - epsilon * scale)

    assert exact(scale) <= delta
    assert exact(0.8 * scale) > delta


def test_the_conversion_bounds_every_loss_of_that_rho():
    """E max(0, 1 - exp(eps - L)) of Gaussian losses, by quadrature, for the rho of the conversion."""
    epsilon, delta = 1.0, 1e-4
    rho = largest_rho(epsilon, delta)
    density = norm(rho, math.sqrt(2 * rho)).pdf
    found, _ = quad(
        lambda loss: density(loss) * -math.expm1(epsilon - loss), epsilon, epsilon + 20 * math.sqrt(rho) + 20
    )
    assert found <= delta


@pytest.mark.parametrize("cells", [1, 5, 9])
@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 3)])
@pytest.mark.parametrize(
    "given",
    [{"epsilon": 0.1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.3}, {"epsilon": 1, "sampling": 0.3},
     {"epsilon": 1, "relation": "replace"}, {"epsilon": 2, "contribution": 7}, {"rho": 1, "contribution": 3},
     {"epsilon": 1, "delta": 0.1, "sampling": 0.5}],
    ids=str,
)  # fmt: skip
def test_the_noise_keeps_the_promise_and_wastes_nothing(given, cells, share):
    made = Privacy(**given)
    loss = made.loss(made.law(cells, share), cells)
    assert isinstance(loss, Fraction)
    assert (1 - Fraction(1, 2**48)) * share * made.budget < loss <= share * made.budget


def test_neighbours_decide_the_scale():
    one, two, many = (
        Privacy(epsilon=1),
        Privacy(epsilon=1, relation="replace"),
        Privacy(epsilon=1, contribution=5),
    )
    assert [p.law(3).scale for p in (one, two, many)] == [3, 6, 15]
    gaussian = [
        Privacy(rho=0.5, relation=r, contribution=c)
        for r, c in [("add-remove", 1), ("replace", 1), ("add-remove", 5)]
    ]
    assert np.allclose([p.law(4).scale for p in gaussian], [2, 4, 10])


BAD = [
    ({}, "epsilon"), ({"epsilon": 0}, "epsilon"), ({"epsilon": -1}, "epsilon"), ({"epsilon": float("nan")}, "epsilon"),
    ({"epsilon": math.inf}, "epsilon"), ({"epsilon": 51}, "epsilon"), ({"epsilon": True}, "epsilon"),
    ({"epsilon": "1"}, "epsilon"), ({"epsilon": 1, "rho": 1}, "epsilon"), ({"rho": 1, "delta": 0.1}, "epsilon"),
    ({"rho": 0}, "rho"), ({"rho": math.nan}, "rho"), ({"epsilon": 1, "delta": 0}, "delta"),
    ({"epsilon": 1, "delta": 1}, "delta"), ({"epsilon": 1, "delta": 0.5, "sampling": 0.4}, "delta"),
    ({"epsilon": 1, "relation": "swap"}, "relation"), ({"epsilon": 1, "relation": None}, "relation"),
    ({"epsilon": 1, "contribution": 0}, "contribution"), ({"epsilon": 1, "contribution": 1.5}, "contribution"),
    ({"epsilon": 1, "sampling": 0}, "sampling"), ({"epsilon": 1, "sampling": 1.1}, "sampling"),
    ({"epsilon": 1, "sampling": 0.5, "relation": "replace"}, "sampling"),
    ({"epsilon": 1, "sampling": 0.5, "contribution": 2}, "sampling"), ({"rho": 1, "sampling": 0.5}, "sampling"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "argument"), BAD, ids=str)
def test_bad_promises_are_refused(given, argument):
    with pytest.raises(TacitError) as refused:
        Privacy(**given)
    assert (refused.value.code, refused.value.argument) == ("argument_invalid", argument)


def test_a_bare_number_is_epsilon():
    assert promise(0.1) == Privacy(epsilon=Fraction(1, 10))
    for bad in (None, "1", True, [1]):
        with pytest.raises(TacitError):
            promise(bad)


@pytest.mark.parametrize(
    "given", [{"epsilon": 1 / 3, "delta": 1e-9}, {"rho": 0.1}, {"epsilon": 1, "sampling": 0.5}]
)
def test_records_go_round(given):
    made = Privacy(**given)
    assert Privacy.from_record(made.record()) == made
    ledger = Ledger(made.budget).charge(made.budget / 3, 5)
    assert Ledger.from_record(ledger.record()) == ledger


def test_a_promise_shows_what_was_asked_for():
    assert repr(Privacy(epsilon=1)) == "Privacy(epsilon=1)"
    assert repr(Privacy(rho=1, relation="replace")) == "Privacy(rho=1, relation=replace)"
    assert repr(Privacy(epsilon=0.5, delta=1e-6)) == "Privacy(epsilon=1/2, delta=1/1000000)"


def test_a_charge_beyond_the_budget_changes_nothing():
    ledger = Ledger(Fraction(1)).charge(Fraction(1, 2), 3)
    with pytest.raises(TacitError) as refused:
        ledger.charge(Fraction(1) + Fraction(1, 10**30), 1)
    assert refused.value.code == "budget_exhausted"
    assert (ledger.spent, ledger.batches, ledger.answers, ledger.left) == (
        Fraction(1, 2),
        1,
        3,
        Fraction(1, 2),
    )
