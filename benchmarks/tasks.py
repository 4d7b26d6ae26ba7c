"""The tasks that several benchmarks share: a data set of the paper, a split, a classifier, the rows it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attain.datasets import load_german, load_gmsc, load_heloc
from attain.schema import KINDS, Feature, Schema
from experiments.bench.cases import Split
from experiments.bench.classifiers import CLASSIFIERS


@dataclass(frozen=True, eq=False)
class Task(Split):
    """A split, and a classifier trained on its first part."""

    model: Any

    @property
    def refused(self) -> pd.DataFrame:
        """Held-out rows that the classifier refuses."""
        return self.test[self.model.predict(self.test) != self.data.desired]

    def many_refused(self, number: int, seed: int = 0) -> pd.DataFrame:
        """Distinct rows that the classifier refuses: refused rows, moved a little on the grid."""
        random = np.random.default_rng(seed)
        pool = self.train[self.model.predict(self.train) != self.data.desired]
        made: list[pd.DataFrame] = []
        while sum(map(len, made)) < number:
            drawn = pool.sample(number, replace=True, random_state=int(random.integers(2**31))).reset_index(drop=True)
            for feature in self.data.schema:
                if feature.searched and feature.numeric and not feature.special:
                    column = self.train[feature.name]
                    moved = drawn[feature.name] + random.normal(0, 0.05 * column.std(), number)
                    moved = moved.clip(column.min(), column.max())
                    drawn[feature.name] = moved.round() if feature.integral else moved
            drawn = drawn.astype(self.train.dtypes)
            made.append(drawn[self.model.predict(drawn) != self.data.desired].drop_duplicates())
        return pd.concat(made).drop_duplicates().iloc[:number].reset_index(drop=True)


def paper_task(name: str, split: int, model: Any = None) -> Task:
    """HELOC or GMSC in the paper's version, or German credit, 80/20, with an l₂ logistic regression by default."""
    data = load_german() if name == "German" else {"HELOC": load_heloc, "GMSC": load_gmsc}[name](version="paper")
    train, test, y_train, y_test = train_test_split(data.X, data.y, test_size=0.2, random_state=split)
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)) if model is None else model
    if model is None and name == "German":
        classifier = CLASSIFIERS["logistic regression"](data.schema, split)
    return Task(data, train, test, y_train, y_test, classifier.fit(train, y_train))


def random_table(columns: int, levels: int, rows: int = 600) -> tuple[Schema, pd.DataFrame, np.ndarray]:
    """A schema of columns of all six kinds in turn, random rows and labels; no column has more than so many levels."""
    random, features, cells = np.random.default_rng(0), [], {}
    for j in range(columns):
        kind, name = KINDS[j % len(KINDS)], f"x{j}"
        own = max(2, levels >> (j // len(KINDS) % 4))  # columns have different numbers of levels
        if kind in ("ordinal", "categorical"):
            features.append(Feature(name, kind, levels=tuple(f"level {k}" for k in range(own))))
            cells[name] = np.char.add("level ", random.integers(0, own, rows).astype(str))
        else:
            features.append(Feature(name, kind, bounds=(0.0, 1.0) if kind == "interval" else (None, None)))
            cells[name] = random.poisson(3, rows) if kind == "count" else np.round(random.random(rows), 4)
    frame = pd.DataFrame(cells)
    return Schema(tuple(features)), frame, (frame["x0"] + random.normal(0, 0.2, rows) > 0.5).to_numpy(dtype=int)
