"""The tables and claims of the README, from results/mixture.jsonl, and the expected numbers with tolerances.

    python -m experiments.regression.mixture_summary [--write]

prints them; `--write` also puts them between the marks of README.md and writes mixture_expected.json. Means are over
splits, the number in brackets is their standard error, and differences are paired: both methods on the same split.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from experiments.regression.mixture_run import DOUBLED, METHODS, RESULTS, SETS, STATED, Line, finished

HERE = Path(__file__).parent
EXPECTED, README = HERE / "mixture_expected.json", HERE / "README.md"
MARKS = "<!-- mixture: begin -->", "<!-- mixture: end -->"
SINGLES = {
    "fixed": ("ols", "laplace, fixed", "cauchy, fixed"),
    "learned": ("ols", "laplace, learned", "cauchy, learned"),
}
OTHERS = ("Huber", "RLM Huber", "RLM biweight", "LAD", "student t", "RANSAC", "Theil-Sen")
OURS = ("mixture, fixed", "mixture, learned", "mixture, BIC", "mixture, CV", "mixture, subsample prior")
# Test errors of the thesis and their standard deviations over its 100 splits, tables 3.1 to 3.3 and 3.4 to 3.6:
# least squares, mixture, Laplace, Cauchy and, in the second, the naive method.
THESIS: dict[tuple[str, str], dict[str, list[list[float]]]] = {
    ("fixed", "boston"): {
        "none": [[0.2759, 0.2787, 0.2927, 0.2860], [0.0571, 0.0673, 0.0781, 0.0768]],
        "2-4": [[0.4268, 0.2963, 0.3030, 0.2966], [0.1026, 0.0789, 0.0823, 0.0804]],
        "3-6": [[0.6029, 0.2963, 0.3048, 0.2978], [0.1959, 0.0683, 0.0732, 0.0693]],
        "5-10": [[1.1686, 0.2975, 0.3076, 0.3006], [0.4016, 0.0855, 0.0914, 0.0879]],
    },
    ("fixed", "airfoil"): {
        "none": [[0.4934, 0.4935, 0.5100, 0.5041], [0.0358, 0.0358, 0.0415, 0.0401]],
        "2-4": [[0.4935, 0.4915, 0.5066, 0.5004], [0.0346, 0.0353, 0.0413, 0.0395]],
        "3-6": [[0.5003, 0.4934, 0.5075, 0.5016], [0.0408, 0.0402, 0.0425, 0.0413]],
        "5-10": [[0.5207, 0.4872, 0.5009, 0.4950], [0.0451, 0.0364, 0.0400, 0.0385]],
    },
    ("fixed", "abalone"): {
        "none": [[0.4839, 0.4811, 0.4990, 0.4913], [0.0356, 0.0356, 0.0372, 0.0363]],
        "2-4": [[0.4808, 0.4834, 0.4939, 0.4864], [0.0308, 0.0336, 0.0342, 0.0331]],
        "3-6": [[0.4939, 0.4955, 0.5078, 0.4997], [0.0366, 0.0366, 0.0375, 0.0373]],
        "5-10": [[0.5042, 0.4901, 0.5071, 0.4986], [0.0437, 0.0347, 0.0373, 0.0354]],
    },
    ("learned", "boston"): {
        "none": [[0.2833, 0.3228, 0.3111, 0.3064, 0.3302], [0.0658, 0.0885, 0.0849, 0.0830, 0.0907]],
        "2-4": [[0.4304, 0.2926, 0.3022, 0.2945, 0.2897], [0.0977, 0.0682, 0.0707, 0.0716, 0.0581]],
        "3-6": [[0.6381, 0.3194, 0.3289, 0.3215, 0.3077], [0.1800, 0.0827, 0.0904, 0.0895, 0.0769]],
        "5-10": [[1.1907, 0.2992, 0.3052, 0.2967, 0.2824], [0.5181, 0.0707, 0.0741, 0.0731, 0.0576]],
    },
    ("learned", "airfoil"): {
        "none": [[0.4842, 0.4854, 0.4990, 0.4936, 0.4929], [0.0332, 0.0345, 0.0407, 0.0390, 0.0400]],
        "2-4": [[0.4929, 0.5160, 0.5058, 0.5002, 0.4905], [0.0339, 0.0426, 0.0400, 0.0383, 0.0338]],
        "3-6": [[0.5054, 0.5009, 0.5101, 0.5046, 0.4953], [0.0394, 0.0399, 0.0436, 0.0418, 0.0364]],
        "5-10": [[0.5150, 0.4882, 0.5029, 0.4964, 0.4867], [0.0342, 0.0316, 0.0373, 0.0357, 0.0306]],
    },
    ("learned", "abalone"): {
        "none": [[0.4813, 0.5212, 0.4990, 0.4910, 0.5021], [0.0275, 0.0323, 0.0296, 0.0287, 0.0305]],
        "2-4": [[0.4804, 0.5183, 0.4950, 0.4872, 0.4777], [0.0324, 0.0386, 0.0365, 0.0347, 0.0328]],
        "3-6": [[0.4955, 0.4956, 0.5050, 0.4968, 0.4884], [0.0410, 0.0408, 0.0417, 0.0410, 0.0394]],
        "5-10": [[0.5023, 0.4929, 0.5050, 0.4961, 0.4831], [0.0392, 0.0318, 0.0326, 0.0320, 0.0312]],
    },
}
# Mixture weights of tables 3.7 to 3.9: Gaussian, Laplace, Cauchy.
THESIS_WEIGHTS = {
    "boston": [[0.5466, 0.4197, 0.0336], [0.5511, 0.2790, 0.1697], [0.4207, 0.4444, 0.1348], [0.4345, 0.4447,
    0.1207]], "airfoil": [[0.6926, 0.2958, 0.0115], [0.5092, 0.4349, 0.0558], [0.5299, 0.1507, 0.3193], [0.6515,
    0.1845, 0.1638]], "abalone": [[0.5124, 0.4623, 0.0252], [0.5343, 0.4015, 0.0641], [0.5598, 0.0994, 0.3406],
    [0.5030, 0.2669, 0.2299]],
}  # fmt: skip


class Mean(NamedTuple):
    """A mean, its standard error, and of how many splits."""

    value: float
    error: float
    of: int

    def shown(self, digits: int = 4) -> str:
        return f"{self.value:.{digits}f} ({self.error:.{digits}f})"

    @property
    def starred(self) -> bool:
        """Whether it is three standard errors from 0."""
        return abs(self.value) > 3 * self.error


def mean(values: Iterable[float]) -> Mean:
    """Of numbers, one a split."""
    found = np.array(list(values))
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return Mean(float(found.mean()), float(error), len(found))


class Results:
    """The lines, by data set."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = {name: [line for line in lines if line["data"] == name] for name in SETS}

    def pairs(self, name: str, setting: str, *methods: str) -> list[list[Line]]:
        """What these methods gave on the splits that all of them were run on."""
        found = [line["settings"][setting] for line in self.lines[name]]
        return [[each[m] for m in methods] for each in found if all(m in each for m in methods)]

    def field(self, name: str, setting: str, method: str, field: str = "mse") -> Mean:
        """The mean of one number."""
        return mean(each[field] for (each,) in self.pairs(name, setting, method))

    def gap(self, name: str, setting: str, method: str, other: str) -> Mean:
        """The paired difference of test errors."""
        return mean(one["mse"] - two["mse"] for one, two in self.pairs(name, setting, method, other))

    def levelled(self, name: str, setting: str, method: str) -> float:
        """The mean on all splits; of a method that had some, the learned mixture's and the paired difference."""
        base = "mixture, learned"
        return self.field(name, setting, base).value + self.gap(name, setting, method, base).value

    def entries(self, name: str, setting: str, method: str, field: str) -> Any:
        """All values of one field."""
        return np.array([each[field] for (each,) in self.pairs(name, setting, method)])


