"""benchmarks/open_loop.py: a latency counts from when a request was due, whoever is late."""

import asyncio
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import open_loop

ANSWER = b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\nok"


@pytest.fixture
def server():
    """A server that answers 201 after a pause for each request, one at a time; yields (port, seconds of the pause)."""
    pause = 0.02
    loop = asyncio.new_event_loop()

    async def answer(reader, writer):
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(3)
                async with lock:
                    await asyncio.sleep(pause)
                writer.write(ANSWER)
        except asyncio.IncompleteReadError:
            writer.close()

    lock = asyncio.Lock()
    made = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield made.sockets[0].getsockname()[1], pause
    loop.call_soon_threadsafe(made.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(asyncio.sleep(0.05))
    loop.close()


def test_a_slow_server_is_charged_for_the_requests_that_had_to_wait(server):
    port, pause = server
    requests = [open_loop.request("POST", "/x", b"abc")] * 20
    done = open_loop.load(port, requests, rate=1000, connections=4)
    assert done.statuses == {201: 20}
    # All are due within about 0.02 s, and are served one after the other.
    assert done.quantile(1.0) > 1e3 * pause * 15
    assert done.quantile(0.0) < 1e3 * pause * 5


def test_arrivals_are_a_poisson_process():
    gaps = np.diff(open_loop.arrivals(100_000, 50.0, np.random.default_rng(1)))
    # Mean and standard deviation of an exponential law; each within five standard errors: false alarm 1e-6.
    assert gaps.mean() == pytest.approx(0.02, abs=5 * 0.02 / np.sqrt(len(gaps)))
    assert gaps.std() == pytest.approx(0.02, abs=5 * 0.02 * np.sqrt(2 / len(gaps)))


def test_a_request_is_rendered_with_its_headers():
    made = open_loop.request("POST", "/v1/x", b"{}", Tacit_Invite="abc")
    head, body = made.split(b"\r\n\r\n")
    assert body == b"{}"
    assert b"Content-Length: 2" in head
    assert b"Tacit-Invite: abc" in head
