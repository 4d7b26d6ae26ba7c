"""`Goal`: a model asked for a target class, or for at least a probability of it; `JointGoal`: several that agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property, reduce
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from attain.core.arrays import as_python
from attain.core.errors import ModelError, check_number, listed
from attain.engine.score import LeastScore, Score
from attain.models.adapter import AnswerKind, Answers, Label, decision, lead, winning_lead
from attain.models.model import Model
from attain.models.reader import LearningLimit, Reader

if TYPE_CHECKING:
    from attain.models.compiled import CompiledScore
    from attain.tables import Layout


T = TypeVar("T")

REPEATABLE = 1e-6
"""How far two answers about one row may differ, relative to their size: more than rounding, less than a decision."""


class StructureError(ModelError):
    """The model does not have the structure that was asked for; the message says what is in the way."""


class Judgement(NamedTuple):
    """One entry per row.

    Attributes
    ----------
    met
        Whether the goal is met.
    score
        Larger when the row is closer to the goal.
    asked
        How many questions about the row were asked: one for each model, or two where both its score and its decision
        are needed. What was asked again after an error does not count here, but in `Goal.rows_charged`.
    failures
        The rows that the model fails on, by position, each with a sentence that says how. They do not meet the goal.
    """

    met: np.ndarray
    score: np.ndarray
    asked: np.ndarray
    failures: Mapping[int, str] = MappingProxyType({})


class Control(NamedTuple):
    """Rows (n, d) that show whether a model still answers as it did: whether they met the goal, and their scores."""

    rows: np.ndarray
    met: np.ndarray
    score: np.ndarray


class Classified(NamedTuple):
    """A model's decisions about n rows.

    Attributes
    ----------
    labels
        The class that it decides for; None where it fails.
    probability
        Its probability of the target, (n,); NaN where it fails or gives none.
    judgement
        Whether each row meets the goal, as `Goal.confirm_rows` says.
    """

    labels: list[Label | None]
    probability: np.ndarray
    judgement: Judgement


class Goal:
    """A model asked for a target class, or for at least a probability of it.

    What is asked, and what counts, follows from the answers about the probe:

    | the request | the model gives | score | `score_rows` asks for | `confirm_rows` asks for | met |
    |---|---|---|---|---|---|
    | a class | scores that decide like `predict` | lead | scores | scores, labels | lead ≥ margin, and the label |
    | | scores that do not | lead, only a guide | scores, labels | scores, labels | the label |
    | | scores alone | lead | scores | scores | lead ≥ margin |
    | | labels alone | 1 or 0 | labels | labels | the label |
    | a probability | probabilities | probability | probabilities | probabilities | score ≥ probability + margin, or 1 |

    Scores are probabilities or, where these do not decide like `predict` or there are none, `decision_function`. The
    lead is by how much the target is ahead of the best other class. With a probability the decision of `predict` is not
    asked: at least 0.3 of a class can be wanted where the model decides for another.

    Parameters
    ----------
    model
        A `Model`, or anything it wraps.
    layout
        How the training frame looked: rows reach the model in that form.
    target
        The desired class, as the model names it.
    probability
        The least probability of the target, above 0 and at most 1.
    margin
        The distance in score that keeps answers off the boundary, where a model's last bits would decide.
    probe
        Rows of the matrix, at least one, such as `probe_rows` gives. The model is asked about them twice and must give
        the same answer. If its scores decide like its `predict` on all of them, `score_rows` asks for scores alone. A
        model that does not list its classes has those that it predicts for these rows.
    tolerant
        Whether rows that the model fails on are judged: as not meeting the goal, with the lowest score of the probe.
        If not, they raise a `ModelError`. A model that fails on all of the probe raises one in any case.
    limit
        How long learning about the model may take.
    """

    compiled: CompiledScore | None = None
    """What `score_rows` asks instead of the model, where both decide alike; see `attain.models.compiled`."""

    def __init__(
        self,
        model: Any,
        layout: Layout,
        *,
        target: Label,
        probability: float | None = None,
        margin: float = 1e-6,
        probe: np.ndarray,
        tolerant: bool = False,
        limit: LearningLimit | None = None,
    ) -> None:
        if probability is not None:
            check_number("probability", probability, above=0, most=1)
        check_number("margin", margin, least=0)
        if not len(probe):
            raise ModelError("probe has no rows; pass at least one, the model is tried out on them")
        self.probability = None if probability is None else float(probability)
        self.margin = float(margin)
        self.model, self.layout = Model.of(model), layout
        self.reader = Reader(self.model, layout, probe, tolerant=tolerant)
        self._known: dict[str, Any] = {}
        with self.learning_within(limit):
            try:
                self._learn(target)
            except ModelError:
                if not self.reader.drop_failing_probe():
                    raise
                self._learn(target)

    @contextmanager
    def learning_within(self, limit: LearningLimit | None) -> Iterator[None]:
        """Raises `OutOfTime` before a call of the model that would go beyond the limit."""
        self.reader.limit = limit
        try:
            yield
        finally:
            self.reader.limit = None

    def _learn(self, target: Label) -> None:
        """Learns from the probe which classes there are, and which kinds of answer decide."""
        self.reader.settle()
        self.classes: tuple[Label, ...] = self.reader.classes
        self._check_names()
        self._position = self._position_of(target)
        self.target = self.classes[self._position]
        self._tried: dict[AnswerKind, np.ndarray] = {}
        self._guide: AnswerKind = self._chosen_guide()
        own = "labels" in self.reader.kinds and self.probability is None
        self._confirm_kinds = tuple(dict.fromkeys((self._guide, "labels"))) if own else (self._guide,)
        self.decisive = not own or self._agrees(self._guide)
        """Whether the score alone decides like `predict`, on the whole probe."""
        self._score_kinds = (self._guide,) if self.decisive else self._confirm_kinds
        self.most_questions, self.last_questions = len(self._score_kinds), len(self._confirm_kinds)
        """The largest values of `Judgement.asked` that `score_rows` and `confirm_rows` give."""
        met, score = self._met_and_score(dict(zip(self._confirm_kinds, self._try(*self._confirm_kinds), strict=True)))
        self.lowest = float(score.min())
        """The score of rows that the model fails on: the lowest of the probe."""
        self.control = Control(self.reader.probe, met, score)
        """The probe; a session of a model that gives labels only puts all training rows here."""

    def fresh_copy(
        self, unseen: Mapping[str, tuple[Any, ...]] = MappingProxyType({}), model: Model | None = None
    ) -> Goal:
        """This goal with counts of zero, for rows with further levels, by column, that the schema does not have.

        `model` is the same model, wrapped again: what has changed in it since is seen by `confirm_again`.
        """
        goal = copy(self)
        goal.reader = self.reader.fresh_copy(unseen, self.model if model is None else model)
        goal.model, goal.layout = goal.reader.model, goal.reader.layout
        return goal

    @property
    def labels_only(self) -> bool:
        """Whether the model gives labels and no scores, so that a few equal answers do not show that it is the same."""
        return tuple(self.reader.kinds) == ("labels",)

    @cached_property
    def answers_digest(self) -> str:
        """A hash of the answers about the probe that score rows, to six decimals, whatever the target."""
        rounded = np.round(np.asarray(self._tried[self._guide], dtype=np.float64), 6) + 0.0  # turns -0.0 into 0.0
        digest = blake2b(repr((self.classes,)).encode(), digest_size=16)
        digest.update(f"{self._guide}{rounded.shape}".encode())
        digest.update(np.ascontiguousarray(rounded, dtype="<f8").tobytes())
        return digest.hexdigest()

    @property
    def rows_asked(self) -> int:
        """How many rows the model was asked about so far for this goal.

        A row of which both the probability and the label are asked counts twice, as in `Model.rows`. Rows that a
        compiled score answered count too.
        """
        return self.reader.rows

    @property
    def rows_charged(self) -> int:
        """Those of `rows_asked` that are charged to people: not gradients, nor what was asked again after an error."""
        return self.reader.rows - self.reader.uncharged

    def cached(self, name: str, learn: Callable[[], T]) -> T:
        """What `learn` returns, or the `StructureError` it raises, kept as long as this goal and its copies are."""
        if name not in self._known:
            try:
                self._known[name] = learn()
            except StructureError as error:
                self._known[name] = error
        found: T = self._known[name]
        if isinstance(found, StructureError):
            raise found
        return found

    @property
    def scale(self) -> str:
        """What the score is, in words."""
        if self.probability is not None:
            return "probability"
        return {"labels": "decision", "probabilities": "lead in probability"}.get(self._guide, "lead in score")

    def score_rows(self, rows: np.ndarray) -> Judgement:
        """Whether each row meets the goal, for searches: by as few calls as the probe allows, or a compiled score."""
        if self.compiled is None:
            return self._judgement(len(rows), self._score_kinds, *self.reader.read_each(rows, self._score_kinds))
        score = self.compiled(rows)
        unknown = np.flatnonzero(np.isnan(score))
        self.reader.count_rows(len(rows) - len(unknown))
        met, asked = self.meets(score), np.ones(len(rows), dtype=np.int64)
        if not len(unknown):
            return Judgement(met, score, asked)
        answers = self.reader.read_each(rows[unknown], self._score_kinds)
        judged = self._judgement(len(unknown), self._score_kinds, *answers)
        met[unknown], score[unknown], asked[unknown] = judged.met, judged.score, judged.asked
        failures = {int(unknown[position]): sentence for position, sentence in judged.failures.items()}
        return Judgement(met, score, asked, failures)

    def compiled_score(self) -> Score | None:
        """By how much rows meet the goal, for the engine; None where a model is not compiled."""
        return None if self.compiled is None else self.compiled.score

    def meets(self, score: np.ndarray) -> np.ndarray:
        """Whether these scores, (n,), meet the goal, where they alone decide and no tie has to be broken."""
        if self.probability is not None:
            return np.asarray(score >= min(self.probability + self.margin, 1.0))
        return np.asarray(score >= self.margin)

    def confirm_rows(self, rows: np.ndarray) -> Judgement:
        """Whether each row meets the goal, by the model's own decision and the score; for the last check."""
        return self._judgement(len(rows), self._confirm_kinds, *self.reader.read_each(rows, self._confirm_kinds))

    def confirm_again(self, rows: np.ndarray) -> Judgement | None:
        """`confirm_rows`, with the control in the same call; None if the model answers otherwise about that."""
        reader, kinds, control = self.reader, self._confirm_kinds, self.control
        n, before = len(control.rows), reader.rows
        try:
            answers = reader.read(np.concatenate((control.rows, rows)), kinds)
            met, score = self._met_and_score(answers)
            now, judged = (met[:n], score[:n]), Judgement(met[n:], score[n:], np.full(len(rows), len(kinds)))
            reader.uncharged += n * len(kinds)
        except ModelError:  # one of the rows may be at fault
            now = self.confirm_rows(control.rows)[:2]
            reader.uncharged = reader.rows - before
            judged = self.confirm_rows(rows)
        same = np.array_equal(now[0], control.met) and not _apart(control.score, now[1]).any()
        return judged if same else None

    def classify(self, rows: np.ndarray) -> Classified:
        """What the model decides about each row, with its probability of the target."""
        kinds = self._confirm_kinds
        if "probabilities" in self.reader.kinds:
            kinds = tuple(dict.fromkeys((*kinds, "probabilities")))
        taken, answers, failures = self.reader.read_each(rows, kinds)
        judgement = self._judgement(len(rows), kinds, taken, answers, failures)
        labels: list[Label | None] = [None] * len(rows)
        probability = np.full(len(rows), np.nan)
        if len(taken):
            chosen = answers["labels"] if "labels" in answers else decision(answers[self._guide])
            for i, k in zip(taken.tolist(), chosen.tolist(), strict=True):
                labels[i] = self.classes[k] if 0 <= k < len(self.classes) else None
            if "probabilities" in answers:
                probability[taken] = answers["probabilities"][:, self._position]
        return Classified(labels, probability, judgement)

    def _judgement(
        self,
        n: int,
        kinds: tuple[AnswerKind, ...],
        taken: np.ndarray,
        answers: Answers,
        failures: Mapping[int, str],
    ) -> Judgement:
        met, score = np.zeros(n, dtype=bool), np.full(n, self.lowest)
        if len(taken):
            met[taken], score[taken] = self._met_and_score(answers)
        return Judgement(met, score, np.full(n, len(kinds)), failures)

    def _met_and_score(self, answers: Answers) -> tuple[np.ndarray, np.ndarray]:
        decided = answers["labels"] == self._position if "labels" in answers else True
        if self._guide == "labels":
            return np.asarray(decided), np.asarray(decided, dtype=np.float64)
        values = answers[self._guide]
        if self.probability is not None:
            score = np.ascontiguousarray(values[:, self._position])
            return self.meets(score), score
        score = lead(values, self._position)
        if not self.decisive:  # the score is only a guide where the model decides by something else
            return np.asarray(decided), score
        met = self.meets(score) & decided
        if self.margin == 0:  # a tie is decided by the order of the classes
            met &= decision(values) == self._position
        return met, score

    def _check_names(self) -> None:
        unknown = [label for label in self.model.class_names if label not in self.classes]
        if unknown and self.model.adapter.classes is not None:
            raise ModelError(
                f"class_names has {listed(unknown)}, but the classes of {self.reader.title} are {listed(self.classes)}"
            )

    def _position_of(self, target: Label) -> int:
        wanted = as_python(target)
        if wanted in self.classes:
            return self.classes.index(wanted)
        alike = [label for label in self.classes if str(label).strip().lower() == str(wanted).strip().lower()]
        if alike:
            found, known = type(wanted).__name__, type(alike[0]).__name__
            difference = f" ({known}, not {found})" if found != known else ""
            hint = f"did you mean {alike[0]!r}{difference}?"
        elif self.model.adapter.classes is None:
            hint = "to name its classes, pass Model(model, classes=[...])"
        else:
            hint = "pass one of them"
        raise ModelError(
            f"target is {wanted!r}, but the classes of {self.reader.title} are {listed(self.classes)}; {hint}"
        )

    def _chosen_guide(self) -> AnswerKind:
        """The kind of answer that scores rows: the first whose decisions are those of `predict`, or else the first."""
        kinds = self.reader.kinds
        if self.probability is not None:
            if "probabilities" not in kinds:
                raise ModelError(
                    f"probability is {self.probability}, but {self.reader.title} gives only {' and '.join(kinds)}; "
                    "ask for the target class alone, or calibrate the model (CalibratedClassifierCV of scikit-learn)"
                )
            return "probabilities"
        guides = [kind for kind in kinds if kind != "labels"]
        if not guides:
            return "labels"
        return next((kind for kind in guides if self._agrees(kind)), guides[0])

    def _agrees(self, kind: AnswerKind) -> bool:
        """Whether this kind of answer decides like `predict` on the whole probe, except for near ties."""
        if kind == "labels" or "labels" not in self.reader.kinds:
            return True
        values, labels = self._try(kind, "labels")
        return bool(np.all((decision(values) == labels) | (winning_lead(values) < self.margin)))

    def _try(self, *kinds: AnswerKind) -> list[np.ndarray]:
        """The answers about the probe, asked for twice; raises where they differ."""
        new, probe = tuple(kind for kind in kinds if kind not in self._tried), self.reader.probe
        first, again = (self.reader.read(probe, new) if new else {} for _ in range(2))
        for kind in new:
            changed = int(_apart(first[kind], again[kind]).sum())
            if changed:
                raise ModelError(
                    f"{self.reader.title} returned different {kind} when asked again about the same {len(probe)} rows "
                    f"({changed} of them changed); a random model has no counterfactuals: switch its randomness "
                    "off, or fix its seed inside predict"
                )
            self._tried[kind] = first[kind]
        return [self._tried[kind] for kind in kinds]


