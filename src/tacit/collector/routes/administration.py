"""What administrators do: make studies and polls, open, close and delete them, hand out invites."""

from __future__ import annotations

import hashlib
import secrets

from fastapi import APIRouter
from fastapi.responses import Response

from tacit.collector.routes.bodies import InvitesBody, PollBody, StudyBody
from tacit.collector.routes.common import (
    HasKey,
    Key,
    PollName,
    ServiceOf,
    StudyName,
    answer,
    poll_json,
    study_json,
)
from tacit.collector.settings import PollSettings, StudySettings

TOKEN_BYTES = 16
router = APIRouter(prefix="/v1")


@router.get("/studies")
def list_studies(service: ServiceOf, key: HasKey) -> Response:
    """The listed studies; with the key all of them."""
    return answer({"studies": [study_json(study) for study in service.store.studies(hidden=key)]})


@router.post("/studies", status_code=201, dependencies=[Key])
def create_study(body: StudyBody, service: ServiceOf) -> Response:
    """Make a study."""
    # What is left out, or null, has the default that the settings give it.
    fields = body.model_dump(exclude_none=True)
    return answer(study_json(service.store.create_study(StudySettings.read(fields))), 201)


@router.get("/studies/{study}")
def show_study(name: StudyName, service: ServiceOf) -> Response:
    """Settings, state, number of reports, head of the chain."""
    return answer(study_json(service.store.study(name)))


@router.post("/studies/{study}/open", dependencies=[Key])
def open_study(name: StudyName, service: ServiceOf) -> Response:
    """Let a draft take reports."""
    return answer(study_json(service.store.open_study(name)))


@router.post("/studies/{study}/close", dependencies=[Key])
def close_study(name: StudyName, service: ServiceOf) -> Response:
    """Take no more reports, for good."""
    return answer(study_json(service.store.close_study(name)))


@router.delete("/studies/{study}", status_code=204, dependencies=[Key])
def delete_study(name: StudyName, service: ServiceOf) -> Response:
    """Delete reports, rounds and estimates."""
    service.store.delete_study(name)
    return Response(status_code=204)


@router.post("/studies/{study}/invites", dependencies=[Key])
def invite(name: StudyName, body: InvitesBody, service: ServiceOf) -> Response:
    """Tokens, each good for one report; shown this once."""
    tokens, hashes = _tokens(body.count)
    service.store.add_invites(name, hashes)
    return answer({"invites": tokens})


@router.get("/polls")
def list_polls(service: ServiceOf, key: HasKey) -> Response:
    """The polls all of whose studies are listed; with the key all polls."""
    polls = service.store.polls()
    shown = [poll for poll in polls if key or all(study.settings.listed for study in poll.studies)]
    return answer({"polls": [poll_json(poll) for poll in shown]})


@router.post("/polls", status_code=201, dependencies=[Key])
def create_poll(body: PollBody, service: ServiceOf) -> Response:
    """Make a poll of studies that are there."""
    return answer(poll_json(service.store.create_poll(PollSettings.read(body.model_dump()))), 201)


@router.get("/polls/{poll}")
def show_poll(name: PollName, service: ServiceOf) -> Response:
    """Title and studies, in order, and the sum of their epsilon."""
    return answer(poll_json(service.store.poll(name)))


@router.delete("/polls/{poll}", status_code=204, dependencies=[Key])
def delete_poll(name: PollName, service: ServiceOf) -> Response:
    """Delete a poll; its studies stay."""
    service.store.delete_poll(name)
    return Response(status_code=204)


@router.post("/polls/{poll}/invites", dependencies=[Key])
def invite_to_poll(name: PollName, body: InvitesBody, service: ServiceOf) -> Response:
    """Tokens, each good for one report to each of the poll's studies."""
    tokens, hashes = _tokens(body.count)
    service.store.add_poll_invites(name, hashes)
    return answer({"invites": tokens})


def _tokens(count: int) -> tuple[list[str], list[bytes]]:
    tokens = [secrets.token_urlsafe(TOKEN_BYTES) for _ in range(count)]
    return tokens, [hashlib.sha256(token.encode("ascii")).digest() for token in tokens]
