"""Which prior of the learned concentration: other populations than those of the accuracy benchmark, static reports.

    python benchmarks/priors.py [--runs 8] [--workers 2]

Prints, for ln rho ~ N(location, scale^2), the geometric mean over cells of the error over that of (0, 2).
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np

from tacit import Categorical, Evidence, channels, posterior

PRIORS = ((0.0, 2.0), (0.0, 1.0), (-0.5, 1.5), (0.5, 1.0), (0.5, 2.0))
CELLS = list(product((10, 20), (0.5, 1.0, 5.0), (0.03, 0.3, 3.0)))


def errors(cell: tuple[int, float, float], run: int) -> list[float]:
    """The total variation error under every prior, from the same reports."""
    k, epsilon, rho = cell
    rng = np.random.default_rng([k, round(1000 * epsilon), round(1000 * rho), run, 77])
    theta = Categorical(k, rho).sample_prior(1, rng).theta[0]
    theta /= theta.sum()
    channel = channels.subset(k, epsilon)
    evidence = Evidence().add(channel, channel.sample(rng.choice(k, 500 * k, p=theta), rng))
    models = [Categorical(k, location=location, scale=scale) for location, scale in PRIORS]
    found = [posterior.sample(model, evidence, draws=500, seed=1).estimate() for model in models]
    return [float(np.abs(estimate - theta).sum() / 2) for estimate in found]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=8, help="runs of every cell")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    jobs = [(cell, run) for cell in CELLS for run in range(options.runs)]
    with ProcessPoolExecutor(options.workers) as pool:
        found = np.array(list(pool.map(errors, *zip(*jobs, strict=True))))
    means = found.reshape(len(CELLS), options.runs, len(PRIORS)).mean(axis=1)
    ratios = np.exp(np.log(means / means[:, :1]).mean(axis=0))
    for (location, scale), ratio in zip(PRIORS, ratios, strict=True):
        print(f"N({location:g}, {scale:g}^2): {ratio:.3f}")
    print(f"{options.runs} runs of each of {len(CELLS)} cells; {math.prod(found.shape)} posteriors")


if __name__ == "__main__":
    main()
