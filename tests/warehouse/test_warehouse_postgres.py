"""A table in PostgreSQL, read in place: the same evidence, in one snapshot, and nothing is written."""

import psycopg
import pytest
from warehouse_support import ROUNDS, chain, reports, with_rows

import tacit.evidence
from tacit import Evidence, TacitError, warehouse
from tacit.warehouse import queries


@pytest.fixture(scope="module")
def url(postgres):
    return postgres.url(driver="")


def store(url, table, name="reports"):
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS archive")
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(f"CREATE TABLE {name} (id TEXT, study TEXT, round TEXT, value TEXT)")
        with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in table.to_pylist():
                copy.write_row(tuple(row.values()))
    return url


@pytest.mark.parametrize("limit", [2**17, 60])
def test_the_same_evidence(url, limit, monkeypatch):
    monkeypatch.setattr(tacit.evidence, "MAX_DISTINCT", limit)
    table, expected = reports()
    assert Evidence.from_table(store(url, table), ROUNDS, engine="postgres").id == expected.id
    store(url, table, "archive.reports")
    assert Evidence.from_table(url, ROUNDS, engine="postgres", table="archive.reports") == expected
    assert expected.exact == (limit > 60)


@pytest.mark.parametrize("limit", [2**17, 60])
def test_bad_rows(url, limit, monkeypatch):
    monkeypatch.setattr(tacit.evidence, "MAX_DISTINCT", limit)
    table, expected = reports()
    other = chain("others")[0]
    bad = ["0,2,1", "0,1", "0,1,1", "0,1,12", "a", None, "0,1,99999999999999999999"]
    rows = [(f"{i:032x}", "drinks", ROUNDS[2].id, value) for i, value in enumerate(bad)]
    rows += [("ab" * 16, "others", other.id, "1"), ("cd" * 16, "drinks", ROUNDS[5].id, "0,0,0")]
    doubled = with_rows(table, *rows, *[tuple(row.values()) for row in table.slice(0, 3).to_pylist()])
    store(url, doubled)
    with pytest.raises(TacitError) as refusal:
        Evidence.from_table(url, ROUNDS, engine="postgres")
    assert refusal.value.code == "round_unknown"
    with pytest.raises(TacitError) as refusal:
        Evidence.from_table(url, ROUNDS, engine="postgres", study="drinks")
    assert refusal.value.code == "report_impossible"
    found = warehouse.aggregate(url, ROUNDS, engine="postgres", skip_bad=True)
    assert found.evidence == expected
    assert (found.unknown.count, found.impossible.count, found.copies) == (1, len(bad) + 1, 3)


def test_refusals(url):
    table, _ = reports(20)
    store(url, table)
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS numbers, empty, few")
        connection.execute("CREATE TABLE numbers (study TEXT, round TEXT, value INTEGER)")
        connection.execute("CREATE TABLE empty (study TEXT, round TEXT, value TEXT)")
        connection.execute("CREATE TABLE few (study TEXT, value TEXT)")
    for name in ("numbers", "empty", "few", "missing"):
        with pytest.raises(TacitError) as refusal:
            Evidence.from_table(url, ROUNDS, engine="postgres", table=name)
        assert refusal.value.code == "table_unreadable"
    with pytest.raises(TacitError) as refusal:
        Evidence.from_table("postgresql://me:secret@/x?host=/nowhere", ROUNDS, engine="postgres")
    assert refusal.value.code == "table_unreadable"
    assert "secret" not in str(refusal.value)


def test_reports_that_arrive_meanwhile_wait(url, monkeypatch):
    """Between the first query and the last a whole second batch is committed; none of it is seen."""
    table, expected = reports()
    store(url, table)
    more, _ = reports(50, seed=2)
    real = queries.by_value

    def late(*arguments):
        with psycopg.connect(url) as connection:
            for row in more.to_pylist():
                connection.execute("INSERT INTO reports VALUES (%s, %s, %s, %s)", tuple(row.values()))
        return real(*arguments)

    monkeypatch.setattr(queries, "by_value", late)
    assert Evidence.from_table(url, ROUNDS, engine="postgres") == expected
    monkeypatch.undo()
    assert len(Evidence.from_table(url, ROUNDS, engine="postgres")) == len(table) + len(more)
