"""Policies: which channel to ask next, given what is known.

>>> best_subset([0.7, 0.1, 0.1, 0.1], epsilon=1.0, kappa=0.9, name="honest")
array([0])
"""

from tacit.policies.adaptive import Policy, policy
from tacit.policies.intervals import best_graded, best_interval
from tacit.policies.optimal import optimal_matrix
from tacit.policies.utilities import best_subset, utility_curve

__all__ = [
    "Policy",
    "best_graded",
    "best_interval",
    "best_subset",
    "optimal_matrix",
    "policy",
    "utility_curve",
]
