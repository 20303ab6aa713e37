"""Every route of the protocol: what it does, and what it refuses."""

import csv
import io
import json
import threading

import httpx
import pytest
from http_support import (
    AS_ADMIN,
    JSON,
    KEY,
    LABELS,
    LINES,
    PATIENCE,
    code,
    collecting,
    make,
    report,
    send,
    settings,
)  # fmt: skip

import tacit
from tacit.collector import worker
from tacit_client import Receipt, Report, Round, build, certify, value_to_text

ROUTES = [
    ("GET", "/v1/studies/{}"),
    ("POST", "/v1/studies/{}/open"),
    ("POST", "/v1/studies/{}/close"),
    ("DELETE", "/v1/studies/{}"),
    ("GET", "/v1/studies/{}/round"),
    ("GET", "/v1/studies/{}/rounds"),
    ("GET", "/v1/studies/{}/estimate"),
    ("GET", "/v1/studies/{}/events"),
    ("GET", "/v1/studies/{}/export"),
    ("GET", "/v1/studies/{}/evidence"),
    ("GET", "/v1/studies/{}/privacy"),
    ("DELETE", "/v1/studies/{}/reports/" + "0" * 32),
]
ADMINISTRATION = [
    ("POST", "/v1/studies", settings("never")),
    ("POST", "/v1/studies/drink/open", None),
    ("POST", "/v1/studies/drink/close", None),
    ("DELETE", "/v1/studies/drink", None),
    ("POST", "/v1/studies/drink/invites", {"count": 1}),
    ("POST", "/v1/polls", {"name": "p", "title": "P", "studies": ["drink"]}),
    ("DELETE", "/v1/polls/p", None),
    ("POST", "/v1/polls/p/invites", {"count": 1}),
]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    with collecting(tmp_path_factory.mktemp("http")) as found:
        make(found[0])
        yield found


@pytest.fixture(scope="module")
def client(both):
    return both[0]


@pytest.fixture(scope="module")
def drink(client):
    return Round.from_json(client.get("/v1/studies/drink/round").content)


def test_the_service_says_what_it_is(client):
    assert client.get("/v1").json() == {"service": "tacit", "protocols": ["v1"], "release": tacit.__version__}
    assert client.get("/v1/health").json() == {"status": "ok"}


def test_a_study_from_the_first_report_to_the_last(client):
    asked = make(client, "whole", expected=100)
    assert certify(asked.channel).holds
    sent = [report(asked, i % 3) for i in range(30)]
    for made in sent:
        answer = send(client, made)
        assert answer.status_code == 201
        assert Receipt.from_json(answer.content) == Receipt(made.id, asked.id)
    study = client.get("/v1/studies/whole").json()
    assert (study["n"], study["state"], study["head"]) == (30, "open", asked.id)
    assert study["question"] == {"id": "whole", "text": "What do you drink?", "labels": LABELS}
    evidence = tacit.Evidence.from_bytes(client.get("/v1/studies/whole/evidence").content)
    assert evidence == tacit.Evidence().add(tacit.channels.from_table(asked.channel), [r.value for r in sent])
    closed = client.post("/v1/studies/whole/close", headers=AS_ADMIN).json()
    assert closed["state"] == "closed"
    assert code(send(client, report(asked))) == (409, "study_closed")
    assert send(client, sent[0]).status_code == 200
    assert code(client.post("/v1/studies/whole/open", headers=AS_ADMIN)) == (409, "study_closed")
    statement = client.get("/v1/studies/whole/privacy").json()
    assert [entry["action"] for entry in statement["actions"]] == ["made, open", "closed"]
    assert statement["certified"] is True
    assert statement["loss"] <= 1
    assert "honest operator only" in statement["served_code"]
    assert client.delete("/v1/studies/whole", headers=AS_ADMIN).status_code == 204
    assert code(client.get("/v1/studies/whole")) == (404, "study_unknown")


