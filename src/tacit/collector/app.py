"""The HTTP application: the protocol's routes around a store.

    app = create_app(Store.open("sqlite:////var/lib/tacit/tacit.db"), Options.of(key))

`docs/reference/protocol.md` says what each route does. The layers, from outside:

| layer | does |
| --- | --- |
| `connections` | ends half-open and idle connections (under uvicorn) |
| `front` | limits, other origins, security headers, every error as a problem document |
| FastAPI | routes, JSON in and out, OpenAPI |
| `ingest`, `watch` | one writer and one reader of the store for all requests of the process |
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

import tacit
from tacit.collector import front, openapi, pages, problems
from tacit.collector.events import Watch
from tacit.collector.exports import Room
from tacit.collector.ingest import Ingest
from tacit.collector.limits import RateLimit
from tacit.collector.options import Options
from tacit.collector.routes import administration, devices, results
from tacit.collector.routes.common import STUDY_ROUTE, Service
from tacit.collector.routes.reports import Batches, Reports
from tacit.collector.store import Store
from tacit.errors import TacitError

# FastAPI would hand each request to OpenTelemetry where that is configured: addresses and paths with it.
NO_TELEMETRY = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


def create_app(store: Store, options: Options) -> FastAPI:
    """The application. It closes its writer with its last request, and leaves the store to the caller."""
    rates = RateLimit(options.rate, options.burst)
    app = FastAPI(
        title="tacit collector",
        version=tacit.__version__,
        lifespan=_lifespan,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,  # type: ignore[arg-type]
    )
    watch = Watch(store, options.listeners, options.listeners_each, options.poll_seconds)
    app.state.service = Service(store, Ingest(store), options, rates, watch, Room(options.exports))
    app.add_middleware(front.Front, store=store, options=options, rates=rates)
    for kind, handler in (
        (TacitError, problems.on_refusal),
        (HTTPException, problems.on_http),
        (RequestValidationError, problems.on_invalid),
    ):
        app.add_exception_handler(kind, handler)
    app.router.routes.insert(0, Route(f"{STUDY_ROUTE}/reports", Reports(), methods=["POST"]))
    app.router.routes.insert(1, Route(f"{STUDY_ROUTE}/batches", Batches(), methods=["POST"]))
    for part in (devices.router, administration.router, results.router, pages.router()):
        app.include_router(part)
    app.openapi = lambda: openapi.describe(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    service: Service = app.state.service
    try:
        yield {"options": service.options, "closing": service.watch.close, "peers": Counter()}
    finally:
        service.watch.close()
        await asyncio.to_thread(service.ingest.close)
