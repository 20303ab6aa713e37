"""What an operator says when a collector starts: the key, the limits, what to believe of a proxy.

The administrator's key comes from TACIT_ADMIN_KEY, or from the file that TACIT_ADMIN_KEY_FILE names; else it lies
beside the SQLite file, made on the first start and readable by its owner only. Only its SHA-256 stays in memory.

>>> Options.of("k" * 32).knows("k" * 32), Options.of("k" * 32).knows("k" * 31)
(True, False)
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import TacitError

KEY_BYTES = 32
MIN_KEY = 24  # characters: 128 bits even in base 64 with some to spare
MAX_KEY = 512
KEY = "TACIT_ADMIN_KEY"
KEY_FILE = "TACIT_ADMIN_KEY_FILE"


@dataclass(frozen=True)
class Options:
    """Of one server process. `rate` is requests, or reports, a second of one client, `burst` at once; 0: no limit."""

    key_hash: bytes
    rate: float = 50.0
    burst: float = 3000.0
    trust_proxy: bool = False
    here_only: bool = False  # refuse what was sent to another host than this machine by itself
    connections: int = 4000
    connections_each: int = 1000  # from one address, without a trusted proxy
    listeners: int = 1000
    listeners_each: int = 50
    exports: int = 4
    head_seconds: float = 15.0  # from connecting, or the last answer, to the end of the next request's head
    body_seconds: float = 30.0  # from there to the end of its body
    poll_seconds: float = 1.0

    @classmethod
    def of(cls, key: str, **others: object) -> Options:
        """Options with a key, which is refused when it could be guessed."""
        return cls(hash_key(key), **others)  # type: ignore[arg-type]

    def knows(self, key: str) -> bool:
        """Whether this is the key, in a time that does not tell where they differ."""
        return hmac.compare_digest(hashlib.sha256(key.encode("utf-8", "replace")).digest(), self.key_hash)


def hash_key(key: str) -> bytes:
    """SHA-256 of a key of the administrator, which must be long and visible ASCII, since it travels in a header."""
    if not MIN_KEY <= len(key) <= MAX_KEY or not all("!" <= c <= "~" for c in key):
        raise TacitError(
            "argument_invalid",
            f"the administrator's key has {len(key)} characters or odd ones among them",
            argument=KEY,
            hint=f"give {MIN_KEY} to {MAX_KEY} random letters and digits; "
            "python -c 'import secrets; print(secrets.token_urlsafe(32))' makes them",
        )
    return hashlib.sha256(key.encode("ascii")).digest()


def find_key(environment: Mapping[str, str], beside: Path | None) -> tuple[str, Path | None]:
    """The administrator's key and the file that it lies in; made at `beside` when there is none yet."""
    if environment.get(KEY):
        return environment[KEY], None
    path = Path(environment[KEY_FILE]) if environment.get(KEY_FILE) else None
    if path is None and beside is None:
        raise TacitError(
            "argument_invalid",
            "there is no administrator's key",
            argument=KEY,
            hint=f"set {KEY}, or {KEY_FILE} to the path of a file that holds it",
        )
    if path is None:
        assert beside is not None
        path = beside
        _make(path)
    return read_key(path), path


def read_key(path: Path) -> str:
    """The key in a file."""
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise TacitError(
                "argument_invalid",
                f"others can read {path}",
                argument=KEY_FILE,
                hint=f"chmod 600 {path}, and choose a new key if others may have read it",
            )
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError) as error:
        raise TacitError(
            "argument_invalid",
            f"{path} cannot be read ({type(error).__name__})",
            argument=KEY_FILE,
            hint="give the path of a file that holds the administrator's key",
        ) from None


def _make(path: Path) -> None:
    """A new key in a new file of mode 0600; one that is there stays."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise TacitError(
            "store_unusable",
            f"{path} cannot be written ({error.strerror})",
            argument=KEY_FILE,
            hint=f"give a database in a folder that can be written, or set {KEY}",
        ) from None
    with os.fdopen(file, "w") as stream:
        stream.write(secrets.token_urlsafe(KEY_BYTES) + "\n")
