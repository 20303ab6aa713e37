"""How fast the regression estimators are, beside scikit-learn and statsmodels, and how they grow with rows.

    python -m benchmarks.regression [--data DIR] [--only SECTION] [--quick] [--output FILE]

A section is a function of `SECTIONS`. Peers are run in turn with ours, on the same rows in the same process, and
times are the best of many rounds, wall clock and processor, which is what a busy machine still gets right. Abalone
is read from the folder of --data or TACIT_DATA; without it, scikit-learn's diabetes data stand in. Large data are
simulated, and their memory is the highest resident size of a process of their own, less that before the data were
made.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

LIBRARIES = ("tacit", "numpy", "scipy", "scikit-learn", "statsmodels")
RESULTS = Path(__file__).parent / "results" / "regression.json"
Row = dict[str, Any]


def in_turn(fits: dict[str, Callable[[], object]], rounds: int) -> list[Row]:
    """The best wall and processor times of each fit, in milliseconds."""
    best = {name: [np.inf, np.inf] for name in fits}
    for _ in range(rounds):
        for name, fit in fits.items():
            wall, cpu = time.perf_counter(), time.process_time()
            fit()
            spent = time.perf_counter() - wall, time.process_time() - cpu
            best[name] = [min(old, 1000 * new) for old, new in zip(best[name], spent, strict=True)]
    return [{"what": name, "ms": wall, "cpu ms": cpu} for name, (wall, cpu) in best.items()]


def real(folder: Path | None) -> tuple[str, Any, Any]:
    """Abalone as it is, or diabetes."""
    from experiments.regression import data

    name = (
        "abalone" if folder is not None and (folder / data.SOURCES["abalone"].file).is_file() else "diabetes"
    )
    found = data.load(folder, name)
    return name, found.x, found.y


def mixture(folder: Path | None, quick: bool) -> dict[str, list[Row]]:
    """MixtureRegressor beside robust regression of other libraries, and on up to a million rows."""
    import statsmodels.api as sm
    from sklearn.linear_model import HuberRegressor, LinearRegression

    from tacit.regression import MixtureRegressor, MixtureRegressorCV, TrimmedRegressor

    name, x, y = real(folder)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    fits = {
        "tacit MixtureRegressor": lambda: MixtureRegressor().fit(x, y),
        "tacit MixtureRegressor, Gaussian and Cauchy": lambda: MixtureRegressor(("gaussian", "cauchy")).fit(
            x, y
        ),
        "tacit MixtureRegressorCV, BIC": lambda: MixtureRegressorCV().fit(x, y),
        "tacit TrimmedRegressor": lambda: TrimmedRegressor().fit(x, y),
        "scikit-learn HuberRegressor, raw columns": lambda: HuberRegressor(max_iter=10_000).fit(x, y),
        "scikit-learn HuberRegressor, standardised": lambda: HuberRegressor(max_iter=10_000).fit(z, y),
        "statsmodels RLM": lambda: sm.RLM(y, sm.add_constant(x)).fit(),
        "statsmodels RLM, biweight": lambda: sm.RLM(
            y, sm.add_constant(x), M=sm.robust.norms.TukeyBiweight()
        ).fit(),
        "statsmodels QuantReg": lambda: sm.QuantReg(y, sm.add_constant(x)).fit(q=0.5),
        "scikit-learn LinearRegression": lambda: LinearRegression().fit(x, y),
    }
    sizes = (10**4, 10**5) if quick else (10**4, 10**5, 10**6)
    context = multiprocessing.get_context("spawn")
    grown = []
    for n in sizes:
        with context.Pool(1) as pool:
            grown.append(pool.apply(grow, (n, 20)))
    return {
        f"mixture, {name} {len(x)} x {x.shape[1]}": in_turn(fits, 2 if quick else 15),
        "mixture, rows times 20 columns": grown,
    }


def grow(n: int, p: int) -> Row:
    """One fit of simulated rows in a process of its own."""
    from tacit.regression import MixtureRegressor

    MixtureRegressor().fit(np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0))  # imports
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rng = np.random.default_rng(1)
    beta = rng.normal(size=p)
    x = rng.normal(size=(n, p))
    y = x @ beta
    for rows in range(0, n, 10**4):
        y[rows : rows + 10**4] += np.where(
            rng.random(10**4) < 0.1, 5 * rng.standard_cauchy(10**4), rng.normal(size=10**4)
        )
    wall, cpu = time.perf_counter(), time.process_time()
    model = MixtureRegressor().fit(x, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    most = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return {
        "rows": n,
        "s": wall,
        "cpu s": cpu,
        "us a row": 1e6 * wall / n,
        "rounds": model.n_iter_,
        "peak memory over that of the data": most / (x.nbytes + y.nbytes),
        "most off, in standard errors": float(np.abs((model.coef_ - beta) / model.coef_se_).max()),
    }


SECTIONS: dict[str, Callable[[Path | None, bool], dict[str, list[Row]]]] = {"mixture": mixture}


def show(console: Console, title: str, rows: list[Row]) -> None:
    """Print one table."""
    table = Table(title=title, title_justify="left")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    for column in columns:
        table.add_column(column, justify="left" if isinstance(rows[0].get(column), str) else "right")
    for row in rows:
        cells = (row.get(column, "") for column in columns)
        table.add_row(
            *(
                f"{v:,.3g}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else str(v)
                for v in cells
            )
        )
    console.print(table)


def main() -> None:
    """Run the sections, print them, and put their numbers beside those of the others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("TACIT_DATA"), help="folder of abalone.csv"
    )
    parser.add_argument("--only", choices=SECTIONS, action="append", help="this section; may be given again")
    parser.add_argument("--quick", action="store_true", help="a few seconds: to see that it runs")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where to write the JSON")
    options = parser.parse_args()
    folder = Path(options.data) if options.data else None
    result = json.loads(options.output.read_text()) if options.output.exists() else {}
    for name in options.only or SECTIONS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tables = SECTIONS[name](folder, options.quick)
        for title, rows in tables.items():
            show(Console(), title, rows)
        result[name] = {
            "versions": {library: metadata.version(library) for library in LIBRARIES},
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
            "load": os.getloadavg()[0],
            "quick": options.quick,
            "tables": tables,
        }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
