"""The guarded search against its targets: `python -m benchmarks.guarded`.

Give Me Some Credit, German credit, Adult and COMPAS with three classifiers, with defaults frozen in a commit that the
table names; HELOC is development data: everything was tuned inside 70 % of it, and the other 30 % are reported.
Up to 500 refused rows drawn by a seed; German credit by five folds, pooled. Nothing that a method reports about itself
is used: answers are checked again, put to the classifier again, and measured against real rows of the desired class,
also in the test part, which no method has seen.

Measuring and writing are two steps, so that the table can be rewritten from the figures:

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
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, train_test_split

from attain import CCHVAE, Guarded
from attain import methods as explainers
from attain.core.errors import AttainError
from attain.datasets import Dataset, load_adult, load_compas, load_german, load_gmsc, load_heloc
from attain.metrics import AnswerMatrix, Background, Evaluation, Measure
from attain.metrics.measures import MEASURES as CATALOGUE
from attain.metrics.measures import held_out_inlier, inlier
from attain.population.reference import QUANTILES
from attain.tables import Table
from experiments import CLASSIFIERS
from experiments.bench.cases import Split

DATA: dict[str, Callable[[], Dataset]] = {
    "GMSC": lambda: load_gmsc(version="paper"),
    "Adult": load_adult,
    "HELOC": lambda: load_heloc(version="paper"),
    "COMPAS": load_compas,
    "German": load_german,
}
MODELS = ("logistic regression", "gradient boosting", "neural network")
CONNECTED, TYPICAL, FIRST, SPHERES = "guarded", "guarded, typical", "Algorithm 1", "GrowingSpheres"
OTHERS = ("ActionableRecourse", "NearestUnlike", "Wachter", "REVISE", "HillClimbingLocalSearch", "FeatureTweaking")
SIZES = (5, 10, 20, 40)
PEOPLE = 500
FEWER = 200
"""The number of rows for methods that only the two-sample test needs."""
MEASURES: tuple[str | Measure, ...] = (
    *("total_shift", "max_shift", "changed", *(f"connected_{100 * share:.0f}" for share in QUANTILES)),
    *(make(k) for make in (inlier, held_out_inlier) for k in SIZES),
    replace(CATALOGUE["possible"], optional=True),
)
FOLDS = 5
SMALL = 2000
"""Sets with fewer rows are split by folds."""


def parts(name: str) -> Iterator[Split]:
    """The splits of a data set: one, or five folds of a small one."""
    data = DATA[name]()
    if len(data.X) < SMALL:
        for inside, outside in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data.X, data.y):
            yield Split(data, data.X.iloc[inside], data.X.iloc[outside], data.y.iloc[inside], data.y.iloc[outside])
        return
    seed = 2026 if name == "HELOC" else 0
    yield Split(data, *train_test_split(data.X, data.y, test_size=0.3, random_state=seed))


def number_of_parts(name: str) -> int:
    """The number of splits of a data set."""
    return FOLDS if name == "German" else 1


def methods(part: Split) -> dict[str, Any]:
    """The unfitted methods by name. The autoencoder is the one that they would fit themselves, fitted once."""
    schema, rows = part.data.schema, Table.read(part.train, part.data.schema).values
    from attain.density import CHVAE  # needs JAX, which the environment of another package may lack

    whole = CHVAE(schema, likelihoods="paper", hidden=0, random_state=0, verbose=False).fit(rows)
    named = {
        CONNECTED: Guarded(schema, easiest=True, figures=False),
        TYPICAL: Guarded(schema, guard="typical", figures=False),
        FIRST: CCHVAE(schema, autoencoder=whole, figures=False),
        SPHERES: explainers.GrowingSpheres(schema, figures=False),
    }
    further = {"ActionableRecourse": {"grid": 100}, "REVISE": {"autoencoder": whole}}
    return named | {name: getattr(explainers, name)(schema, figures=False, **further.get(name, {})) for name in OTHERS}


def background_of(split: Split, model: Any) -> Background:
    """What answers are measured against."""
    return Background(
        split.data.schema, model, split.train, split.y_train,
        target=split.data.desired, X_test=split.test, y_test=split.y_test,
    )  # fmt: skip


def evaluated(background: Background, rows: pd.DataFrame, answers: np.ndarray, found: np.ndarray) -> Evaluation:
    """The measures of the type-valid answers; others count as none."""
    table = Table.read(rows, background.reference.schema)
    given = AnswerMatrix(table, answers, found, background.goal.target)
    valid = background.evaluate(given, measures=["type_valid"], resamples=1).frame["type_valid"].to_numpy() == 1
    kept = AnswerMatrix(table, np.where(valid[:, None], answers, np.nan), valid, background.goal.target)
    return background.evaluate(kept, measures=MEASURES, resamples=1)


def measured(name: str, place: int, classifier: str) -> dict[str, np.ndarray]:
    """The figures of one split and classifier: by `METHOD/MEASURE`, one number per row."""
    warnings.simplefilter("ignore")
    part = list(parts(name))[place]
    desired = part.data.desired
    model = CLASSIFIERS[classifier](part.data.schema, 0).fit(part.train, part.y_train)
    background = background_of(part, model)
    refused = part.test[model.predict(part.test) != desired]
    refused = refused.sample(min(PEOPLE, len(refused)), random_state=0)
    assert background.held_out is not None
    sizes = (len(background.reference), len(background.held_out), len(refused))
    result: dict[str, np.ndarray] = {"reference": np.array(sizes)}
    for method, explainer in methods(part).items():
        people = refused.iloc[:FEWER] if method in OTHERS else refused
        explainer.fit(part.train, part.y_train)
        try:
            explainer.explain(model, people.iloc[:2], target=desired)
            started = time.process_time()
            answered = explainer.explain(model, people, target=desired)
            seconds = time.process_time() - started
        except AttainError:
            continue
        evaluation = evaluated(background, people, answered.answers, answered.found)
        for measure, values in evaluation.frame.items():
            result[f"{method}/{measure}"] = values.to_numpy(dtype=np.float64)
        result |= {f"real/{measure}": np.array([mean]) for measure, mean in evaluation.summary["real"].items()}
        result[f"{method}/ms"] = np.array([1000 * seconds / len(people)])
        result[f"{method}/rows"] = np.asarray(answered.person_figures["rows_scored"], dtype=np.float64)
        for figure in ("typicality", "easiest_shift"):
            if figure in answered.figures:
                result[f"{method}/{figure}"] = answered.figures[figure].to_numpy(dtype=np.float64)
        if evaluation.frame["found"].sum() >= 20:
            test = evaluation.two_sample(resamples=200)
            result[f"{method}/AUC"] = np.array([test.auc, *test.interval, test.floor, test.effective_size])
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
