"""The description of the routes for machines: what FastAPI knows, the raw routes, and what each answer looks like."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from tacit.collector.routes.common import NAME, STUDY_ROUTE

TEXT = {"type": "string"}
HEX = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
HOUR = {"type": "string", "pattern": "^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:00Z$"}
COUNT = {"type": "integer", "minimum": 0}


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": required | optional}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": _ref(name)}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _message(kind: str, **fields: Any) -> dict[str, Any]:
    return _object({"type": {"const": kind}, "version": {"const": "1"}, **fields}) | {
        "additionalProperties": False,
        "description": "Travels in its one canonical form, see the reference of messages.",
    }


SCHEMAS: dict[str, Any] = {
    "Problem": _object(
        {"type": TEXT, "title": TEXT, "status": COUNT, "code": TEXT, "detail": TEXT, "hint": TEXT},
        argument=_or_null(TEXT),
    ),
    "Report": _message(
        "report",
        id={"type": "string", "pattern": "^[0-9a-f]{32}$"},
        study={"type": "string", "pattern": NAME},
        round=HEX,
        value={"anyOf": [TEXT, {"type": "array", "items": TEXT}]},
    ),
    "Receipt": _message("receipt", report={"type": "string", "pattern": "^[0-9a-f]{32}$"}, head=HEX),
    "Round": _message(
        "round",
        study={"type": "string", "pattern": NAME},
        question={"type": "object"},
        number=TEXT,
        channel={"type": "object"},
        previous=_or_null(HEX),
    ),
    "Study": _object(
        {
            "name": {"type": "string", "pattern": NAME},
            "question": _object({"id": TEXT, "text": TEXT}),
            "epsilon": TEXT,
            "policy": TEXT,
            "model": _or_null(TEXT),
            "expected": COUNT,
            "access": {"enum": ["open", "invite"]},
            "results": {"enum": ["public", "key"]},
            "listed": {"type": "boolean"},
            "origins": {"type": "array", "items": TEXT},
            "retention_days": _or_null(COUNT),
            "state": {"enum": ["draft", "open", "closed"]},
            "created": HOUR,
            "closed": _or_null(HOUR),
            "n": COUNT,
            "rounds": COUNT,
            "head": HEX,
            "estimates": COUNT,
            "purged": {"type": "boolean"},
        }
    ),
    "Poll": _object(
        {
            "name": {"type": "string", "pattern": NAME},
            "title": TEXT,
            "epsilon": TEXT,
            "studies": _list("Study"),
        }
    ),
    "Studies": _object({"studies": _list("Study")}),
    "Polls": _object({"polls": _list("Poll")}),
    "Invites": _object({"invites": {"type": "array", "items": TEXT}}),
    "Service": _object({"service": TEXT, "protocols": {"type": "array", "items": TEXT}, "release": TEXT}),
    "Health": _object({"status": {"const": "ok"}}),
    "Estimate": {"type": "object"},
    "Statement": _object(
        {
            "study": TEXT,
            "state": TEXT,
            "epsilon": TEXT,
            "odds": {"type": "number"},
            "unit": TEXT,
            "loss": {"type": "number"},
            "certified": {"type": "boolean"},
            "stored": {"type": "array", "items": TEXT},
            "not_stored": {"type": "array", "items": TEXT},
            "actions": {"type": "array", "items": _object({"hour": HOUR, "action": TEXT})},
        }
    ),
}
JSON_ANSWERS = {
    ("/v1", "get"): "Service",
    ("/v1/health", "get"): "Health",
    ("/v1/studies", "get"): "Studies",
    ("/v1/studies", "post"): "Study",
    ("/v1/studies/{study}", "get"): "Study",
    ("/v1/studies/{study}/open", "post"): "Study",
    ("/v1/studies/{study}/close", "post"): "Study",
    ("/v1/studies/{study}/invites", "post"): "Invites",
    ("/v1/studies/{study}/round", "get"): "Round",
    ("/v1/studies/{study}/estimate", "get"): "Estimate",
    ("/v1/studies/{study}/privacy", "get"): "Statement",
    ("/v1/polls", "get"): "Polls",
    ("/v1/polls", "post"): "Poll",
    ("/v1/polls/{poll}", "get"): "Poll",
    ("/v1/polls/{poll}/invites", "post"): "Invites",
}
PROBLEM = {
    "description": "A problem document (RFC 9457); `code` is stable.",
    "content": {"application/problem+json": {"schema": _ref("Problem")}},
}
LINES = {"application/x-ndjson": {"schema": TEXT}}


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": NAME}}


def _raw() -> dict[str, Any]:
    """The routes that are not FastAPI's."""
    receipt = {"application/json": {"schema": _ref("Receipt")}}
    invite = {
        "name": "Tacit-Invite",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
    }
    report = {
        "summary": "Hand in one report",
        "operationId": "report",
        "parameters": [_in_path("study"), invite],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref("Report")}}},
        "responses": {
            "201": {"description": "It is stored.", "content": receipt},
            "200": {"description": "It was stored before.", "content": receipt},
        },
    }
    batch = {
        "summary": "Hand in many reports",
        "operationId": "batch",
        "parameters": [_in_path("study")],
        "requestBody": {"required": True, "content": LINES},
        "responses": {
            "200": {"description": "For each line, in order, a Receipt or a problem.", "content": LINES}
        },
    }
    return {f"{STUDY_ROUTE}/reports": {"post": report}, f"{STUDY_ROUTE}/batches": {"post": batch}}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=__doc__, routes=app.routes)
        made["paths"] |= _raw()
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        schemas |= SCHEMAS
        made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, operations in made["paths"].items():
            for method, operation in operations.items():
                _complete(path, method, operation)
        app.openapi_schema = made
    return app.openapi_schema


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    """Give an operation its answers: what it says, 304 where it has a tag, and one shape for all that goes wrong."""
    answers = operation["responses"]
    answers.pop("422", None)
    name = JSON_ANSWERS.get((path, method))
    if name is not None:
        code = next(code for code in answers if code.startswith("2"))
        answers[code]["content"] = {"application/json": {"schema": _ref(name)}}
    if path.endswith("/rounds"):
        answers["200"]["content"] = LINES
    if path.endswith(("/round", "/estimate")):
        answers["304"] = {"description": "The client has it."}
    for kind in ("text/event-stream", "application/zip", "text/csv"):
        if kind in answers.get("200", {}).get("content", {}) and kind != "text/csv":
            answers["200"]["content"].pop("application/json", None)
    administers = (method != "get" and "/reports" not in path and "/batches" not in path) or path in (
        "/v1/studies",
        "/v1/polls",
    )
    if administers or path.rpartition("/")[2] in ("estimate", "events", "export", "evidence"):
        operation["security"] = [{"key": []}] if method != "get" else [{}, {"key": []}]
    answers["default"] = PROBLEM
