"""What the papers claim about their experiments, and whether it holds when epsilon is what it says.

    python -m experiments.adobest.claims [--markdown] [--write]

Prints a table and writes results/claims.json; `--markdown` prints the tables of the README, `--write` puts them there.
All comparisons are paired: the methods saw the same populations. Ratios are of mean total variation errors, their
standard errors in brackets by linearisation; over cells they are geometric means. "Better" and "worse" are two-sided
paired t tests at 5 %, corrected by Holm over the cells. The best or the worst of several is picked for each run by the
runs of the other half, so that its own luck does not count; only the columns "best of" in the table of cells, and the
best alpha there, are best by the very runs that are shown, which flatters them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from experiments.adobest import reading
from experiments.adobest.choice import RULES
from experiments.adobest.claim import Claim, share_word, show, write_readme
from experiments.adobest.claims_sizes import largest_sets, size_and_epsilon, size_and_rho
from experiments.adobest.claims_theory import theory_claims
from experiments.adobest.grid import KAPPAS, Cell
from experiments.adobest.loop import METHODS, STEPS
from experiments.adobest.matrices import Floats, entries, worst_loss
from experiments.adobest.paired import Ratio, geometric, holm, p_value, ratio
from experiments.adobest.reading import MAIN, Found, best_of, cell_name, chosen, column, mean
from experiments.adobest.run import LIKELIEST, Line
from experiments.adobest.style import label

SEMI = tuple(method for method in METHODS if method.startswith("semi"))
LEVEL = 0.05
NEAR = 1.1


def against(
    found: Found, mine: Callable[[list[Line]], Floats], other: Callable[[list[Line]], Floats]
) -> dict[Cell, tuple[Ratio, str]]:
    """For each cell the ratio of errors, and "better", "worse" or "undecided" by Holm over the cells."""
    pairs = {cell: (mine(lines), other(lines)) for cell, lines in found.items()}
    rejected = holm(np.array([p_value(*pair) for pair in pairs.values()]), LEVEL)
    out = {}
    for (cell, pair), sure in zip(pairs.items(), rejected, strict=True):
        one = ratio(*pair)
        out[cell] = (one, ("better" if one.value < 1 else "worse") if sure else "undecided")
    return out


def tally(verdicts: dict[Cell, tuple[Ratio, str]]) -> str:
    """Better and worse cells, and the mean ratio, for each rho."""
    parts = []
    for rho in sorted({cell[2] for cell in verdicts}):
        mine = [verdict for cell, verdict in verdicts.items() if cell[2] == rho]
        better, worse = (sum(word == name for _, word in mine) for name in ("better", "worse"))
        parts.append(
            f"rho {rho:g}: {better} better, {worse} worse of {len(mine)}, ratio {geometric(r for r, _ in mine)}"
        )
    return "; ".join(parts)


def counts(verdicts: dict[Cell, tuple[Ratio, str]]) -> dict[str, list[str]]:
    """The cells by verdict, for the result file."""
    out: dict[str, list[str]] = {"better": [], "worse": [], "undecided": []}
    for cell, (_, word) in verdicts.items():
        out[word].append(cell_name(cell))
    return out


def adaptive_beats_srr(found: Found) -> Claim:
    """Every utility against SRR; the verdict is that of "honest", which the papers recommend."""
    every = {
        f"{method}, {kind} {kappa}": against(
            found,
            lambda lines, v=f"{kind} {kappa}", m=method: column(lines, v, m),
            lambda lines: column(lines, MAIN, "srr"),
        )
        for method in RULES
        for kind in ("fixed", "faulty")
        for kappa in KAPPAS
    }
    main = every[f"honest, {MAIN}"]
    better = sum(word == "better" for _, word in main.values())
    published = every["honest, faulty 0.9"]
    said = f"honest, kappa 0.9: {tally(main)}. With the published matrices: {tally(published)}"
    numbers = {
        name: counts(verdicts) | {"ratio": list(geometric(one for one, _ in verdicts.values()))}
        for name, verdicts in every.items()
    }
    return Claim("an adaptive choice of S beats SRR", share_word(better, len(main)), said, numbers)


def srr_is_worst(found: Found) -> Claim:
    """In which cells no method has a larger mean error."""
    worst = [
        cell
        for cell, lines in found.items()
        if all(mean(lines, MAIN, "srr") >= mean(lines, MAIN, method) for method in METHODS)
    ]
    by_rho = ", ".join(
        f"{sum(cell[2] == rho for cell in worst)} at rho {rho:g}" for rho in sorted({c[2] for c in found})
    )
    return Claim(
        "SRR is the worst method, above all for small epsilon and rho",
        share_word(len(worst), len(found)),
        f"largest mean error of the {len(METHODS)} methods in {len(worst)} of {len(found)} cells ({by_rho})",
        {"cells": [cell_name(cell) for cell in worst]},
    )


def near_the_best_semi(found: Found) -> Claim:
    """ "honest" against the semi-adaptive alpha that is best on the other runs."""
    ratios = {
        cell: ratio(column(lines, MAIN, "honest"), chosen(lines, MAIN, SEMI, min))
        for cell, lines in found.items()
    }
    return near_claim("utilities come near the best semi-adaptive alpha", "honest / best alpha", ratios)


def honest_is_competitive(found: Found) -> Claim:
    """ "honest" against the utility that is best on the other runs."""
    ratios = {
        cell: ratio(column(lines, MAIN, "honest"), chosen(lines, MAIN, RULES, min))
        for cell, lines in found.items()
    }
    return near_claim("U6 (honest) keeps up with the other utilities", "honest / best utility", ratios)


def near_claim(says: str, what: str, ratios: dict[Cell, Ratio]) -> Claim:
    """Whether a ratio is at most NEAR in every cell."""
    near = sum(one.value <= NEAR for one in ratios.values())
    worst = max(ratios, key=lambda cell: ratios[cell].value)
    said = f"{what}: {geometric(ratios.values())}; at most {NEAR} in {near} of {len(ratios)} cells, at worst "
    said += f"{ratios[worst]} ({cell_name(worst)})"
    return Claim(
        says,
        share_word(near, len(ratios)),
        said,
        {cell_name(cell): list(one) for cell, one in ratios.items()},
    )


def alpha_matters(found: Found) -> Claim:
    """The worst alpha against the best one and against SRR; both picked on the other runs."""
    gaps, to_srr = {}, {}
    for cell, lines in found.items():
        worst = chosen(lines, MAIN, SEMI, max)
        gaps[cell] = ratio(worst, chosen(lines, MAIN, SEMI, min))
        to_srr[cell] = ratio(worst, column(lines, MAIN, "srr"))
    clear = sum(gap.value - 2 * gap.error > 1.5 for gap in gaps.values())
    best = {cell: best_of(lines, MAIN, SEMI) for cell, lines in found.items()}
    widest, behind = (max(by, key=lambda cell, by=by: by[cell].value) for by in (gaps, to_srr))
    said = f"worst / best alpha: {geometric(gaps.values())}, up to {gaps[widest]} ({cell_name(widest)}); above 1.5 by "
    said += f"two standard errors in {clear} cells. The worst alpha is up to {to_srr[behind]} times SRR "
    said += (
        f"({cell_name(behind)}). Best in some cell: {', '.join(sorted({label(m) for m in best.values()}))}"
    )
    numbers = {cell_name(cell): [best[cell], *gaps[cell], *to_srr[cell]] for cell in found}
    return Claim("a badly chosen alpha fails", share_word(clear, len(gaps)), said, numbers)


def fisher_and_kappa(found: Found) -> Claim:
    """The error at kappa 0.9 over that at 0.8: over all cells, and its furthest cell."""
    changes = {
        kind: {
            method: [
                ratio(column(lines, f"{kind} 0.9", method), column(lines, f"{kind} 0.8", method))
                for lines in found.values()
            ]
            for method in RULES
        }
        for kind in ("fixed", "faulty")
    }
    furthest = {
        kind: {method: max(max(one.value, 1 / one.value) for one in by[method]) for method in RULES}
        for kind, by in changes.items()
    }
    empty = min(mean(lines, f"fixed {k}", "fisher", "empty") for lines in found.values() for k in KAPPAS)
    often = "every round" if empty == 1 else f"at least {empty:.1%} of the rounds"
    said = (
        f"FIM takes SRR in {often} of every cell, whatever kappa; the furthest cell changes by a factor of "
    )
    said += ", ".join(f"{label(method)} {value:.2f}" for method, value in furthest["fixed"].items())
    said += ". With the published matrices " + ", ".join(
        f"{label(method)} {value:.2f}" for method, value in furthest["faulty"].items()
    )
    most = max(furthest["fixed"], key=lambda method: furthest["fixed"][method])
    numbers = {
        kind: {method: list(geometric(by[method])) for method in RULES} for kind, by in changes.items()
    }
    return Claim(
        "FIM is the utility most sensitive to kappa",
        "yes" if most == "fisher" else "no",
        said,
        {"ratio": numbers, "furthest": furthest, "smallest share of SRR": empty},
    )


def what_the_fault_changed(found: Found) -> Claim:
    """The published matrices against the correct ones, and what they leak."""
    ratios = {
        f"{method}, {kappa}": geometric(
            ratio(column(lines, f"faulty {kappa}", method), column(lines, f"fixed {kappa}", method))
            for lines in found.values()
        )
        for method in RULES
        for kappa in KAPPAS
    }
    leaks = {
        f"{cell_name(cell)}, {kappa}": worst_loss(entries(cell[0], cell[1], kappa, faulty=True)) / cell[1]
        for cell in found
        for kappa in KAPPAS
    }
    said = f"true loss {min(leaks.values()):.2f} to {max(leaks.values()):.2f} epsilon. Error, published / correct: "
    said += ", ".join(f"{label(method)} {ratios[f'{method}, 0.9']}" for method in RULES) + " (kappa 0.9)"
    holds = "no" if max(leaks.values()) > 1 else "yes"
    numbers = {"ratio": {name: list(one) for name, one in ratios.items()}, "true loss over epsilon": leaks}
    return Claim("the published program is epsilon-LDP", holds, said, numbers)


def sgld_against_likelihood(found: Found) -> Claim:
    """The papers' estimate against maximum likelihood on the same reports."""
    ratios: dict[str, dict[Cell, Ratio]] = {}
    for place, method in enumerate(LIKELIEST):
        ratios[method] = {}
        for cell, lines in found.items():
            held = [line for line in lines if "ml" in line]
            likely = np.array([line["ml"][place] for line in held])
            ratios[method][cell] = ratio(column(held, MAIN, method), likely)
    runs = sorted({sum("ml" in line for line in lines) for lines in found.values()})
    honest = ratios["honest"]
    by_rho = ", ".join(
        f"{geometric(one for cell, one in honest.items() if cell[2] == rho)} at rho {rho:g}"
        for rho in sorted({cell[2] for cell in found})
    )
    said = f"error, SGLD / maximum likelihood, on honest's reports: {by_rho}; on SRR's "
    said += f"{geometric(ratios['srr'].values())} ({' or '.join(map(str, runs))} runs a cell)"
    near = sum(one.value <= 1.1 for one in honest.values())
    numbers = {m: {cell_name(c): list(one) for c, one in by.items()} for m, by in ratios.items()}
    return Claim("the SGLD mean is an accurate estimate", share_word(near, len(honest)), said, numbers)


