"""What attackers try: floods, half requests, headers without end, other origins, keys, and what logs would tell."""

import hashlib
import logging
import os
import secrets
import socket
import sqlite3
import sys
import threading
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from http_support import AS_ADMIN, JSON, KEY, LINES, PATIENCE, code, collecting, make, report, send, settings

from tacit.collector import connections, exports, limits, problems, serving
from tacit.collector.app import create_app
from tacit.collector.options import KEY as KEY_VARIABLE
from tacit.collector.options import KEY_FILE, Options, find_key, read_key
from tacit.errors import TacitError

PAGE_ORIGIN = "https://poll.example.org"
EVERYWHERE = {
    "content-security-policy", "cross-origin-opener-policy", "cross-origin-resource-policy", "referrer-policy",
    "x-content-type-options",
}  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    with collecting(tmp_path_factory.mktemp("security")) as found:
        make(found[0], origins=[PAGE_ORIGIN])
        make(found[0], "closed-to-pages")
        yield found


@pytest.fixture(scope="module")
def client(both):
    return both[0]


def raw(client, data, seconds=PATIENCE):
    """What the server says to bytes, until it closes the connection."""
    where = urlsplit(str(client.base_url))
    with socket.create_connection((where.hostname, where.port), timeout=seconds) as connection:
        connection.settimeout(seconds)
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(data)
        out = b""
        with suppress(ConnectionResetError, TimeoutError):
            while chunk := connection.recv(65536):
                out += chunk
        return out


def test_every_answer_has_security_headers_and_none_names_the_server(client):
    paths = [
        "/",
        "/s/drink",
        "/v1",
        "/v1/studies/drink/round",
        "/v1/nothing",
        "/static/nothing",
        "/v1/openapi.json",
    ]
    for path in paths:
        answer = client.get(path)
        assert set(answer.headers) >= EVERYWHERE, path
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert not {"server", "x-powered-by", "set-cookie"} & set(answer.headers)
        for name in EVERYWHERE:
            assert len(answer.headers.get_list(name)) == 1


def test_no_other_origin_may_ask_by_default(client):
    for origin in (PAGE_ORIGIN, "null", "https://evil.example", "https://poll.example.org.evil.example"):
        answer = client.get("/v1/studies/closed-to-pages/round", headers={"Origin": origin})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        preflight = client.options("/v1/studies/closed-to-pages/reports", headers=asked)
        assert code(preflight) == (405, "method_unknown")
        assert "access-control-allow-origin" not in preflight.headers


def test_an_allowed_origin_may_use_the_studys_routes(client):
    for origin, allowed in (
        (PAGE_ORIGIN, True),
        ("https://evil.example", False),
        (PAGE_ORIGIN.upper(), False),
    ):
        asked = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type,tacit-invite",
        }
        preflight = client.options("/v1/studies/drink/reports", headers=asked)
        assert (preflight.status_code == 204) is allowed
        answer = client.get("/v1/studies/drink/round", headers={"Origin": origin})
        assert answer.headers["vary"] == "origin"
        assert ("access-control-allow-origin" in answer.headers) is allowed
        refused = client.post("/v1/studies/drink/reports", content="{", headers=JSON | {"Origin": origin})
        assert ("access-control-allow-origin" in refused.headers) is allowed, "errors are for the page too"
        if allowed:
            assert answer.headers["access-control-allow-origin"] == origin
            assert (
                preflight.headers["access-control-allow-headers"]
                == "content-type, if-none-match, tacit-invite"
            )
            assert "authorization" not in preflight.headers["access-control-allow-headers"]
            assert "access-control-allow-credentials" not in answer.headers
    everywhere = client.get("/v1/studies", headers={"Origin": PAGE_ORIGIN})
    assert "access-control-allow-origin" not in everywhere.headers


def test_a_poll_may_be_used_where_all_its_studies_may(client):
    for name, studies in (("pages", ["drink"]), ("mixed", ["drink", "closed-to-pages"])):
        body = {"name": name, "title": "A poll", "studies": studies}
        client.post("/v1/polls", json=body, headers=AS_ADMIN)
    assert (
        "access-control-allow-origin"
        in client.get("/v1/polls/pages", headers={"Origin": PAGE_ORIGIN}).headers
    )
    assert (
        "access-control-allow-origin"
        not in client.get("/v1/polls/mixed", headers={"Origin": PAGE_ORIGIN}).headers
    )


