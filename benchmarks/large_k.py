"""Studies with 1,000 and 10,000 categories: error, coverage and seconds, beside local hashing and subset selection.

    python benchmarks/large_k.py [--sizes 1000 10000] [--people 1000000] [--runs 3] [--prior 20] [--output FILE]

Truths are Zipf laws in random order, and draws from the study's own prior ("prior"). The methods of a run share it.

| method | what |
| --- | --- |
| tacit | hashed response, the posterior as a product, the estimate that minimises total variation |
| OLH, SS: normalised | optimal local hashing, subset selection, with multi-freq-ldpy's own estimator |
| OLH, SS: projected | the same support counts, the unbiased estimate projected on the simplex |
| two levels | half of the people tell a group (of 32, or 100), half the category; least squares, projected |

The libraries loop in Python over people and categories: for 10^6 people and 1,000 categories that is 10^9 calls of a
hash function. Support counts are therefore drawn by tacit's channels with the same parameters, which follow the
same law; the estimator is the library's own. `counts_agree` holds such counts against the library's in a small
study. With 10,000 categories a report of subset selection is 2,689 numbers; it is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import peers
import rivals
from rich.console import Console
from rich.table import Table

from tacit import Categorical, channels, posterior
from tacit.evidence import Evidence, Tally

RESULTS = Path(__file__).parent / "results" / "large_k.json"
EXPONENTS = (0.7, 1.1, 1.5, 2.0)
LEVEL = 0.9
SLOW = 2  # runs of subset selection, whose reports are hundreds of numbers
VISIBLE = 2.0  # standard errors above which a share counts as visible


def tally(channel: Any, answers: np.ndarray, rng: np.random.Generator) -> Tally:
    """The tally of simulated reports, made in parts."""
    sums = sum(
        channel.tally(channel.sample(part, rng))
        for part in np.array_split(answers, max(1, len(answers) // 100_000))
    )
    return Tally(channel, len(answers), sums, None, None)


def normalised(found: Tally, p: float, q: float) -> np.ndarray:
    """multi-freq-ldpy's estimator."""
    library = peers.module("multi_freq_ldpy.estimators.Histogram_estimator")
    return library.MI(found.sums.astype(float), found.n, p, q)


