"""tacit learns what a population thinks without learning what anyone said."""

from tacit import channels, policies, posterior
from tacit.errors import TacitError
from tacit.evidence import Evidence, Moments
from tacit.models import Categorical
from tacit.planning import Plan, plan
from tacit.simulation import Simulation, simulate
from tacit.study import Study

__version__ = "0.1.0"

__all__ = [
    "Categorical",
    "Evidence",
    "Moments",
    "Plan",
    "Simulation",
    "Study",
    "TacitError",
    "channels",
    "plan",
    "policies",
    "posterior",
    "simulate",
]
