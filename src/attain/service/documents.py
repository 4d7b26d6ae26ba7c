"""What the service answers, as the models of the API's documentation."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from attain.service.jobs import State
from attain.service.questions import Cell


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


Translated: TypeAlias = Annotated[dict[str, str], Field(description="In other languages, where there are texts.")]


class Problem(_Answer):
    message: str = Field(description="What is wrong and what to do, as a sentence.")
    messages: Translated
    field: str | None = Field(description="The part of the question that is wrong.")


class ErrorAnswer(_Answer):
    """Why a question is not answered."""

    error: Problem


class Health(_Answer):
    status: str
    version: str


class LevelOf(_Answer):
    value: Cell
    label: str
    labels: Translated


class ClassOf(_Answer):
    value: Cell
    label: str | None = Field(description="What the operator calls it.")
    labels: Translated


class SpecialCode(_Answer):
    code: float
    meaning: str
    meanings: Translated


class FeatureOf(_Answer):
    name: str
    label: str
    labels: Translated
    unit: str | None
    units: Translated
    kind: str = Field(description="real, positive, count, interval, ordinal or categorical.")
    levels: list[LevelOf] | None = Field(description="In their order, for ordinal and categorical features.")
    low: float | None = Field(description="The smallest possible value, or else the smallest of the training rows.")
    high: float | None
    bounds: list[float | None] = Field(description="The smallest and largest possible value; null is open.")
    observed: list[float | None] | None = Field(description="The smallest and largest value of the training rows.")
    step: float | None
    immutable: bool
    direction: str = Field(description="any, increase or decrease.")
    special: list[SpecialCode] = Field(description="Codes that stand for a state rather than a number.")
    missing: bool = Field(description="Whether some training rows have no value.")
    computed: bool = Field(description="Whether it is computed from other features.")
    help: str | None
    helps: Translated
    quantiles: list[float] | None = Field(description="The 0th to the 100th percentile of the training rows.")
    default: Cell = Field(description="The median, or the most frequent level.")


class RuleOf(_Answer):
    text: str = Field(description="In the language of rules.")
    sentence: str = Field(description="For reading.")
    sentences: Translated


class Sentence(_Answer):
    text: str
    texts: Translated


class SchemaAnswer(_Answer):
    title: str
    version: str
    features: list[FeatureOf]
    timed: bool = Field(description="Whether options have a time that they take.")
    rules: list[RuleOf]
    laws: list[RuleOf]
    classes: list[ClassOf]
    target: Cell
    method: str
    methods: list[str]
    languages: list[str]
    people: int
    map: bool
    letters: bool
    limits: dict[str, float]


class PersonAnswer(_Answer):
    id: str
    decision: Cell
    accepted: bool
    score: float | None
    unreadable: str | None
    record: dict[str, Cell]


class PeopleAnswer(_Answer):
    total: int = Field(description="How many there are before offset and limit.")
    people: list[PersonAnswer]


class Prediction(_Answer):
    decision: Cell
    accepted: bool
    score: float | None = Field(description="Larger when the record is closer to the desired decision; ≥ 0 has it.")
    probability: float | None = Field(description="Of the desired class, where the model gives one.")
    level: str | None = Field(description="How typical the record is of people with the desired decision.")
    broken: list[RuleOf]
    percentiles: dict[str, float | None]
    unreadable: str | None
    unreadables: Translated


class PredictAnswer(_Answer):
    answers: list[Prediction]


class ChangeOf(_Answer):
    feature: str
    label: str
    unit: str | None
    current: Cell
    suggested: Cell
    current_percentile: float | None
    suggested_percentile: float | None
    shift: float | None = Field(description="In percentile points.")
    low: Cell = Field(
        description="With details: the smallest of the checked values that still hold, all others as suggested."
    )
    high: Cell
    low_percentile: float | None
    high_percentile: float | None
    levels: list[str] | None = Field(description="With details: other levels that do as well.")
    gain: float | None = Field(description="With details: how much of the score gained is due to this change.")
    needed_for_decision: bool | None
    needed_to_stay_typical: bool | None
    needed_by_law: bool | None
    follows: bool = Field(description="Whether it follows from other changes, so that nobody carries it out.")
    clock: bool = Field(description="Whether it advances with time.")


class OptionOf(_Answer):
    record: dict[str, Cell]
    changes: list[ChangeOf]
    level: str | None
    connected: bool | None
    outlier: bool | None
    total_shift: float | None
    max_shift: float | None
    months: float
    waits: bool
    score: float | None
    sentence: str
    easiest: bool = Field(description="Whether no other option has a smaller total shift.")


class ContributionOf(_Answer):
    feature: str
    label: str
    value: Cell
    contribution: float = Field(description="Negative where it speaks against the desired decision.")
    error: float | None
    rank: int
    free: bool


class ExplainAnswer(_Answer):
    cached: bool
    seconds: float = Field(description="How long the search took.")
    decision: Cell
    status: str
    reason: str
    reasons: Translated
    method: str
    target: Cell
    score: float | None
    options: list[OptionOf]
    contributions: list[ContributionOf] | None
    scale: str | None = Field(description="The scale of the contributions.")
    notes: list[Sentence]
    result: str | None = Field(description="With full: the text that `Counterfactuals.to_json` gives.")


class EvaluateAnswer(_Answer):
    record: dict[str, Cell] = Field(description="The edited record, with what is computed from other features.")
    decision: Cell
    flips: bool
    score: float | None
    probability: float | None
    level: str | None
    outlier: bool | None
    connected: bool | None
    changed: list[str]
    total_shift: float | None
    max_shift: float | None
    months: float
    allowed: bool = Field(description="Whether every rule, law and limit on what may change is kept.")
    violated: list[str] = Field(description="Which kinds of limits are not kept, such as immutable.")
    broken: list[RuleOf]
    percentiles: dict[str, float | None]


class Regions(_Answer):
    x: list[float]
    y: list[float]
    share: list[list[float | None]] = Field(description="One row for each y; null where nobody is near.")


class MapAnswer(_Answer):
    population: list[tuple[float, float, bool]]
    regions: Regions
    person: tuple[float, float]
    options: list[tuple[float, float]]
    axes: list[str]
    note: str


class MethodAnswer(_Answer):
    method: str
    error: str | None = Field(description="Why the method has no answer.")
    errors: Translated
    answer: ExplainAnswer | None


class CompareAnswer(_Answer):
    methods: list[MethodAnswer]


class JobStarted(_Answer):
    id: str


class JobAnswer(_Answer):
    id: str
    state: State
    done: int
    total: int
    found: int
    seconds: float
    message: str | None
    messages: Translated


def answered(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """The documentation of an answer of JSON."""
    return {200: {"model": model, "description": "The answer."}}


def sent(kind: str, description: str) -> dict[int | str, dict[str, Any]]:
    """The documentation of an answer that is a file."""
    return {200: {"content": {kind: {}}, "description": description}}


REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorAnswer, "description": "The token is missing or wrong."},
    403: {"model": ErrorAnswer, "description": "The Host or Origin is foreign."},
    404: {"model": ErrorAnswer, "description": "There is no such thing."},
    413: {"model": ErrorAnswer, "description": "The question or the file is too large."},
    422: {"model": ErrorAnswer, "description": "The question is wrong; the message says how."},
    429: {"model": ErrorAnswer, "description": "Too many questions, or one that takes long; see Retry-After."},
}
