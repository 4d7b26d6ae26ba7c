"""Linear classifiers, alone or in a pipeline, as a sum of one term per cell of the matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from scipy.special import expit, logit

from attain.core.errors import ModelError
from attain.models.adapter import plain_classes
from attain.models.goal import Goal, probe_rows
from attain.models.structure.encoding import SEED, Encoding, Preprocessing, Projection, StructureError, dense, once
from attain.schema import Feature, Schema
from attain.tables import ordinary

_CHECKED_ROWS: Final = 128
_TOLERANCE: Final = 1e-8
"""How far the sum of the terms may be from the model's own score, relative to it."""
_LINK: Final = 1e-9
"""How far the probability may be from a logistic function of the score."""
_REACH: Final = 0.1
"""How far beyond the training range the sum is compared too, as a share of the range."""

ACCEPTED: Final = (
    "a linear classifier with two classes and a decision_function (LogisticRegression, LinearSVC, SGDClassifier, "
    "RidgeClassifier, Perceptron, LinearDiscriminantAnalysis, SVC(kernel='linear')), alone or in a pipeline of "
    "scalers, encoders of levels, SimpleImputer or linear projections"
)
"""The models that `linear_score` takes, for messages."""


@dataclass(frozen=True, eq=False)
class LinearScore:
    """score(x) = min_k lead_k(x): by how much the target leads each other class, in the model's `decision_function`.

    With two classes there is one lead, and the score is a sum over cells.

    Attributes
    ----------
    leads
        The lead over each other class.
    threshold
        The least score that meets the goal; NaN where there are more than two classes.
    """

    leads: Encoding
    threshold: float = np.nan

    @property
    def slopes(self) -> np.ndarray:
        """What one unit of each column of numbers adds to the score of two classes, (d,)."""
        return self.leads.slopes[:, 0]

    def weight(self, j: int, cells: np.ndarray) -> np.ndarray:
        """What these cells of column j add to the score of two classes; NaN where the model does not take them."""
        return self.leads.term(j, cells)[:, 0]

    def score(self, rows: np.ndarray) -> np.ndarray:
        """The score of each row, (n,)."""
        return np.asarray(self.leads.encode(rows).min(axis=1))

    def slope(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The score of each row, (n,), and its slope in each cell, (n, d)."""
        leads = self.leads.encode(rows)
        closest = leads.argmin(axis=1)
        outer = (np.arange(leads.shape[1]) == closest[:, None]).astype(np.float64)
        return leads[np.arange(len(rows)), closest], self.leads.gradient(rows, outer)


def linear_score(goal: Goal, values: np.ndarray) -> LinearScore:
    """The score of the goal's model as a sum over cells; `values` is the training matrix.

    The score is the model's `decision_function`, with the sign that makes larger closer to the target. It is compared
    with the model's own on training rows and beyond their range, so it is exact, or refused by a `StructureError`.
    """
    return once(goal, "linear", lambda: _verified(goal, values))


def decision_scores(goal: Goal, rows: np.ndarray) -> np.ndarray:
    """The model's own `decision_function` of rows, with the sign that makes larger closer to the target."""
    sign = 1.0 if goal.classes.index(goal.target) == 1 else -1.0
    return np.asarray(sign * np.ravel(goal.reader.read(rows, ("scores",))["scores"]))


def leads_of(goal: Goal, values: np.ndarray) -> Encoding:
    """The lead of the goal's target over each other class, for a model that ends in `coef_` and `intercept_`."""

    def learn() -> Encoding:
        preprocessing = Preprocessing(goal.reader)
        projection = leading(goal, preprocessing.estimator)
        return Encoding.learn(preprocessing.inputs, goal.layout.schema, values, projection)

    return once(goal, "leads", learn)


def leading(goal: Goal, estimator: Any) -> Projection:
    """From what reaches an estimator with `coef_` and `intercept_` to the leads over each other class."""
    weights = np.atleast_2d(dense(estimator.coef_)).T
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), weights.shape[1:])
    position, count = target_position(goal, estimator), weights.shape[1]
    if count == 1:
        difference = np.array([[1.0 if position == 1 else -1.0]])
    else:
        difference = np.delete(np.eye(count)[:, [position]] - np.eye(count), position, axis=1)
    return Projection(weights @ difference, intercept @ difference)


