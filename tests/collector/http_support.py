"""A collector on a free port of this machine, in a thread of the test, and what tests say to it."""

import socket
import threading
import time
from contextlib import contextmanager

import httpx
import uvicorn

from tacit.collector.app import create_app
from tacit.collector.options import Options
from tacit.collector.serving import configure
from tacit.collector.store import Store
from tacit_client import Report, Round

KEY = "a-key-for-tests-and-nothing-else"
AS_ADMIN = {"Authorization": f"Bearer {KEY}"}
JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}
LABELS = ["tea", "coffee", "neither"]
PATIENCE = 30.0


@contextmanager
def served(store, **options):
    """The address of a server of this store; it has stopped when the block ends."""
    chosen = Options.of(KEY, **{"rate": 0.0, "poll_seconds": 0.05, **options})
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    server = uvicorn.Server(configure(create_app(store, chosen)))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        end = time.monotonic() + PATIENCE
        while not server.started:
            assert thread.is_alive(), "the server ended before it began"
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the server does not stop"


@contextmanager
def collecting(folder, **options):
    """(client, store) of a fresh collector."""
    store = Store.open(f"sqlite:///{folder}/collector.db")
    try:
        with served(store, **options) as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:
            yield client, store
    finally:
        store.close()


def settings(name="drink", **others):
    """The settings of a small study."""
    return {
        "name": name,
        "question": {"text": "What do you drink?", "labels": LABELS},
        "epsilon": "1",
        **others,
    }


def make(client, name="drink", **others):
    """A study, made over HTTP; its first round."""
    made = client.post("/v1/studies", json=settings(name, **others), headers=AS_ADMIN)
    assert made.status_code == 201, made.text
    return Round.from_json(client.get(f"/v1/studies/{name}/round").content)


def report(asked, answer=0, id_=None):
    """A report as the channel of a round makes it."""
    return Report(id_ or Report.new_id(), asked.study, asked.id, asked.channel.respond(answer))


def send(client, made, **headers):
    """Hand in a report."""
    return client.post(f"/v1/studies/{made.study}/reports", content=made.to_json(), headers=JSON | headers)


def code(answer):
    """The code of a problem document, whose form is checked on the way."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    body = answer.json()
    assert body["type"] == f"urn:tacit:error:{body['code']}"
    assert body["status"] == answer.status_code
    assert body["title"]
    assert body["detail"]
    return answer.status_code, body["code"]
