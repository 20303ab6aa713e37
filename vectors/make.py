"""Write vectors/v1: channels and messages, good and bad, for the tests of every client.

Run it as `make vectors`. What it writes depends on nothing but this file and tacit_client.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from tacit_client import (
    Question,
    Receipt,
    Report,
    Round,
    TacitError,
    build,
    canonical,
    certify,
    parse_channel,
)
from tacit_client.channel import channel_id, channel_text
from tacit_client.check import answered_number
from tacit_client.device import answered
from tacit_client.tables import Binned, Blocks, Dense, Hashed, Subsets, Table, Value

HERE = Path(__file__).parent / "v1"
LEAST, MOST = f"-{'9' * 39}", "9" * 40
EVEN = [[0.6, 0.3], [0.2, 0.2], [0.2, 0.5]]


def tables() -> dict[str, Table]:
    """Channels of every kind, by the public makers and by hand, and some that leak more than they state."""
    one = Fraction(1)
    return {
        "srr of two": build.srr(2, 1),
        "srr of ten, small epsilon": build.srr(10, 0.01),
        "srr of four, large epsilon": build.srr(4, 50),
        "srr of the most categories": build.srr(2**21, 1),
        "srr, epsilon with many digits": build.srr(3, 0.1234567890123456),
        "rrrr": build.rrrr(10, [2, 0], 1, 0.9),
        "rrrr, one likely category": build.rrrr(5, [4], 0.5, 0.8),
        "rrrr, one category outside": build.rrrr(4, [0, 1, 3], 1, 0.9),
        "rrrr, kappa one": build.rrrr(5, [1, 2], 2, 1),
        "rrrr, exp(e1 - e) m just above one": build.rrrr(3, [0], 1.3862943611198906, 0.5),
        "rrrr, exp(e1 - e) m below one": build.rrrr(3, [0], 5, 0.5),
        "subset": build.subset(10, 0.5, 4),
        "subset of the best size": build.subset(20, 1),
        "subset of one": build.subset(6, 2, 1),
        "subset, all but one": build.subset(4, 1, 3),
        "coarse": build.coarse(10, [2, 0, 5], 0.5, 1),
        "coarse, two of five cells": build.coarse(12, [1, 3, 8, 11], 1, 2),
        "coarse, one category kept": build.coarse(9, [8], 3),
        "hashed": build.hashed(5000, 2),
        "hashed, two buckets": build.hashed(100, 0.1),
        "hashed, the most buckets": build.hashed(2**21, 5.54),
        "dense": build.dense(EVEN, 1.5),
        "dense by hand": Dense(2, one, ((2, 1), (1, 2))),
        "graded: the sign of a number": build.graded(20, 80, 1, 1),
        "graded in four steps": build.graded("-40.5", "39.5", 4, 0.5),
        "graded, cuts rounded": build.graded(0, 1, 3, 5),
        "graded, large epsilon": build.graded("-0.001", "0.001", 9, 50),
        "binned with srr": build.binned(["-1.5", 0, "2.25"], build.srr(4, 2)),
        "binned with rrrr": build.binned([18, 30, 45, 65], build.rrrr(5, [1, 2], 1, 0.9)),
        "binned with subset": build.binned([1, 10, 100, 1000, 10_000], build.subset(6, 0.5, 2)),
        "binned with coarse": build.binned([20, 40, 60], build.coarse(4, [2], 1, 1)),
        "binned with hashed": build.binned(list(range(-50, 49)), build.hashed(100, 2)),
        "binned, cuts of forty characters": build.binned([LEAST, f"0.{'0' * 37}1", MOST], build.srr(4, 1)),
        "blocks by hand": Blocks(3, one, (), (0, 0, 0), (2, 0, 1)),
        "no information": Blocks(3, one, (), (0, 0, 0), (1, 0, 1)),
        "a ratio next to one": Blocks(2, one, (), (0, 0, 0), (10**127 + 1, 0, 10**127)),
        "leaks: srr": Blocks(3, one, (), (0, 0, 0), (3, 0, 1)),
        "leaks: by a hair": Blocks(3, one, (), (0, 0, 0), (2718281829, 0, 10**9)),
        "leaks: subset": Subsets(6, one, None, 2, 3, 1),
        "leaks: hashed": Hashed(50, one, 4, 14, 5),
        "leaks: dense": Dense(2, one, ((11, 4), (1, 8))),
        "leaks: binned": Binned((Fraction(1, 2),), Blocks(2, one, (), (0, 0, 0), (3, 0, 1))),
    }


def channel_vectors() -> list[dict[str, object]]:
    return [channel_vector(name, table) for name, table in tables().items()]


def channel_vector(name: str, table: Table) -> dict[str, object]:
    certificate = certify(table)
    answers = sorted({0, 1, table.k // 2, table.k - 1})
    draws = [draw(table, x, name, turn) for x in answers for turn in ("low", "high", "a", "b")]
    reports = [certificate.report] + [table.check_report(unwritten(d["report"])) for d in draws[:2]]
    vector: dict[str, object] = {
        "name": name,
        "text": channel_text(table),
        "id": channel_id(table),
        "leaks": not certificate.holds,
        "ratio": f"{certificate.ratio.numerator}/{certificate.ratio.denominator}",
        "likely": str(certificate.likely),
        "unlikely": str(certificate.unlikely),
        "report": written(certificate.report),
        "draws": draws,
    }
    if table.k <= 100:
        vector["likelihood"] = [
            {"report": written(r), "weights": [str(table.weight(r, x)) for x in range(table.k)]}
            for r in dict.fromkeys(reports)
        ]
    return vector


def draw(table: Table, answer: int, name: str, turn: str) -> dict[str, object]:
    """One run of the randomiser on listed values: all lowest, all highest, or from a hash."""
    bounds: list[int] = []
    values: list[int] = []

    def randbelow(bound: int) -> int:
        digest = hashlib.sha256(f"{name}/{answer}/{turn}/{len(bounds)}".encode()).digest()
        picked = {"low": 0, "high": bound - 1}.get(turn, int.from_bytes(digest) % bound)
        bounds.append(bound)
        values.append(picked)
        return picked

    report = table._draw(answer, randbelow)
    return {
        "answer": str(answer),
        "bounds": [str(b) for b in bounds],
        "values": [str(v) for v in values],
        "report": written(report),
    }


def written(report: Value) -> str | list[str]:
    return [str(v) for v in report] if isinstance(report, tuple) else str(report)


def unwritten(report: object) -> Value:
    return tuple(int(v) for v in report) if isinstance(report, list) else int(str(report))


def message_vectors() -> list[dict[str, object]]:
    poll = Question("tea", "Tea or coffee?", labels=("tea", "coffee"))
    unicode = Question(
        "umlauts", 'Süß, "salzig" oder \\ bitter? 甘い 🍬', labels=("süß", "sal/zig", "bit\\ter")
    )
    number = Question("age", "How old are you?", unit="years", lowest="0", highest="120", step="0.5")
    below = Question("cold", "How cold?", unit="°C", lowest="-40.5", highest="-0.5", step="10")
    first = Round("office-2026", poll, 0, build.srr(2, 1), None)
    second = Round("office-2026", poll, 1, build.subset(2, 1), first.id)
    coarse = Round("A.b_c-9", unicode, 0, build.coarse(3, [1], 0.7), None)
    sign = Round("ages", number, 0, build.graded(18, 66, 1, 1), None)
    grades = Round("ages", number, 1, build.graded("17.3", "64.9", 3, 1), sign.id)
    ends = Round("colds", below, 0, build.binned(["-40.4", "-20.5", "-0.5"], build.subset(4, 1)), None)
    report_id = "000102030405060708090a0b0c0d0e0f"
    good = {
        "question of categories": poll,
        "question with quotes, umlauts and an emoji": unicode,
        "question of a number": number,
        "question of a negative number": below,
        "first round": first,
        "second round": second,
        "round with a coarse channel": coarse,
        "round with the sign of a number": sign,
        "round with a graded number": grades,
        "round with a cell at either end of a scale": ends,
        "report of a category": Report(report_id, "office-2026", first.id, 1),
        "report of a set": Report(report_id, "office-2026", second.id, (0,)),
        "report of a hash": Report("f" * 32, "a", first.id, (2147483646, 0, 3)),
        "receipt": Receipt(report_id, second.id),
    }
    vectors = []
    for name, message in good.items():
        vector: dict[str, object] = {
            "name": name,
            "type": type(message).__name__.lower(),
            "text": message.to_json(),
        }
        if isinstance(message, Round):
            vector["id"] = message.id
        vectors.append(vector)
    return vectors


SRR = channel_text(build.srr(3, 1))
SUBSET = channel_text(build.subset(5, 1, 2))
MANY = channel_text(build.subset(200_000, 1, 2))
COARSE = channel_text(build.coarse(6, [1, 3], 1, 1))
RRRR = channel_text(build.rrrr(5, [0, 2], 1, 0.9))
HASHED = channel_text(build.hashed(50, 1))
DENSE = channel_text(build.dense(EVEN, 1.5))
BINNED = channel_text(build.binned(["-1.5", 0, "2.25"], build.srr(4, 1)))
INNER = canonical.encode(json.loads(BINNED)["inner"])
GRADED = channel_text(build.graded(20, 80, 2, 1))
TOY = '{"epsilon":"1","k":"2","kind":"dense","rows":[["2","1"],["1","2"]],"type":"channel","version":"1"}'
NINES = "9" * 129
EDITS = [
    ("unknown field", SRR, '"epsilon"', '"alpha":"1","epsilon"'),
    ("missing field", SRR, '"subset":[],', ""),
    ("missing version", SRR, ',"version":"1"', ""),
    ("later version", SRR, '"version":"1"', '"version":"2"'),
    ("wrong type", SRR, '"type":"channel"', '"type":"report"'),
    ("unknown kind", SRR, '"kind":"blocks"', '"kind":"laplace"'),
    ("kind is a list", SRR, '"kind":"blocks"', '"kind":["blocks"]'),
    ("one category", SRR, '"k":"3"', '"k":"1"'),
    ("too many categories", SRR, '"k":"3"', '"k":"2097153"'),
    ("huge k", SRR, '"k":"3"', f'"k":"{NINES}"'),
    ("k with a leading zero", SRR, '"k":"3"', '"k":"03"'),
    ("k with a sign", SRR, '"k":"3"', '"k":"+3"'),
    ("k in Arabic digits", SRR, '"k":"3"', '"k":"٣"'),
    ("k with a line feed", SRR, '"k":"3"', '"k":"3\\n"'),
    ("k is a number", SRR, '"k":"3"', '"k":3'),
    ("k is true", SRR, '"k":"3"', '"k":true'),
    ("epsilon zero", SRR, '"epsilon":"1"', '"epsilon":"0"'),
    ("epsilon above fifty", SRR, '"epsilon":"1"', '"epsilon":"50.1"'),
    ("epsilon with an exponent", SRR, '"epsilon":"1"', '"epsilon":"1e0"'),
    ("epsilon with a trailing zero", SRR, '"epsilon":"1"', '"epsilon":"1.0"'),
    ("epsilon is 1e999", SRR, '"epsilon":"1"', '"epsilon":1e999'),
    ("epsilon is NaN", SRR, '"epsilon":"1"', '"epsilon":NaN'),
    ("epsilon is negative", SRR, '"epsilon":"1"', '"epsilon":"-1"'),
    ("white space", SRR, '"k":"3"', '"k": "3"'),
    ("duplicate key", SRR, '"k":"3"', '"k":"3","k":"3"'),
    ("needless escape", SRR, '"kind"', '"\\u006bind"'),
    ("unsorted keys", TOY, '"epsilon":"1","k":"2"', '"k":"2","epsilon":"1"'),
    ("truncated", SRR, '"version":"1"}', '"ver'),
    ("unpaired surrogate", SRR, '"kind":"blocks"', '"kind":"\\ud800"'),
    ("zero weight", TOY, '["2","1"]', '["2","0"]'),
    ("negative weight", TOY, '["2","1"]', '["2","-1"]'),
    ("columns of different sums", TOY, '["2","1"]', '["3","1"]'),
    ("ragged rows", TOY, '["2","1"]', '["2","1","1"]'),
    ("no rows", TOY, '[["2","1"],["1","2"]]', "[]"),
    ("rows are strings", TOY, '["2","1"]', '"21"'),
    ("two weights instead of three", SRR, '"inside":["0","0","0"]', '"inside":["0","0"]'),
    ("a weight that nothing uses", SRR, '"inside":["0","0","0"]', '"inside":["0","1","0"]'),
    ("subset out of range", RRRR, '"subset":["0","2"]', '"subset":["0","5"]'),
    ("subset not increasing", RRRR, '"subset":["0","2"]', '"subset":["2","0"]'),
    ("subset with a duplicate", RRRR, '"subset":["0","2"]', '"subset":["0","0"]'),
    ("subset changed, sums wrong", RRRR, '"subset":["0","2"]', '"subset":["0","2","3"]'),
    ("size zero", SUBSET, '"size":"2"', '"size":"0"'),
    ("size of all cells", SUBSET, '"size":"2"', '"size":"5"'),
    ("keep with a duplicate", COARSE, '"keep":["1","3"]', '"keep":["1","1"]'),
    ("keep empty", COARSE, '"keep":["1","3"]', '"keep":[]'),
    ("keep of all but one", COARSE, '"keep":["1","3"]', '"keep":["0","1","2","3","4"]'),
    ("size of a report that no message holds", MANY, '"size":"2"', '"size":"65537"'),
    ("one bucket", HASHED, '"buckets":"4"', '"buckets":"1"'),
    ("too many buckets", HASHED, '"buckets":"4"', '"buckets":"257"'),
    ("no cuts", BINNED, '["-1.5","0","2.25"]', "[]"),
    ("cuts is a string", BINNED, '["-1.5","0","2.25"]', '"0"'),
    ("one cut too few", BINNED, '["-1.5","0","2.25"]', '["-1.5","0"]'),
    ("one cut too many", BINNED, '["-1.5","0","2.25"]', '["-1.5","0","2.25","3"]'),
    ("cuts not increasing", BINNED, '["-1.5","0","2.25"]', '["0","-1.5","2.25"]'),
    ("cut twice", BINNED, '["-1.5","0","2.25"]', '["-1.5","-1.5","2.25"]'),
    ("cut twice in two spellings", BINNED, '["-1.5","0","2.25"]', '["-1.5","0","0.0"]'),
    ("cut with a trailing zero", BINNED, '"2.25"', '"2.250"'),
    ("cut with a leading zero", BINNED, '"2.25"', '"02.25"'),
    ("cut without a leading zero", BINNED, '"2.25"', '".25"'),
    ("cut with a plus sign", BINNED, '"2.25"', '"+2.25"'),
    ("cut with an exponent", BINNED, '"2.25"', '"1e999999999"'),
    ("cut of minus zero", BINNED, '"0"', '"-0"'),
    ("cut is NaN", BINNED, '"2.25"', '"NaN"'),
    ("cut is infinite", BINNED, '"2.25"', '"Infinity"'),
    ("cut in Arabic digits", BINNED, '"2.25"', '"٣"'),
    ("cut is a number", BINNED, '"2.25"', "2.25"),
    ("cut is a list", BINNED, '"2.25"', '["2.25"]'),
    ("cut of forty-one characters", BINNED, '"2.25"', f'"{"9" * 41}"'),
    ("no inner channel", BINNED, f'"inner":{INNER},', ""),
    ("inner is null", BINNED, INNER, "null"),
    ("inner without a kind", BINNED, '"kind":"blocks",', ""),
    ("inner of an unknown kind", BINNED, '"kind":"blocks"', '"kind":"laplace"'),
    ("inner with an epsilon of its own", BINNED, '"inner":{', '"inner":{"epsilon":"1",'),
    ("inner with a k of its own", BINNED, '"kind":"blocks"', '"k":"4","kind":"blocks"'),
    ("inner with fields of another kind", BINNED, '"kind":"blocks"', '"kind":"subset"'),
    ("inner is binned", BINNED, '"kind":"blocks"', '"kind":"binned"'),
    ("k of one cell less", BINNED, '"k":"4"', '"k":"3"'),
    ("k of one cell more", BINNED, '"k":"4"', '"k":"5"'),
    ("cuts for categories", SRR, '"epsilon"', '"cuts":["1","2"],"epsilon"'),
]  # fmt: skip


def refused_vectors() -> Iterator[dict[str, object]]:
    for name, base, old, new in EDITS:
        assert old in base, name
        yield {"name": name, "type": "channel", "text": base.replace(old, new, 1)}
    other = json.loads(HASHED)["other"]
    zero = HASHED.replace(f'"other":"{other}"', '"other":"0"')
    yield {"name": "other is zero", "type": "channel", "text": zero}
    narrow = GRADED.replace('["35","65"]', '["35"]').replace('"k":"3"', '"k":"2"')
    yield {"name": "inner of another size", "type": "channel", "text": narrow}
    yield {"name": "deep nesting", "type": "channel", "text": "[", "times": 100_000}
    yield {"name": "ten megabytes", "type": "channel", "text": "0123456789", "times": 1_000_000}
    yield {"name": "invalid UTF-8", "type": "channel", "hex": "7b22ff223a2231227d"}
    yield {"name": "byte order mark", "type": "channel", "hex": "efbbbf7b7d"}
    yield {"name": "empty", "type": "channel", "text": ""}
    yield {"name": "a list", "type": "channel", "text": "[]"}
    yield {"name": "an empty object", "type": "channel", "text": "{}"}
    texts = {str(v["name"]): str(v["text"]) for v in message_vectors()}
    edits = [
        ("labels twice", "question", "question of categories", '["tea","coffee"]', '["tea","tea"]'),
        ("one label", "question", "question of categories", '["tea","coffee"]', '["tea"]'),
        ("blank label", "question", "question of categories", '"coffee"', '" "'),
        ("label that reorders text", "question", "question of categories", '"coffee"', '"co\u202effee"'),
        ("labels that look alike", "question", "question of categories", '"coffee"', '"tea\u200d"'),
        ("invisible label", "question", "question of categories", '"coffee"', '"\u3164"'),
        ("label in decomposed form", "question", "question of categories", '"coffee"', '"cafe\u0301"'),
        ("label with a space at the end", "question", "question of categories", '"coffee"', '"coffee "'),
        ("booleans", "question", "question of categories", '"Tea or coffee?"', "true"),
        ("range upside down", "question", "question of a number", '"highest":"120"', '"highest":"-1"'),
        ("step that does not divide", "question", "question of a number", '"step":"0.5"', '"step":"0.7"'),
        ("labels and a range", "question", "question of a number", '"lowest"', '"labels":["a","b"],"lowest"'),
        ("three labels for k = 2", "round", "first round", '["tea","coffee"]', '["tea","coffee","milk"]'),
        ("first round with a previous one", "round", "first round", '"previous":null', f'"previous":"{"0" * 64}"'),
        ("second round without a previous one", "round", "second round", '"number":"1"', '"number":"0"'),
        ("study with a slash", "round", "first round", "office-2026", "../x"),
        ("short report id", "report", "report of a category", "000102030405060708090a0b0c0d0e0f", "00"),
        ("upper case report id", "report", "report of a category", "0e0f", "0E0F"),
        ("negative value", "report", "report of a category", '"value":"1"', '"value":"-1"'),
        ("value is null", "report", "report of a category", '"value":"1"', '"value":null'),
        ("receipt without a report", "receipt", "receipt", ',"report":"000102030405060708090a0b0c0d0e0f"', ""),
    ]  # fmt: skip
    binned, srr = channel_text(build.graded(18, 66, 1, 1)), channel_text(build.srr(2, 1))
    sign = "round with the sign of a number"
    ends = "round with a cell at either end of a scale"
    edits += [
        ("a channel of categories for a number", "round", sign, binned, srr),
        ("a channel of a number for labels", "round", "first round", srr, binned),
        ("a cut at the lowest answer", "round", sign, '"cuts":["42"]', '"cuts":["0"]'),
        ("a cut below the lowest answer", "round", sign, '"cuts":["42"]', '"cuts":["-1"]'),
        ("a cut above the highest answer", "round", sign, '"cuts":["42"]', '"cuts":["120.1"]'),
        ("two cuts between the same two answers", "round", ends, '"-40.4","-20.5"', '"-20.4","-10.6"'),
    ]  # fmt: skip
    for name, kind, base, old, new in edits:
        assert old in texts[base], name
        yield {"name": name, "type": kind, "text": texts[base].replace(old, new)}


ANSWERS = [
    # Of (-1.5, 0, 2.25): on a cut, just below, just above, and far away.
    (
        "binned with srr",
        ["-1.5", "-1.50", "-1.500000000000000000000000000000000001", "-1.499999999999999999999"],
    ),
    (
        "binned with srr",
        ["0", "-0", "0.0", "-0.0000000000000000000000000000000000001", "007", "2.2499999999999999999"],
    ),
    ("binned with srr", ["2.25", "2.2500000000000000000000000000000000001", "9" * 40, "-" + "9" * 39]),
    (
        "binned with srr",
        ["1e3", "+1", ".5", "1.", "1,5", " 1", "1\n", "", "-", "--1", "NaN", "٣", "0x1", "9" * 41],
    ),
    # 9007199254740993 is no double: a client that rounds puts it onto the cut.
    (
        "whole numbers beyond a double",
        ["9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994"],
    ),
    (
        "tenths",
        ["0.09", "0.1", "0.10000000000000000555", "0.3", "0.29999999999999998889", "0.30000000000000004441"],
    ),
    (
        "binned, cuts of forty characters",
        [LEAST, f"0.{'0' * 37}1", "0", f"0.{'0' * 37}2", MOST, f"{MOST[:-1]}8"],
    ),
    (
        "graded, cuts rounded",
        ["0.1666666666666", "0.16666666666669", "0.1666666666667", "0.5", "0.49999999999999999"],
    ),
    (
        "round with the sign of a number",
        ["41.5", "42", "42.0", "0", "120", "41.9", "120.5", "-0.5", "41.99", "forty"],
    ),
    ("round with a graded number", ["24.5", "25.5", "41", "41.5", "56.5", "57", "24.75"]),
    (
        "round with a cell at either end of a scale",
        ["-40.5", "-30.5", "-10.5", "-0.5", "-40.4", "-10", "0", "-50.5"],
    ),
    ("first round", ["tea", "coffee", "Tea", "0", "tea "]),
]


def answer_vectors() -> Iterator[dict[str, object]]:
    """The category or cell of an answer, by a channel alone or by a round; or the code of its refusal."""
    beyond = build.binned([2**53, 2**53 + 1], build.srr(3, 1))
    tenths = build.binned(["0.1", "0.3"], build.srr(3, 1))
    channels = tables() | {"whole numbers beyond a double": beyond, "tenths": tenths}
    rounds = {str(v["name"]): str(v["text"]) for v in message_vectors() if v["type"] == "round"}
    for name, answers in ANSWERS:
        text = rounds[name] if name in rounds else channel_text(channels[name])
        for answer in answers:
            vector: dict[str, object] = {"name": f"{answer!r} of {name}", "text": text, "answer": answer}
            vector["type"] = "round" if name in rounds else "channel"
            try:
                yield vector | {"cell": str(cell_of(vector))}
            except TacitError as error:
                yield vector | {"code": error.code}


def cell_of(vector: dict[str, object]) -> int:
    """The cell into which Python puts an answer."""
    text, answer = str(vector["text"]), str(vector["answer"])
    if vector["type"] == "round":
        return answered(Round.from_json(text), answer)
    table = parse_channel(text)
    assert isinstance(table, Binned)
    return table.cell(answered_number(answer))


READERS = {
    "channel": parse_channel,
    "question": Question.from_json,
    "round": Round.from_json,
    "report": Report.from_json,
    "receipt": Receipt.from_json,
}


def code_of(vector: dict[str, object]) -> str:
    """The code with which Python refuses a bad vector."""
    if "hex" in vector:
        data: str | bytes = bytes.fromhex(str(vector["hex"]))
    else:
        data = str(vector["text"]) * int(str(vector.get("times", 1)))
    try:
        READERS[str(vector["type"])](data)
    except TacitError as error:
        return error.code
    raise AssertionError(f"{vector['name']} was accepted")


def files() -> dict[str, str]:
    """The name and the text of every file."""
    contents = {
        "channels.json": channel_vectors(),
        "messages.json": message_vectors(),
        "answers.json": list(answer_vectors()),
        "refused.json": [vector | {"code": code_of(vector)} for vector in refused_vectors()],
    }
    return {
        name: json.dumps(vectors, indent=1, ensure_ascii=True) + "\n" for name, vectors in contents.items()
    }


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name, text in files().items():
        (HERE / name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(json.loads(text))} vectors")
