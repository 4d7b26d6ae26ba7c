"""The answers of the service, as its API documents them: dataclasses of the library, and what the service adds.

Answers are sent as dictionaries with these entries. Numbers that are not known are null.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

from typing_extensions import TypedDict

from attain.answers.recheck import Assessed, Compared
from attain.desk.service.people import as_record
from attain.desk.service.questions import Cell
from attain.desk.service.wording import translations
from attain.results.counterfactuals import Counterfactuals
from attain.results.exports import contributions
from attain.results.options import Change, Option

Translated: TypeAlias = dict[str, str]
"""The same text in other languages, where there is one."""
Record: TypeAlias = dict[str, Cell]
Number: TypeAlias = float | None


class ErrorBody(TypedDict):
    """What is wrong and what to do, as a sentence, and which part of the question is wrong."""

    message: str
    messages: Translated
    field: str | None


class ErrorAnswer(TypedDict):
    """Why a question is not answered."""

    error: ErrorBody


class Level(TypedDict):
    """A level, special code or class, and what the operator or the schema calls it."""

    value: Cell
    label: str | None
    labels: Translated


class FeatureAnswer(TypedDict):
    """A feature, for forms and sliders.

    Attributes
    ----------
    kind
        real, positive, count, interval, ordinal or categorical.
    levels
        In their order, for ordinal and categorical features.
    low, high
        The smallest and the largest possible value, or else those of the training rows.
    bounds, observed
        The smallest and largest possible value, where null is open, and those of the training rows.
    direction
        any, increase or decrease.
    special
        Codes that stand for a state rather than a number.
    missing, computed
        Whether some training rows have no value, and whether it is computed from other features.
    quantiles
        The 0th to the 100th percentile of the training rows.
    default
        The median, or the most frequent level.
    """

    name: str
    label: str
    labels: Translated
    unit: str | None
    units: Translated
    kind: str
    levels: list[Level] | None
    low: Number
    high: Number
    bounds: tuple[Number, Number]
    observed: tuple[Number, Number] | None
    step: float | None
    immutable: bool
    direction: str
    special: list[Level]
    missing: bool
    computed: bool
    help: str | None
    helps: Translated
    quantiles: list[float] | None
    default: Cell


class RuleAnswer(TypedDict):
    """A rule or law in the language of rules, and as a sentence."""

    text: str
    sentence: str
    sentences: Translated


class Note(TypedDict):
    text: str
    texts: Translated


class SchemaAnswer(TypedDict):
    """What can be asked about; `timed` is whether options take time."""

    title: str
    version: str
    features: list[FeatureAnswer]
    timed: bool
    rules: list[RuleAnswer]
    laws: list[RuleAnswer]
    classes: list[Level]
    target: Cell
    method: str
    methods: list[str]
    languages: list[str]
    people: int
    letters: bool
    review: bool
    limits: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class PersonAnswer(Assessed):
    """One of the people, with everything known about them except the verdict."""

    id: str
    record: Record


class PeopleAnswer(TypedDict):
    """Some of the people; `total` says how many there are before offset and limit."""

    total: int
    people: list[PersonAnswer]


@dataclass(frozen=True, kw_only=True)
class Prediction(Assessed):
    __doc__ = Assessed.__doc__
    broken: list[RuleAnswer]  # type: ignore[assignment]
    unreadables: Translated


class PredictAnswer(TypedDict):
    answers: list[Prediction]


@dataclass(frozen=True, kw_only=True)
class EvaluateAnswer(Compared, Prediction):
    """An edited record with computed features, what is known about it, and how it differs from the original."""

    record: Record


@dataclass(frozen=True, kw_only=True)
class ChangeAnswer(Change):
    __doc__ = Change.__doc__
    feature: str  # type: ignore[assignment]
    label: str
    unit: str | None
    reviewed: bool = field()


@dataclass(frozen=True, kw_only=True)
class OptionAnswer(Option):
    __doc__ = Option.__doc__
    changes: list[ChangeAnswer]  # type: ignore[assignment]
    sentence: str = field()
    record: Record
    contradictions: Translated


class Contribution(TypedDict):
    """What an input contributes to the score; negative where it speaks against the desired decision."""

    feature: str
    label: str
    value: Cell
    contribution: float
    error: Number
    rank: int
    free: bool


class ExplainAnswer(TypedDict):
    """How the search ended, and the options.

    Attributes
    ----------
    seconds
        How long the search took.
    scale
        The scale of the contributions.
    result
        With `full`: the text that `Counterfactuals.to_json` gives.
    """

    seconds: float
    decision: Cell
    status: str
    reason: str
    reasons: Translated
    method: str
    target: Cell
    score: Number
    options: list[OptionAnswer]
    contributions: list[Contribution] | None
    scale: str | None
    notes: list[Note]
    result: str | None


class MethodAnswer(TypedDict):
    """The answer of a method, or why it has none."""

    method: str
    error: str | None
    errors: Translated
    answer: ExplainAnswer | None


class CompareAnswer(TypedDict):
    methods: list[MethodAnswer]


class ChoiceAnswer(TypedDict):
    """A choice, and the columns of the question that it may be about.

    It `asks` for months, which are sent, too, or for parts: the columns are asked about one by one.
    """

    key: str
    columns: list[str]
    text: str
    texts: Translated
    asks: Literal["months", "parts"] | None


class QuestionAnswer(TypedDict):
    id: str
    columns: list[str]
    topic: str
    evidence: str
    choices: list[ChoiceAnswer]


class AskedAnswer(TypedDict):
    """A question, and how many of the present answers change one of its columns."""

    question: QuestionAnswer
    answers: int
    example: str


class Decision(TypedDict):
    """A decision on columns; `reviewed` says who decided and when, as the schema has it."""

    columns: list[str]
    text: str
    by: str
    reviewed: str
    found: int
    unreviewed: float


class Lever(TypedDict):
    """A feature that answers change."""

    feature: str
    answers: int
    up: int
    down: int
    reviewed: bool
    example: str


class Figures(TypedDict):
    """How many people have an answer, and how far it moves them on average, in percentile points."""

    people: int
    found: int
    total_shift: Number


class OutlookAnswer(Figures):
    """How many would lose their answer, how many would get another one, and an example of these."""

    lost: int
    others: int
    example: str | None


class ReviewAnswer(Figures):
    """The questions in the order to ask, the decisions, and what must be done to the table.

    `unreviewed` is the share of answers that change a feature nobody has reviewed.
    """

    unreviewed: float
    done: bool
    questions: list[AskedAnswer]
    decisions: list[Decision]
    levers: list[Lever]
    to_do: list[str]


def as_answer(result: Counterfactuals, decision: Any, seconds: float, *, full: bool) -> dict[str, Any]:
    """The first person of a result: how the search ended, and the options."""
    found = result.attributions
    return {
        "seconds": round(seconds, 3),
        "decision": decision,
        "status": result.statuses[0].name,
        "reason": result.reason(0),
        "reasons": translations(result.reason(0)),
        "method": result.method,
        "target": result.target,
        "score": result.person_figures["score_before"][0],
        "options": [_option(result, option) for option in result.options_of(0)],
        "contributions": None if found is None else list(contributions(result)),
        "scale": None if found is None else found.scale,
        "notes": [{"text": note, "texts": translations(note)} for note in result.notes],
        "result": result.to_json() if full else None,
    }


def _option(result: Counterfactuals, option: Option) -> dict[str, Any]:
    record = as_record(result.table, result.rows[option.place])
    return option.as_json() | {"record": record, "contradictions": translations(option.contradiction)}


def written_file(write: Callable[[str], None], name: str) -> bytes:
    """The bytes that a function writes into a file."""
    with TemporaryDirectory(prefix="attain-") as folder:
        path = Path(folder) / name
        write(str(path))
        return path.read_bytes()
