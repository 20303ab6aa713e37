"""tacit learns what a population thinks without learning what anyone said."""

from tacit import channels
from tacit.errors import TacitError
from tacit.evidence import Evidence, Moments

__version__ = "0.1.0"

__all__ = ["Evidence", "Moments", "TacitError", "channels"]