def test_the_rate_of_a_client_is_limited_and_it_is_told_when_to_come_back(tmp_path):
    with collecting(tmp_path, rate=2.0, burst=1000.0) as (client, _):
        asked = make(client)
        lines = "\n".join(["{}"] * 990)
        assert client.post("/v1/studies/drink/batches", content=lines, headers=LINES).status_code == 200
        answers = [client.get("/v1") for _ in range(30)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert code(refused[0]) == (429, "rate_limited")
        assert 1 <= int(refused[0].headers["retry-after"]) <= 10
        assert code(send(client, report(asked))) == (429, "rate_limited")
        forged = [
            client.get("/v1", headers={"X-Forwarded-For": f"192.0.2.{i}"}).status_code for i in range(5)
        ]
        assert 429 in forged, "a client names its own address"
        assert client.get("/").status_code == 200


def test_behind_a_trusted_proxy_each_client_has_its_own_rate(tmp_path):
    with collecting(tmp_path, rate=0.01, burst=5.0, trust_proxy=True) as (client, _):

        def ask(*forwarded):
            headers = [("X-Forwarded-For", value) for value in forwarded]
            return client.get("/v1", headers=headers).status_code

        assert [ask("192.0.2.1") for _ in range(6)] == [200] * 5 + [429]
        assert ask("192.0.2.2") == 200
        assert ask("192.0.2.2, 192.0.2.1") == 429, "what the client claimed itself counts for nothing"
        assert ask("192.0.2.2", "192.0.2.1") == 429


def test_large_bodies_cost_more(tmp_path):
    with collecting(tmp_path, rate=0.01, burst=1000.0) as (client, _):
        make(client)
        body = b"x" * (1 << 20)
        answers = [
            client.post("/v1/studies/drink/reports", content=body, headers=JSON).status_code
            for _ in range(20)
        ]
        assert answers[0] == 400
        assert answers[-1] == 429


def test_a_client_is_a_hash_with_a_key_of_the_process():
    one, other = limits.RateLimit(1, 1), limits.RateLimit(1, 1)
    assert one.client("192.0.2.7") == one.client("192.0.2.7")
    assert one.client("192.0.2.7") != other.client("192.0.2.7")
    assert one.client("192.0.2.7") == one.client("::ffff:192.0.2.7")
    assert one.client("2001:db8::1") == one.client("2001:db8::ffff")
    assert one.client("2001:db8::1") != one.client("2001:db8:0:1::1")


def test_rates_refill_and_are_bounded(monkeypatch):
    monkeypatch.setattr(limits, "CLIENTS", 10)
    now = [0.0]
    rates = limits.RateLimit(2.0, 3.0, clock=lambda: now[0])
    assert [rates.ask("a") for _ in range(4)] == [0, 0, 0, pytest.approx(0.5)]
    now[0] = 0.5
    assert [rates.ask("a") for _ in range(2)] == [0, pytest.approx(0.5)]
    for i in range(100):
        rates.ask(f"b{i}")
    assert len(rates._paid) == 10
    assert limits.RateLimit(0, 3).ask("a", 1e9) == 0


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
        b"GET " + b"/a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(5000)) + b"\r\n",
        b"GET / HTTP/1.1\r\nA: " + b"x" * 100_000,
        b"GET / HTTP/1.1\r\n" + b"x" * 100_000,
    ],
    ids=lambda data: repr(data[:24]),
)
def test_what_is_no_http_gets_a_problem_and_a_closed_connection(client, data):
    head, _, body = raw(client, data).partition(b"\r\n\r\n")
    status = int(head.split(b" ")[1])
    assert status in (400, 413)
    assert b"application/problem+json" in head
    assert b'"code":' in body
    assert b"Traceback" not in body


@pytest.mark.parametrize(
    "line",
    [b"CONNECT example.org:443 HTTP/1.1", b"OPTIONS * HTTP/1.1", b"GET http://other.example/v1 HTTP/1.1",
     b"TRACE / HTTP/1.1", b"GET //v1 HTTP/1.1", b"GET /v1/../../etc/passwd HTTP/1.1", b"PROPFIND / HTTP/1.1"],
)  # fmt: skip
def test_odd_requests_get_an_ordinary_answer(client, line):
    found = raw(client, line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
    status = int(found.split(b" ")[1])
    assert status in (200, 400, 404, 405)
    assert b"Traceback" not in found


def test_an_upgrade_is_not_taken(client):
    head = b"GET /v1 HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    found = raw(client, head + b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", seconds=2)
    assert b" 101 " not in found.split(b"\r\n")[0]


