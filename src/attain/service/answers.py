"""What the service answers: models that take what they need from the library's results, and document the API."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from attain.results.counterfactuals import Counterfactuals
from attain.results.exports import contributions
from attain.results.options import Change, Option
from attain.service.people import as_record
from attain.service.questions import Cell
from attain.service.wording import translations

Number: TypeAlias = Annotated[float | None, BeforeValidator(lambda value: None if value != value else value)]
"""NaN is null."""
Translated: TypeAlias = Annotated[dict[str, str], Field(description="In other languages, where there are texts.")]
Record: TypeAlias = dict[str, Cell]


class Answer(BaseModel):
    """Takes its fields from attributes or a dictionary, and leaves the others."""

    model_config = ConfigDict(from_attributes=True)


class Problem(Answer):
    message: str = Field(description="What is wrong and what to do, as a sentence.")
    messages: Translated
    field: str | None = Field(description="The part of the question that is wrong.")


class ErrorAnswer(Answer):
    """Why a question is not answered."""

    error: Problem


class Health(Answer):
    status: str
    version: str


class LevelOf(Answer):
    value: Cell
    label: str | None = Field(description="What the operator or the schema calls it.")
    labels: Translated


class FeatureOf(Answer):
    name: str
    label: str
    labels: Translated
    unit: str | None
    units: Translated
    kind: str = Field(description="real, positive, count, interval, ordinal or categorical.")
    levels: list[LevelOf] | None = Field(description="In their order, for ordinal and categorical features.")
    low: Number = Field(description="The smallest possible value, or else the smallest of the training rows.")
    high: Number
    bounds: tuple[Number, Number] = Field(description="The smallest and largest possible value; null is open.")
    observed: tuple[Number, Number] | None = Field(description="The smallest and largest value of the training rows.")
    step: float | None
    immutable: bool
    direction: str = Field(description="any, increase or decrease.")
    special: list[LevelOf] = Field(description="Codes that stand for a state rather than a number.")
    missing: bool = Field(description="Whether some training rows have no value.")
    computed: bool = Field(description="Whether it is computed from other features.")
    help: str | None
    helps: Translated
    quantiles: list[float] | None = Field(description="The 0th to the 100th percentile of the training rows.")
    default: Cell = Field(description="The median, or the most frequent level.")


class RuleOf(Answer):
    text: str = Field(description="In the language of rules.")
    sentence: str = Field(description="For reading.")
    sentences: Translated


class Sentence(Answer):
    text: str
    texts: Translated


class SchemaAnswer(Answer):
    title: str
    version: str
    features: list[FeatureOf]
    timed: bool = Field(description="Whether options have a time that they take.")
    rules: list[RuleOf]
    laws: list[RuleOf]
    classes: list[LevelOf]
    target: Cell
    method: str
    methods: list[str]
    languages: list[str]
    people: int
    letters: bool
    review: bool
    limits: dict[str, float]


class PersonAnswer(Answer):
    id: str
    decision: Cell
    accepted: bool
    score: Number
    unreadable: str | None
    record: Record


class PeopleAnswer(Answer):
    total: int = Field(description="How many there are before offset and limit.")
    people: list[PersonAnswer]


class Known(Answer):
    """What is known about a record."""

    decision: Cell
    score: Number = Field(description="Larger when the record is closer to the desired decision; ≥ 0 has it.")
    probability: Number = Field(description="Of the desired class, where the model gives one.")
    verdict: str | None = Field(description="What the record is like beside people with the desired decision.")
    broken: list[RuleOf]
    percentiles: dict[str, Number]


class Prediction(Known):
    accepted: bool
    unreadable: str | None
    unreadables: Translated


class PredictAnswer(Answer):
    answers: list[Prediction]


class ChangeOf(Answer):
    feature: str
    label: str
    unit: str | None
    current: Cell
    suggested: Cell
    current_percentile: Number
    suggested_percentile: Number
    shift: Number = Field(description="In percentile points.")
    low: Cell = Field(
        description="With details: the smallest of the checked values that still hold, all others as suggested."
    )
    high: Cell
    low_percentile: Number
    high_percentile: Number
    levels: list[str] | None = Field(description="With details: other levels that do as well.")
    gain: Number = Field(description="With details: how much of the score gained is due to this change.")
    needed_for_decision: bool | None
    needed_to_stay_typical: bool | None
    needed_by_law: bool | None
    follows: bool = Field(description="Whether it follows from other changes, so that nobody carries it out.")
    clock: bool = Field(description="Whether it advances with time.")


class OptionOf(Answer):
    record: Record
    changes: list[ChangeOf]
    purpose: str = Field(description="smallest, typical or empty: what the option is for beside another one.")
    verdict: str | None
    contradiction: str = Field(description="What contradicts itself in the record, or empty.")
    contradictions: Translated
    unreviewed: tuple[str, ...] = Field(description="The changed features that nobody has reviewed.")
    total_shift: Number
    max_shift: Number
    months: float
    waits: bool
    score: Number
    sentence: str


class ContributionOf(Answer):
    feature: str
    label: str
    value: Cell
    contribution: float = Field(description="Negative where it speaks against the desired decision.")
    error: Number
    rank: int
    free: bool


class ExplainAnswer(Answer):
    seconds: float = Field(description="How long the search took.")
    decision: Cell
    status: str
    reason: str
    reasons: Translated
    method: str
    target: Cell
    score: Number
    options: list[OptionOf]
    contributions: list[ContributionOf] | None
    scale: str | None = Field(description="The scale of the contributions.")
    notes: list[Sentence]
    result: str | None = Field(description="With full: the text that `Counterfactuals.to_json` gives.")


class EvaluateAnswer(Known):
    record: Record = Field(description="The edited record, with what is computed from other features.")
    flips: bool
    changed: list[str]
    total_shift: Number
    max_shift: Number
    months: float
    allowed: bool = Field(description="Whether every rule, law and limit on what may change is kept.")
    violated: list[str] = Field(description="Which kinds of limits are not kept, such as immutable.")


class MethodAnswer(Answer):
    method: str
    error: str | None = Field(description="Why the method has no answer.")
    errors: Translated
    answer: ExplainAnswer | None


class CompareAnswer(Answer):
    methods: list[MethodAnswer]


class ChoiceOf(Answer):
    key: str
    columns: tuple[str, ...] = Field(description="The columns of the question that it may be about.")
    text: str
    texts: Translated
    asks: str | None = Field(description="months: send them, too; parts: the columns are asked about each.")


class QuestionOf(Answer):
    id: str
    columns: tuple[str, ...]
    topic: str
    evidence: str
    choices: tuple[ChoiceOf, ...]


class AskedOf(Answer):
    question: QuestionOf
    answers: int = Field(description="How many of the present answers change one of its columns.")
    example: str


class DecisionOf(Answer):
    columns: tuple[str, ...]
    text: str
    by: str
    reviewed: str = Field(description="Who decided on the columns and when, as the schema has it.")
    found: int
    unreviewed: float


class LeverOf(Answer):
    """A feature that answers change."""

    feature: str
    answers: int
    up: int
    down: int
    reviewed: bool
    example: str


class OutlookAnswer(Answer):
    people: int
    found: int = Field(description="How many of them have an answer.")
    total_shift: Number = Field(description="How far it moves them, on average, in percentile points.")
    lost: int = Field(description="How many have an answer now, and would have none.")
    others: int = Field(description="How many would be told something else.")
    example: str | None = Field(description="What one of these would be told.")


class ReviewAnswer(Answer):
    people: int
    found: int
    total_shift: Number
    unreviewed: float = Field(description="The share of answers that change a feature nobody has reviewed.")
    done: bool
    questions: list[AskedOf] = Field(description="In the order to ask.")
    decisions: list[DecisionOf]
    levers: list[LeverOf]
    to_do: tuple[str, ...] = Field(description="What must be done to the table, in sentences.")


def as_answer(result: Counterfactuals, decision: Any, seconds: float, *, full: bool) -> ExplainAnswer:
    """The first person of a result: how the search ended, and the options."""
    found = result.attributions
    return ExplainAnswer(
        seconds=round(seconds, 3),
        decision=decision,
        status=result.statuses[0].name,
        reason=result.reason(0),
        reasons=translations(result.reason(0)),
        method=result.method,
        target=result.target,
        score=result.person_figures["score_before"][0],
        options=[_option(result, option) for option in result.options_of(0)],
        contributions=None if found is None else [ContributionOf(**entry) for entry in contributions(result)],
        scale=None if found is None else found.scale,
        notes=[Sentence(text=note, texts=translations(note)) for note in result.notes],
        result=result.to_json() if full else None,
    )


def _option(result: Counterfactuals, option: Option) -> OptionOf:
    own = {
        "record": as_record(result.table, result.rows[option.place]),
        "changes": [_change(change) for change in option.changes],
        "contradictions": translations(option.contradiction),
    }
    return OptionOf(**option.as_json() | own)


def _change(change: Change) -> ChangeOf:
    follows = {"clock": change.follows == "time", "follows": change.follows == "law"}
    return ChangeOf(**change.as_json() | follows)


def written_file(write: Callable[[str], None], name: str) -> bytes:
    """What a function writes into a file."""
    with TemporaryDirectory(prefix="attain-") as folder:
        path = Path(folder) / name
        write(str(path))
        return path.read_bytes()
