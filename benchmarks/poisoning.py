"""How fast the poisoning gauge is, given the posterior draws that a study has anyway.

    python benchmarks/poisoning.py [--output FILE]

Studies of K categories with shares like 1, 1/2, ..., 1/K, through the static channel alone, or through that
and 14 further ones: RRRR, or coarse channels, each with a subset of its own. The draws, 1,000 of them, are
from a Dirichlet law around the shares: the time of the gauge does not depend on where they lie. Times are
those of the processor, the best of five.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from tacit import Evidence, channels, poisoning
from tacit.channels import Channel
from tacit.posterior import Posterior

RESULTS = Path(__file__).parent / "results" / "poisoning.json"
SIZES = {10: 5_000, 20: 10_000, 50: 20_000, 200: 20_000}
ROUNDS, TIMES, DRAWS = 15, 5, 1000
Row = dict[str, object]


def used(kind: str, k: int, rng: np.random.Generator) -> list[Channel]:
    """The channels of the rounds."""
    static: list[Channel] = [channels.subset(k, 1.0)]
    if kind == "static":
        return static
    sets = [rng.choice(k, 1 + i * (k - 2) // ROUNDS, replace=False) for i in range(ROUNDS - 1)]
    if kind == "rrrr":
        return static + [channels.rrrr(k, chosen, 1.0, 0.9) for chosen in sets]
    return static + [channels.coarse(k, chosen, 1.0) for chosen in sets]


def one(kind: str, k: int, n: int) -> Row:
    """Milliseconds of one gauge, and of one whose evidence was gauged before."""
    rng = np.random.default_rng(k)
    theta = 1 / np.arange(1, k + 1)
    theta /= theta.sum()
    rounds = used(kind, k, rng)
    parts = [(channel, rng.choice(k, n // len(rounds), p=theta)) for channel in rounds]
    made = [(channel, channel.sample(answers, rng)) for channel, answers in parts]
    draws = Posterior(rng.dirichlet(theta * n / 10, (25, DRAWS // 25)), None, "exact", 0)
    first, later = [], []
    for _ in range(TIMES):
        evidence = Evidence()
        for channel, reports in made:
            evidence = evidence.add(channel, reports)
        for times in (first, later):
            start = time.process_time()
            poisoning.gauge(evidence, posterior=draws)
            times.append(1000 * (time.process_time() - start))
    return {
        "kind": kind,
        "K": k,
        "reports": n,
        "channels": len(rounds),
        "first": min(first),
        "again": min(later),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=RESULTS, help="where the JSON goes")
    options = parser.parse_args()
    rows = [one(kind, k, n) for kind in ("static", "rrrr", "coarse") for k, n in SIZES.items()]
    table = Table(*rows[0], title="milliseconds of a gauge")
    for row in rows:
        table.add_row(*(f"{value:.0f}" if isinstance(value, float) else str(value) for value in row.values()))
    Console().print(table)
    options.output.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
