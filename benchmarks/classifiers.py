"""Compiled scores beside the library's own call: `python -m benchmarks.classifiers`.

Classifiers behind a pipeline (one-hot encoded levels, imputed and scaled numbers), trained on 10,000 rows of HELOC and
Adult. The library's time is that of a search's question: a frame is built, the steps run, and the scores are checked.
Rows are training rows with each column shuffled by itself. CPU time of one thread, in turn, the least of several;
`NumPy` is the same score without kernels. `differ` is the largest difference of a score on all training rows; `reading`
is the time to read the model and to find its splits in cells of the matrix, once for each model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from attain.core import compiled
from attain.datasets import Dataset, load_adult, load_heloc
from attain.models import Goal, probe_rows
from attain.models.structure.compiled import compile_score
from attain.tables import Table
from benchmarks import report

DATA = {"HELOC": load_heloc, "Adult": load_adult}
MODELS: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: LogisticRegression(max_iter=1000),
    "ridge": RidgeClassifier,
    "decision tree, 50 leaves": lambda: DecisionTreeClassifier(max_leaf_nodes=50, random_state=0),
    "random forest, 100 trees": lambda: RandomForestClassifier(min_samples_leaf=5, random_state=0),
    "GradientBoosting, 100 of depth 3": lambda: GradientBoostingClassifier(random_state=0),
    "HistGradientBoosting, 100 of 31 leaves": lambda: HistGradientBoostingClassifier(early_stopping=False),
    "XGBoost, 100 of depth 6": lambda: XGBClassifier(n_jobs=1),
    "LightGBM, 100 of 31 leaves": lambda: LGBMClassifier(n_jobs=1, verbose=-1),
}
SIZES = (1, 100, 10_000)
_ROWS = 10_000
_SECONDS = 0.05
_ROUNDS = 2


def main() -> None:
    """Measures every classifier on both data sets and writes the table."""
    if not compiled.load_all():
        raise SystemExit("kernels are not available; install numba, and unset ATTAIN_COMPILED")
    body = ""
    header = ("classifier", *(f"library, {n:,}" for n in SIZES), *(f"compiled, {n:,}" for n in SIZES))
    header += (*(f"factor, {n:,}" for n in SIZES), "NumPy factor, 1", "NumPy factor, 100", "differ", "reading, s")
    with threadpool_limits(1):
        for name, load in DATA.items():
            data = load()
            body += f"## {name}, {data.X.shape[1]} columns\n\nµs for each row, by rows in a call.\n\n"
            body += report.table(header, list(_lines(data))) + "\n\n"
    report.write("classifiers", "Compiled scores of classifiers", "python -m benchmarks.classifiers", body)


def _lines(data: Dataset) -> Iterator[tuple[str, ...]]:
    X, y = data.X.head(_ROWS), (np.asarray(data.y) == data.desired).astype(int)[:_ROWS]
    table = Table.read(X, data.schema)
    levels = [feature.name for feature in data.schema if not feature.numeric]
    numbers = [feature.name for feature in data.schema if feature.numeric]
    rows = np.random.default_rng(0).permuted(table.values[: max(SIZES)], axis=0)
    for name, made in MODELS.items():
        steps = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), levels),
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        )
        model = make_pipeline(steps, made()).fit(X, y)
        goal = Goal(model, table.layout, target=1, probe=probe_rows(table.values), tolerant=True)
        judged = goal.judge(table.values)
        started = time.process_time()
        score = compile_score(goal, table.values, lambda judged=judged: (judged.met, judged.score))  # type: ignore[misc]
        reading = time.process_time() - started
        assert score is not None, f"{name} is not compiled"
        yield (name, *_measured(goal, score, rows, np.abs(score(table.values) - judged.score).max()), f"{reading:.2f}")


def _measured(goal: Goal, score: Callable[[np.ndarray], Any], rows: np.ndarray, differ: float) -> tuple[str, ...]:
    library, quick, plain = np.full((3, len(SIZES)), np.inf)
    for _ in range(_ROUNDS):
        for k, n in enumerate(SIZES):
            some = rows[:n]
            library[k] = min(library[k], _microseconds(goal.judge, some))
            quick[k] = min(quick[k], _microseconds(score, some))
            if n < max(SIZES):
                with patch.object(compiled, "_in_use", False):
                    plain[k] = min(plain[k], _microseconds(score, some))
    return (
        *(f"{each:,.3g}" if each < 100 else f"{each:,.0f}" for each in (*library, *quick)),
        *(f"{factor:,.0f}" if factor > 10 else f"{factor:.1f}" for factor in library / quick),
        *(f"{factor:,.0f}" if factor > 10 else f"{factor:.1f}" for factor in (library / plain)[:-1]),
        f"{differ:.1g}",
    )


def _microseconds(ask: Callable[[np.ndarray], Any], rows: np.ndarray) -> float:
    """CPU microseconds for each row: the mean of several calls after a first one."""
    ask(rows)
    calls = 0
    started = time.process_time()
    while time.process_time() - started < _SECONDS:
        ask(rows)
        calls += 1
    return 1e6 * (time.process_time() - started) / calls / len(rows)


if __name__ == "__main__":
    main()
