"""The JSON that administrators send, as pydantic checks and OpenAPI shows it; `settings` has the last word."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tacit.collector.settings import MAX_ORIGINS, MAX_STUDIES, MAX_TITLE
from tacit_client.check import MAX_CATEGORIES, MAX_DECIMAL, MAX_EPSILON
from tacit_client.messages import MAX_LABEL, MAX_TEXT

MAX_INVITES = 10_000
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", examples=["office-2026"])]
Prose = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
Decimal = Annotated[str, Field(min_length=1, max_length=MAX_DECIMAL)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class QuestionBody(_Strict):
    """Labels, or a number with unit, lowest, highest and step."""

    id: Name | None = None
    text: Prose
    labels: Annotated[list[Label], Field(min_length=2, max_length=MAX_CATEGORIES)] | None = None
    unit: Label | None = None
    lowest: Decimal | None = None
    highest: Decimal | None = None
    step: Decimal | None = None


class StudyBody(_Strict):
    """The settings of a study; what is left out has its default."""

    name: Name
    question: QuestionBody
    epsilon: (
        Annotated[str, Field(min_length=1, max_length=128, examples=["1"])]
        | Annotated[float, Field(gt=0, le=MAX_EPSILON, allow_inf_nan=False)]
        | Annotated[int, Field(gt=0, le=MAX_EPSILON)]
    )
    policy: Annotated[str, Field(max_length=64)] | None = None
    model: Annotated[str, Field(max_length=64)] | None = None
    expected: Annotated[int, Field(ge=1, le=10**12)] = 10_000
    access: Literal["open", "invite"] = "open"
    results: Literal["public", "key"] = "public"
    listed: bool = True
    origins: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=MAX_ORIGINS)] = []
    state: Literal["draft", "open"] = "open"
    retention_days: Annotated[int, Field(ge=0, le=36_500)] | None = None


class PollBody(_Strict):
    """A poll: a name, a title, and studies that are there."""

    name: Name
    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE)]
    studies: Annotated[list[Name], Field(min_length=1, max_length=MAX_STUDIES)]


class InvitesBody(_Strict):
    """How many invites."""

    count: Annotated[int, Field(ge=1, le=MAX_INVITES)]
