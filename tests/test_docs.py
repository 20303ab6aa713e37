"""The documentation is true: its examples run, its commands print what it shows, it names all that is public."""

import doctest
import importlib
import os
import pkgutil
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import typer

import tacit
import tacit.channels
import tacit.regression
import tacit.sketch
import tacit_client
from tacit.cli import app
from tacit_client.errors import CODES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PAGES = [p for p in sorted(DOCS.rglob("*.md")) if "_build" not in p.parts]
PAGES += [ROOT / "README.md", ROOT / "clients" / "python" / "README.md"]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^(`{3,})(\S*)[^\n]*\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


def fences(text, language):
    """(first line, content) of every fenced block in a language; a block may quote other blocks."""
    return [(text.count("\n", 0, m.start(3)), m[3]) for m in FENCE.finditer(text) if m[2] == language]


def doctest_failures(page):
    """What the >>> examples of a page print that it does not say; they share one namespace."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for start, content in fences(text, "python"):
        if ">>> " in content:
            block = content.splitlines()
            lines[start : start + len(block)] = block
    name = str(page.relative_to(ROOT))
    examples = doctest.DocTestParser().get_doctest("\n".join(lines), {}, name, str(page), 0)
    printed = []
    doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=printed.append)
    return "".join(printed)


def free_port():
    """A port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def no_server_left(folder):
    """End what a page has started and, because an example failed, not ended: its process id is in serve.pid."""
    try:
        yield
    finally:
        for file in folder.glob("serve.pid"):
            with suppress(ProcessLookupError, ValueError):
                os.kill(int(file.read_text()), signal.SIGTERM)


def command_failures(page):
    """The `$ command` lines of the console blocks of a page, run in order in the working directory.

    `tacit audit` contradicts an honest channel about once in 10^5 runs; all else in the pages holds more surely.
    """
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    port = free_port()  # pages say 8000, or nothing
    environment |= {"TACIT_PORT": str(port), "TACIT_SERVER": f"http://127.0.0.1:{port}"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for _, block in fences(page.read_text(encoding="utf-8"), "console"):
        for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = session.partition("\n")
            done = subprocess.run(
                command, shell=True, env=environment, timeout=120, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
            )  # fmt: skip
            if not doctest.OutputChecker().check_output(expected, done.stdout, FLAGS):
                yield f"$ {command}\nprinted\n{done.stdout}instead of\n{expected}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_are_true(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest_failures(page) == ""
    for start, content in fences(page.read_text(encoding="utf-8"), "python"):
        if ">>> " not in content:
            exec(compile("\n" * start + content, page, "exec"), {"__name__": "__main__"})
    with no_server_left(tmp_path):
        failures = "\n".join(command_failures(page))
    assert not failures, failures


def test_a_false_example_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n```\n\n```console\n$ echo yes\nno\n```\n")
    assert "Got:\n    2" in doctest_failures(page)
    assert "printed\nyes" in next(command_failures(page))


def modules():
    for package in (tacit, tacit_client):
        yield package.__name__
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield found.name


@pytest.mark.parametrize("name", list(modules()))
def test_the_examples_of_a_module_are_true(name):
    assert doctest.testmod(importlib.import_module(name), optionflags=FLAGS).failed == 0


@pytest.mark.parametrize(
    "module",
    [tacit, tacit.channels, tacit.regression, tacit.sketch, tacit_client],
    ids=lambda module: module.__name__,
)
def test_every_public_name_is_in_the_reference(module):
    text = (REFERENCE / "python.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"[A-Za-z_][\w.]*\w", text))
    missing = {f"{module.__name__}.{name}" for name in module.__all__} - documented
    assert missing == set()


def commands(group=None, name="tacit"):
    """(name, command) of every command, those of groups of commands too."""
    for word, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def test_every_command_and_option_is_in_the_reference():
    text = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)}
    missing = set()
    for name, command in commands():
        section = sections.get(name, "")
        options = [option for parameter in command.params for option in parameter.opts]
        missing |= {f"{name} {option}" for option in options if f"| `{option}` |" not in section}
        if not re.search(rf"^\$.*\b{name}\b", section, re.MULTILINE):
            missing.add(f"an example of {name}")
    assert missing == set()


def test_every_error_code_is_in_the_reference():
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    assert {code for code in CODES if f"| `{code}` |" not in text} == set()
