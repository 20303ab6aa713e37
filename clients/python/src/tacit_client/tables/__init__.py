"""The kinds of channel that a device knows: four integer tables with one set of questions."""

from tacit_client.tables.base import Table, Value, Worst
from tacit_client.tables.blocks import Blocks
from tacit_client.tables.dense import Dense
from tacit_client.tables.hashed import Hashed
from tacit_client.tables.subsets import Subsets

KINDS: dict[str, type[Table]] = {kind.kind: kind for kind in (Blocks, Dense, Hashed, Subsets)}

__all__ = ["KINDS", "Blocks", "Dense", "Hashed", "Subsets", "Table", "Value", "Worst"]
