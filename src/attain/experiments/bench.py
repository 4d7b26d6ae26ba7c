"""Data sets × classifiers × methods, measured the same way: one row for each cell.

Nothing a method says of itself is believed: its answers are read as a frame, checked against the rules by a second,
plain check, put to the classifier again, and measured against people it has not seen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from attain.constraints import Constraints
from attain.datasets import Dataset
from attain.errors import AttainError, ModelError
from attain.experiments.classifiers import CLASSIFIERS
from attain.experiments.methods import all_methods
from attain.metrics import evaluate
from attain.progress import track
from attain.region import Region
from attain.schema import Schema
from attain.status import Status
from attain.table import Table
from attain.testing.rules import broken_rules

MEASURES = {"total_shift": "total_shift", "max_shift": "max_shift", "inlier": "inlier", "connected": "connected_90"}
"""What a cell reports in both averages, and what `attain.metrics.evaluate` calls it."""
OK, NOT_APPLICABLE = "ok", "not applicable"


@dataclass(frozen=True)
class _Split:
    """One data set in two parts; 70 % are for training."""

    data: Dataset
    train: pd.DataFrame
    test: pd.DataFrame
    y_train: pd.Series
    y_test: pd.Series

    @classmethod
    def of(cls, data: Dataset, seed: int) -> _Split:
        return cls(data, *train_test_split(data.X, data.y, test_size=0.3, random_state=seed, stratify=data.y))


@dataclass(frozen=True, eq=False)
class _Answers:
    """The answers that count, in the form `evaluate` takes."""

    table: Table
    answers: np.ndarray
    found: np.ndarray
    target: Any
    probability: None = None


def run(
    datasets: Sequence[Dataset],
    *,
    people: int = 20,
    seed: int = 0,
    classifiers: Mapping[str, Callable[[Schema, int], Any]] = CLASSIFIERS,
    explainers: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Every method on every data set and classifier: one row for each cell.

    Columns: `dataset`, `classifier`, `method`, `status` (`ok` or `not applicable`), `reason`; `people` asked about;
    `success`, the share with an answer that the classifier decides for and that breaks no rule; `rules_broken`, how
    many answers break one; each measure over the people answered and `_charged`, where a person without such an answer
    counts as one who must change everything; `seconds` of CPU and `rows_scored` per person; `fit_seconds`.

    Parameters
    ----------
    datasets
        Each is split 70/30 by the seed.
    people
        So many held-out people whom the classifier refuses are asked about.
    seed
        Of split, classifiers and methods.
    classifiers
        By name, a function of schema and seed that gives a classifier, not fitted.
    explainers
        By name, anything with `explain(model, X, target=...)` that gives a `Counterfactuals` or a frame like `X`, with
        missing rows for people without an answer; what has a `fit(X, y)` is fitted on the training part first. By
        default every method of the package.
    """
    if people < 1:
        raise AttainError(f"people is {people}; it takes a whole number from 1 upward")
    names = [data.name for data in datasets]
    methods = len(explainers) if explainers is not None else _number_of_methods()
    bar = track(len(datasets) * len(classifiers) * methods, "bench", unit="cells")
    rows: list[dict[str, Any]] = []
    try:
        # several threads would add the time they wait for each other to everybody's CPU seconds
        with threadpool_limits(1):
            for data in datasets:
                split = _Split.of(data, seed)
                models = {
                    name: make(data.schema, seed).fit(split.train, split.y_train) for name, make in classifiers.items()
                }
                train = Table.read(split.train, data.schema).values
                for method, explainer in (
                    all_methods(data.schema, train, seed) if explainers is None else explainers
                ).items():
                    rows += _cells(method, explainer, models, split, people, bar.update)
    finally:
        bar.close()
    place = {name: position for position, name in enumerate(classifiers)}
    order = sorted(range(len(rows)), key=lambda i: (names.index(rows[i]["dataset"]), place[rows[i]["classifier"]]))
    return pd.DataFrame([rows[i] for i in order])


def _cells(
    method: str, explainer: Any, models: Mapping[str, Any], split: _Split, people: int, done: Callable[[int], object]
) -> list[dict[str, Any]]:
    """One method, fitted once, against every classifier."""
    started = time.process_time()
    if hasattr(explainer, "fit"):
        explainer.fit(split.train, split.y_train)
    fitting = time.process_time() - started
    cells = []
    for classifier, model in models.items():
        cell = {"dataset": split.data.name, "classifier": classifier, "method": method}
        cells.append(cell | _measured(explainer, model, split, people) | {"fit_seconds": fitting})
        done(1)
    return cells


def _number_of_methods() -> int:
    from attain import explainers

    return len(explainers.__all__) - 1  # all but the base class


def _measured(explainer: Any, model: Any, split: _Split, number: int) -> dict[str, Any]:
    """One cell; a refusal by the method itself is no failure."""
    refused = split.test[model.predict(split.test) != split.data.desired].iloc[:number]
    try:
        explainer.explain(model, refused.iloc[:1], target=split.data.desired)  # compiles what is to be compiled
        started = time.process_time()
        result = explainer.explain(model, refused, target=split.data.desired)
        seconds = (time.process_time() - started) / max(len(refused), 1)
    except ModelError as error:
        return {"status": NOT_APPLICABLE, "reason": str(error), "people": len(refused)}
    if Status.INTERRUPTED in getattr(result, "outcome", ()):
        raise KeyboardInterrupt
    answers, broken = _checked(result, refused, model, split)
    summary = evaluate(answers, model, split.train, split.y_train, X_test=split.test, y_test=split.y_test).summary
    spent = getattr(result, "person_figures", {}).get("rows_scored")
    cell = {
        "status": OK,
        "reason": "",
        "people": len(refused),
        "success": float(answers.found.mean()) if len(refused) else math.nan,
        "rules_broken": broken,
    }
    for name, measure in MEASURES.items():
        cell |= {name: summary.loc[measure, "mean"], f"{name}_charged": summary.loc[measure, "charged"]}
    return cell | {"seconds": seconds, "rows_scored": math.nan if spent is None else float(np.mean(spent))}


def _checked(result: Any, people: pd.DataFrame, model: Any, split: _Split) -> tuple[_Answers, int]:
    """The answers that break no rule and that the model decides for, and how many break one."""
    frame = getattr(result, "frame", result)
    schema, desired = split.data.schema, split.data.desired
    table = Table.read(people, schema)
    answered = ~frame.isna().all(axis=1).to_numpy()
    columns = list(people.columns)
    before, after = people.to_dict("records"), frame[columns].to_dict("records")
    fine = answered.copy()
    for i in np.flatnonzero(answered):
        fine[i] = not broken_rules(schema, _by_name(before[i]), _by_name(after[i]))
    rows = np.full(table.values.shape, np.nan)
    kept = np.flatnonzero(fine)
    valid = np.zeros(len(people), dtype=np.bool_)
    if kept.size:
        read = frame[columns].iloc[kept].astype(people.dtypes)
        rows[kept] = Table.read(read, schema).values
        fine[kept] = Region.of(table, Constraints()).allows(rows[kept], kept)
        valid[kept] = fine[kept] & (np.asarray(model.predict(read)) == desired)
    rows[~valid] = np.nan
    return _Answers(table, rows, valid, desired), int((answered & ~fine).sum())


def _by_name(record: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in record.items()}
