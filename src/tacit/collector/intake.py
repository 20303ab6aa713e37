"""A report on its way in: read strictly, and what became of it.

A canonical Report has fixed fields that need no escapes, so one regular expression accepts exactly the reports that
`tacit_client.Report.from_json` accepts, at a tenth of its cost; whatever it does not match goes there to be refused.
The value is kept as its integers in decimal, joined by commas.

>>> from tacit_client import Report
>>> report = Report("00112233445566778899aabbccddeeff", "office-2026", "0" * 64, (0, 3))
>>> read_submission(report.to_json().encode(), "office-2026").value
'0,3'
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tacit.errors import TacitError
from tacit_client import Report
from tacit_client.messages import MAX_REPORT

_NUMBER = rb"(?:0|[1-9][0-9]{0,9})"
_CANONICAL = re.compile(
    rb'\{"id":"([0-9a-f]{32})","round":"([0-9a-f]{64})","study":"([A-Za-z0-9][A-Za-z0-9._-]{0,63})","type":"report",'
    rb'"value":(?:"(' + _NUMBER + rb')"|\["(' + _NUMBER + rb'(?:","' + _NUMBER + rb')*)"\]),"version":"1"\}\Z'
)
_LONG = re.compile(rb"[0-9]{10}")


class Submission(NamedTuple):
    """A report for a study, and the SHA-256 of the invite token that came with it, if any."""

    study: str
    id: bytes  # 16 bytes
    round: str  # the id of the round, in hexadecimal
    value: str
    listed: bool = False  # whether the value is a list: a list of one integer is not that integer
    token: bytes | None = None  # 32 bytes


class Outcome(NamedTuple):
    """What became of a submission: `code` is None if the store holds the report now, `new` if it did not before.

    Else `code` is one of study_unknown, study_closed, round_unknown, report_impossible, report_conflict,
    report_erased, invite_required and invite_used. `head` is the id of the study's newest round, for the receipt.
    """

    code: str | None
    new: bool = False
    head: str = ""


def read_submission(data: bytes, study: str, token: bytes | None = None) -> Submission:
    """The report in the bytes of a canonical message that was sent to `study`; refused if it names another study."""
    match = _CANONICAL.match(data)
    if match is not None:
        id_, round_, name, single, several = match.groups()
        value = single or several.replace(b'","', b",")
        # Only numbers of ten digits can be too large; the slow way explains.
        long = _LONG.findall(value) if len(value) >= 10 else ()
        if name == study.encode() and (not long or max(map(int, long)) <= MAX_REPORT):
            return Submission(
                study, bytes.fromhex(id_.decode()), round_.decode(), value.decode(), single is None, token
            )
    report = Report.from_json(data)
    if report.study != study:
        raise TacitError(
            "field_invalid",
            "the report names another study",
            argument="study",
            hint="send each report to the study that it names",
        )
    # Here come reports of no integer at all, which are canonical and no channel makes.
    return Submission(study, bytes.fromhex(report.id), report.round, "", True, token)
