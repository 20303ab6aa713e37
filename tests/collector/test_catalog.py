"""Studies, polls, invites and the schema, on both databases."""

import hashlib
import threading
import time

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, text
from store_support import codes, numeric, scalar, settings, submissions, table

from tacit.collector import catalog
from tacit.collector.schema import metadata
from tacit.collector.settings import PollSettings, StudySettings
from tacit.collector.store import Store
from tacit.errors import TacitError
from tacit_client import Round


def refused(code, work, *given):
    with pytest.raises(TacitError) as caught:
        work(*given)
    assert caught.value.code == code, caught.value
    return caught.value


def tokens(count, salt=b""):
    return [hashlib.sha256(salt + bytes([i])).digest() for i in range(count)]


def test_a_study_is_made_opened_and_closed(store):
    made = store.create_study(settings(state="draft", listed=False, origins=["https://a.example.org"]))
    assert (made.name, made.state, made.n, made.rounds, made.estimates, made.closed) == (
        "tea",
        "draft",
        0,
        1,
        0,
        None,
    )
    assert made.created.endswith(":00Z")
    assert store.study("tea") == made
    assert Round.from_json(store.round("tea").text).id == made.head == store.rounds("tea")[0].id
    assert store.open_study("tea").state == store.open_study("tea").state == "open"
    closed = store.close_study("tea")
    assert closed.state == "closed"
    assert closed.closed.endswith(":00Z")
    assert store.close_study("tea") == closed
    refused("study_closed", store.open_study, "tea")
    assert [what for _, _, what in store.actions()] == ["made, draft", "opened", "closed"]


def test_names_are_taken_once_and_unknown_ones_are_said(store):
    store.create_study(settings())
    refused("name_taken", store.create_study, settings(k=4))
    assert store.study("tea").settings == settings()
    for work in (store.study, store.round, store.rounds, store.estimate, store.evidence, store.open_study,
                 store.close_study, store.delete_study):  # fmt: skip
        assert refused("study_unknown", work, "none").argument == "study"
    refused("study_unknown", store.erase, "none", "0" * 32)
    refused("poll_unknown", store.poll, "none")
    refused("poll_unknown", store.delete_poll, "none")


def test_lists_hold_what_may_be_seen(store):
    store.create_study(settings("b"))
    store.create_study(settings("a"))
    store.create_study(settings("hidden", listed=False))
    store.create_study(settings("draft", state="draft"))
    assert [study.name for study in store.studies()] == ["a", "b"]
    assert [study.name for study in store.studies(hidden=True)] == ["a", "b", "draft", "hidden"]


def test_settings_come_back_as_they_were(store):
    given = numeric(model="student:5", expected=77, access="invite", results="key", retention_days=3)
    store.create_study(given)
    assert store.study("age").settings == given == StudySettings.read(given.message())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "-a"), ("name", "a" * 65), ("name", 3), ("question", "Tea?"), ("question", {"text": "Tea?"}),
        ("epsilon", "0"), ("epsilon", "1e-3"), ("epsilon", True), ("epsilon", float("nan")), ("epsilon", 51),
        ("policy", "none"), ("policy", 1), ("model", "normal"), ("expected", 0), ("expected", 1.5), ("access", "key"),
        ("results", None), ("listed", 1), ("origins", "https://a"), ("origins", ["https://a/path"]),
        ("origins", ["*"]), ("origins", ["javascript:alert(1)"]), ("state", "closed"), ("retention_days", -1),
        ("retention_days", True), ("more", 1),
    ],
)  # fmt: skip
def test_settings_that_are_wrong_are_refused(field, value):
    message = {**settings().message(), field: value}
    with pytest.raises(TacitError) as caught:
        StudySettings.read(message)
    assert caught.value.code in ("field_invalid", "field_unknown", "field_missing", "argument_invalid")


