"""Models whose score has a known slope: how much the target class gains when a cell moves, in the cell's own units.

Linear models and support vector machines with a Gaussian or linear kernel, alone or at the end of scikit-learn
pipelines, are read out exactly; adapters with a `gradient` (PyTorch modules, functions written in JAX) are
differentiated by their library.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
from scipy.spatial.distance import cdist

from attain.core.errors import ModelError
from attain.models.goal import Goal
from attain.models.structure.encoding import Encoding, Preprocessing, StructureError, dense, once
from attain.models.structure.linear import LinearScore, leads_of, target_position
from attain.schema import Schema

_KERNEL_CELLS: Final = 4_000_000
"""How many kernel values are held at once."""


class Smooth(Protocol):
    """A score of rows of the matrix, larger where the target class is nearer, and its slope.

    Ordered levels may lie between two positions. The slope is 0 in cells without one: levels without an order, special
    codes, missing cells.
    """

    def score(self, rows: np.ndarray) -> np.ndarray:
        """The score of each row, (n,)."""
        ...

    def slope(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The score of each row, (n,), and its slope in each cell, (n, d)."""
        ...


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
    return once(goal, "smooth", lambda: _smooth_score(goal, schema, rows))


def _smooth_score(goal: Goal, schema: Schema, rows: np.ndarray) -> Smooth:
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

    Sums run row by row rather than as matrix products, whose last bits depend on the rows beside a row.
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
        goal.judge(rows[:1])  # a model that cannot be asked at all raises its own error
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
        columns = self._reader.columns
        lead, gradient = self._reader.gradient(values[:, columns], self._class)
        slope = np.zeros(rows.shape)
        slope[:, columns] = gradient
        return lead, np.where(spacing == 0, 0.0, slope * spacing)
