"""A device answers a study once, within its limits, and its refusals tell nothing about its answer."""

import hashlib
import itertools
import math
import os
import stat
import string
import traceback
from contextlib import contextmanager
from fractions import Fraction

import pytest
from client_support import HEAD, LABELS, asked, attempt, fast_folder, refused, rows, run

from tacit_client import Device, Report, Round, Store, TacitError, build, channel_text, parse_channel, store
from tacit_client import canonical as wire
from tacit_client.tables import Blocks, Dense, Hashed, Subsets

ONE = Fraction(1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "device" / "tacit.sqlite"


@pytest.fixture(autouse=True)
def folder(path):
    path.parent.mkdir()


def new_device(path, cap=1, total=5):
    return Device(Store(path), cap, total)


@contextmanager
def nothing_written(path):
    """The block leaves the store as it was, to the byte, and no other file."""
    Store(path)
    before = (rows(path), hashlib.sha256(path.read_bytes()).digest(), sorted(path.parent.iterdir()))
    yield
    after = (rows(path), hashlib.sha256(path.read_bytes()).digest(), sorted(path.parent.iterdir()))
    assert after == before


AGAIN = {
    "the same round": (asked(), "tea"),
    "another answer": (asked(), "coffee"),
    "a later round": (asked(number=1), "tea"),
    "much later, another answer": (asked(number=99), "neither"),
    "another channel": (asked(channel=build.subset(3, 0.5)), "tea"),
    "a channel over the cap": (asked(channel=build.srr(3, 9)), "tea"),
    "a channel that lies": (asked(channel=Blocks(3, ONE, (), (0, 0, 0), (99, 0, 1))), "tea"),
    "another question": (asked(labels=("yes", "no"), text="Do you agree?"), "yes"),
}


@pytest.mark.parametrize("name", AGAIN)
def test_a_study_is_answered_once(path, name):
    again, answer = AGAIN[name]
    first = new_device(path).answer(asked(), "tea")
    with nothing_written(path):
        for device in (new_device(path), new_device(path, cap=0.01, total=0.01)):
            kept = device.answer(again, answer)
            assert (kept, kept.to_json()) == (first, first.to_json())
            assert type(kept.value) is type(first.value)
    assert first.round == asked().id
    assert run("answer", path, "office", "coffee") == [first.to_json()]


@pytest.mark.parametrize(
    "channel",
    [
        build.srr(3, 1),
        build.rrrr(3, [1], 1, 0.5),
        build.subset(3, 1),
        build.coarse(3, [0], 1),
        build.hashed(3, 1),
        build.dense([[0.5, 0.4, 0.3], [0.5, 0.6, 0.7]], 1),
    ],
    ids=lambda c: c.kind,
)
def test_a_report_is_one_that_the_channel_makes(path, channel):
    device = new_device(path, total=100)
    for number in range(20):
        report = device.answer(asked(f"s{number}", channel=channel), LABELS[number % 3])
        assert channel.check_report(report.value) == report.value
        assert Report.from_json(report.to_json()) == report
        assert device.store.kept(f"s{number}") == report
    assert len({kept.id for kept in device.store.pending()}) == 20


@pytest.mark.parametrize("epsilon", [1.0001, 2, 50])
def test_a_channel_above_the_cap_is_refused(path, epsilon):
    with nothing_written(path), refused("loss_above_cap"):
        new_device(path, total=1000).answer(asked(channel=build.srr(3, epsilon)), "tea")
    assert new_device(path, cap=epsilon, total=1000).answer(asked(channel=build.srr(3, epsilon)), "tea")


LIARS = [
    Blocks(3, ONE, (), (0, 0, 0), (3, 0, 1)),
    Blocks(3, ONE, (0,), (10, 0, 1), (6, 3, 3)),
    Blocks(3, Fraction(1, 10**9), (), (0, 0, 0), (2, 0, 1)),
    Subsets(3, ONE, None, 1, 3, 1),
    Subsets(3, ONE, (0,), 1, 3, 1),
    Hashed(3, ONE, 256, 3, 1),
    Dense(3, ONE, ((3, 1, 1), (1, 3, 3))),
    Dense(3, ONE, ((10**20, 10**20, 10**20), (3, 1, 1), (1, 3, 3))),
    Subsets(3, ONE, None, 1, 2718281828459045236, 10**18),  # e is 2.718281828459045235...
    Subsets(3, Fraction(50), None, 1, 10**128 - 1, 1),
]


@pytest.mark.parametrize("channel", LIARS, ids=lambda c: f"{c.kind}-{c.total if c.kind == 'blocks' else ''}")
def test_a_channel_that_leaks_more_than_it_states_is_refused(path, channel):
    assert parse_channel(channel_text(channel)) == channel, "the parser does not judge the loss"
    with nothing_written(path), refused("channel_leaks"):
        new_device(path, cap=50, total=10**6).answer(asked(channel=channel), "tea")


def test_a_channel_that_just_keeps_its_word_is_not_refused(path):
    channel = Subsets(3, ONE, None, 1, 2718281828459045235, 10**18)
    assert new_device(path).answer(asked(channel=channel), "tea")


def test_the_total_admits_five_studies_and_no_sixth(path):
    device = new_device(path, total=5)
    first = [device.answer(asked(f"invented-{i}"), "tea") for i in range(5)]
    assert device.store.spent() == 5
    for i in range(5, 12):
        with nothing_written(path), refused("budget_exhausted"):
            device.answer(asked(f"invented-{i}"), "tea")
        with nothing_written(path), refused("budget_exhausted"):
            new_device(path).answer(asked(f"invented-{i}", channel=build.srr(3, 1e-9)), "tea")
    assert [device.answer(asked(f"invented-{i}"), "coffee") for i in range(5)] == first
    assert new_device(path, total=6).answer(asked("sixth"), "tea").study == "sixth"


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, Fraction(1, 8)])
def test_the_ledger_adds_exactly(path, epsilon):
    device = new_device(path, total=10 * Fraction(str(float(epsilon))))
    for i in range(10):  # ten times 0.1 is not 1 in floats
        device.answer(asked(f"s{i}", channel=build.srr(3, epsilon)), "tea")
    with refused("budget_exhausted"):
        device.answer(asked("one-more", channel=build.srr(3, 1e-9)), "tea")


