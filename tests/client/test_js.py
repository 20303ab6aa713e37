"""The JavaScript client: its own tests, and both clients on the same random channels, messages and answers.

One node process answers all questions of the second part. Cases come from fixed seeds; a difference of the two
clients is a fault in one of them, whatever the case.
"""

import json
import os
import random
import re
import shutil
import subprocess
import unicodedata
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from client_support import attempt, canonical

from requirements import require
from tacit.collector.static import client_js
from tacit_client import (
    Question,
    Receipt,
    Report,
    Round,
    TacitError,
    __version__,
    build,
    certify,
    channel_text,
    parse_channel,
)
from tacit_client.device import answered
from tacit_client.errors import CODES
from tacit_client.tables import Binned, Blocks, Dense, Hashed, Subsets

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "js"
NODE = shutil.which("node")
READERS = {
    "channel": parse_channel,
    "question": Question.from_json,
    "round": Round.from_json,
    "report": Report.from_json,
    "receipt": Receipt.from_json,
}


@pytest.fixture(autouse=True, scope="module")
def node():
    require("node", NODE is not None)
    return NODE


def run(*arguments, cwd=ROOT):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NODE_")}
    command = [NODE, *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
    )


@pytest.mark.parametrize("file", sorted(p.name for p in (CLIENT / "test").glob("*.test.js")))
def test_its_own_tests(file):
    done = run("--test", "--test-reporter=tap", CLIENT / "test" / file)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) >= 8, "node found the tests"


def test_its_version_and_its_codes_are_those_of_python():
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    source = client_js().decode()
    assert package["version"] == __version__
    assert f'VERSION = "{__version__}"' in source
    assert set(package) & {"dependencies", "devDependencies", "peerDependencies"} == set()
    raised = set(re.findall(r'TacitError\(\s*"([a-z_]+)"', source + (CLIENT / "file-store.js").read_text()))
    assert {"field_invalid", "channel_leaks", "budget_exhausted", "store_unusable"} <= raised
    assert raised <= set(CODES)


def test_the_wheel_carries_it():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"clients/js/tacit-client.js" = "tacit/collector/static/tacit-client.js"' in text
    assert client_js() == (CLIENT / "tacit-client.js").read_bytes()


PAGES = [ROOT / "docs" / "how-to" / "answer-in-a-browser.md", CLIENT / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_are_true(page, tmp_path):
    """The `js` blocks run in node and print what the `text` blocks show; the browser's are in tests/browser."""
    text = page.read_text(encoding="utf-8")
    blocks = {kind: re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S) for kind in ("js", "text")}
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "tacit-client").symlink_to(CLIENT)
    (tmp_path / "example.mjs").write_text("\n".join(blocks["js"]), encoding="utf-8")
    done = run("example.mjs", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("".join(blocks["text"]), "")
    assert done.stdout


def test_every_public_name_is_in_the_reference():
    text = (ROOT / "docs" / "reference" / "javascript.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(?:new )?(\w+)", text))
    source = client_js().decode()
    names = set(re.findall(r"^export (?:async )?(?:const|class|function) (\w+)", source, re.M))
    for name in ("Device", "Collector"):
        body = source[source.index(f"export class {name} ") :].partition("\n}\n")[0]
        names |= set(re.findall(r"^  (?:async )?([a-z]\w*)\([^;]*\) \{$", body, re.M)) - {"constructor"}
    assert {"Device", "answer", "deliver", "round", "openStore"} <= names
    assert names - documented == set()


