"""Checks of arguments and of the texts that stand for numbers in messages.

Numbers travel as decimal strings with exactly one spelling each, so that two languages, or one language
and an attacker, cannot read the same bytes differently.

>>> integer(3, "k", 2, 10)
3
>>> parse_decimal("0.25", "epsilon")
Fraction(1, 4)
>>> format_decimal(Fraction(1, 4))
'0.25'
"""

from __future__ import annotations

import math
import numbers
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from tacit_client.errors import TacitError

MAX_EPSILON = 50
MIN_EPSILON = Fraction(1, 10**9)
MAX_CATEGORIES = 2**21
MAX_DIGITS = 128  # of an integer in a message; bounds the cost of parsing and of the certificate
DECIMAL_PLACES = 40
MAX_DECIMAL = 40  # characters of a signed decimal: a cut, or the range of a question
MAX_EXPONENT = 1000  # of a Decimal: as a fraction it has that many digits

_INTEGER = re.compile(r"(?:0|[1-9][0-9]*)\Z")
_DECIMAL = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?\Z")
_SIGNED_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?\Z")
_TYPED_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?\Z")


def shown(value: object, limit: int = 60) -> str:
    """A short, safe rendering of a caller's value for an error message."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def integer(value: object, argument: str, low: int, high: int) -> int:
    """`value` as an int in low..high; booleans and floats are refused."""
    number = None
    if not isinstance(value, bool):
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            number = None
    if number is None or not low <= number <= high:
        raise TacitError(
            "argument_invalid",
            f"{argument} is {shown(value)}",
            argument=argument,
            hint=f"give a whole number from {low} to {high}",
        )
    return number


def distinct_integers(values: object, argument: str, low: int, high: int) -> tuple[int, ...]:
    """`values` as a sorted tuple of distinct ints in low..high."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise TacitError(
            "argument_invalid",
            f"{argument} is {shown(values)}",
            argument=argument,
            hint="give a list of category numbers",
        )
    numbers = sorted(integer(value, argument, low, high) for value in values)
    if len(set(numbers)) != len(numbers):
        raise TacitError(
            "argument_invalid",
            f"{argument} names a category twice",
            argument=argument,
            hint="name each category once",
        )
    return tuple(numbers)


def rational(value: object, argument: str) -> Fraction:
    """A finite real number, exactly as the caller would write it: 0.1 means one tenth."""
    if isinstance(value, Decimal):
        if value.is_finite() and abs(value.adjusted()) <= MAX_EXPONENT:
            return Fraction(value)
    elif isinstance(value, Fraction | int) and not isinstance(value, bool):
        return Fraction(value)
    elif not isinstance(value, bool) and isinstance(value, numbers.Real):  # numpy's numbers too
        number = float(value)
        if math.isfinite(number):
            return Fraction(repr(number))
    raise TacitError(
        "argument_invalid",
        f"{argument} is {shown(value)}",
        argument=argument,
        hint="give a finite number",
    )


def bounded(value: object, argument: str, fits: Callable[[Fraction], bool], hint: str) -> Fraction:
    """A rational that satisfies `fits`, with `hint` for the caller when it does not."""
    number = rational(value, argument)
    if not fits(number):
        raise TacitError(
            "argument_invalid",
            f"{argument} is {shown(value)}",
            argument=argument,
            hint=hint,
        )
    return number


def epsilon(value: object, argument: str = "epsilon") -> Fraction:
    """A privacy parameter: a decimal number from 1e-9 to 50, kept exactly."""
    number = bounded(
        value,
        argument,
        lambda e: MIN_EPSILON <= e <= MAX_EPSILON,
        f"give a number above 0 (at least 1e-9) and at most {MAX_EPSILON}; 0.5 to 4 is usual",
    )
    # A fraction such as 1/3 has no finite decimal: round down, towards more privacy.
    return Fraction(math.floor(number * 10**DECIMAL_PLACES), 10**DECIMAL_PLACES)


