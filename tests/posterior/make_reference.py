"""Long NUTS runs of ten fixed posteriors: writes reference.json, which `test_reference` compares with.

    python tests/posterior/make_reference.py [--table NAME ...] [--draws 20000]

nutpie draws from a density that shares no code with tacit: see `benchmarks/nuts.py`. A table is a list of channels,
each with the rows of its `matrix()` that were reported and how often; they are drawn here once and kept in
reference.json, so that neither side can change them. A run is refused when R-hat of any component is 1.01 or more or a
trajectory diverged.

Of the two forms of the density each table uses the one that NUTS manages: "split" where a learned rho would leave a
funnel, "gamma" elsewhere.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

import numpy as np
from rich.console import Console
from rich.progress import track

from tacit import channels
from tacit.channels import Channel

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from nuts import Target, nuts

REFERENCE = Path(__file__).parent / "reference.json"
CHAINS, TUNE, ACCEPT = 8, 1500, 0.95
Record = dict[str, Any]


@dataclass(frozen=True)
class Design:
    """What is asked of whom: the channels share n people, whose answers follow theta."""

    made: tuple[Channel[Any], ...]
    theta: tuple[float, ...]
    n: int
    concentration: float | tuple[float, ...] | str
    form: str
    location: float = 0.0
    scale: float = 2.0


def falling(k: int, rate: float) -> tuple[float, ...]:
    """A geometric distribution over k categories."""
    weights = rate ** np.arange(k)
    return tuple(weights / weights.sum())


def _mixed_five() -> tuple[Channel[Any], ...]:
    other = np.array([[4, 2, 1, 1, 2], [1, 3, 2, 1, 1], [2, 2, 4, 5, 3]]) / np.array([7, 7, 7, 7, 6])
    return (
        channels.srr(5, 1.0),
        channels.rrrr(5, [0, 2], 1.5, 0.8),
        channels.subset(5, 0.5),
        channels.coarse(5, [1, 4], 2.0),
        channels.from_matrix(other, 1.7),
    )


def designs() -> dict[str, Design]:
    """The ten tables."""
    s, r, c, b = channels.srr, channels.rrrr, channels.coarse, channels.subset
    several = (r(5, [0], 1.0, 0.9), r(5, [0, 1], 1.0, 0.8), r(5, [4, 2, 0], 1.0, 0.9), r(5, [], 1.0, 0.9))
    ten = tuple(r(10, list(range(size)), 2.0, 0.9) for size in (1, 3, 6))
    eight = (c(8, [0, 1], 2.0), c(8, [0, 2, 5], 1.0), c(8, [3, 4, 6, 7], 2.0), b(8, 1.0))
    six = (c(6, [0], 3.0), c(6, [0, 1, 2], 3.0), c(6, [3, 4, 5], 3.0))
    twenty = (b(20, 2.0), c(20, [0, 1, 2, 3], 1.0), r(20, [0, 1, 2], 2.0, 0.9), s(20, 3.0))
    uneven = tuple(0.3 + 0.15 * (i % 7) for i in range(20))
    return {
        "srr, flat": Design((s(3, 1.0),), (0.6, 0.3, 0.1), 300, 1.0, "gamma"),
        "srr, learned": Design((s(10, 3.0),), falling(10, 0.7), 600, "learned", "split"),
        "subset, sparse": Design((b(10, 1.0),), falling(10, 0.6), 800, 0.5, "gamma"),
        "subset, learned": Design((b(20, 2.0),), falling(20, 0.8), 500, "learned", "split"),
        "rrrr, vector": Design(several, falling(5, 0.5), 800, (0.5, 2.0, 1.0, 3.0, 1.0), "gamma"),
        "rrrr, learned": Design(ten, falling(10, 0.6), 900, "learned", "split"),
        "coarse, flat": Design(eight, falling(8, 0.7), 1000, 1.0, "gamma"),
        "coarse, learned": Design(six, falling(6, 0.6), 600, "learned", "split"),
        "mixed, learned": Design(_mixed_five(), falling(5, 0.6), 700, "learned", "split", -0.5, 1.5),
        "mixed, vector": Design(twenty, falling(20, 0.85), 1500, uneven, "gamma"),
    }


def gathered(design: Design, seed: int) -> list[Record]:
    """Reports of the design's people: for each channel the rows of its matrix that came, and how often."""
    rng = np.random.default_rng(seed)
    out = []
    for channel in design.made:
        law = channel.matrix() @ np.array(design.theta)
        counts = rng.multinomial(design.n // len(design.made), law / law.sum())
        rows = np.flatnonzero(counts)
        out.append({"channel": channel.to_json(), "rows": rows.tolist(), "counts": counts[rows].tolist()})
    return out


def target_of(design: Design, table: list[Record]) -> Target:
    """The posterior, as NUTS takes it."""
    rows = [channels.from_json(part["channel"]).matrix()[part["rows"]] for part in table]
    counts = np.concatenate([part["counts"] for part in table]).astype(np.float64)
    learned = design.concentration == "learned"
    base = np.broadcast_to(1.0 if learned else design.concentration, len(design.theta)).astype(np.float64)
    prior = (design.location, design.scale) if learned else None
    return Target(base, prior, np.concatenate(rows), counts, design.form, "entries")


def summarise(chains: np.ndarray) -> Record:
    """Mean, standard deviation and their Monte Carlo errors of every column of (chains, draws, columns),
    with effective sizes by ArviZ."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ announces its next version when it is imported
        import arviz
    mean, sd = chains.mean(axis=(0, 1)), chains.std(axis=(0, 1))
    squares = (chains - mean) ** 2

    def diagnosed(values: np.ndarray, diagnose: Callable[..., Any], **options: str) -> np.ndarray:
        return np.array(diagnose(arviz.convert_to_dataset({"x": values}), **options)["x"])

    sizes = [diagnosed(values, arviz.ess, method="mean") for values in (chains, squares)]
    # The spread of a variance, by the delta method, is that of its root.
    sd_error = squares.std(axis=(0, 1)) / np.sqrt(sizes[1]) / (2 * sd)
    return {
        "mean": mean.tolist(),
        "sd": sd.tolist(),
        "mean error": (sd / np.sqrt(sizes[0])).tolist(),
        "sd error": sd_error.tolist(),
        "effective": diagnosed(chains, arviz.ess, method="bulk").tolist(),
        "rhat": diagnosed(chains, arviz.rhat).tolist(),
    }


def run(design: Design, table: list[Record], draws: int, chains: int, tune: int, seed: int) -> Record:
    """The summary of a NUTS run; the last column is ln rho when it is learned."""
    target = target_of(design, table)
    trace = nuts(target, draws, tune, chains, seed, target_accept=ACCEPT)
    values = trace.posterior["theta"].values
    if target.log_rho is not None:
        values = np.concatenate([values, trace.posterior["log_rho"].values[..., None]], axis=2)
    return summarise(values) | {"divergences": int(trace.sample_stats["diverging"].values.sum())}


def main() -> None:
    """Make the runs and write reference.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--table", action="append", choices=list(designs()), help="only this one; may be repeated"
    )
    parser.add_argument("--draws", type=int, default=20_000, help=f"of each of {CHAINS} chains")
    options = parser.parse_args()
    known = json.loads(REFERENCE.read_text()) if REFERENCE.exists() else {}
    for seed, (name, design) in enumerate(track(list(designs().items()), "tables")):
        if options.table and name not in options.table:
            continue
        start = time.perf_counter()
        table = gathered(design, seed)
        found = run(design, table, options.draws, CHAINS, TUNE, seed)
        worst, seconds = max(found["rhat"]), time.perf_counter() - start
        least = min(found["effective"])
        Console().print(
            f"{name}: R-hat {worst:.4f}, {found['divergences']} divergences, {least:,.0f} effective, {seconds:.0f} s"
        )
        if worst >= 1.01 or found["divergences"]:
            sys.exit(
                f"{name} cannot be used as a reference: choose other reports or the other form of the density"
            )
        prior = [design.concentration, design.location, design.scale]
        known[name] = {"prior": prior, "table": table, "nuts": found}
        REFERENCE.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
