"""`Goal`: a model asked for a target class, or for at least a probability of it."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attain.core.errors import ModelError, listed
from attain.models.adapter import Answers, Kind, Label, plain
from attain.models.answers import decision, lead, winning_lead
from attain.models.model import Model
from attain.models.reader import Reader

if TYPE_CHECKING:
    from attain.tables import Layout

STEADY = 1e-6
"""How far two answers to the same question may lie apart: more than a model's last bits, less than a decision."""


class Judgement(NamedTuple):
    """For each row whether the goal is met, and a score that is larger when the row is closer to it."""

    met: np.ndarray
    score: np.ndarray


class Goal:
    """A model asked for a target class, or for at least a probability of it.

    With `probability` unset the model must decide for the target. The score is by how much the target leads the best
    other class, in probability where the model gives one, or else in `decision_function`; the goal is met when the
    lead is at least `margin` and, in `decide`, the model's own `predict` says the same. Where no score decides like
    `predict`, that alone decides, and the score is only a guide. A model that gives labels only scores 1 where it
    decides for the target and 0 elsewhere, and knows no margin.

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
        The wanted class, as the model names it.
    probability
        The least probability of the target, above 0 and at most 1.
    margin
        The distance in score that keeps answers off the boundary, where a model's last bits would decide.
    probe
        Rows of the matrix, at least one, on which the model is tried out: it is asked twice and must not change its
        mind, and if its scores decide like its `predict` on every one of them, `judge` asks for scores alone.
    """

    def __init__(
        self,
        model: Any,
        layout: Layout,
        *,
        target: Label,
        probability: float | None = None,
        margin: float = 1e-6,
        probe: np.ndarray,
    ) -> None:
        _check_numbers(probability, margin, probe)
        self.model = Model.of(model)
        self.layout = layout
        self.probability = None if probability is None else float(probability)
        self.margin = float(margin)
        self._reader = Reader(self.model, layout, probe)
        self._probe = probe
        self._tried: dict[Kind, np.ndarray] = {}
        self.classes = self._reader.classes
        self._position = self._position_of(target)
        self.target = self.classes[self._position]
        self._guide: Kind = self._chosen_guide()
        own = "labels" in self._reader.kinds and self.probability is None
        self._decide_kinds = tuple(dict.fromkeys((self._guide, "labels"))) if own else (self._guide,)
        self._decisive = not own or self._agrees(self._guide)
        self._judge_kinds = (self._guide,) if self._decisive else self._decide_kinds
        self._fingerprint = self._hashed()

    def judge(self, rows: np.ndarray) -> Judgement:
        """Whether each row meets the goal, by as few questions to the model as its probe allowed; for searches."""
        return self._judgement(rows, self._judge_kinds)

    def decide(self, rows: np.ndarray) -> Judgement:
        """Whether each row meets the goal, by the model's own decision and the score; for the last check."""
        return self._judgement(rows, self._decide_kinds)

    def batch(self, rows: np.ndarray) -> Any:
        """Rows of the matrix in the form the model takes, for methods that look inside it."""
        return self._reader.batch(rows)

    def fingerprint(self) -> str:
        """A text that is the same for equal predictions on the probe and the same request, and else differs."""
        return self._fingerprint

    def _judgement(self, rows: np.ndarray, kinds: tuple[Kind, ...]) -> Judgement:
        if not len(rows):
            return Judgement(np.zeros(0, dtype=bool), np.zeros(0))
        answers = self._reader.read(rows, kinds)
        decided = answers["labels"] == self._position if "labels" in answers else True
        if self._guide == "labels":
            return Judgement(np.asarray(decided), np.asarray(decided, dtype=np.float64))
        values = answers[self._guide]
        if self.probability is not None:
            score = np.ascontiguousarray(values[:, self._position])
            return Judgement(score >= min(self.probability + self.margin, 1.0), score)
        score = lead(values, self._position)
        if not self._decisive:  # the score is only a guide where the model decides by something else
            return Judgement(np.asarray(decided), score)
        met = (score >= self.margin) & decided
        if self.margin == 0:  # a tie is decided by the order of the classes
            met &= decision(values) == self._position
        return Judgement(met, score)

    def _position_of(self, target: Label) -> int:
        wanted = plain(target)
        if wanted in self.classes:
            return self.classes.index(wanted)
        alike = [label for label in self.classes if str(label).strip().lower() == str(wanted).strip().lower()]
        if alike:
            found, known = type(wanted).__name__, type(alike[0]).__name__
            difference = f" ({known}, not {found})" if found != known else ""
            hint = f"did you mean {alike[0]!r}{difference}?"
        elif self.model.adapter.classes is None:
            hint = "if it has others, pass Model(model, classes=[...])"
        else:
            hint = "pass one of them"
        raise ModelError(
            f"target is {wanted!r}, but the classes of {self._reader.title} are {listed(self.classes)}; {hint}"
        )

    def _chosen_guide(self) -> Kind:
        """The answer that scores rows: the first whose decisions are those of `predict`, or else the first."""
        kinds = self._reader.kinds
        if self.probability is not None:
            if "probabilities" not in kinds:
                raise ModelError(
                    f"probability is {self.probability}, but {self._reader.title} gives only {' and '.join(kinds)}; "
                    "ask for the target class alone, or calibrate the model (CalibratedClassifierCV of scikit-learn)"
                )
            return "probabilities"
        guides = [kind for kind in kinds if kind != "labels"]
        if not guides:
            return "labels"
        return next((kind for kind in guides if self._agrees(kind)), guides[0])

    def _agrees(self, kind: Kind) -> bool:
        """Whether deciding by this answer is deciding like `predict` on the whole probe, near ties aside."""
        if kind == "labels" or "labels" not in self._reader.kinds:
            return True
        values, labels = self._try(kind), self._try("labels")
        return bool(np.all((decision(values) == labels) | (winning_lead(values) < self.margin)))

    def _try(self, kind: Kind) -> np.ndarray:
        """The answer about the probe, after making sure that the model gives it twice."""
        if kind not in self._tried:
            first = self._reader.read(self._probe, (kind,))[kind]
            again = self._reader.read(self._probe, (kind,))[kind]
            apart = np.abs(first - again) > STEADY * np.maximum(1.0, np.abs(first))
            changed = int(apart.reshape(len(first), -1).any(axis=1).sum())
            if changed:
                raise ModelError(
                    f"{self._reader.title} gave other {kind} when asked again about the same {len(first)} rows "
                    f"({changed} of them changed); a randomised model has no counterfactuals: switch its randomness "
                    "off, or fix its seed inside predict"
                )
            self._tried[kind] = first
        return self._tried[kind]

    def _hashed(self) -> str:
        answers: Answers = {kind: self._try(kind) for kind in self._decide_kinds}
        digest = blake2b(digest_size=16)
        digest.update(repr((self.target, self.probability, self.margin, self.classes)).encode())
        for kind, answer in answers.items():
            rounded = np.round(np.asarray(answer, dtype=np.float64), 6) + 0.0  # turns -0.0 into 0.0
            digest.update(f"{kind}{rounded.shape}".encode())
            digest.update(np.ascontiguousarray(rounded, dtype="<f8").tobytes())
        return digest.hexdigest()


def _check_numbers(probability: object, margin: object, probe: np.ndarray) -> None:
    if probability is not None and not (_is_number(probability) and 0 < float(probability) <= 1):  # type: ignore[arg-type]
        raise ModelError(f"probability is {probability!r}; it takes a number above 0 and at most 1")
    if not (_is_number(margin) and 0 <= float(margin) < np.inf):  # type: ignore[arg-type]
        raise ModelError(f"margin is {margin!r}; it takes a number from 0 upward")
    if not len(probe):
        raise ModelError("probe has no rows; the model is tried out on it, so pass at least one")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
