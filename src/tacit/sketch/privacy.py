"""What a private sketch promises, and the ledger of what it has spent.

`Privacy` states one promise exactly: against whom (neighbouring streams), how much, by which noise.

* **Neighbours.** "add-remove": one stream has an element more than the other, at any place. "replace": one element
  differs. `contribution` is the weight by which they may differ in all: 1 for one element of weight 1; with m,
  whoever owns elements of total weight at most m is protected as a whole, and no single element may weigh more.
  That nobody owns more is for the caller to see to.
* **Amount.** `epsilon` alone: pure epsilon-DP, by discrete Laplace noise. `rho`: rho-zCDP, by discrete Gaussian
  noise. `epsilon` and `delta`: (epsilon, delta)-DP, by Gaussian noise whose rho is the largest that the conversion
  of Canonne, Kamath and Steinke allows.
* **Sensitivity.** Neighbours change one cell in each of d rows by `contribution` in all, so cells differ by d
  contribution in L1 and sqrt(d) contribution in L2; "replace" doubles both. Noise of scale d contribution / epsilon
  on each cell, or of variance d contribution^2 / (2 rho), makes the promise good.
* **Sampling.** Each element is kept with probability r = `sampling`, by a coin of its own. If the kept stream is
  e'-DP, the stream is e-DP with e = ln(1 + r (exp(e') - 1)), so the inner promise is e' = ln(1 + (exp(e) - 1) / r),
  and delta' = delta / r. Proved for "add-remove" and contribution 1; others are refused, and so is rho.

>>> promise = Privacy(epsilon=1, sampling=0.5)
>>> promise.noise, round(float(promise.budget), 4)
('laplace', 1.4899)
>>> law = promise.law(5)
>>> float(promise.loss(law, 5)) <= promise.budget
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from tacit.errors import TacitError
from tacit.sketch import noise
from tacit.sketch.noise import Law
from tacit_client import check

RELATIONS = ("add-remove", "replace")
LARGEST_CONTRIBUTION = 2**20
LEAST_SAMPLING = Fraction(1, 10**6)
_DIGITS = Context(prec=60)
Number = float | Fraction


@dataclass(frozen=True)
class Privacy:
    """A promise: give `epsilon`, `epsilon` and `delta`, or `rho`. Numbers are kept as fractions: 0.1 is one tenth."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    relation: str = "add-remove"
    contribution: int = 1
    sampling: Number = 1

    def __post_init__(self) -> None:
        self._set("epsilon", None if self.epsilon is None else check.epsilon(self.epsilon))
        if self.delta is not None:
            self._set("delta", _inside(self.delta, "delta", "give a number between 0 and 1, such as 1e-9"))
        if self.rho is not None:
            hint = "give a number above 0 and at most 1000; 0.01 to 1 is usual"
            self._set("rho", check.bounded(self.rho, "rho", lambda v: Fraction(1, 10**12) <= v <= 1000, hint))
        hint = "give the share of the stream that is kept, from 1e-6 to 1"
        self._set(
            "sampling", check.bounded(self.sampling, "sampling", lambda v: LEAST_SAMPLING <= v <= 1, hint)
        )
        self._set("contribution", check.integer(self.contribution, "contribution", 1, LARGEST_CONTRIBUTION))
        if self.relation not in RELATIONS:
            raise _invalid(
                "relation", self.relation, "give add-remove (one element more) or replace (one other element)"
            )
        if (self.epsilon is None) == (self.rho is None) or (self.rho is not None and self.delta is not None):
            raise _invalid("epsilon", self.epsilon, "give epsilon, epsilon and delta, or rho alone")
        if self.sampling != 1 and (self.relation, self.contribution) != ("add-remove", 1):
            raise _invalid("sampling", self.sampling, "sampling goes with add-remove and contribution 1")
        if self.sampling != 1 and self.rho is not None:
            raise _invalid("sampling", self.sampling, "sampling goes with epsilon, or epsilon and delta")
        _ = self.budget

    def __repr__(self) -> str:
        given = {
            name: value for name, value in self.record().items() if value not in (None, "1", 1, RELATIONS[0])
        }
        if self.epsilon == 1 or self.rho == 1:
            given = {"epsilon" if self.rho is None else "rho": "1"} | given
        return f"Privacy({', '.join(f'{name}={value}' for name, value in given.items())})"

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def noise(self) -> str:
        """The law of the noise: "laplace" or "gaussian"."""
        return "laplace" if self.delta is None and self.rho is None else "gaussian"

    @cached_property
    def budget(self) -> Fraction:
        """What the cells may lose in all: pure epsilon for Laplace noise, rho for Gaussian, inside the sampling."""
        if self.rho is not None:
            return Fraction(self.rho)
        assert self.epsilon is not None
        inner = before_sampling(Fraction(self.epsilon), Fraction(self.sampling))
        if self.delta is None:
            return inner
        delta = Fraction(self.delta) / Fraction(self.sampling)
        if delta >= 1:
            raise _invalid("delta", self.delta, "give a delta below the share that is kept")
        return Fraction(largest_rho(float(inner), float(delta)))

    @property
    def kept_of_2_64(self) -> int:
        """An element is kept when 64 random bits are below this: with probability `sampling` or a little less."""
        return math.floor(Fraction(self.sampling) * 2**64)

    @property
    def shift(self) -> int:
        """The most by which neighbours change one cell, or the sum of the cells of one row."""
        return self.contribution * (2 if self.relation == "replace" else 1)

    def law(self, cells: int, share: Fraction = Fraction(1)) -> Law:
        """The noise for each of `cells` released numbers that neighbours shift, for a share of the budget."""
        if self.noise == "laplace":
            return noise.laplace(self.shift * cells / (self.budget * share))
        return noise.gaussian(self.shift**2 * cells / (2 * self.budget * share))

    def loss(self, law: Law, cells: int) -> Fraction:
        """What `cells` shifted numbers lose under `law`; exact, and at most what `law` was made for."""
        return cells * law.loss(self.shift)

    def record(self) -> dict[str, Any]:
        """The promise as JSON: fractions as "1/10"."""
        names = ("epsilon", "delta", "rho", "sampling")
        numbers = {name: getattr(self, name) for name in names}
        texts = {name: None if value is None else str(value) for name, value in numbers.items()}
        return texts | {"relation": self.relation, "contribution": self.contribution}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Privacy:
        """The promise that `record` wrote."""
        names = ("epsilon", "delta", "rho", "sampling")
        numbers = {name: None if record[name] is None else Fraction(record[name]) for name in names}
        return cls(relation=record["relation"], contribution=record["contribution"], **numbers)  # type: ignore[arg-type]


