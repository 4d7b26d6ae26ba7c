"""`Goal`: a model asked for a target class, or for at least a probability of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from hashlib import blake2b
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeAlias, TypeGuard

import numpy as np

from attain.core.arrays import as_python
from attain.core.errors import ModelError, listed
from attain.models.adapter import AnswerKind, Answers, Label
from attain.models.answers import decision, lead, winning_lead
from attain.models.model import Model
from attain.models.reader import Reader
from attain.models.watch import SlowModelError

if TYPE_CHECKING:
    from attain.tables import Layout

CompiledScore: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""A goal's score of rows, (n, d) → (n,), computed without the model; NaN where the model itself has to be asked."""
REPEATABLE = 1e-6
"""How far two answers about one row may differ, relative to their size: more than rounding, less than a decision."""


def probe_rows(values: np.ndarray, n: int = 256) -> np.ndarray:
    """At most `n` rows spread evenly over the training rows, which may be sorted by label."""
    return np.asarray(values[np.linspace(0, len(values) - 1, min(len(values), n)).astype(np.intp)])


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
        are needed. What was asked again after an error does not count here, but in `Reader.uncharged`.
    failures
        The rows that the model fails on, by position, each with a sentence that says how. They do not meet the goal.
    slow
        Those of them for whose owners the model takes too long, in order.
    """

    met: np.ndarray
    score: np.ndarray
    asked: np.ndarray
    failures: Mapping[int, str] = MappingProxyType({})
    slow: tuple[int, ...] = ()


class Classified(NamedTuple):
    """What a model says about n rows.

    Attributes
    ----------
    labels
        The class that it decides for; None where it fails.
    probability
        Its probability of the target, (n,); NaN where it fails or gives none.
    judgement
        Whether each row meets the goal, as `Goal.decide` says.
    """

    labels: list[Label | None]
    probability: np.ndarray
    judgement: Judgement


class GoalLike(Protocol):
    """What searches need of a goal: one model's (`Goal`), or that of several models at once (`JointGoal`)."""

    reader: Reader
    """The model whose score guides a search, and whose structure a method may look into."""
    target: Label
    probability: float | None
    margin: float
    lowest: float
    """The score of rows that the model does not say anything about: the lowest of the probe."""

    @property
    def most_questions(self) -> int:
        """The largest value of `Judgement.asked` that `judge` gives."""
        ...

    @property
    def last_questions(self) -> int:
        """The largest value of `Judgement.asked` that `decide` gives."""
        ...

    @property
    def rows_asked(self) -> int:
        """How many rows the models were asked about so far on behalf of this goal, for whatever purpose.

        A row of which both the probability and the label are asked counts twice, as in `Model.rows`. Rows that a
        compiled score answered count too.
        """
        ...

    def judge(self, rows: np.ndarray, owners: np.ndarray | None = None) -> Judgement:
        """Whether each row meets the goal, with as few calls as the probe allows, or by a compiled score; for searches.

        With a timeout, a model that is too slow is too slow for all rows with the same number in `owners`, (n,).
        """
        ...

    def decide(self, rows: np.ndarray, owners: np.ndarray | None = None) -> Judgement:
        """Whether each row meets the goal, by the model's own decision and the score; for the last check."""
        ...

    def usual_seconds(self, rows: int) -> float:
        """How long it usually takes to judge so many rows; 0 without a timeout."""
        ...

    def allow(self, seconds: float) -> None:
        """Says how many seconds the owners of rows have left, where there is a timeout."""
        if self.reader.watch is not None:
            self.reader.watch.allowed = seconds

    @property
    def probed(self) -> Answers:
        """The model's answers about the probe."""
        ...

    def fingerprint(self) -> str:
        """A string that is equal for equal predictions on the probe and an equal request."""
        ...

    def with_unseen(self, unseen: Mapping[str, tuple[Any, ...]]) -> Self:
        """This goal for rows with further levels, by column, that the schema does not have."""
        goal = copy(self)
        goal.reader = self.reader.with_unseen(unseen)
        return goal

    @property
    def model(self) -> Model:
        return self.reader.model

    @property
    def layout(self) -> Layout:
        return self.reader.layout

    @property
    def classes(self) -> tuple[Label, ...]:
        return self.reader.classes

    @property
    def timeout(self) -> float | None:
        """The most seconds that the model may take longer than usual; None for any time."""
        watch = self.reader.watch
        return None if watch is None else watch.timeout

    @property
    def labels_only(self) -> bool:
        """Whether the model gives labels and no scores, so that a few equal answers do not show that it is the same."""
        return tuple(self.reader.kinds) == ("labels",)


