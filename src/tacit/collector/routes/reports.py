"""The way in: reports, one by one and in batches, as raw ASGI routes beside FastAPI's, because they are asked most.

Reports and receipts travel as canonical bytes, which no JSON library in between may touch. A report is on disk
before its receipt is sent.
"""

from __future__ import annotations

import hashlib
import re

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from tacit.collector import front, problems
from tacit.collector.intake import Outcome, Submission, read_submission
from tacit.collector.routes.common import Service
from tacit.errors import TacitError

MAX_LINES = 1000
NDJSON = b"application/x-ndjson"
_TOKEN = re.compile(rb"[\x21-\x7e]{1,200}\Z")


class Reports:
    """`POST /v1/studies/{study}/reports`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service: Service = scope["app"].state.service
        study = problems.require_name(scope["path_params"]["study"], "studies")
        token = _token(scope)
        submission = read_submission(await _body(receive), study, token)
        (outcome,) = await service.ingest.submit([submission])
        if outcome.code is not None:
            raise problems.plain(outcome.code, "report")
        body = receipt(submission, outcome)
        await _send(send, 201 if outcome.new else 200, b"application/json", body)


class Batches:
    """`POST /v1/studies/{study}/batches`: each line has its own outcome."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service: Service = scope["app"].state.service
        study = problems.require_name(scope["path_params"]["study"], "studies")
        lines = (await _body(receive)).removesuffix(b"\n").split(b"\n")
        if lines == [b""] or len(lines) > MAX_LINES:
            raise TacitError(
                "message_malformed" if lines == [b""] else "message_too_large",
                "the batch is empty" if lines == [b""] else f"the batch has {len(lines)} lines",
                argument="body",
                hint=f"send 1 to {MAX_LINES} canonical reports, one a line",
            )
        front.pay(service.rates, scope, len(lines) - 1)
        read = [_read(line, study) for line in lines]
        good = [each for each in read if isinstance(each, Submission)]
        outcomes = iter(await service.ingest.submit(good) if good else [])
        out = b"\n".join(
            problems.encode(each) if isinstance(each, TacitError) else _line(each, next(outcomes))
            for each in read
        )
        await _send(send, 200, NDJSON, out + b"\n")


def receipt(submission: Submission, outcome: Outcome) -> bytes:
    """The canonical Receipt: its fields are of fixed form and need no escapes."""
    return (
        f'{{"head":"{outcome.head}","report":"{submission.id.hex()}","type":"receipt","version":"1"}}'
    ).encode("ascii")


def _line(submission: Submission, outcome: Outcome) -> bytes:
    if outcome.code is None:
        return receipt(submission, outcome)
    return problems.encode(problems.plain(outcome.code, "report"))


def _read(line: bytes, study: str) -> Submission | TacitError:
    try:
        return read_submission(line, study)
    except TacitError as error:
        return error


def _token(scope: Scope) -> bytes | None:
    """The SHA-256 of the invite's token: the token itself goes no further."""
    given = [value for name, value in scope["headers"] if name == b"tacit-invite"]
    if not given:
        return None
    if len(given) > 1 or not _TOKEN.match(given[0]):
        raise problems.plain("invite_used", "tacit-invite")
    return hashlib.sha256(given[0]).digest()


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _send(send: Send, status: int, media_type: bytes, body: bytes) -> None:
    headers = [(b"content-type", media_type), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