def step_rules(found: Found) -> Claim:
    """The falling step of the thesis against the fixed one of the preprint."""
    ratios = {
        method: geometric(
            ratio(column(lines, "falling 0.9", method), column(lines, MAIN, method))
            for lines in found.values()
        )
        for method in METHODS
    }
    said = "error, falling / fixed: " + ", ".join(f"{label(m)} {one}" for m, one in ratios.items())
    alike = sum(abs(one.value - 1) <= 0.05 for one in ratios.values())
    numbers = {method: list(one) for method, one in ratios.items()}
    return Claim("both step rules serve as well (within 5 %)", share_word(alike, len(ratios)), said, numbers)


GRID_CLAIMS = (
    adaptive_beats_srr,
    srr_is_worst,
    near_the_best_semi,
    honest_is_competitive,
    alpha_matters,
    fisher_and_kappa,
    size_and_rho,
    size_and_epsilon,
    largest_sets,
    what_the_fault_changed,
    sgld_against_likelihood,
    step_rules,
)


def by_cell(found: Found) -> list[dict[str, object]]:
    """One row for each cell: mean errors at MAIN, and what is best in hindsight among all variants."""
    rows = []
    for cell, lines in found.items():
        semi = best_of(lines, MAIN, SEMI)
        variants = [(mean(lines, f"{s} {k}", m), m, s, k) for s in STEPS for k in KAPPAS for m in METHODS]
        lowest, method, step, kappa = min(variants)
        held = [line for line in lines if "ml" in line]
        rows.append(
            {
                "cell": list(cell),
                "runs": len(lines),
                "srr": mean(lines, MAIN, "srr"),
                "best alpha": [mean(lines, MAIN, semi), label(semi)],
                "honest": mean(lines, MAIN, "honest"),
                "honest / srr": list(ratio(column(lines, MAIN, "honest"), column(lines, MAIN, "srr"))),
                "published honest": mean(lines, "faulty 0.9", "honest"),
                "true epsilon": worst_loss(entries(cell[0], cell[1], 0.9, faulty=True)),
                "likelihood": float(np.mean([line["ml"][LIKELIEST.index("honest")] for line in held])),
                "best of 12": mean(lines, MAIN, best_of(lines, MAIN, METHODS)),
                "best of all": [lowest, f"{label(method)}, {step}, {kappa:g}"],
            }
        )
    return rows


def make(grid: Path = reading.GRID) -> dict[str, object]:
    """All claims, as they go into the result file."""
    found = reading.cells(grid)
    claims = [claim(found) for claim in GRID_CLAIMS] + theory_claims(grid.parent)
    return {
        "runs": reading.runs_made(found),
        "claims": [claim._asdict() for claim in claims],
        "cells": by_cell(found),
    }


def main() -> None:
    """Judge the claims by the results that are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", action="store_true", help="print the tables of the README")
    parser.add_argument("--write", action="store_true", help="put them into the README")
    options = parser.parse_args()
    made = make()
    reading.write(reading.RESULTS / "claims.json", made)
    show(made, options.markdown)
    if options.write:
        write_readme(made)


if __name__ == "__main__":
    main()
