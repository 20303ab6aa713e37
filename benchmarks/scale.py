"""Tables of reports to Evidence: seconds, memory and the evidence's id, by engine and number of rows.

    python benchmarks/scale.py [--rows 1000000 ...] [--engines duckdb spark] [--cases few ids] [--folder DIR]

| case | reports |
| --- | --- |
| few | two rounds over 20 categories, subset and RRRR: some 15,000 distinct reports, grouped by the engine |
| ids | the same, each with an id that is checked |
| subsets | a subset of 11 of 40: nearly all distinct, tallied by the engine |
| hashed | local hashing over 1,000 categories, tallied in batches |

Files are made in a temporary folder and deleted. Every measurement is a process of its own with two threads; its peak
memory is that of the process (of Spark: of the Java process too). On a busy machine look at the seconds of the
processors. The id is compared with that of the evidence which
was added up in memory while the reports were drawn.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

from tacit import Evidence, channels, warehouse
from tacit_client import Question, Round

CASES = ("few", "ids", "subsets", "hashed")
CHUNK = 10**6
THREADS = 2
MEMORY = "3g"


def rounds_of(case: str) -> list[Round]:
    """The rounds of a case."""
    if case in ("few", "ids"):
        made = [channels.subset(20, 1.0), channels.rrrr(20, [0, 1, 2], 1.0, 0.9)]
    else:
        made = [channels.subset(40, 1.0) if case == "subsets" else channels.hashed(1000, 1.0)]
    labels = tuple(f"label {i}" for i in range(made[0].k))
    out: list[Round] = []
    for number, channel in enumerate(made):
        previous = out[-1].id if out else None
        out.append(Round("scale", Question("q", "Which?", labels=labels), number, channel.table, previous))
    return out


def write(case: str, rows: int, folder: Path) -> str:
    """Files of reports; the id of their evidence."""
    rng, rounds, expected = np.random.default_rng(rows), rounds_of(case), Evidence()
    theta = 1 / np.arange(1.0, rounds[0].channel.k + 1)
    theta /= theta.sum()
    for part in range(-(-rows // CHUNK)):
        asked = rounds[part % len(rounds)]
        count = min(CHUNK, rows - part * CHUNK)
        channel = channels.from_table(asked.channel)
        if case in ("few", "ids"):
            known = channel.reports()
            which = rng.choice(len(known), size=count, p=channel.matrix() @ theta)
            times = np.bincount(which, minlength=len(known))
            seen = np.flatnonzero(times)
            expected = expected.add_counts(channel, [known[i] for i in seen], times[seen])
            texts = [",".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in known]
            values: Any = pyarrow.DictionaryArray.from_arrays(which.astype(np.int32), texts).cast(
                pyarrow.string()
            )
        else:
            made = channel.sample(rng.choice(channel.k, size=count, p=theta), rng)
            expected = expected.add(channel, made)
            columns = [pyarrow.array(made[:, j]).cast(pyarrow.string()) for j in range(made.shape[1])]
            values = pyarrow.compute.binary_join_element_wise(*columns, ",")
        table = {
            "study": pyarrow.array(["scale"] * count),
            "round": pyarrow.array([asked.id] * count),
            "value": values,
        }
        if case == "ids":
            table["id"] = pyarrow.array(np.char.mod("%032x", np.arange(count) + part * CHUNK))
        pyarrow.parquet.write_table(pyarrow.table(table), folder / f"part-{part:04}.parquet")
    return expected.id


def aggregate(case: str, engine: str, folder: str) -> None:
    """One measurement, printed as JSON: the body of the process."""
    import resource

    if engine == "duckdb":
        warehouse.THREADS = THREADS
        import duckdb

        duckdb.execute(f"SET threads = {THREADS}")
    else:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(f"local[{THREADS}]").config("spark.driver.memory", MEMORY)
        builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
        builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate().sparkContext.setLogLevel(
            "ERROR"
        )
    begun, used = time.perf_counter(), time.process_time()
    found = warehouse.aggregate(folder, rounds_of(case), engine=engine)
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if engine == "spark":
        status = Path(f"/proc/{_java()}/status").read_text()
        peak += next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cpu": used,
                "peak": peak / 2**20,
                "id": found.evidence.id,
                "rows": found.rows,
            }
        )
    )


def _java() -> str:
    from pyspark import SparkContext

    return str(SparkContext._gateway.proc.pid)


def measure(case: str, engine: str, folder: Path, expected: str, rows: int) -> dict[str, Any]:
    """One process; its line of the table."""
    code = f"from benchmarks.scale import aggregate; aggregate({case!r}, {engine!r}, {str(folder)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[1]
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('{"seconds"')))
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    return {
        "case": case,
        "engine": engine,
        "rows": rows,
        "megabytes": round(size / 1e6),
        "seconds": round(found["seconds"], 2),
        "cpu seconds": round(found["cpu"], 2) if engine == "duckdb" else None,
        "peak GiB": round(found["peak"], 2),
        "same id": found["id"] == expected,
    }


def main() -> None:
    """Make the files, measure, print, and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    parser.add_argument("--engines", nargs="+", choices=("duckdb", "spark"), default=["duckdb"])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=["few"])
    parser.add_argument("--repeats", type=int, default=2, help="of each measurement; the fastest counts")
    parser.add_argument("--folder", help="where the files are made")
    parser.add_argument("--output", type=Path, help="write the lines as JSON")
    options = parser.parse_args()
    lines = []
    for case in options.cases:
        for rows in options.rows:
            with tempfile.TemporaryDirectory(dir=options.folder) as name:
                folder = Path(name)
                expected = write(case, rows, folder)
                for engine in options.engines:
                    tries = [measure(case, engine, folder, expected, rows) for _ in range(options.repeats)]
                    lines.append(min(tries, key=lambda line: float(line["seconds"])))
                    print(json.dumps(lines[-1]), file=sys.stderr)
    shown = Table()
    for column in lines[0]:
        shown.add_column(column)
    for line in lines:
        shown.add_row(*(f"{v:,}" if type(v) is int else str(v) for v in line.values()))
    Console().print(shown)
    if options.output:
        options.output.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