def test_an_estimate_comes_from_the_worker_and_has_a_tag(both):
    client, store = both
    asked = make(client, "learned", expected=100)
    assert code(client.get("/v1/studies/learned/estimate")) == (404, "estimate_unknown")
    for i in range(20):
        send(client, report(asked, i % 2))
    worker.Worker(store).look()
    answer = client.get("/v1/studies/learned/estimate")
    found = answer.json()
    assert (found["study"], found["used"], found["labels"]) == ("learned", 20, LABELS)
    assert abs(sum(found["estimate"]) - 1) < 1e-5
    again = client.get("/v1/studies/learned/estimate", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == answer.headers["etag"]
    assert client.delete("/v1/studies/learned", headers=AS_ADMIN).status_code == 204
    make(client, "learned", expected=100)
    worker.Worker(store).look()
    other = client.get("/v1/studies/learned/estimate", headers={"If-None-Match": answer.headers["etag"]})
    assert (other.status_code, other.json()["used"]) == (200, 0), "the estimate of a study that is gone"


def test_a_round_is_canonical_and_its_tag_is_its_id(client, drink):
    answer = client.get("/v1/studies/drink/round")
    assert answer.text == drink.to_json()
    assert answer.headers["etag"] == f'"{drink.id}"'
    assert answer.headers["cache-control"] == "no-cache"
    for known in (f'"{drink.id}"', f'W/"{drink.id}"', f'"other", "{drink.id}"', "*"):
        assert client.get("/v1/studies/drink/round", headers={"If-None-Match": known}).status_code == 304
    assert client.get("/v1/studies/drink/round", headers={"If-None-Match": '"other"'}).status_code == 200
    lines = client.get("/v1/studies/drink/rounds")
    assert lines.headers["content-type"] == "application/x-ndjson"
    assert lines.text == drink.to_json() + "\n"


def test_the_same_report_is_stored_once_however_often_it_comes(client):
    asked = make(client, "once")
    made = report(asked)
    assert [send(client, made).status_code for _ in range(3)] == [201, 200, 200]
    other = Report(made.id, made.study, made.round, (1 - made.value[0] % 2,))
    assert code(send(client, other)) == (409, "report_conflict")
    assert client.get("/v1/studies/once").json()["n"] == 1


def test_an_erased_report_is_gone_for_good(client):
    asked = make(client, "erased")
    made = report(asked)
    send(client, made)
    assert client.delete(f"/v1/studies/erased/reports/{made.id}").status_code == 204
    assert client.get("/v1/studies/erased").json()["n"] == 0
    assert code(send(client, made)) == (410, "report_erased")
    assert code(client.delete("/v1/studies/erased/reports/xyz")) == (422, "field_invalid")


def test_a_batch_has_an_outcome_for_each_line(client):
    asked = make(client, "batch")
    good, twice = report(asked), report(asked)
    send(client, twice)
    lines = [
        good.to_json(),
        twice.to_json(),
        Report(twice.id, "batch", asked.id, (1 - twice.value[0] % 2,)).to_json(),
        Report(Report.new_id(), "batch", "ab" * 32, (0,)).to_json(),
        Report(Report.new_id(), "batch", asked.id, (7,)).to_json(),
        Report(Report.new_id(), "drink", asked.id, (0,)).to_json(),
        "{",
        "",
        " " + good.to_json(),
        '{"type":"report"}',
        good.to_json(),
    ]
    answer = client.post("/v1/studies/batch/batches", content="\n".join(lines), headers=LINES)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    found = [json.loads(line) for line in answer.text.splitlines()]
    assert [(one.get("status"), one.get("code")) for one in found] == [
        (None, None),
        (None, None),
        (409, "report_conflict"),
        (404, "round_unknown"),
        (422, "report_impossible"),
        (422, "field_invalid"),
        (400, "message_malformed"),
        (400, "message_malformed"),
        (400, "message_not_canonical"),
        (422, "field_missing"),
        (None, None),
    ]
    assert Receipt.from_json(answer.text.splitlines()[0]).report == good.id
    assert client.get("/v1/studies/batch").json()["n"] == 2


def test_a_batch_is_bounded_in_lines_and_bytes(client, drink):
    def batch(body):
        return client.post("/v1/studies/drink/batches", content=body, headers=LINES)

    assert code(batch(b"\n".join([b"x"] * 1001))) == (413, "message_too_large")
    assert code(batch(b"x" * ((1 << 22) + 1))) == (413, "message_too_large")
    assert code(batch(b"")) == (400, "message_malformed")
    assert batch(b"\n".join([report(drink).to_json().encode()] * 1000) + b"\n").status_code == 200


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (400, "message_malformed")),
        (b"{", (400, "message_malformed")),
        (b"\xff\xfe", (400, "message_malformed")),
        (b"null", (400, "message_malformed")),
        (b"[1]", (400, "message_malformed")),
        (b"NaN", (400, "message_malformed")),
        (b"{}", (422, "field_missing")),
        (b"[" * 100_000, (400, "message_malformed")),
        (b'{"a":' * 100_000, (400, "message_malformed")),
        (b'{"a":"\x00"}', (400, "message_malformed")),
        (b'{"type":"report","version":"2"}', (400, "version_unknown")),
        (b'{"type":"round","version":"1"}', (422, "field_invalid")),
        (b"9" * 100_000, (400, "message_malformed")),
        (b"x" * ((1 << 20) + 1), (413, "message_too_large")),
    ],
)
def test_what_is_no_report_is_refused(client, body, expected):
    answer = client.post("/v1/studies/drink/reports", content=body, headers=JSON)
    assert code(answer) == expected


