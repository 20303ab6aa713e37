"""Expected numbers with tolerances: expected.json, and the quick form of the experiment that is held against it.

    python -m experiments.sketches.expected           make the quick form and compare: some seconds
    python -m experiments.sketches.expected --write   write both parts anew

**quick**: the mean error of eight runs of the small size, for every pool, batch size, epsilon and depth. The runs
are seeded; a platform that rounds otherwise takes another path, so a number is expected within six standard errors
of its mean.

**grid**: the same for the lines of results/grid.jsonl, with five standard errors, and how many runs that is.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from experiments.sketches.grid import DEPTHS, EPSILONS, FULL, QUICK, Size
from experiments.sketches.loop import run
from experiments.sketches.run import finished
from rich.progress import track

EXPECTED = Path(__file__).parent / "expected.json"
QUICK_RUNS = 8
Values = dict[str, list[float]]


def quick() -> Any:
    """The final errors of the small runs: (runs, pools, batch sizes, epsilons, depths)."""
    runs = track(range(QUICK_RUNS), "small runs", transient=True)
    return np.array([run(number, QUICK)[-1] for number in runs]) / QUICK.queries


def table(errors: Any, size: Size, reach: float) -> Values:
    """[mean, tolerance] by name."""
    out = {}
    for p, pool in enumerate(size.pools):
        for b, batch in enumerate(size.batches):
            for e, epsilon in enumerate(EPSILONS):
                for k, d in enumerate(DEPTHS):
                    values = errors[:, p, b, e, k]
                    wide = reach * values.std(ddof=1) / math.sqrt(len(values))
                    name = f"u {pool}, n_Q {batch}, epsilon {epsilon:g}, d {d}"
                    out[name] = [float(f"{values.mean():.5g}"), float(f"{wide:.2g}")]
    return out


def differences(found: Values, expected: Values) -> list[str]:
    """What lies outside its tolerance, or is missing, in words."""
    out = [f"{name} is missing" for name in sorted(set(found) ^ set(expected))]
    for name in sorted(set(found) & set(expected)):
        value, tolerance = expected[name]
        if not abs(found[name][0] - value) <= tolerance:
            out.append(f"{name}: {found[name][0]:g}, expected {value:g} within {tolerance:g}")
    return out


def main() -> None:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write expected.json")
    options = parser.parse_args()
    found = table(quick(), QUICK, 6)
    if options.write:
        lines = finished()
        grid = table(np.array([line["error"][-1] for line in lines]), FULL, 5)
        EXPECTED.write_text(json.dumps({"quick": found, "runs": len(lines), "grid": grid}, indent=1) + "\n")
        return
    wrong = differences(found, json.loads(EXPECTED.read_text())["quick"])
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