def target_position(goal: Goal, estimator: Any) -> int:
    """Which class of the estimator the target is; the caller may have given the classes other names."""
    position = goal.classes.index(goal.target)
    labels = goal.model.adapter.model_labels or goal.classes
    classes = plain_classes(estimator.classes_) if hasattr(estimator, "classes_") else labels
    return classes.index(labels[position]) if labels[position] in classes else position


def _verified(goal: Goal, values: np.ndarray) -> LinearScore:
    preprocessing = Preprocessing(goal.reader)
    if not hasattr(preprocessing.estimator, "coef_"):
        raise StructureError(f"{type(preprocessing.estimator).__name__} is not a linear classifier")
    if len(goal.classes) != 2:
        raise StructureError(f"the model has {len(goal.classes)} classes; a single linear score decides between two")
    score = LinearScore(leads_of(goal, values))
    rows, real = rows_to_compare(goal.layout.schema, values), probe_rows(values, _CHECKED_ROWS)
    try:
        own, own_real = decision_scores(goal, rows), decision_scores(goal, real)
    except ModelError as error:
        raise StructureError(f"its score cannot be compared with a sum over cells: {error}") from error
    worst = float(np.max(np.abs(score.score(rows) - own) / np.maximum(1.0, np.abs(own))))
    if not worst <= _TOLERANCE:
        raise StructureError(f"its decision_function is not a sum over cells: they differ by {worst:.2g}")
    return replace(score, threshold=_threshold(goal, real, own_real))


def rows_to_compare(schema: Schema, values: np.ndarray) -> np.ndarray:
    """Training rows, half of them with each column shuffled by itself; and rows with one number beyond its range."""
    random = np.random.default_rng(SEED)
    rows = values[random.permutation(len(values))[:_CHECKED_ROWS]].copy()
    half = len(rows) // 2
    rows[:half] = random.permuted(rows[:half], axis=0)
    beyond = []
    for j, feature in enumerate(schema):
        for value in _beyond(feature, values[:, j]):
            beyond.append(rows[-1].copy())
            beyond[-1][j] = value
    return np.vstack([rows, *beyond])


def _beyond(feature: Feature, cells: np.ndarray) -> list[float]:
    """A number on either side of the column's training range, on its grid, where the schema allows one."""
    known = cells[ordinary(feature, cells)]
    if not feature.numeric or not len(known):
        return []
    step = feature.step or 1e-12
    reach = np.ceil(_REACH * max(np.ptp(known), step) / step) * step
    low, high = (end if bound is None else bound for end, bound in zip((-np.inf, np.inf), feature.bounds, strict=True))
    ends = (float(known.min() - reach), float(known.max() + reach))
    return [end for end in ends if low <= end <= high and end not in feature.special]


def _threshold(goal: Goal, rows: np.ndarray, own: np.ndarray) -> float:
    """The least score that meets the goal, from the link between the model's score and what the goal is judged by."""
    met, judged, *_ = goal.judge(rows)
    if goal.probability is None:
        if np.allclose(judged, own, rtol=1e-9, atol=1e-9):
            return goal.margin
        if np.isin(judged, (0.0, 1.0)).all() and np.array_equal(met, own > 0):
            return 0.0
        chance, wanted = (judged + 1) / 2, (1 + goal.margin) / 2
    else:
        chance, wanted = judged, goal.probability + goal.margin
    if wanted >= 1:
        raise StructureError("no finite score has a probability of 1; ask for less")
    slope, offset = _logistic(own, chance)
    return float((logit(wanted) - offset) / slope)


def _logistic(score: np.ndarray, chance: np.ndarray) -> tuple[float, float]:
    """a and b of chance = 1 / (1 + exp(−(a · score + b))): 1 and 0, or those of Platt scaling."""
    if np.allclose(expit(score), chance, rtol=0, atol=_LINK):
        return 1.0, 0.0
    inner = (chance > 1e-6) & (chance < 1 - 1e-6)
    if inner.sum() >= 2 and np.ptp(score[inner]) > 0:
        slope, offset = np.polyfit(score[inner], logit(chance[inner]), 1)
        if slope > 0 and np.allclose(expit(slope * score + offset), chance, rtol=0, atol=_LINK):
            return float(slope), float(offset)
    raise StructureError("its probability is not a logistic function of its decision_function")
