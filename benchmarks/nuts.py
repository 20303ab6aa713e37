"""Effective draws a second of the exact posterior: tacit's sampler beside nutpie's NUTS, on the same posteriors.

    python benchmarks/nuts.py [--draws 4000] [--repeats 3] [--quick] [--output FILE]

K = 20, 10,000 reports, theta ~ Dirichlet(1). Both draw from the same posterior in the same process, with one thread
and one chain at a time for nutpie, one thread and its team of chains for tacit. Effective draws are ArviZ's bulk size,
of the category that has the least; the size for the tails is shown too. Seconds are those of the processor, since other
programs on the same machine stretch those of the clock; they hold the warm-up, not the compilation. The density that
nutpie gets takes part in the comparison, so it is compiled, nutpie calls it as machine code, on the distinct reports
only, in either form below and by the faster of two ways through the reports. The better form counts.

With alpha_k = rho b_k and g_k ~ Gamma(alpha_k, 1), g / sum g ~ Dirichlet(alpha). The density is written here from
that definition and from rows proportional to P(report | x); no code of tacit takes part. Two forms of ln g:

    gamma   y_k = ln g_k                        ln p = alpha y - e^y - ln Gamma(alpha)
    split   y_k = w_k - e^(v_k) / alpha_k       ln p = (alpha + 1) w - e^w - ln Gamma(alpha + 1) + v - e^v

The second is Gamma(a) = Gamma(a + 1) U^(1/a) with -ln U = e^v: its prior has unit scale for every rho, so that a
learned rho leaves no funnel. The ways: whole rows ("rows", two matrix products), or the entries above each row's
smallest ("entries": a subset report has few). `tests/posterior/make_reference.py` takes its long
runs with the same functions.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: both samplers get one thread

import numpy as np
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic
from rich.console import Console
from rich.table import Table

from tacit import Categorical, Evidence, channels, posterior

RESULTS = Path(__file__).parent / "results" / "nuts.json"
FORMS = ("gamma", "split")
WALKS = ("rows", "entries")
GROUP = 16  # factors, each from 1 to e^epsilon, that share one logarithm


@njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
def by_rows(theta, rows, counts, gradient):
    """sum of counts x ln(rows . theta) and its gradient, by two products."""
    mixed = rows @ theta
    total, factor = 0.0, 1.0
    for i in range(len(mixed)):
        if counts[i] == 1:
            factor *= mixed[i]
        else:
            total += counts[i] * math.log(mixed[i])
        if i % GROUP == 0:
            total += math.log(factor)
            factor = 1.0
        mixed[i] = counts[i] / mixed[i]
    gradient[:] = mixed @ rows
    return total + math.log(factor)


@njit(fastmath={"reassoc", "contract", "nsz", "arcp"}, error_model="numpy")
def by_entries(theta, starts, columns, extra, counts, gradient):
    """The same, for rows that are 1 with `extra` added at `columns`; theta sums to 1."""
    gradient[:] = 0.0
    total, factor, weights = 0.0, 1.0, 0.0
    for i in range(len(counts)):
        mixed = 1.0
        for j in range(starts[i], starts[i + 1]):
            mixed += extra[j] * theta[columns[j]]
        weight = counts[i] / mixed
        for j in range(starts[i], starts[i + 1]):
            gradient[columns[j]] += weight * extra[j]
        weights += weight
        if counts[i] == 1:
            factor *= mixed
        else:
            total += counts[i] * math.log(mixed)
        if i % GROUP == 0:
            total += math.log(factor)
            factor = 1.0
    gradient += weights
    return total + math.log(factor)


@njit
def digamma(a):
    """The derivative of ln Gamma: up to 8 by recurrence, from there by its asymptotic series."""
    out = 0.0
    while a < 8:
        out -= 1 / a
        a += 1
    s = 1 / a**2
    return out + math.log(a) - 0.5 / a - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s / 240)))


@njit
def expand(x, base, split, learned, alpha, spent, theta):
    """Write alpha, e^v and theta for a position."""
    k = len(base)
    rho = math.exp(x[-1]) if learned else 1.0
    top = -np.inf
    for i in range(k):
        alpha[i] = rho * base[i]
        spent[i] = math.exp(x[k + i]) if split else 0.0
        theta[i] = x[i] - spent[i] / alpha[i]
        top = max(top, theta[i])
    for i in range(k):
        theta[i] = math.exp(theta[i] - top)
    theta /= theta.sum()


@njit(error_model="numpy")
def log_density(x, out, base, prior, split, learned, walk, rows, starts, columns, extra, counts):
    """The log posterior density at x, up to a constant; its gradient goes to `out`."""
    k = len(base)
    alpha, spent, theta, by_theta = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    expand(x, base, split, learned, alpha, spent, theta)
    if walk:
        value = by_entries(theta, starts, columns, extra, counts, by_theta)
    else:
        value = by_rows(theta, rows, counts, by_theta)
    inner = (theta * by_theta).sum()
    by_eta = known = log_gamma = slope = 0.0
    for i in range(k):
        by_y = theta[i] * (by_theta[i] - inner)
        shape, size = alpha[i] + split, math.exp(x[i])
        value += shape * x[i] - size
        out[i] = by_y + shape - size
        if split:
            value += x[k + i] - spent[i]
            out[k + i] = 1 - spent[i] - by_y * spent[i] / alpha[i]
            by_eta += by_y * spent[i] / alpha[i]
        if learned:
            if shape != known:  # mostly all are equal
                known, log_gamma, slope = shape, math.lgamma(shape), digamma(shape)
            value -= log_gamma
            by_eta += alpha[i] * (x[i] - slope)
    if learned:
        away = (x[-1] - prior[0]) / prior[1]
        value -= away**2 / 2
        out[-1] = by_eta - away / prior[1]
    return value


@intrinsic
def _pointer(context, address):
    """An address, as a pointer that `carray` takes."""

    def generate(_, builder, signature, values):
        from numba.core import cgutils

        return builder.inttoptr(values[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


@cfunc(types.int64(types.uint64, *[types.CPointer(types.double)] * 3, types.voidptr))
def _call_density(dimension, x, out, value, data):
    """`log_density` as nutpie calls it; `data` holds the addresses and sizes that `Target.data` packs."""
    h = carray(data, 13, np.int64)
    k, d, entries = h[0], h[1], h[2]
    place, slope = carray(x, dimension), carray(out, dimension)
    value[0] = log_density(
        place,
        slope,
        carray(_pointer(h[6]), k, np.float64),
        carray(_pointer(h[7]), 2, np.float64),
        h[3],
        h[4],
        h[5],
        carray(_pointer(h[8]), (d, k), np.float64),
        carray(_pointer(h[9]), d + 1, np.int64),
        carray(_pointer(h[10]), entries, np.int64),
        carray(_pointer(h[11]), entries, np.float64),
        carray(_pointer(h[12]), d, np.float64),
    )
    return 0 if np.isfinite(value[0]) and np.isfinite(slope).all() else 3


@cfunc(types.int64(types.uint64, types.uint64, *[types.CPointer(types.double)] * 2, types.voidptr))
def _call_expand(dimension, size, x, out, data):
    h = carray(data, 13, np.int64)
    k, place, shown = h[0], carray(x, dimension), carray(out, size)
    base = carray(_pointer(h[6]), k, np.float64)
    expand(place, base, h[3], h[4], np.empty(k), np.empty(k), shown[:k])
    shown[k] = place[-1]
    return 0


@dataclass(frozen=True)
class Target:
    """A log posterior density over positions x; ln rho, when it is learned, is the last entry."""

    base: np.ndarray  # (K,)
    log_rho: tuple[float, float] | None  # location and scale of its normal prior; None for rho = 1
    rows: np.ndarray  # (D, K), proportional to P(report | x)
    counts: np.ndarray  # (D,)
    form: str = "gamma"
    walk: str = "rows"

    @property
    def dimension(self) -> int:
        return len(self.base) * (1 + (self.form == "split")) + (self.log_rho is not None)

    @cached_property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """base, prior, rows (smallest entry 1), starts, columns, extra, counts: `log_density` tells what they are."""
        rows = self.rows / self.rows.min(axis=1, keepdims=True)
        where = rows > 1
        starts = np.concatenate([[0], np.cumsum(where.sum(axis=1))])
        prior = np.array(self.log_rho or (0.0, 1.0))
        parts = self.base, prior, rows, starts, np.nonzero(where)[1], (rows - 1)[where], self.counts
        kinds = [np.float64] * 3 + [np.int64] * 2 + [np.float64] * 2
        return tuple(np.ascontiguousarray(part, kind) for part, kind in zip(parts, kinds, strict=True))

    @property
    def flags(self) -> tuple[int, int, int]:
        return int(self.form == "split"), int(self.log_rho is not None), int(self.walk == "entries")

    @cached_property
    def data(self) -> np.ndarray:
        """Sizes, flags and addresses, for the compiled callbacks."""
        sizes = (len(self.base), len(self.rows), len(self.arrays[4]))
        return np.array([*sizes, *self.flags, *(part.ctypes.data for part in self.arrays)], np.int64)


def nuts(target: Target, draws: int, tune: int, chains: int, seed: int, **settings: Any) -> Any:
    """nutpie's trace, chains one after another, of `theta` and `log_rho` (the last entry of x); an ArviZ object."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ announces its next version when it is imported
        from nutpie import sample
        from nutpie.compile_pymc import CompiledPyMCModel

        k = len(target.base)
        model = CompiledPyMCModel(
            dims={},
            compiled_logp_func=_call_density,
            compiled_expand_func=_call_expand,
            initial_point_func=lambda seed: np.random.default_rng(seed).uniform(-1, 1, target.dimension),
            shared_data={},
            user_data=target.data,
            n_expanded=k + 1,
            shape_info=(["theta", "log_rho"], None, [(k,), ()]),
            logp_func=None,
            expand_func=None,
            _n_dim=target.dimension,
            _shapes={"theta": (k,), "log_rho": ()},
            _coords={},
        )
        return sample(
            model, draws=draws, tune=tune, chains=chains, cores=1, seed=seed, progress_bar=False, **settings
        )


