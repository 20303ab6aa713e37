"""Randomness for simulation, kept apart from the randomness that protects people.

A real report is drawn by `tacit_client` from the operating system, and nothing here can reach it. Simulations are
to be repeated, so they take a numpy Generator or a whole-number seed, never the global state of numpy.

>>> int(generator(7).integers(100)) == int(generator(7).integers(100))
True
"""

from __future__ import annotations

import numpy as np

from tacit_client import check
from tacit_client.errors import TacitError


def generator(rng: object, argument: str = "rng") -> np.random.Generator:
    """`rng` itself when it is a numpy Generator, or a fresh one from a seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    try:
        return np.random.default_rng(check.integer(rng, argument, 0, 2**128 - 1))
    except TacitError:
        raise TacitError(
            "argument_invalid",
            f"{argument} is {check.shown(rng)}",
            argument=argument,
            hint="give a numpy Generator (numpy.random.default_rng(seed)) or a whole-number seed",
        ) from None
