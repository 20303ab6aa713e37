"""What every request passes before a route sees it, and every answer after: one ASGI application around another.

    request   meant for this host? -> paid for? -> other origin allowed? -> type of the body
              -> no more bytes than the route takes -> route
    answer    <- security headers <- allowed origin <- any error as a problem document

A study names the origins whose pages may use its routes; to all others, and for all administration, the browser's
same-origin policy stays as it is. Nothing that identifies a client is written anywhere.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, MutableMapping
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.collector import limits, problems
from tacit.collector.options import Options
from tacit.errors import TacitError
from tacit_client import canonical

BATCH_BYTES = 1 << 22
BATCH_TYPES = ("application/x-ndjson", "application/jsonl", "application/json")
JSON_TYPES = ("application/json",)
BODY_UNIT = 1 << 14  # bytes of a body that cost as much as a request
ORIGINS_KEPT = 5.0  # seconds that a change of a study's origins takes to be seen
ALLOWED = {
    b"access-control-allow-methods": b"GET, POST, DELETE",
    b"access-control-allow-headers": b"content-type, if-none-match, tacit-invite",
    b"access-control-expose-headers": b"etag, retry-after",
    b"access-control-max-age": b"600",
}
# Pages bring their own policy; everything else is data, which a browser shall neither run, frame nor guess at.
HEADERS = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
_READ = {b"content-length", b"content-type", b"host", b"origin", b"transfer-encoding", b"x-forwarded-for"}
_READ |= {b"access-control-request-method"}


class HasStudies(Protocol):
    """What is asked of the store here."""

    def study(self, name: str) -> Any: ...

    def poll(self, name: str) -> Any: ...


class Front:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, store: HasStudies, options: Options, rates: limits.RateLimit) -> None:
        self._app = app
        self._store = store
        self._options = options
        self._rates = rates
        self._origins: dict[tuple[str, str], tuple[float, frozenset[str]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        heads = _heads(scope["headers"])
        answer = _Answer(send)
        try:
            path: str = scope["path"]
            if self._options.here_only and not _is_here(heads):
                raise _elsewhere()
            if path.startswith("/v1"):
                client = limits.address(
                    scope["client"], heads.get(b"x-forwarded-for", []), self._options.trust_proxy
                )
                scope["tacit.client"] = self._rates.client(client)
                self.pay(scope, 1.0)
                answer.extra = await self._cross_origin(path, heads)
                allowed = b"access-control-allow-origin" in answer.extra
                if allowed and scope["method"] == "OPTIONS" and b"access-control-request-method" in heads:
                    await answer(
                        {"type": "http.response.start", "status": 204, "headers": list(ALLOWED.items())}
                    )
                    await answer({"type": "http.response.body", "body": b""})
                    return
                receive = self._bounded(scope, heads, receive)
            await self._app(scope, receive, answer)
        except ClientDisconnect:
            return  # nobody is there to be told
        except Exception as error:
            if not answer.started:
                await problems.response(_refusal(error))(scope, receive, answer)
            else:
                problems.failed(error)

    def pay(self, scope: MutableMapping[str, Any], cost: float) -> None:
        """Charge the client of a request, or refuse it."""
        pay(self._rates, scope, cost)

    def _bounded(self, scope: Scope, heads: dict[bytes, list[bytes]], receive: Receive) -> Receive:
        """`receive`, with the type of the body checked now and its size as it comes."""
        length = b"".join(heads.get(b"content-length", []))
        if length in (b"", b"0") and b"transfer-encoding" not in heads:
            return receive
        batch = scope["path"].endswith("/batches")
        limit = BATCH_BYTES if batch else canonical.MAX_BYTES
        if length.isdigit() and int(length[:20]) > limit:
            raise _too_large(limit)
        media = b"".join(heads.get(b"content-type", [])).partition(b";")[0].strip().lower().decode("latin-1")
        takes = BATCH_TYPES if batch else JSON_TYPES
        if media not in takes:
            raise TacitError(
                "media_type_unknown",
                "the body has another type than this route reads",
                argument="content-type",
                hint=f"send Content-Type: {takes[0]}",
            )
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            if message["type"] == "http.request":
                before, received = received, received + len(message.get("body", b""))
                if received > limit:
                    raise _too_large(limit)
                units = received // BODY_UNIT - before // BODY_UNIT
                if units:
                    self.pay(scope, units)
            return message

        return counted

    async def _cross_origin(self, path: str, heads: dict[bytes, list[bytes]]) -> dict[bytes, bytes]:
        """The headers for a page of another origin, if the study allows it."""
        origin = b"".join(heads.get(b"origin", [])).decode("latin-1")
        parts = path.split("/")
        if not origin or len(parts) < 4 or parts[2] not in ("studies", "polls"):
            return {}
        vary = {b"vary": b"origin"}
        if origin.partition("://")[2] == b"".join(heads.get(b"host", [])).decode("latin-1"):
            return vary
        if origin in await self._allowed(parts[2], parts[3]):
            return vary | {b"access-control-allow-origin": origin.encode("latin-1"), **_exposed()}
        return vary

    async def _allowed(self, kind: str, name: str) -> frozenset[str]:
        """The origins of a study, or those that all studies of a poll have in common; known for a few seconds."""
        now = time.monotonic()
        kept = self._origins.get((kind, name))
        if kept is not None and now - kept[0] < ORIGINS_KEPT:
            return kept[1]
        try:
            problems.require_name(name, kind)
            found = await run_in_threadpool(self._look_up, kind, name)
        except TacitError:
            return frozenset()
        if len(self._origins) > 10_000:
            self._origins.clear()
        self._origins[kind, name] = (now, found)
        return found

    def _look_up(self, kind: str, name: str) -> frozenset[str]:
        studies = [self._store.study(name)] if kind == "studies" else self._store.poll(name).studies
        sets = [frozenset(study.settings.origins) for study in studies]
        return frozenset.intersection(*sets) if sets else frozenset()


class _Answer:
    """`send`, which gives every answer its headers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False
        self.extra: dict[bytes, bytes] = {}

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = list(message.get("headers", ()))
            names = {name for name, _ in headers}
            headers += [pair for pair in HEADERS.items() if pair[0] not in names]
            headers += [pair for pair in self.extra.items() if pair[0] not in names]
            message = {**message, "headers": headers}
        await self._send(message)


