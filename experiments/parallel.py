"""Runs of an experiment, side by side: on this machine, or unchanged on a cluster.

    --workers 4                          processes of this machine (loky)
    --backend dask --workers 64          workers of the Dask cluster that DASK_SCHEDULER_ADDRESS names, or a local one
    --backend ray --workers 64           workers of the Ray cluster that RAY_ADDRESS names, or a local one

joblib does it. A run is a function of its arguments alone, its seed among them, so its result does not depend on where
it is made; only the order in which results come does. Dask or Ray and this project must be installed on the workers,
and data must lie on a path that they see.

>>> sorted(each(pow, [(2, 3), (3, 2)]))
[8, 9]
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

BACKENDS = ("loky", "dask", "ray")


def each(
    function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], workers: int = 1, backend: str = "loky"
) -> Iterator[Any]:
    """The results of function(*job) as they are finished; one local worker is this process itself."""
    waiting = list(jobs)
    if not waiting:
        return
    if backend == "loky" and workers == 1:
        yield from (function(*job) for job in waiting)
        return
    from joblib import Parallel, delayed, parallel_config

    options = _connected(backend)
    # Ray's backend gives results only when all are there: then a few at a time.
    size = 4 * workers if backend == "ray" else len(waiting)
    order = "list" if backend == "ray" else "generator_unordered"
    with parallel_config(backend=backend, n_jobs=workers, **options):
        for start in range(0, len(waiting), size):
            tasks = (delayed(function)(*job) for job in waiting[start : start + size])
            yield from Parallel(return_as=order, batch_size=1)(tasks)


def _connected(backend: str) -> dict[str, Any]:
    """What joblib needs to know of a backend, which is connected to."""
    if backend == "dask":
        client = import_module("dask.distributed").Client
        # Without an address it starts a local cluster.
        address = os.environ.get("DASK_SCHEDULER_ADDRESS")
        client(address) if address else client(processes=False, dashboard_address=None)
        return {}
    if backend == "ray":
        import_module("ray").init(address=os.environ.get("RAY_ADDRESS"), ignore_reinit_error=True)
        import_module("ray.util.joblib").register_ray()
        return {}
    return {"initializer": follow, "initargs": (os.getpid(),)}


def follow(parent: int) -> None:
    """End this process soon after its parent has gone; without it, the workers of a killed command wait for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def options(parser: argparse.ArgumentParser, workers: int = 1) -> None:
    """Add --workers and --backend."""
    parser.add_argument("--workers", type=at_least_one, default=workers, help="how many at once")
    parser.add_argument(
        "--backend", choices=BACKENDS, default="loky", help="where: this machine, or a cluster"
    )


def at_least_one(text: str) -> int:
    """A count."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("give a whole number from 1 on")
    return int(text)
