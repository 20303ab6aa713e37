"""Expected numbers with tolerances: expected.json, and the quick form of the experiment that is held against it.

    python -m experiments.adaptive_truncation.expected           make the quick form and compare, some seconds
    python -m experiments.adaptive_truncation.expected --write   derive the numbers anew, some minutes

**quick**: root mean squared errors over QUICK_RUNS runs of QUICK_PEOPLE people. Where a platform rounds otherwise the
samplers take another path, so the tolerance comes from SEEDS independent paths, as in `experiments.adobest.expected`.

**runs**: RMSE of every method in results/runs.jsonl, with five bootstrap standard errors.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from experiments.adaptive_truncation import exact, latent, mhaar, run, summary
from experiments.adaptive_truncation.people import MU, SIGMA, best, population
from experiments.adobest.expected import Values, differences, tolerances
from rich.progress import track

EXPECTED = Path(__file__).parent / "expected.json"
QUICK_RUNS, QUICK_PEOPLE, QUICK_EPSILONS = 4, 200, (5.0, 10.0)
SEEDS = 30


def quick(path: int = 0) -> Values:
    """The numbers of the quick form, on path 0, 1, ..."""
    made: dict[str, list[np.ndarray]] = {}
    for epsilon in QUICK_EPSILONS:
        for number in range(QUICK_RUNS):
            people, rng = (
                population(number, QUICK_PEOPLE),
                np.random.default_rng([path, number, int(epsilon)]),
            )
            trace = latent.run(people, epsilon, rng, best=best(epsilon), particles=200)
            chain = mhaar.sample(*run.on_fixed(people, epsilon), epsilon, rng, iterations=1000)
            found = {
                "latent": trace.mean,
                "mhaar": chain.mean(axis=0),
                "exact": exact.adaptive(people, epsilon, rng, particles=200).mean,
                "information": run.ours(people, epsilon, rng, "information")[0],
                "information:mu": run.ours(people, epsilon, rng, "information:mu")[0],
            }
            for method, mean in found.items():
                made.setdefault(f"epsilon {epsilon:g}, {method}", []).append((mean - [MU, SIGMA]) ** 2)
    out = {}
    for name, squares in made.items():
        mu, sigma = np.sqrt(np.mean(squares, axis=0))
        out |= {f"{name}, error of mu": float(mu), f"{name}, error of sigma": float(sigma)}
    return out


def of_runs(lines: list[run.Line]) -> dict[str, list[float]]:
    """[RMSE, tolerance] of mu and sigma for every epsilon and method that was run."""
    out = {}
    for row in summary.errors(summary.by_method(lines)):
        for name, (value, low, high) in zip(("mu", "sigma"), row["rmse"], strict=True):
            wide = 5 * (high - low) / (2 * 1.96)
            out[f"epsilon {row['epsilon']:g}, {row['method']}, {name}"] = [
                float(f"{value:.4g}"),
                float(f"{wide:.2g}"),
            ]
    return out


def main() -> None:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="derive the quick numbers anew, and those of the runs"
    )
    if parser.parse_args().write:
        paths = [quick(path) for path in track(range(SEEDS), "paths")]
        made = {"quick": tolerances(paths), "runs": of_runs(run.finished())}
        text = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in made["quick"].items())
        runs = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in made["runs"].items())
        EXPECTED.write_text(f'{{\n "quick": {{\n{text}\n }},\n "runs": {{\n{runs}\n }}\n}}\n')
        return
    made = json.loads(EXPECTED.read_text())["quick"]
    wrong = differences(quick(), made)
    print("\n".join(wrong) or f"all {len(made)} numbers are as expected")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
