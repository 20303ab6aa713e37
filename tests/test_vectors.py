"""The Python client on the vectors that every client must pass, and the vectors against their script."""

import importlib.util
import json
from fractions import Fraction
from pathlib import Path

import pytest

from tacit import channels
from tacit_client import Device, Round, Store, TacitError, certify, channel_id, channel_text, parse_channel

ROOT = Path(__file__).parents[1] / "vectors"


def script():
    spec = importlib.util.spec_from_file_location("make_vectors", ROOT / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE = script()


def load(name):
    vectors = json.loads((ROOT / "v1" / name).read_text(encoding="utf-8"))
    return [pytest.param(vector, id=vector["name"]) for vector in vectors]


def test_the_script_writes_the_committed_files():
    for name, text in MAKE.files().items():
        assert (ROOT / "v1" / name).read_text(encoding="utf-8") == text, f"run `make vectors` ({name})"


@pytest.mark.parametrize("vector", load("channels.json"))
def test_channel(vector):
    table = parse_channel(vector["text"])
    certificate = certify(table)
    assert channel_text(table) == vector["text"]
    assert channel_id(table) == vector["id"]
    assert certificate.ratio == Fraction(vector["ratio"])
    assert [str(certificate.likely), str(certificate.unlikely)] == [vector["likely"], vector["unlikely"]]
    assert MAKE.written(certificate.report) == vector["report"]
    assert certificate.holds is not vector["leaks"]
    for row in vector.get("likelihood", []):
        report = MAKE.unwritten(row["report"])
        assert [str(table.weight(report, x)) for x in range(table.k)] == row["weights"]
    for draw in vector["draws"]:
        script = iter(zip(draw["bounds"], draw["values"], strict=True))

        def randbelow(bound, script=script):
            expected, value = next(script)
            assert str(bound) == expected
            return int(value)

        assert MAKE.written(table._draw(int(draw["answer"]), randbelow)) == draw["report"]
        assert next(script, None) is None


@pytest.mark.parametrize("vector", load("channels.json"))
def test_leaking_channels_are_refused_by_server_and_device(vector, tmp_path):
    if not vector["leaks"]:
        assert channels.from_json(vector["text"]).loss <= 50
        return
    with pytest.raises(TacitError) as refusal:
        channels.from_json(vector["text"])
    assert refusal.value.code == "channel_leaks"
    table = parse_channel(vector["text"])
    question, answer = MAKE.Question("q", "q", labels=tuple(f"label {i}" for i in range(table.k))), "label 0"
    if table.kind == "binned":
        question, answer = MAKE.Question("q", "q", unit="u", lowest="0", highest="1", step="0.5"), "0"
    device = Device(Store(tmp_path / "store"), cap=50, total=50)
    with pytest.raises(TacitError) as refusal:
        device.answer(Round("s", question, 0, table, None), answer)
    assert refusal.value.code == "channel_leaks"


@pytest.mark.parametrize("vector", load("messages.json"))
def test_message(vector):
    message = MAKE.READERS[vector["type"]](vector["text"])
    assert message.to_json() == vector["text"]
    assert MAKE.READERS[vector["type"]](vector["text"].encode()) == message
    if "id" in vector:
        assert message.id == vector["id"]


@pytest.mark.parametrize("vector", load("answers.json"))
def test_answer(vector, tmp_path):
    if "code" in vector:
        with pytest.raises(TacitError) as refusal:
            MAKE.cell_of(vector)
        assert refusal.value.code == vector["code"]
        return
    assert str(MAKE.cell_of(vector)) == vector["cell"]
    if vector["type"] == "round":
        answered = Round.from_json(vector["text"])
        report = Device(Store(tmp_path / "store"), cap=50, total=50).answer(answered, vector["answer"])
        assert answered.channel.check_report(report.value) == report.value
    else:
        cuts = [Fraction(cut) for cut in json.loads(vector["text"])["cuts"]]
        assert sum(cut <= Fraction(vector["answer"]) for cut in cuts) == int(vector["cell"])


@pytest.mark.parametrize("vector", load("refused.json"))
def test_refused(vector):
    assert MAKE.code_of(vector) == vector["code"]


def test_there_are_enough_vectors():
    assert sum(len(load(name)) for name in ("channels.json", "messages.json", "refused.json")) >= 100
