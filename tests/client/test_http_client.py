"""The device's HTTP: what it reads and refuses, when it tries again, and what a lying server gets out of it."""

import http.server
import json
import threading
import time
from contextlib import contextmanager

import pytest
from client_support import asked, fast_folder, refused

from tacit_client import Device, Receipt, Refused, Store, TacitError, build, flush, witness
from tacit_client.http import MAX_PROBLEM, Collector, backoff

HEAD = "ab" * 32


class Script(http.server.BaseHTTPRequestHandler):
    """Answers each request by the next entry of a script: a function, or (status, headers, body)."""

    protocol_version = "HTTP/1.1"

    def _answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        server = self.server
        server.seen.append((self.command, self.path, dict(self.headers), body))
        entry = server.script[min(len(server.seen), len(server.script)) - 1]
        if callable(entry):
            entry = entry(self, body)
        if entry is None:
            return
        status, headers, content = entry
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815

    def log_message(self, *_):
        pass


class Scripted(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass


@contextmanager
def scripted(*script):
    """(address, requests seen) of a server that follows a script; its last entry is repeated."""
    server = Scripted(("127.0.0.1", 0), Script)
    server.script, server.seen, server.daemon_threads = script, [], True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def problem(code, status, **headers):
    body = {
        "type": f"urn:tacit:error:{code}",
        "status": status,
        "code": code,
        "detail": "RAISE YOUR CAP",
        "hint": "\x1b[2J",
    }
    return status, {"Content-Type": "application/problem+json", **headers}, json.dumps(body).encode()


def receipt(handler, body):
    found = json.loads(body)
    return 201, {"Content-Type": "application/json"}, Receipt(found["id"], HEAD).to_json().encode()


@contextmanager
def waiting(*script, study="office"):
    """(collector, store with one report that waits, seconds slept, requests seen)."""
    with fast_folder() as folder, scripted(*script) as (url, seen):
        collector = Collector(url, attempts=4, timeout=5)
        slept = []
        collector._sleep = slept.append
        store = Store(folder / "device.sqlite")
        Device(store, 1, 5).answer(asked(study), "tea")
        yield collector, store, slept, seen


def test_a_round_is_read_and_a_report_delivered():
    text = asked().to_json().encode()
    with waiting((200, {}, text), receipt) as (collector, store, slept, seen):
        assert collector.round("office") == asked()
        delivery = flush(store, collector.send)
        assert [r.head for r in delivery.receipts] == [HEAD]
        assert store.pending() == []
        assert slept == []
        (get, path, headers, _), (post, target, given, body) = seen
        assert (get, path, post, target) == (
            "GET",
            "/v1/studies/office/round",
            "POST",
            "/v1/studies/office/reports",
        )
        assert set(headers) == {"Host", "Accept-Encoding"}, "nothing that marks a device"
        assert given["Content-Type"] == "application/json"
        assert json.loads(body)["study"] == "office"
        assert store.seen("office") == (asked().id, HEAD)


def test_an_invite_travels_in_its_header_and_odd_ones_not_at_all():
    with waiting(receipt) as (collector, store, _, seen):
        (report,) = store.pending()
        collector.send(report, invite="a-token")
        assert seen[0][2]["Tacit-Invite"] == "a-token"
        for bad in ("", "a b", "a\r\nX: y", "é", "x" * 201, 7):
            with refused("argument_invalid") as caught:
                collector.send(report, invite=bad)
            assert not bad or str(bad) not in str(caught.value)


@pytest.mark.parametrize("code", ["rate_limited", "store_unusable", "server_busy", "server_failed"])
def test_what_passes_by_itself_is_tried_again(code):
    status = {"rate_limited": 429, "server_failed": 500}.get(code, 503)
    trouble = problem(code, status, **{"Retry-After": "7"})
    with waiting(trouble, trouble, receipt) as (collector, store, slept, seen):
        assert len(flush(store, collector.send).receipts) == 1
        assert len(seen) == 3
        assert [seconds >= 7 for seconds in slept] == [True, True]
        assert seen[0][3] == seen[1][3] == seen[2][3]


def test_it_gives_up_for_now_and_the_report_stays():
    with waiting(problem("server_failed", 500)) as (collector, store, slept, seen):
        delivery = flush(store, collector.send)
        assert (len(delivery.waiting), delivery.refused, delivery.receipts) == (1, (), ())
        assert not isinstance(delivery.waiting[0][1], Refused)
        assert len(store.pending()) == 1
        assert len(seen) == 4
        assert slept == sorted(slept)
        assert 0.25 <= slept[0] <= 0.5
        assert 1.0 <= slept[2] <= 2.0


def test_who_is_asked_to_wait_very_long_gives_up_for_now():
    with waiting(problem("rate_limited", 429, **{"Retry-After": "86400"})) as (collector, store, slept, seen):
        assert len(flush(store, collector.send).waiting) == 1
        assert (slept, len(seen)) == ([], 1)


@pytest.mark.parametrize(
    ("code", "status"),
    [("study_closed", 409), ("round_unknown", 404), ("report_conflict", 409), ("report_impossible", 422),
     ("report_erased", 410), ("invite_used", 403), ("invite_required", 401), ("message_malformed", 400),
     ("something_new", 418)],
)  # fmt: skip
def test_what_is_final_is_noted_and_not_sent_for_ever(code, status):
    with waiting(problem(code, status)) as (collector, store, slept, seen):
        delivery = flush(store, collector.send)
        assert len(delivery.refused) == 1
        error = delivery.refused[0][1]
        assert isinstance(error, Refused)
        assert error.code == (code if code != "something_new" else "server_refused")
        assert "RAISE" not in str(error)
        assert "\x1b" not in str(error)
        assert (slept, store.pending(), len(store.refused())) == ([], [], 1)
        assert flush(store, collector.send).refused == ()
        assert len(seen) == 1
        assert len(flush(store, collector.send, again=True).refused) == 1
        assert len(seen) == 2
        assert store.spent() == 1, "a refusal gives nothing back"


def test_a_refused_report_can_be_delivered_after_all():
    with waiting(problem("invite_required", 401), receipt) as (collector, store, _, _seen):
        flush(store, collector.send)
        delivery = flush(store, lambda report: collector.send(report, "a-token"), again=True)
        assert len(delivery.receipts) == 1
        assert (store.pending(), store.refused()) == ([], [])


def test_only_the_studies_of_this_collector_are_sent():
    with waiting(receipt) as (collector, store, _, seen):
        Device(store, 1, 5).answer(asked("elsewhere"), "tea")
        assert len(flush(store, collector.send, studies={"office"}).receipts) == 1
        assert [r.study for r in store.pending()] == ["elsewhere"]
        assert len(seen) == 1


@pytest.mark.parametrize(
    "answer",
    [
        (404, {"Content-Type": "text/html"}, b"<h1>Not here</h1>"),
        (403, {"Content-Type": "application/json"}, b'{"code": "report_erased"}'),
        (410, {"Content-Type": "application/problem+json"}, b"[]"),
        (410, {"Content-Type": "application/problem+json"}, b'{"code": 7}'),
        (410, {"Content-Type": "application/problem+json"}, b"[" * 50_000),
        (410, {"Content-Type": "application/problem+json"}, b"x" * (MAX_PROBLEM + 1)),
        (200, {}, b""),
        (200, {}, b"{}"),
        (200, {}, b"x" * ((1 << 20) + 1)),
        (200, {"Content-Length": "100"}, b"short"),
        (302, {"Location": "/elsewhere"}, b""),
        (307, {"Location": "https://evil.example/"}, b""),
        (307, {"Location": "//evil.example/"}, b""),
        (307, {"Location": "http://127.0.0.1:1/"}, b""),
        (307, {"Location": "http://user@127.0.0.1/"}, b""),
        (307, {"Location": "ftp://127.0.0.1/"}, b""),
        (307, {"Location": "http://[broken/"}, b""),
        (307, {"Location": "/v1/loop"}, b""),
        (308, {}, b""),
    ],
    ids=lambda answer: f"{answer[0]}-{answer[1]}"[:50],
)  # fmt: skip
def test_what_is_not_the_protocols_is_no_final_word(answer):
    """A login page of a hotel, a proxy, a redirect to another place: the report waits."""
    with waiting(answer) as (collector, store, _, _seen):
        delivery = flush(store, collector.send)
        assert len(delivery.waiting) == 1
        assert delivery.waiting[0][1].code == "server_unreachable"
        assert len(store.pending()) == 1


def test_a_receipt_for_another_report_is_none():
    other = Receipt("0" * 32, HEAD).to_json().encode()
    with waiting((201, {}, other)) as (collector, store, _, _seen):
        assert flush(store, collector.send).waiting[0][1].code == "receipt_mismatch"
        assert len(store.pending()) == 1


def test_a_redirect_inside_the_origin_is_followed():
    moved = 307, {"Location": "/prefix/v1/studies/office/reports"}, b""
    with waiting(moved, receipt) as (collector, store, _, seen):
        assert len(flush(store, collector.send).receipts) == 1
        assert [path for _, path, _, _ in seen] == [
            "/v1/studies/office/reports",
            "/prefix/v1/studies/office/reports",
        ]
        assert seen[0][3] == seen[1][3]


def test_a_server_that_drips_is_left_in_time():
    def drip(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        for _ in range(600):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)

    def drip_head(handler, _):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for i in range(600):
            handler.wfile.write(b"X-%d: y\r\n" % i)
            handler.wfile.flush()
            time.sleep(0.3)

    for script in (drip, drip_head):
        with scripted(script) as (url, _):
            began = time.monotonic()
            with refused("server_unreachable"):
                Collector(url, timeout=1, attempts=1).round("office")
            assert time.monotonic() - began < 5


def test_nobody_there():
    with scripted(receipt) as (url, _):
        pass
    with refused("server_unreachable"):
        Collector(url, attempts=1).round("office")


@pytest.mark.parametrize(
    "url",
    ["http://poll.example.org", "http://127.0.0.1.example.org", "ftp://x.example", "poll.example.org", "", 7, None,
     "https://user:pw@x.example", "https://x.example?a=b", "https://x.example#a", "https://", "https://x.example:0",
     "https://x.example:99999", "https://bücher.example", "https://x.example/\r\nHost: y", "https://x y",
     "javascript:1"],
)  # fmt: skip
def test_addresses_that_are_refused(url):
    with refused("argument_invalid"):
        Collector(url)


def test_addresses_that_are_taken():
    for url in ("https://poll.example.org", "https://x.example:8443/base/", "http://localhost:8000", "http://[::1]:8000",
                "http://127.0.0.9"):  # fmt: skip
        assert Collector(url).url == url.rstrip("/")
    assert Collector("http://poll.example.org", plain_http=True).url == "http://poll.example.org"


def test_a_round_of_another_study_is_refused():
    with scripted((200, {}, asked("other").to_json().encode())) as (url, _), refused("field_invalid"):
        Collector(url, attempts=1).round("office")


@pytest.mark.parametrize("name", ["", "..", "a/b", "a?b", "x" * 65, "a b", "\x00", 7])
def test_names_that_would_lead_elsewhere_are_refused(name):
    with scripted(receipt) as (url, seen), refused("field_invalid"):
        Collector(url).round(name)
    assert seen == []


def test_an_administrator_is_shown_what_the_server_says_but_not_its_escapes():
    with scripted(problem("field_invalid", 422)) as (url, _), refused("field_invalid") as caught:
        Collector(url).call("POST", "/v1/studies", {}, key="k")
    assert "RAISE YOUR CAP" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_waits_grow_and_differ():
    waits = [[backoff(attempt) for _ in range(50)] for attempt in range(12)]
    for attempt, some in enumerate(waits):
        top = min(0.5 * 2**attempt, 60)
        assert all(top / 2 <= w <= top for w in some)
        assert len(set(some)) == 50  # of 2^32: equal by chance in one run of 3 million


# Witnesses


def chain(*channels, study="office"):
    rounds = []
    for channel in channels:
        rounds.append(
            type(asked())(study, asked().question, len(rounds), channel, rounds[-1].id if rounds else None)
        )
    return rounds


SRR, SUBSET, WEAK = build.srr(3, 1), build.subset(3, 1), build.srr(3, 0.5)


def test_views_that_agree():
    long = chain(SRR, SUBSET, WEAK)
    views = [witness.view("here", long), witness.view("there", long[:2])]
    assert witness.partings(views, {"phone": [long[0].id, long[1].id]}) == []
    assert witness.read_view("file", witness.text(long)).ids == views[0].ids


def test_the_first_number_at_which_views_part():
    views = [witness.view("here", chain(SRR, SUBSET, WEAK)), witness.view("there", chain(SRR, WEAK, WEAK))]
    (found,) = witness.partings(views)
    assert (found.number, found.sources) == (1, ("here", "there"))


def test_a_device_that_was_shown_a_round_which_nobody_else_saw():
    honest, lone = chain(SRR, SUBSET), chain(SRR, WEAK)
    found = witness.partings([witness.view("here", honest)], {"phone": [lone[0].id, lone[1].id]})
    assert [(p.number, p.sources[0]) for p in found] == [(None, "phone")]


def test_what_is_no_chain_is_refused():
    good, other = chain(SRR, SUBSET, WEAK), chain(SRR, SUBSET, study="other")
    leaking = build.srr(3, 2)
    leaking = type(leaking)(
        leaking.k, build.srr(3, 1).epsilon, *[getattr(leaking, f) for f in ("subset", "inside", "outside")]
    )
    for rounds in (
        [],
        good[1:],
        [good[0], good[2]],
        [good[0], other[1]],
        [good[0], good[0]],
        chain(SRR, leaking),
    ):
        with refused("rounds_part"):
            witness.view("here", rounds)


class Equivocator(Script):
    """Shows one chain to those who call it 127.0.0.1, and another, with a weaker channel in round 1, to localhost."""

    def _answer(self):
        honest, weak = chain(SRR, SUBSET), chain(SRR, build.srr(3, 1))
        rounds = weak if self.headers["Host"].startswith("localhost") else honest
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.command == "POST":
            content = Receipt(json.loads(body)["id"], rounds[-1].id).to_json().encode()
        elif self.path.endswith("/rounds"):
            content = witness.text(rounds)
        else:
            content = rounds[-1].to_json().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = _answer  # noqa: N815


def test_a_server_that_shows_two_devices_different_channels_is_caught(tmp_path):
    server = Scripted(("127.0.0.1", 0), Equivocator)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        names = [f"http://127.0.0.1:{server.server_port}", f"http://localhost:{server.server_port}"]
        collectors = [Collector(name, attempts=1) for name in names]
        stores = [Store(tmp_path / f"{i}.sqlite") for i in range(2)]
        for collector, store in zip(collectors, stores, strict=True):
            device = Device(store, 1, 5)
            device.answer(collector.round("office"), "tea")  # each alone finds nothing wrong
            assert len(flush(store, collector.send).receipts) == 1
        views = [witness.view(name, c.rounds("office")) for name, c in zip(names, collectors, strict=True)]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    (parting,) = witness.partings(views)
    assert (parting.number, parting.sources) == (1, tuple(names))
    # One honest view and the stores of both devices are enough: no second vantage point.
    alone = witness.partings(views[:1], {str(i): store.seen("office") for i, store in enumerate(stores)})
    assert [p.sources[0] for p in alone] == ["1"]


def test_errors_travel_between_processes():
    import pickle

    error = pickle.loads(pickle.dumps(Refused("study_closed", "m", hint="h", argument="a")))
    assert type(error) is Refused
    assert isinstance(error, TacitError)
    assert (error.code, error.message, error.hint, error.argument) == ("study_closed", "m", "h", "a")
