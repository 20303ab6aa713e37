"""How near the estimates come: tacit's studies beside other libraries, paired on the same populations.

    python benchmarks/accuracy.py [--runs 50] [--workers 2] [--quick]

A cell is (K, epsilon, rho): theta is drawn from Dirichlet(rho), 500 K people answer once. Every run of a cell has its
own theta and answers, and all methods see the same ones. Each finished run is a line of results/accuracy.jsonl, so the
command can be stopped and goes on where it stood; the tables are made from the lines that are there.

Peers report the smallest mean of any of their mechanisms and post-processings in each cell, chosen in hindsight. The
bound is for unbiased estimates through the static channel: a prior may go below it. The lowest one of any channel, and
the van Trees bound under the prior, are not computed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import peers
from numba import njit
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tacit import Categorical, Evidence, channels, posterior, simulate

LINES = Path(__file__).parent / "results" / "accuracy.jsonl"
SUMMARY = Path(__file__).parent / "results" / "accuracy.json"
CELLS = list(product((10, 20), (0.5, 1.0, 5.0), (0.01, 0.1, 1.0)))
PEERS = {"GRR": {}, "SS": {}, "UE": {"SUE": False, "OUE": True}, "LH": {"BLH": False, "OLH": True}}
IBU_STEPS = 10_000  # the default of the library; it stops before when nothing changes any more

Cell = tuple[int, float, float]
Estimates = dict[str, np.ndarray]


def population(cell: Cell, run: int) -> tuple[np.ndarray, np.ndarray, int]:
    """theta, the answers, and a seed, of one run."""
    k, epsilon, rho = cell
    rng = np.random.default_rng([k, round(1000 * epsilon), round(1000 * rho), run])
    theta = Categorical(k, rho).sample_prior(1, rng).theta[0]
    theta /= theta.sum()
    return theta, rng.choice(k, 500 * k, p=theta), int(rng.integers(2**31))


def ours(cell: Cell, theta: np.ndarray, answers: np.ndarray, seed: int) -> Estimates:
    """Static and adaptive studies; the static reports are judged with several priors and estimates."""
    k, epsilon, rho = cell
    out = {}
    for name, channel in (("srr", channels.srr(k, epsilon)), ("static", channels.subset(k, epsilon))):
        evidence = Evidence().add(channel, channel.sample(answers, seed))
        learned = posterior.sample(Categorical(k), evidence, seed=seed)
        out[f"{name}, learned, tv"] = learned.estimate("tv")
        if name == "static":
            out["static, learned, mean"] = learned.mean
            flat = posterior.sample(Categorical(k, 1.0), evidence, seed=seed)
            out["static, flat, mean"], out["static, flat, tv"] = flat.mean, flat.estimate("tv")
            oracle = posterior.sample(Categorical(k, rho), evidence, seed=seed)
            out["static, oracle, tv"] = oracle.estimate("tv")
    adaptive = simulate(theta, epsilon, "risk", answers=answers, seed=seed)
    out["risk, learned, tv"] = adaptive.estimate
    return out


def theirs(cell: Cell, answers: np.ndarray, seed: int) -> Estimates:
    """multi-freq-ldpy: every mechanism, each with projection on the simplex and with iterative Bayesian update."""
    k, epsilon, _ = cell
    out = {}
    random.seed(seed)
    seed_compiled(seed)
    for name, variants in PEERS.items():
        oracle = peers.module(f"multi_freq_ldpy.pure_frequency_oracles.{name}")
        if oracle is None:
            continue
        client = getattr(oracle, f"{name}_Client")
        for label, optimal in (variants or {name: None}).items():
            extra = () if optimal is None else (optimal,)
            reports = [client(x, k, epsilon, *extra) for x in answers]
            direct, update = (getattr(oracle, f"{name}_Aggregator_{kind}") for kind in ("MI", "IBU"))
            raw = direct(reports, epsilon, *extra) if name == "UE" else direct(reports, k, epsilon, *extra)
            out[f"{label}, projected"] = projected(np.asarray(raw, dtype=float))
            out[f"{label}, IBU"] = np.asarray(
                update(reports, k, epsilon, *extra, nb_iter=IBU_STEPS), dtype=float
            )
    return out


@njit
def seed_compiled(seed: int) -> None:
    """Seed the generator of compiled code, which is what the clients of multi-freq-ldpy draw from."""
    np.random.seed(seed)  # noqa: NPY002


def projected(estimate: np.ndarray) -> np.ndarray:
    """The nearest distribution, in Euclidean distance."""
    ordered = np.sort(estimate)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(estimate) + 1)
    return np.maximum(estimate - excess[np.flatnonzero(ordered > excess)[-1]], 0)


def one_run(cell: Cell, run: int) -> dict[str, Any]:
    """The total variation error of every method in one run."""
    theta, answers, seed = population(cell, run)
    found = ours(cell, theta, answers, seed) | theirs(cell, answers, seed)
    errors = {name: float(np.abs(estimate - theta).sum() / 2) for name, estimate in found.items()}
    return {"cell": list(cell), "run": run, "code": code(), "tv": errors, "bound": bound(cell, theta)}


def bound(cell: Cell, theta: np.ndarray) -> float:
    """Mean TV error of an efficient unbiased estimate through the static channel: half of sum sqrt(2 C_kk / pi), with C
    the inverse of the expected information."""
    k, epsilon, _ = cell
    rows = static_rows(k, epsilon)
    along = np.vstack([np.eye(k - 1), -np.ones(k - 1)])
    scaled = rows @ along / np.sqrt(rows @ theta)[:, None]
    covariance = along @ np.linalg.inv(500 * k * scaled.T @ scaled) @ along.T
    return float(np.sqrt(2 * np.diag(covariance) / math.pi).sum() / 2)


@cache
def static_rows(k: int, epsilon: float) -> np.ndarray:
    """P(report | x) of the static channel, every report a row."""
    return channels.subset(k, epsilon).matrix()


@cache
def code() -> str:
    """The commit that the numbers come from, with a mark when files differ from it."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = git(
        "status", "--porcelain", "--untracked-files=no", "--", "../src", "../clients", "accuracy.py"
    )
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def finished() -> list[dict[str, Any]]:
    """The runs made so far."""
    return [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.exists() else []


def make(runs: int, workers: int, cells: list[Cell]) -> None:
    """Make the runs that are not there yet."""
    there = {(tuple(line["cell"]), line["run"]) for line in finished()}
    missing = [(cell, run) for run in range(runs) for cell in cells if (cell, run) not in there]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(workers) as pool, LINES.open("a") as out:
        jobs = [pool.submit(one_run, *job) for job in missing]
        for job in track(as_completed(jobs), "runs", total=len(jobs)):
            out.write(json.dumps(job.result()) + "\n")
            out.flush()


def by_cell(lines: list[dict[str, Any]]) -> Iterator[tuple[Cell, dict[str, np.ndarray]]]:
    """Each cell with the errors of every method over its runs, in the order of the runs."""
    for cell in CELLS:
        rows = sorted((line for line in lines if tuple(line["cell"]) == cell), key=lambda line: line["run"])
        if rows:
            yield cell, {name: np.array([row["tv"][name] for row in rows]) for name in rows[0]["tv"]}


def compare(errors: dict[str, np.ndarray], name: str, other: np.ndarray) -> tuple[float, float]:
    """Ratio of the mean errors, and its paired standard error by linearisation."""
    mine = errors[name]
    ratio = mine.mean() / other.mean()
    return float(ratio), float(np.std(mine - ratio * other, ddof=1) / math.sqrt(len(mine)) / other.mean())


def summarise(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One record for each cell."""
    records = []
    for cell, errors in by_cell(lines):
        rivals = {
            name: values.mean()
            for name, values in errors.items()
            if "," in name and name.endswith(("d", "U"))
        }
        best = min(rivals, key=lambda name: rivals[name]) if rivals else None
        record: dict[str, Any] = {"k": cell[0], "epsilon": cell[1], "rho": cell[2]}
        record["runs"] = len(next(iter(errors.values())))
        record["tv"] = {name: float(values.mean()) for name, values in errors.items()}
        record["se"] = {
            name: float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None
            for name, values in errors.items()
        }
        record["bound"] = float(np.mean([line["bound"] for line in lines if tuple(line["cell"]) == cell]))
        if len(next(iter(errors.values()))) > 1:
            record["risk / static"] = compare(errors, "risk, learned, tv", errors["static, learned, tv"])
            if best:
                record["best peer"] = best
                record["static / peer"] = compare(errors, "static, learned, tv", errors[best])
                record["risk / peer"] = compare(errors, "risk, learned, tv", errors[best])
        records.append(record)
    return records


def show(records: list[dict[str, Any]]) -> None:
    """The main table, and the geometric means of the ratios."""
    names = ["srr, learned, tv", "static, flat, mean", "static, learned, mean", "static, learned, tv"]
    names += ["risk, learned, tv", "static, oracle, tv"]
    table = Table(title="Mean TV error (standard error)")
    for heading in ("K", "epsilon", "rho", "runs", *names, "best peer", "unbiased bound"):
        table.add_column(heading, justify="right")
    for r in records:
        cells = [f"{r['tv'][name]:.4f} ({r['se'][name] or 0:.4f})" for name in names]
        peer = f"{r['tv'][r['best peer']]:.4f} {r['best peer']}" if "best peer" in r else "-"
        head = [str(r[name]) for name in ("k", "epsilon", "rho", "runs")]
        table.add_row(*head, *cells, peer, f"{r['bound']:.4f}")
    console = Console(width=220)
    console.print(table)
    console.print(f"made by {', '.join(sorted({line['code'] for line in finished()}))}")
    for name in ("risk / static", "static / peer", "risk / peer"):
        ratios = [r[name] for r in records if name in r]
        if ratios:
            mean = math.exp(np.mean([math.log(ratio) for ratio, _ in ratios]))
            spread = math.sqrt(sum((se / ratio) ** 2 for ratio, se in ratios)) / len(ratios)
            text = ", ".join(f"{ratio:.2f} ({se:.2f})" for ratio, se in ratios)
            console.print(f"{name}: geometric mean {mean:.3f} ({mean * spread:.3f}); by cell {text}")


PARTS = (
    ("static, learned, tv", "static, learned, mean"),
    ("static, learned, mean", "static, flat, mean"),
    ("static, learned, tv", "static, oracle, tv"),
    ("static, learned, tv", "srr, learned, tv"),
)


def show_parts(records: list[dict[str, Any]]) -> None:
    """What comes from the estimate, the prior and the channel: geometric means over the cells."""
    for name, other in PARTS:
        mean = math.exp(np.mean([math.log(r["tv"][name] / r["tv"][other]) for r in records]))
        print(f"{name} / {other}: {mean:.3f}")


def main() -> None:
    """Make the missing runs and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50, help="runs of every cell")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="one run of two cells, printed and not kept")
    options = parser.parse_args()
    if options.quick:
        show(summarise([one_run(cell, 0) for cell in CELLS[:2]]))
        return
    LINES.parent.mkdir(exist_ok=True)
    make(options.runs, options.workers, CELLS)
    records = summarise(finished())
    SUMMARY.write_text(json.dumps(records, indent=1) + "\n")
    show(records)
    show_parts(records)


if __name__ == "__main__":
    main()
