"""Digests of every method's answers on German credit: `python -m benchmarks.recorded_answers`.

Two runs with the same digests gave the same answers to the last bit, so that a change of code alone can be told from a
change of answers. The first 24 refused rows of a 70/30 split, logistic regression and boosted trees, one and three
options; each method with its defaults, but Actionable Recourse with a grid of 100 steps. A line holds the digest of all
options and statuses, the number of rows with an answer, and the rows scored.

    python -m benchmarks.recorded_answers                      # writes results/recorded_answers.md
    python -m benchmarks.recorded_answers --against FILE.md    # also lists what differs from an earlier table
    python -m benchmarks.recorded_answers --methods CCHVAE     # some methods only; writes nothing

Answers depend on the processor and on library versions in their last bits: compare tables of one machine.
"""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline

from attain import methods as explainers
from attain.core.errors import ModelError
from attain.datasets import load_german
from benchmarks import report
from experiments.bench.cases import Split
from experiments.bench.classifiers import logistic_regression, random_forest
from experiments.bench.methods import METHODS

ROWS = 24
HEADER = ("method", "classifier", "options", "digest", "found", "rows scored")


def classifiers(split: Split) -> dict[str, Any]:
    """The fitted classifiers by name."""
    trees = GradientBoostingClassifier(n_estimators=40, random_state=0)
    encoder = random_forest(split.data.schema, 0)[0]
    models = {
        "logistic regression": logistic_regression(split.data.schema, 0),
        "boosted trees": make_pipeline(encoder, trees),
    }
    return {name: model.fit(split.train, split.y_train) for name, model in models.items()}


def recorded(names: list[str]) -> Iterator[tuple[str, ...]]:
    """One line for each method, classifier and number of options."""
    split = Split.of(load_german(), 0)
    models = classifiers(split)
    for name in names:
        method = METHODS[name]
        explainer = getattr(explainers, method.kind)(split.data.schema, **method.parameters)
        explainer.fit(split.train, split.y_train)
        for classifier, model in models.items():
            refused = split.test[model.predict(split.test) != split.data.desired].iloc[:ROWS]
            for n in (1, 3):
                try:
                    result = explainer.explain(model, refused, target=split.data.desired, n=n)
                except ModelError:
                    yield name, classifier, str(n), "not applicable", "", ""
                    continue
                scored = int(result.figures["rows_scored"].sum())
                yield name, classifier, str(n), digest(result), f"{result.found.sum()} of {len(refused)}", f"{scored:,}"


def digest(result: Any) -> str:
    """A digest of all options, with every bit of their numbers, and of the statuses."""
    text = result.options.to_csv(float_format="%.17g") + pd.Series(result.status).to_csv()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(path: Path) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The lines of an earlier table by method, classifier and options."""
    cells = [line.strip("| \n").split(" | ") for line in path.read_text(encoding="utf-8").splitlines()]
    return {tuple(line[:3]): tuple(line[3:]) for line in cells if len(line) == len(HEADER)}


def main() -> None:
    """Records, compares and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), help="methods to record (default: all)")
    parser.add_argument("--against", type=Path, help="the table of an earlier run")
    given = parser.parse_args()
    earlier = {} if given.against is None else read(given.against)
    warnings.simplefilter("ignore")
    lines = []
    for line in recorded(given.methods or list(METHODS)):
        lines.append(line)
        known = earlier.get(line[:3])
        verdict = (
            "" if given.against is None else "new" if known is None else "same" if known == line[3:] else "DIFFERS"
        )
        print(*line, verdict, flush=True)
    if given.methods is None:
        command, title = "python -m benchmarks.recorded_answers", "Digests of answers on German credit"
        report.write("recorded_answers", title, command, report.table(HEADER, lines))


if __name__ == "__main__":
    main()
