"""DiCE (dice-ml 0.12)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from attain.core.errors import ModelError
from attain.schema import Schema
from experiments.bench.methods import installed
from experiments.outside.shared import FrameResult, each, movable, quiet, reachable, seed


class DiceML:
    """Diverse Counterfactual Explanations (Mothilal, Sharma, Tan 2020): one answer per row.

    Takes classifiers with probabilities. Its own seeds do not make it repeatable, so Python's and NumPy's global
    generators are seeded for each row, and restored. Rows with a missing cell get no answer, since it takes none.

    Parameters
    ----------
    schema
        What the columns are.
    random_state
        The seed.
    method
        `genetic`, `random` or `kdtree`.
    """

    def __init__(
        self, schema: Schema, random_state: int = 0, method: Literal["genetic", "random", "kdtree"] = "genetic"
    ) -> None:
        self.package = installed("dice_ml", "dice-ml")
        self.schema, self.method, self.random_state = schema, method, random_state

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Keeps the training rows without missing cells."""
        complete = ~X.isna().any(axis=1).to_numpy()
        self.train_, self.labels_ = X[complete], np.asarray(y, dtype=object)[complete]
        return self

    def explain(self, model: Any, X: pd.DataFrame, *, target: Any) -> FrameResult:
        """One answer per row."""
        if not hasattr(model, "predict_proba"):
            raise ModelError("DiCE takes classifiers with predict_proba")
        asked = _Asked(model, self.schema, self.train_.dtypes, target)
        outcome = np.array([label == target for label in self.labels_], dtype=np.int64)
        name = _unused("outcome", self.schema)
        with quiet():
            data = self.package.Data(
                dataframe=_as_texts(self.train_, self.schema).assign(**{name: outcome}),
                continuous_features=[feature.name for feature in self.schema if feature.numeric],
                outcome_name=name,
            )
            wrapped = self.package.Model(model=asked, backend="sklearn")
            dice = self.package.Dice(data, wrapped, method=self.method)

        def answer(person: pd.DataFrame) -> dict[str, Any] | None:
            free = [name for name in self.schema.free if movable(self.schema[name], person[name].iloc[0])]
            if not free or person.isna().any(axis=None):
                return None
            with quiet(), _seeded(self.random_state, person):
                try:
                    found = dice.generate_counterfactuals(
                        _as_texts(person, self.schema),
                        total_CFs=1,
                        desired_class=1,
                        features_to_vary=free,
                        permitted_range={name: self._permitted(name, person[name].iloc[0]) for name in free},
                    )
                except _no_answer():
                    return None
            answers = found.cf_examples_list[0].final_cfs_df
            return None if answers is None or not len(answers) else dict(answers.iloc[0])

        return each(X, self.schema, answer, lambda: asked.rows)

    def _permitted(self, name: str, own: Any) -> list[Any]:
        """The range of a number, or the levels, that a row may reach."""
        feature = self.schema[name]
        if not feature.numeric:
            seen = set(self.train_[name])
            return [
                str(level) for level in reachable(feature, own, self.schema.max_months) if level in seen or level == own
            ]
        cells = self.train_[name].to_numpy(dtype=np.float64)
        cells = cells[~np.isin(cells, list(feature.special))]
        # a value outside of the training range stays as it is
        low, high = min(cells.min(), own), max(cells.max(), own)
        down, up = feature.range
        low = own if feature.direction == "increase" else low if down is None else max(low, own + down)
        high = own if feature.direction == "decrease" else high if up is None else min(high, own + up)
        return [float(low), float(high)]


class _Asked:
    """A classifier as DiCE calls it: levels as strings in, class 1 for the target out; counts rows."""

    def __init__(self, model: Any, schema: Schema, dtypes: Any, target: Any) -> None:
        self.model, self.dtypes = model, dtypes
        self.levels = {f.name: {str(level): level for level in f.levels} for f in schema if not f.numeric}
        self.classes = [label == target for label in model.classes_]
        self.rows = 0

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        chances = np.asarray(self.model.predict_proba(self._people(X)))[:, self.classes].sum(axis=1)
        return np.column_stack((1.0 - chances, chances))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        decided = np.asarray(self.model.predict(self._people(X)))
        return np.isin(decided, np.asarray(self.model.classes_)[self.classes]).astype(np.int64)

    def _people(self, X: pd.DataFrame) -> pd.DataFrame:
        self.rows += len(X)
        columns = {
            name: [self.levels[name][str(cell)] for cell in X[name]] if name in self.levels else X[name].to_numpy()
            for name in self.dtypes.index
        }
        # integers arrive as 3.0, also among strings
        numbers = {
            name: np.asarray(cells, dtype=np.float64) for name, cells in columns.items() if name not in self.levels
        }
        return pd.DataFrame({**columns, **numbers}, index=X.index)[list(self.dtypes.index)].astype(self.dtypes)


def _as_texts(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Levels as strings, which is how DiCE keeps them."""
    return frame.assign(**{f.name: frame[f.name].map(str).astype(object) for f in schema if not f.numeric})


def _no_answer() -> tuple[type[BaseException], ...]:
    """What DiCE raises if it finds nothing, or if a row is outside of the training range."""
    found = import_module("raiutils.exceptions").UserConfigValidationException
    return (found, ValueError)


def _unused(name: str, schema: Schema) -> str:
    while name in schema.names:
        name += "_"
    return name


@contextmanager
def _seeded(random_state: int, person: pd.DataFrame) -> Iterator[None]:
    """Seeds the global generators for one person, and puts them back."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed(random_state, person))
    np.random.seed(seed(random_state, person))  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
