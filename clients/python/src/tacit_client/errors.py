"""The one error family of tacit.

Every refusal, on a device or on a server, is a `TacitError`: a stable `code` for programs, a sentence for
the person at the keyboard, the name of the argument that was wrong, and a hint that says what to do.

>>> raise TacitError("argument_invalid", "k is 1", argument="k", hint="use two categories or more")
Traceback (most recent call last):
...
tacit_client.errors.TacitError: k is 1 [k]: use two categories or more
"""

from __future__ import annotations

CODES = {
    "argument_invalid": "An argument has the wrong type, shape or range.",
    "answer_unknown": "The answer is none of the question's labels, or no number of its scale.",
    "report_impossible": "The channel cannot produce this report.",
    "table_unreadable": "A table of reports cannot be read, is empty, or lacks a column.",
    "too_many_reports": "A channel has too many reports to list them all.",
    "message_too_large": "A message is longer than 1 MiB; it was not parsed.",
    "message_malformed": "A message is not UTF-8 JSON made of objects, lists and strings.",
    "message_not_canonical": "A message is not in its canonical form, byte for byte.",
    "version_unknown": "A message or a store comes from another version of the format.",
    "field_missing": "A message lacks a field.",
    "field_unknown": "A message has a field that its version does not define.",
    "field_invalid": "A field of a message has the wrong type, form or range.",
    "channel_weights": "The weights of a channel do not form a randomiser.",
    "channel_infinite_loss": "A report is possible under some answers only: the loss is infinite.",
    "channel_leaks": "A channel leaks more than it states.",
    "channel_mismatch": "A channel does not fit the question it is sent with.",
    "loss_above_cap": "A channel leaks more than this device gives to one study.",
    "budget_exhausted": "Nothing is left in a ledger: that of a device for life, or of a private sketch.",
    "store_unusable": "A store cannot be read or written: a device's, and nothing was sent, or a collector's.",
    "receipt_mismatch": "A receipt is not for the report that was sent.",
    "posterior_lost": "No value of the model can explain the reports.",
    "study_unknown": "The collector has no study of this name.",
    "poll_unknown": "The collector has no poll of this name.",
    "name_taken": "There is a study or a poll of this name already.",
    "study_closed": "The study takes no reports: it is a draft, or closed.",
    "round_unknown": "The round is not in the study's chain.",
    "round_archived": "The round takes no more reports: those it got are in the archive and cannot be compared.",
    "report_conflict": "A report with this id and another content is held already.",
    "report_erased": "The report with this id was erased, for good.",
    "invite_required": "The study takes reports with one of its invite tokens only.",
    "invite_used": "The invite token was used for another report.",
    "archive_unusable": "A collector's archive cannot be read or written, or it belongs to another collector.",
    "archive_damaged": "A file of a collector's archive is missing, or is not what was written.",
    "route_unknown": "The collector has no such path.",
    "method_unknown": "This path of a collector does not take this method.",
    "media_type_unknown": "The body of a request is of another type than the route reads.",
    "estimate_unknown": "The study has no estimate yet.",
    "key_wrong": "The administrator's key is missing or wrong.",
    "rate_limited": "The client asked too often.",
    "server_busy": "The collector has no room for more connections, listeners or exports just now.",
    "server_failed": "The collector failed; its operator finds where in its log.",
    "server_unreachable": "No collector answered, or what answered does not speak its protocol.",
    "server_refused": "The collector refused for a reason that this release does not know.",
    "rounds_part": "The rounds of a study do not form one chain, or not the same for everybody.",
    "sketch_mismatch": "A sketch does not fit the one it is merged into, or the reader it is given to.",
    "dependency_missing": "An optional package is not installed.",
}


class TacitError(ValueError):
    """A refusal: `code` for programs, `argument` for the caller, `hint` for the reader."""

    def __init__(self, code: str, message: str, *, hint: str, argument: str | None = None) -> None:
        if code not in CODES:
            raise KeyError(code)
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.argument = argument

    def __str__(self) -> str:
        where = f" [{self.argument}]" if self.argument else ""
        return f"{self.message}{where}: {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.message, self.hint, self.argument)


class Refused(TacitError):
    """A server's last word: sending the same again would get the same answer."""


def _rebuild(kind: type[TacitError], code: str, message: str, hint: str, argument: str | None) -> TacitError:
    return kind(code, message, hint=hint, argument=argument)