def test_an_impossible_or_misplaced_report_is_refused(client, drink):
    made = report(drink)
    impossible = [(7,), (0, 1), 0, (0, 0), (2**31,)]
    for value in impossible:
        answer = send(client, Report(Report.new_id(), "drink", drink.id, value))
        assert code(answer) == (422, "report_impossible"), value
    assert code(send(client, Report(made.id, "drink", "00" * 32, (0,)))) == (404, "round_unknown")
    other = client.post("/v1/studies/once/reports", content=made.to_json(), headers=JSON)
    assert code(other) in {(422, "field_invalid")}
    assert code(client.post("/v1/studies/none/reports", content=Report(made.id, "none", drink.id, 0).to_json(),
                            headers=JSON)) == (404, "study_unknown")  # fmt: skip
    spaced = client.post("/v1/studies/drink/reports", content=made.to_json() + "\n", headers=JSON)
    assert code(spaced) == (400, "message_not_canonical")


def test_bodies_that_come_in_pieces_are_measured_as_they_come(client):
    def endless():
        for _ in range(200):
            yield b"x" * 65536

    for path in ("/v1/studies/drink/reports", "/v1/studies"):
        answer = client.post(path, content=endless(), headers=JSON | AS_ADMIN)
        assert code(answer) == (413, "message_too_large")
    answer = client.post("/v1/studies/drink/batches", content=endless(), headers=LINES)
    assert code(answer) == (413, "message_too_large")


def test_a_report_in_pieces_is_taken(client, drink):
    text = report(drink).to_json().encode()
    answer = client.post(
        "/v1/studies/drink/reports", content=(text[i : i + 10] for i in range(0, len(text), 10)), headers=JSON
    )
    assert answer.status_code == 201


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_other_types_of_bodies_are_refused(client, drink, media):
    given = {} if media is None else {"Content-Type": media}
    body = report(drink).to_json().encode()
    for path in ("/v1/studies/drink/reports", "/v1/studies/drink/batches", "/v1/studies"):
        answer = client.post(path, content=body, headers=given | AS_ADMIN)
        assert code(answer) == (415, "media_type_unknown")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{", (400, "message_malformed")),
        ("[]", (422, "field_invalid")),
        ("{}", (422, "field_missing")),
        ('{"name": NaN}', (422, "field_invalid")),
        ("[" * 50_000, (400, "message_malformed")),
        (json.dumps(settings("x", surprise=1)), (422, "field_unknown")),
        (json.dumps(settings("../x")), (422, "field_invalid")),
        (json.dumps(settings("x\u0000y")), (422, "field_invalid")),
        (json.dumps(settings("x", epsilon=True)), (422, "field_invalid")),
        (json.dumps(settings("x", epsilon="nan")), (422, "field_invalid")),
        (json.dumps(settings("x", epsilon=0)), (422, "field_invalid")),
        (json.dumps(settings("x", epsilon=1e309)), (422, "field_invalid")),
        (json.dumps(settings("x", epsilon="1" * 5000)), (422, "field_invalid")),
        (json.dumps(settings("x", expected="10")), (422, "field_invalid")),
        (json.dumps(settings("x", expected=10.0)), (422, "field_invalid")),
        (json.dumps(settings("x", expected=10**30)), (422, "field_invalid")),
        (json.dumps(settings("x", listed=1)), (422, "field_invalid")),
        (json.dumps(settings("x", origins=["https://a.example/path"])), (422, "field_invalid")),
        (json.dumps(settings("x", origins="https://a.example")), (422, "field_invalid")),
        (json.dumps(settings("x", policy="nothing")), (422, "argument_invalid")),
        (json.dumps(settings("x", model="normal")), (422, "field_invalid")),
        (json.dumps(settings("x") | {"question": {"text": "?", "labels": ["a"]}}), (422, "field_invalid")),
        (json.dumps(settings("x") | {"question": {"text": "?", "labels": ["a", "a"]}}), (422, "field_invalid")),
        (json.dumps(settings("x") | {"question": {"text": "\ud800", "labels": ["a", "b"]}}), (422, "field_invalid")),
        (json.dumps(settings("x") | {"question": {"text": "?"}}), (422, "field_missing")),
        (json.dumps(settings("x") | {"question": {"text": "?", "unit": "h", "lowest": "1", "highest": "0",
                                                  "step": "1"}}), (422, "field_invalid")),
        (json.dumps(settings("drink")), (409, "name_taken")),
    ],
)  # fmt: skip
def test_what_is_no_study_is_refused(client, body, expected):
    answer = client.post("/v1/studies", content=body, headers=JSON | AS_ADMIN)
    assert code(answer) == expected
    assert client.get("/v1/studies/x").status_code == 404


