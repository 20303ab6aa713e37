"""A missing program skips a test in sight, and fails it where it is required."""

import pytest

from requirements import require


def test_a_missing_program_skips_or_fails(monkeypatch):
    monkeypatch.setenv("TACIT_REQUIRE", "postgres,node")
    assert require("node", True) is None
    with pytest.raises(pytest.fail.Exception, match="node is required"):
        require("node", False)
    with pytest.raises(pytest.skip.Exception, match="chromium is not here"):
        require("chromium", False)
    monkeypatch.delenv("TACIT_REQUIRE")
    with pytest.raises(pytest.skip.Exception, match="NOT tested"):
        require("node", False)