def test_half_requests_are_ended(tmp_path):
    halves = {
        "nothing": b"",
        "empty lines": b"\r\n",
        "half a line": b"GET /v1 HT",
        "half a head": b"GET /v1 HTTP/1.1\r\nHost: x\r\n",
        "half a body": b"POST /v1/studies/drink/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{",
        "half a chunk": b"POST /v1/studies/drink/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n64\r\n{",
    }
    with collecting(tmp_path, head_seconds=0.5, body_seconds=0.5) as (client, _):
        make(client)
        for name, half in halves.items():
            began = time.monotonic()
            raw(client, half)
            assert time.monotonic() - began < 10, name


def test_a_request_that_drips_is_ended(tmp_path):
    with collecting(tmp_path, head_seconds=0.5) as (client, _):
        where = urlsplit(str(client.base_url))
        with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as connection:
            began = time.monotonic()
            ended = False
            for byte in b"GET /v1 HTTP/1.1\r\nHost: " + b"x" * 10_000:
                try:
                    connection.sendall(bytes([byte]))
                except OSError:
                    ended = True
                    break
                time.sleep(0.02)
                assert time.monotonic() - began < 20
            assert ended


def test_a_reader_that_does_not_read_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "WRITE_SECONDS", 0.5)
    with collecting(tmp_path) as (client, _):
        labels = [f"{i:05} " + "x" * 180 for i in range(1900)]
        made = client.post(
            "/v1/studies", json=settings("wide", question={"text": "?", "labels": labels}), headers=AS_ADMIN
        )
        assert made.status_code == 201
        where = urlsplit(str(client.base_url))
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(PATIENCE)
            connection.connect((where.hostname, where.port))
            connection.sendall(b"GET /v1/studies/wide/round HTTP/1.1\r\nHost: x\r\n\r\n" * 40)
            time.sleep(3)
            size, cut = 0, False
            try:
                while chunk := connection.recv(1 << 20):
                    size += len(chunk)
            except ConnectionResetError:
                cut = True
            assert cut or size
            assert size < 40 * 300_000
        assert client.get("/v1").status_code == 200


def test_connections_are_bounded_and_refused_politely(tmp_path):
    with collecting(tmp_path, connections=40) as (client, _):
        where = urlsplit(str(client.base_url))
        address = (where.hostname, where.port)
        with ExitStack() as stack:
            opened = [stack.enter_context(socket.create_connection(address, timeout=5)) for _ in range(60)]
            opened[-1].settimeout(5)
            said = opened[-1].recv(4096)
            assert said.startswith(b"HTTP/1.1 503")
            assert b'"code":"server_busy"' in said
            assert b"Retry-After" in said
        time.sleep(0.2)
        assert client.get("/v1").status_code == 200


def test_connections_from_one_address_are_bounded(tmp_path):
    with collecting(tmp_path, connections_each=10) as (client, _):
        where = urlsplit(str(client.base_url))
        with ExitStack() as stack:
            for _ in range(20):
                last = stack.enter_context(socket.create_connection((where.hostname, where.port), timeout=5))
            assert last.recv(4096).startswith(b"HTTP/1.1 503")
        time.sleep(0.2)
        assert client.get("/v1").status_code == 200


def test_listeners_are_bounded_and_the_server_stops_while_they_listen(tmp_path):
    began = time.monotonic()
    with collecting(tmp_path, listeners=3, listeners_each=2) as (client, _):
        make(client)
        with ExitStack() as stack:
            streams = []
            for _ in range(2):
                own = stack.enter_context(httpx.Client(base_url=client.base_url, timeout=PATIENCE))
                streams.append(stack.enter_context(own.stream("GET", "/v1/studies/drink/events")))
            lines = [stream.iter_lines() for stream in streams]
            assert [next(iter(line)) for line in lines] == ["retry: 5000"] * 2
            refused = client.get("/v1/studies/drink/events")
            assert code(refused) == (503, "server_busy")
        time.sleep(0.5)
        own = httpx.Client(base_url=client.base_url, timeout=PATIENCE)
        again = own.stream("GET", "/v1/studies/drink/events")
        assert next(again.__enter__().iter_lines()) == "retry: 5000"  # places are given back
    assert time.monotonic() - began < 25, "a listener kept the server from stopping"
    own.close()


