"""What routes share: the parts of the service, who may do what, names in paths, JSON that answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from fastapi.responses import Response

from tacit.collector import problems
from tacit.collector.events import Watch
from tacit.collector.exports import Room
from tacit.collector.ingest import Ingest
from tacit.collector.limits import RateLimit
from tacit.collector.options import Options
from tacit.collector.settings import PollRecord, StudyRecord
from tacit.collector.store import Store
from tacit_client import check

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
STUDY_ROUTE = "/v1/studies/{study}"


@dataclass(frozen=True)
class Service:
    """The parts that a request may need."""

    store: Store
    ingest: Ingest
    options: Options
    rates: RateLimit
    watch: Watch
    exports: Room
    kept: dict[str, Any] = field(default_factory=dict)  # what is worth keeping for a moment


def service(request: Request) -> Service:
    """The service that the application was made with."""
    found: Service = request.app.state.service
    return found


def has_key(request: Request) -> bool:
    """Whether the request carries the administrator's key; a wrong one is refused, and not just none."""
    given = request.headers.getlist("authorization")
    if not given:
        return False
    scheme, _, key = given[0].partition(" ")
    if len(given) == 1 and scheme.lower() == "bearer" and service(request).options.knows(key.strip()):
        return True
    raise problems.plain("key_wrong", "authorization")


def require_key(request: Request) -> None:
    """Refuse whoever is not the administrator."""
    if not has_key(request):
        raise problems.plain("key_wrong", "authorization")


def study_name(study: Annotated[str, Path(json_schema_extra={"pattern": NAME})]) -> str:
    """The name of a study in a path."""
    return problems.require_name(study, "studies")


def poll_name(poll: Annotated[str, Path(json_schema_extra={"pattern": NAME})]) -> str:
    """The name of a poll in a path."""
    return problems.require_name(poll, "polls")


def results_of(request: Request, name: Annotated[str, Depends(study_name)]) -> StudyRecord:
    """The study whose results are asked for, where the asker may see them."""
    study = service(request).store.study(name)
    if study.settings.results != "public" and not has_key(request):
        raise problems.plain("key_wrong", "authorization")
    return study


ServiceOf = Annotated[Service, Depends(service)]
StudyName = Annotated[str, Depends(study_name)]
PollName = Annotated[str, Depends(poll_name)]
HasKey = Annotated[bool, Depends(has_key)]
Results = Annotated[StudyRecord, Depends(results_of)]
Key = Depends(require_key)


def answer(content: object, status: int = 200) -> Response:
    """Plain JSON."""
    return Response(json.dumps(content, separators=(",", ":")), status, media_type="application/json")


def tagged(request: Request, tag: str, content: str, media_type: str = "application/json") -> Response:
    """Something that a client may ask for again: 304 when it has it."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
    known = [
        part.strip().removeprefix("W/").strip('"')
        for part in request.headers.get("if-none-match", "").split(",")
    ]
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def study_json(study: StudyRecord) -> dict[str, Any]:
    """A study as the protocol shows it."""
    return study.settings.message() | {
        "state": study.state,
        "created": study.created,
        "closed": study.closed,
        "n": study.n,
        "rounds": study.rounds,
        "head": study.head,
        "estimates": study.estimates,
        "purged": study.purged,
    }


def poll_json(poll: PollRecord) -> dict[str, Any]:
    """A poll as the protocol shows it."""
    return {
        "name": poll.name,
        "title": poll.title,
        "epsilon": check.format_decimal(poll.epsilon),
        "studies": [study_json(study) for study in poll.studies],
    }
