"""Every wrapper on real streams, at the same budget, beside a private histogram of the known domain and beside no
privacy.

    python -m experiments.sketches.compare --data DIR [--seeds 20]

Streams: the words of Plato's Republic, the clicks of a news portal, the destinations of flights (files of DIR, or
of $TACIT_DATA), and 10^6 draws of Zipf(1) from 2^20. Twenty batches come at even times; each asks for the 100 items
that are most frequent in the whole stream. A method gives the mean relative error over all answers, the share of 95
% intervals that hold the count, and their mean width over the mean count. A finished (stream, epsilon, seed) is a
line of results/compare.jsonl; the command goes on where it stood.

The histogram knows the domain and has a cell for every item: d = 1 and no collisions, with its noise kept
("histogram") or drawn anew with a twentieth of the budget each time ("histogram, split"). A privacy of clicks is
that of one click, not of one reader.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from experiments.sketches.loop import zipf
from rich.progress import track

from tacit.sketch import (
    Answers,
    CountMinSketch,
    CountSketch,
    MedianPerturbation,
    Private,
    Survey,
    UseAndForget,
    UseAndKeep,
    noise,
)

RESULTS = Path(__file__).parent / "results" / "compare.jsonl"
FILES = {
    "words": ("republic_words", "word"),
    "clicks": ("kosarak_clicks", "item"),
    "flights": ("nycflights13_stream", "dest"),
}
EPSILONS = (0.05, 0.3, 2.0)
BATCHES, ASKED, W = 20, 100, 2000
Array = npt.NDArray[Any]
Result = list[float]


def stream(name: str, data: Path | None) -> Array:
    """Items as integers, in the order of the stream."""
    if name == "zipf":
        out = np.empty(10**6, np.int64)
        zipf(np.random.default_rng(5), 2**20, out)
        return out
    file, column = FILES[name]
    if data is None:
        sys.exit("give --data DIR or TACIT_DATA, the folder that holds the real streams")
    with gzip.open(data / f"{file}.csv.gz", "rt", encoding="utf-8", newline="") as lines:
        values = [row[column] for row in csv.DictReader(lines)]
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def score(estimates: Array, ends: tuple[Array, Array] | None, counts: Array) -> Result:
    """Mean relative error, coverage, relative width."""
    error = float((np.abs(estimates - counts) / np.maximum(counts, 1)).mean())
    if ends is None:
        return [error]
    covered = float(((ends[0] <= counts) & (counts <= ends[1])).mean())
    return [error, covered, float((ends[1] - ends[0]).mean() / max(counts.mean(), 1.0))]


def play(
    items: Array, asked: Array, update: Callable[[Array], None], query: Callable[[Array], Result]
) -> list[Result]:
    """Twenty parts of the stream, a batch after each."""
    seen, out = np.zeros(len(asked), np.int64), []
    for part in np.array_split(items, BATCHES):
        update(part)
        seen += np.array([np.count_nonzero(part == x) for x in asked])
        out.append(query(seen))
    return out


def private(sketch: Private, items: Array, asked: Array, rng: np.random.Generator) -> list[Result]:
    """The errors of a wrapper, with simulated noise; the survey is the truth where no private one is to be had."""
    sketch._source = noise.Simulated(rng)

    def query(counts: Array) -> Result:
        answers = sketch.query(asked)
        return score(answers.estimates, answers.interval(0.95, known(sketch, answers)), counts)

    return play(items, asked, sketch.update, query)


def known(sketch: Private, answers: Answers) -> Survey | None:
    """What the interval is told: nothing where the rows suffice, the truth elsewhere."""
    if answers.signed and answers.rows is not None and answers.d >= 7:
        return None
    squares = sketch._sketch.cells.astype(float) ** 2
    if isinstance(sketch, UseAndKeep):
        squares -= sketch._uses * sketch._law.variance
    second = max(float(np.median(squares.sum(axis=1))), 0.0)
    return Survey(total=float(sketch._sketch.total), second_moment=second)


def histogram(
    epsilon: float, items: Array, asked: Array, rng: np.random.Generator, keep: bool
) -> list[Result]:
    """Exact counts of the asked items, each with noise of its own."""
    share = Fraction(str(epsilon)) / (1 if keep else BATCHES)
    law, source, kept, batches = (
        noise.laplace(1 / share),
        noise.Simulated(rng),
        np.zeros(len(asked), np.int64),
        0,
    )

    def query(counts: Array) -> Result:
        nonlocal kept, batches
        kept = source.draw(law, len(asked)) + (kept if keep else 0)
        batches += 1
        reach = law.quantile(0.025, batches if keep else 1) + 1
        return score(counts + kept, (counts + kept - reach, counts + kept + reach), counts)

    return play(items, asked, lambda part: None, query)


def plain(kind: Any, d: int, items: Array, asked: Array, seed: int) -> list[Result]:
    """A sketch without privacy."""
    sketch = kind(d, W, seed)
    return play(items, asked, sketch.update, lambda c: score(sketch.query(asked), sketch.interval(asked), c))


def one(name: str, items: Array, epsilon: float, seed: int) -> dict[str, Any]:
    """All methods on one stream with one seed."""
    values, counts = np.unique(items, return_counts=True)
    asked = values[np.argsort(-counts, kind="stable")[:ASKED]]
    rng = np.random.default_rng([seed, round(1000 * epsilon)])
    found: dict[str, list[Result]] = {}
    for kind in (CountSketch, CountMinSketch):
        tag = "count" if kind is CountSketch else "count-min"
        for d in (3, 9):
            found[f"keep, {tag}, d={d}"] = private(UseAndKeep(kind(d, W, seed), epsilon), items, asked, rng)
        found[f"forget, {tag}, d=3"] = private(UseAndForget(kind(3, W, seed), epsilon), items, asked, rng)
        found[f"no privacy, {tag}, d=9"] = plain(kind, 9, items, asked, seed)
    small, deep = CountSketch(3, W, seed), CountSketch(9, W, seed)
    found["forget, count, d=3, eta=0.9"] = private(UseAndForget(small, epsilon, 0.9), items, asked, rng)
    found["pan-private, count, d=3"] = private(UseAndKeep(small, epsilon, True), items, asked, rng)
    found["median, count, d=9"] = private(MedianPerturbation(deep, epsilon, BATCHES), items, asked, rng)
    found["histogram"] = histogram(epsilon, items, asked, rng, keep=True)
    found["histogram, split"] = histogram(epsilon, items, asked, rng, keep=False)
    means = {
        method: [float(f"{v:.4g}") for v in np.mean(results, axis=0)] for method, results in found.items()
    }
    last = {method: float(f"{results[-1][0]:.4g}") for method, results in found.items()}
    return {"stream": name, "epsilon": epsilon, "seed": seed, "mean": means, "last error": last}


def finished(path: Path = RESULTS) -> list[dict[str, Any]]:
    """The lines made so far."""
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines(keepends=True) if text.endswith("\n")]


def main() -> None:
    """Add the lines that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = os.environ.get("TACIT_DATA")
    parser.add_argument(
        "--data", type=Path, default=Path(data) if data else None, help="folder of the real streams"
    )
    parser.add_argument("--seeds", type=int, default=20, help="how many of each")
    options = parser.parse_args()
    there = {(line["stream"], line["epsilon"], line["seed"]) for line in finished()}
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as out:
        for name in ("zipf", *FILES):
            todo = [(e, s) for s in range(options.seeds) for e in EPSILONS if (name, e, s) not in there]
            items = stream(name, options.data) if todo else None
            for epsilon, seed in track(todo, name):
                out.write(json.dumps(one(name, items, epsilon, seed), separators=(",", ":")) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
