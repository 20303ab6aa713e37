"""The file that browsers get: tacit-client.js, which has one home in the repository and travels inside the wheel.

>>> client_js().startswith(b"/**")
True
"""

from __future__ import annotations

from pathlib import Path

NAME = "tacit-client.js"
# In a wheel it lies beside this module; in the repository it has a folder of its own.
_PLACES = (Path(__file__).parent / "static" / NAME, Path(__file__).parents[3] / "clients" / "js" / NAME)


def client_js() -> bytes:
    """The bytes of tacit-client.js, of the same version as this package."""
    return next(place for place in _PLACES if place.is_file()).read_bytes()
