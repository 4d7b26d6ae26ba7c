"""Other packages beside the guarded search on the same people: `python -m benchmarks.guarded_peers`.

HELOC (paper's version) and German credit, 80/20 by seed 0, two classifiers; the first 100 test people whom the
classifier refuses. dice-ml 0.12, treecf 0.3.2 and NICEx 0.2.3 take part where they are installed:

    pip install dice-ml==0.12 treecf==0.3.2
    pip install --no-deps NICEx==0.2.3

Nothing a method says of itself is used: its answers are read as a frame, checked, and put to the classifier again.
What was measured is kept in a file, so that single methods can be measured again; `--write` makes the table from it
alone.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from attain import metrics
from attain.core.errors import MissingExtraError
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.schema import Constraints, Schema
from attain.tables import Region, Table
from benchmarks.guarded import CONNECTED, DATA, FIRST, SPHERES, TYPICAL, Part, methods
from benchmarks.methods import ONE_THREAD
from benchmarks.peers_nice import FrozenNICE
from experiments import CLASSIFIERS
from experiments.bench.methods import OUTSIDE

SETS = ("HELOC", "German")
MODELS = ("logistic regression", "gradient boosting")
PEOPLE = 100
REAL = "real people"
"""Test people of the desired class, rightly classified: not a method, but what LOF and connectedness are for them."""
OWN = (CONNECTED, TYPICAL, FIRST, SPHERES, "NearestUnlike")
PACKAGES: Mapping[str, Callable[[Schema], Any]] = {
    "dice-ml, genetic": lambda schema: OUTSIDE["dice-genetic"].make(schema, 0, None, None),
    "dice-ml, random": lambda schema: OUTSIDE["dice-random"].make(schema, 0, None, None),
    "dice-ml, kdtree": lambda schema: OUTSIDE["dice-kdtree"].make(schema, 0, None, None),
    "treecf, genetic": lambda schema: OUTSIDE["treecf"].make(schema, 0, None, None),
    "treecf, exact": lambda schema: OUTSIDE["treecf-exact"].make(schema, 0, None, None),
    "NICE, sparsity, frozen": lambda schema: FrozenNICE(schema, "sparsity"),
    "NICE, proximity, frozen": lambda schema: FrozenNICE(schema, "proximity"),
    "NICE, plausibility, frozen": lambda schema: FrozenNICE(schema, "plausibility"),
}
FAITHFUL = {"LOF": "LOF20", "near 75": "conn75", "near 95": "conn95"}
"""The measures of faithfulness, and their names in the table."""


@dataclass(frozen=True)
class Judge:
    """What answers are measured against: a classifier, and the real people it rightly gives what is wanted."""

    part: Part
    model: Any
    table: Table
    people: pd.DataFrame
    reference: Reference
    percentiles: Percentiles

    @classmethod
    def of(cls, part: Part, model: Any) -> Judge:
        schema, desired = part.data.schema, part.data.desired
        table = Table.read(part.train, schema)
        reference = Reference.build(
            schema, table.values, desired_labels=(part.y_train == desired).to_numpy(),
            met=np.asarray(model.predict(part.train) == desired),
        )  # fmt: skip
        people = part.test[model.predict(part.test) != desired].iloc[:PEOPLE]
        return cls(part, model, table, people, reference, Percentiles.fit(schema, table.values))

    def real(self) -> dict[str, np.ndarray]:
        """The faithfulness of real people whom no method has seen."""
        desired = self.part.data.desired
        fine = (self.model.predict(self.part.test) == desired) & (self.part.y_test == desired).to_numpy()
        rows = Table.read(self.part.test[fine].iloc[:PEOPLE], self.part.data.schema).values
        return self._faithful(rows, np.ones(len(rows), dtype=bool))

    def figures(self, answers: pd.DataFrame) -> dict[str, np.ndarray]:
        """One number for each person and measure, NaN for who has no usable answer."""
        schema, own = self.part.data.schema, Table.read(self.people, self.part.data.schema)
        rows = _cells(answers, schema)
        usable = ~np.isnan(rows).any(axis=1)
        for j, feature in enumerate(schema):
            usable &= (rows[:, j] == own.values[:, j]) | (not feature.immutable)
            usable &= (rows[:, j] % 1 == 0) | (feature.step != 1)
        kept = np.flatnonzero(usable)
        if kept.size:
            usable[kept] = self.model.predict(self.table.layout.frame(rows[kept])) == self.part.data.desired
        kept, rows = np.flatnonzero(usable), np.where(usable[:, None], rows, np.nan)
        rules = np.full(len(rows), np.nan)
        rules[kept] = Region.of(own, Constraints()).allows(rows[kept], kept)
        return {
            "usable": usable.astype(np.float64),
            "rules": rules,
            **self._faithful(rows, usable),
            "TS": metrics.total_shift(rows, own.values, self.percentiles, usable),
            "MS": metrics.max_shift(rows, own.values, self.percentiles, usable),
            "changed": metrics.changed(rows, own.values, schema, usable),
        }

    def _faithful(self, rows: np.ndarray, found: np.ndarray) -> dict[str, np.ndarray]:
        epsilon = self.reference.epsilon
        near = metrics.connected_over(rows, self.reference, [epsilon[0.75], epsilon[0.95]], 3, found)
        return {
            "LOF": 1 - metrics.outlier(rows, self.reference, 20, found), "near 75": near[:, 0], "near 95": near[:, 1]
        }  # fmt: skip


def _cells(frame: pd.DataFrame, schema: Schema) -> np.ndarray:
    """A frame of answers as a matrix; NaN where there is no answer, no number or no known level."""
    columns = [
        pd.to_numeric(frame[feature.name], errors="coerce")
        if feature.numeric
        else frame[feature.name].astype(object).map({level: code for code, level in enumerate(feature.levels)})
        for feature in schema
    ]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def measured(judge: Judge, explainer: Any) -> dict[str, np.ndarray]:
    """The figures of a method, fitted already, and its CPU seconds per person."""
    desired = judge.part.data.desired
    explainer.explain(judge.model, judge.people.iloc[:2], target=desired)
    started = time.process_time()
    answered = explainer.explain(judge.model, judge.people, target=desired)
    seconds = (time.process_time() - started) / len(judge.people)
    return judge.figures(answered.frame) | {"seconds": np.array([seconds])}


def measure(known: dict[str, np.ndarray], keep: Callable[[], None], chosen: set[str]) -> None:
    """Adds what is not known yet: `DATA/CLASSIFIER/METHOD/MEASURE` to one number per person."""
    for name in SETS:
        data = DATA[name]()
        part = Part(data, *train_test_split(data.X, data.y, test_size=0.2, random_state=0))
        judges = {
            model: Judge.of(part, CLASSIFIERS[model](data.schema, 0).fit(part.train, part.y_train)) for model in MODELS
        }
        for model, judge in judges.items():
            known[f"{name}/{model}/reference"] = np.array([len(judge.reference), len(judge.people)])
            known |= {f"{name}/{model}/{REAL}/{key}": values for key, values in judge.real().items()}
        missing = {
            method: [model for model in _models(method) if f"{name}/{model}/{method}/usable" not in known]
            for method in (*OWN, *PACKAGES)
            if method in chosen
        }
        own = methods(part) if any(missing.get(method) for method in OWN) else {}
        for method, models in missing.items():
            if not models:
                continue
            try:
                made = own[method] if method in OWN else PACKAGES[method](data.schema)
                explainer = made.fit(part.train, part.y_train)
            except MissingExtraError as error:
                print(f"{name}, {method}: {error}", flush=True)
                continue
            for model in models:
                figures = measured(judges[model], explainer)
                known |= {f"{name}/{model}/{method}/{key}": values for key, values in figures.items()}
                keep()
                print(f"{name}, {model}, {method}: {figures['seconds'][0]:.3f} s a person", flush=True)


def _models(method: str) -> tuple[str, ...]:
    return ("gradient boosting",) if method.startswith("treecf") else MODELS


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
