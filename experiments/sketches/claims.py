"""What the thesis says of Figures 4.1 to 4.4, checked, and the comparison of methods, as tables of the README.

    python -m experiments.sketches.claims [--write]

"Holds" counts scenarios, or neighbouring pairs of them, in the means over the runs that are there.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from experiments.sketches import compare, curves, run
from experiments.sketches.grid import BATCHES, DEPTHS, EPSILONS

HERE = Path(__file__).parent
MARKS = ("<!-- tables: begin -->", "<!-- tables: end -->")
PRIVATE = slice(0, 3)  # the finite epsilons


def errors() -> Any:
    """Cumulative mean relative errors: (runs, times, pools, batch sizes, epsilons, depths)."""
    return np.array([line["error"] for line in run.finished()])


def counted(holds: Any) -> str:
    """How many of how many."""
    return f"{int(np.sum(holds))} of {np.size(holds)}"


def growth(mean: Any) -> Any:
    """The exponent of the cumulative error over the second half; 1 is linear. Scenarios of two batches or more."""
    many = mean[:, :, :-1]
    return np.log2(many[-1] / many[len(many) // 2 - 1])


def claims(found: Any) -> list[tuple[str, str, str]]:
    """(claim, holds, numbers)."""
    mean = found.mean(axis=0)
    last, power = mean[-1], growth(mean)
    private = power[:, :, PRIVATE]
    sizes = json.loads(curves.RESULTS.read_text())
    full = np.array(sizes["fullest"]["5000"])
    best = last.argmin(axis=-1)
    small = last[:, :, 0, :]
    return [
        ("E(m_i) grows more slowly than n_Q (Figure 4.1)", counted(np.diff(full / np.array(curves.SIZES)) <= 0),
         f"w = 5000: {full[6]:.2f} at 10^3, {full[8]:.2f} at 10^4, {full[12]:.1f} at 10^6"),
        ("neither median nor cell perturbation is always better (4.2)", *crossing()),
        ("the cumulative error grows sub-linearly (4.3, 4.4)", counted(private < 1),
         f"exponent {private.min():.2f} to {private.max():.2f}; epsilon 0.01: {private[:, :, 0].mean():.2f}, "
         f"0.05: {private[:, :, 1].mean():.2f}, 1: {private[:, :, 2].mean():.2f}; none: {power[:, :, 3].mean():.2f}"),
        ("a smaller epsilon has a larger error", counted(np.diff(last[:, :, PRIVATE], axis=2) < 0), ""),
        ("a larger n_Q has a smaller error", counted(np.diff(small, axis=1) < 0), "at epsilon 0.01"),
        ("a larger pool u has a larger error", counted(np.diff(last[:, :, PRIVATE], axis=0) > 0), ""),
        ("the best d never rises as epsilon falls", counted(np.diff(best, axis=2) >= 0), ""),
        ("the best d never rises as n_Q falls", counted(np.diff(best[:, :, PRIVATE], axis=1) >= 0), ""),
    ]  # fmt: skip


def crossing() -> tuple[str, str]:
    """For how many d each wins somewhere, and from which spread of the rows on the median does, m_Q = d."""
    made = json.loads(curves.RESULTS.read_text())
    out, both = [], []
    for d in curves.DEPTHS:
        noise = made["noise"][str(d)]
        better = [u for u, cell in zip(made["spreads"], noise["cell"], strict=True) if cell > noise["median"]]
        out.append(
            f"d = {d}: the median from u = {better[0]}" if better else f"d = {d}: the cells up to u = 100"
        )
        both.append(0 < len(better) < len(noise["cell"]))
    return counted(both), "; ".join(out)


def best_depths(found: Any) -> list[str]:
    """The best d by batch size and epsilon, with the errors, averaged over the pools as in Figure 4.3."""
    mean = found.mean(axis=0)[-1].mean(axis=0)
    head = ["n_Q", *(f"epsilon {e:g}" if math.isfinite(e) else "no noise" for e in EPSILONS)]
    rows = []
    for b, batch in enumerate(BATCHES):
        cells = [f"**{DEPTHS[int(v.argmin())]}** ({', '.join(f'{x:.3g}' for x in v)})" for v in mean[b]]
        rows.append([f"{batch:,}", *cells])
    return markdown(head, rows)


def methods() -> list[str]:
    """Mean relative errors of every method, by stream and epsilon, with coverage and width in the middle epsilon."""
    lines = compare.finished()
    streams = list(dict.fromkeys(line["stream"] for line in lines))
    out = []
    for name in streams:
        mine = [line for line in lines if line["stream"] == name]
        head = [
            f"{name}, {len(mine) // len(compare.EPSILONS)} seeds",
            *(f"epsilon {e:g}" for e in compare.EPSILONS),
        ]
        head += ["covered", "width"]
        rows = []
        for method in mine[0]["mean"]:
            by = [
                np.array([line["mean"][method] for line in mine if line["epsilon"] == e])
                for e in compare.EPSILONS
            ]
            cells = [f"{v[:, 0].mean():.3g} ({v[:, 0].std(ddof=1) / math.sqrt(len(v)):.1g})" for v in by]
            middle = by[len(by) // 2].mean(axis=0)
            rows.append([method, *cells, f"{middle[1]:.3f}", f"{middle[2]:.3g}"])
        out += [*markdown(head, rows), ""]
    return out


def markdown(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def text() -> str:
    """All tables."""
    found = errors()
    parts = [f"From {len(found)} runs of the grid.", ""]
    parts += [*markdown(["claim", "holds", "numbers"], [list(claim) for claim in claims(found)]), ""]
    parts += [
        "The best of d = 3, 9, 15 in the end, and the errors of the three, averaged over the pools:",
        "",
    ]
    parts += [*best_depths(found), ""]
    parts += [
        "Mean relative error of all answers (standard error over seeds); at the middle epsilon, the share of 95 %",
        "intervals that hold the count, and their mean width over the mean count:",
        "",
    ]
    return "\n".join(parts + methods()).rstrip()


def main() -> None:
    """Print the tables, or write them into the README."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write them into README.md")
    options = parser.parse_args()
    if not options.write:
        print(text())
        return
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    readme.write_text(f"{before}{MARKS[0]}\n{text()}\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
