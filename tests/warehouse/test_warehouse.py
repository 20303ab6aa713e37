"""Evidence of a table is that of its reports, whatever it is stored in; a table that is not right is refused."""

import json
import sqlite3

import fsspec
import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner
from warehouse_support import CHANNELS, QUESTION, ROUNDS, K, chain, reports, with_rows

import tacit.evidence
from tacit import Evidence, TacitError, channels, warehouse
from tacit.cli import app
from tacit.warehouse.kernels import parse_values
from tacit_client import Round, value_from_text

ID = "ab" * 16


def to_sqlite(table, path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE reports (id TEXT, study TEXT, round TEXT, value TEXT)")
        connection.executemany(
            "INSERT INTO reports VALUES (?, ?, ?, ?)", [tuple(r.values()) for r in table.to_pylist()]
        )
    connection.close()
    return path


def to_parts(table, folder):
    """A folder for each round, as archives are laid out; the round itself is in the folders' names only."""
    pyarrow.parquet.write_to_dataset(table, folder, partition_cols=["study", "round"])
    return folder


def to_memory(table, path):
    with fsspec.open("memory://archive/reports.parquet", "wb") as file:
        pyarrow.parquet.write_table(table, file)
    return "memory://archive/reports.parquet"


def written(write, suffix):
    def store(table, path):
        name = path.with_suffix(suffix)
        write(table, name)
        return name

    return store


STORES = {
    "arrow": lambda table, path: table,
    "pandas": lambda table, path: table.to_pandas(),
    "parquet": written(pyarrow.parquet.write_table, ".parquet"),
    "csv": written(pyarrow.csv.write_csv, ".csv"),
    "pattern": lambda table, path: (
        str(written(pyarrow.parquet.write_table, ".parquet")(table, path))[:-9] + "*.parquet"
    ),
    "folders": to_parts,
    "fsspec": to_memory,
    "sqlite": lambda table, path: to_sqlite(table, path.with_suffix(".sqlite")),
}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("limit", [2**17, 60])
def test_every_store_gives_the_same_evidence(store, limit, tmp_path, monkeypatch):
    monkeypatch.setattr(tacit.evidence, "MAX_DISTINCT", limit)
    table, expected = reports()
    found = warehouse.aggregate(STORES[store](table, tmp_path / "reports"), ROUNDS)
    assert found.evidence.id == expected.id
    assert (found.rows, found.copies) == (len(table), 0)
    assert {t.channel.id for t in found.evidence.tallies if t.reports is None} == {
        t.channel.id for t in expected.tallies if t.reports is None
    }
    assert expected.exact == (limit > 60)


def test_evidence_from_table_is_the_same(tmp_path):
    table, expected = reports()
    assert Evidence.from_table(table, ROUNDS) == expected
    assert Evidence.from_table(to_sqlite(table, tmp_path / "a.db"), ROUNDS, study="drinks") == expected


def test_above_the_real_limit():
    channel = channels.subset(40, 1.0)
    question = type(QUESTION)("q", "Which?", labels=tuple(f"label {i}" for i in range(40)))
    rounds = [Round("wide", question, 0, channel.table, None)]
    rounds.append(Round("wide", question, 1, channels.hashed(40, 1.0).table, rounds[0].id))
    columns, expected = {"study": [], "round": [], "value": []}, Evidence()
    rng = np.random.default_rng(5)
    for asked in rounds:
        made = channels.from_table(asked.channel).sample(rng.integers(0, 40, 140_000), rng)
        expected = expected.add(channels.from_table(asked.channel), made)
        columns["study"] += ["wide"] * len(made)
        columns["round"] += [asked.id] * len(made)
        columns["value"] += [",".join(map(str, row)) for row in made.tolist()]
    found = Evidence.from_table(pyarrow.table(columns), rounds)
    assert found.id == expected.id
    assert not any(tally.reports is not None for tally in found.tallies)


def test_few_distinct_reports_of_a_wide_channel_are_kept():
    channel = channels.hashed(K, 1.0)
    asked = chain("wide", [channel])[0]
    rows = [[1, 2, 1], [5, 6, 0]]
    counts = [140_000, 3]
    values = [",".join(map(str, row)) for row in rows]
    column = np.repeat(values, counts).tolist()
    table = pyarrow.table(
        {"study": ["wide"] * len(column), "round": [asked.id] * len(column), "value": column}
    )
    assert Evidence.from_table(table, [asked]) == Evidence().add_counts(channel, rows, counts)


BAD = [
    (0, str(K)),
    (0, "-1"),
    (0, "01"),
    (0, "1.0"),
    (0, ""),
    (0, "1,2"),
    (2, "0,1"),
    (2, "0,1,2,3"),
    (2, "0,2,1"),
    (2, "0,1,1"),
    (2, f"0,1,{K}"),
    (2, "0,1, 2"),
    (2, "0,1,99999999999999999999"),
    (5, "0,1,1"),
    (5, "1,2"),
    (7, "0,1,2,3,3"),
    (7, "0,1,2,3,12"),
    (7, "0,1,2,3,004"),
    (7, "a"),
]


@pytest.mark.parametrize("limit", [2**17, 60])
@pytest.mark.parametrize("store", ["arrow", "sqlite"])
def test_impossible_reports_are_counted_and_shown_or_left_out(limit, store, tmp_path, monkeypatch):
    monkeypatch.setattr(tacit.evidence, "MAX_DISTINCT", limit)
    table, expected = reports()
    bad = with_rows(
        table, *[(f"{i:032x}", "drinks", ROUNDS[r].id, value) for i, (r, value) in enumerate(BAD)]
    )
    source = STORES[store](bad, tmp_path / "reports")
    with pytest.raises(TacitError) as refusal:
        warehouse.aggregate(source, ROUNDS)
    assert (refusal.value.code, refusal.value.argument) == ("report_impossible", "source")
    assert str(len(BAD)) in refusal.value.message
    found = warehouse.aggregate(source, ROUNDS, skip_bad=True)
    assert found.evidence == expected
    assert found.impossible.count == len(BAD)
    assert 1 <= len(found.impossible.examples) <= 5
    assert set(found.impossible.examples) <= {value for _, value in BAD}


def test_rows_of_other_rounds_and_studies():
    table, expected = reports()
    other = chain("others")
    mixed = with_rows(table, (ID, "others", other[0].id, "1"), ("cd" * 16, "others", other[0].id, "1"))
    with pytest.raises(TacitError) as refusal:
        Evidence.from_table(mixed, ROUNDS)
    assert refusal.value.code == "round_unknown"
    assert "2 rows" in refusal.value.message
    assert other[0].id in refusal.value.message
    assert Evidence.from_table(mixed, ROUNDS, study="drinks") == expected
    found = warehouse.aggregate(mixed, ROUNDS, skip_bad=True)
    assert (found.evidence == expected, found.unknown.count, found.rows) == (True, 2, len(table) + 2)
    # the name of the study and the id of the round must belong together
    for row in (
        (ID, "others", ROUNDS[0].id, "1"),
        (ID, "drinks", other[0].id, "1"),
        (ID, "drinks", None, "1"),
        (ID, None, None, "1"),
    ):
        assert warehouse.aggregate(with_rows(table, row), ROUNDS, skip_bad=True).unknown.count == 1
    missing = ROUNDS[:-1]
    with pytest.raises(TacitError) as refusal:
        Evidence.from_table(table, missing)
    assert refusal.value.code == "round_unknown"


def test_a_value_that_is_missing_is_impossible():
    table, expected = reports()
    found = warehouse.aggregate(with_rows(table, (ID, "drinks", ROUNDS[0].id, None)), ROUNDS, skip_bad=True)
    assert (found.evidence == expected, found.impossible.count) == (True, 1)


@pytest.mark.parametrize("store", ["arrow", "sqlite"])
def test_a_report_that_is_there_twice_counts_once(store, tmp_path):
    table, expected = reports()
    first = table.slice(0, 1).to_pylist()[0]
    doubled = pyarrow.concat_tables([table, table.slice(0, 7), table.slice(0, 1)])
    source = STORES[store](doubled, tmp_path / "a")
    found = warehouse.aggregate(source, ROUNDS)
    assert (found.evidence == expected, found.copies, found.rows) == (True, 8, len(table) + 8)
    assert len(Evidence.from_table(source, ROUNDS, check_ids=False)) == len(table) + 8
    clash = with_rows(doubled, (first["id"], "drinks", ROUNDS[0].id, "3" if first["value"] != "3" else "4"))
    unnamed = with_rows(table, (None, "drinks", ROUNDS[0].id, "3"))
    for bad, code, said in (
        (clash, "report_conflict", first["id"]),
        (unnamed, "report_impossible", "no id"),
    ):
        with pytest.raises(TacitError) as refusal:
            Evidence.from_table(STORES[store](bad, tmp_path / said[:5]), ROUNDS)
        assert refusal.value.code == code
        assert said in refusal.value.message
    assert Evidence.from_table(table.drop_columns(["id"]), ROUNDS) == expected


def test_tables_that_cannot_be_read(tmp_path):
    table, _ = reports(20)
    whole = STORES["parquet"](table, tmp_path / "whole")
    half = tmp_path / "half.parquet"
    half.write_bytes(whole.read_bytes()[:2000])
    (tmp_path / "none").mkdir()
    drift = tmp_path / "drift"
    drift.mkdir()
    pyarrow.parquet.write_table(table, drift / "a.parquet")
    pyarrow.parquet.write_table(table.rename_columns(["id", "study", "round", "answer"]), drift / "b.parquet")
    (tmp_path / "text.db").write_text("no database")
    numbers = pyarrow.table({"study": ["drinks"], "round": [ROUNDS[0].id], "value": [7]})
    for source in (
        half,
        tmp_path / "none",
        drift,
        tmp_path / "text.db",
        tmp_path / "missing.parquet",
        tmp_path / "missing.sqlite",
        numbers,
        table.drop_columns(["value"]),
        table.slice(0, 0),
        7,
    ):
        with pytest.raises(TacitError) as refusal:
            Evidence.from_table(source, ROUNDS)
        assert (refusal.value.code, refusal.value.argument) == ("table_unreadable", "source"), source
    with pytest.raises(TacitError) as refusal:
        Evidence.from_table(to_sqlite(table, tmp_path / "a.db"), ROUNDS, table="answers")
    assert refusal.value.code == "table_unreadable"


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"engine": "oracle"}, "engine"),
        ({"engine": 7}, "engine"),
        ({"rounds": []}, "rounds"),
        ({"rounds": "drinks"}, "rounds"),
        ({"rounds": [*ROUNDS, *chain("others")]}, "rounds"),
        ({"rounds": None}, "rounds"),
        ({"study": "others"}, "rounds"),
        ({"engine": "sqlite", "table": "reports; DROP TABLE reports"}, "table"),
        ({"engine": "postgres", "table": 'a"b'}, "table"),
    ],
)
def test_arguments(options, argument):
    table, _ = reports(5)
    with pytest.raises(TacitError) as refusal:
        Evidence.from_table(table, **({"rounds": ROUNDS} | options))
    assert (refusal.value.code, refusal.value.argument) == ("argument_invalid", argument)