def gathered(k: int, n: int, epsilon: float) -> Evidence:
    """n reports of the static subset channel."""
    rng = np.random.default_rng(k)
    channel = channels.subset(k, epsilon)
    theta = rng.dirichlet(np.ones(k))
    return Evidence().add(channel, channel.sample(rng.choice(k, n, p=theta), rng))


def effective(chains: np.ndarray, method: str = "bulk") -> float:
    """The least of ArviZ's effective sizes over the columns of (chains, draws, columns)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz
    return min(float(arviz.ess(chains[:, :, j], method=method)) for j in range(chains.shape[2]))


def row(sampler: str, model: Categorical, seconds: float, chains: np.ndarray) -> dict[str, Any]:
    """One line of the table."""
    size = effective(chains)
    return {
        "sampler": sampler,
        "concentration": "learned" if model.learned else "fixed",
        "draws": chains.shape[0] * chains.shape[1],
        "seconds": seconds,
        "effective": size,
        "tails": effective(chains, "tail"),
        "a second": size / seconds,
        "mean": chains.mean(axis=(0, 1)).tolist(),
    }


def faster_walk(target: Target) -> str:
    """The way through the reports that takes less time at the centre."""

    def seconds(walk: str) -> float:
        tried = replace(target, walk=walk)
        arguments = np.zeros(tried.dimension), np.empty(tried.dimension), *tried.arrays[:2], *tried.flags
        log_density(*arguments, *tried.arrays[2:])
        start = time.process_time()
        for _ in range(20):
            log_density(*arguments, *tried.arrays[2:])
        return time.process_time() - start

    return min(WALKS, key=seconds)


def race(epsilon: float, draws: int, seed: int) -> Iterator[dict[str, Any]]:
    """Both samplers on the same posteriors, with a fixed and a learned concentration."""
    evidence = gathered(20, 10_000, epsilon)
    table = evidence.likelihood()
    for model in (Categorical(20, 1.0), Categorical(20)):
        posterior.sample(model, evidence, "exact", draws=25)  # loads what is loaded once
        start = time.process_time()
        found = posterior.sample(model, evidence, "exact", draws=draws, seed=seed)
        yield row("tacit exact", model, time.process_time() - start, found.chains)
        prior = (model.location, model.scale) if model.learned else None
        for form in FORMS:
            target = Target(np.ones(20), prior, table.rows, table.counts, form)
            target = replace(target, walk=faster_walk(target))
            start = time.process_time()
            trace = nuts(target, draws // 2, 400, 2, seed)
            seconds = time.process_time() - start
            yield row(f"nutpie, {form}, {target.walk}", model, seconds, trace.posterior["theta"].values)


def show(epsilon: float, runs: list[list[dict[str, Any]]]) -> None:
    """A table of the medians over runs, and tacit's rate over the better of nutpie's, run by run."""
    shown = Table(title=f"K = 20, n = 10,000, epsilon = {epsilon:g}")
    for heading in ("sampler", "concentration", "draws", "seconds", "effective", "tails", "a second"):
        shown.add_column(heading, justify="right")
    for lines in zip(*runs, strict=True):
        middle = {
            name: np.median([r[name] for r in lines])
            for name in ("seconds", "effective", "tails", "a second")
        }
        cells = (
            f"{middle['seconds']:.2f}",
            *(f"{middle[name]:,.0f}" for name in ("effective", "tails", "a second")),
        )
        shown.add_row(lines[0]["sampler"], lines[0]["concentration"], str(lines[0]["draws"]), *cells)
    Console(width=110).print(shown)
    for kind in ("fixed", "learned"):
        ratios, gaps = [], []
        for run in runs:
            ours, *others = [r for r in run if r["concentration"] == kind]
            ratios.append(ours["a second"] / max(r["a second"] for r in others))
            gaps += [np.abs(np.subtract(ours["mean"], r["mean"])).max() for r in others]
        told = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"{kind}: tacit / better nutpie {told}; means differ by at most {max(gaps):.4f}")


def main() -> None:
    """Run the race at three epsilons and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=4000, help="draws of each sampler")
    parser.add_argument("--repeats", type=int, default=3, help="runs, each with a seed of its own")
    parser.add_argument("--quick", action="store_true", help="one run of few draws, printed and not kept")
    parser.add_argument("--output", type=Path, default=RESULTS, help="JSON file")
    options = parser.parse_args()
    draws, repeats = (400, 1) if options.quick else (options.draws, options.repeats)
    out: dict[str, Any] = {}
    for epsilon in (0.5, 1.0, 5.0):
        out[f"{epsilon:g}"] = [list(race(epsilon, draws, seed)) for seed in range(1, repeats + 1)]
        show(epsilon, out[f"{epsilon:g}"])
    if not options.quick:
        options.output.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
