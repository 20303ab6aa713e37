"""One shape for every error: a problem document (RFC 9457).

A refusal anywhere in tacit is a TacitError with a code; over HTTP it becomes a status and this object. What is no
TacitError is a fault of the collector: the client learns `server_failed` and nothing else, the log learns where it
happened, and neither learns what was in the request, because the text of an error may hold it.

>>> problem(TacitError("study_unknown", "there is no study tea", argument="study", hint="check the name"))["status"]
404
"""

from __future__ import annotations

import json
import logging
import re
import traceback
from pathlib import Path
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tacit.errors import TacitError
from tacit_client.errors import CODES

log = logging.getLogger("tacit.collector")
MEDIA_TYPE = "application/problem+json"
INVALID = 422  # everything that a client wrote and that can be read
STATUS = {
    "message_malformed": 400,
    "message_not_canonical": 400,
    "version_unknown": 400,
    "key_wrong": 401,
    "invite_required": 401,
    "invite_used": 403,
    "study_unknown": 404,
    "poll_unknown": 404,
    "round_unknown": 404,
    "route_unknown": 404,
    "estimate_unknown": 404,
    "method_unknown": 405,
    "name_taken": 409,
    "study_closed": 409,
    "report_conflict": 409,
    "report_erased": 410,
    "round_archived": 410,
    "message_too_large": 413,
    "media_type_unknown": 415,
    "rate_limited": 429,
    "server_failed": 500,
    "posterior_lost": 500,
    "dependency_missing": 500,
    "archive_damaged": 500,
    "store_unusable": 503,
    "archive_unusable": 503,
    "server_busy": 503,
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
SHOWN = 8  # innermost places of an error in the log
RETRY = "5"  # seconds, where nothing better is known
HINTS = {
    "study_unknown": "check the name of the study",
    "study_closed": "keep the report if you like; it is not taken any more",
    "round_unknown": "fetch the current round",
    "round_archived": "nothing: if the report was accepted before, it is counted; it is not taken any more",
    "report_impossible": "send what the channel of the round made, unchanged",
    "report_conflict": "send a report unchanged; never use an id twice",
    "report_erased": "nothing: its owner had it erased",
    "invite_required": "send the token of the invite in the header Tacit-Invite",
    "invite_used": "ask for another invite",
    "server_failed": "try again later; nothing is half done",
}


class Busy(TacitError):
    """A refusal that says when to come back."""

    def __init__(
        self, code: str, message: str, *, seconds: float, hint: str = "wait as Retry-After says"
    ) -> None:
        super().__init__(code, message, hint=hint)
        self.seconds = max(1, int(seconds + 0.999))


def status(code: str) -> int:
    """The HTTP status of a code."""
    return STATUS.get(code, INVALID)


def problem(error: TacitError) -> dict[str, Any]:
    """The problem document of a refusal."""
    return {
        "type": f"urn:tacit:error:{error.code}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": status(error.code),
        "code": error.code,
        "detail": error.message,
        "argument": error.argument,
        "hint": error.hint,
    }


def plain(code: str, argument: str | None = None) -> TacitError:
    """A refusal in the words of the code itself."""
    text = CODES[code].removesuffix(".")
    return TacitError(
        code, text[0].lower() + text[1:], argument=argument, hint=HINTS.get(code, "see the errors' reference")
    )


def encode(error: TacitError) -> bytes:
    """The document as one line of ASCII JSON."""
    return json.dumps(problem(error), separators=(",", ":")).encode("ascii")


def headers(error: TacitError) -> dict[str, str]:
    """What goes with it: when to come back, how to identify oneself, an end to a body that nobody reads."""
    found: dict[str, str] = {}
    if isinstance(error, Busy):
        found["Retry-After"] = str(error.seconds)
    elif status(error.code) == 503:
        found["Retry-After"] = RETRY
    if error.code == "key_wrong":
        found["WWW-Authenticate"] = "Bearer"
    elif error.code == "invite_required":
        found["WWW-Authenticate"] = "Tacit-Invite"
    elif error.code == "message_too_large":
        found["Connection"] = "close"
    return found


def response(error: TacitError) -> Response:
    """The answer to a request that is refused."""
    return Response(encode(error), status(error.code), headers(error), MEDIA_TYPE)


def failed(error: BaseException) -> TacitError:
    """Note where an error of the collector happened, without what it says, and what the client is told instead."""
    code = error.code if isinstance(error, TacitError) else "server_failed"
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[: -SHOWN - 1 : -1])
    cause = f" from {type(error.__cause__).__name__}" if error.__cause__ else ""
    log.error("%s: %s%s at %s", code, type(error).__name__, cause, places)
    return plain(code)


def told(error: TacitError) -> TacitError:
    """What a client is told of a refusal: of the collector's own troubles only the code."""
    return failed(error) if status(error.code) >= 500 and not isinstance(error, Busy) else error


async def on_refusal(request: Request, error: Exception) -> Response:
    """Handler of TacitError."""
    assert isinstance(error, TacitError)
    return response(told(error))


async def on_http(request: Request, error: Exception) -> Response:
    """Handler of what starlette and FastAPI raise: no such path, no such method, a body that cannot be read."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, TacitError):  # raised while the body was read, and wrapped
        return response(told(error.__cause__))
    codes = {404: "route_unknown", 405: "method_unknown", 413: "message_too_large", 415: "media_type_unknown"}
    code = codes.get(error.status_code, "message_malformed" if error.status_code < 500 else "server_failed")
    answer = response(plain(code))
    if error.headers and "Allow" in error.headers:
        answer.headers["Allow"] = error.headers["Allow"]
    return answer


async def on_invalid(request: Request, error: Exception) -> Response:
    """Handler of JSON that pydantic refuses: the first thing that is wrong with it."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return response(
            TacitError(
                "message_malformed", "the body is not JSON", argument="body", hint="send JSON in UTF-8"
            )
        )
    where = [str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")]
    name = ".".join(part for part in where if part.isprintable())[:80] or "body"
    code = {"missing": "field_missing", "extra_forbidden": "field_unknown"}.get(
        first["type"], "field_invalid"
    )
    return response(
        TacitError(
            code, f"{name}: {first['msg'][:200]}", argument=name, hint="see docs/reference/protocol.md"
        )
    )


def require_name(name: str, kind: str) -> str:
    """A name of a study or a poll, as it stands in a path; any text that is none names nothing that is there."""
    if _NAME.match(name):
        return name
    code = "study_unknown" if kind == "studies" else "poll_unknown"
    raise TacitError(
        code,
        "the path holds no name",
        argument="study" if kind == "studies" else "poll",
        hint="names are 1 to 64 letters, digits, '.', '_' or '-'",
    )
