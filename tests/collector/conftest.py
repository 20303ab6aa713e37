"""Stores on both databases for the tests."""

import pytest

from tacit.collector.store import Store


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/tacit.db"
    return request.getfixturevalue("postgres").fresh()


@pytest.fixture
def store(url):
    opened = Store.open(url)
    yield opened
    opened.close()
