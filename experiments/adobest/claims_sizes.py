"""The claims about the size of S: how it changes with rho and epsilon, and who takes the largest."""

from __future__ import annotations

import math

import numpy as np
from experiments.adobest.choice import RULES
from experiments.adobest.claim import Claim, share_word
from experiments.adobest.grid import KAPPAS, Cell
from experiments.adobest.loop import METHODS
from experiments.adobest.matrices import Floats
from experiments.adobest.reading import Found, column, mean
from experiments.adobest.style import label

SURE = 2.0  # standard errors


def change(before: Floats, after: Floats) -> int:
    """1 when the second mean is above the first by SURE standard errors, -1 when it is below, 0 otherwise."""
    error = math.sqrt(sum(np.var(v, ddof=1) / len(v) if len(v) > 1 else 0.0 for v in (before, after)))
    gap = float(after.mean() - before.mean())
    return 0 if abs(gap) <= SURE * error else int(np.sign(gap))


def size_and_rho(found: Found) -> Claim:
    """From each rho to the next, K and epsilon being the same."""
    pairs = ((0.01, 0.1), (0.1, 1.0))
    steps = [(a, b) for a in found for b in found if a[:2] == b[:2] and (a[2], b[2]) in pairs]
    return size_claim("a larger rho gives a larger S", found, steps, 1)


def size_and_epsilon(found: Found) -> Claim:
    """From each epsilon to the next at the smallest rho."""
    pairs = ((0.5, 1.0), (1.0, 5.0))
    steps = [
        (a, b)
        for a in found
        for b in found
        if a[0] == b[0] and a[2] == b[2] == 0.01 and (a[1], b[1]) in pairs
    ]
    return size_claim("for small rho a larger epsilon gives a smaller S", found, steps, -1)


def size_claim(says: str, found: Found, steps: list[tuple[Cell, Cell]], expected: int) -> Claim:
    """How many steps change S as expected or against it, for each method; kappa 0.8 and 0.9 together."""
    changes = {
        f"{method}, {kind}": [
            change(*(column(found[cell], f"{kind} {kappa}", method, "size") for cell in step))
            for kappa in KAPPAS
            for step in steps
        ]
        for kind in ("fixed", "faulty")
        for method in (RULES if kind == "faulty" else METHODS[1:])
    }
    groups: dict[str, list[int]] = {"semi-adaptive": [], "utilities": [], "published matrices": []}
    against = set()
    for name, made in changes.items():
        method, kind = name.split(", ")
        group = (
            "published matrices" if kind == "faulty" else "semi-adaptive" if "semi" in method else "utilities"
        )
        groups[group] += made
        if kind == "fixed" and -expected in made:
            against.add(label(method))
    said = "; ".join(
        f"{name}: {made.count(expected)} as claimed, {made.count(-expected)} against, of {len(made)} steps"
        for name, made in groups.items()
    )
    said += f". Against in some step: {', '.join(sorted(against)) or 'none'}"
    own = groups["semi-adaptive"] + groups["utilities"]
    numbers = {name: [made.count(expected), made.count(-expected)] for name, made in changes.items()}
    return Claim(says, share_word(own.count(expected), len(own)), said, numbers)


def largest_sets(found: Found) -> Claim:
    """Which utility takes the largest S on average over the cells.

    What the papers' figures call TV1 is U4, the marginal one: `calculate_utility.m` numbers the two the other way.
    """
    largest = {}
    for kind in ("fixed", "faulty"):
        for kappa in KAPPAS:
            name = f"{kind} {kappa}"
            average = {m: np.mean([mean(lines, name, m, "size") for lines in found.values()]) for m in RULES}
            largest[name] = max(average, key=lambda method, by=average: by[method])
    right = (largest["fixed 0.8"] == "tv_marginal") + (largest["fixed 0.9"] == "fisher")
    said = f"largest mean S: {label(largest['fixed 0.8'])} at 0.8, {label(largest['fixed 0.9'])} at 0.9; with the "
    said += f"published matrices {label(largest['faulty 0.8'])} and {label(largest['faulty 0.9'])}"
    return Claim("TV1 (U4) takes the largest S at kappa 0.8, FIM at 0.9", share_word(right, 2), said, largest)
