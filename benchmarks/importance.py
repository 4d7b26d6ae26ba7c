"""What importance and contributions cost, and how steady the main reasons are: `python -m benchmarks.importance`.

Refused people of German credit and HELOC, the guarded search without an autoencoder. Costs are differences of two
calls, in CPU time of one thread. Of the four inputs that speak most against each person, `steady` is the share that
stays among them with another hundred people to compare with. Contributions of forests, which are exact and on the scale
of the goal, are also drawn: the last share is that of drawn ones within their error of the exact ones.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from attain import Counterfactuals, Guarded, Model
from attain.datasets import Dataset, load_german, load_heloc
from benchmarks import report
from experiments import CLASSIFIERS

DATA = {"German credit": load_german, "HELOC": load_heloc}
MODELS = ("logistic regression", "gradient boosting", "random forest", "neural network")
REASONS = 4
_ROWS = 10_000


def explained(explainer: Guarded, model: Any, people: Any, target: Any, **more: Any) -> tuple[Counterfactuals, float]:
    """The result, and the CPU time it took in milliseconds for each of the people."""
    started = time.process_time()
    result = explainer.explain(model, people, target=target, **more)
    return result, 1000 * (time.process_time() - started) / len(people)


def main_reasons(result: Counterfactuals) -> list[set[int]]:
    """For each person, the inputs that speak most against them."""
    found = result.attributions
    assert found is not None
    return [set(order[:REASONS].tolist()) for order in np.argsort(found.contribution, axis=1, kind="stable")]


def cell(data: Dataset, kind: str, people: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines of the two tables for one data set and classifier."""
    train, test, y_train, _ = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    train, y_train = train.head(_ROWS), y_train.head(_ROWS)
    model = CLASSIFIERS[kind](data.schema, 0).fit(train, y_train)
    refused = test[model.predict(test) != data.desired].head(people)
    explainer = Guarded(data.schema, figures=False).fit(train, y_train)
    explained(explainer, model, refused.head(2), data.desired, contributions=True)
    plain, base = explained(explainer, model, refused, data.desired)
    important, dear = explained(explainer, model, refused, data.desired, importance=True)
    frame = important.importance
    chosen = frame[frame["gain"].notna()]
    options = len(important.owners)
    first = (
        kind, str(options), f"{len(chosen) / options:.1f}", f"{chosen['needed_for_decision'].mean():.1%}",
        f"{chosen['needed_to_stay_typical'].mean():.1%}", f"{chosen['needed_by_law'].mean():.1%}",
        f"{(important.rows_asked - plain.rows_asked) / options:.0f}", f"{max(dear - base, 0):.1f}",
    )  # fmt: skip
    why, dear = explained(explainer, model, refused, data.desired, contributions=True)
    found = why.attributions
    assert found is not None
    explainer.set_params(random_state=1)
    other, _ = explained(explainer, model, refused, data.desired, contributions=True)
    explainer.set_params(random_state=0)
    steady = np.mean([len(a & b) / REASONS for a, b in zip(main_reasons(why), main_reasons(other), strict=True)])
    within = "–"
    if kind == "random forest":
        opaque = Model(model.predict_proba, classes=model.classes_.tolist())  # of which nothing can be read
        drawn, _ = explained(explainer, opaque, refused, data.desired, contributions=True)
        assert drawn.attributions is not None
        gap = np.abs(drawn.attributions.contribution - found.contribution)
        within = f"{(gap <= drawn.attributions.error).mean():.1%}"
    rows = (why.rows_asked - plain.rows_asked) / len(refused)
    second = (
        kind, found.scale, f"{np.median(np.abs(found.contribution).max(axis=1)):.3f}", f"{np.median(found.error):.3f}",
        f"{steady:.1%}", within, f"{rows:.0f}", f"{max(dear - base, 0):.1f}",
    )  # fmt: skip
    return first, second


def main() -> None:
    """Measures every cell and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100)
    given = parser.parse_args()
    changes, inputs = [], []
    for name, load in DATA.items():
        for kind in MODELS:
            with threadpool_limits(1):
                first, second = cell(load(), kind, given.people)
            changes.append((name, *first))
            inputs.append((name, *second))
            print(changes[-1], inputs[-1], sep="\n", flush=True)
    needed = ("needed for the decision", "only to stay typical", "by a rule or law")
    body = f"At most {given.people} people each.\n\n## Importance of changes\n\n"
    body += report.table(
        ("data", "classifier", "answers", "changes", *needed, "rows per answer", "CPU ms per person"), changes
    )
    body += "\n\n## Contributions to the decision\n\n" + report.table(
        (
            "data", "classifier", "scale", "largest (median)", "error (median)", f"{REASONS} main reasons steady",
            "drawn within the error", "rows per person", "CPU ms per person",
        ),
        inputs,
    )  # fmt: skip
    report.write("importance", "Importance and contributions", "python -m benchmarks.importance", body)


if __name__ == "__main__":
    main()
