"""Other packages beside the guarded search on the same rows: `python -m benchmarks.guarded_peers`.

HELOC (paper's version) and German credit, 80/20 by seed 0, two classifiers; the first 100 test rows that the classifier
refuses. dice-ml 0.12, treecf 0.3.2, NICEx 0.2.3 and alibi 0.9.6 take part if they are installed:

    pip install dice-ml==0.12 treecf==0.3.2
    pip install --no-deps NICEx==0.2.3
    pip install 'alibi[tensorflow]==0.9.6'    # in an environment of its own: it needs NumPy 1

Nothing that a method reports about itself is used: its answers are read as a frame, checked, and put to the classifier
again. Figures are kept in a file, so that single methods can be measured again; `--write` only makes the table from it.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from attain.core.errors import MissingExtraError
from attain.metrics import AnswerMatrix, Background
from attain.metrics.measures import MEASURES as CATALOGUE
from attain.metrics.measures import connected, inlier
from attain.metrics.report import REAL
from attain.schema import Constraints, Schema
from attain.schema.laws import find_laws
from attain.tables import Region, Table
from benchmarks.guarded import CONNECTED, DATA, FIRST, SPHERES, TYPICAL, methods
from benchmarks.methods import ONE_THREAD
from experiments import CLASSIFIERS
from experiments.bench.cases import Split
from experiments.bench.methods import OUTSIDE, Factory

SETS = ("HELOC", "German")
MODELS = ("logistic regression", "gradient boosting")
PEOPLE = 100
OWN = (CONNECTED, TYPICAL, FIRST, SPHERES, "NearestUnlike")
PACKAGES: Mapping[str, Factory] = {
    "dice-ml, genetic": OUTSIDE["dice-genetic"],
    "dice-ml, random": OUTSIDE["dice-random"],
    "dice-ml, kdtree": OUTSIDE["dice-kdtree"],
    "treecf, genetic": OUTSIDE["treecf"],
    "treecf, exact": OUTSIDE["treecf-exact"],
    "NICE, sparsity, frozen": OUTSIDE["nice-sparsity"],
    "NICE, proximity, frozen": OUTSIDE["nice-proximity"],
    "NICE, plausibility, frozen": OUTSIDE["nice-plausibility"],
    "alibi, reinforcement learning": OUTSIDE["alibi-rl"],
}
FAITHFUL = {"inlier_20": "LOF20", "connected_75": "conn75", "connected_95": "conn95"}
"""The measures of faithfulness, and their names in the table."""


FAITHFULNESS = (inlier(20), connected(0.75), connected(0.95), replace(CATALOGUE["possible"], optional=True))
MEASURES = (*FAITHFULNESS, "total_shift", "max_shift", "changed")


@dataclass(frozen=True)
class Judge:
    """A classifier, the rows it refuses, and what answers for them are measured against."""

    part: Split
    model: Any
    people: pd.DataFrame
    background: Background

    @classmethod
    def of(cls, part: Split, model: Any) -> Judge:
        desired = part.data.desired
        laws = find_laws(part.data.schema.features, Table.read(part.test, part.data.schema).values)
        background = Background(part.data.schema, model, part.train, part.y_train, target=desired, laws=laws)
        return cls(part, model, part.test[model.predict(part.test) != desired].iloc[:PEOPLE], background)

    def real(self) -> dict[str, np.ndarray]:
        """The faithfulness of real rows that no method has seen; of training rows the share that is possible."""
        desired = self.part.data.desired
        fine = (self.model.predict(self.part.test) == desired) & (self.part.y_test == desired).to_numpy()
        table = Table.read(self.part.test[fine].iloc[:PEOPLE], self.part.data.schema)
        figures, real = self._measured(table, table.values, np.ones(len(table), dtype=np.bool_), FAITHFULNESS)
        return figures | {"possible": real.reindex(["possible"]).to_numpy()}

    def figures(self, answers: pd.DataFrame) -> dict[str, np.ndarray]:
        """One number for each row and measure, NaN without a usable answer."""
        schema, own = self.part.data.schema, Table.read(self.people, self.part.data.schema)
        rows = cells_of(answers, schema)
        usable = ~np.isnan(rows).any(axis=1)
        for j, feature in enumerate(schema):
            usable &= (rows[:, j] == own.values[:, j]) | (not feature.immutable)
            usable &= (rows[:, j] % 1 == 0) | (feature.step != 1)
        kept = np.flatnonzero(usable)
        if kept.size:
            decided = self.model.predict(self.background.train.layout.frame(rows[kept]))
            usable[kept] = decided == self.part.data.desired
        kept, rows = np.flatnonzero(usable), np.where(usable[:, None], rows, np.nan)
        rules = np.full(len(rows), np.nan)
        rules[kept] = Region.of(own, Constraints()).allows(rows[kept], kept)
        return {"usable": usable.astype(np.float64), "rules": rules, **self._measured(own, rows, usable, MEASURES)[0]}

    def _measured(
        self, table: Table, rows: np.ndarray, found: np.ndarray, measures: Any
    ) -> tuple[dict[str, np.ndarray], pd.Series]:
        """One number for each row and measure, and real people's mean of each measure."""
        given = AnswerMatrix(table, rows, found, self.part.data.desired)
        evaluation = self.background.evaluate(given, measures=measures, resamples=1)
        columns = {str(name): column.to_numpy() for name, column in evaluation.frame.drop(columns="found").items()}
        return columns, evaluation.summary["real"]