def test_a_study_of_a_number(client):
    question = {"text": "How long?", "unit": "hours", "lowest": "0", "highest": "16", "step": "0.5"}
    asked = make(client, "number", question=question, epsilon=2, expected=500)
    answer = send(client, Report(Report.new_id(), "number", asked.id, asked.channel.respond(1)))
    assert answer.status_code == 201
    assert client.get("/v1/studies/number").json()["epsilon"] == "2"
    assert client.get("/v1/studies/number/privacy").json()["loss"] <= 2


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_study_that_is_not_there(client, method, path):
    for name in ("nothing", "%00", "a%2Fb", "..%2f..", "%F0%9F%92%A9", "x" * 65, "%ff"):
        answer = client.request(method, path.format(name), headers=AS_ADMIN)
        assert answer.status_code == 404, name
        assert code(answer)[1] in {"study_unknown", "route_unknown"}


@pytest.mark.parametrize(("method", "path", "body"), ADMINISTRATION)
def test_administration_needs_the_key(client, method, path, body):
    wrong = [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {KEY}"}, {"Authorization": KEY}]
    wrong += [
        {"Authorization": f"Bearer {KEY}x"},
        {"Authorization": f"Bearer {KEY[:-1]}"},
        {"Authorization": "Bearer"},
    ]
    for headers in wrong:
        answer = client.request(method, path, json=body, headers=headers)
        assert code(answer) == (401, "key_wrong")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert client.get("/v1/studies/drink").json()["state"] == "open"


def test_a_draft_takes_no_reports_and_is_not_listed(client):
    asked = make(client, "draft", state="draft")
    assert code(send(client, report(asked))) == (409, "study_closed")
    names = [study["name"] for study in client.get("/v1/studies").json()["studies"]]
    assert "drink" in names
    assert "draft" not in names
    everything = client.get("/v1/studies", headers=AS_ADMIN).json()["studies"]
    assert "draft" in [study["name"] for study in everything]
    assert client.post("/v1/studies/draft/open", headers=AS_ADMIN).json()["state"] == "open"
    assert send(client, report(asked)).status_code == 201


def test_an_invite_is_good_for_one_report(client):
    asked = make(client, "invited", access="invite")
    tokens = client.post("/v1/studies/invited/invites", json={"count": 3}, headers=AS_ADMIN).json()["invites"]
    assert len(set(tokens)) == 3
    first, second = report(asked), report(asked)
    assert code(send(client, first)) == (401, "invite_required")
    assert code(send(client, first, **{"Tacit-Invite": "invented"})) == (401, "invite_required")
    assert send(client, first, **{"Tacit-Invite": tokens[0]}).status_code == 201
    assert send(client, first, **{"Tacit-Invite": tokens[0]}).status_code == 200
    assert send(client, first).status_code == 200
    assert code(send(client, second, **{"Tacit-Invite": tokens[0]})) == (403, "invite_used")
    assert send(client, second, **{"Tacit-Invite": tokens[1]}).status_code == 201
    batch = client.post("/v1/studies/invited/batches", content=report(asked).to_json(), headers=LINES)
    assert json.loads(batch.text)["code"] == "invite_required"
    for bad in (0, 10_001, "1", 1.5, None, True):
        answer = client.post("/v1/studies/invited/invites", json={"count": bad}, headers=AS_ADMIN)
        assert code(answer) == (422, "field_invalid")
    open_to_all = client.post("/v1/studies/drink/invites", json={"count": 1}, headers=AS_ADMIN)
    assert code(open_to_all) == (422, "argument_invalid")


def test_an_odd_invite_is_refused_politely(client):
    asked = make(client, "odd", access="invite")
    for token in ("", "x" * 201, "a b"):
        answer = send(client, report(asked), **{"Tacit-Invite": token})
        assert code(answer) == (403, "invite_used")


def test_results_for_holders_of_the_key(both):
    client, store = both
    make(client, "secret", results="key")
    worker.Worker(store).look()
    for part in ("estimate", "events", "export", "evidence"):
        assert code(client.get(f"/v1/studies/secret/{part}")) == (401, "key_wrong")
        if part != "events":
            assert client.get(f"/v1/studies/secret/{part}", headers=AS_ADMIN).status_code == 200
    assert client.get("/v1/studies/secret").status_code == 200


def test_a_poll_lists_its_studies_and_what_they_cost(client):
    make(client, "poll-a", epsilon="0.5", access="invite")
    make(client, "poll-b", epsilon="1.25", listed=False)
    body = {"name": "both", "title": "Both of them", "studies": ["poll-b", "poll-a"]}
    assert client.post("/v1/polls", json=body, headers=AS_ADMIN).status_code == 201
    poll = client.get("/v1/polls/both").json()
    assert [study["name"] for study in poll["studies"]] == ["poll-b", "poll-a"]
    assert (poll["title"], poll["epsilon"]) == ("Both of them", "1.75")
    assert client.get("/v1/polls").json() == {"polls": []}
    assert [p["name"] for p in client.get("/v1/polls", headers=AS_ADMIN).json()["polls"]] == ["both"]
    tokens = client.post("/v1/polls/both/invites", json={"count": 2}, headers=AS_ADMIN).json()["invites"]
    assert len(tokens) == 2
    assert code(client.post("/v1/polls", json=body, headers=AS_ADMIN)) == (409, "name_taken")
    missing = client.post(
        "/v1/polls", json=body | {"name": "other", "studies": ["nothing"]}, headers=AS_ADMIN
    )
    assert code(missing) == (404, "study_unknown")
    assert code(client.get("/v1/polls/nothing")) == (404, "poll_unknown")
    assert code(client.get("/v1/polls/%00")) == (404, "poll_unknown")
    assert client.delete("/v1/polls/both", headers=AS_ADMIN).status_code == 204
    assert code(client.delete("/v1/polls/both", headers=AS_ADMIN)) == (404, "poll_unknown")
    assert client.get("/v1/studies/poll-a").status_code == 200


def test_exports_hold_every_report_sorted(client):
    asked = make(
        client, "exported", question={"text": "?", "labels": [f"no {i}" for i in range(9)]}, epsilon="0.5"
    )
    sent = [report(asked, i % 9) for i in range(40)]
    assert any(len(r.value) > 1 for r in sent)
    client.post("/v1/studies/exported/batches", content="\n".join(r.to_json() for r in sent), headers=LINES)
    expected = sorted((asked.id, value_to_text(r.value)) for r in sent)
    path = "/v1/studies/exported/export"
    comma = client.get(path)
    assert comma.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(comma.text)))
    assert [(row["round"], row["value"]) for row in rows] == expected
    assert {row["study"] for row in rows} == {"exported"}
    found = client.get(path, params={"format": "json"}).json()
    assert [(row["round"], row["value"]) for row in found["reports"]] == expected
    parquet = pytest.importorskip("pyarrow.parquet").read_table(
        io.BytesIO(client.get(path, params={"format": "parquet"}).content)
    )
    assert [(row["round"], row["value"]) for row in parquet.to_pylist()] == expected
    assert code(client.get(path, params={"format": "xls"})) == (422, "field_invalid")
    empty = make(client, "empty")
    assert client.get("/v1/studies/empty/export").text == "study,round,value\r\n"
    assert client.get("/v1/studies/empty/export", params={"format": "json"}).json()["reports"] == []
    assert empty.number == 0


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/nothing", (404, "route_unknown")),
        ("GET", "/v1/", (404, "route_unknown")),
        ("GET", "/v2/studies", (404, "route_unknown")),
        ("GET", "/v1/studies/drink/round/", (404, "route_unknown")),
        ("GET", "/static/../app.py", (404, "route_unknown")),
        ("GET", "/static/%2e%2e%2fapp.py", (404, "route_unknown")),
        ("GET", "/static/..%2f..%2f..%2f..%2fetc%2fpasswd", (404, "route_unknown")),
        ("PUT", "/v1/studies/drink", (405, "method_unknown")),
        ("GET", "/v1/studies/drink/reports", (405, "method_unknown")),
        ("PATCH", "/v1/studies/drink/batches", (405, "method_unknown")),
        ("OPTIONS", "/v1/studies/drink", (405, "method_unknown")),
    ],
)
def test_paths_and_methods_that_are_not_there(client, method, path, expected):
    answer = client.request(method, path)
    assert code(answer) == expected
    assert ("allow" in answer.headers) == (expected[0] == 405)