def test_polls_hold_studies_in_order(store):
    for name in ("a", "b", "c"):
        store.create_study(settings(name))
    made = store.create_poll(PollSettings.read({"name": "p", "title": "Pets", "studies": ["c", "a"]}))
    assert [study.name for study in made.studies] == ["c", "a"]
    assert made.epsilon == 2
    assert store.polls() == [made] == [store.poll("p")]
    refused("name_taken", store.create_poll, PollSettings("p", "Other", ("a",)))
    refused("study_unknown", store.create_poll, PollSettings("q", "Other", ("a", "none")))
    assert [poll.name for poll in store.polls()] == ["p"]
    store.delete_study("c")
    assert [study.name for study in store.poll("p").studies] == ["a"]
    store.delete_poll("p")
    assert store.polls() == []
    assert [study.name for study in store.studies()] == ["a", "b"]


@pytest.mark.parametrize(
    "message",
    [
        {"name": "p", "title": "", "studies": ["a"]}, {"name": "p", "title": "T", "studies": []},
        {"name": "p", "title": "T", "studies": ["a", "a"]}, {"name": "p", "title": "T", "studies": "a"},
        {"name": "p", "title": "a\nb", "studies": ["a"]}, {"name": "/", "title": "T", "studies": ["a"]},
        {"name": "p", "title": "T"},
    ],
)  # fmt: skip
def test_polls_that_are_wrong_are_refused(message):
    with pytest.raises(TacitError) as caught:
        PollSettings.read(message)
    assert caught.value.code in ("field_invalid", "field_missing")


def test_invites_are_good_once(store):
    store.create_study(settings(access="invite"))
    first, second = tokens(2)
    store.add_invites("tea", [first, second])
    a, b, c = submissions(store, "tea", 3)
    assert codes(store.submit([a])) == ["invite_required"]
    assert codes(store.submit([a._replace(token=b"?" * 32)])) == ["invite_required"]
    assert store.study("tea").n == 0
    # Two reports with one token in one transaction: the first has it.
    outcomes = store.submit([a._replace(token=first), b._replace(token=first)])
    assert codes(outcomes) == [None, "invite_used"]
    assert codes(store.submit([b._replace(token=first)])) == ["invite_used"]
    # What is held needs no fresh token, nor any; and spends none.
    assert (
        store.submit([a, a._replace(token=first), a._replace(token=second)])
        == [outcomes[0]._replace(new=False)] * 3
    )
    assert codes(store.submit([c._replace(token=second)])) == [None]
    assert store.study("tea").n == 2
    assert sorted(used for _, _, used in table(store, "tokens")) == [True, True]


def test_an_impossible_report_spends_no_token(store):
    store.create_study(settings(access="invite"))
    store.add_invites("tea", tokens(1))
    (a,) = submissions(store, "tea", 1)
    assert codes(store.submit([a._replace(value="9", token=tokens(1)[0])])) == ["report_impossible"]
    assert codes(store.submit([a._replace(token=tokens(1)[0])])) == [None]


def test_a_token_of_a_poll_is_good_for_one_report_to_each_study(store):
    for name, access in (("a", "invite"), ("b", "invite"), ("c", "open")):
        store.create_study(settings(name, access=access))
    store.create_poll(PollSettings("p", "Pets", ("a", "b", "c")))
    store.add_poll_invites("p", tokens(1))
    mine = {
        name: [s._replace(token=tokens(1)[0]) for s in submissions(store, name, 2)] for name in ("a", "b")
    }
    assert codes(store.submit([mine["a"][0], mine["b"][0]])) == [None, None]
    assert codes(store.submit([mine["a"][1], mine["b"][1]])) == ["invite_used", "invite_used"]
    assert codes(store.submit(submissions(store, "c", 1))) == [None]
    told = [(name, what) for _, name, what in store.actions() if "invites" in what]
    assert told == [("a", "1 invites, with the poll p"), ("b", "1 invites, with the poll p")]


def test_invites_go_where_they_are_needed(store):
    store.create_study(settings("open"))
    store.create_study(settings("asked", access="invite"))
    store.create_poll(PollSettings("p", "Pets", ("open",)))
    refused("argument_invalid", store.add_invites, "open", tokens(1))
    refused("argument_invalid", store.add_poll_invites, "p", tokens(1))
    refused("argument_invalid", store.add_invites, "asked", [b"short"])
    refused("argument_invalid", store.add_invites, "asked", [])
    store.close_study("asked")
    refused("study_closed", store.add_invites, "asked", tokens(1))
    assert table(store, "tokens") == []


