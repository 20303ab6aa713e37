"""Run as a process by the tests: it answers, and dies where it is told to.

Usage: client_worker.py ACTION PATH ...   An answer prints the report, a refusal prints its code.
"""

import os
import resource
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from client_support import asked

from tacit_client import Device, Store, TacitError, certify, flush, parse_channel, store
from tacit_client.tables import Blocks, Subsets


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def say(text):
    print(text, flush=True)


def answer(path, study, label="tea", total="100"):
    try:
        say(Device(Store(path), 1, float(total)).answer(asked(study), label).to_json())
    except TacitError as error:
        say(error.code)


def wait_at(barrier):
    """Return when the parent opens the barrier."""
    folder = Path(barrier)
    (folder / f"{os.getpid()}.ready").touch()
    end = time.monotonic() + 60
    while not (folder / "go").exists():
        if time.monotonic() > end:
            sys.exit("nobody opened the barrier")
        time.sleep(0.001)


def open_together(path, barrier, study, label, total):
    """Several processes make the store, and answer, at once."""
    wait_at(barrier)
    answer(path, study, label, total)


def answer_together(path, barrier, study, label, total):
    """Several processes answer at once, when all have looked and found no report."""

    class Waiting(Store):
        def kept(self, study):
            found = super().kept(study)
            wait_at(barrier)
            return found

    try:
        say(Device(Waiting(path), 1, float(total)).answer(asked(study), label).to_json())
    except TacitError as error:
        say(error.code)


def answer_for_ever(path):
    device = Device(Store(path), 1, 10**6)
    for i in range(10**6):
        say(device.answer(asked(f"study-{i}"), "tea").to_json())


def die_in_randomiser(path, study):
    class Deadly(Blocks):
        def respond(self, answer):
            say("randomising")
            die()

    plain = asked(study).channel
    channel = Deadly(plain.k, plain.epsilon, plain.subset, plain.inside, plain.outside)
    Device(Store(path), 1, 100).answer(asked(study, channel=channel), "tea")


def die_before_commit(path, study, size="1"):
    """Die when everything is written but COMMIT; a tiny cache makes SQLite write to the file before it."""
    connect = store._connect

    def deadly(path):
        connection = connect(path)
        connection.execute("PRAGMA cache_size = 1")
        inserted = []

        def trace(statement):
            if statement.startswith("INSERT"):
                inserted.append(statement)
            if inserted and statement == "COMMIT":
                say("committing")
                die()

        connection.set_trace_callback(trace)
        return connection

    opened = Store(path)
    store._connect = deadly
    labels = tuple(map(str, range(2 * int(size))))
    channel = Subsets(len(labels), asked().channel.epsilon, None, int(size), 2, 1)
    Device(opened, 1, 100).answer(asked(study, labels, channel), "0")


def die_after_commit(path, study):
    class Deadly(Store):
        @contextmanager
        def transaction(self, write=True):
            with super().transaction(write) as transaction:
                yield transaction
                before = transaction.kept(study)
            if before:
                say(before.to_json())
                die()

    Device(Deadly(path), 1, 100).answer(asked(study), "tea")


def die_after_send(path, log):
    """The server holds the report, and the device dies before it has noted so."""

    def send(report):
        with Path(log).open("a") as file:
            file.write(report.to_json() + "\n")
        die()

    flush(Store(path), send)


def small_files(path, limit):
    """Answer until the disk refuses a larger file."""
    device = Device(Store(path), 1, 10**6)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    for i in range(500):
        try:
            say(device.answer(asked(f"study-{i}"), "tea").to_json())
        except TacitError as error:
            say(error.code)
            return


def unprivileged(path, study):
    """Open and answer as a user who is not root."""
    prepared = asked(study)
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    try:
        say(Device(Store(path), 1, 100).answer(prepared, "tea").to_json())
    except TacitError as error:
        say(error.code)


def measure(path):
    """Parse, certify and answer through the channel in a file; print the seconds and the megabytes."""
    text = Path(path).read_bytes()
    start = time.monotonic()
    channel = parse_channel(text)
    loss = certify(channel).loss
    channel.check_report(channel.respond(channel.k - 1))
    seconds = time.monotonic() - start
    say(f"{loss!r} {seconds!r} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024!r}")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