def promise(privacy: object) -> Privacy:
    """A Privacy, or the pure epsilon that a bare number stands for."""
    return privacy if isinstance(privacy, Privacy) else Privacy(epsilon=check.epsilon(privacy))


def _invalid(argument: str, value: object, hint: str) -> TacitError:
    return TacitError("argument_invalid", f"{argument} is {check.shown(value)}", argument=argument, hint=hint)


def _inside(value: object, argument: str, hint: str) -> Fraction:
    return check.bounded(value, argument, lambda v: 0 < v < 1, hint)


def before_sampling(epsilon: Fraction, rate: Fraction) -> Fraction:
    """ln(1 + (exp(epsilon) - 1) / rate), rounded down in the fiftieth digit; epsilon itself when all is kept."""
    if rate == 1:
        return epsilon
    e, r = (_DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in (epsilon, rate))
    grown = _DIGITS.add(_DIGITS.divide(_DIGITS.subtract(_DIGITS.exp(e), Decimal(1)), r), Decimal(1))
    return Fraction(_DIGITS.ln(grown)) * (1 - Fraction(1, 10**40))


def largest_rho(epsilon: float, delta: float) -> float:
    """The largest rho for which rho-zCDP gives (epsilon, delta)-DP, rounded down.

    For every order a > 1, delta >= exp((a - 1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1) suffices; the best a is
    searched for.

    >>> round(largest_rho(1.0, 1e-6), 5)
    0.02436
    """
    from scipy.optimize import minimize_scalar

    def negative(t: float) -> float:
        above = math.exp(t)
        a = 1 + above
        free = (math.log(delta) + t - a * (t - math.log(a))) / above
        return -(free + epsilon) / a

    found = minimize_scalar(negative, bounds=(-20.0, 30.0), method="bounded", options={"xatol": 1e-10})
    rho = -float(found.fun) * (1 - 1e-9)
    if rho <= 0:
        raise _invalid("delta", delta, "give a larger delta or a larger epsilon")
    return rho


@dataclass(frozen=True)
class Ledger:
    """What was promised and what is spent of it, in epsilon (Laplace) or rho (Gaussian), with what it bought."""

    budget: Fraction
    spent: Fraction = Fraction(0)
    batches: int = 0
    answers: int = 0

    def charge(self, spent: Fraction, answers: int) -> Ledger:
        """The ledger after one more batch that brings the total to `spent`; refused beyond the budget."""
        if spent > self.budget:
            raise TacitError(
                "budget_exhausted",
                f"this query would bring the loss to {float(spent):.6g} of {float(self.budget):.6g}",
                argument="items",
                hint="nothing was released and nothing charged; begin a new sketch, or use UseAndKeep",
            )
        return replace(self, spent=spent, batches=self.batches + 1, answers=self.answers + answers)

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.budget - self.spent

    def record(self) -> dict[str, Any]:
        """The ledger as JSON."""
        return {
            "budget": str(self.budget), "spent": str(self.spent), "batches": self.batches, "answers": self.answers
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Ledger:
        """The ledger that `record` wrote."""
        return cls(
            Fraction(record["budget"]), Fraction(record["spent"]), record["batches"], record["answers"]
        )
