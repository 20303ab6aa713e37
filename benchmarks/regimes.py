"""Where does adapting the channel pay? The risk policy beside the static subset channel, for many categories.

    python benchmarks/regimes.py [--runs 10] [--workers 2]

K is 50 or 100, 100 K people answer once. "Informed" is a study that nobody can run: it takes, from the first report
to the last, the one channel that the risk policy would choose for all of them, had it already seen a whole static
study of the same people. What the policy gains is to be read beside what this one gains. All studies have the
default posterior and estimate, and share people and seeds. Every finished run is a line of results/regimes.jsonl;
the command goes on where it stood.
"""

from __future__ import annotations

import argparse
import os
from itertools import product

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the processes share the cores

import numpy as np
from accuracy import LINES, Line, code, finished, make
from accuracy_tables import compared, geometric, shown

from tacit import Categorical, Evidence, channels, posterior, simulate
from tacit.policies import risk

RESULTS = LINES.with_name("regimes.jsonl")
POPULATIONS = {"rho 0.03": 0.03, "rho 0.1": 0.1, "Zipf 1.5": -1.5}
CELLS = [(50, epsilon, name) for epsilon, name in product((2.0, 3.0, 5.0), POPULATIONS)]
CELLS += [(100, 5.0, name) for name in POPULATIONS]
PEOPLE = 100  # for each category
Cell = tuple[int, float, str]


def population(cell: Cell, run: int) -> tuple[np.ndarray, np.ndarray, int]:
    """theta, the answers, and a seed. Negative numbers are exponents of Zipf's law, others concentrations."""
    k, epsilon, name = cell
    number = POPULATIONS[name]
    rng = np.random.default_rng([k, round(10 * epsilon), list(POPULATIONS).index(name), run, 50])
    zipf = np.arange(1, k + 1) ** min(number, 0.0)
    theta = zipf if number < 0 else Categorical(k, number).sample_prior(1, rng).theta[0]
    theta /= theta.sum()
    return theta, rng.choice(k, PEOPLE * k, p=theta), int(rng.integers(2**31))


def one_run(cell: Cell, run: int) -> Line:
    """The errors of three studies of the same people, and the share of reports through other channels than the
    static."""
    k, epsilon, _ = cell
    theta, answers, seed = population(cell, run)
    static = channels.subset(k, epsilon)
    evidence = Evidence().add(static, static.sample(answers, seed))
    known = posterior.sample(Categorical(k), evidence, seed=seed)
    adaptive = simulate(theta, epsilon, "risk", answers=answers, seed=seed)
    best = risk.choose(known.draws, epsilon, len(answers)).channel
    informed = known
    if best != static:
        informed = posterior.sample(
            Categorical(k), Evidence().add(best, best.sample(answers, seed)), seed=seed
        )
    found = {"static": known.estimate(), "risk": adaptive.estimate, "informed": informed.estimate()}
    other = sum(n for channel, n in adaptive.channels if channel != static)
    tv = {name: float(f"{np.abs(guess - theta).sum() / 2:.5g}") for name, guess in found.items()}
    line: Line = {"cell": list(cell), "run": run, "code": code(), "tv": tv}
    return line | {"adapted": round(other / len(answers), 3), "kept": best.table.cells - (best != static)}


def table(lines: list[Line]) -> list[str]:
    """As Markdown."""
    out = [
        "| K | epsilon | population | runs | static | risk / static | informed / static | reports adapted |"
    ]
    out.append("| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    ratios = []
    for cell in CELLS:
        mine = [line for line in lines if tuple(line["cell"]) == cell]
        if len(mine) < 2:
            continue
        errors = {name: np.array([line["tv"][name] for line in mine]) for name in mine[0]["tv"]}
        ratios.append([compared(errors[name], errors["static"]) for name in ("risk", "informed")])
        share = np.mean([line["adapted"] for line in mine])
        cells = [cell[0], f"{cell[1]:g}", cell[2], len(mine), f"{errors['static'].mean():.4f}"]
        out.append("| " + " | ".join(map(str, [*cells, *map(shown, ratios[-1]), f"{share:.0%}"])) + " |")
    means = [geometric(column) for column in zip(*ratios, strict=True)]
    out.append("| | | geometric mean | | | " + " | ".join(f"{m:.3f} ({e:.3f})" for m, e in means) + " | |")
    return out


def main() -> None:
    """Make the missing runs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10, help="runs of every cell, at least 2")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    code()
    make(RESULTS, [(cell, run) for run in range(options.runs) for cell in CELLS], options.workers, one_run)
    print("\n".join(table(finished(RESULTS))))


if __name__ == "__main__":
    main()
