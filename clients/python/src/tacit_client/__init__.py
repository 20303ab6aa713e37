"""tacit_client: the device's side of tacit, in the standard library alone.

It owns the exact part: integer tables of channels, their certificate, the canonical messages, the
randomisation of a real answer, and the ledger.
"""

from tacit_client import build, witness
from tacit_client.certificate import Certificate, certify
from tacit_client.channel import channel_id, channel_text, parse_channel
from tacit_client.device import Device
from tacit_client.errors import Refused, TacitError
from tacit_client.messages import Question, Receipt, Report, Round, value_from_text, value_to_text
from tacit_client.outbox import Delivery, confirm, flush
from tacit_client.store import Store

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "Delivery",
    "Device",
    "Question",
    "Receipt",
    "Refused",
    "Report",
    "Round",
    "Store",
    "TacitError",
    "build",
    "certify",
    "channel_id",
    "channel_text",
    "confirm",
    "flush",
    "parse_channel",
    "value_from_text",
    "value_to_text",
    "witness",
]
