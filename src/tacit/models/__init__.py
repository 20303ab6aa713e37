"""Models: what is being learned, its prior, and the law of an answer."""

from tacit.models.categorical import Categorical
from tacit.models.cells import CellTable
from tacit.models.clipped import ClippedTable
from tacit.models.families import Family, family
from tacit.models.information import clipped_information, finite_information
from tacit.models.location_scale import Laplace, LocationScale, Logistic, Normal, StudentT

__all__ = [
    "Categorical",
    "CellTable",
    "ClippedTable",
    "Family",
    "Laplace",
    "LocationScale",
    "Logistic",
    "Normal",
    "StudentT",
    "clipped_information",
    "family",
    "finite_information",
]