def test_closing_purges_the_tokens(store, monkeypatch):
    monkeypatch.setattr(catalog, "STEP", 3)
    store.create_study(settings("a", access="invite"))
    store.create_study(settings("b", access="invite"))
    store.add_invites("a", tokens(10))
    store.add_invites("b", tokens(10))
    store.close_study("a")
    assert scalar(store, "SELECT count(*) FROM tokens") == 10
    assert codes(store.submit([submissions(store, "b", 1)[0]._replace(token=tokens(1)[0])])) == [None]


def test_a_deleted_study_leaves_nothing_and_its_name_is_free(store, monkeypatch):
    monkeypatch.setattr(catalog, "STEP", 7)
    store.create_study(settings(access="invite"))
    store.add_invites("tea", tokens(30))
    given = [s._replace(token=t) for s, t in zip(submissions(store, "tea", 20), tokens(20), strict=True)]
    assert codes(store.submit(given)) == [None] * 20
    store.delete_study("tea")
    for name in ("studies", "rounds", "reports", "tokens", "counters", "estimates"):
        assert table(store, name) == [], name
    store.create_study(settings(k=4))
    # The store has not forgotten to forget: a round of the old study is unknown to the new one.
    assert codes(store.submit(given[:1])) == ["round_unknown"]
    assert store.study("tea").n == 0


