"""How often one client may ask, without remembering who it is.

One number for each client: the time up to which what it asked for is paid (the generic cell rate algorithm). It rises
by cost / rate with each request, never lies in the past, and may lie at most burst / rate ahead. The number is found
by a hash of the address with a key that this process drew when it started and never writes down: after a restart
nobody can tell whose it was, and before it only by holding the memory. IPv6 addresses count by their /64, which one
household owns.

>>> limit = RateLimit(rate=1.0, burst=2.0, clock=lambda: 0.0)
>>> [limit.ask("192.0.2.7") for _ in range(3)]
[0.0, 0.0, 1.0]
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

CLIENTS = 100_000


class RateLimit:
    """What each client has used; bounded, forgetting those first that asked longest ago."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = 1.0 / rate if rate > 0 else 0.0
        self._ahead = burst * self._interval
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._paid: OrderedDict[bytes, float] = OrderedDict()

    def client(self, address: str) -> bytes:
        """The name of a client: nothing without the key of this process."""
        return hashlib.blake2b(_network(address), key=self._key, digest_size=16).digest()

    def ask(self, address: str, cost: float = 1.0) -> float:
        """0 if a client may, which is noted; else the seconds until it may."""
        return self.charge(self.client(address), cost)

    def charge(self, client: bytes, cost: float) -> float:
        """The same for the name of a client."""
        if not self._interval:
            return 0.0
        now = self._clock()
        until = max(self._paid.get(client, 0.0), now) + cost * self._interval
        late = until - now - self._ahead
        if late > 1e-9:
            return late
        self._paid[client] = until
        self._paid.move_to_end(client)
        if len(self._paid) > CLIENTS:
            self._paid.popitem(last=False)
        return 0.0


def _network(address: str) -> bytes:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64].encode("utf-8", "replace")
    if isinstance(parsed, ipaddress.IPv6Address):
        return parsed.ipv4_mapped.packed if parsed.ipv4_mapped else parsed.packed[:8]
    return parsed.packed


def address(client: object, forwarded: list[bytes], trust_proxy: bool) -> str:
    """Where a request came from: the peer, or the last address that a trusted proxy added to X-Forwarded-For."""
    if trust_proxy and forwarded:
        last = forwarded[-1].decode("latin-1").rpartition(",")[2].strip()
        return last.partition(":")[0] if last.count(":") == 1 else last.strip("[]")
    return str(client[0]) if isinstance(client, tuple | list) and client else ""