def events(client, name, enough, headers=None):
    """The events of a stream until `enough` of them came."""
    found = []
    with client.stream("GET", f"/v1/studies/{name}/events", headers=headers, timeout=PATIENCE) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        kind = None
        for line in answer.iter_lines():
            if line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                found.append((kind, json.loads(line[6:])))
            if enough(found):
                return found
    return found


def test_listeners_learn_of_reports_and_estimates(both):
    client, store = both
    asked = make(client, "watched", expected=100)
    heard = []
    listening = threading.Event()

    def listen():
        def enough(found):
            if found:
                listening.set()
            return found[-1:] and found[-1][0] == "estimate"

        with httpx.Client(base_url=client.base_url) as own:
            heard.extend(events(own, "watched", enough))

    listener = threading.Thread(target=listen)
    listener.start()
    assert listening.wait(PATIENCE)
    send(client, report(asked))
    worker.Worker(store).look()
    listener.join(PATIENCE)
    assert not listener.is_alive()
    assert heard[0] == ("count", {"n": 0, "state": "open"})
    assert ("count", {"n": 1, "state": "open"}) in heard
    assert heard[-1] == ("estimate", {"n": 1, "state": "open", "estimates": 1})
    first = events(client, "watched", lambda found: len(found) == 2)
    assert [kind for kind, _ in first] == ["count", "estimate"]