def test_a_collector_of_this_machine_knows_no_other_name(tmp_path):
    with collecting(tmp_path, here_only=True) as (client, _):
        make(client)
        port = client.base_url.port
        for host in ("127.0.0.1", f"localhost:{port}", f"[::1]:{port}", f"127.1.2.3:{port}", "LOCALHOST"):
            assert client.get("/v1/studies/drink", headers={"Host": host}).status_code == 200, host
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1.evil.example",
            "localhost.",
            "[::2]:80",
        ):
            for path in ("/", "/v1/studies/drink", "/s/drink"):
                refused = client.get(path, headers={"Host": host, "Origin": f"http://{host}"})
                assert code(refused) == (404, "route_unknown"), host
    with collecting(tmp_path) as (client, _):
        assert client.get("/v1", headers={"Host": "poll.example.org"}).status_code == 200


def test_erasing_what_never_came_costs_as_much_as_many_requests(tmp_path):
    with collecting(tmp_path, rate=0.001, burst=100.0) as (client, store):
        make(client)
        answers = [
            client.delete(f"/v1/studies/drink/reports/{secrets.token_hex(16)}").status_code for _ in range(8)
        ]
        assert answers == [204] * 4 + [429] * 4
        with store.read() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM reports").scalar() == 4


def test_a_client_that_leaves_in_the_middle_is_no_news(tmp_path, caplog):
    with collecting(tmp_path) as (client, _):
        make(client)
        where = urlsplit(str(client.base_url))
        for _ in range(3):
            with socket.create_connection((where.hostname, where.port), timeout=5) as connection:
                connection.sendall(
                    b"POST /v1/studies/drink/reports HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
                )
                time.sleep(0.2)
        time.sleep(0.3)
        assert client.get("/v1").status_code == 200
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR] == []


def test_an_export_that_is_read_slowly_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(exports.Export, "seconds", 0.5)

    def slowly(store, study):
        while True:
            time.sleep(0.05)
            yield b"x"

    monkeypatch.setattr(exports, "_csv", slowly)
    with collecting(tmp_path, exports=1) as (client, _):
        make(client)
        for _ in range(2):  # the place is given back
            with pytest.raises(httpx.RemoteProtocolError):
                client.get("/v1/studies/drink/export")


def test_the_key_of_the_environment_stays_with_the_parent(tmp_path, monkeypatch):
    seen = tmp_path / "seen"
    monkeypatch.setenv("TACIT_ADMIN_KEY", KEY)
    monkeypatch.setattr(
        serving,
        "CHILD",
        (sys.executable, "-c", f"import os; open({str(seen)!r}, 'w').write(str(os.environ))"),
    )
    plan = serving.Plan("sqlite:///none", Options.of(KEY), work=False)
    with serving.listen("127.0.0.1", 0) as listener, serving.running(plan, listener):
        end = time.monotonic() + PATIENCE
        while not (seen.exists() and seen.read_text()):
            assert time.monotonic() < end
            time.sleep(0.05)
    assert "PATH" in seen.read_text()
    assert KEY not in seen.read_text()


def test_an_export_takes_its_turn(both):
    client, _ = both
    service = client.get("/v1")
    assert service.status_code == 200
    from tacit.collector.exports import Room

    room = Room(1)
    with room.place(), pytest.raises(problems.Busy), room.place():
        raise AssertionError
    with room.place():
        assert room._free == 0


def test_keys_are_long_and_compared_whole():
    options = Options.of(KEY)
    assert options.knows(KEY)
    assert not any(
        options.knows(other) for other in ("", KEY[:-1], KEY + "x", KEY.upper(), "\udcff", "é" * 40)
    )
    for bad in ("", "short", "x" * 23, "x" * 513, "a key with spaces in between it", "schlüssel" * 5):
        with pytest.raises(TacitError) as caught:
            Options.of(bad)
        assert caught.value.code == "argument_invalid"
        assert not bad or bad not in str(caught.value)
    assert KEY not in repr(options)


