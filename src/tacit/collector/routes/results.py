"""What readers of results ask: the estimate, its events, exports, the evidence, the privacy statement."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from tacit.collector import exports, front, statement
from tacit.collector.events import Stream
from tacit.collector.routes.common import Results, ServiceOf, StudyName, answer, tagged
from tacit.errors import TacitError

EXPORT_COST = 20.0  # requests that an export counts for
EVENT_STREAM = {"text/event-stream": {"schema": {"type": "string"}}}
router = APIRouter(prefix="/v1/studies/{study}")


@router.get("/estimate")
def show_estimate(study: Results, service: ServiceOf, request: Request) -> Response:
    """The newest estimate."""
    # `n` inside was counted when the estimate was made; the study itself and the events say what it is now.
    found = service.store.estimate(study.name)
    if found is None:
        raise TacitError(
            "estimate_unknown",
            "there is no estimate yet",
            argument="study",
            hint="wait for reports, and for the worker",
        )
    # Not its number: another study may have this name by now, and its first estimate too.
    return tagged(request, hashlib.sha256(found.payload.encode()).hexdigest()[:32], found.payload)


@router.get("/events", responses={200: {"content": EVENT_STREAM}})
def listen(study: Results, service: ServiceOf) -> Response:
    """Server-sent events: `count` when reports came, `estimate` when a new one is there."""
    return _Streamed(Stream(service.watch, study.name, study))


@router.get("/export", responses={200: {"content": exports.CONTENT}})
async def export(
    study: Results,
    service: ServiceOf,
    request: Request,
    format: Annotated[Literal["csv", "json", "parquet"], Query()] = "csv",
) -> Response:
    """Reports as (study, round, value), sorted by value within each round."""
    front.pay(service.rates, request.scope, EXPORT_COST)
    return _Streamed(exports.Export(service.store, study.name, format, service.exports))


@router.get("/evidence", responses={200: {"content": {"application/zip": {}}}})
async def show_evidence(study: Results, service: ServiceOf, request: Request) -> Response:
    """The Evidence, as `Evidence.from_bytes` reads it."""
    front.pay(service.rates, request.scope, EXPORT_COST)
    with service.exports.place():
        data = await run_in_threadpool(lambda: service.store.evidence(study.name).to_bytes())
    return Response(data, media_type="application/zip")


@router.get("/privacy")
def show_privacy(name: StudyName, service: ServiceOf) -> Response:
    """The privacy statement for machines."""
    return answer(statement.statement(service.store, name))


class _Streamed(Response):
    """An ASGI application in the place of a response."""

    def __init__(self, app: Stream | exports.Export) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
