"""The kinds of channel that a device knows: integer tables with one set of questions.

Four are finite and take a category. `Binned` takes a number: it cuts the line into cells and asks one of the four.
"""

from tacit_client.tables.base import Table, Value, Worst
from tacit_client.tables.binned import FINITE, Binned
from tacit_client.tables.blocks import Blocks
from tacit_client.tables.dense import Dense
from tacit_client.tables.hashed import Hashed
from tacit_client.tables.subsets import Subsets

KINDS: dict[str, type[Table]] = {**FINITE, Binned.kind: Binned}

__all__ = ["KINDS", "Binned", "Blocks", "Dense", "Hashed", "Subsets", "Table", "Value", "Worst"]
