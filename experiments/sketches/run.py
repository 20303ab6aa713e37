"""Runs of the whole grid of the thesis, one line of results/grid.jsonl each.

    python -m experiments.sketches.run [--runs 20] [--workers 1] [--backend loky] [--output FILE]

A finished run is one line, so the command may be stopped at any time and goes on where it stood. A line has `run`
(its seed) and `error`: the sums of the relative errors of all queries so far, divided by their number in all
(10^6), at 40 times, for each pool, batch size, epsilon and depth of `grid`: the cumulative mean relative error.
Memory: 150 MB.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from experiments.sketches.grid import FULL, RUNS, Size
from experiments.sketches.loop import run
from rich.progress import track

from experiments import parallel

RESULTS = Path(__file__).parent / "results" / "grid.jsonl"


def one_run(number: int, size: Size, progress: Any = lambda part: None) -> dict[str, Any]:
    """A line."""
    error = run(number, size, progress) / size.queries
    rounded = np.vectorize(lambda v: float(f"{v:.5g}"))(error)
    return {"run": number, "error": rounded.tolist()}


def finished(path: Path = RESULTS) -> list[dict[str, Any]]:
    """The runs made so far; a line that is still being written does not count."""
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines(keepends=True) if text.endswith("\n")]


def make(runs: int, path: Path = RESULTS, size: Size = FULL, workers: int = 1, backend: str = "loky") -> None:
    """Add the lines that are missing."""
    path.parent.mkdir(exist_ok=True)
    there = finished(path)
    missing = sorted(set(range(runs)) - {line["run"] for line in there})
    if path.exists():
        with path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
    made = parallel.each(one_run, [(number, size) for number in missing], workers, backend)
    with path.open("a") as out:
        for line in track(made, f"{len(missing)} runs", total=len(missing)):
            out.write(json.dumps(line, separators=(",", ":")) + "\n")
            out.flush()


def main() -> None:
    """Make the missing runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="how many runs in all")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the file of lines")
    parallel.options(parser)
    options = parser.parse_args()
    make(options.runs, options.output, workers=options.workers, backend=options.backend)


if __name__ == "__main__":
    main()