def _apart(first: np.ndarray, again: np.ndarray) -> np.ndarray:
    """Which of two answers about the same rows differ, (n,)."""
    apart = np.abs(first - again) > REPEATABLE * np.maximum(1.0, np.abs(first))
    return np.asarray(apart.reshape(len(first), -1).any(axis=1))


class JointGoal(Goal):
    """A goal that is met where a first goal and all others are met; its score, target and model are the first's.

    The others are asked only about rows that meet the goals before them.
    """

    def __init__(self, first: Goal, others: Sequence[Goal]) -> None:
        vars(self).update(vars(first), compiled=None)
        self._goals = (first, *others)
        self.most_questions = sum(goal.most_questions for goal in self._goals)
        self.last_questions = sum(goal.last_questions for goal in self._goals)

    @property
    def rows_asked(self) -> int:
        return sum(goal.rows_asked for goal in self._goals)

    def score_rows(self, rows: np.ndarray) -> Judgement:
        return _jointly([goal.score_rows for goal in self._goals], rows)

    def confirm_rows(self, rows: np.ndarray) -> Judgement:
        return _jointly([goal.confirm_rows for goal in self._goals], rows)

    def compiled_score(self) -> Score | None:
        scores = [score for goal in self._goals if (score := goal.compiled_score()) is not None]
        return reduce(LeastScore, scores) if len(scores) == len(self._goals) else None

    def share(self, rows: np.ndarray) -> np.ndarray:
        """The share of the other goals that each row meets, (n,)."""
        return np.mean([other.score_rows(rows).met for other in self._goals[1:]], axis=0)


def _jointly(judges: Sequence[Callable[[np.ndarray], Judgement]], rows: np.ndarray) -> Judgement:
    met, score, asked, failures = judges[0](rows)
    met, asked = met.copy(), asked.copy()
    for judge in judges[1:]:
        left = np.flatnonzero(met)
        judged = judge(rows[left])
        met[left] = judged.met
        asked[left] += judged.asked
    return Judgement(met, score, asked, failures)
