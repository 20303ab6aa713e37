"""What the lines of results/runs.jsonl say: errors, information, agreement of the samplers, verdicts.

    python -m experiments.adaptive_truncation.summary [--write]

--write keeps results/summary.json and fills the tables of README.md. Errors are of the posterior mean. RMSE and its
ratios have 95 % intervals from BOOTSTRAPS paired resamples of the runs; z is the mean difference of squared errors,
ours minus the paper's, in standard errors. "exact" stands for the paper's adaptive method: it has its policy and its
posterior, and enough runs. "latent" is the sampler of the paper.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from experiments.adaptive_truncation.people import EPSILONS, MU, SIGMA, Floats, best
from experiments.adaptive_truncation.run import METHODS, Line, finished

from tacit.models.information import clipped_information

HERE = Path(__file__).parent
SUMMARY = HERE / "results" / "summary.json"
README = HERE / "README.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
BOOTSTRAPS = 10_000
PAPER = "exact"
OURS = ("information:mu", "information")
Runs = dict[int, Line]
Table = dict[tuple[float, str], Runs]


class Ratio(NamedTuple):
    """A ratio of root mean squared errors over paired runs, its 95 % interval, and z of the squares."""

    value: float
    low: float
    high: float
    z: float


def by_method(lines: list[Line]) -> Table:
    """The lines of each (epsilon, method), by run."""
    out: Table = defaultdict(dict)
    for line in lines:
        out[line["epsilon"], line["method"]][line["run"]] = line
    return out


def squares(runs: Runs, chosen: list[int]) -> Floats:
    """Squared errors of mu and sigma: (runs, 2)."""
    means = np.array([runs[run]["mean"] for run in chosen])
    return np.asarray((means - [MU, SIGMA]) ** 2)


def resampled(values: Floats, seed: int = 0) -> Floats:
    """Means over BOOTSTRAPS resamples of the rows: (BOOTSTRAPS, columns)."""
    rng = np.random.default_rng(seed)
    times = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), BOOTSTRAPS)
    return np.asarray(times @ values / len(values))


def error_row(runs: Runs) -> list[list[float]]:
    """[RMSE, low, high] of mu and of sigma."""
    found = squares(runs, sorted(runs))
    value, drawn = np.sqrt(found.mean(axis=0)), np.sqrt(resampled(found))
    ends = np.quantile(drawn, [0.025, 0.975], axis=0)
    return [[float(value[i]), float(ends[0, i]), float(ends[1, i])] for i in range(2)]


def ratios(mine: Runs, other: Runs) -> list[Ratio]:
    """For mu and sigma, over the runs that both have."""
    shared = sorted(set(mine) & set(other))
    a, b = squares(mine, shared), squares(other, shared)
    both = resampled(np.hstack([a, b]))
    drawn = np.sqrt(both[:, :2] / both[:, 2:])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    value = np.sqrt(a.mean(axis=0) / b.mean(axis=0))
    z = (a - b).mean(axis=0) / ((a - b).std(axis=0, ddof=1) / np.sqrt(len(shared)))
    return [Ratio(*(float(v[i]) for v in (value, low, high, z))) for i in range(2)]


def errors(table: Table) -> list[dict[str, Any]]:
    """One row for every epsilon and method."""
    out = []
    for epsilon in EPSILONS:
        for method in METHODS:
            runs = table.get((epsilon, method), {})
            if len(runs) < 2:
                continue
            paper = table.get((epsilon, PAPER), {})
            paired = method != PAPER and not method.startswith("long") and len(set(runs) & set(paper)) > 1
            out.append(
                {
                    "epsilon": epsilon,
                    "method": method,
                    "runs": len(runs),
                    "rmse": error_row(runs),
                    "ratio": ratios(runs, paper) if paired else None,
                    "seconds": float(np.median([line["seconds"] for line in runs.values()])),
                }
            )
    return out


def information(table: Table) -> list[dict[str, Any]]:
    """F11 and F22 in units of 1 / sigma^2 at the truth: of the paper's interval there, and of what was used."""
    out = []
    for epsilon in EPSILONS:
        a, b = best(epsilon)
        own = clipped_information("normal", a, b, (b - a) / epsilon, [[0.0, 1.0]])[0]
        row: dict[str, Any] = {"epsilon": epsilon, "interval": [float(own[0, 0]), float(own[1, 1])]}
        for method in (PAPER, *OURS, *(f"long {method}" for method in OURS)):
            lines = list(table.get((epsilon, method), {}).values())
            if lines:
                row[method] = {
                    part: list(
                        np.mean([np.array(line["information"][part])[[0, 2]] for line in lines], axis=0)
                        * SIGMA**2
                    )
                    for part in ("all", "late")
                }
        out.append(row)
    return out


