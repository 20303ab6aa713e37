"""What a study of a number finds when answers do not have the law of its model, and whether the check notices.

    python benchmarks/misspecification.py [--runs 60] [--output FILE] [--show]

Answers have mean 50 and standard deviation 8, and are normal, exponential, lognormal (sigma of the logarithm 0.5) or
Student's t with 3 degrees of freedom. The model is normal. PEOPLE people are asked either by the adaptive policy
"information", whose cuts close in on what it wants to know, or through one graded channel of 8 steps from 10 to 90.
Bias is of the posterior mean, in standard deviations of the answer; coverage is of 90 % intervals for the mean and
the standard deviation; "noticed" is how often `predictive_check` gives the shape a p-value below 0.05.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tacit import Evidence, Study, channels, posterior
from tacit.posterior import NumberPosterior
from tacit_client import Question

RESULTS = Path(__file__).parent / "results" / "misspecification.json"
QUESTION = Question("number", "What is your number?", (), "units", "-100", "300", "0.1")
MEAN, SD, PEOPLE = 50.0, 8.0, 5000
EPSILONS = (1.0, 4.0)
SPREAD = np.sqrt(np.exp(0.25) - 1) * np.exp(0.125)  # of the lognormal law
LAWS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda rng: rng.normal(size=PEOPLE),
    "exponential": lambda rng: rng.exponential(size=PEOPLE) - 1,
    "lognormal": lambda rng: (np.exp(0.5 * rng.normal(size=PEOPLE)) - np.exp(0.125)) / SPREAD,
    "t(3)": lambda rng: rng.standard_t(3, PEOPLE) / np.sqrt(3),
}
Row = dict[str, Any]


def adaptive(
    answers: np.ndarray, epsilon: float, rng: np.random.Generator
) -> tuple[NumberPosterior, Evidence]:
    """A study."""
    study = Study(question=QUESTION, model="normal", epsilon=epsilon, expected=PEOPLE, seed=rng)
    while len(study.evidence) < PEOPLE:
        channel, done = study.channel, len(study.evidence)
        asked = answers[done : done + study.wanted]
        study.add(channel, channel.sample(asked, rng))
    return study.posterior(seed=int(rng.integers(2**31))), study.evidence


def static(answers: np.ndarray, epsilon: float, rng: np.random.Generator) -> tuple[NumberPosterior, Evidence]:
    """One channel for all."""
    channel = channels.graded(10, 90, 8, epsilon)
    evidence = Evidence().add(channel, channel.sample(answers, rng))
    model = Study(question=QUESTION, model="normal", epsilon=epsilon).model
    return posterior.sample(model, evidence, seed=rng), evidence


DESIGNS = {"adaptive": adaptive, "static": static}


def measured(law: str, design: str, epsilon: float, runs: int) -> Row:
    """One row of the table."""
    bias, inside, noticed = [], [], []
    for run in range(runs):
        rng = np.random.default_rng([run, list(LAWS).index(law)])
        answers = MEAN + SD * LAWS[law](rng)
        found, evidence = DESIGNS[design](answers, epsilon, rng)
        low, high = found.interval(0.9)
        bias.append((found.mean - [MEAN, SD]) / SD)
        inside.append((low <= [MEAN, SD]) & (high >= [MEAN, SD]))
        noticed.append(posterior.predictive_check(found, evidence, 100, rng).p_value < 0.05)
    error = np.std(bias, axis=0, ddof=1) / np.sqrt(runs)
    return {
        "law": law,
        "design": design,
        "epsilon": epsilon,
        "runs": runs,
        "bias": list(np.mean(bias, axis=0)),
        "error": list(error),
        "coverage": list(np.mean(inside, axis=0)),
        "noticed": float(np.mean(noticed)),
    }


def show(rows: list[Row]) -> None:
    """The table, in Markdown."""
    head = [
        "answers",
        "asked",
        "epsilon",
        "bias of mean",
        "bias of sd",
        "coverage, mean",
        "coverage, sd",
        "noticed",
    ]
    table = Table(*head)
    for row in rows:
        bias = [f"{value:+.3f} ({error:.3f})" for value, error in zip(row["bias"], row["error"], strict=True)]
        cover = [f"{value:.2f}" for value in row["coverage"]]
        table.add_row(
            row["law"], row["design"], f"{row['epsilon']:g}", *bias, *cover, f"{row['noticed']:.2f}"
        )
    Console(width=120).print(table)


def main() -> None:
    """Measure and keep, or show what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60, help="studies of each kind")
    parser.add_argument("--show", action="store_true", help="the last measurement, nothing new")
    parser.add_argument("--output", type=Path, default=RESULTS, help="JSON file")
    options = parser.parse_args()
    if options.show:
        show(json.loads(RESULTS.read_text()))
        return
    jobs = [(law, design, epsilon) for law in LAWS for design in DESIGNS for epsilon in EPSILONS]
    rows = [measured(*job, options.runs) for job in track(jobs, "kinds")]
    options.output.write_text(json.dumps(rows, indent=1) + "\n")
    show(rows)


if __name__ == "__main__":
    main()
