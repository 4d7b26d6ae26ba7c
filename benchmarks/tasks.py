"""The tasks of the benchmarks: data sets, a split, a classifier, the rows it refuses."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attain import Schema
from attain.datasets import Dataset
from experiments.bench.cases import LOADERS, Split
from experiments.bench.classifiers import CLASSIFIERS

DATA = {name: LOADERS[name.lower()] for name in ("GMSC", "Adult", "HELOC", "COMPAS", "German")}
READING = {
    "cards": ("cards.csv.gz", "default payment", 0, ("SEX", "AGE")),
    "student": ("student.csv", "class", "High", ("sex", "age")),
}
"""Tables that nothing is tuned on, in the folder `reading` of `ATTAIN_DATA`: file, label, desired, immutable."""


@dataclass(frozen=True, eq=False)
class Task(Split):
    """A split, and a classifier trained on its first part."""

    model: Any

    @property
    def refused(self) -> pd.DataFrame:
        """Held-out rows that the classifier refuses."""
        return self.test[self.model.predict(self.test) != self.data.desired]


def paper_task(name: str, split: int) -> Task:
    """A data set, 80/20, with an l₂ logistic regression."""
    data = DATA[name]()
    train, test, y_train, y_test = train_test_split(data.X, data.y, test_size=0.2, random_state=split)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model = CLASSIFIERS["logistic regression"](data.schema, split) if name == "German" else linear
    return Task(data, train, test, y_train, y_test, model.fit(train, y_train))


def inferred(name: str, X: pd.DataFrame, y: pd.Series, desired: Any, immutable: tuple[str, ...] = ()) -> Dataset:
    """A table with the schema that is inferred from it."""
    return Dataset(name, X, y, Schema.infer(X, immutable=immutable), desired, "", "", "")


def breast_cancer() -> Dataset:
    """Breast cancer, whose desired class is benign; 30 columns."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return inferred("breast cancer", X, y, 1)


def read_table(name: str) -> Dataset:
    """A table of `READING`."""
    file, label, desired, immutable = READING[name]
    frame = pd.read_csv(Path(os.environ["ATTAIN_DATA"]) / "reading" / file, keep_default_na=False, na_values=[""])
    return inferred(name, frame.drop(columns=label), frame[label], desired, immutable)


def wide(rows: int = 10_000) -> Dataset:
    """Made-up data: 60 numbers and 20 levels with few common causes, five of them immutable, and a label."""
    random = np.random.default_rng(0)
    causes = random.normal(size=(rows, 8))
    numbers = causes @ random.normal(size=(8, 80)) + random.normal(size=(rows, 80))
    X = pd.DataFrame({f"x{j}": numbers[:, j].round(2) for j in range(60)})
    for j in range(60, 80):
        X[f"x{j}"] = pd.cut(numbers[:, j], [-np.inf, -2, 0, 2, np.inf], labels=["a", "b", "c", "d"]).astype(str)
    score = numbers[:, :20] @ random.normal(size=20) + 2 * random.normal(size=rows)
    y = pd.Series(np.where(score > np.quantile(score, 0.6), "yes", "no"))
    return inferred("80 columns", X, y, "yes", ("x0", "x1", "x2", "x60", "x61"))


ALL: dict[str, Callable[[], Dataset]] = {
    **DATA,
    "breast cancer": breast_cancer,
    "80 columns": wide,
    **{name: partial(read_table, name) for name in READING},
}
"""Every table of the benchmarks of the guarded search."""


def hand_over(folder: Path, schema: Schema, train: pd.DataFrame, labels: Any, people: pd.DataFrame, model: Any) -> None:
    """Writes a task for `benchmarks.versions`; the desired label and class are 1."""
    task = {"schema": schema.to_toml(), "train": train, "labels": labels, "people": people}
    (folder / "task.pkl").write_bytes(pickle.dumps(task))
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
