"""Models whose score has a known slope: how much the target class gains when a cell moves, in the cell's own units.

Linear models and support vector machines with a Gaussian or linear kernel, alone or at the end of scikit-learn
pipelines, are read out exactly; functions and modules written in JAX or PyTorch are differentiated by their library
(`attain.models.structure.autodiff`).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from attain.core.errors import ModelError
from attain.models.adapter import plain_classes
from attain.models.goal import GoalLike
from attain.models.structure.encoding import Encoding
from attain.schema import Schema

_KERNEL_CELLS = 4_000_000
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


def smooth_if_possible(goal: GoalLike, schema: Schema, rows: np.ndarray, method: str, without: str) -> Smooth | None:
    """The smooth score a method asks for: none for `without`; for `auto` none where there is none; else it must be."""
    if method == without:
        return None
    try:
        return smooth_score(goal, schema, rows)
    except ModelError as error:
        if method == "auto":
            return None
        raise ModelError(f"method is {method!r}, but {error}; method={without!r} needs none") from error


def smooth_score(goal: GoalLike, schema: Schema, rows: np.ndarray) -> Smooth:
    """The score of the goal's model with its slope, or a `ModelError` that says why it has none.

    `rows` are real ones, some hundred, on which the preprocessing is learned.
    """
    steps, estimator = _unwrapped(goal.model.model)
    if not hasattr(estimator, "coef_") and not _is_kernel_machine(estimator):
        from attain.models.structure.autodiff import differentiated

        return differentiated(goal, schema, rows)
    weights, intercept = _weights(estimator)

    def transform(asked: np.ndarray) -> np.ndarray:
        batch = goal.reader.batch(asked)
        for step in steps:
            batch = step.transform(batch)
        return _dense(batch)

    encoding = Encoding.learn(transform, schema, rows)
    position = _target_position(goal, estimator)
    if weights is None:
        return KernelScore(encoding, estimator, 1.0 if position == 1 else -1.0)
    return LinearScore(encoding.folded(weights, intercept), position)


class LinearScore:
    """By how much a linear model's target class leads the best other one, in its decision function."""

    def __init__(self, encoding: Encoding, position: int) -> None:
        if encoding.width == 1:
            sign = np.array([[1.0 if position == 1 else -1.0]])
            encoding = encoding.folded(sign, np.zeros(1))
        else:
            others = [k for k in range(encoding.width) if k != position]
            lead = np.zeros((encoding.width, len(others)))
            lead[position] = 1.0
            lead[others, range(len(others))] = -1.0
            encoding = encoding.folded(lead, np.zeros(len(others)))
        self.encoding = encoding
        """The lead over each other class, folded into contributions of cells."""

    def score(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.encoding.encode(rows).min(axis=1))

    def slope(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        leads = self.encoding.encode(rows)
        closest = leads.argmin(axis=1)
        gradient = (np.arange(leads.shape[1]) == closest[:, None]).astype(np.float64)
        return leads[np.arange(len(rows)), closest], self.encoding.pulled(rows, gradient)


class KernelScore:
    """The decision function of a Gaussian support vector machine, Σ αᵢ exp(−γ‖z − zᵢ‖²) + b, signed for the target."""

    def __init__(self, encoding: Encoding, estimator: Any, sign: float) -> None:
        self.encoding = encoding
        self._gamma = float(estimator._gamma)  # scikit-learn resolves "scale" and "auto" here, and nowhere in public
        self._vectors = _dense(estimator.support_vectors_)
        self._weights = sign * _dense(estimator.dual_coef_).ravel()
        self._intercept = sign * float(estimator.intercept_[0])
        self._squares = (self._vectors**2).sum(axis=1)

    def score(self, rows: np.ndarray) -> np.ndarray:
        points = self.encoding.encode(rows)
        return np.concatenate([self._kernel(part).sum(axis=1) for part in self._parts(points)]) + self._intercept

    def slope(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        points = self.encoding.encode(rows)
        score, gradient = np.empty(len(rows)), np.empty_like(points)
        start = 0
        for part in self._parts(points):
            weighted = self._kernel(part)
            total = weighted.sum(axis=1)
            here = slice(start, start + len(part))
            score[here] = total + self._intercept
            gradient[here] = 2 * self._gamma * (weighted @ self._vectors - total[:, None] * part)
            start += len(part)
        return score, self.encoding.pulled(rows, gradient)

    def _parts(self, points: np.ndarray) -> list[np.ndarray]:
        size = max(_KERNEL_CELLS // len(self._vectors), 1)
        return [points[start : start + size] for start in range(0, max(len(points), 1), size)]

    def _kernel(self, points: np.ndarray) -> np.ndarray:
        """αᵢ exp(−γ‖z − zᵢ‖²) for each point and support vector."""
        distances = (points**2).sum(axis=1)[:, None] + self._squares - 2 * points @ self._vectors.T
        return np.asarray(self._weights * np.exp(-self._gamma * np.maximum(distances, 0.0)))


def _unwrapped(model: Any) -> tuple[list[Any], Any]:
    """The transforming steps before the estimator that decides, and that estimator."""
    steps: list[Any] = []
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "response_method") and hasattr(model, "estimator_"):
            model = model.estimator_  # a moved threshold leaves the order of rows as it is
        elif isinstance(getattr(model, "steps", None), list) and model.steps:
            steps += [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"]
            model = model.steps[-1][1]
        else:
            return steps, model


def _is_kernel_machine(estimator: Any) -> bool:
    return hasattr(estimator, "support_vectors_") and hasattr(estimator, "dual_coef_")


def _weights(estimator: Any) -> tuple[np.ndarray | None, np.ndarray]:
    """The weights (p, m) and intercepts (m,) of a linear model; None for those of a Gaussian kernel."""
    name = type(estimator).__name__
    if _is_kernel_machine(estimator):
        if len(estimator.classes_) != 2:
            raise ModelError(
                f"the {name} decides between {len(estimator.classes_)} classes by votes of pairs; only one that "
                "decides between two has a single score"
            )
        if estimator.kernel == "rbf":
            return None, np.zeros(1)
        if estimator.kernel != "linear":
            raise ModelError(f"the {name} has the kernel {estimator.kernel!r}; only 'rbf' and 'linear' are known")
    intercept = np.atleast_1d(np.asarray(estimator.intercept_, dtype=np.float64))
    weights = np.atleast_2d(_dense(estimator.coef_)).T
    return weights, np.broadcast_to(intercept, weights.shape[1:])


def _target_position(goal: GoalLike, estimator: Any) -> int:
    """Which class of the estimator the target is; the caller may have given the classes other names."""
    position = goal.classes.index(goal.target)
    spoken = goal.model.adapter.spoken or goal.classes
    classes = plain_classes(estimator.classes_) if hasattr(estimator, "classes_") else spoken
    return classes.index(spoken[position]) if spoken[position] in classes else position


def _dense(values: Any) -> np.ndarray:
    array = values.toarray() if hasattr(values, "toarray") else values
    return np.asarray(array, dtype=np.float64)
