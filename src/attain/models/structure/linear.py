"""Linear classifiers, recognised inside scikit-learn pipelines and written as weights of the cells of the matrix.

The structure of the pipeline says whether the score is a sum of one term a cell, straight in numbers; only the parts
named below are let through. The weights are then read off the model's own `decision_function`, one cell changed at a
time, and the sum is compared with it on training rows whose columns were shuffled. So a fold is exact, or refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from scipy.special import expit, logit
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

from attain.core.errors import ModelError, listed
from attain.models.goal import GoalLike
from attain.schema import Schema
from attain.tables import ordinary

_CLASSIFIERS: Final = (
    LogisticRegression,
    LogisticRegressionCV,
    LinearSVC,
    SGDClassifier,
    RidgeClassifier,
    RidgeClassifierCV,
    Perceptron,
    LinearDiscriminantAnalysis,
    SVC,
)
_STRAIGHT: Final = (StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, FunctionTransformer)
_ENCODERS: Final = (OneHotEncoder, OrdinalEncoder)
_PROBE_ROWS: Final = 128
_TOLERANCE: Final = 1e-8
"""How far the sum of the weights may lie from the model's own score, relative to it."""

_LINK: Final = 1e-9
"""How far the probability may lie from a logistic function of the score."""

TAKEN: Final = (
    "LogisticRegression, LinearSVC, SGDClassifier, RidgeClassifier, Perceptron, LinearDiscriminantAnalysis or "
    "SVC(kernel='linear') with two classes, alone or in a pipeline of scalers, encoders of levels and SimpleImputer"
)


class NotLinearError(ModelError):
    """The model is not one of the linear classifiers that can be folded; the message says what stands in the way."""


@dataclass(frozen=True, eq=False)
class LinearScore:
    """A score that is a sum over cells; the goal is met from `threshold` upward.

    Attributes
    ----------
    schema
        What the columns are.
    intercept
        The constant.
    slopes
        Per column of numbers the weight of one unit, over ordinary values; 0 for columns of levels.
    levels
        Per column of levels the weight of each; empty for columns of numbers. NaN: the model cannot take the level.
    special
        Per column the weight of each special code, in the schema's order.
    missing
        Per column the weight of a missing cell; NaN where the model was not asked or cannot take it.
    threshold
        The least score that meets the goal.
    """

    schema: Schema
    intercept: float
    slopes: np.ndarray
    levels: tuple[np.ndarray, ...]
    special: tuple[np.ndarray, ...]
    missing: np.ndarray
    threshold: float

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The score of each row."""
        score = np.full(len(rows), self.intercept)
        for j in range(len(self.schema)):
            score += self.weight(j, rows[:, j])
        return score

    def weight(self, j: int, cells: np.ndarray) -> np.ndarray:
        """What each of these cells of column j adds to the score."""
        feature = self.schema.features[j]
        absent = np.isnan(cells)
        if not feature.numeric:
            codes = np.where(absent, 0, cells).astype(np.intp)
            return np.asarray(np.where(absent, self.missing[j], self.levels[j][codes]))
        result = np.asarray(np.where(absent, self.missing[j], self.slopes[j] * cells))
        for code, weight in zip(feature.special, self.special[j], strict=True):
            result[cells == code] = weight
        return result


_FOLDED: WeakKeyDictionary[GoalLike, LinearScore | NotLinearError] = WeakKeyDictionary()


def linear_score(goal: GoalLike, values: np.ndarray) -> LinearScore:
    """The goal's model as weights of cells, or a `NotLinearError` in words; `values` is the training matrix.

    The score is the model's `decision_function`, turned so that more is closer to the target.
    """
    folded = _FOLDED.get(goal)
    if folded is None:
        try:
            folded = _fold(goal, values)
        except NotLinearError as error:
            folded = error
        _FOLDED[goal] = folded
    if isinstance(folded, NotLinearError):
        raise folded
    return folded


def decision_scores(goal: GoalLike, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The model's own score of rows of the matrix, turned so that more is closer to the target."""
    return _Scores(goal, values)(rows)


