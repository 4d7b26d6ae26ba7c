"""treecf (0.3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, Self

import numpy as np
import pandas as pd

from attain.core.errors import ModelError
from attain.schema import Schema
from experiments.bench.methods import installed
from experiments.outside.shared import FrameResult, each, movable, quiet, reachable, seed

_MARGIN: Final = 1e-6
_TIME: Final = 5.0
"""Time limit of the search per row, in seconds."""


class TreeCF:
    """Counterfactuals of tree ensembles by treecf: its genetic search, or its exact one with five seconds per row.

    Takes scikit-learn's forests and boosting of two classes, alone or after a column transformer whose parts are
    `passthrough` and one-hot encoders.

    Parameters
    ----------
    schema
        What the columns are.
    random_state
        The seed.
    backend
        `genetic` or `exact`.
    """

    def __init__(self, schema: Schema, random_state: int = 0, backend: Literal["genetic", "exact"] = "genetic") -> None:
        self.package = installed("treecf", "treecf")
        self.schema, self.backend, self.random_state = schema, backend, random_state

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Keeps the training rows, for the scales of their columns."""
        self.train_ = X
        return self

    def explain(self, model: Any, X: pd.DataFrame, *, target: Any) -> FrameResult:
        """One answer per row."""
        step, trees = _opened(model)
        columns = [(name, None) for name in X.columns] if step is None else _columns(step)
        encode = _numbers if step is None else lambda frame: np.asarray(step.transform(frame), dtype=np.float64)
        package = self.package
        try:
            with quiet():
                bare = package.Explainer(trees, encode(self.train_))
        except package.UnsupportedModelError as error:
            raise ModelError(f"treecf does not take this classifier: {error}") from None
        # of a forest the raw score is the probability of the second class, of boosting its log-odds
        threshold = 0.5 if type(trees).__name__.startswith("RandomForest") else 0.0
        second = list(trees.classes_).index(target) == 1
        goal = package.Target.raw(op=">=" if second else "<=", value=threshold + (_MARGIN if second else -_MARGIN))
        made: dict[frozenset[int], Any] = {}

        def answer(person: pd.DataFrame) -> dict[str, Any] | None:
            own = dict(person.iloc[0])
            fixed = frozenset(
                place
                for place, (name, level) in enumerate(columns)
                if not movable(self.schema[name], own[name])
                or (level is not None and level not in reachable(self.schema[name], own[name], self.schema.max_months))
            )
            with quiet():
                if fixed not in made:
                    made[fixed] = self._explainer(bare, columns, fixed)
                row = encode(person)[0]
                found = made[fixed].explain(
                    row, goal, backend=self.backend, time_budget_s=_TIME, seed=seed(self.random_state, person)
                )
            if isinstance(found, package.Infeasible):
                return None
            return _decoded(row, np.asarray(found.x_cf), columns, person)

        return each(X, self.schema, answer)

    def _explainer(self, bare: Any, columns: Sequence[tuple[str, Any]], fixed: frozenset[int]) -> Any:
        """The explainer of rows for which these columns of the trees are fixed."""
        package, names = self.package, bare.ir.feature_names
        rules: list[Any] = []
        policies: dict[str, Any] = {}
        groups: dict[str, list[str]] = {}
        for place, (title, (name, level)) in enumerate(zip(names, columns, strict=True)):
            feature = self.schema[name]
            if place in fixed:
                rules.append(package.Freeze(title))
            if level is not None and feature.searched:
                groups.setdefault(name, []).append(title)
            elif place not in fixed:
                low, high = feature.bounds
                if (low, high) != (None, None):
                    rules.append(
                        package.Range(title, -np.inf if low is None else low, np.inf if high is None else high)
                    )
                if feature.direction != "any":
                    rules.append(package.Monotone(title, feature.direction))
                if feature.step is not None:
                    policies[title] = "integer" if feature.step == 1 else package.Grid(feature.step)
        rules += [package.OneHot(tuple(titles)) for titles in groups.values() if len(titles) > 1]
        return package.Explainer(bare.ir, bare.background, rules, value_policy=policies)


def _opened(model: Any) -> tuple[Any, Any]:
    """The step before the trees, or None, and the trees."""
    steps = getattr(model, "steps", None)
    if not isinstance(steps, list):
        return None, model
    if len(steps) > 2:
        raise ModelError("treecf takes trees alone, or after one column transformer")
    return (steps[0][1], steps[-1][1]) if len(steps) == 2 else (None, steps[0][1])


def _columns(step: Any) -> list[tuple[str, Any]]:
    """For each column that a column transformer gives, where it comes from: a feature, and a level of it or None."""
    columns: list[tuple[str, Any]] = []
    for _, part, names in getattr(step, "transformers_", ()):
        if part == "drop":
            continue
        if part == "passthrough" or type(part).__name__ == "FunctionTransformer":
            columns += [(str(name), None) for name in names]
        elif type(part).__name__ == "OneHotEncoder" and getattr(part, "drop", None) is None:
            columns += [
                (str(name), level) for name, levels in zip(names, part.categories_, strict=True) for level in levels
            ]
        else:
            raise ModelError(f"treecf takes numbers as they are and one-hot levels, not a {type(part).__name__}")
    if not columns:
        raise ModelError(f"treecf takes trees alone, or after a column transformer, not a {type(step).__name__}")
    return columns


def _decoded(
    before: np.ndarray, after: np.ndarray, columns: Sequence[tuple[str, Any]], person: pd.DataFrame
) -> dict[str, Any]:
    """A row of the trees' columns as a record; what did not move is the person's own."""
    record = dict(person.iloc[0])
    for place in np.flatnonzero(before != after):
        name, level = columns[int(place)]
        if level is None:
            record[name] = after[place]
        elif after[place] > 0.5:
            record[name] = level
    return record


def _numbers(frame: pd.DataFrame) -> np.ndarray:
    return frame.to_numpy(dtype=np.float64)