def cells_of(frame: pd.DataFrame, schema: Schema) -> np.ndarray:
    """A frame of answers as a matrix; NaN without an answer, for text in numbers and for unknown levels."""
    columns = [
        pd.to_numeric(frame[feature.name], errors="coerce")
        if feature.numeric
        else frame[feature.name].astype(object).map({level: code for code, level in enumerate(feature.levels)})
        for feature in schema
    ]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def measured(judge: Judge, explainer: Any) -> dict[str, np.ndarray]:
    """The figures of a fitted method, and its CPU seconds per row."""
    desired = judge.part.data.desired
    explainer.explain(judge.model, judge.people.iloc[:2], target=desired)
    started = time.process_time()
    answered = explainer.explain(judge.model, judge.people, target=desired)
    seconds = (time.process_time() - started) / len(judge.people)
    return judge.figures(answered.frame) | {"seconds": np.array([seconds])}


def measure(known: dict[str, np.ndarray], keep: Callable[[], None], chosen: set[str]) -> None:
    """Adds what is missing: by `DATA/CLASSIFIER/METHOD/MEASURE`, one number per row."""
    for name in SETS:
        data = DATA[name]()
        part = Split(data, *train_test_split(data.X, data.y, test_size=0.2, random_state=0))
        judges = {
            model: Judge.of(part, CLASSIFIERS[model](data.schema, 0).fit(part.train, part.y_train)) for model in MODELS
        }
        for model, judge in judges.items():
            known[f"{name}/{model}/reference"] = np.array([len(judge.background.reference), len(judge.people)])
            known |= {f"{name}/{model}/{REAL}/{key}": values for key, values in judge.real().items()}
        missing = {
            method: [model for model in models_of(method) if f"{name}/{model}/{method}/usable" not in known]
            for method in (*OWN, *PACKAGES)
            if method in chosen
        }
        own = methods(part) if any(missing.get(method) for method in OWN) else {}
        for method, models in missing.items():
            if not models:
                continue
            try:
                made = own[method] if method in OWN else PACKAGES[method].make(data.schema, 0, None, None)
                explainer = made.fit(part.train, part.y_train)
            except MissingExtraError as error:
                print(f"{name}, {method}: {error}", flush=True)
                continue
            for model in models:
                figures = measured(judges[model], explainer)
                known |= {f"{name}/{model}/{method}/{key}": values for key, values in figures.items()}
                keep()
                print(f"{name}, {model}, {method}: {figures['seconds'][0]:.3f} s per row", flush=True)


def models_of(method: str) -> tuple[str, ...]:
    """The classifiers that a method is measured with."""
    return ("gradient boosting",) if method.startswith(("treecf", "alibi")) else MODELS


def main() -> None:
    """Measures what the file of figures lacks, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", type=Path, default=Path("guarded_peers.npz"))
    parser.add_argument("--methods", nargs="*", default=[*OWN, *PACKAGES], choices=[*OWN, *PACKAGES])
    parser.add_argument("--write", action="store_true", help="measure nothing, write the table from the figures")
    given = parser.parse_args()
    known = dict(np.load(given.figures)) if given.figures.exists() else {}
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}"
    from threadpoolctl import threadpool_limits

    from benchmarks.guarded_peers_table import write

    if not given.write:
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            measure(known, lambda: np.savez_compressed(given.figures, **known), set(given.methods))
    write(known)


if __name__ == "__main__":
    main()