def settings(name: str) -> list[str]:
    """The settings of a data set, in the order of the tables."""
    return [*STATED, *DOUBLED] if name == "boston" else list(STATED)


def cells(kind: str) -> list[tuple[str, str]]:
    """(data set, setting) of the twelve cells of a kind."""
    return [(name, setting) for name in SETS for setting in STATED]


def against_thesis(found: Results, kind: str, name: str, setting: str) -> tuple[float, float, bool]:
    """Our mixture's error less the thesis', the standard error of that, and whether it is below two of them."""
    values, spreads = THESIS[kind, name][setting]
    ours = found.field(name, setting, f"mixture, {kind}")
    gap = ours.value - values[1]
    error = float(np.hypot(ours.error, spreads[1] / 10))
    return gap, error, gap <= 2 * error


def best_single(found: Results, kind: str, name: str, setting: str, method: str = "") -> tuple[str, float]:
    """The best of the three single estimators by its mean, and the mixture's mean over it, on the mixture's splits."""
    method = method or f"mixture, {kind}"
    means = {
        single: mean(two["mse"] for _, two in found.pairs(name, setting, method, single)).value
        for single in SINGLES[kind]
    }
    best = min(means, key=lambda single: means[single])
    return best, found.field(name, setting, method).value / means[best]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def errors_table(found: Results, name: str, kind: str) -> str:
    """One of tables 3.1 to 3.6, with the thesis' numbers."""
    methods = ("ols", f"mixture, {kind}", *SINGLES[kind][1:], *(("trimmed",) if kind == "learned" else ()))
    rows = []
    for setting in settings(name):
        row = [setting]
        told = THESIS[kind, name].get(setting)
        for k, method in enumerate(methods):
            ours = found.field(name, setting, method).shown()
            row.append(f"{ours}; {told[0][k]:.4f}" if told else ours)
        rows.append(row)
    return table(["outliers", *methods], rows)