def test_a_stream_ends_when_its_study_is_deleted(client):
    make(client, "doomed")

    def delete_then_wait(found):
        if len(found) == 1:
            client.delete("/v1/studies/doomed", headers=AS_ADMIN)
        return False

    with httpx.Client(base_url=client.base_url) as own:
        assert [kind for kind, _ in events(own, "doomed", delete_then_wait)] == ["count"]


def test_a_report_to_an_earlier_round_still_counts(both):
    client, store = both
    question = {"text": "?", "labels": [f"no {i}" for i in range(12)]}
    first = make(client, "chain", expected=2000, question=question, policy="honest")
    body = "\n".join(report(first, 0).to_json() for _ in range(900))
    client.post("/v1/studies/chain/batches", content=body, headers=LINES)
    worker.Worker(store).look()
    rounds = [Round.from_json(line) for line in client.get("/v1/studies/chain/rounds").text.splitlines()]
    assert len(rounds) > 1, "the worker chose no other channel"
    assert [r.previous for r in rounds] == [None, *[r.id for r in rounds[:-1]]]
    answer = send(client, report(first))
    assert answer.status_code == 201
    assert Receipt.from_json(answer.content).head == rounds[-1].id
    assert client.get("/v1/studies/chain/privacy").json()["rounds"] == len(rounds)


def test_the_channel_of_a_round_is_the_best_static_one_before_anything_is_known(drink):
    assert drink.channel == build.subset(3, 1)
