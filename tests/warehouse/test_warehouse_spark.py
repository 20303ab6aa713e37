"""A table in Spark gives the same evidence. Run by `make test-scale`: PySpark is 450 MB and not in the default set."""

import importlib.util
import shutil

import pyarrow.parquet
import pytest
from warehouse_support import ROUNDS, chain, reports, with_rows

import tacit.evidence
from requirements import require
from tacit import Evidence, TacitError, warehouse

require("spark", importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None)

pytestmark = pytest.mark.filterwarnings("default")  # PySpark's own warnings


@pytest.fixture(scope="module")
def session():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config(
        "spark.driver.bindAddress", "127.0.0.1"
    )
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.mark.parametrize("limit", [2**17, 60])
def test_the_same_evidence(session, limit, tmp_path, monkeypatch):
    monkeypatch.setattr(tacit.evidence, "MAX_DISTINCT", limit)
    table, expected = reports()
    folder = str(tmp_path / "archive")
    pyarrow.parquet.write_to_dataset(table, folder, partition_cols=["study", "round"])
    assert Evidence.from_table(folder, ROUNDS, engine="spark").id == expected.id
    frame = session.createDataFrame(table.to_pandas())
    assert Evidence.from_table(frame, ROUNDS, engine="spark") == expected
    assert expected.exact == (limit > 60)


@pytest.mark.parametrize("limit", [2**17, 60])
def test_bad_rows(session, limit, tmp_path, monkeypatch):
    monkeypatch.setattr(tacit.evidence, "MAX_DISTINCT", limit)
    table, expected = reports()
    bad = ["0,2,1", "0,1", "0,1,1", "0,1,12", "a", None, "0,1,99999999999999999999"]
    rows = [(f"{i:032x}", "drinks", ROUNDS[2].id, value) for i, value in enumerate(bad)]
    rows += [("ab" * 16, "others", chain("others")[0].id, "1"), ("cd" * 16, "drinks", ROUNDS[5].id, "0,0,0")]
    doubled = with_rows(table, *rows, *[tuple(row.values()) for row in table.slice(0, 3).to_pylist()])
    path = str(tmp_path / "reports.parquet")
    pyarrow.parquet.write_table(doubled, path)
    with pytest.raises(TacitError) as refusal:
        Evidence.from_table(path, ROUNDS, engine="spark", study="drinks")
    assert refusal.value.code == "report_impossible"
    found = warehouse.aggregate(path, ROUNDS, engine="spark", skip_bad=True)
    assert found.evidence == expected
    assert (found.unknown.count, found.impossible.count, found.copies) == (1, len(bad) + 1, 3)


def test_tables_that_cannot_be_read(session, tmp_path):
    half = tmp_path / "half.parquet"
    table, _ = reports(20)
    pyarrow.parquet.write_table(table, tmp_path / "whole.parquet")
    half.write_bytes((tmp_path / "whole.parquet").read_bytes()[:2000])
    for source in (half, tmp_path / "missing.parquet"):
        with pytest.raises(TacitError) as refusal:
            Evidence.from_table(source, ROUNDS, engine="spark")
        assert refusal.value.code == "table_unreadable"
