"""The guarded search against its targets: `python -m benchmarks.guarded`.

Give Me Some Credit, German credit, Adult and COMPAS with three classifiers, each with defaults frozen in a commit that
the table names; HELOC is development data: everything was tuned inside 70 % of it, and the other 30 % are reported.
Up to 500 refused people drawn by a seed; German credit by five folds, pooled. Nothing a method says of itself is used:
answers are checked by a second check of the rules, put to the classifier again, and measured against real people of
the desired class in the test part, whom no method has seen.

Measuring and writing are two steps, so that the table can be made again from the figures:

    python -m benchmarks.guarded --jobs 2 --figures guarded.npz
    python -m benchmarks.guarded --figures guarded.npz --write --commit COMMIT
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, train_test_split

from attain import CCHVAE, metrics
from attain import methods as explainers
from attain.core.errors import AttainError
from attain.datasets import Dataset, load_adult, load_compas, load_german, load_gmsc, load_heloc
from attain.density import CHVAE
from attain.methods.guarded.guarding import held_out
from attain.population.percentiles import Percentiles
from attain.population.reference import QUANTILES, Reference
from attain.population.space import MeasuringSpace
from attain.schema import Constraints
from attain.tables import Region, Table
from experiments import CLASSIFIERS

DATA: dict[str, Callable[[], Dataset]] = {
    "GMSC": lambda: load_gmsc(version="paper"),
    "Adult": load_adult,
    "HELOC": lambda: load_heloc(version="paper"),
    "COMPAS": load_compas,
    "German": load_german,
}
MODELS = ("logistic regression", "gradient boosting", "neural network")
CONNECTED, TYPICAL, FIRST, SPHERES = "guarded", "guarded, typical", "Algorithm 1", "GrowingSpheres"
OTHERS = ("ActionableRecourse", "NearestUnlike", "Wachter", "Revise", "HillClimbingLocalSearch", "FeatureTweaking")
SIZES = (5, 10, 20, 40)
PEOPLE = 500
FEWER = 200
"""Of them, so many are asked about for methods that only the two-sample test needs."""
REAL = 5000
"""So many held-out real people take part in the two-sample test."""
FOLDS = 5
SMALL = 2000
"""Sets with fewer rows are split by folds."""


@dataclass(frozen=True)
class Part:
    """One split of a data set."""

    data: Dataset
    train: pd.DataFrame
    test: pd.DataFrame
    y_train: pd.Series
    y_test: pd.Series


def parts(name: str) -> Iterator[Part]:
    """The splits of a data set: one, or five folds of a small one."""
    data = DATA[name]()
    if len(data.X) < SMALL:
        for inside, outside in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data.X, data.y):
            yield Part(data, data.X.iloc[inside], data.X.iloc[outside], data.y.iloc[inside], data.y.iloc[outside])
        return
    seed = 2026 if name == "HELOC" else 0
    yield Part(data, *train_test_split(data.X, data.y, test_size=0.3, random_state=seed))


def number_of_parts(name: str) -> int:
    """How many splits a data set has."""
    return FOLDS if name == "German" else 1


def methods(part: Part) -> dict[str, Any]:
    """The methods by name, not fitted. Autoencoders are those the methods would fit themselves, fitted once."""
    schema, rows = part.data.schema, Table.read(part.train, part.data.schema).values
    whole = CHVAE(schema, random_state=0, verbose=False).fit(rows)
    kept = CHVAE(schema, random_state=0, verbose=False).fit(rows[~held_out(rows, 0)])
    named = {
        CONNECTED: CCHVAE(schema, autoencoder=kept, refine="guarded", figures=False),
        TYPICAL: CCHVAE(schema, autoencoder=kept, refine="guarded", guard="typical", figures=False),
        FIRST: CCHVAE(schema, autoencoder=whole, refine=None, figures=False),
        SPHERES: explainers.GrowingSpheres(schema, figures=False),
    }
    further = {"ActionableRecourse": {"grid": 100}, "Revise": {"autoencoder": whole}}
    return named | {name: getattr(explainers, name)(schema, figures=False, **further.get(name, {})) for name in OTHERS}


@dataclass(frozen=True)
class Judge:
    """What answers are measured against."""

    part: Part
    model: Any
    table: Table
    space: MeasuringSpace
    percentiles: Percentiles
    reference: Reference
    held_out: Reference
    real: np.ndarray

    @classmethod
    def of(cls, part: Part, model: Any) -> Judge:
        schema, desired = part.data.schema, part.data.desired
        table, test = Table.read(part.train, schema), Table.read(part.test, schema)
        space = MeasuringSpace.fit(schema, table.values)
        granted, wanted = model.predict(part.test) == desired, (part.y_test == desired).to_numpy()
        reference = Reference.build(
            schema, table.values, desired_labels=(part.y_train == desired).to_numpy(),
            met=np.asarray(model.predict(part.train) == desired), space=space,
        )  # fmt: skip
        real = test.values[granted & wanted]
        held_out = Reference.build(schema, test.values, desired_labels=wanted, met=np.asarray(granted), space=space)
        percentiles = Percentiles.fit(schema, table.values)
        return cls(part, model, table, space, percentiles, reference.with_held_out(real), held_out, real)

    def figures(self, people: pd.DataFrame, answers: np.ndarray, found: np.ndarray) -> dict[str, np.ndarray]:
        """One number per person and measure; who has no type-valid answer has NaN."""
        table = Table.read(people, self.part.data.schema)
        valid = np.zeros(len(people), dtype=bool)
        kept = np.flatnonzero(found)
        if kept.size:
            frame = self.table.layout.frame(answers[kept])
            region = Region.of(table, Constraints())
            same = region.final_form(answers[kept], kept)
            whole = ((same == answers[kept]) | (np.isnan(same) & np.isnan(answers[kept]))).all(axis=1)
            decided = np.asarray(self.model.predict(frame) == self.part.data.desired)
            valid[kept] = region.allows(answers[kept], kept) & whole & decided
        rows, own = np.where(valid[:, None], answers, np.nan), table.values
        result = {
            "valid": valid.astype(np.float64),
            "TS": metrics.total_shift(rows, own, self.percentiles, valid),
            "MS": metrics.max_shift(rows, own, self.percentiles, valid),
            "changed": metrics.changed(rows, own, self.part.data.schema, valid),
        }
        for k in SIZES:
            result[f"LOF {k}"] = 1 - metrics.outlier(rows, self.reference, k, valid)
            result[f"held-out LOF {k}"] = 1 - metrics.outlier(rows, self.held_out, k, valid)
        near = metrics.nearest_distance(rows, self.reference, valid)
        for share in QUANTILES:
            inside = (near <= self.reference.epsilon[share]).astype(np.float64)
            result[f"connected {share}"] = np.where(np.isnan(near), np.nan, inside)
        return result

    def told_apart(self, answers: np.ndarray) -> tuple[float, float, float, float, float]:
        """AUC, its interval, the floor and the effective size of the two-sample test against held-out real people."""
        chosen = np.random.default_rng(0).permutation(len(self.real))[:REAL]
        test = metrics.two_sample_test(answers, self.real[chosen], self.space, resamples=200)
        return test.auc, *test.interval, test.floor, test.effective_size


def measured(name: str, place: int, classifier: str) -> dict[str, np.ndarray]:
    """The figures of one split and classifier: `METHOD/MEASURE` to numbers per person."""
    warnings.simplefilter("ignore")
    part = list(parts(name))[place]
    desired = part.data.desired
    model = CLASSIFIERS[classifier](part.data.schema, 0).fit(part.train, part.y_train)
    judge = Judge.of(part, model)
    refused = part.test[model.predict(part.test) != desired]
    people = refused.sample(min(PEOPLE, len(refused)), random_state=0)
    result: dict[str, np.ndarray] = {"reference": np.array([len(judge.reference), len(judge.held_out), len(people)])}
    real = judge.real[:2000]
    for k in SIZES:
        result[f"real/LOF {k}"] = 1 - metrics.outlier(real, judge.reference, k)
    for share in QUANTILES:
        near = metrics.nearest_distance(real, judge.reference)
        result[f"real/connected {share}"] = (near <= judge.reference.epsilon[share]).astype(np.float64)
    everybody = people
    for method, explainer in methods(part).items():
        people = everybody.iloc[:FEWER] if method in OTHERS else everybody
        explainer.fit(part.train, part.y_train)
        try:
            explainer.explain(model, people.iloc[:2], target=desired)
            started = time.process_time()
            answered = explainer.explain(model, people, target=desired)
            seconds = time.process_time() - started
        except AttainError:
            continue
        for measure, values in judge.figures(people, answered.answers, answered.found).items():
            result[f"{method}/{measure}"] = values
        result[f"{method}/ms"] = np.array([1000 * seconds / len(people)])
        result[f"{method}/rows"] = np.asarray(answered.person_figures["rows_scored"], dtype=np.float64)
        for figure in ("typicality", "easiest_shift"):
            if figure in answered.figures:
                result[f"{method}/{figure}"] = answered.figures[figure].to_numpy(dtype=np.float64)
        good = result[f"{method}/valid"] == 1
        if good.sum() >= 20:
            result[f"{method}/AUC"] = np.array(judge.told_apart(answered.answers[good]))
    return result


def _cell(cell: tuple[str, int, str]) -> tuple[tuple[str, int, str], dict[str, np.ndarray], float]:
    started = time.perf_counter()
    return cell, measured(*cell), time.perf_counter() - started


def main() -> None:
    """Measures every cell that the file of figures lacks, and writes the table on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=list(DATA))
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--figures", type=Path, default=Path("guarded.npz"))
    parser.add_argument("--write", action="store_true", help="write the table from the figures")
    parser.add_argument("--commit", default="", help="the commit that the defaults were frozen in")
    given = parser.parse_args()
    known = dict(np.load(given.figures)) if given.figures.exists() else {}
    cells = [
        (name, place, model) for name in given.data for model in given.models for place in range(number_of_parts(name))
    ]
    missing = [] if given.write else [cell for cell in cells if f"{_key(cell)}/reference" not in known]
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(_cell, cell) for cell in missing]):
            cell, figures, seconds = done.result()
            known |= {f"{_key(cell)}/{name}": values for name, values in figures.items()}
            np.savez_compressed(given.figures, **known)
            print(f"{_key(cell)}: {seconds:.0f} s", flush=True)
    if given.write:
        from benchmarks.guarded_table import write

        write(known, given.commit)


def _key(cell: tuple[str, int, str]) -> str:
    return "/".join(map(str, cell))


if __name__ == "__main__":
    main()
