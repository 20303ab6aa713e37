"""A device talks to a collector over HTTP, and trusts nothing that it reads.

    collector = Collector("https://poll.example.org")
    report = device.answer(collector.round("office-2026"), answer)
    flush(device.store, collector.send)

Every request is a connection of its own, without cookies or a user agent, so that two requests of one device are not
tied together by it. What is read is bounded in size and in time. Redirects are followed inside the same origin only.
Plain `http` is for this machine, unless `plain_http=True` says that the network is trusted too.

What passes by itself (no answer, 429, 5xx) is tried again, later each time and not in step with others, as
`Retry-After` asks, and then raised as a TacitError. `Refused`, a TacitError too, is the collector's last word. A
device never shows what a server wrote about a refusal: only its code travels on.

>>> Collector("http://poll.example.org")
Traceback (most recent call last):
...
tacit_client.errors.TacitError: http to poll.example.org can be read and changed on the way [url]: use https, ...
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

from tacit_client import canonical, check
from tacit_client.errors import CODES, Refused, TacitError
from tacit_client.messages import Receipt, Report, Round, study_name

MAX_CHAIN = 1 << 26  # bytes of all rounds of a study
MAX_PLAIN = 1 << 24  # bytes of any other answer
MAX_PROBLEM = 1 << 16
MAX_WAIT = 60.0  # seconds: who is asked to wait longer tries again another time
FIRST_WAIT = 0.5
MAX_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
REPORT_TYPE = "application/json"
_INVITE = re.compile(r"[\x21-\x7e]{1,200}\Z")
_HOST = re.compile(r"[A-Za-z0-9.:_-]+\Z")


class Answer(NamedTuple):
    """What came back: status, headers in lower case, body."""

    status: int
    headers: dict[str, str]
    body: bytes


class Collector:
    """One collector, by its address. Safe for threads; nothing stays open between calls.

    `timeout` bounds one request from connect to last byte, in seconds; `attempts` how often a temporary failure is
    tried.
    """

    def __init__(
        self, url: str, *, timeout: float = 30.0, attempts: int = 4, plain_http: bool = False
    ) -> None:
        self.origin = _origin(url, plain_http)
        self.timeout = float(
            check.bounded(timeout, "timeout", lambda t: 0 < t <= 3600, "give seconds, at most 3600")
        )
        self.attempts = check.integer(attempts, "attempts", 1, 100)
        self._sleep: Callable[[float], None] = time.sleep

    @property
    def url(self) -> str:
        """The address, without a slash at the end."""
        return self.origin.geturl()

    def round(self, study: str) -> Round:
        """The current round of a study. It is read strictly; whether it is honest the device finds out."""
        path = f"/v1/studies/{study_name(study)}/round"
        return _read_round(self._try("GET", path, limit=canonical.MAX_BYTES).body, study)

    def rounds(self, study: str) -> list[Round]:
        """The whole chain of rounds, as this collector shows it here; `witness.read_chain` judges it."""
        path = f"/v1/studies/{study_name(study)}/rounds"
        body = self._try("GET", path, limit=MAX_CHAIN).body
        return [_read_round(line, study) for line in body.split(b"\n") if line]

    def send(self, report: Report, invite: str | None = None) -> Receipt:
        """Hand a report over: the receipt, or a TacitError. Sending the same one again is harmless."""
        headers = {"Content-Type": REPORT_TYPE}
        if invite is not None:
            headers["Tacit-Invite"] = _invite(invite)
        path = f"/v1/studies/{study_name(report.study)}/reports"
        body = report.to_json().encode("utf-8")
        answer = self._try("POST", path, body, headers, limit=canonical.MAX_BYTES)
        try:
            receipt = Receipt.from_json(answer.body)
        except TacitError as error:
            raise _unreachable(f"the receipt cannot be read ({error.code})") from None
        if receipt.report != report.id:
            raise TacitError(
                "receipt_mismatch",
                "the receipt names another report",
                argument="receipt",
                hint="the report stays in the outbox; send it again",
            )
        return receipt

    def erase(self, report: Report) -> None:
        """Have a report erased for good, where the study still holds it."""
        self._try("DELETE", f"/v1/studies/{study_name(report.study)}/reports/{report.id}", limit=MAX_PROBLEM)

    def call(self, method: str, path: str, body: object = None, key: str | None = None) -> Any:
        """Any other route: JSON in and JSON out, asked once. For administrators, who are shown what the server says."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        data = None
        if body is not None:
            data = json.dumps(body).encode("utf-8")
            headers["Content-Type"] = REPORT_TYPE
        for attempt in range(self.attempts):
            try:
                answer = self._once(method, path, data, headers, MAX_PLAIN)
                break
            except TacitError as error:
                # Nobody listens yet, so nothing was sent: perhaps the server is just starting.
                if not isinstance(error.__cause__, ConnectionRefusedError) or attempt == self.attempts - 1:
                    raise
                self._sleep(backoff(attempt))
        if not 200 <= answer.status < 300:
            raise refusal(answer, trusted=True)
        return _plain(answer.body) if answer.body else None

    def download(self, path: str, key: str | None = None, limit: int = MAX_CHAIN) -> bytes:
        """The bytes of a route, asked once."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        answer = self._once("GET", path, None, headers, limit)
        if answer.status != 200:
            raise refusal(answer, trusted=True)
        return answer.body

    def _try(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None, *, limit: int
    ) -> Answer:  # fmt: skip
        """Ask until there is a final outcome, or attempts run out."""
        for attempt in range(self.attempts):
            wait = backoff(attempt)
            try:
                answer = self._once(method, path, body, headers or {}, limit)
                if 200 <= answer.status < 300:
                    return answer
                error = refusal(answer)
                wait = max(wait, retry_after(answer))
            except TacitError as failed:
                error = failed
            if isinstance(error, Refused) or wait > MAX_WAIT or attempt == self.attempts - 1:
                raise error
            self._sleep(wait)
        raise AssertionError("attempts is at least 1")

    def _once(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], limit: int
    ) -> Answer:
        """One request, with redirects inside the origin."""
        target = self.origin.path + path
        for _ in range(MAX_REDIRECTS + 1):
            try:
                answer = self._exchange(method, target, body, headers, limit)
            except (OSError, http.client.HTTPException, ValueError) as error:
                if isinstance(error, TacitError):
                    raise
                raise _unreachable(f"no answer ({type(error).__name__})") from error
            if answer.status not in REDIRECTS:
                return answer
            if method != "GET" and answer.status not in (307, 308):
                raise _unreachable("the server redirects what should be kept")
            target = _same_origin(self.origin, target, answer.headers.get("location", ""))
        raise _unreachable("the server redirects in circles")

    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str], limit: int
    ) -> Answer:
        end = time.monotonic() + self.timeout
        connection = self._connection()
        try:
            connection.connect()
            with _deadline(connection.sock, end - time.monotonic()) as deadline:
                connection.request(method, target, body, headers)
                response = connection.getresponse()
                most = limit if 200 <= response.status < 300 else MAX_PROBLEM
                data = _read(response, most)
                if deadline.over:  # what was cut may look like a short answer
                    raise _unreachable("the answer took too long")
                return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, data)
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        host = self.origin.hostname or ""
        if self.origin.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, self.origin.port, timeout=self.timeout, context=context)
        return http.client.HTTPConnection(host, self.origin.port, timeout=self.timeout)


class _deadline:  # noqa: N801  used as a block, like suppress
    """Cut a connection when its time is over: a time-out of the socket bounds each read, not their sum."""

    def __init__(self, connected: socket.socket, seconds: float) -> None:
        self.over = False
        self._socket = connected
        self._timer = threading.Timer(max(seconds, 0), self._cut)
        self._timer.daemon = True

    def _cut(self) -> None:
        self.over = True
        with suppress(OSError):  # the plain socket's method, below TLS
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def __enter__(self) -> _deadline:
        self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()


def backoff(attempt: int) -> float:
    """Seconds to wait after a failed attempt: twice as long each time, times a random number from 1/2 to 1."""
    jitter = 0.5 + int.from_bytes(os.urandom(4), "big") / 2**33
    return float(min(FIRST_WAIT * 2**attempt, MAX_WAIT) * jitter)


def retry_after(answer: Answer) -> float:
    """The seconds of a Retry-After header; a date, or anything else, is none."""
    text = answer.headers.get("retry-after", "")
    return float(text) if re.fullmatch(r"[0-9]{1,6}", text) else 0.0


def refusal(answer: Answer, trusted: bool = False) -> TacitError:
    """What to raise for an answer that is no success: `Refused` if it is final.

    Only a problem document of the protocol is final: an error page of something in between is no word of the collector.
    """
    problem: object = None
    if answer.headers.get("content-type", "").partition(";")[0].strip() == "application/problem+json":
        with suppress(ValueError, RecursionError):
            problem = json.loads(answer.body)
    if not isinstance(problem, dict) or not isinstance(problem.get("code"), str):
        return _unreachable(f"the answer has status {answer.status} and is none of the protocol's")
    code = problem["code"]
    later = answer.status == 429 or answer.status >= 500
    if code not in CODES:
        code = "server_failed" if later else "server_refused"
    kind, hint = (
        (TacitError, "try again later")
        if later
        else (Refused, "see what the code means; it is not sent again")
    )
    if trusted:
        argument = problem.get("argument")
        named = argument if isinstance(argument, str) and argument.isidentifier() else None
        detail, help_ = _printable(problem.get("detail")), _printable(problem.get("hint"))
        return kind(code, detail or CODES[code], argument=named, hint=help_ or hint)
    meaning = CODES[code][0].lower() + CODES[code][1:].removesuffix(".")
    return kind(code, f"the collector answers with status {answer.status}: {meaning}", hint=hint)


def _printable(value: object, limit: int = 500) -> str:
    """What a server wrote, without anything that steers a terminal."""
    text = value if isinstance(value, str) else ""
    return "".join(c if c.isprintable() else " " for c in text[:limit])


def _unreachable(what: str) -> TacitError:
    return TacitError(
        "server_unreachable",
        what,
        argument="url",
        hint="check the address and the network; nothing is lost, try again later",
    )


def _read(response: http.client.HTTPResponse, limit: int) -> bytes:
    data = bytearray()
    while chunk := response.read1(min(65536, limit + 1 - len(data))):
        data += chunk
        if len(data) > limit:
            raise _unreachable(f"the answer is longer than {limit} bytes")
    if response.length:
        raise _unreachable("the answer was cut short")
    return bytes(data)


def _read_round(data: bytes, study: str) -> Round:
    found = Round.from_json(data)
    if found.study != study:
        raise TacitError(
            "field_invalid",
            f"the round belongs to the study {check.shown(found.study)}",
            argument="study",
            hint="do not answer: the collector sent another study's round",
        )
    return found


def _plain(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise _unreachable("the answer is not JSON") from None


def _invite(invite: object) -> str:
    if isinstance(invite, str) and _INVITE.match(invite):
        return invite
    raise TacitError(
        "argument_invalid",
        "invite is not a token",  # and is not shown: errors are logged
        argument="invite",
        hint="give the token as it was handed out",
    )


def _origin(url: object, plain_http: bool) -> SplitResult:
    try:
        parts = urlsplit(url) if isinstance(url, str) and url.isprintable() else None
        fits = parts is not None and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        parts, fits = None, False
    if (
        parts is None
        or not fits
        or parts.scheme not in ("https", "http")
        or "@" in parts.netloc
        or parts.query
        or parts.fragment
        or not re.fullmatch(r"[!-~]*", parts.path)
    ):
        raise TacitError(
            "argument_invalid",
            f"url is {check.shown(url)}",
            argument="url",
            hint='give an address such as "https://poll.example.org", without user, query or fragment',
        )
    host = parts.hostname or ""
    if not _HOST.match(host):
        raise TacitError(
            "argument_invalid",
            f"the host is {check.shown(host)}",
            argument="url",
            hint="write a host with other letters in its ASCII form, xn--...",
        )
    if parts.scheme == "http" and not plain_http and not _loopback(host):
        raise TacitError(
            "argument_invalid",
            f"http to {host} can be read and changed on the way",
            argument="url",
            hint="use https, or say plain_http=True if that network is yours",
        )
    return parts._replace(path=parts.path.rstrip("/"))


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _same_origin(origin: SplitResult, target: str, location: str) -> str:
    """The path of a redirect, refused if it leads to another host, port or scheme."""
    try:
        to = urlsplit(urljoin(f"{origin.scheme}://{origin.netloc}{target}", location))
        same = (to.scheme, to.hostname, to.port or _port(to.scheme)) == (
            origin.scheme,
            origin.hostname,
            origin.port or _port(origin.scheme),
        )
    except ValueError:
        same = False
    if not location or not same or "@" in to.netloc or not re.fullmatch(r"/[!-~]*", to.path):
        raise _unreachable("the server redirects to somewhere else")
    return to.path + (f"?{to.query}" if to.query else "")


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80
