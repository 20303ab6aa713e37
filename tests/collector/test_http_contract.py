"""Requests made from the OpenAPI document: no answer is a 500, and each is one that the document describes.

Schemathesis makes them, from a fixed seed. Every public route is in the document, in the protocol's page, and in
neither alone.
"""

import re
from pathlib import Path

import pytest
import schemathesis
import schemathesis.specs.openapi.checks
from http_support import AS_ADMIN, KEY, collecting, make, report, send
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from tacit.collector import worker
from tacit.collector.app import create_app
from tacit.collector.options import Options
from tacit.collector.store import Store

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protocol.md"
EXAMPLES = 12


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    """A body of lines as it is."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    with collecting(folder) as (client, store):
        for name in ("drink", "office-2026"):
            asked = make(client, name, expected=100)
            send(client, report(asked))
        worker.Worker(store).look()
        yield client


CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.specs.openapi.checks.status_code_conformance,
    schemathesis.specs.openapi.checks.content_type_conformance,
    schemathesis.specs.openapi.checks.response_schema_conformance,
]


def attack(operation, mode):
    """Some requests to one operation, all valid or all broken somewhere; how many were sent."""
    sent = []

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
        phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    def requests(case):
        case.headers = {**(case.headers or {}), **AS_ADMIN}
        answer = case.call()
        sent.append(answer.status_code)
        assert answer.status_code < 500, case.as_curl_command()
        case.validate_response(answer, checks=CHECKS)

    requests()
    return len(sent)


def test_no_request_breaks_the_collector(served):
    document = schemathesis.openapi.from_url(f"{served.base_url}/v1/openapi.json")
    tried = {}
    for found in document.get_all_operations():
        operation = found.ok()
        if operation.path.endswith("/events"):  # a stream without an end
            continue
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                tried[operation.label, mode] = attack(operation, mode)
            except Unsatisfiable:  # nothing to break in a request without parameters
                assert mode is GenerationMode.NEGATIVE
    assert len({label for label, _ in tried}) == 23
    assert sum(tried.values()) > 250


def documented(tmp_path):
    store = Store.open(f"sqlite:///{tmp_path}/routes.db")
    app = create_app(store, Options.of(KEY))
    app.state.service.ingest.close()
    store.close()
    return app.openapi()["paths"]


def test_every_route_is_in_the_protocol_and_the_other_way_round(tmp_path):
    described = {
        (method.upper(), path) for path, operations in documented(tmp_path).items() for method in operations
    }
    text = PAGE.read_text(encoding="utf-8")
    named = set()
    for methods, more in re.findall(r"^\| `([A-Z]+ /v1[^`]*)`((?:, `/[a-z]+`)*) \|", text, re.MULTILINE):
        method, path = methods.split(" ")
        named.add((method, path))
        named |= {(method, path.rpartition("/")[0] + other) for other in re.findall(r"`(/[a-z]+)`", more)}
    assert described == named


def test_every_answer_that_goes_wrong_has_one_shape(tmp_path):
    for path, operations in documented(tmp_path).items():
        for method, operation in operations.items():
            assert "application/problem+json" in operation["responses"]["default"]["content"], (method, path)
            assert "422" not in operation["responses"]
