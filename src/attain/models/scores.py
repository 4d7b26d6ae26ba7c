"""Scores that are read out of models: linear sums over cells, scores with a known slope, sums with Shapley values.

`linear_score` takes linear classifiers, alone or in a pipeline. `smooth_score` also takes support vector machines with
a Gaussian kernel, and adapters with a `gradient` (PyTorch modules, functions written in JAX), which their library
differentiates. `additive_score` takes linear classifiers and tree ensembles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import expit, logit

from attain.core.errors import ModelError
from attain.models.adapter import plain_classes
from attain.models.encoding import SEED, Encoding, Preprocessing, Projection, dense
from attain.models.goal import Goal, StructureError
from attain.models.reader import probe_rows
from attain.models.trees import Ensemble, read_ensemble
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
_KERNEL_CELLS: Final = 4_000_000
"""How many kernel values are held at once."""


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
    scale: str = "decision function"

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

    def shapley(self, goal: Goal, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """See `AdditiveScore`: the differences of the terms."""
        terms, theirs = (
            np.column_stack([self.weight(j, cells) for j, cells in enumerate(matrix.T)]) for matrix in (rows, others)
        )
        for i, j in np.argwhere(np.isnan(terms)):  # a level that the schema does not have: the model itself knows it
            pair = rows[[i, i]]
            pair[1, j] = others[0, j]
            terms[i, j] = theirs[0, j] - np.diff(decision_scores(goal, pair))[0]
        return np.asarray(terms[:, None, :] - theirs)


def linear_score(goal: Goal, values: np.ndarray) -> LinearScore:
    """The score of the goal's model as a sum over cells; `values` is the training matrix.

    The score is the model's `decision_function`, with the sign that makes larger closer to the target. It is compared
    with the model's own on training rows and beyond their range, so it is exact, or refused by a `StructureError`.
    """
    return goal.cached("linear", lambda: _verified(goal, values))


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

    return goal.cached("leads", learn)


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
    """Training rows, half of them with each column shuffled separately; and rows with one number beyond its range."""
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
    met, judged, *_ = goal.score_rows(rows)
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


def smooth_if_possible(goal: Goal, schema: Schema, rows: np.ndarray, method: str, without: str) -> Smooth | None:
    """The smooth score that `method` needs: None if it is `without`, or if it is "auto" and the model has none."""
    if method == without:
        return None
    try:
        return smooth_score(goal, schema, rows)
    except StructureError as error:
        if method == "auto":
            return None
        raise StructureError(f"method is {method!r}, but {error}; method={without!r} needs no slope") from error


def smooth_score(goal: Goal, schema: Schema, rows: np.ndarray) -> Smooth:
    """The score of the goal's model with its slope, or a `StructureError` that says why it has none.

    `rows` are training rows, from which the preprocessing is learned.
    """
    return goal.cached("smooth", lambda: _smooth(goal, schema, rows))


def _smooth(goal: Goal, schema: Schema, rows: np.ndarray) -> Smooth:
    preprocessing = Preprocessing(goal.reader)
    estimator = preprocessing.estimator
    name = type(estimator).__name__
    if hasattr(estimator, "support_vectors_") and hasattr(estimator, "dual_coef_"):
        if len(estimator.classes_) != 2:
            raise StructureError(
                f"the {name} decides between {len(estimator.classes_)} classes by votes of pairs; only one that "
                "decides between two has a single score"
            )
        if estimator.kernel == "rbf":
            encoding = Encoding.learn(preprocessing, schema, rows).filled(rows)
            return KernelScore(encoding, estimator, 1.0 if target_position(goal, estimator) == 1 else -1.0)
        if estimator.kernel != "linear":
            raise StructureError(f"the {name} has the kernel {estimator.kernel!r}; only 'rbf' and 'linear' are known")
    if hasattr(estimator, "coef_"):
        return LinearScore(leads_of(goal, rows).filled(rows))
    return _differentiated(goal, schema, rows)


class KernelScore:
    """The decision function of a Gaussian support vector machine, Σ_i α_i exp(−γ‖z − z_i‖²) + b, signed for the target.

    Sums run row by row rather than as matrix products, whose last bits for a row depend on the other rows.
    """

    def __init__(self, encoding: Encoding, estimator: Any, sign: float) -> None:
        self.encoding = encoding
        self._gamma = float(estimator._gamma)  # scikit-learn resolves "scale" and "auto" here, and nowhere in public
        self._vectors = dense(estimator.support_vectors_)
        self._weights = sign * dense(estimator.dual_coef_).ravel()
        self._intercept = sign * float(estimator.intercept_[0])

    def score(self, rows: np.ndarray) -> np.ndarray:
        points = self.encoding.encode(rows)
        return np.concatenate([self._kernel(part).sum(axis=1) for part in self._parts(points)]) + self._intercept

    def slope(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        points = self.encoding.encode(rows)
        totals, gradients = [], []
        for part in self._parts(points):
            kernel = self._kernel(part)
            total = kernel.sum(axis=1)
            # ∂/∂z Σ_i k_i = 2γ Σ_i k_i (z_i − z)
            pulls = np.stack([(kernel * coordinate).sum(axis=1) for coordinate in self._vectors.T], axis=1)
            totals.append(total)
            gradients.append(2 * self._gamma * (pulls - total[:, None] * part))
        return np.concatenate(totals) + self._intercept, self.encoding.gradient(rows, np.concatenate(gradients))

    def _parts(self, points: np.ndarray) -> list[np.ndarray]:
        size = max(_KERNEL_CELLS // len(self._vectors), 1)
        return [points[start : start + size] for start in range(0, max(len(points), 1), size)]

    def _kernel(self, points: np.ndarray) -> np.ndarray:
        """α_i exp(−γ‖z − z_i‖²) for each point and support vector."""
        return np.asarray(self._weights * np.exp(-self._gamma * cdist(points, self._vectors, "sqeuclidean")))


def _differentiated(goal: Goal, schema: Schema, rows: np.ndarray) -> DifferentiatedScore:
    title = goal.reader.title
    numbers = all(isinstance(level, int | float) for feature in schema for level in feature.levels)
    if goal.model.adapter.gradient is None or not numbers:
        raise StructureError(
            f"the slope of {title} is not known; it is for linear models and Gaussian or linear support vector "
            "machines, also in pipelines, for torch modules, and for JAX functions wrapped as "
            "Model(function, accepts='numpy'), where levels are numbers"
        )
    score = DifferentiatedScore(goal, schema)
    try:
        score.slope(rows[:1])
    except ModelError as error:
        goal.score_rows(rows[:1])  # a model that cannot be asked at all raises its own error
        raise StructureError(f"{title} cannot be differentiated: {str(error)[:300]}") from error
    return score


class DifferentiatedScore:
    """By how much the target class leads the best other one, in log-odds or scores, and its slope."""

    def __init__(self, goal: Goal, schema: Schema) -> None:
        self._schema = schema
        self._reader = goal.reader
        self._class = goal.classes.index(goal.target)

    def score(self, rows: np.ndarray) -> np.ndarray:
        return self.slope(rows)[0]

    def slope(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not len(rows):
            return np.empty(0), np.empty(rows.shape)
        values, spacing = rows.copy(), np.ones(rows.shape)
        for j, feature in enumerate(self._schema):
            if feature.levels:
                levels = np.array(feature.levels, dtype=np.float64)
                steps = np.append(np.diff(levels), 0.0) if feature.ordered else np.zeros(len(levels))
                at = np.clip(np.nan_to_num(np.floor(rows[:, j])), 0, max(len(levels) - 2, 0)).astype(np.intp)
                values[:, j] = np.interp(rows[:, j], np.arange(len(levels)), levels)
                spacing[:, j] = steps[at]
            spacing[np.isnan(rows[:, j]) | np.isin(rows[:, j], list(feature.special)), j] = 0.0
        columns = self._reader.matrix_columns
        lead, gradient = self._reader.gradient(values[:, columns], self._class)
        slope = np.zeros(rows.shape)
        slope[:, columns] = gradient
        return lead, np.where(spacing == 0, 0.0, slope * spacing)


def additive_score(goal: Goal, values: np.ndarray) -> AdditiveScore:
    """The score of the goal's model; `values` is the training matrix, on which it is compared with the model's own.

    Raises a `StructureError` for a model that is neither linear nor a tree ensemble, or has more than two classes.
    """

    def read() -> AdditiveScore:
        try:
            return linear_score(goal, values)
        except StructureError:
            return TreeScore(goal, values)

    return goal.cached("additive", read)


class TreeScore:
    """A sum over trees."""

    def __init__(self, goal: Goal, values: np.ndarray) -> None:
        if len(goal.classes) != 2:
            raise StructureError(f"the model has {len(goal.classes)} classes; sums over trees are for two")
        self._trees: Ensemble = read_ensemble(goal, values)
        self.scale = "lead in probability" if self._trees.votes else "log-odds"
        k = goal.classes.index(goal.target)
        self._worth = self._trees.scale * (self._trees.value[:, k] - self._trees.value[:, 1 - k])

    def shapley(self, goal: Goal, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """See `AdditiveScore`."""
        return self._trees.shapley(self._worth, goal.reader, rows, others)


Smooth: TypeAlias = LinearScore | KernelScore | DifferentiatedScore
"""A score of rows of the matrix, larger where the target class is nearer, and its slope.

Ordered levels may lie between two positions. The slope is 0 in cells without one: levels without an order, special
codes, missing cells.
"""
AdditiveScore: TypeAlias = LinearScore | TreeScore
"""A score that a model adds up, with two classes, and its exact Shapley values.

A linear score is s(x) = constant + Σ_j c_j(x_j); that of a tree ensemble is the sum over trees of what the leaf that x
reaches gives the target more than the other class. `shapley` gives the values of the score of each row (n, d) against
each of some others (B, d), (n, B, d). The columns are the players: those of a coalition have the row's cells, the rest
the other's. Its `goal` is that of the call, whose rows may have levels that the schema does not have.
"""
