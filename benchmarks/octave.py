"""The papers' loop: the authors' published program in GNU Octave beside `experiments/adobest/loop.py`.

    python benchmarks/octave.py [--matlab DIR] [--people 10000] [--output FILE]

Both take the same answers, one respondent at a time: choose S by the probability of an honest report, draw a report
by RRRR, move theta by M = 20 updates of SGLD with minibatches of m = 50; K = 20, epsilon = 1, kappa = 0.8, and 2,000
updates at the end. Ours runs with the matrices of the published program (`faulty`), so that both do the same work.
Seconds are those of the processor, since a shared machine stretches those of the clock; the start of Octave and our
compilation are left out.

DIR holds the program's files, which are not part of this project: AdOBEst_LDP.m, SGLD_LDP.m, make_G.m,
make_p_yx_vec.m, calculate_utility.m and calculate_FIM.m of the GitHub repository soneraydin/AdOBEst_LDP. They run
unchanged. Octave keeps `eye(K, K - 1)` as a special matrix that does not broadcast as in MATLAB; a setting of Octave
turns that off. Without DIR or without Octave the last measurement is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy, and for Octave too

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from experiments.adobest.loop import run

RESULTS = Path(__file__).parent / "results" / "octave.json"
K, EPSILON, KAPPA = 20, 1.0, 0.8
HONEST = 6  # its number in the published program
PROGRAM = """
optimize_diagonal_matrix(false);
addpath('{folder}');
X = load('{answers}')';
T = length(X);
rand('twister', 1); randn('twister', 1);
clock = tic; used = cputime;
estimate = AdOBEst_LDP(X, {epsilon}, {kappa}, ones(1, {k}), 20, 0, {method}, 50, 0.5 / T);
printf('%.6f %.6f\\n', cputime - used, toc(clock));
printf('%.10f ', estimate);
"""


def in_octave(folder: Path, answers: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Processor seconds, seconds of the clock and the estimate of the authors' program."""
    with tempfile.TemporaryDirectory() as place:
        people, program = Path(place) / "answers.txt", Path(place) / "run.m"
        np.savetxt(people, answers + 1, fmt="%d")
        program.write_text(
            PROGRAM.format(
                folder=folder.resolve(), answers=people, epsilon=EPSILON, kappa=KAPPA, k=K, method=HONEST
            )
        )
        done = subprocess.run(
            ["octave", "--no-gui", "--quiet", "--norc", str(program)],
            capture_output=True,
            text=True,
            check=True,
        )
    used, clock, *estimate = (float(word) for word in done.stdout.split())
    return used, clock, np.array(estimate)


def ours(answers: np.ndarray, repeats: int = 5) -> tuple[float, np.ndarray]:
    """Processor seconds of the fastest of some runs, after one that compiles, and the estimate."""
    run(answers[:100], K, EPSILON, "honest", KAPPA, seed=0, faulty=True)
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = run(answers, K, EPSILON, "honest", KAPPA, seed=1, faulty=True)
        times.append(time.process_time() - start)
    return min(times), result.estimate


def measure(folder: Path, people: int) -> dict[str, Any]:
    """Both programs on the same answers."""
    rng = np.random.default_rng(1)
    theta = rng.dirichlet(np.ones(K))
    answers = rng.choice(K, people, p=theta)
    seconds, mine = ours(answers)
    used, clock, theirs = in_octave(folder, answers)
    return {
        "people": people,
        "octave": used,
        "octave, clock": clock,
        "tacit": seconds,
        "ratio": used / seconds,
        "tv": {"octave": float(abs(theirs - theta).sum() / 2), "tacit": float(abs(mine - theta).sum() / 2)},
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
    }


def main() -> None:
    """Measure and keep, or show what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--matlab", type=Path, metavar="DIR", help="where the authors' files are")
    parser.add_argument("--people", type=int, default=10_000, help="respondents; results are kept for 10,000")
    parser.add_argument("--output", type=Path, default=RESULTS, help="JSON file")
    options = parser.parse_args()
    if options.matlab is not None and shutil.which("octave"):
        found = measure(options.matlab, options.people)
        if options.people == parser.get_default("people"):
            options.output.write_text(json.dumps(found, indent=1) + "\n")
    else:
        print("measured before, not now: give --matlab DIR, with octave installed, to measure")
        found = json.loads(RESULTS.read_text())
    print(f"{found['people']:,} respondents, {found['date']}, {found['machine']}, processor seconds")
    print(f"octave {found['octave']:.1f}, tacit {found['tacit']:.3f}: {found['ratio']:.0f} times as fast")
    print(f"TV error of this one run: octave {found['tv']['octave']:.3f}, tacit {found['tv']['tacit']:.3f}")


if __name__ == "__main__":
    main()