VALUES = [
    ("7", 0),
    ("0", 0),
    ("11", 0),
    ("0,3,9", 2),
    ("10,11,0", 2),
    ("2147483646,2147483646,1", 5),
    ("1,0,0", 5),
]


@given(st.text(alphabet="0123456789,- a", max_size=12), st.sampled_from([0, 2, 3, 5]))
def test_the_compiled_reader_agrees_with_the_exact_one(text, which):
    channel = CHANNELS[which]
    columns = max(channel.table.columns, 1)
    out = np.zeros((1, columns), dtype=np.int64)
    data = text.encode()
    (good,) = parse_values(np.array([0, len(data)]), np.frombuffer(data, dtype=np.uint8), out)
    possible = False
    if good:
        try:
            channel.check_reports(out if channel.table.columns else out[:, 0])
            possible = True
        except TacitError:
            pass
    try:
        value = value_from_text(text, channel.table)
    except TacitError:
        assert not possible
    else:
        assert possible
        assert out[0].tolist() == list(value if isinstance(value, tuple) else (value,))


@pytest.mark.parametrize(("text", "which"), VALUES)
def test_the_compiled_reader_reads_values(text, which):
    out = np.zeros((1, max(CHANNELS[which].table.columns, 1)), dtype=np.int64)
    data = text.encode()
    assert parse_values(np.array([0, len(data)]), np.frombuffer(data, dtype=np.uint8), out).all()
    assert out[0].tolist() == [int(number) for number in text.split(",")]


def test_the_command(tmp_path):
    table, expected = reports()
    source = STORES["parquet"](table, tmp_path / "reports")
    rounds = tmp_path / "rounds.jsonl"
    rounds.write_text("".join(asked.to_json() + "\n" for asked in ROUNDS))
    out = tmp_path / "evidence.zip"
    run = CliRunner().invoke(
        app, ["aggregate", str(source), "--rounds", str(rounds), "--json", "--output", str(out)]
    )
    assert run.exit_code == 0, run.output
    said = json.loads(run.output)
    assert (said["evidence"], said["reports"], said["copies"]) == (expected.id, len(table), 0)
    assert Evidence.from_bytes(out.read_bytes()) == expected
    shown = CliRunner().invoke(app, ["aggregate", str(source), "--rounds", str(rounds)])
    assert expected.id in shown.output
    bad = CliRunner().invoke(app, ["aggregate", str(source), "--rounds", str(source)])
    assert isinstance(bad.exception, TacitError)
    missing = CliRunner().invoke(app, ["aggregate", str(source), "--rounds", str(tmp_path / "none")])
    assert missing.exception.argument == "rounds"