class Goal(GoalLike):
    """A model asked for a target class, or for at least a probability of it.

    With `probability` unset the model must decide for the target. The score is by how much the target leads the best
    other class, in probability where the model gives one, or else in `decision_function`; the goal is met when the
    lead is at least `margin` and, in `decide`, the model's own `predict` says the same. Where no score decides like
    `predict`, that alone decides, and the score is only a guide. A model that gives labels only scores 1 where it
    decides for the target and 0 elsewhere, and has no margin.

    With `probability` set the score is the target's probability, and the goal is met when that is at least
    `probability + margin` (or 1, where that would be more than 1). The decision of `predict` is not asked then: at
    least 0.3 of a class can be wanted where the model decides for another.

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
        the same answer. If its scores decide like its `predict` on all of them, `judge` asks for scores alone. A model
        that does not list its classes has those that it predicts for these rows.
    tolerant
        Whether rows that the model fails on are judged: as not meeting the goal, with the lowest score of the probe.
        If not, they raise a `ModelError`. A model that fails on all of the probe raises one in any case.
    timeout
        How many seconds longer than usual the model may take for one row, or for all rows of one owner; None for any
        time. Rows that take longer are failures, tolerant or not.
    known
        The answers about the probe that an earlier goal had from the same model (`probed`). Where it still gives the
        same ones, it is asked once instead of twice.
    confirmed
        Whether the model is asked about the probe now. If not, `known` is taken as it is, and `confirm` asks later.
    """

    compiled: CompiledScore | None = None
    """What `judge` asks instead of the model, where that decides alike; see `attain.models.structure.compiled`."""

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
        timeout: float | None = None,
        known: Answers = MappingProxyType({}),
        confirmed: bool = True,
    ) -> None:
        _check_numbers(probability, margin, probe)
        self.confirmed = confirmed
        self.probability = None if probability is None else float(probability)
        self.margin = float(margin)
        self.reader = Reader(Model.of(model), layout, probe, tolerant=tolerant, timeout=timeout)
        self._check_names()
        self._position = self._position_of(target)
        self.target = self.classes[self._position]
        self.reader.on_the_probe(lambda: self._learn(known))

    def _learn(self, known: Answers) -> None:
        """Learns from the probe which kinds of answer decide."""
        self._tried = self._still_given(known) if self.confirmed else dict(known)
        self._guide: AnswerKind = self._chosen_guide()
        own = "labels" in self.reader.kinds and self.probability is None
        self._decide_kinds = tuple(dict.fromkeys((self._guide, "labels"))) if own else (self._guide,)
        self.decisive = not own or self._agrees(self._guide)
        """Whether the score alone decides like `predict`, on the whole probe."""
        self._judge_kinds = (self._guide,) if self.decisive else self._decide_kinds
        answers: Answers = {kind: self._try(kind) for kind in self._decide_kinds}
        self.lowest = float(self._met_and_score(answers)[1].min())
        self._fingerprint = self._hashed(answers, self.target, self.probability, self.margin)

    @property
    def probed(self) -> Answers:
        """The answers about the probe."""
        return self._tried

    @property
    def most_questions(self) -> int:
        return len(self._judge_kinds)

    @property
    def last_questions(self) -> int:
        return len(self._decide_kinds)

    @property
    def answers_digest(self) -> str:
        """A hash of the answers about the probe that score rows, to six decimals, whatever the target."""
        return self._hashed({self._guide: self._try(self._guide)})

    @property
    def rows_asked(self) -> int:
        return self.reader.count.rows

    @property
    def scale(self) -> str:
        """What the score is, in words."""
        if self.probability is not None:
            return "probability"
        return {"labels": "decision", "probabilities": "lead in probability"}.get(self._guide, "lead in score")

    def judge(self, rows: np.ndarray, owners: np.ndarray | None = None) -> Judgement:
        if self.compiled is None:
            return self._judgement(rows, self._judge_kinds, owners)
        score = self.compiled(rows)
        unknown = np.flatnonzero(np.isnan(score))
        self.reader.count_compiled(len(rows) - len(unknown))
        met, asked = self.meets(score), np.ones(len(rows), dtype=np.int64)
        if not len(unknown):
            return Judgement(met, score, asked)
        judged = self._judgement(rows[unknown], self._judge_kinds, None if owners is None else owners[unknown])
        met[unknown], score[unknown], asked[unknown] = judged.met, judged.score, judged.asked
        failures = {int(unknown[position]): sentence for position, sentence in judged.failures.items()}
        return Judgement(met, score, asked, failures, tuple(unknown[list(judged.slow)].tolist()))

    def meets(self, score: np.ndarray) -> np.ndarray:
        """Whether these scores, (n,), meet the goal, where they alone decide and no tie has to be broken."""
        if self.probability is not None:
            return np.asarray(score >= min(self.probability + self.margin, 1.0))
        return np.asarray(score >= self.margin)

    def decide(self, rows: np.ndarray, owners: np.ndarray | None = None) -> Judgement:
        return self._judgement(rows, self._decide_kinds, owners)

    def confirm(self, rows: np.ndarray) -> Judgement | None:
        """What `decide` says, by one call that is about the probe, too; for a goal that is not confirmed yet.

        None if the model fails, or answers about the probe otherwise than before: then nothing that was learned about
        it holds any more.
        """
        probe = self.reader.probe
        try:
            answers = self.reader.read(np.concatenate((probe, rows)), self._decide_kinds)
        except ModelError:
            return None
        n = len(probe)
        if not _same({kind: answer[:n] for kind, answer in answers.items()}, self._tried):
            return None
        self.confirmed = True
        self.reader.uncharged += n * len(self._decide_kinds)
        answers = {kind: answer[n:] for kind, answer in answers.items()}
        return self._judged(len(rows), len(self._decide_kinds), np.arange(len(rows)), answers, {})

    def classify(self, rows: np.ndarray) -> Classified:
        """What the model decides about each row, with its probability of the target."""
        kinds = self._decide_kinds
        if "probabilities" in self.reader.kinds:
            kinds = tuple(dict.fromkeys((*kinds, "probabilities")))
        taken, answers, failures = self.reader.read_each(rows, kinds)
        judgement = self._judged(len(rows), len(kinds), taken, answers, failures)
        labels: list[Label | None] = [None] * len(rows)
        probability = np.full(len(rows), np.nan)
        if len(taken):
            chosen = answers["labels"] if "labels" in answers else decision(answers[self._guide])
            for i, k in zip(taken.tolist(), chosen.tolist(), strict=True):
                labels[i] = self.classes[k] if 0 <= k < len(self.classes) else None
            if "probabilities" in answers:
                probability[taken] = answers["probabilities"][:, self._position]
        return Classified(labels, probability, judgement)

    def usual_seconds(self, rows: int) -> float:
        watch = self.reader.watch
        return 0.0 if watch is None else watch.usual(rows)

    def fingerprint(self) -> str:
        return self._fingerprint

    def _judgement(self, rows: np.ndarray, kinds: tuple[AnswerKind, ...], owners: np.ndarray | None) -> Judgement:
        if not len(rows):
            return self._judged(0, 0, np.empty(0, dtype=np.intp), {}, {})
        return self._judged(len(rows), len(kinds), *self.reader.read_each(rows, kinds, owners))

    def _judged(
        self, n: int, questions: int, taken: np.ndarray, answers: Answers, failures: Mapping[int, ModelError]
    ) -> Judgement:
        met, score = np.zeros(n, dtype=bool), np.full(n, self.lowest)
        if len(taken):
            met[taken], score[taken] = self._met_and_score(answers)
        sentences = {position: str(error) for position, error in failures.items()}
        slow = (position for position, error in failures.items() if isinstance(error, SlowModelError))
        return Judgement(met, score, np.full(n, questions), sentences, tuple(sorted(slow)))

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
        values, labels = self._try(kind), self._try("labels")
        return bool(np.all((decision(values) == labels) | (winning_lead(values) < self.margin)))

    def _try(self, kind: AnswerKind) -> np.ndarray:
        """The answer about the probe, after checking that the model gives the same one twice."""
        if kind not in self._tried:
            first = self.reader.read(self.reader.probe, (kind,))[kind]
            again = self.reader.read(self.reader.probe, (kind,))[kind]
            changed = int(_apart(first, again).sum())
            if changed:
                raise ModelError(
                    f"{self.reader.title} returned different {kind} when asked again about the same {len(first)} rows "
                    f"({changed} of them changed); a random model has no counterfactuals: switch its randomness "
                    "off, or fix its seed inside predict"
                )
            self._tried[kind] = first
        return self._tried[kind]

    def _still_given(self, known: Answers) -> dict[AnswerKind, np.ndarray]:
        """The answers about the probe, if they are the known ones; else none."""
        kinds = tuple(kind for kind in known if kind in self.reader.kinds)
        answers = self.reader.read(self.reader.probe, kinds) if kinds else {}
        return dict(answers) if _same(answers, known) else {}

    def _hashed(self, answers: Answers, *request: object) -> str:
        digest = blake2b(digest_size=16)
        digest.update(repr((*request, self.classes)).encode())
        for kind, answer in answers.items():
            rounded = np.round(np.asarray(answer, dtype=np.float64), 6) + 0.0  # turns -0.0 into 0.0
            digest.update(f"{kind}{rounded.shape}".encode())
            digest.update(np.ascontiguousarray(rounded, dtype="<f8").tobytes())
        return digest.hexdigest()