def test_a_charge_is_never_below_the_loss(path):
    device = new_device(path, total=100)
    for i, epsilon in enumerate(("0.000000001", "0.0000000012345", "0.123456789012345", "1")):
        channel = build.srr(3, Fraction(epsilon))
        before = device.store.spent()
        device.answer(asked(f"s{i}", channel=channel), "tea")
        charge = device.store.spent() - before
        exact = math.log1p(float(channel.worst().ratio - 1))
        assert exact <= charge <= max(Fraction(epsilon), Fraction(1, 1000)) + Fraction(1, 10**12)


@pytest.mark.parametrize("answer", ["Marmalade-7f3a", "", "Tea", "tea ", 0, None, True, b"tea", ["tea"]])
def test_an_unknown_answer_costs_nothing_and_is_not_repeated(path, answer):
    with nothing_written(path), refused("answer_unknown") as caught:
        new_device(path).answer(asked(), answer)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    told = "".join(traceback.format_exception(error)) + repr(error) + repr(error.args) + repr(vars(error))
    assert "Marmalade" not in told
    assert new_device(path).answer(asked(), "tea")


def spend_all(path):
    new_device(path, total=1).answer(asked("before"), "tea")
    return new_device(path, total=1)


REFUSALS = {
    "loss_above_cap": (new_device, build.srr(3, 2)),
    "channel_leaks": (new_device, LIARS[1]),
    "budget_exhausted": (spend_all, build.srr(3, 1)),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_is_the_same_for_every_answer(path, code):
    make, channel = REFUSALS[code]
    device = make(path)
    with nothing_written(path):
        errors = [attempt(device.answer, asked(channel=channel), label) for label in LABELS]
    assert {error.code for error in errors} == {code}
    assert len({(str(error), error.hint, error.argument) for error in errors}) == 1
    assert not any(label in str(error) for error in errors for label in LABELS)


def borderline_round():
    """A round whose reports have a mean length of 1 MiB: about half of them are longer."""
    plain = [c for c in string.printable[:94] if c not in '"\\']
    words = ("".join(t) for n in (1, 2, 3) for t in itertools.product(plain, repeat=n))
    labels = tuple(itertools.islice(words, 165_000))
    mean = sum(len(str(cell)) + 3 for cell in range(len(labels))) / len(labels)
    empty = len(Report("0" * 32, "office", HEAD, ()).to_json())
    size = round((wire.MAX_BYTES - empty) / mean)
    return asked(labels=labels, channel=Subsets(len(labels), ONE, None, size, 2, 1))


def test_whether_a_device_answers_does_not_depend_on_what_it_drew(path):
    # A refusal after the draw is a report that nobody is charged for, and it can be asked for again.
    borderline = attempt(lambda: Round.from_json(borderline_round().to_json()))
    outcomes = set()
    for number in range(10):
        device = new_device(path.with_name(f"store-{number}"))
        unfit = isinstance(borderline, TacitError)  # then no such round reaches a device
        report = borderline if unfit else attempt(device.answer, borderline, "a")
        outcomes.add("refused" if isinstance(report, TacitError) else "answered")
        assert len(outcomes) == 1


def watched(monkeypatch, look):
    """Call `look` whenever a transaction is about to be committed, when the journal is on the disk."""
    connect = store._connect

    def connect_and_watch(path):
        connection = connect(path)
        connection.set_trace_callback(lambda statement: look() if statement == "COMMIT" else None)
        return connection

    monkeypatch.setattr(store, "_connect", connect_and_watch)


def test_the_answer_is_in_no_file_at_any_time(path, monkeypatch):
    secret, read = "Quincunx-Zephyr-0451", {}
    labels = ("tea", secret, "coffee")

    def look():
        for file in path.parent.iterdir():
            read[file.name] = read.get(file.name, b"") + file.read_bytes()

    watched(monkeypatch, look)
    device = new_device(path, total=100)
    for i in range(30):
        device.answer(asked(f"s{i}", labels), secret)
    look()
    assert {path.name, path.name + "-journal"} <= set(read)
    assert b"office" not in read[path.name]
    assert b'"study":"s29"' in read[path.name], "the search finds what is there"
    for form in (secret, secret.lower(), "Quincunx", "tea", "drink"):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            assert not any(form.encode(encoding) in data for data in read.values())


def test_only_the_owner_can_read_the_store(path, monkeypatch):
    modes = {}

    def look():
        for file in path.parent.iterdir():
            modes.setdefault(file.name, set()).add(stat.S_IMODE(file.stat().st_mode))

    watched(monkeypatch, look)
    before = os.umask(0)
    try:
        new_device(path).answer(asked(), "tea")
    finally:
        os.umask(before)
    look()
    assert {path.name, path.name + "-journal"} <= set(modes)
    assert set().union(*modes.values()) == {0o600}


# (k, epsilon, the chi-square value with k - 1 degrees of freedom that is passed once in a million)
LAWS = [(2, 0.1, 23.93), (4, 1.5, 30.66)]


@pytest.mark.parametrize(("k", "epsilon", "limit"), LAWS)
def test_kept_reports_follow_the_channel(k, epsilon, limit):
    # Power: with 2,000 draws an error of 0.09 in a probability near one half is found with chance 0.999. At
    # epsilon 0.1 that is any gross error, at 1.5 also a fair coin, a swap, or an epsilon twice as large.
    labels = tuple(f"label {i}" for i in range(k))
    channel = build.srr(k, epsilon)
    given, counts, n = asked(labels=labels, channel=channel), [0] * k, 2000
    with fast_folder() as folder:
        for i in range(n):
            device = Device(Store(folder / str(i)), epsilon, 5)
            device.answer(given, labels[1])
            (report,) = device.store.pending()
            counts[report.value] += 1
    expected = [n * channel.weight(y, 1) / channel.total for y in range(k)]
    assert sum((c - e) ** 2 / e for c, e in zip(counts, expected, strict=True)) < limit


BAD = [float("nan"), float("inf"), True, False, 0, -1, "1", None, [1], 1j, b"1"]


@pytest.mark.parametrize("bad", [*BAD, 50.1, 1e-10], ids=repr)
def test_a_bad_cap_is_refused(path, bad):
    with refused("argument_invalid") as caught:
        Device(Store(path), bad, 5)
    assert caught.value.argument == "cap"


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_a_bad_total_is_refused(path, bad):
    with refused("argument_invalid") as caught:
        Device(Store(path), 1, bad)
    assert caught.value.argument == "total"


def test_a_store_is_a_store_and_a_round_is_a_round(path):
    for bad in (str(path), path, None, Store):
        with refused("argument_invalid") as caught:
            Device(bad, 1, 5)
        assert caught.value.argument == "store"
    for bad in (asked().to_json(), wire.decode(asked().to_json()), None, asked().question):
        with nothing_written(path), refused("argument_invalid") as caught:
            new_device(path).answer(bad, "tea")
        assert caught.value.argument == "round"
