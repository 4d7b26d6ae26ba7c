"""Digests of every method's answers: `python -m benchmarks.recorded_answers`.

Two runs with the same digests gave the same answers to the last bit, so that a change of code alone can be told from a
change of answers. Four tables: German credit, HELOC (special codes), Give Me Some Credit (missing cells), and made-up
people (clocks, paces, missing and special cells, derived columns, rules); logistic regression and boosted trees; one
and three options. Each method has its defaults, but Actionable Recourse a grid of 100 steps, and methods with an
autoencoder answer on the first and the last table only. A line holds the digest of all options and statuses, the number
of rows with an answer, and the rows scored.

    python -m benchmarks.recorded_answers                      # writes results/recorded_answers.md
    python -m benchmarks.recorded_answers --against FILE.md    # what differs from an earlier table; writes nothing
    python -m benchmarks.recorded_answers --methods Guarded    # some methods (--tables: tables) only; writes nothing

Answers depend on the processor and on library versions in their last bits: compare tables of one machine.
"""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attain import methods as explainers
from attain.core.errors import ModelError
from attain.datasets import load_german
from attain.schema import Schema
from attain.testing import people
from benchmarks import report
from experiments.bench.cases import Split
from experiments.bench.classifiers import logistic_regression, random_forest
from experiments.bench.methods import METHODS
from experiments.data import load_gmsc, load_heloc

HEADER = ("table", "method", "classifier", "options", "digest", "found", "rows scored")
TRAINING_ROWS = 3_000


@dataclass(frozen=True, eq=False)
class Recorded:
    """A table, fitted classifiers, and how many of the rows that they refuse are explained."""

    schema: Schema
    train: pd.DataFrame
    labels: pd.Series
    test: pd.DataFrame
    desired: Any
    models: dict[str, Any]
    rows: int
    latent: bool = False


def german() -> Recorded:
    split = Split.of(load_german(), 0)
    trees = GradientBoostingClassifier(n_estimators=40, random_state=0)
    models = {
        "logistic regression": logistic_regression(split.data.schema, 0),
        "boosted trees": make_pipeline(random_forest(split.data.schema, 0)[0], trees),
    }
    return _recorded(split, models, 24, latent=True)


def heloc() -> Recorded:
    return _numbers(Split.of(load_heloc(), 0))


def gmsc() -> Recorded:
    return _numbers(Split.of(load_gmsc(), 0))


def made_up() -> Recorded:
    """The people of the conformance tests, whose age passes, and who need time for debt, income and education."""
    paces = {"income": 100.0, "debt": 200.0, "education": 1 / 24}
    features = [
        replace(feature, clock=1 / 12) if feature.name == "age" else replace(feature, pace=paces.get(feature.name))
        for feature in people.schema()
    ]
    frame, test = people.frame(400), people.frame(120, seed=5)
    labels = people.labels(frame)
    models = {"logistic regression": people.linear_model(frame, labels), "tree": people.tree_model(frame, labels)}
    schema = Schema(tuple(features), rules=people.schema().rules)
    return Recorded(schema, frame, labels, test, people.DESIRED, models, 16, latent=True)


def _numbers(split: Split) -> Recorded:
    """A split of numbers, the first training rows only, so that no method takes long."""
    cut = replace(split, train=split.train.iloc[:TRAINING_ROWS], y_train=split.y_train.iloc[:TRAINING_ROWS])
    models = {
        "logistic regression": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000)),
        "boosted trees": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    }
    return _recorded(cut, models, 12)


def _recorded(split: Split, models: dict[str, Any], rows: int, latent: bool = False) -> Recorded:
    fitted = {name: model.fit(split.train, split.y_train) for name, model in models.items()}
    return Recorded(split.data.schema, split.train, split.y_train, split.test, split.data.desired, fitted, rows, latent)


TABLES = {"German credit": german, "HELOC": heloc, "GMSC": gmsc, "made-up people": made_up}


def recorded(tables: list[str], names: list[str]) -> Iterator[tuple[str, ...]]:
    """One line for each table, method, classifier and number of options."""
    for table in tables:
        case = TABLES[table]()
        for name in names:
            method = METHODS[name]
            if method.latent and not case.latent:
                continue
            explainer = getattr(explainers, method.kind)(case.schema, random_state=0, **method.parameters)
            explainer.fit(case.train, case.labels)
            for classifier, model in case.models.items():
                refused = case.test[model.predict(case.test) != case.desired].iloc[: case.rows]
                for n in (1, 3):
                    try:
                        result = explainer.explain(model, refused, target=case.desired, n=n)
                    except ModelError:
                        yield table, name, classifier, str(n), "not applicable", "", ""
                        continue
                    found = f"{result.found.sum()} of {len(refused)}"
                    scored = f"{int(result.figures['rows_scored'].sum()):,}"
                    yield table, name, classifier, str(n), digest(result), found, scored


def digest(result: Any) -> str:
    """A digest of all options, with every bit of their numbers, and of the statuses."""
    text = result.options.to_csv(float_format="%.17g") + pd.Series(result.status).to_csv()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(path: Path) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The lines of an earlier table by table, method, classifier and options."""
    lines = [line.strip("\n")[2:-2].split(" | ") for line in path.read_text(encoding="utf-8").splitlines()]
    return {tuple(line[:4]): tuple(line[4:]) for line in lines if len(line) == len(HEADER)}


def main() -> None:
    """Records, compares and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), help="methods to record (default: all)")
    parser.add_argument("--tables", nargs="*", choices=list(TABLES), help="tables to record (default: all)")
    parser.add_argument("--against", type=Path, help="the table of an earlier run")
    given = parser.parse_args()
    earlier = {} if given.against is None else read(given.against)
    warnings.simplefilter("ignore")
    lines, differing = [], 0
    for line in recorded(given.tables or list(TABLES), given.methods or list(METHODS)):
        lines.append(line)
        known = earlier.get(line[:4])
        verdict = (
            "" if given.against is None else "new" if known is None else "same" if known == line[4:] else "DIFFERS"
        )
        differing += verdict == "DIFFERS"
        print(" | ".join((*line, verdict)), flush=True)
    if given.against is not None:
        print(f"{differing} of {len(lines)} lines differ")
    elif given.methods is None and given.tables is None:
        report.write(__doc__, report.table(HEADER, lines))


if __name__ == "__main__":
    main()
