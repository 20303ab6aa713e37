"""Server processes: uvicorn, told to log nothing about clients, and its parent that keeps the worker alive."""

from __future__ import annotations

import resource

import uvicorn
from fastapi import FastAPI

from tacit.collector.connections import Connection

GRACE = 5  # seconds that requests have to end when the server stops


class Server(uvicorn.Server):
    """A uvicorn server."""


def configure(app: FastAPI | str, **others: object) -> uvicorn.Config:
    """How uvicorn runs the application: no access log, no header that names the server, no belief in proxies."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="on",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_level="error",
        log_config=None,
        backlog=2048,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        **others,  # type: ignore[arg-type]
    )


def room_for_connections(wanted: int) -> int:
    """How many connections fit into the open files that the system allows, which is raised as far as it goes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = wanted + 256
    if soft != resource.RLIM_INFINITY and soft < need:
        soft = need if hard == resource.RLIM_INFINITY else min(need, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else max(min(wanted, soft - 256), 16)