def two_levels(answers: np.ndarray, k: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Groups from half of the people, leaves from the other half, put together by least squares."""
    groups = 32 if k <= 1000 else 100
    group = np.arange(k) * groups // k
    half = len(answers) // 2
    upper = Evidence((tally(channels.subset(groups, epsilon), group[answers[:half]], rng),)).moments()
    lower = Evidence((tally(channels.hashed(k, epsilon), answers[half:], rng),)).moments()
    sums = np.bincount(group, lower.theta, groups)
    variances = np.bincount(group, lower.standard_error**2, groups)
    pull = (upper.theta - sums) / (variances + upper.standard_error**2)
    return rivals.projected(lower.theta + lower.standard_error**2 * pull[group])


def one(k: int, people: int, epsilon: float, truth: str, run: int) -> dict[str, Any]:
    """All methods on one population."""
    rng = np.random.default_rng([k, round(1000 * epsilon), run, sum(map(ord, truth))])
    if truth == "prior":
        theta = Categorical(k).sample_prior(1, rng).theta[0]
    else:
        theta = rng.permutation(np.arange(1.0, k + 1) ** -float(truth))
    theta /= theta.sum()
    answers = rng.choice(k, people, p=theta)
    line: dict[str, Any] = {"k": k, "epsilon": epsilon, "truth": truth, "run": run, "tv": {}}

    def keep(name: str, estimate: np.ndarray) -> None:
        line["tv"][name] = float(np.abs(estimate - theta).sum() / 2)

    hashed = channels.hashed(k, epsilon)
    begun = time.perf_counter()
    found = tally(hashed, answers, rng)
    line["tally seconds"] = time.perf_counter() - begun
    evidence = Evidence((found,))
    begun, used = time.perf_counter(), time.process_time()
    drawn = posterior.sample(Categorical(k), evidence, seed=rng)
    estimate = drawn.estimate("tv")
    low, high = drawn.interval(LEVEL)
    line["posterior seconds"] = time.perf_counter() - begun
    line["posterior cpu"] = time.process_time() - used
    keep("tacit", estimate)
    inside = (low <= theta) & (theta <= high)
    line["cover"] = float(inside.mean())
    visible = theta > VISIBLE * np.median(evidence.moments().standard_error)
    line["visible"] = int(visible.sum())
    line["cover visible"] = float(inside[visible].mean()) if visible.any() else None
    if truth == "prior":
        return line
    keep("OLH: projected", rivals.projected(evidence.moments().theta))
    if peers.multi_freq("LH"):
        keep("OLH: normalised", normalised(found, *hashed.inclusion))
    keep("two levels", two_levels(answers, k, epsilon, rng))
    if k <= 1000 and run < SLOW:
        subset = channels.subset(k, epsilon, max(1, int(np.rint(k / (math.exp(epsilon) + 1)))))
        found = tally(subset, answers, rng)
        keep("SS: projected", rivals.projected(Evidence((found,)).moments().theta))
        if peers.multi_freq("SS"):
            keep("SS: normalised", normalised(found, *subset.inclusion))
    return line


def counts_agree(k: int = 64, people: int = 4000, epsilon: float = 1.0) -> float:
    """The largest difference of the library's and tacit's estimates from counts, in standard errors."""
    answers = np.random.default_rng(1).integers(0, k, people)
    worst = 0.0
    for name, channel in (("OLH", channels.hashed(k, epsilon)), ("SS", channels.subset(k, epsilon))):
        rivals.seed_all(7)
        theirs = rivals.oracles()[name](answers, k, epsilon).raw
        ours = Evidence((tally(channel, answers, np.random.default_rng(2)),)).moments()
        worst = max(worst, float(np.abs((theirs - ours.theta) / ours.standard_error / math.sqrt(2)).max()))
    return worst


def show(lines: list[dict[str, Any]]) -> None:
    """A row for each kind of truth."""
    names = ["tacit", "OLH: projected", "OLH: normalised", "SS: projected", "SS: normalised", "two levels"]
    table = Table(*["K", "epsilon", "truth", "runs", *names, "cover", "visible", "seconds"])
    for key in dict.fromkeys((line["k"], line["epsilon"], line["truth"]) for line in lines):
        mine = [line for line in lines if (line["k"], line["epsilon"], line["truth"]) == key]
        cells = []
        for name in names:
            errors = [line["tv"][name] for line in mine if name in line["tv"]]
            spread = np.std(errors, ddof=1) / math.sqrt(len(errors)) if len(errors) > 1 else math.nan
            cells.append(f"{np.mean(errors):.3f} ({spread:.3f})" if errors else "")
        cover = [line["cover"] for line in mine]
        spread = np.std(cover, ddof=1) / math.sqrt(len(cover)) if len(cover) > 1 else math.nan
        seen = sum(line["visible"] for line in mine)
        held = sum(line["visible"] * (line["cover visible"] or 0) for line in mine)
        part = f"{held / seen:.2f} of {seen}" if seen else ""
        seconds = np.median([line["posterior cpu"] for line in mine])
        shown = (f"{key[0]:,}", f"{key[1]:g}", key[2], str(len(mine)), *cells)
        table.add_row(*shown, f"{np.mean(cover):.3f} ({spread:.3f})", part, f"{seconds:.1f}")
    Console(width=200).print(table)


def main() -> None:
    """Run what is asked for and print it; lines that are there stay."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--people", type=int, default=10**6)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0])
    parser.add_argument("--runs", type=int, default=3, help="of every Zipf law")
    parser.add_argument("--prior", type=int, default=20, help="runs with the truth drawn from the prior")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="print what was measured before")
    options = parser.parse_args()
    lines: list[dict[str, Any]] = json.loads(options.output.read_text()) if options.output.exists() else []
    if not options.show:
        print(f"support counts differ by at most {counts_agree():.1f} standard errors", file=sys.stderr)
        jobs = [
            (k, epsilon, truth, run)
            for k in options.sizes
            for epsilon in options.epsilons
            for truth, runs in (*((str(e), options.runs) for e in EXPONENTS), ("prior", options.prior))
            for run in range(runs)
        ]
        there = {(line["k"], line["epsilon"], line["truth"], line["run"]) for line in lines}
        for k, epsilon, truth, run in sorted(jobs, key=lambda job: (job[3], job[0])):
            if (k, epsilon, truth, run) not in there:
                lines.append(one(k, options.people, epsilon, truth, run))
                options.output.write_text("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")
    show(lines)


if __name__ == "__main__":
    main()