def agreement(table: Table) -> list[dict[str, Any]]:
    """The samplers on the very reports of "exact fixed".

    Mean gaps of posterior means, in posterior standard deviations, with standard errors; mean ratios of the latter.
    """
    out = []
    for epsilon in EPSILONS:
        reference = table.get((epsilon, "exact fixed"), {})
        for method in ("latent fixed", "mhaar"):
            shared = sorted(set(table.get((epsilon, method), {})) & set(reference))
            if len(shared) < 2:
                continue
            mine = table[epsilon, method]
            sd = np.array([reference[run]["sd"] for run in shared])
            gap = np.array([np.subtract(mine[run]["mean"], reference[run]["mean"]) for run in shared]) / sd
            spread = np.array([mine[run]["sd"] for run in shared]) / sd
            out.append(
                {
                    "epsilon": epsilon,
                    "method": method,
                    "runs": len(shared),
                    "gap": list(gap.mean(axis=0)),
                    "error": list(gap.std(axis=0, ddof=1) / np.sqrt(len(shared))),
                    "spread": list(spread.mean(axis=0)),
                }
            )
    return out


def verdicts(found: list[dict[str, Any]], known: list[dict[str, Any]]) -> list[list[str]]:
    """Claim, whether it holds, what was measured."""
    out = []
    rows = {(row["epsilon"], row["method"]): row for row in found if row["ratio"]}
    for method in OURS:
        for i, name in enumerate(("mu", "sigma")):
            mine = [rows[epsilon, method]["ratio"][i] for epsilon in EPSILONS if (epsilon, method) in rows]
            text = ", ".join(f"{ratio.value:.2f} ({ratio.z:+.1f})" for ratio in mine)
            worse, better = sum(ratio.z > 2 for ratio in mine), sum(ratio.z < -2 for ratio in mine)
            out.append(
                [
                    f"`{method}` is nowhere worse for {name} than the paper's by over two standard errors",
                    "no" if worse else "yes",
                    f"RMSE ratios (z) {text}; better by over two in {better} of {len(mine)}",
                ]
            )
    for method in (OURS[0], f"long {OURS[0]}"):
        if all(method in row for row in known):
            values = [row[method]["late"][0] / row["interval"][0] for row in known]
            enough = all(
                value >= (1.2 if row["epsilon"] <= 2 else 1) for value, row in zip(values, known, strict=True)
            )
            out.append(
                [
                    f"`{method}`, last half: information about mu over the paper's at the truth, 1.2 at epsilon 1 "
                    "and 2, 1 at 5 and 10",
                    "yes" if enough else "not everywhere",
                    ", ".join(f"{value:.3f}" for value in values),
                ]
            )
    return out


def summarise(lines: list[Line]) -> dict[str, Any]:
    """All of it."""
    table = by_method(lines)
    found, known = errors(table), information(table)
    return {
        "errors": found,
        "information": known,
        "agreement": agreement(table),
        "verdicts": verdicts(found, known),
    }


def _rows(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)) + "\n"


