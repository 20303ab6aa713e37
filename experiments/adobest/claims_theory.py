"""The claims that do not need the grid: the theorems, and RRRR beside the optimal mechanism."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from experiments.adobest.claim import Claim
from experiments.adobest.grid import KAPPAS
from experiments.adobest.style import label


def theory_claims(folder: Path) -> list[Claim]:
    """From results/theorems.json and results/optimal.json, as far as they are there."""
    out = []
    for name, judge in (("theorems", theorem_claims), ("optimal", optimal_claims)):
        path = folder / f"{name}.json"
        if path.exists():
            out += judge(json.loads(path.read_text()))
        else:
            print(f"no {path.name}: python -m experiments.adobest.{name} makes it; its claims are left out")
    return out


def theorem_claims(results: dict[str, Any]) -> list[Claim]:
    """Theorems 2, 3 and 4, and the papers' sampler."""
    convergence, (first, *_, last) = results["convergence"], results["n"]
    main = next(iter(results["best"]))
    ways = [name.split(", ")[1] for name in convergence if name.startswith(main)]
    masses = {way: convergence[f"{main}, {way}"]["mass"] for way in ways}
    within = {a: {way: mass[a][-1] for way, mass in masses.items()} for a in masses["exact"]}
    inside = [value for a, by in within.items() if float(a) < 0.5 for value in by.values()]
    said = f"mass at n = {last:,}: " + "; ".join(
        f"a = {a}: {min(by.values()):.2f} to {max(by.values()):.2f}" for a, by in within.items()
    )
    three = Claim(
        "Theorem 3: the posterior mass within c n^-a of theta* goes to 1, a < 1/2, however S is chosen",
        "yes" if min(inside) > 0.95 else f"{min(inside):.2f} reached",
        f"{said}, over {len(masses)} ways to choose S",
        within,
    )
    exact = {name: record["best"] for name, record in convergence.items() if name.endswith("exact")}
    four = Claim(
        "Theorem 4: exact draws come to choose S* always",
        "yes" if min(best[-1] for best in exact.values()) > 0.95 else "not by then",
        "; ".join(
            f"{name}: {best[0]:.2f} at n = {first}, {best[-1]:.3f} at {last:,}"
            for name, best in exact.items()
        ),
        exact,
    )
    floor = results["floor"]
    reached = min(convergence[f"{main}, {way}"]["best"][-1] for way in ways if "sgld" in way)
    sampler = Claim(
        "so do the draws of the papers' sampler (not claimed, but used)",
        "yes" if floor["sgld best"][-1] > 0.95 else "no",
        f"{reached:.3f} at the theta of Theorem 4; with shares 0.01 apart, at n = {floor['n'][-1]:,}: P(S*) = "
        f"{floor['sgld best'][-1]:.2f}, exact draws {floor['exact best'][-1]:.2f}; their sd is "
        f"{floor['sgld sd'][-1]:.4f} (predicted {floor['predicted sd'][-1]:.4f}), the posterior's "
        f"{floor['exact sd'][-1]:.4f}",
        floor,
    )
    return [nested_claim(results["subsets"]), three, four, sampler]


def nested_claim(subsets: dict[str, Any]) -> Claim:
    """Theorem 2."""
    whole = len(subsets["k"]) * subsets["cases"]
    missed = {name: sum(counts) for name, counts in subsets["missed"].items()}
    others = ", ".join(f"{label(name)} {count}" for name, count in missed.items() if name != "honest")
    return Claim(
        "Theorem 2: for U6 the best of all subsets is nested",
        "yes" if missed["honest"] == 0 else "no",
        f"not nested in {missed['honest']} of {whole:,} random cases, K = {subsets['k'][0]} to {subsets['k'][-1]}; "
        f"for the others: {others}",
        missed,
    )


def optimal_claims(results: dict[str, Any]) -> list[Claim]:
    """RRRR against SRR and the optimum, for both utilities."""
    out = []
    for utility in ("linear", "cross_entropy"):
        settings = [record for record in results["settings"] if record["utility"] == utility]
        srr, best = (np.array([record[name] for record in settings]) for name in ("srr", "optimal"))
        closed, above = {}, {}
        for kappa in KAPPAS:
            mine = np.array([record[f"rrrr {kappa}"] for record in settings])
            above[kappa] = float((mine > srr).mean())
            closed[kappa] = [float(x) for x in ((mine - srr) / (best - srr)).mean(axis=1)]
        one_report = float(np.mean([np.array(record["reports"]) == 1 for record in settings]))
        said = "; ".join(
            f"kappa {kappa:g}: above SRR in {above[kappa]:.0%} of runs, {min(closed[kappa]):.0%} to "
            f"{max(closed[kappa]):.0%} of the way to the optimum"
            for kappa in KAPPAS
        )
        seconds = max(record["seconds"] for record in settings)
        said += f". The optimum gives one report whatever the answer in {one_report:.0%} of runs; it takes "
        said += f"{seconds:g} s"
        out.append(
            Claim(
                f"RRRR lies between SRR and the optimal mechanism, {utility.replace('_', '-')} utility",
                "yes" if min(above.values()) > 0.5 and (best >= srr).all() else "no",
                said,
                {"above srr": above, "way to the optimum": closed, "one report": one_report},
            )
        )
    return out
