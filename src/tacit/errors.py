"""The error family of tacit, which is the one of the device: see `tacit_client.errors`."""

from tacit_client.errors import CODES, TacitError

__all__ = ["CODES", "TacitError"]