def pay(rates: limits.RateLimit, scope: MutableMapping[str, Any], cost: float) -> None:
    """Charge the client of a request, or refuse it."""
    late = rates.charge(scope["tacit.client"], cost)
    if late:
        raise problems.Busy("rate_limited", "this client asked too often", seconds=late)


def _heads(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name in _READ:
            found.setdefault(name, []).append(value)
    return found


def _is_here(heads: dict[bytes, list[bytes]]) -> bool:
    """Whether a request names this machine by itself, so that no page of another name can have sent it."""
    host = b"".join(heads.get(b"host", [])).decode("latin-1").lower()
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name in ("", "localhost", "[::1]") or re.fullmatch(r"127(\.[0-9]{1,3}){3}", name) is not None


def _elsewhere() -> TacitError:
    return TacitError(
        "route_unknown",
        "this collector listens to its own machine and was asked under another name",
        argument="host",
        hint="ask for 127.0.0.1; behind a proxy start it with --trust-proxy",
    )


def _exposed() -> dict[bytes, bytes]:
    name = b"access-control-expose-headers"
    return {name: ALLOWED[name]}


def _refusal(error: Exception) -> TacitError:
    if isinstance(error, TacitError):
        return problems.told(error)
    return problems.failed(error)


def _too_large(limit: int) -> TacitError:
    return TacitError("message_too_large", f"the body is longer than {limit} bytes", hint="send less at once")
