"""Checks of the settings of an estimator, made in `fit`, as scikit-learn has it.

>>> number(0.5, "alpha", least=0)
0.5
"""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np

from tacit.errors import TacitError
from tacit.rng import generator
from tacit_client import check


def refusal(argument: str, value: object, hint: str) -> TacitError:
    """The refusal of a setting."""
    return TacitError("argument_invalid", f"{argument} is {check.shown(value)}", argument=argument, hint=hint)


def number(
    value: object,
    argument: str,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
) -> float:
    """A finite real number above `above`, not less than `least`, below `below`."""
    if not isinstance(value, bool | np.bool_) and isinstance(value, Real):
        found = float(value)
        if math.isfinite(found) and above < found < below and found >= least:
            return found
    lower = f"of {least:g} or more" if least > -math.inf else f"above {above:g}"
    upper = f" and below {below:g}" if below < math.inf else ""
    raise refusal(argument, value, f"give a number {lower}{upper}")


def whole(value: object, argument: str, low: int, high: int = 10**9) -> int:
    """A whole number in low..high."""
    if not isinstance(value, bool | np.bool_) and isinstance(value, Integral) and low <= int(value) <= high:
        return int(value)
    raise refusal(argument, value, f"give a whole number from {low} to {high}")


def one_of(value: object, argument: str, words: tuple[str, ...]) -> str:
    """One of some words."""
    if isinstance(value, str) and value in words:
        return value
    raise refusal(argument, value, f"give one of {', '.join(words)}")


def random_state(value: object) -> np.random.Generator:
    """A Generator from scikit-learn's `random_state`: a seed, a Generator, or a RandomState."""
    if isinstance(value, np.random.RandomState):
        return generator(int(value.randint(2**31)))
    return generator(value, "random_state")
