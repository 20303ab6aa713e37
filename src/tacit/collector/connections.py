"""Connections that nobody uses well are ended: uvicorn's protocol with the bounds that it lacks.

| bound | against |
| --- | --- |
| seconds for the head of a request, and for its body | half requests that hold a connection for ever |
| bytes of a head, and of a whole request | headers without an end |
| seconds that an answer may wait to be read | readers that do not read |
| connections in all, and from one address | clients that open thousands; said politely, with a 503 |

What cannot be read as HTTP gets a problem document as well. When the server stops, those who listen to events are
told first.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tacit.collector import problems
from tacit.collector.front import BATCH_BYTES, HEADERS
from tacit.collector.limits import address
from tacit.collector.options import Options
from tacit.errors import TacitError

HEAD_BYTES = 1 << 15
REQUEST_BYTES = 2 * BATCH_BYTES  # a body may come in small chunks
WRITE_SECONDS = 30.0
LINGER_SECONDS = 1.0


class Connection(HttpToolsProtocol):
    """One connection. What all share lies in the state of the application's lifespan."""

    _in_head = False
    _received = 0  # bytes of this request so far
    _head = 0  # bytes of its head so far, and of its trailers
    _refused = False
    _timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _peer = ""

    @property
    def _options(self) -> Options:
        found: Options = self.app_state["options"]
        return found

    @property
    def _peers(self) -> Counter[str]:
        found: Counter[str] = self.app_state["peers"]
        return found

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _no_delay(transport)
        self._peer = address(self.client, [], False)
        self._peers[self._peer] += 1
        options = self._options
        crowded = not options.trust_proxy and self._peers[self._peer] > options.connections_each
        if crowded or len(self.connections) > options.connections:
            self._refuse(problems.Busy("server_busy", "too many connections", seconds=10))
        else:
            self._arm(options.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if self._write_timer is not None:
            self._write_timer.cancel()
        self._peers[self._peer] -= 1
        if not self._peers[self._peer]:
            del self._peers[self._peer]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused or self.transport.is_closing():
            return
        super().data_received(data)
        self._received += len(data)  # after a request that began in these bytes has set it to 0
        if self._received > (HEAD_BYTES if self._in_head else REQUEST_BYTES):
            self._refuse(problems.plain("message_too_large"))
        elif self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._arm(self._options.head_seconds)  # bytes that begin no request yet

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._received = self._head = 0
        self._arm(self._options.head_seconds)

    def on_url(self, url: bytes) -> None:
        self._measure(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._measure(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._arm(self._options.body_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._disarm()
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def send_400_response(self, msg: str) -> None:
        self._refuse(
            TacitError(
                "message_malformed", "this is not HTTP/1.1", hint="send requests as a library makes them"
            )
        )

    def shutdown(self) -> None:
        self.app_state["closing"]()
        super().shutdown()

    def _measure(self, more: int) -> None:
        self._head += more
        if self._head > HEAD_BYTES:
            self._refuse(problems.plain("message_too_large"))
            raise ValueError  # which ends the parser

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, self._late)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        self.transport.close()

    def _refuse(self, error: TacitError) -> None:
        """A problem document without a request, and the end of the connection.

        Bytes that nobody has read would make the system reset the connection, and the answer might be lost: so they
        are read for a moment, and dropped.
        """
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        body = problems.encode(error)
        headers: dict[Any, Any] = {
            **HEADERS,
            **{name.encode(): value.encode() for name, value in problems.headers(error).items()},
            b"Content-Type": problems.MEDIA_TYPE.encode(),
            b"Content-Length": b"%d" % len(body),
            b"Connection": b"close",
        }
        lines = b"".join(b"%s: %s\r\n" % pair for pair in headers.items())
        self.transport.write(STATUS_LINE[problems.status(error.code)] + lines + b"\r\n" + body)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._arm(LINGER_SECONDS)


def _no_delay(transport: asyncio.Transport) -> None:
    """Answers go out in two writes: without this the second may wait 40 ms for the client's acknowledgement."""
    connected = transport.get_extra_info("socket")
    if connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
