"""Without the extra: integers and short strings are counted, and everything else says what to install."""

import sys

import polars as pl
import pytest

from tacit.errors import TacitError
from tacit.sketch import CountSketch, UseAndKeep, noise, reading


@pytest.fixture
def plain(monkeypatch):
    noise._measurement.cache_clear()
    for name in ("opendp", "opendp.prelude", "pyarrow", "pyarrow.parquet", "xxhash"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("plain")
def test_what_needs_nothing_works():
    sketch = CountSketch(3, 100)
    sketch.update([1, 2, 2])
    sketch.update(["ant", b"sixteen bytes...", ""])
    assert sketch.query([2]).tolist() == [2]


@pytest.mark.usefixtures("plain")
def test_what_needs_more_says_so(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"")
    cases = [
        lambda: UseAndKeep(CountSketch(3, 100), 1.0),
        lambda: CountSketch(3, 100).update(["a string above sixteen bytes"]),
        lambda: CountSketch(3, 100).update(pl.Series(["a"])),
        lambda: list(reading.chunks(tmp_path / "a.parquet")),
    ]
    for act in cases:
        with pytest.raises(TacitError) as refused:
            act()
        assert refused.value.code == "dependency_missing"
        assert "pip install 'tacit[sketch]'" in refused.value.hint