def _fold(goal: GoalLike, values: np.ndarray) -> LinearScore:
    model, layout = goal.model.model, goal.layout
    schema = layout.schema
    names = goal.model.adapter.names
    inputs = [schema.position(name) for name in (layout.columns if names is None else names) if name in schema]
    _check_structure(model, schema, inputs)
    if len(goal.classes) != 2:
        raise NotLinearError(f"the model knows {len(goal.classes)} classes; a single linear score decides between two")
    ask = _Scores(goal, values)
    parts = _weights(ask, schema, values)
    real = values[:_PROBE_ROWS]
    found = LinearScore(schema, *parts, threshold=_threshold(goal, real, ask(real)))
    rows = _shuffled(values)
    asked = ask(rows)
    worst = float(np.max(np.abs(found(rows) - asked) / np.maximum(1.0, np.abs(asked))))
    if not worst <= _TOLERANCE:
        raise NotLinearError(f"its decision_function is not the sum of its cells' weights: they differ by {worst:.2g}")
    return found


class _Scores:
    """The model's `decision_function` on rows of the matrix, larger when closer to the target."""

    def __init__(self, goal: GoalLike, values: np.ndarray) -> None:
        self._reader = goal.reader
        self._sign = 1.0 if goal.classes.index(goal.target) == 1 else -1.0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self._sign * np.ravel(self._reader.read(rows, ("scores",))["scores"]))

    def possible(self, rows: np.ndarray) -> np.ndarray:
        """NaN for rows the model refuses, such as those with a level it never saw."""
        try:
            return self(rows)
        except ModelError:
            if len(rows) == 1:
                return np.full(1, np.nan)
            return np.concatenate([self.possible(row[None]) for row in rows])


def _check_structure(model: Any, schema: Schema, inputs: Sequence[int]) -> None:
    steps: list[Any] = []
    last = model
    while isinstance(getattr(last, "steps", None), list):  # a pipeline, or what looks like one
        *inner, last = [step for _, step in last.steps]
        steps += inner
    if type(last) not in _CLASSIFIERS or (type(last) is SVC and last.kernel != "linear"):
        raise NotLinearError(f"{type(last).__name__} is no linear classifier that is known here")
    for step in steps:
        _check_step(step, schema, inputs)


def _check_step(step: Any, schema: Schema, inputs: Sequence[int]) -> None:
    """Refuses a step unless each of its outputs depends on one column, straight where that holds numbers.

    `inputs` are the features that may reach it.
    """
    if step is None or isinstance(step, str):  # passthrough, drop
        return
    kind = type(step)
    if kind is Pipeline:
        for _, inner in step.steps:
            _check_step(inner, schema, inputs)
    elif kind is FeatureUnion:
        for _, inner in step.transformer_list:
            _check_step(inner, schema, inputs)
    elif kind is ColumnTransformer:
        for _, inner, columns in step.transformers_:
            _check_step(inner, schema, _resolved(columns, step, schema, inputs))
    elif kind in _ENCODERS:
        numbers = [schema.names[j] for j in inputs if schema.features[j].numeric]
        if numbers:
            raise NotLinearError(
                f"its {kind.__name__} may take columns of numbers ({listed(numbers)}), in which it is not straight; "
                "make them levels in the schema"
            )
    elif kind is SimpleImputer:
        _check_imputer(step, schema, inputs)
    elif kind not in _STRAIGHT or getattr(step, "clip", False) or getattr(step, "func", None) is not None:
        raise NotLinearError(f"its step {kind.__name__} is not known to be a straight line in each column")


def _check_imputer(step: Any, schema: Schema, inputs: Sequence[int]) -> None:
    code = step.missing_values
    if not isinstance(code, int | float) or code != code:
        return
    numbers = [j for j in inputs if schema.features[j].numeric]
    plain = [schema.names[j] for j in numbers if code not in schema.features[j].special]
    if plain:
        raise NotLinearError(
            f"its SimpleImputer replaces {code!r}, which the schema takes for an ordinary number in {listed(plain)}; "
            "make it a special code there"
        )


def _resolved(columns: Any, step: Any, schema: Schema, inputs: Sequence[int]) -> Sequence[int]:
    """The features that a branch of a `ColumnTransformer` takes; all that may reach it where names do not tell."""
    wide = getattr(step, "feature_names_in_", None)
    if wide is None and step.n_features_in_ == len(inputs):
        wide = [schema.names[j] for j in inputs]
    if wide is None or any(name not in schema for name in wide):
        return inputs
    if isinstance(columns, str | int | np.integer):
        columns = [columns]
    if isinstance(columns, slice) and any(isinstance(side, str) for side in (columns.start, columns.stop)):
        return inputs
    names = np.asarray(wide, dtype=object)
    chosen: Iterable[Any] = columns if _are_names(columns) else names[columns]
    return [schema.position(name) for name in chosen]


