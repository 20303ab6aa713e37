"""Models: what is being learned, its prior, and the law of an answer."""

from tacit.models.categorical import Categorical

__all__ = ["Categorical"]
