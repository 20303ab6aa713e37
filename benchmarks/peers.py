"""The same jobs in other libraries, each in the fastest public form it offers.

pure-ldp and multi-freq-ldpy perturb one answer a call: their documented use is a Python loop over users, and
that is what "loop" times. Functions of multi-freq-ldpy that numba compiled can also be called from a compiled
loop. The library has no such loop, so the one here is ours: "compiled loop" is the best its code can do.
OpenDP has one call an answer too, and is made for real answers: compare it with `respond`.

pure-ldp and multi-freq-ldpy hash strings with xxhash, which refuses strings since its version 4: their local
hashing runs with xxhash 3 only. pure-ldp imports scikit-learn and statsmodels for RAPPOR without asking for
them; where they are missing RAPPOR, which nothing here uses, is left out.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

LOOP = "Python loop over users"
COMPILED = "compiled loop over users, ours"

Run = Callable[[], object]


@dataclass(frozen=True)
class Peer:
    """One way to do a job in another library; `prepare(answers)` gives the function to time."""

    library: str
    call: str
    covers: str
    prepare: Callable[[np.ndarray], Run] | None  # None: not installed


@cache
def module(name: str) -> Any:
    """An imported module, or None when it cannot be imported."""
    try:
        return import_module(name)
    except ImportError:
        return None


@cache
def pure_ldp() -> Any:
    """pure_ldp.frequency_oracles, without RAPPOR where RAPPOR's own imports are missing."""
    name = "pure_ldp.frequency_oracles"
    try:
        return import_module(name)
    except ImportError:
        sys.modules[f"{name}.rappor"] = ModuleType(f"{name}.rappor")
        return module(name)


def multi_freq(protocol: str) -> Any:
    """The module of one protocol of multi-freq-ldpy."""
    return module(f"multi_freq_ldpy.pure_frequency_oracles.{protocol}")


@cache
def _compiled_loop(client: Any) -> Any:
    from numba import njit

    @njit
    def loop(items: np.ndarray, k: int, epsilon: float, out: np.ndarray) -> None:
        for i in range(len(items)):
            out[i] = client(items[i], k, epsilon)

    return loop


def _pure_client(client: str, build: Callable[[Any], Any]) -> Peer:
    library = pure_ldp()

    def prepare(answers: np.ndarray) -> Run:
        privatise, items = build(library).privatise, (answers + 1).tolist()  # its items are 1..d
        return lambda: [privatise(x) for x in items]

    return Peer("pure-ldp", client, LOOP, prepare if library else None)


def _multi_client(protocol: str, k: int, epsilon: float, width: int | None = None) -> list[Peer]:
    """The Python loop and, if `width` is the length of a report (0: a number), the compiled loop."""
    library, name = multi_freq(protocol), f"{protocol}_Client"

    def prepare(answers: np.ndarray) -> Run:
        client, items = getattr(library, name), answers.tolist()
        return lambda: [client(x, k, epsilon) for x in items]

    def prepare_compiled(answers: np.ndarray) -> Run:
        loop = _compiled_loop(getattr(library, name))
        shape = (len(answers), width) if width else len(answers)
        dtype = np.float64 if protocol == "UE" else np.int64
        return lambda: loop(answers, k, epsilon, np.empty(shape, dtype))

    peers = [Peer("multi-freq-ldpy", name, LOOP, prepare if library else None)]
    if width is not None:
        peers.append(Peer("multi-freq-ldpy", name, COMPILED, prepare_compiled if library else None))
    return peers


def opendp_response(k: int, epsilon: float) -> Peer:
    """Randomised response over k categories, in Rust."""
    library = module("opendp.prelude")

    def prepare(answers: np.ndarray) -> Run:
        library.enable_features("contrib")
        truth = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
        respond = library.m.make_randomized_response(list(range(k)), truth, T="i32")
        items = answers.tolist()
        return lambda: [respond(x) for x in items]

    covers = f"{LOOP}; made for real answers"
    return Peer("OpenDP", "make_randomized_response", covers, prepare if library else None)


def direct(k: int, epsilon: float) -> list[Peer]:
    """Randomised response on k categories, as `srr`."""
    pure = _pure_client("DEClient", lambda p: p.DEClient(epsilon, k))
    return [pure, *_multi_client("GRR", k, epsilon, 0), opendp_response(k, epsilon)]


def subset(k: int, epsilon: float) -> list[Peer]:
    """Subset selection, as `subset`; its authors round the best size as here."""
    size = max(1, int(np.rint(k / (math.exp(epsilon) + 1))))
    return _multi_client("SS", k, epsilon, size)


def hashing(k: int, epsilon: float) -> list[Peer]:
    """Optimal local hashing, as `hashed`."""
    pure = _pure_client("LHClient", lambda p: p.LHClient(epsilon, k, use_olh=True))
    return [pure, *_multi_client("LH", k, epsilon)]


def others(k: int, epsilon: float) -> list[Peer]:
    """Mechanisms that tacit does not have and that serve small epsilon too."""

    def hadamard(p: Any) -> Any:
        return p.HadamardResponseClient(epsilon, k, p.HadamardResponseServer(epsilon, k).get_hash_funcs())

    unary = _pure_client("UEClient (OUE)", lambda p: p.UEClient(epsilon, k, use_oue=True))
    response = _pure_client("HadamardResponseClient", hadamard)
    return [unary, response, *_multi_client("UE", k, epsilon, k)]


def support_counting(k: int, epsilon: float) -> list[Peer]:
    """The servers of local hashing: which categories support a report, over many reports."""
    library, protocol = pure_ldp(), multi_freq("LH")

    def prepare_pure(answers: np.ndarray) -> Run:
        client = library.LHClient(epsilon, k, use_olh=True)
        server = library.LHServer(epsilon, k, use_olh=True)
        reports = [client.privatise(x + 1) for x in answers.tolist()]
        return lambda: server.aggregate_all(reports)

    def prepare_fast(answers: np.ndarray) -> Run:
        client = library.FastLHClient(epsilon, k, 1000, use_olh=True)
        server = library.FastLHServer(epsilon, k, 1000, g=round(math.exp(epsilon)) + 1)
        reports = [client.privatise(x + 1) for x in answers.tolist()]

        def run() -> None:
            server.aggregate_all(reports)
            server.check_and_update_estimates()

        return run

    def prepare_multi(answers: np.ndarray) -> Run:
        reports = [protocol.LH_Client(x, k, epsilon) for x in answers.tolist()]
        return lambda: protocol.LH_Aggregator_MI(reports, k, epsilon)

    pure, fast = (prepare_pure, prepare_fast) if library else (None, None)
    return [
        Peer("pure-ldp", "LHServer.aggregate", "support counts", pure),
        Peer(
            "multi-freq-ldpy",
            "LH_Aggregator_MI",
            "support counts, estimate",
            prepare_multi if protocol else None,
        ),
        Peer(
            "pure-ldp",
            "FastLHServer",
            "100,000 reports, 1,000 hash functions in all, estimate; not their set-up",
            fast,
        ),
    ]