def error_table(found: list[dict[str, Any]]) -> str:
    """RMSE and its ratio to the paper's adaptive method."""
    rows = []
    for row in found:
        cells = [f"{value:.3f} ({low:.3f} to {high:.3f})" for value, low, high in row["rmse"]]
        over = ["1", "1"]
        if row["ratio"] is not None:
            over = [f"{value:.2f} ({low:.2f} to {high:.2f})" for value, low, high, _ in row["ratio"]]
        elif row["method"] != PAPER:
            over = ["", ""]
        count = [f"{row['epsilon']:g}", row["method"], str(row["runs"])]
        rows.append([*count, *cells, *over, f"{row['seconds']:.2g}"])
    head = [
        "epsilon",
        "method",
        "runs",
        "RMSE of mu",
        "RMSE of sigma",
        "ratio, mu",
        "ratio, sigma",
        "seconds",
    ]
    return _rows(head, rows)


def information_table(known: list[dict[str, Any]]) -> str:
    """About mu relative to the paper's interval at the truth; about sigma as it is."""
    rows = []
    for row in known:
        epsilon, (mu, sigma) = f"{row['epsilon']:g}", row["interval"]
        rows.append(
            [epsilon, "the paper's interval at the truth", "1", "1", f"{mu:.4f}", *[f"{sigma:.4f}"] * 2]
        )
        for name, value in row.items():
            if name not in ("epsilon", "interval"):
                (mu_all, sigma_all), (mu_late, sigma_late) = value["all"], value["late"]
                cells = [f"{mu_all / mu:.3f}", f"{mu_late / mu:.3f}", f"{mu_late:.4f}"]
                rows.append([epsilon, name, *cells, f"{sigma_all:.4f}", f"{sigma_late:.4f}"])
    head = [
        "epsilon",
        "method",
        "ratio, mu",
        "the same, last half",
        "mu, last half",
        "sigma",
        "sigma, last half",
    ]
    return _rows(head, rows)


def agreement_table(agreed: list[dict[str, Any]]) -> str:
    """How far the references are from the exact posterior of the same reports."""
    rows = []
    for row in agreed:
        gaps = [f"{gap:+.2f} ({error:.2f})" for gap, error in zip(row["gap"], row["error"], strict=True)]
        spread = [f"{value:.2f}" for value in row["spread"]]
        rows.append([f"{row['epsilon']:g}", row["method"], str(row["runs"]), *gaps, *spread])
    head = ["epsilon", "method", "runs", "gap, mu", "gap, sigma", "sd ratio, mu", "sd ratio, sigma"]
    return _rows(head, rows)


def tables(made: dict[str, Any]) -> str:
    """All of it in Markdown."""
    claims = _rows(["claim", "holds", "measured at epsilon 1, 2, 5, 10"], made["verdicts"])
    return "\n".join(
        [
            "Ratios and z are to `exact` on the same runs; 95 % intervals, in brackets, are from the bootstrap.\n",
            claims,
            error_table(made["errors"]),
            "Fisher information in one report at the true (mu, sigma), times sigma^2, averaged over reports:\n",
            information_table(made["information"]),
            "Posteriors from the very reports of `exact fixed`: gaps of the means in posterior standard deviations,",
            "averaged over runs, with standard errors; ratios of standard deviations:\n",
            agreement_table(made["agreement"]),
        ]
    )


def write_readme(text: str, path: Path = README) -> None:
    """Replace what stands between the two marks."""
    whole = path.read_text()
    if whole.count(BEGIN) != 1 or whole.count(END) != 1:
        raise SystemExit(f"{path.name} needs the lines {BEGIN} and {END}, once each")
    before, rest = whole.split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n{text}{END}{rest.split(END)[1]}")


def main() -> None:
    """Show, and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep results/summary.json, fill README.md")
    options = parser.parse_args()
    made = summarise(finished())
    print(tables(made))
    if options.write:
        SUMMARY.write_text(json.dumps(made, indent=1) + "\n")
        write_readme(tables(made))


if __name__ == "__main__":
    main()
