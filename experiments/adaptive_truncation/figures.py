"""The figures: of the paper, with our methods beside its own.

    python -m experiments.adaptive_truncation.figures [--latent]

**figure2**: particle clouds of mu and ln sigma after every 20th report, with the interval that the reports went
through (ours: the outermost cuts), for one run of three methods. **figure3**: box plots of the posterior means of
all runs.

The clouds are made anew, in a minute. With --latent those of the paper's methods come from its own sampler, which takes
five minutes; else from the exact likelihood: the same policy and the same posterior.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from experiments.adaptive_truncation import exact, latent
from experiments.adaptive_truncation.people import EPSILONS, EVERY, MU, SIGMA, Trace, best, fixed, population
from experiments.adaptive_truncation.run import QUESTION, finished
from experiments.adaptive_truncation.summary import by_method
from experiments.adobest.style import BLUE, GREEN, GREY, ORANGE, PURPLE, boxes, canvas, clean, save
from matplotlib.axes import Axes

from tacit import Study

FIGURES = Path(__file__).parent / "figures"
SHOWN = 150  # particles of a cloud
RUN = 1
ORDER = ("latent", "exact", "information:mu", "information", "latent fixed", "mhaar", "exact fixed")
COLOURS = (GREY, BLUE, ORANGE, GREEN, PURPLE, PURPLE, PURPLE)


def ours(epsilon: float) -> Trace:
    """A study that aims at both, its cloud after every EVERY reports."""
    people, rng = population(RUN), np.random.default_rng(RUN)
    study = Study(
        question=QUESTION, model=exact.MODEL, epsilon=epsilon, expected=len(people.answers), seed=rng
    )
    intervals, clouds = [], []
    for t, answer in enumerate(people.answers):
        channel = study.channel
        intervals.append((channel.cuts[0], channel.cuts[-1]))
        study.add(channel, channel.sample([answer], rng))
        if (t + 1) % EVERY == 0:
            clouds.append(study.posterior(seed=t).draws)
    return Trace(np.zeros(2), np.zeros(2), np.array(intervals), np.array(clouds))


def traces(epsilon: float, with_latent: bool) -> dict[str, Trace]:
    """The three methods of figure 2, on the same people."""
    people, rng = population(RUN), np.random.default_rng(RUN)
    if with_latent:
        adaptive = latent.run(people, epsilon, rng, best=best(epsilon))
        still = latent.run(people, epsilon, rng, interval=fixed())
    else:
        adaptive = exact.adaptive(people, epsilon, rng)
        still = exact.adaptive(people, epsilon, rng, interval=fixed())
    return {"the paper's, adaptive": adaptive, "the paper's, fixed": still, "information": ours(epsilon)}


def clouds(axes: Axes, trace: Trace, part: int) -> None:
    """One panel: `part` 0 is mu, 1 is ln sigma."""
    values = trace.clouds[:, :SHOWN, part]
    values = np.log(values) if part else values
    times = EVERY * (1 + np.arange(len(values)))
    axes.plot(
        np.repeat(times, values.shape[1]), values.ravel(), ".", color=BLUE, markersize=0.6, rasterized=True
    )
    axes.plot(times, values.mean(axis=1), color=ORANGE, linewidth=1)
    if part == 0:
        axes.plot(times, trace.intervals[times - 1], color="black", linewidth=0.6)
    axes.axhline(math.log(SIGMA) if part else MU, color=GREY, linewidth=0.6, linestyle="--")
    axes.set_ylim((-1.5, 4) if part else (30, 70))
    clean(axes, None)


def figure2(with_latent: bool) -> None:
    """Clouds."""
    figure = canvas(10, 9)
    panels = figure.subplots(len(EPSILONS), 6, sharex=True)
    for row, epsilon in zip(panels, EPSILONS, strict=True):
        for column, (name, trace) in enumerate(traces(epsilon, with_latent).items()):
            for part in (0, 1):
                axes = row[2 * column + part]
                clouds(axes, trace, part)
                if epsilon == EPSILONS[0]:
                    axes.set_title(f"{'ln sigma' if part else 'mu'}\n{name}", fontsize=7.5)
        row[0].set_ylabel(f"epsilon {epsilon:g}", fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("reports", fontsize=7.5)
    save(figure, "figure2.png", FIGURES)


def figure3() -> None:
    """Posterior means."""
    table = by_method(finished())
    figure = canvas(10, 6)
    panels = figure.subplots(2, len(EPSILONS))
    for column, epsilon in enumerate(EPSILONS):
        for part, name in enumerate(("mu", "sigma")):
            axes = panels[part, column]
            shown = [
                (method, colour)
                for method, colour in zip(ORDER, COLOURS, strict=True)
                if table.get((epsilon, method))
            ]
            for place, (method, colour) in enumerate(shown):
                means = [line["mean"][part] for line in table[epsilon, method].values()]
                boxes(axes, [means], [place], colour)
            axes.axhline((MU, SIGMA)[part], color=GREY, linewidth=0.6, linestyle="--")
            axes.set_ylim((45, 55) if part == 0 else (0, 8))
            axes.set_xticks(range(len(shown)), [method for method, _ in shown], rotation=90, fontsize=7)
            axes.set_title(f"{name}, epsilon {epsilon:g}", fontsize=8)
            clean(axes)
    save(figure, "figure3.png", FIGURES)


def main() -> None:
    """Both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latent", action="store_true", help="clouds of the paper's own sampler")
    figure2(parser.parse_args().latent)
    figure3()


if __name__ == "__main__":
    main()