class Peer:
    """The JavaScript client in a process, asked by lines."""

    def __init__(self):
        script = str(Path(__file__).with_name("js_worker.js"))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([NODE, script], encoding="utf-8", **pipes)

    def ask(self, action, text, **fields):
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        self.process.stdin.write(json.dumps({"action": action, "hex": data.hex(), **fields}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer.get("value", answer.get("code"))


@pytest.fixture(scope="module")
def peer(node):
    peer = Peer()
    yield peer
    peer.process.communicate(timeout=30)
    assert peer.process.returncode == 0


def outcome(call, *arguments):
    """What a call returns, or the code of its refusal."""
    result = attempt(call, *arguments)
    return result.code if isinstance(result, TacitError) else result


def some_epsilon(rng):
    whole = Fraction(rng.choice([1, 2, 5, 17, 333, 4999]), rng.choice([10, 100, 1000]))
    return min(max(whole, Fraction(1, 100)), Fraction(50))


def random_table(rng):
    """Any kind of table: well made, or with weights drawn blindly, so that many leak."""
    k, epsilon = rng.choice([2, 3, 4, 7, 12, 40]), some_epsilon(rng)
    big = 10 ** rng.choice([1, 3, 20, 40])
    other = rng.randrange(1, big)
    own = other + rng.randrange(0, 3 * big)
    subset = sorted(rng.sample(range(k), rng.randrange(0, k)))
    makers = [
        lambda: build.srr(k, epsilon),
        lambda: build.rrrr(k, subset, epsilon, rng.choice([0.5, 0.9])),
        lambda: build.subset(k, epsilon, rng.randrange(1, k)),
        lambda: build.hashed(k, min(epsilon, Fraction(5))),
        lambda: build.graded(-rng.randrange(9), rng.randrange(1, 9), rng.randrange(1, 6), epsilon),
        lambda: Subsets(k, epsilon, None, rng.randrange(1, k), own, other),
        lambda: Subsets(
            k + 2, epsilon, tuple(subset) or (k,), rng.randrange(1, max(len(subset), 1) + 1), own, other
        ),
        lambda: Hashed(k, epsilon, rng.randrange(2, 257), own, other),
        lambda: Blocks(k, epsilon, (), (0, 0, 0), (own, 0, other)),
        lambda: dense(rng, k, epsilon, big),
        lambda: Binned(tuple(Fraction(c, 8) for c in range(k - 1)), dense(rng, k, epsilon, big)),
    ]
    return rng.choice(makers)()


def dense(rng, k, epsilon, big):
    rows = [[rng.randrange(1, big + 1) for _ in range(k)] for _ in range(rng.randrange(1, 6))]
    total = max(sum(column) for column in zip(*rows, strict=True)) + 1
    rows.append([total - sum(column) for column in zip(*rows, strict=True)])
    return Dense(k, epsilon, tuple(map(tuple, rows)))


def written(report):
    return [str(v) for v in report] if isinstance(report, tuple) else str(report)


def test_certificates_draws_and_weights_are_the_same(peer):
    rng = random.Random(20_261)
    held = Counter()
    for _ in range(1500):
        table = random_table(rng)
        text = channel_text(table)
        certificate = certify(table)
        theirs = peer.ask("certify", text)
        assert theirs["ratio"] == f"{certificate.ratio.numerator}/{certificate.ratio.denominator}", text
        worst = [certificate.likely, certificate.unlikely, written(certificate.report), certificate.holds]
        assert [theirs["likely"], theirs["unlikely"], theirs["report"], theirs["holds"]] == worst, text
        assert certificate.loss - 1e-13 <= theirs["loss"] <= certificate.loss + 3e-12, text
        held[certificate.holds] += 1
        x = rng.randrange(table.k)
        values = [rng.getrandbits(500) for _ in range(table.k + 3)]
        bounds, script = [], iter(values)

        def randbelow(bound, bounds=bounds, script=script):
            bounds.append(str(bound))
            return next(script) % bound

        report = table._draw(x, randbelow)
        theirs = peer.ask("draw", text, answer=x, values=[str(v) for v in values])
        assert theirs == {"report": written(report), "bounds": bounds}, text
        weights = [str(table.weight(report, x)) for x in range(table.k)]
        assert peer.ask("weights", text, report=written(report)) == weights
    assert min(held[True], held[False]) > 200, held


BITS = [
    '"0"', '"1"', '"2"', '"-1"', '"00"', '"1.5"', '""', "null", "[]", "{}", "true", "1", '"x"', '["1"]', '"9999999999"',
    '"blocks"', '"dense"', '"hashed"', '"subset"', '"binned"', '"channel"', '"round"', '"' + "9" * 129 + '"', '"1e5"',
    '"\\u0031"', '"0.00000000000000000000000000000000000000001"', '"50"', '"é"', '"e\u0301"', '"\u202e"',
    '"a b"', '"a  b"', '{"kind":"blocks"}', '"__proto__"', '"' + "a" * 64 + '"',
]  # fmt: skip
TOKEN = re.compile(r'"[^"]*"|[\[\]{},:]|null')


def mutated(rng, text):
    """A message with one to three things changed: a token replaced, doubled, dropped or swapped, or a byte."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        tokens = TOKEN.findall(text)
        if not tokens:
            return text
        i = rng.randrange(len(tokens))
        how = rng.randrange(8)
        if how < 3:
            tokens[i] = rng.choice(BITS)
        elif how == 3:
            tokens[i : i + 1] = [tokens[i], ",", tokens[i]]
        elif how == 4:
            del tokens[i : i + rng.choice([1, 2, 4])]
        elif how == 5:
            j = rng.randrange(len(tokens))
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif how == 6:
            tokens[1:1] = [rng.choice(['"alpha"', '"keep"', '"k"', '"__proto__"', '"10"']), ":", '"1"', ","]
        else:
            word = tokens[i]
            at = rng.randrange(len(word))
            tokens[i] = (
                word[:at] + chr(rng.choice([0x20, 0x22, 0x30, 0x39, 0x5C, 0x7F, 0xE9, 0x1F375])) + word[at:]
            )
        text = "".join(tokens)
    return text


def recanonical(text):
    """The same message with its keys in order, when it is one: mutations then reach the readers of fields."""
    try:
        return canonical(json.loads(text))
    except (ValueError, RecursionError):
        return text


def some_message(rng):
    table = random_table(rng)
    labels = tuple(f"label {i}" for i in range(table.k))
    question = Question("q", "Which of these?", labels)
    if isinstance(table, Binned):
        question = Question("q", "How many?", unit="pieces", lowest="-50", highest="50", step="0.125")
    number = rng.choice([0, 3])
    asked = attempt(lambda: Round("study", question, number, table, "ab" * 32 if number else None))
    report = Report("0f" * 16, "study", "ab" * 32, rng.choice([3, (1, 2), ()]))
    kinds = {
        "channel": channel_text(table),
        "question": question.to_json(),
        "round": None if isinstance(asked, TacitError) else asked.to_json(),
        "report": report.to_json(),
        "receipt": Receipt("0f" * 16, "ab" * 32).to_json(),
    }
    kind = rng.choice([k for k, text in kinds.items() if text is not None])
    return kind, kinds[kind]


def test_refusals_are_the_same(peer):
    rng = random.Random(20_262)
    codes = Counter()
    for turn in range(6000):
        kind, text = some_message(rng)
        if turn % 10:
            text = mutated(rng, text)
        if turn % 2:
            text = recanonical(text)
        data = text.encode("utf-8", "surrogatepass")
        mine = outcome(READERS[kind], data)
        mine = mine if isinstance(mine, str) else "read"
        assert peer.ask("read", data, type=kind) == mine, (kind, text)
        codes[mine] += 1
    assert {"read", "message_malformed", "message_not_canonical", "field_missing", "field_unknown"} <= set(
        codes
    )
    assert {"field_invalid", "channel_weights", "channel_mismatch", "channel_infinite_loss"} <= set(codes)
    assert codes["read"] < 3000


def test_answers_fall_into_the_same_cells(peer):
    rng = random.Random(20_263)
    found = Counter()
    for _ in range(600):
        steps, step = rng.randrange(2, 400), Fraction(rng.choice([1, 5, 125]), rng.choice([1, 10, 1000]))
        low = Fraction(rng.randrange(-5000, 5000), rng.choice([1, 10, 1000]))
        text = [f"{float(v):.6f}".rstrip("0").rstrip(".") for v in (low, low + steps * step, step)]
        question = Question("q", "How many?", unit="u", lowest=text[0], highest=text[1], step=text[2])
        cuts = sorted(rng.sample(range(1, steps + 1), rng.randrange(1, min(6, steps))))
        where = [low + step * (c - rng.choice([0, Fraction(1, 2), Fraction(1, 8)])) for c in cuts]
        asked = Round("s", question, 0, build.binned(where, build.srr(len(cuts) + 1, 1)), None)
        for c in rng.sample(cuts, min(3, len(cuts))):
            for shift in (-1, 0, 1, Fraction(1, 3), Fraction(1, 10)):
                answer = f"{float(low + step * (c + shift)):.9f}"
                mine = outcome(answered, asked, answer)
                assert peer.ask("category", asked.to_json(), answer=answer) == mine, (asked.to_json(), answer)
                found["refused" if isinstance(mine, str) else "a cell"] += 1
    assert min(found.values()) > 500, found


def test_every_character_is_judged_alike(peer):
    """Labels with characters that this Python's Unicode knows: allowed or not, and alike to another or not.

    Characters that are younger than one side's tables may be judged differently there; a refusal is the worst of it.
    """
    rng = random.Random(20_264)
    seen = Counter()
    for code in range(0x110000):
        category = unicodedata.category(chr(code))
        many = category in ("Lo", "So", "Co")  # most of Unicode, and all alike: a sample of these, all others
        if category in ("Cn", "Cs") or (many and code % 50):
            continue
        word = rng.choice(["{}", "a{}", "{}b", "a{}b"]).format(chr(code))
        text = canonical(
            {"type": "question", "version": "1", "id": "q", "text": word, "labels": ["ab", word]}
        )
        mine = outcome(Question.from_json, text)
        mine = mine if isinstance(mine, str) else "read"
        assert peer.ask("read", text, type="question") == mine, ascii(text)
        seen[mine] += 1
    assert min(seen["read"], seen["field_invalid"]) > 1000, seen


def chi_square(counts, law, n):
    return sum((counts[y] - n * p) ** 2 / (n * p) for y, p in law.items())


def test_reports_of_javascript_follow_the_matrix_of_python(peer):
    # 7 degrees of freedom: 40.52 is passed once in a million. An epsilon of 2.5 would give 510.
    table, n = build.srr(8, 2), 8000
    counts = Counter(int(v) for v in peer.ask("respond", channel_text(table), answer=3, count=n))
    law = {y: float(Fraction(table.weight(y, 3), table.total)) for y in range(8)}
    assert chi_square(counts, law, n) < 40.52
    wrong = build.srr(8, 2.5)
    law = {y: float(Fraction(wrong.weight(y, 3), wrong.total)) for y in range(8)}
    assert chi_square(counts, law, n) > 40.52