def _are_names(columns: Any) -> bool:
    return not isinstance(columns, slice) and all(isinstance(column, str) for column in columns)


def _weights(
    ask: _Scores, schema: Schema, values: np.ndarray
) -> tuple[float, np.ndarray, tuple[np.ndarray, ...], tuple[np.ndarray, ...], np.ndarray]:
    """The intercept, slopes and weights of states, from one batch of rows that differ from a base row in one cell."""
    base = values[np.argmin(np.isnan(values).sum(axis=1))]
    cells: list[np.ndarray] = []
    for j, feature in enumerate(schema):
        states = np.arange(len(feature.levels), dtype=np.float64)
        if feature.numeric:
            known = values[ordinary(feature, values[:, j]), j]
            low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
            states = np.array([low, high if high > low else low + 1.0, *feature.special])
        absent = np.isnan(values[:, j]).any() or feature.fillable
        cells.append(np.append(states, np.nan) if absent else states)
    columns = np.repeat(np.arange(len(schema)), [len(some) for some in cells])
    rows = np.repeat(base[None], len(columns), axis=0)
    rows[np.arange(len(columns)), columns] = np.concatenate(cells)
    intercept = float(ask(base[None])[0])
    gained = ask.possible(rows) - intercept
    slopes, missing = np.zeros(len(schema)), np.full(len(schema), np.nan)
    levels: list[np.ndarray] = []
    special: list[np.ndarray] = []
    for j, feature in enumerate(schema):
        own, weights = cells[j], gained[columns == j]
        offset = 0.0
        if feature.numeric:
            slopes[j] = (weights[1] - weights[0]) / (own[1] - own[0])
            offset = float(weights[0] - slopes[j] * own[0])
        if np.isnan(own[-1]):
            missing[j] = weights[-1] - offset
        intercept += offset
        levels.append(np.empty(0) if feature.numeric else weights[: len(feature.levels)])
        special.append(weights[2 : 2 + len(feature.special)] - offset if feature.numeric else np.empty(0))
    return intercept, slopes, tuple(levels), tuple(special), missing


def _shuffled(values: np.ndarray) -> np.ndarray:
    """Training rows, half of them with every column shuffled by itself, so that no two cells go together."""
    random = np.random.default_rng(0)
    rows = values[random.permutation(len(values))[:_PROBE_ROWS]].copy()
    half = rows[: len(rows) // 2]
    rows[: len(half)] = random.permuted(half, axis=0)
    return rows


def _threshold(goal: GoalLike, rows: np.ndarray, asked: np.ndarray) -> float:
    """The least score that meets the goal, by the link between the model's score and what the goal is judged by."""
    met, score, _ = goal.judge(rows)
    if goal.probability is None:
        if np.allclose(score, asked, rtol=1e-9, atol=1e-9):
            return goal.margin
        if np.isin(score, (0.0, 1.0)).all() and np.array_equal(met, asked > 0):
            return 0.0
        chance, wanted = (score + 1) / 2, (1 + goal.margin) / 2
    else:
        chance, wanted = score, goal.probability + goal.margin
    if wanted >= 1:
        raise NotLinearError("no finite score has a probability of 1; ask for less")
    slope, offset = _logistic(asked, chance)
    return float((logit(wanted) - offset) / slope)


def _logistic(asked: np.ndarray, chance: np.ndarray) -> tuple[float, float]:
    """Slope and offset of the logistic function that makes scores probabilities: 1 and 0, or those of Platt's."""
    if np.allclose(expit(asked), chance, rtol=0, atol=_LINK):
        return 1.0, 0.0
    inner = (chance > 1e-6) & (chance < 1 - 1e-6)
    if inner.sum() >= 2 and np.ptp(asked[inner]) > 0:
        slope, offset = np.polyfit(asked[inner], logit(chance[inner]), 1)
        if slope > 0 and np.allclose(expit(slope * asked + offset), chance, rtol=0, atol=_LINK):
            return float(slope), float(offset)
    raise NotLinearError("its probability is no logistic function of its decision_function")