def peers_table(found: Results, name: str) -> str:
    """Other libraries and our other mixtures; the best mean of each row in bold."""
    methods = ("ols", *OURS, "trimmed", *OTHERS)
    rows = []
    for setting in settings(name):
        means = {method: found.levelled(name, setting, method) for method in methods}
        best = min(means, key=lambda method: means[method])
        shown = {m: f"{v:.4f}" if m != best else f"**{v:.4f}**" for m, v in means.items()}
        rows.append([setting, *shown.values()])
    return table(["outliers", *methods], rows)


def gaps_table(found: Results) -> str:
    """Paired differences of the learned mixture."""
    others = (
        "ols",
        "mixture, fixed",
        "trimmed",
        "Huber",
        "RLM biweight",
        "mixture, CV",
        "mixture, subsample prior",
    )
    rows = []
    for name in SETS:
        for setting in settings(name):
            gaps = [found.gap(name, setting, "mixture, learned", other) for other in others]
            rows.append([name, setting, *(gap.shown() + ("*" if gap.starred else "") for gap in gaps)])
    return table(["data", "outliers", *(f"less {other}" for other in others)], rows)


def weights_table(found: Results) -> str:
    """Tables 3.7 to 3.9, with scales and the outlier score's area under the curve."""
    rows = []
    for name in SETS:
        for k, setting in enumerate(settings(name)):
            weights = found.entries(name, setting, "mixture, learned", "weights").mean(axis=0)
            scales = np.median(found.entries(name, setting, "mixture, learned", "scales"), axis=0)
            told = THESIS_WEIGHTS[name][k] if setting in STATED else None
            shown = [f"{a:.3f}; {told[j]:.3f}" if told else f"{a:.3f}" for j, a in enumerate(weights)]
            auc = found.field(name, setting, "mixture, learned", "auc").shown(3) if setting != "none" else ""
            rows.append([name, setting, *shown, " / ".join(f"{s:.2f}" for s in scales), auc])
    return table(
        [
            "data",
            "outliers",
            "Gaussian",
            "Laplace",
            "Cauchy",
            "median scales",
            "outliers ranked above others",
        ],
        rows,
    )


def counted(values: Iterable[bool]) -> str:
    """How many of how many."""
    found = list(values)
    return f"{sum(found)} of {len(found)}"


