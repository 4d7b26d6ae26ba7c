"""The questions of clients, as the API validates and documents them."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from attain.schema import Constraints, Schema

MOST_OPTIONS = 5
MARK = "x-record"
"""Where a record is expected, in the schema of a question."""

Cell: TypeAlias = StrictBool | StrictInt | StrictFloat | StrictStr | None
Cells: TypeAlias = Annotated[
    dict[str, Cell],
    Field(max_length=10_000, json_schema_extra={MARK: True}),
]
Answers: TypeAlias = Annotated[list[Cells], Field(min_length=1, max_length=MOST_OPTIONS)]
Name: TypeAlias = Annotated[str, Field(max_length=1_000)]
Person: TypeAlias = Annotated[str | int | None, Field(description="The id of one of `/people`.")]
Ease: TypeAlias = Literal["very easy", "easy", "medium", "hard", "very hard", "impossible"]

WEIGHTS: dict[Ease, float] = {"very easy": 0.25, "easy": 0.5, "medium": 1.0, "hard": 2.0, "very hard": 4.0}
"""Factors for the cost of a change; an impossible change is locked."""


class _Question(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Subject(_Question):
    """Whom a question is about: a record, or one of `/people`."""

    record: Cells | None = None
    person: Person = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.record is None) == (self.person is None):
            raise ValueError("send either a record or a person")
        return self


class Wishes(Subject):
    """Whom a question is about, and what may change."""

    locked: list[Name] = Field(default_factory=list, description="Features that may not change.", max_length=10_000)
    ranges: dict[Name, tuple[Cell, Cell]] = Field(
        default_factory=dict,
        description="The smallest and the largest value of a number or an ordered level; null is open.",
    )
    directions: dict[Name, Literal["any", "increase", "decrease"]] = Field(
        default_factory=dict, description="Which way a feature may move."
    )
    difficulty: dict[Name, Ease] = Field(
        default_factory=dict,
        description="How hard a change is: its cost is weighted by ¼, ½, 1, 2 or 4; an impossible change is locked.",
    )
    max_changes: int | None = Field(
        default=None, ge=1, le=10_000, description="The largest number of features that change."
    )
    max_months: int | None = Field(default=None, ge=0, le=1_200, description="The longest that an option may take.")

    def constraints(self, schema: Schema) -> Constraints:
        """The constraints for `explain`."""
        impossible = [name for name, ease in self.difficulty.items() if ease == "impossible"]
        return Constraints(
            immutable=tuple(dict.fromkeys((*self.locked, *impossible))),
            direction={name: way for name, way in self.directions.items() if way != "any"},
            bounds={name: tuple(limits) for name, limits in self.ranges.items()},  # type: ignore[misc]
            cost={
                name: WEIGHTS[ease] * (schema[name].cost if name in schema else 1.0)
                for name, ease in self.difficulty.items()
                if ease != "impossible"
            },
            max_changes=self.max_changes,
            max_months=self.max_months,
        )


class Explain(Wishes):
    """What would change the decision."""

    n: int = Field(default=3, ge=1, le=MOST_OPTIONS, description="How many options.")
    method: Name | None = Field(default=None, description="A method of `/schema`; null is the one that was fitted.")
    probability: float | None = Field(
        default=None, gt=0, le=1, description="Ask for at least this probability of the desired class."
    )
    details: bool = Field(
        default=True, description="Whether the range that still holds and the importance of each change are found, too."
    )
    contributions: bool = Field(default=False, description="Whether it is found why the decision was made.")
    answers: Answers | None = Field(
        default=None,
        description="Options that were found before: they are checked and described, and none is searched.",
    )
    full: bool = Field(default=False, description="Whether the library's own JSON comes too, as a text.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"person": "17", "n": 3, "locked": ["housing"], "difficulty": {"savings": "hard"}, "max_changes": 2}
            ]
        }
    )


class Predict(_Question):
    """What the model decides about records; computed features follow where the records were `edited_from` another."""

    record: Cells | None = None
    records: Annotated[list[Cells], Field(min_length=1, max_length=100_000)] | None = None
    person: Person = None
    edited_from: Cells | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if [self.record, self.records, self.person].count(None) != 2:
            raise ValueError("send either a record, records or a person")
        return self


class Evaluate(Wishes):
    """Compares an edited record with the original one."""

    answer: Cells


class Compare(Wishes):
    """The options of several methods."""

    methods: list[Name] = Field(min_length=1, max_length=20)
    n: int = Field(default=1, ge=1, le=MOST_OPTIONS)


class Outlook(_Question):
    """A choice of the review."""

    id: Name = Field(description="The question.")
    key: Annotated[str, Field(max_length=10)]
    months: float | None = Field(default=None, gt=0, le=1_200, description="For a choice that asks for months.")
    columns: list[Name] | None = Field(default=None, max_length=10_000, description="Only these of the question.")


class Decide(Outlook):
    """A decision of the review."""

    by: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="Who decides.")


class Write(Wishes):
    """A letter or a report."""

    language: Literal["en", "de"] = "en"
    options: int = Field(default=3, ge=1, le=MOST_OPTIONS, description="The most options.")
    answers: Answers | None = Field(default=None, description="The options to write about; null searches for some.")
    probability: float | None = Field(default=None, gt=0, le=1)
