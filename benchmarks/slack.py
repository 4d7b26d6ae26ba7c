"""Answers that hold when they are carried out roughly: `python -m benchmarks.slack`.

Target: of the executions in which every change is off by up to 5 percentile points (see
`metrics.valid_after_inexact_execution`) at least 95 % are valid with `slack=5`, at no more than 1.3 times the total
shift of answers without it. Four data sets with their own schemas, two classifiers; the guarded search without an
autoencoder, fitted on at most 10,000 rows; refused rows of the others are explained. Executions are drawn by another
seed than those of the search. One thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from attain import Counterfactuals, Guarded
from attain.datasets import Dataset, load_adult, load_german, load_gmsc, load_heloc
from attain.metrics.robustness import unmargined_goal, valid_after_inexact_execution
from attain.results.status import Typicality
from attain.schema import Constraints
from attain.tables import Region
from benchmarks import report
from experiments import CLASSIFIERS

DATA: dict[str, Callable[[], Dataset]] = {
    "HELOC": load_heloc,
    "German credit": load_german,
    "GMSC": partial(load_gmsc, version="paper"),
    "Adult": load_adult,
}
MODELS = ("logistic regression", "gradient boosting")
SLACK = 5
_ROWS = 10_000
_DRAWS = 100
_SEED = 17


def valid(explainer: Guarded, model: object, result: Counterfactuals) -> np.ndarray:
    """The share of executions of each answer that are valid; NaN without an answer."""
    region = Region.of(result.table, Constraints(), explainer.observed_, explainer.book_)
    goal = unmargined_goal(model, explainer.table_, result.target, None)
    return valid_after_inexact_execution(
        result.answers,
        region,
        goal,
        explainer.percentiles_,
        points=SLACK,
        draws=_DRAWS,
        found=result.found,
        random_state=_SEED,
    )


def cell(data: Dataset, kind: str, people: int) -> list[tuple[str, ...]]:
    """The rows of the table for one data set and classifier: without slack, and with it."""
    train, test, y_train, _ = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    train, y_train = train.head(_ROWS), y_train.head(_ROWS)
    model = CLASSIFIERS[kind](data.schema, 0).fit(train, y_train)
    refused = test[model.predict(test) != data.desired].head(people)
    explainer = Guarded(data.schema, figures=False).fit(train, y_train)
    explainer.explain(model, refused.head(2), target=data.desired)
    lines, plain = [], np.nan
    for slack in (None, SLACK):
        started = time.process_time()
        result = explainer.explain(model, refused, target=data.desired, slack=slack)
        seconds = time.process_time() - started
        share, found = valid(explainer, model, result), result.found
        shift = float(np.nanmean(result.of_best("total_shift")))
        plain = shift if slack is None else plain
        typical = result.of_best("typicality")[found] == Typicality.TYPICAL
        lines.append((
            kind, "–" if slack is None else str(slack), f"{found.mean():.1%}", f"{np.nanmean(share):.1%}",
            f"{(share[found] == 1).mean():.1%}", f"{shift:.3f}", f"{shift / plain:.2f}", f"{typical.mean():.1%}",
            f"{result.person_figures['rows_scored'].mean():.0f}", f"{1000 * seconds / len(refused):.0f}",
        ))  # fmt: skip
    return lines


def main() -> None:
    """Measures every cell and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100)
    given = parser.parse_args()
    rows = []
    for name, load in DATA.items():
        for kind in MODELS:
            with threadpool_limits(1):
                rows += [(name, *line) for line in cell(load(), kind, given.people)]
            print(*rows[-2:], sep="\n", flush=True)
    header = (
        "data", "classifier", "slack", "found", "executions valid", "answers valid in all", "total shift", "ratio",
        "typical", "rows scored", "CPU ms per row",
    )  # fmt: skip
    body = f"At most {given.people} people each, {_DRAWS} executions of each answer.\n\n" + report.table(header, rows)
    report.write("slack", "Answers carried out roughly", "python -m benchmarks.slack", body)


if __name__ == "__main__":
    main()
