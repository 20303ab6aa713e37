"""A PostgreSQL server of the tests' own: in a temporary folder, on a unix socket, as a user without privileges."""

import os
import pwd
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path


def programs():
    """The folder of initdb and postgres, or None."""
    found = shutil.which("postgres")
    folders = (
        [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    )
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def present():
    return programs() is not None and (os.geteuid() != 0 or _user() is not None)


def _user():
    """Whom a server runs as when the tests run as root, which it refuses."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


@contextmanager
def server():
    """The URL of a running server; it is stopped and deleted afterwards."""
    root = os.geteuid() == 0
    folder = Path(tempfile.mkdtemp(prefix="tacit-pg-"))
    as_user = {"user": _user().pw_uid, "group": _user().pw_gid, "extra_groups": []} if root else {}
    if root:
        os.chown(folder, _user().pw_uid, _user().pw_gid)
    name = _user().pw_name if root else pwd.getpwuid(os.geteuid()).pw_name
    data, tools = folder / "data", programs()
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    common = {"check": True, "capture_output": True, "cwd": folder, "env": environment, **as_user}
    try:
        subprocess.run([tools / "initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--no-sync"], **common)
        settings = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        start = [
            tools / "pg_ctl",
            "-D",
            data,
            "-w",
            "-t",
            "60",
            "-l",
            folder / "log",
            "-o",
            settings,
            "start",
        ]
        subprocess.run(start, **common)
        try:
            yield f"postgresql://{name}@/postgres?host={folder}"
        finally:
            subprocess.run([tools / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"], **common)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
