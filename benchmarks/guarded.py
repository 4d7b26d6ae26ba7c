"""The guarded search against its targets: `python -m benchmarks.guarded`.

Give Me Some Credit, German credit, Adult and COMPAS with three classifiers, with defaults frozen in commit 16a3268,
before these data were looked at; HELOC is development data: everything was tuned inside 70 % of it, and the
other 30 % are reported (seed 2026). The claim rests on the others. Up to 500 refused rows drawn by a seed; German
credit by five folds, pooled. Nothing that a method reports about itself is used: answers are checked again, put to the
classifier again, and measured against real rows of the desired class, also in the test part, which no method has seen.

Shares have Wilson intervals, ratios bootstrap intervals, 95 %. ✗ marks a target that was missed. Target 7 is in
`person.md`, target 8 in `guarded_peers.md`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, train_test_split

from attain import CCHVAE, Guarded
from attain import methods as explainers
from attain.core.errors import AttainError
from attain.core.intervals import mean_interval, share_interval
from attain.metrics import AnswerMatrix, Evaluation, Measure, RealPeople
from attain.metrics.comparison import REAL
from attain.metrics.measures import MEASURES as CATALOGUE
from attain.metrics.measures import held_out_inlier, inlier
from attain.population.population import QUANTILES
from attain.tables import Table
from benchmarks import report
from benchmarks.harness import Figures, Kept
from benchmarks.tasks import DATA
from experiments.bench.cases import Split
from experiments.bench.classifiers import CLASSIFIERS
from experiments.research import two_sample

SETS = ("GMSC", "German", "Adult", "COMPAS", "HELOC")
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
FOLDS = {"German": 5}


def parts(name: str) -> Iterator[Split]:
    """The splits of a data set: one, or folds of a small one."""
    data = DATA[name]()
    if name not in FOLDS:
        seed = 2026 if name == "HELOC" else 0
        yield Split(data, *train_test_split(data.X, data.y, test_size=0.3, random_state=seed))
        return
    for inside, outside in StratifiedKFold(FOLDS[name], shuffle=True, random_state=0).split(data.X, data.y):
        yield Split(data, data.X.iloc[inside], data.X.iloc[outside], data.y.iloc[inside], data.y.iloc[outside])


def methods(part: Split) -> dict[str, Any]:
    """The unfitted methods by name. The autoencoder is the one that they would fit themselves, fitted once."""
    schema, rows = part.data.schema, Table.read(part.train, part.data.schema).values
    from attain.density import CHVAE  # needs JAX, which the environment of another package may lack

    whole = CHVAE(schema, likelihoods="paper", hidden=0, random_state=0, verbose=False).fit(rows)
    named = {
        CONNECTED: Guarded(schema, figures=False),
        TYPICAL: Guarded(schema, guard="typical", figures=False),
        FIRST: CCHVAE(schema, autoencoder=whole, figures=False),
        SPHERES: explainers.GrowingSpheres(schema, figures=False),
    }
    further = {"ActionableRecourse": {"grid": 100}, "REVISE": {"autoencoder": whole}}
    return named | {name: getattr(explainers, name)(schema, figures=False, **further.get(name, {})) for name in OTHERS}


def evaluated(against: RealPeople, rows: pd.DataFrame, answers: np.ndarray, found: np.ndarray) -> Evaluation:
    """The measures of the type-valid answers; others count as none."""
    table = Table.read(rows, against.reference.schema)
    given = AnswerMatrix(table, answers, found, against.train.goal.target)
    valid = against.evaluate(given, measures=["type_valid"], resamples=1).frame["type_valid"].to_numpy() == 1
    kept = AnswerMatrix(table, np.where(valid[:, None], answers, np.nan), valid, against.train.goal.target)
    return against.evaluate(kept, measures=MEASURES, resamples=1)


def measured(cell: str) -> dict[str, np.ndarray]:
    """The figures of one data set, split and classifier: by `METHOD/MEASURE`, one number per row."""
    warnings.simplefilter("ignore")
    name, place, classifier = cell.split("/")
    part = list(parts(name))[int(place)]
    desired = part.data.desired
    model = CLASSIFIERS[classifier](part.data.schema, 0).fit(part.train, part.y_train)
    against = RealPeople(
        part.data.schema, model, part.train, part.y_train, target=desired, X_test=part.test, y_test=part.y_test
    )
    refused = part.test[model.predict(part.test) != desired]
    refused = refused.sample(min(PEOPLE, len(refused)), random_state=0)
    result: dict[str, np.ndarray] = {}
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
        evaluation = evaluated(against, people, answered.answers, answered.found)
        for measure, values in evaluation.frame.items():
            result[f"{method}/{measure}"] = values.to_numpy(dtype=np.float64)
        result |= {f"{REAL}/{measure}": np.array([mean]) for measure, mean in evaluation.summary["real"].items()}
        result[f"{method}/ms"] = np.array([1000 * seconds / len(people)])
        result[f"{method}/rows"] = np.asarray(answered.person_figures["rows_scored"], dtype=np.float64)
        if "typicality" in answered.figures:
            result[f"{method}/typicality"] = answered.figures["typicality"].to_numpy(dtype=np.float64)
        if evaluation.frame["found"].sum() >= 20:
            result[f"{method}/AUC"] = np.array([two_sample.evaluated(evaluation, resamples=200).auc])
    return result


def main() -> None:
    """Measures every cell that the file of figures lacks, and writes the table of all that it has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=SETS, choices=SETS, help="to measure; none writes the table only")
    parser.add_argument("--models", nargs="*", default=MODELS, choices=MODELS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--figures", type=Path, default=Path("guarded.npz"))
    given = parser.parse_args()
    kept = Kept(given.figures)
    kept.measure([f for name in given.data for model in given.models for f in cells(name, model)], measured, given.jobs)
    known = {(name, model): kept.of(*cells(name, model)) for name in SETS for model in MODELS}
    found = {cell: figures for cell, figures in known.items() if figures is not None}
    report.write(
        __doc__,
        "## Targets\n\n" + targets(found),
        "## The ladder, and the price of faithfulness\n\n" + ladder(found),
        "## All methods\n\n" + everything(found),
    )


def cells(name: str, model: str) -> list[str]:
    """The cells of a data set and a classifier, one for each split."""
    return [f"{name}/{place}/{model}" for place in range(FOLDS.get(name, 1))]


def not_worse(figures: Figures) -> tuple[float, float]:
    """Shares of rows on which the guarded answer is worse on none, and on all, of the four criteria."""
    pairs = [
        (figures.get(CONNECTED, name), figures.get(FIRST, name), sign)
        for name, sign in (("total_shift", 1), ("max_shift", 1), ("held_out_inlier_20", -1), ("connected_90", -1))
    ]
    both = np.all([~np.isnan(a) & ~np.isnan(b) for a, b, _ in pairs], axis=0)
    worse = np.array([sign * a[both] > sign * b[both] + 1e-12 for a, b, sign in pairs])
    return float((~worse.any(axis=0)).mean()), float(worse.all(axis=0).mean())


Found = dict[tuple[str, str], Figures]


def targets(found: Found) -> str:
    """A line for each cell, with the targets in the header."""

    def mark(text: str, good: bool) -> str:
        return text if good else f"{text} ✗"

    def share(figures: Figures, measure: str) -> tuple[float, ...]:
        return tuple(
            100 * x for x in (figures.mean(CONNECTED, measure), *share_interval(figures.get(CONNECTED, measure)))
        )

    rows = []
    for (data, model), figures in found.items():
        valid = share(figures, "found")
        sizes = [k for k in SIZES if data != "German" or k <= 20]  # as its held-out people allow
        inliers = {k: share(figures, f"held_out_inlier_{k}") for k in sizes}
        shown = "; ".join(f"k = {k}: {report.between(v, 1)}" for k, v in inliers.items())
        row = [mark(report.between(valid, 1), valid[0] >= 99.5), mark(shown, min(inliers.values())[0] >= 98)]
        for measure in ("connected_90", "connected_95"):
            near, real = share(figures, measure), 100 * figures.mean(REAL, measure)
            row.append(mark(f"{report.between(near, 1)}; real {real:.1f}", near[0] >= real - 3))
        for method, other, measure, most in (
            (CONNECTED, FIRST, "total_shift", 0.4),
            (CONNECTED, FIRST, "max_shift", 0.65),
            (TYPICAL, SPHERES, "total_shift", 1.2),
            (CONNECTED, SPHERES, "total_shift", 1.1 if model == "gradient boosting" else 1.7),
        ):
            ratio = figures.ratio(method, other, measure)
            row.append(mark(report.between(ratio), ratio[0] <= most))
        fine, all_worse = not_worse(figures)
        row[6:6] = [mark(report.percent(fine), fine >= 0.8), mark(report.percent(all_worse), all_worse == 0)]
        others = {figures.mean(name, "AUC"): name for name in (FIRST, SPHERES, *OTHERS) if name != "NearestUnlike"}
        least, own = min(value for value in others if not np.isnan(value)), figures.mean(CONNECTED, "AUC")
        row.append(mark(f"{own:.3f}; {least:.3f} ({others[least]})", own < least))
        rows.append((data, model, len(figures.get(CONNECTED, "found")), *row))
    header = (
        "data", "classifier", "people", "1 type-valid, % (≥ 99.5)", "2 held-out LOF inliers, % (≥ 98 at every k)",
        "3 connected ε.9, % (real − 3)", "3 connected ε.95, %", "4 TS / Alg. 1 (≤ .40)", "4 MS / Alg. 1 (≤ .65)",
        "4 not worse on any, % (≥ 80)", "4 worse on all, % (0)", "5 typical TS / GS (≤ 1.2)",
        "5 connected TS / GS (≤ 1.7 linear, 1.1 trees)", "6 AUC; least of others",
    )  # fmt: skip
    return report.table(header, rows)


def ladder(found: Found) -> str:
    """How typical answers are."""
    rows = []
    for cell, figures in found.items():
        level = figures.get(CONNECTED, "typicality")
        level = level[~np.isnan(level)]
        shift = (figures.mean(CONNECTED, "total_shift"), *mean_interval(figures.get(CONNECTED, "total_shift")))
        shares = (report.percent(float(np.mean(level == step))) for step in range(3))
        rows.append((*cell, *shares, report.between(shift, 3)))
    header = ("data", "classifier", "typical, %", "unusual, %", "outside, %", "TS")
    return report.table(header, rows)


def everything(found: Found) -> str:
    """A line for each cell and method, and one for real people."""
    shares = ("inlier_20", "held_out_inlier_20", "connected_90", "connected_95", "possible")
    rows = []
    for cell, figures in found.items():
        for method in filter(figures.has, (CONNECTED, TYPICAL, FIRST, SPHERES, *OTHERS, REAL)):
            digits = {"total_shift": 3, "max_shift": 3, "changed": 1}
            rows.append((
                *cell, method, report.percent(figures.mean(method, "found")) if method != REAL else "",
                *(report.number(figures.mean(method, name), n) if method != REAL else "" for name, n in digits.items()),
                *(report.percent(figures.mean(method, name)) for name in shares),
                report.number(figures.mean(method, "AUC"), 3), report.number(figures.mean(method, "rows"), 0),
            ))  # fmt: skip
    header = (
        "data", "classifier", "method", "type-valid, %", "TS", "MS", "changes", "LOF inliers k = 20, %",
        "held-out, %", "connected ε.9, %", "ε.95, %", "possible, %", "AUC", "rows scored",
    )  # fmt: skip
    return report.table(header, rows)


if __name__ == "__main__":
    main()