def test_the_key_is_made_once_beside_the_database(tmp_path):
    beside = tmp_path / "tacit.db.key"
    key, path = find_key({}, beside)
    assert path == beside
    assert len(key) >= 43
    assert beside.stat().st_mode & 0o777 == 0o600
    assert find_key({}, beside) == (key, beside)
    assert find_key({KEY_VARIABLE: KEY}, beside) == (KEY, None)
    other = tmp_path / "other"
    other.write_text(KEY + "\n")
    other.chmod(0o600)
    assert find_key({KEY_FILE: str(other)}, beside) == (KEY, other)
    other.chmod(0o644)
    with pytest.raises(TacitError, match="others can read"):
        read_key(other)
    with pytest.raises(TacitError, match="there is no administrator's key"):
        find_key({}, None)
    with pytest.raises(TacitError, match="cannot be read"):
        read_key(tmp_path / "missing")


def test_nothing_about_a_client_is_logged_or_stored(tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    address, agent, token = "198.51.100.23", "Secret Agent/7", "a-token-for-nobody"
    with collecting(tmp_path, trust_proxy=True) as (client, store):
        asked = make(client, access="invite")
        tokens = client.post("/v1/studies/drink/invites", json={"count": 1}, headers=AS_ADMIN).json()[
            "invites"
        ]
        headers = {"X-Forwarded-For": address, "User-Agent": agent}
        made = report(asked)
        for invite in (tokens[0], token):
            send(client, made, **{"Tacit-Invite": invite}, **headers)
        for path in ("/", "/v1/nothing", "/v1/studies/drink/round", "/v1/studies/%00", "/s/drink"):
            client.get(path, headers=headers)
        client.post("/v1/studies/drink/reports", content=b"{" + agent.encode(), headers=JSON | headers)
        raw(client, b"GET / HTTP/1.1\r\nX-Forwarded-For: " + address.encode() + b"\r\nbroken\r\n\r\n")
        monkey = store.study
        store.study = lambda name: (_ for _ in ()).throw(RuntimeError(f"{address} {agent} {made.id}"))
        try:
            assert code(client.get("/v1/studies/drink", headers=headers)) == (500, "server_failed")
        finally:
            store.study = monkey
    printed = capfd.readouterr()
    logged = "\n".join([caplog.text, *(str(r.__dict__) for r in caplog.records), printed.out, printed.err])
    assert "server_failed: RuntimeError" in logged
    hidden = [address, agent, token, tokens[0], made.id, KEY]
    assert [secret for secret in hidden if secret in logged] == []
    assert "127.0.0.1" not in "".join(
        r.getMessage() for r in caplog.records if r.name.startswith(("uvicorn", "tacit"))
    )
    kept = b"".join(path.read_bytes() for path in Path(tmp_path).iterdir() if path.is_file())
    for secret in (address, agent, token, tokens[0], KEY):
        assert secret.encode() not in kept
    assert bytes.fromhex(made.id) in kept
    with closing(sqlite3.connect(tmp_path / "collector.db")) as connection:
        hashes = [row[0] for row in connection.execute("SELECT hash FROM tokens")]
    assert hashes == [hashlib.sha256(tokens[0].encode()).digest()]


def test_a_database_that_fails_is_a_503_without_details(tmp_path):
    with collecting(tmp_path) as (client, store):
        asked = make(client)
        made = report(asked)
        broken = threading.Event()

        def fail(*_):
            broken.set()
            raise TacitError("store_unusable", "the disk /secret/place is full", hint="x") from OSError(
                "secret"
            )

        whole, store.submit = store.submit, fail
        answer = send(client, made)
        assert code(answer) == (503, "store_unusable")
        assert broken.is_set()
        assert "secret" not in answer.text
        assert int(answer.headers["retry-after"]) >= 1
        store.submit = whole
        assert send(client, made).status_code == 201


def test_telemetry_stays_off_whatever_the_environment_says(tmp_path, monkeypatch, both):
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    app = create_app(both[1], Options.of(KEY))
    app.state.service.ingest.close()
    assert not any(app._telemetry[part] for part in ("tracing", "metrics", "logs", "auto_configure"))
    assert not app._native_telemetry.enabled()


def test_every_code_has_a_status_that_fits():
    assert {problems.status(c) for c in ("study_closed", "name_taken")} == {409}
    for name, status in problems.STATUS.items():
        document = problems.problem(problems.plain(name))
        assert document["status"] == status
        assert document["type"].endswith(name)
        assert 400 <= status < 600


def test_open_files_are_allowed_as_far_as_the_system_goes():
    from tacit.collector.serving import room_for_connections

    assert 16 <= room_for_connections(50) <= 50
    assert os.name != "posix" or room_for_connections(10**9) < 10**9