def claims(found: Results) -> list[tuple[str, str, str]]:
    """(what the thesis says or we ask, how often it holds, numbers)."""
    told = [(kind, *cell) for kind in SINGLES for cell in cells(kind)]
    outside = [each for each in told if not against_thesis(found, *each)[2]]
    ratios = {kind: [best_single(found, kind, *cell)[1] for cell in cells(kind)] for kind in SINGLES}
    noisy = [(name, setting) for name in SETS for setting in list(STATED)[1:]]

    def better(method: str, others: Sequence[str], where: Sequence[tuple[str, str]]) -> str:
        return counted(
            found.field(*cell, method).value <= min(found.field(*cell, other).value for other in others)
            for cell in where
        )

    def cut(group: Iterable[str]) -> str:
        parts = []
        clean = found.field("boston", "none", "ols").value
        for setting in group:
            ols = found.field("boston", setting, "ols").value
            saved = [
                100 * (1 - found.field("boston", setting, f"mixture, {kind}").value / ols) for kind in SINGLES
            ]
            most = 100 * (1 - clean / ols)
            parts.append(f"{setting}: {saved[0]:.0f} % fixed, {saved[1]:.0f} % learned, of {most:.0f} %")
        return "; ".join(parts)

    learned = [found.gap(*cell, "mixture, learned", "mixture, fixed") for cell in cells("fixed")]
    naive = [found.gap(*cell, "mixture, learned", "trimmed") for cell in noisy]
    chosen = [found.gap(*cell, "mixture, CV", "mixture, learned") for cell in cells("fixed")]
    prior = [found.gap(*cell, "mixture, subsample prior", "mixture, learned") for cell in cells("fixed")]
    grown = [
        found.entries(name, setting, "mixture, learned", "weights")[:, 2].mean()
        > found.entries(name, "none", "mixture, learned", "weights")[:, 2].mean()
        for name, setting in noisy
    ]
    return [
        ("our mixtures' errors are within two standard errors of the thesis' or below (tables 3.1 to 3.6)",
         counted(against_thesis(found, *each)[2] for each in told),
         "; ".join(f"not {' '.join(each)}: {against_thesis(found, *each)[0]:+.4f}" for each in outside)),
        ("mixture over the best single estimator, fixed scales, mean of 12 cells", f"{np.mean(ratios['fixed']):.4f}",
         f"worst {max(ratios['fixed']):.3f}"),
        ("the same, learned scales", f"{np.mean(ratios['learned']):.4f}", f"worst {max(ratios['learned']):.3f}"),
        ("the same, components chosen by cross-validation",
         f"{np.mean([best_single(found, 'learned', *cell, 'mixture, CV')[1] for cell in cells('learned')]):.4f}", ""),
        ("what the mixture saves of least squares' error on boston (of what no outliers would save)", "",
         cut(list(STATED)[1:])),
        ("the same, outliers of twice the size", "", cut(DOUBLED)),
        ("with fixed scales the mixture is at least as good as all single estimators (3.1 to 3.3)",
         better("mixture, fixed", SINGLES["fixed"], cells("fixed")), ""),
        ("with outliers it is better than least squares", better("mixture, fixed", ["ols"], noisy),
         f"learned scales: {better('mixture, learned', ['ols'], noisy)}"),
        ("the naive method is the best of tables 3.4 to 3.6 where there are outliers",
         better("trimmed", ["ols", "mixture, learned", *SINGLES["learned"][1:]], noisy),
         f"learned mixture beyond three standard errors: worse in {sum(g.value > 0 and g.starred for g in naive)}, "
         f"better in {sum(g.value < 0 and g.starred for g in naive)}"),
        ("learning the scales costs accuracy", counted(gap.value > 0 for gap in learned),
         f"beyond three standard errors: worse in {sum(g.value > 0 and g.starred for g in learned)}, "
         f"better in {sum(g.value < 0 and g.starred for g in learned)}"),
        ("the Cauchy component grows with outliers (3.7 to 3.9)", counted(grown), ""),
        ("choosing components by cross-validation helps the learned mixture", counted(gap.value < 0 for gap in chosen),
         f"mean difference {np.mean([gap.value for gap in chosen]):+.4f}"),
        ("a subsample prior helps the learned mixture", counted(gap.value < 0 for gap in prior),
         f"mean difference {np.mean([gap.value for gap in prior]):+.4f}"),
    ]  # fmt: skip


def sections(found: Results) -> str:
    """All that stands between the marks."""
    runs = ", ".join(f"{name} {len(lines)}" for name, lines in found.lines.items())
    parts = [f"Splits: {runs}.", table(["claim", "holds", "numbers"], claims(found))]
    for kind, first in (("fixed", 1), ("learned", 4)):
        for k, name in enumerate(SETS):
            parts.append(
                f"**{name}, scales {kind} (table 3.{first + k}).** Ours (standard error); the thesis."
            )
            parts.append(errors_table(found, name, kind))
    for name in SETS:
        parts.append(
            f"**{name}, all mixtures and other libraries.** The best in bold; methods of fewer splits are levelled."
        )
        parts.append(peers_table(found, name))
    parts.append(
        "**Test error of the learned mixture less another's, paired.** A star: three standard errors."
    )
    parts.append(gaps_table(found))
    parts.append("**Weights of the learned mixture (tables 3.7 to 3.9).** Ours; the thesis.")
    parts.append(weights_table(found))
    return "\n\n".join(parts)


def expected(found: Results) -> dict[str, Any]:
    """Means with tolerances: five standard errors of the mean, and 0.002 for other machines."""
    out: dict[str, Any] = {}
    for name in SETS:
        for setting in settings(name):
            means = {method: found.field(name, setting, method) for method in METHODS}
            out[f"{name} {setting}"] = {
                m: [round(v.value, 5), round(5 * v.error + 0.002, 5), v.of] for m, v in means.items()
            }
    return out


def main() -> None:
    """Print, or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into README.md and mixture_expected.json")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of lines")
    options = parser.parse_args()
    found = Results(finished(options.results))
    text = sections(found)
    if not options.write:
        print(text)
        return
    before, _, rest = README.read_text(encoding="utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    README.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}", encoding="utf-8")
    cells = [f"{json.dumps(name)}: {json.dumps(means)}" for name, means in expected(found).items()]
    EXPECTED.write_text("{\n" + ",\n".join(cells) + "\n}\n")


if __name__ == "__main__":
    main()
