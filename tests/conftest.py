import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def postgres():
    """A `PostgresServer` for the session."""
    from postgres_server import BIN, PostgresServer  # needs the extra `collector`, which other tests do not
    from requirements import require

    require("postgres", (BIN / "postgres").exists())
    folder = tempfile.mkdtemp(prefix="tacit-pg")
    server = PostgresServer(folder)
    yield server
    server.stop()
    shutil.rmtree(folder)