def test_what_a_crash_left_of_a_deletion_is_swept(store, monkeypatch):
    store.create_study(settings(access="invite"))
    store.add_invites("tea", tokens(5))
    store.submit([s._replace(token=t) for s, t in zip(submissions(store, "tea", 5), tokens(5), strict=True)])
    monkeypatch.setattr(store, "_clear", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        store.close_study("tea")
    assert store.study("tea").state == "closed"
    monkeypatch.undo()
    store.sweep()
    assert table(store, "tokens") == []
    assert store.study("tea").n == 5
    monkeypatch.setattr(store, "_clear", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        store.delete_study("tea")
    monkeypatch.undo()
    assert len(table(store, "reports")) == 5
    store.sweep()
    assert table(store, "reports") == table(store, "studies") == []


def test_reports_go_when_their_time_has_come(store, monkeypatch):
    store.create_study(settings(retention_days=2))
    store.submit(submissions(store, "tea", 5))
    store.sweep()
    store.close_study("tea")
    start = int(time.time() // 3600)
    monkeypatch.setattr(catalog, "_hour", lambda: start + 47)
    store.sweep()
    assert store.study("tea").n == 5
    monkeypatch.setattr(catalog, "_hour", lambda: start + 49)
    store.sweep()
    study = store.study("tea")
    assert (study.n, study.purged, study.state) == (0, True, "closed")
    assert table(store, "reports") == table(store, "counters") == []
    assert len(store.rounds("tea")) == 1
    assert store.actions()[-1][2] == "reports deleted, as settled"
    assert store.standings() == []


def test_health_is_a_write(store, url):
    before = table(store, "pulse")
    store.check()
    assert table(store, "pulse") != before
    store.check()
    assert table(store, "pulse") == before


# The schema


def test_migrations_make_the_schema(store):
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_reports_and_tokens_hold_no_time_and_no_order(store):
    found = inspect(store.engine)
    columns = {name: {c["name"] for c in found.get_columns(name)} for name in ("reports", "tokens")}
    assert columns == {"reports": {"study", "id", "round", "value"}, "tokens": {"study", "hash", "used"}}
    for name in ("reports", "tokens"):
        types = {str(c["type"]) for c in found.get_columns(name)}
        assert not any("TIME" in kind or "DATE" in kind for kind in types)
        assert [c["default"] for c in found.get_columns(name) if c["default"] is not None] == []
        assert found.get_indexes(name) == []
        assert found.get_foreign_keys(name) == []
        assert found.get_unique_constraints(name) == []
    assert found.get_pk_constraint("reports")["constrained_columns"] == ["study", "id"]
    assert found.get_pk_constraint("tokens")["constrained_columns"] == ["study", "hash"]
    if store.sqlite:
        for name in ("reports", "tokens", "counters"):
            made = scalar(store, "SELECT sql FROM sqlite_master WHERE name = :name", name=name)
            assert "WITHOUT ROWID" in made
            assert "AUTOINCREMENT" not in made
        assert scalar(store, "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'") == 0
    else:
        assert scalar(store, "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal") == 0
        assert scalar(store, "SHOW track_commit_timestamp") == "off"


def test_no_value_of_any_table_is_a_time_finer_than_an_hour(store):
    store.create_study(settings(access="invite"))
    store.add_invites("tea", tokens(3))
    store.submit([s._replace(token=t) for s, t in zip(submissions(store, "tea", 3), tokens(3), strict=True)])
    store.erase("tea", submissions(store, "tea", 1)[0].id.hex())
    store.check()
    store.close_study("tea")
    now, seen = time.time(), 0
    for name in inspect(store.engine).get_table_names():
        for row in table(store, name):
            for value in row:
                seen += 1
                assert not hasattr(value, "isoformat"), name
                if isinstance(value, int | float):
                    for unit in (1, 1e3, 1e6, 1e9):
                        assert abs(value - now * unit) > 10 * 86400 * unit, name
    assert seen > 30


def test_stored_reports_lie_in_the_order_of_their_ids(store):
    store.create_study(settings())
    for seed in range(20):
        store.submit(submissions(store, "tea", 3, seed))
    if not store.sqlite:
        assert scalar(store, "SELECT count(DISTINCT xmin::text) FROM reports") == 20
        assert scalar(store, "SELECT count(*) FROM reports") == 60
        store.mix(scalar(store, "SELECT id FROM studies"))
        assert scalar(store, "SELECT count(DISTINCT xmin::text) FROM reports") == 1
    with store.read() as connection:
        order = "" if store.sqlite else " ORDER BY ctid"
        lying = [bytes(i) for i in connection.execute(text(f"SELECT id FROM reports{order}")).scalars()]
    assert lying == sorted(lying)
    assert len(lying) == 60


# Opening


def test_opening_again_changes_nothing(url):
    first = Store.open(url)
    first.create_study(settings())
    before = {name: table(first, name) for name in [*metadata.tables, "alembic_version"]}
    first.close()
    again = Store.open(url)
    assert {name: table(again, name) for name in before} == before
    again.close()


def test_several_may_open_an_empty_database_at_once(url):
    opened, failed = [], []

    def work():
        try:
            opened.append(Store.open(url))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [table(store, "pulse") for store in opened] == [[(1, False)]] * 6
    for store in opened:
        store.close()


def test_a_database_of_a_newer_release_is_refused(url):
    store = Store.open(url)
    with store.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    store.close()
    assert "9999" in refused("version_unknown", Store.open, url).message


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("sqlite://", "argument_invalid"), ("sqlite:///:memory:", "argument_invalid"),
        ("mysql://localhost/a", "argument_invalid"), ("nonsense", "argument_invalid"), ("", "argument_invalid"),
        ("sqlite:////nowhere/at/all/a.db", "store_unusable"),
        ("postgresql://nobody@/none?host=/nowhere", "store_unusable"),
    ],
)  # fmt: skip
def test_urls_that_lead_nowhere_are_refused(url, code):
    assert refused(code, Store.open, url).hint


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "a.db").write_bytes(b"not a database, but something of somebody's" * 100)
    refused("store_unusable", Store.open, f"sqlite:///{tmp_path}/a.db")
    assert (tmp_path / "a.db").read_bytes().startswith(b"not a database")


def test_only_the_owner_reads_the_file(tmp_path):
    Store.open(f"sqlite:///{tmp_path}/a.db").close()
    assert (tmp_path / "a.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("k", "policy"), [(500, "risk"), (501, "static-hashed"), (10_000, "static-hashed")])
def test_a_study_of_many_categories_begins_with_a_policy_that_can_learn_them(k, policy):
    question = {"text": "Which?", "labels": [f"item {i}" for i in range(k)]}
    settings = StudySettings.read({"name": "big", "question": question, "epsilon": "1"})
    assert settings.policy == policy
    assert settings.begin().round.channel.k == k
