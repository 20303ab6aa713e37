"""What devices and witnesses ask: the service, its health, the rounds, the erasure of a report."""

from __future__ import annotations

import re
import time
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

import tacit
from tacit.collector import front
from tacit.collector.routes.common import ServiceOf, StudyName, answer, tagged
from tacit.errors import TacitError

ERASE_COST = 20.0  # requests that an erasure counts for: an id that never came is kept as well, for good
HEALTH_KEPT = 1.0  # seconds: asking for it often must not write often
REPORT = r"^[0-9a-f]{32}$"
_REPORT = re.compile(r"[0-9a-f]{32}\Z")
router = APIRouter(prefix="/v1")


@router.get("")
def show_service() -> Response:
    """What this is, and the versions of the protocol that it speaks."""
    return answer({"service": "tacit", "protocols": ["v1"], "release": tacit.__version__})


@router.get("/health")
def show_health(service: ServiceOf) -> Response:
    """200 when the store can be written, else 503."""
    seen = service.kept.get("health")
    if seen is None or time.monotonic() - seen > HEALTH_KEPT:
        service.store.check()
        service.kept["health"] = time.monotonic()
    return answer({"status": "ok"})


@router.get("/studies/{study}/round")
def show_round(name: StudyName, service: ServiceOf, request: Request) -> Response:
    """The current Round, canonical; `ETag` is its id."""
    found = service.store.round(name)
    return tagged(request, found.id, found.text)


@router.get("/studies/{study}/rounds")
def show_rounds(name: StudyName, service: ServiceOf) -> Response:
    """Every Round from number 0 on, one canonical message a line."""
    rounds = service.store.rounds(name)
    return Response("".join(f"{found.text}\n" for found in rounds), media_type="application/x-ndjson")


@router.delete("/studies/{study}/reports/{report}", status_code=204)
def erase_report(
    name: StudyName,
    report: Annotated[str, Path(json_schema_extra={"pattern": REPORT})],
    service: ServiceOf,
    request: Request,
) -> Response:
    """Erase a report for good; only its device knows its id."""
    if not _REPORT.match(report):
        raise TacitError(
            "field_invalid",
            "the path holds no id of a report",
            argument="report",
            hint="give the 32 hexadecimal digits of the report's id",
        )
    front.pay(service.rates, request.scope, ERASE_COST)
    service.store.erase(name, report)
    return Response(status_code=204)
