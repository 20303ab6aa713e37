"""What a test needs beside Python: without it the test is skipped, or fails where TACIT_REQUIRE names it.

TACIT_REQUIRE=postgres,chromium,node is for continuous integration, where a skip would hide that nothing was tested.
"""

from __future__ import annotations

import os

import pytest


def require(name: str, present: bool) -> None:
    """Go on if `name` is present; else skip the test or the module that calls, or fail it if it is required."""
    if present:
        return
    if name in os.environ.get("TACIT_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required by TACIT_REQUIRE and not here", pytrace=False)
    pytest.skip(f"{name} is not here: this was NOT tested", allow_module_level=True)
