"""Laws about the code itself: where randomness comes from, what an import costs, what a device needs."""

import ast
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tacit
import tacit_client
from tacit import channels, sketch
from tacit_client.tables import KINDS

CLIENT = Path(tacit_client.__file__).parent


def imported_by(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("path", sorted(CLIENT.rglob("*.py")), ids=lambda p: p.stem)
def test_the_device_needs_only_the_standard_library(path):
    assert set(imported_by(path)) <= {*sys.stdlib_module_names, "tacit_client"}


def test_no_other_randomness_than_the_operating_systems_in_the_device():
    for path in CLIENT.rglob("*.py"):
        assert not {"random", "numpy"} & set(imported_by(path)), path
    users = {path.stem for path in CLIENT.rglob("*.py") if "secrets" in set(imported_by(path))}
    assert users == {"base", "messages"}


def test_no_seed_reaches_a_real_answer():
    for respond in (channels.Channel.respond, *(kind.respond for kind in KINDS.values())):
        assert list(inspect.signature(respond).parameters) == ["self", "answer"]
    answer = inspect.signature(tacit_client.Device.answer)
    assert list(answer.parameters) == ["self", "round", "answer"]


def test_no_seed_reaches_released_noise():
    """The wrappers draw from `noise.EXACT`; the simulated source is not public."""
    for kind in (sketch.UseAndKeep, sketch.UseAndForget, sketch.CellPerturbation, sketch.MedianPerturbation):
        names = set(inspect.signature(kind).parameters) | set(inspect.signature(kind.query).parameters)
        assert not {"seed", "rng", "source"} & names
        assert kind(sketch.CountSketch(3, 5), 1.0)._source is sketch.noise.EXACT
    assert not hasattr(sketch, "Simulated")
    assert "random" not in set(imported_by(Path(sketch.private.__file__)))


def test_floats_take_no_part_in_a_real_answer():
    for kind in KINDS.values():
        source = ast.parse(textwrap.dedent(inspect.getsource(kind._draw)))
        for node in ast.walk(source):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
            assert not isinstance(node, ast.Div)


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_import_compiles_nothing_and_loads_no_heavy_part():
    heavy = "numba matplotlib scipy typer rich pandas arviz duckdb fastapi opendp pyarrow sklearn sqlalchemy xxhash"
    for module in ("tacit", "tacit.sketch"):
        loaded = run(f"import sys, {module}; print(sorted(set('{heavy}'.split()) & set(sys.modules)))")
        assert loaded == "[]"
    assert run("import sys, tacit_client; print('numpy' in sys.modules)") == "False"


def test_versions_are_the_same():
    assert tacit.__version__ == tacit_client.__version__
