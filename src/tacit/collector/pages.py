"""The pages of the collector: a poll, its results, its privacy statement, the index.

Every page is a file that is the same for all studies: it reads the study's name from its address and everything else
from the routes under `/v1`. So the server writes no text of a study into HTML, the files can be hashed, and a page can
be served by somebody else.

That matters. A page from the collector protects against an honest operator only: whoever serves the page could serve
other code, to everybody or to one person. `write_bundle` writes the poll page for another origin, or for an app: the
collector is named in the page, the browser may talk to nobody else, and the same release writes the same bytes, so
that everybody can compare the hashes.

No page runs a script or loads a style that is not a file beside it, and none asks a third party for anything: HEADERS
hold browsers to it.

>>> with tempfile.TemporaryDirectory() as folder:
...     made = write_bundle(folder, collector="https://collector.example.org", studies=["office-2026"])
...     sorted(made.files) == sorted(path.name for path in Path(folder).iterdir() if path.name in made.files)
True
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import tacit_client
from tacit.collector.static import NAME as CLIENT
from tacit.collector.static import client_js
from tacit.errors import TacitError
from tacit_client import check

if TYPE_CHECKING:
    from fastapi import APIRouter, Request, Response

STATIC = Path(__file__).parent / "static"
PAGES = {
    "/": "index.html",
    "/s/{study}": "poll.html",
    "/p/{poll}": "poll.html",
    "/s/{study}/results": "results.html",
    "/s/{study}/privacy": "privacy.html",
}
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
BUNDLED = (
    "base.css",
    "device.js",
    "icon.svg",
    "odds.js",
    "page.js",
    "poll.css",
    "poll.js",
    "report.js",
    "words.js",
    CLIENT,
)
# What a browser lets a page do. `{connect}` is where it may send and read.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src {connect}; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY.format(connect="'self'") + "; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
NAMES = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
)  # of studies, as in messages


@dataclass(frozen=True)
class Bundle:
    """What `write_bundle` wrote: the SHA-256 of each file, and of the list of these (`SHA256SUMS`)."""

    files: dict[str, str]
    whole: str


def router() -> APIRouter:
    """The pages and their files as routes of FastAPI, under `/` and `/static/`."""
    from fastapi import APIRouter

    made = APIRouter()
    for path, name in [*PAGES.items(), *((f"/static/{name}", name) for name in files())]:
        made.add_route(path, _shown(name), methods=["GET"], include_in_schema=False)
    return made


def _shown(name: str) -> Callable[[Request], Awaitable[Response]]:
    from fastapi import Response

    async def show(request: Request) -> Response:
        content = read(name)
        headers = HEADERS | {"ETag": f'"{_sha256(content)[:32]}"'}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=f"{TYPES[Path(name).suffix]}; charset=utf-8", headers=headers)

    return show


def files() -> list[str]:
    """The names of the files that pages load."""
    own = {path.name for path in STATIC.iterdir() if path.suffix in TYPES and path.suffix != ".html"}
    return sorted(own | {CLIENT})


@cache
def read(name: str) -> bytes:
    """A file of the pages."""
    return client_js() if name == CLIENT else (STATIC / name).read_bytes()


def write_bundle(
    folder: str | os.PathLike[str], *, collector: str, studies: Sequence[str], title: str | None = None
) -> Bundle:
    """Write the poll page of some studies for another origin, with `SHA256SUMS` and `manifest.json`.

    `collector` is the address that the page may talk to, and the only one. The collector must allow the page's origin
    in each study's `origins`. The same arguments and the same release give the same bytes.
    """
    origin = _origin(collector)
    names = _studies(studies)
    content = {name: read(name) for name in BUNDLED}
    content["index.html"] = _page(origin, names, title).encode()
    sums = {name: _sha256(content[name]) for name in sorted(content)}
    listing = "".join(f"{value}  {name}\n" for name, value in sums.items()).encode()
    whole = _sha256(listing)
    manifest = {
        "type": "page",
        "release": tacit_client.__version__,
        "collector": origin,
        "studies": names,
        "title": title,
        "files": sums,
        "whole": whole,
    }
    content["SHA256SUMS"] = listing
    content["manifest.json"] = (
        json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    ).encode()
    _write(Path(folder), content)
    return Bundle(sums, whole)


def _page(origin: str, studies: list[str], title: str | None) -> str:
    """The poll page with its collector, its studies and its policy written into it."""
    policy = POLICY.format(connect=origin)
    metas = {"tacit-collector": origin, "tacit-studies": " ".join(studies)}
    if title is not None:
        metas["tacit-title"] = title
    lines = [f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">']
    lines += [f'<meta name="{name}" content="{html.escape(value)}">' for name, value in metas.items()]
    text = read("poll.html").decode()
    return text.replace('<meta charset="utf-8">', "\n".join(['<meta charset="utf-8">', *lines]), 1).replace(
        "/static/", "./"
    )


def _origin(collector: object) -> str:
    """Scheme, host and port of an address, https or of this machine."""
    parts = urlsplit(collector) if isinstance(collector, str) else urlsplit("")
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    bare = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
    safe = not (
        set(parts.netloc) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:[]")
    )
    if not (
        parts.hostname and bare and safe and (parts.scheme == "https" or (parts.scheme == "http" and local))
    ):
        raise TacitError(
            "argument_invalid",
            f"collector is {check.shown(collector)}",
            argument="collector",
            hint='give an origin, such as "https://collector.example.org"',
        )
    return f"{parts.scheme}://{parts.netloc}"


def _studies(studies: object) -> list[str]:
    names = list(studies) if isinstance(studies, Sequence) and not isinstance(studies, str) else []
    good = all(isinstance(name, str) and 1 <= len(name) <= 64 and not set(name) - NAMES for name in names)
    if not names or not good or len(set(names)) < len(names):
        raise TacitError(
            "argument_invalid",
            f"studies is {check.shown(studies)}",
            argument="studies",
            hint='give the names of studies, each once, such as ["office-2026"]',
        )
    return names


def _write(folder: Path, content: dict[str, bytes]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in content.items():
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".tacit-", delete=False) as part:
                part.write(data)
            os.chmod(part.name, 0o644)
            os.replace(part.name, folder / name)
    except OSError as error:
        raise TacitError(
            "store_unusable",
            f"{folder} cannot be written ({error.strerror})",
            argument="folder",
            hint="give a folder that can be written and has room",
        ) from None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