class JointGoal(GoalLike):
    """A goal that is met where a first goal and all others are met; its score, target and model are the first's.

    The others are asked only about rows that meet the goals before them.
    """

    def __init__(self, first: GoalLike, others: Sequence[GoalLike]) -> None:
        self._goals = (first, *others)
        self.reader, self.target = first.reader, first.target
        self.probability, self.margin, self.lowest = first.probability, first.margin, first.lowest

    @property
    def most_questions(self) -> int:
        return sum(goal.most_questions for goal in self._goals)

    @property
    def last_questions(self) -> int:
        return sum(goal.last_questions for goal in self._goals)

    @property
    def rows_asked(self) -> int:
        return sum(goal.rows_asked for goal in self._goals)

    def judge(self, rows: np.ndarray, owners: np.ndarray | None = None) -> Judgement:
        return _jointly([goal.judge for goal in self._goals], rows, owners)

    def decide(self, rows: np.ndarray, owners: np.ndarray | None = None) -> Judgement:
        return _jointly([goal.decide for goal in self._goals], rows, owners)

    def usual_seconds(self, rows: int) -> float:
        return sum(goal.usual_seconds(rows) for goal in self._goals)

    def allow(self, seconds: float) -> None:
        for goal in self._goals:
            goal.allow(seconds)

    @property
    def probed(self) -> Answers:
        return self._goals[0].probed

    def fingerprint(self) -> str:
        return "+".join(goal.fingerprint() for goal in self._goals)

    def share(self, rows: np.ndarray) -> np.ndarray:
        """The share of the other goals that each row meets, (n,)."""
        return np.mean([other.judge(rows).met for other in self._goals[1:]], axis=0)


