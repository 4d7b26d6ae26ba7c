"""What every method answers, and with how much work: `python -m tests.recorded.recording`, or `make record`.

Two runs with the same digest gave the same answers, and counts of work show a slower search without a clock. `make
test` compares both with this table, on German credit and on made-up people whose age passes, and who need time for
debt, income and education. Methods look into the logistic regression and the trees; the function is the same
regression, which can only be asked. Methods with an autoencoder have a small network of the made-up people.

- Digest: of the statuses and all options, with nine digits of each number; with an autoencoder, whose network depends
  on the processor in its last bits, with four.
- Rows scored are charged to budgets, rows asked are those that the model saw, and rows settled are put into final form
  by the engine. Versions measured are compared with real people, by the guarded search alone.
- Frames are the most functions of attain from `explain` to the function, both ends included.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline

from attain import methods as explainers
from attain.core.errors import ModelError
from attain.datasets import load_german
from attain.density import CHVAE
from attain.methods.guarded import search
from attain.models import Model
from attain.schema import Schema
from attain.tables import region
from attain.testing import people
from benchmarks import report
from experiments.bench.cases import Split
from experiments.bench.classifiers import logistic_regression, random_forest
from experiments.bench.methods import METHODS
from tests.density.trained import trained

ANSWERS = Path(__file__).with_name("answers.md")
DIGITS = 9
"""Of numbers in digests: the last bits depend on the processor."""


class Line(NamedTuple):
    """What one method gave on one table, with one classifier, for so many options."""

    table: str
    method: str
    classifier: str
    options: str
    digest: str
    found: str = ""
    scored: str = ""
    asked: str = ""
    settled: str = ""
    measured: str = ""
    frames: str = ""


HEADER = ("table", "method", "classifier", "options", "digest", "found")
HEADER += ("rows scored", "rows asked", "rows settled", "versions measured", "frames")
KEY = 4
"""The first cells of a line say what was recorded, the others what came of it."""


@dataclass(frozen=True, eq=False)
class Case:
    """A table, fitted classifiers, and how many of the rows that they refuse are explained."""

    schema: Schema
    train: pd.DataFrame
    labels: pd.Series
    test: pd.DataFrame
    desired: Any
    models: Mapping[str, Any]
    rows: int
    autoencoder: Callable[[], Any] | None = None
    """Gives the autoencoder of methods that have one; None leaves these methods out."""


class Asked:
    """A classifier as a function, which sees from how deep it is asked."""

    def __init__(self, model: Any) -> None:
        self.model, self.classes, self.deepest = model, model.classes_, 0

    def __call__(self, frame: Any) -> np.ndarray:
        names, above = [], sys._getframe(1)
        while above is not None:
            if f"{Path('src', 'attain')}" in above.f_code.co_filename and not above.f_code.co_name.endswith("comp>"):
                names.append(above.f_code.co_name)
            above = above.f_back
        if "explain" in names:
            self.deepest = max(self.deepest, len(names) - names[::-1].index("explain"))
        return self.model.predict(frame)


def german() -> Case:
    """German credit, with levels and whole numbers."""
    split = Split.of(load_german(), 0)
    trees = GradientBoostingClassifier(n_estimators=40, random_state=0)
    models = {
        "logistic regression": logistic_regression(split.data.schema, 0),
        "boosted trees": make_pipeline(random_forest(split.data.schema, 0)[0], trees),
    }
    return case_of(split, models, 24)


def made_up() -> Case:
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
    return Case(schema, frame, labels, test, people.DESIRED, models, 16)


def case_of(split: Split, models: Mapping[str, Any], rows: int) -> Case:
    """A split with classifiers, which are fitted."""
    fitted = {name: model.fit(split.train, split.y_train) for name, model in models.items()}
    return Case(split.data.schema, split.train, split.y_train, split.test, split.data.desired, fitted, rows)


def small(case: Case) -> Case:
    """Two people, and classifiers whose weights do not depend on the processor."""
    for model in case.models.values():
        if hasattr(model[-1], "coef_"):
            model[-1].coef_, model[-1].intercept_ = np.round(model[-1].coef_, 3), np.round(model[-1].intercept_, 3)
    return replace(case, rows=2)


def asked(case: Case) -> Case:
    """The same with a classifier that is only a function."""
    return replace(case, models={**case.models, "function": Asked(case.models["logistic regression"])})


def with_network(case: Case) -> Case:
    """The same for methods with an autoencoder: a small network of the table."""
    network = CHVAE(case.schema, likelihoods="paper", hidden=8, components=2, epochs=300)
    return replace(case, autoencoder=lambda: trained(network, case.train))


TABLES: Mapping[str, Callable[[], Case]] = {
    "German credit": lambda: small(german()),
    "made-up people": lambda: with_network(asked(small(made_up()))),
}


@dataclass
class Work:
    """What the engine did within `counted_work`."""

    settlers: list[Any]
    batches: list[Any]

    @property
    def counts(self) -> tuple[int, int]:
        """The rows put into final form, and the versions measured."""
        return sum(one.rows_settled for one in self.settlers), sum(one.versions_measured for one in self.batches)


@contextmanager
def counted_work() -> Iterator[Work]:
    """Counts the work of the engine; it counts for itself, and what it counts for is noted where it is made."""
    work = Work([], [])

    class Settler(region.Settler):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            work.settlers.append(self)

    class People(search.People):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            work.batches.append(self)

    with patch.object(region, "Settler", Settler), patch.object(search, "People", People):
        yield work


def lines(
    tables: Mapping[str, Callable[[], Case]],
    methods: Sequence[str] = tuple(METHODS),
    options: Sequence[int] = (3,),
    digits: int = DIGITS,
) -> Iterator[Line]:
    """One line for each table, method, classifier and number of options."""
    for table, make in tables.items():
        case = make()
        for name in methods:
            method = METHODS[name]
            if method.latent and case.autoencoder is None:
                continue
            given = dict(method.parameters)
            if method.latent:
                given["autoencoder"] = case.autoencoder()
            explainer = getattr(explainers, method.kind)(case.schema, random_state=0, **given)
            explainer.fit(case.train, case.labels)
            for classifier in case.models:
                for n in options:
                    start = (table, name, classifier, str(n))
                    yield Line(*start, *_recorded(explainer, case, classifier, n, 4 if method.latent else digits))


def _recorded(explainer: Any, case: Case, classifier: str, n: int, digits: int) -> tuple[str, ...]:
    """What a line says after what was recorded."""
    model = case.models[classifier]
    decide = model if isinstance(model, Asked) else model.predict
    refused = case.test[decide(case.test) != case.desired].iloc[: case.rows]
    if isinstance(model, Asked):
        model.deepest = 0
    try:
        with counted_work() as work:
            result = explainer.explain(
                Model(model, classes=model.classes) if isinstance(model, Asked) else model,
                refused,
                target=case.desired,
                n=n,
            )
    except ModelError:
        return ("not applicable",)
    counts = (result.figures["rows_scored"].sum(), result.rows_asked, *work.counts)
    found = f"{result.found.sum()} of {len(refused)}"
    deepest = str(model.deepest) if isinstance(model, Asked) else ""
    return digest(result, digits), found, *(f"{int(count):,}" for count in counts), deepest


def digest(result: Any, digits: int) -> str:
    """A digest of all options, with so many digits of their numbers, and of the statuses."""
    text = result.options.to_csv(float_format=f"%.{digits}g") + pd.Series(result.status).to_csv()
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(path: Path) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The lines of an earlier table, by what they recorded; it may have fewer columns."""
    rows = [tuple(row.strip("\n")[2:-2].split(" | ")) for row in path.read_text(encoding="utf-8").splitlines()]
    return {row[:KEY]: row for row in rows if len(row) > KEY and row[0] not in (HEADER[0], "---")}


def differences(line: Line, known: tuple[str, ...] | None) -> list[str]:
    """What a line says that an earlier one did not: `German credit, Guarded, tree: rows asked 120, was 90`."""
    what = ", ".join(line[: KEY - 1])
    if known is None:
        return [f"{what}: not recorded"]
    pairs = zip(HEADER, line, known, strict=False)
    return [f"{what}: {name} {now or 'none'}, was {before or 'none'}" for name, now, before in pairs if now != before]


def main() -> None:
    """Records anew, and prints what changed."""
    warnings.simplefilter("ignore")
    earlier = read(ANSWERS) if ANSWERS.exists() else {}
    now = list(lines(TABLES))
    changed = [text for line in now for text in differences(line, earlier.pop(line[:KEY], None))]
    changed += [f"{', '.join(key[: KEY - 1])}: no longer recorded" for key in earlier]
    head, _, text = (__doc__ or "").partition("\n\n")
    ANSWERS.write_text(f"# {head.partition(':')[0]}\n\n{text}\n{report.table(HEADER, now)}\n", encoding="utf-8")
    print(*(changed or ["Nothing changed."]), sep="\n")


if __name__ == "__main__":
    main()
