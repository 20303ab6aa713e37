"""A real PostgreSQL for tests: on a socket in a temporary folder, as an unprivileged user."""

from __future__ import annotations

import os
import pwd
import secrets
import signal
import subprocess
import time
from pathlib import Path

from sqlalchemy import create_engine, text

BIN = Path(next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), "/nowhere"))


def unprivileged():
    """Options of subprocess that leave root behind, which PostgreSQL refuses to run as."""
    if os.geteuid() != 0:
        return {}
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class PostgresServer:
    """A PostgreSQL of its own, on a socket in a temporary folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.process = None
        options = unprivileged()
        if options:
            os.chown(folder, options["user"], options["group"])
        made = [
            BIN / "initdb",
            "-D",
            self.folder / "data",
            "-U",
            "tacit",
            "-A",
            "trust",
            "--no-sync",
            "-E",
            "UTF8",
        ]
        subprocess.run(made, check=True, capture_output=True, cwd=folder, **options)
        self.start()

    def start(self):
        settings = {
            "listen_addresses": "", "unix_socket_directories": self.folder, "fsync": "off",
            "deadlock_timeout": "100ms", "max_connections": "60",
        }  # fmt: skip
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [BIN / "postgres", "-D", self.folder / "data", *given],
                stdout=log, stderr=log, cwd=self.folder, **unprivileged(),
            )  # fmt: skip
        deadline = time.monotonic() + 30
        while True:
            try:
                engine = create_engine(self.url())
                with engine.connect():
                    break
            except Exception:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < deadline, "PostgreSQL does not answer"
                time.sleep(0.05)
            finally:
                engine.dispose()

    def stop(self):
        """At once, as after a power failure of its clients' connections; it recovers by its log."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(30)

    def url(self, schema="public", driver="+psycopg"):
        """For SQLAlchemy, or with no driver for everybody else; a schema is as good as a database of its own."""
        return f"postgresql{driver}://tacit@/postgres?host={self.folder}&options=-csearch_path%3D{schema}"

    def fresh(self):
        """The URL of a new, empty schema, which is made faster than a database."""
        name = f"t{secrets.token_hex(6)}"
        engine = create_engine(self.url())
        with engine.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        engine.dispose()
        return self.url(name)