def _jointly(
    judges: Sequence[Callable[[np.ndarray, np.ndarray | None], Judgement]], rows: np.ndarray, owners: np.ndarray | None
) -> Judgement:
    met, score, asked, failures, slow = judges[0](rows, owners)
    met, asked = met.copy(), asked.copy()
    for judge in judges[1:]:
        left = np.flatnonzero(met)
        judged = judge(rows[left], None if owners is None else owners[left])
        met[left] = judged.met
        asked[left] += judged.asked
        slow += tuple(left[list(judged.slow)].tolist())
    return Judgement(met, score, asked, failures, tuple(sorted(slow)))


def _same(answers: Answers, known: Answers) -> bool:
    """Whether answers about the same rows are those that are known."""
    return all(
        answer.shape == known[kind].shape and not _apart(answer, known[kind]).any() for kind, answer in answers.items()
    )


def _apart(first: np.ndarray, again: np.ndarray) -> np.ndarray:
    """Which of two answers about the same rows differ, (n,)."""
    apart = np.abs(first - again) > REPEATABLE * np.maximum(1.0, np.abs(first))
    return np.asarray(apart.reshape(len(first), -1).any(axis=1))


def _check_numbers(probability: object, margin: object, probe: np.ndarray) -> None:
    if probability is not None and not (_is_number(probability) and 0 < probability <= 1):
        raise ModelError(f"probability must be a number > 0 and ≤ 1, got {probability!r}")
    if not (_is_number(margin) and 0 <= margin < np.inf):
        raise ModelError(f"margin must be a number ≥ 0, got {margin!r}")
    if not len(probe):
        raise ModelError("probe has no rows; pass at least one, the model is tried out on them")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)
