"""tacit learns what a population thinks without learning what anyone said."""

from tacit import channels, models, poisoning, policies, posterior
from tacit.errors import TacitError
from tacit.evidence import Evidence, Moments
from tacit.models import Categorical, Laplace, LocationScale, Logistic, Normal, StudentT
from tacit.number_plan import NumberPlan, plan_number
from tacit.planning import Plan, plan
from tacit.simulation import NumberSimulation, Simulation, simulate
from tacit.study import Study

__version__ = "0.1.0"

__all__ = [
    "Categorical",
    "Evidence",
    "Laplace",
    "LocationScale",
    "Logistic",
    "Moments",
    "Normal",
    "NumberPlan",
    "NumberSimulation",
    "Plan",
    "Simulation",
    "StudentT",
    "Study",
    "TacitError",
    "channels",
    "models",
    "plan",
    "plan_number",
    "poisoning",
    "policies",
    "posterior",
    "simulate",
]