def stated_epsilon(value: object, text: object = None) -> Fraction:
    """An epsilon that a table states: a decimal fraction in range. `text` is how a message spelt it."""
    if isinstance(value, Fraction):
        decimal = 10**DECIMAL_PLACES % value.denominator == 0
        if decimal and MIN_EPSILON <= value <= MAX_EPSILON:
            return value
    raise TacitError(
        "field_invalid",
        f"epsilon is {shown(value if text is None else text)}",
        argument="epsilon",
        hint=f"state a decimal number from 1e-9 to {MAX_EPSILON}, with at most {DECIMAL_PLACES} places",
    )


def format_decimal(number: Fraction) -> str:
    """The one spelling of a decimal fraction of at most 40 places: no exponent, no trailing zeros."""
    whole, rest = divmod(int(abs(number) * 10**DECIMAL_PLACES), 10**DECIMAL_PLACES)
    digits = f"{rest:0{DECIMAL_PLACES}}".rstrip("0")
    return ("-" if number < 0 else "") + (f"{whole}.{digits}" if digits else f"{whole}")


def fits_signed_decimal(number: Fraction) -> bool:
    """Whether a number has a finite decimal that a message may hold."""
    finite = abs(number) < 10**MAX_DECIMAL and 10**DECIMAL_PLACES % number.denominator == 0
    return finite and len(format_decimal(number)) <= MAX_DECIMAL


def parse_decimal(text: object, field: str) -> Fraction:
    """The number that a decimal string of a message stands for."""
    if isinstance(text, str) and len(text) <= MAX_DIGITS and _DECIMAL.match(text):
        return Fraction(text)
    raise TacitError(
        "field_invalid",
        f"{field} is {shown(text)}",
        argument=field,
        hint="write a decimal number as a string, without sign, exponent or trailing zeros",
    )


def parse_signed_decimal(text: object, field: str) -> Fraction:
    """The number that a signed decimal string of a message stands for."""
    if isinstance(text, str) and len(text) <= MAX_DECIMAL and _SIGNED_DECIMAL.match(text) and text != "-0":
        return Fraction(text)
    raise TacitError(
        "field_invalid",
        f"{field} is {shown(text)}",
        argument=field,
        hint="write a decimal number as a string, such as '20' or '-1.5'",
    )


def typed_decimal(text: str) -> Fraction | None:
    """The number that a person typed, such as '20', '-1.50' or '007'; None for any other text.

    It does not travel, so it may be spelt in more than one way, but without exponents and in ASCII digits.
    """
    return Fraction(text) if len(text) <= MAX_DECIMAL and _TYPED_DECIMAL.match(text) else None


def answered_number(value: object) -> Fraction:
    """A number that somebody answered: exactly, and never shown in a refusal, because errors are logged."""
    number = None
    if isinstance(value, str):
        number = typed_decimal(value)
    elif isinstance(value, Decimal):
        if value.is_finite() and abs(value.adjusted()) <= MAX_DECIMAL:
            number = Fraction(value)
    elif not isinstance(value, bool):
        try:
            number = Fraction(operator.index(value))  # type: ignore[arg-type]
        except TypeError:
            number = None
    if number is None:
        raise TacitError(
            "answer_unknown",
            f"the answer is a {type(value).__name__} that is no exact decimal number",
            argument="answer",
            hint="give a string such as '20' or '-1.5', an int or a Decimal; a float has no exact decimal",
        )
    return number


def parse_integer(text: object, field: str, low: int = 0, high: int | None = None) -> int:
    """The integer that a string of a message stands for: ASCII digits, one spelling."""
    if isinstance(text, str) and len(text) <= MAX_DIGITS and _INTEGER.match(text):
        number = int(text)
        if number >= low and (high is None or number <= high):
            return number
    wanted = f"from {low} to {high}" if high is not None else f"of at least {low}"
    raise TacitError(
        "field_invalid",
        f"{field} is {shown(text)}",
        argument=field,
        hint=f"write a whole number {wanted} as a string of plain digits",
    )


def parse_integers(values: object, field: str, low: int, high: int) -> tuple[int, ...]:
    """A list of integer strings."""
    if not isinstance(values, list):
        raise TacitError(
            "field_invalid",
            f"{field} is {shown(values)}",
            argument=field,
            hint="write a list of integer strings",
        )
    return tuple(parse_integer(value, field, low, high) for value in values)
