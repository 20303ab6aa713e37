"""Which prior of the learned concentration: other populations than those of the accuracy benchmark, static reports.

    python benchmarks/priors.py [--runs 8] [--workers 2]

A cell is (K, epsilon, rho): theta ~ Dirichlet(rho), and 500 K people answer once through the static subset channel.
Prints the mean total variation error under ln rho ~ N(0, 2^2), and for other priors, from the same reports, the
ratio of their mean error to it. `two_groups.py` takes its cells, reports and table from here.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the processes share the cores

import numpy as np
from rich.progress import track

from tacit import Categorical, Evidence, channels, posterior

PRIORS = ((0.0, 2.0), (0.0, 1.0), (-0.5, 1.5), (0.5, 1.0), (0.5, 2.0), (-1.0, 2.0))
DRAWS = 500


class Cell(NamedTuple):
    """Shares ~ Dirichlet(rho) over `present` categories chosen at random, the others exactly 0; None: over all."""

    k: int
    epsilon: float
    rho: float
    present: int | None = None

    @property
    def family(self) -> str:
        return f"rho {self.rho:g}" if self.present is None else f"{self.present} present"


CELLS = [Cell(*values) for values in product((10, 20), (0.5, 1.0, 5.0), (0.03, 0.3, 3.0))]


def population(cell: Cell, run: int) -> tuple[np.ndarray, Evidence]:
    """theta (K,), and the reports of 500 K people."""
    k = cell.k
    seed = [k, round(1000 * cell.epsilon), round(1000 * cell.rho), run, 77]
    rng = np.random.default_rng(seed if cell.present is None else [*seed, cell.present])
    if cell.present is None:
        theta = Categorical(k, cell.rho).sample_prior(1, rng).theta[0]
    else:
        theta = np.zeros(k)
        theta[rng.permutation(k)[: cell.present]] = rng.dirichlet(np.full(cell.present, cell.rho))
    theta /= theta.sum()
    channel = channels.subset(k, cell.epsilon)
    return theta, Evidence().add(channel, channel.sample(rng.choice(k, 500 * k, p=theta), rng))


def distance(estimate: np.ndarray, theta: np.ndarray) -> float:
    """Total variation."""
    return float(np.abs(estimate - theta).sum() / 2)


def errors(cell: Cell, run: int) -> list[float]:
    """The error under every prior, from the same reports."""
    theta, evidence = population(cell, run)
    models = [Categorical(cell.k, location=location, scale=scale) for location, scale in PRIORS]
    return [
        distance(posterior.sample(model, evidence, draws=DRAWS, seed=1).estimate(), theta) for model in models
    ]


def ratios(found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of errors (cells, runs, methods): ratios (cells, methods) of the means to the first method's, and their paired
    standard errors by linearisation."""
    means = found.mean(axis=1)
    first = found[:, :, :1]
    ratio = means / means[:, :1]
    spread = (found - ratio[:, None] * first).std(axis=1, ddof=1) / np.sqrt(found.shape[1]) / means[:, :1]
    return ratio, spread


def geometric(ratio: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The geometric mean over cells (methods,), and its standard error: the cells are independent."""
    mean = np.exp(np.log(ratio).mean(axis=0))
    return mean, mean * np.sqrt(((spread / ratio) ** 2).sum(axis=0)) / len(ratio)


def table(cells: Sequence[Cell], found: np.ndarray, names: Sequence[str]) -> list[str]:
    """Lines of Markdown: the mean error of the first method, the ratios of the others to it, and geometric means."""
    ratio, spread = ratios(found)
    means, doubt = found[:, :, 0].mean(axis=1), found[:, :, 0].std(axis=1, ddof=1) / np.sqrt(found.shape[1])
    lines = ["| K | epsilon | population | runs | " + " | ".join(names) + " |"]
    lines.append("| ---: | ---: | --- | ---: |" + " ---: |" * len(names))
    for i, cell in enumerate(cells):
        others = [f"{r:.3f} ({s:.3f})" for r, s in zip(ratio[i, 1:], spread[i, 1:], strict=True)]
        head = f"| {cell.k} | {cell.epsilon:g} | {cell.family} | {found.shape[1]} | {means[i]:.4f} ({doubt[i]:.4f}) | "
        lines.append(head + " | ".join(others) + " |")
    groups: dict[str, Callable[[Cell], bool]] = {"all": lambda cell: True}
    for family in dict.fromkeys(cell.family for cell in cells):
        groups[family] = partial(lambda family, cell: cell.family == family, family)
    for epsilon in dict.fromkeys(cell.epsilon for cell in cells):
        groups[f"epsilon {epsilon:g}"] = partial(lambda epsilon, cell: cell.epsilon == epsilon, epsilon)
    lines += ["", "| geometric mean over | cells | " + " | ".join(names[1:]) + " |"]
    lines.append("| --- | ---: |" + " ---: |" * (len(names) - 1))
    for name, chosen in groups.items():
        rows = [i for i, cell in enumerate(cells) if chosen(cell)]
        pairs = zip(*geometric(ratio[rows, 1:], spread[rows, 1:]), strict=True)
        lines.append(f"| {name} | {len(rows)} | " + " | ".join(f"{r:.3f} ({s:.3f})" for r, s in pairs) + " |")
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=8, help="runs of every cell, at least 2")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    jobs = [(cell, run) for cell in CELLS for run in range(options.runs)]
    with ProcessPoolExecutor(options.workers) as pool:
        found = list(track(pool.map(errors, *zip(*jobs, strict=True)), "runs", total=len(jobs)))
    names = [f"N({location:g}, {scale:g}²)" for location, scale in PRIORS]
    print("\n".join(table(CELLS, np.array(found).reshape(len(CELLS), options.runs, -1), names)))


if __name__ == "__main__":
    main()
