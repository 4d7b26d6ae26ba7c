"""Answers that break laws of the data: `python -m benchmarks.possible`.

Five data sets, three classifiers and two schemas: `inferred` from the data with only the protected columns immutable,
and `own`, the data set's. Half of the rows train the classifier and the methods. Three tenths are held out, and neither
a method nor its laws have seen them: their laws, their inliers (local outlier factor with 20 neighbours) and their ε.9
are what answers are measured by. Rows explained are up to 200 refused ones of the last fifth; `real people` are all of
that fifth, up to 5,000. `breaks a law`: the share of answers that break at least one law found on held-out people;
`difference`: to real people, in points. `typical` is the guard's own verdict. TS and MS are by the empirical
distribution function, `midrank TS` by that of the cost, all means over the answers. `laws`: the number that the method
found on its training rows; `held-out laws`: the number that answers are held against. German credit is split three
times, and pooled.

Variants of the guarded search: `before`, an earlier version, has no laws, and a cost by the empirical distribution
function; `cost` has no laws, and a cost by midranks; `laws`, the default, has both. Its targets: at most 0.5 points
more answers break a law than real people; success, inliers and connectedness at most 1 point below `before`; TS at most
1.15 times that of `before`. ✗ marks a target that was missed.

With boosted trees and the inferred schema there are other methods of the package, with and without laws, and other
packages where they are installed, for 50 rows, with 5,000 training rows and 10 seconds of wall time for a row, after
which it counts as one without an answer:

    pip install dice-ml==0.12 treecf==0.3.2
    pip install --no-deps NICEx==0.2.3

A cell, DATA/SEED/SCHEMA/CLASSIFIER/GROUP, takes one to three CPU minutes; answers and figures are kept in a file.
"""

from __future__ import annotations

import argparse
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from attain import Guarded
from attain import methods as explainers
from attain.core.errors import MissingExtraError
from attain.datasets import Dataset, load_german
from attain.density import CHVAE
from attain.methods.guarded.search import ShiftCosts
from attain.metrics import AnswerMatrix, EvaluationContext, RealPeople
from attain.metrics.measures import MEASURES as CATALOGUE
from attain.metrics.measures import held_out_inlier
from attain.results.status import Typicality
from attain.schema import Schema
from attain.tables import Table, unchanged
from benchmarks import report
from benchmarks.guarded_peers import cells_of
from benchmarks.harness import Figures, Kept
from experiments.bench.classifiers import CLASSIFIERS
from experiments.bench.methods import OUTSIDE
from experiments.data import load_adult, load_compas, load_gmsc, load_heloc


def midrank_shift(c: EvaluationContext) -> np.ndarray:
    """The total shift of each answer by midranks, as the search sees it."""
    answers = np.where(c.found[:, None], c.answers, c.factuals)
    shifts = ShiftCosts(c.percentiles, 0.0, 0.0).shifts(c.factuals, answers)
    return np.where(c.found, shifts[:, c.schema.free_columns].sum(axis=1), np.nan)


def _adult() -> Dataset:
    """Adult with `education-num`, as the file has it."""
    data = load_adult()
    X = data.X.assign(**{"education-num": data.extras["education-num"]})
    return replace(data, X=X, schema=Schema.infer(X, laws=False))


DATA: Mapping[str, tuple[Callable[[], Dataset], tuple[str, ...]]] = {
    "German": (load_german, ("age", "personal_status_sex", "foreign_worker")),
    "GMSC": (load_gmsc, ("age",)),
    "HELOC": (load_heloc, ()),
    "Adult": (_adult, ("age", "race", "sex", "native-country")),
    "COMPAS": (load_compas, ("age", "race", "sex")),
}
"""By name, the data set as its file has it, and its protected columns."""
SEEDS = {"German": 3}
INFERRED, OWN = "inferred", "own"
MODELS = ("logistic regression", "gradient boosting", "neural network")
BEFORE, COST, LAWS = "before", "cost", "laws"
GUARDED, OTHERS, PACKAGES = "guarded", "others", "packages"
PEERS = {"dice-ml": "dice-genetic", "treecf": "treecf", "NICE": "nice-plausibility"}
POSSIBLE = replace(CATALOGUE["possible"], optional=True)
"""Left out where no laws are found on held-out people."""
MEASURES = (POSSIBLE, "total_shift", midrank_shift, "max_shift", "changed", "connected_90", held_out_inlier(20))
PEOPLE, FEW = 200, 50
"""Rows explained in a cell: by methods of the package, and by other packages."""
PACKAGE_ROWS, PACKAGE_SECONDS = 5000, 10
"""Training rows of other packages, and their wall time for a row: one of them may draw random rows for ever."""
MOST_REAL, MOST_MOVED = 5000, 5
"""The most real people whose own share is measured; the features listed that most answers move."""
DIFFERENCE, LOST, DEARER = 0.5, 1.0, 1.15
"""The targets: points above real people's own share, points lost, and the ratio of TS."""
FURTHER = (
    *(f"{name}{end}" for name in ("CCHVAE", "GrowingSpheres", "NearestUnlike") for end in (", no laws", "")),
    *PEERS,
)
HEADER = (
    "variant", "success %", "breaks a law %", "real people %", "difference", "inliers %", "connected %", "typical %",
    "TS", "midrank TS", "MS", "changes", "CPU ms", "laws", "held-out laws",
)  # fmt: skip


Arrays: TypeAlias = Mapping[str, np.ndarray]


class Cell(NamedTuple):
    """What one process measures."""

    data: str
    seed: int
    schema: str
    model: str
    group: str

    @property
    def key(self) -> str:
        return "/".join(map(str, self))

    @classmethod
    def of(cls, key: str) -> Cell:
        data, seed, *others = key.split("/")
        return cls(data, int(seed), *others)


def all_cells() -> list[Cell]:
    """Every cell, those that take longest first."""
    cells = [
        Cell(name, seed, schema, model, GUARDED)
        for name in ("GMSC", "Adult", "HELOC", "COMPAS", "German")
        for seed in range(SEEDS.get(name, 1))
        for schema in (INFERRED, OWN)
        for model in MODELS
    ]
    further = [
        cell._replace(group=group)
        for cell in cells
        if (cell.schema, cell.model) == (INFERRED, "gradient boosting")
        for group in (OTHERS, PACKAGES)
    ]
    return further + cells


@dataclass(frozen=True, eq=False)
class Part:
    """A data set in three parts."""

    schema: Schema
    desired: Any
    train: pd.DataFrame
    y_train: pd.Series
    held_out: pd.DataFrame
    y_held_out: pd.Series
    asked: pd.DataFrame

    @classmethod
    def of(cls, cell: Cell) -> Part:
        load, protected = DATA[cell.data]
        data = load() if cell.schema == INFERRED or cell.data != "Adult" else load_adult()
        train, rest, y_train, y_rest = train_test_split(
            data.X, data.y, test_size=0.5, random_state=cell.seed, stratify=data.y
        )
        kept, asked, y_kept, _ = train_test_split(rest, y_rest, test_size=0.4, random_state=cell.seed, stratify=y_rest)
        schema = data.schema if cell.schema == OWN else Schema.infer(data.X, immutable=protected, laws=False)
        return cls(schema, data.desired, train, y_train, kept, y_kept, asked)

    def classifier(self, name: str) -> Any:
        """The classifier, fitted; missing numbers are imputed by the median, where it does not take them."""
        model = CLASSIFIERS[name](self.schema, 0)
        if all(feature.numeric for feature in self.schema) and name != "gradient boosting":
            model = make_pipeline(SimpleImputer(strategy="median").set_output(transform="pandas"), model)
        return model.fit(self.train, self.y_train)


def methods(part: Part, group: str) -> Iterator[tuple[str, Any]]:
    """The methods of a group by name, not fitted."""
    schema = part.schema
    if group == PACKAGES:
        for title, name in PEERS.items():
            try:
                yield title, OUTSIDE[name].make(schema, 0, None, None)
            except MissingExtraError as error:
                print(error, flush=True)
        return
    if group == GUARDED:
        yield COST, Guarded(schema, figures=False, laws=None)
        yield LAWS, Guarded(schema, figures=False)
        return
    autoencoder = CHVAE(schema, likelihoods="paper", hidden=0, random_state=0, verbose=False).fit(
        Table.read(part.train, schema).values
    )
    for suffix, laws in ((", no laws", None), ("", "found")):
        yield f"CCHVAE{suffix}", explainers.CCHVAE(schema, autoencoder=autoencoder, figures=False, laws=laws)
        for method in (explainers.GrowingSpheres, explainers.NearestUnlike):
            yield f"{method.__name__}{suffix}", method(schema, figures=False, laws=laws)


def measured(key: str, people: int = PEOPLE) -> Arrays:
    """The figures of one cell: by `METHOD/MEASURE`, one number per explained row; and the answers themselves."""
    warnings.simplefilter("ignore")
    cell = Cell.of(key)
    part = Part.of(cell)
    model = part.classifier(cell.model)
    against = RealPeople(
        part.schema, model, part.train, part.y_train,
        target=part.desired, X_test=part.held_out, y_test=part.y_held_out,
    )  # fmt: skip
    refused = part.asked[model.predict(part.asked) != part.desired]
    refused = refused.iloc[: min(people, FEW) if cell.group == PACKAGES else people]
    own, real = (Table.read(frame, part.schema) for frame in (refused, part.asked.iloc[:MOST_REAL]))
    result = {"real/factuals": own.values, "real/laws": np.array([len(against.laws or ())])}
    result |= _evaluated(against, real, real.values, "real", (POSSIBLE,))
    for name, explainer in methods(part, cell.group):
        started = time.perf_counter()
        rows, figures = (_package_answers if cell.group == PACKAGES else _answers)(explainer, part, model, refused)
        print(f"{key}, {name}: {time.perf_counter() - started:.0f} s", flush=True)
        usable = _usable(rows, own, model, against.train.population.table.layout, part.desired)
        result |= {f"{name}/{key}": values for key, values in {**figures, "answers": usable}.items()}
        result |= _evaluated(against, own, usable, name)
    return result


def _answers(explainer: Any, part: Part, model: Any, refused: pd.DataFrame) -> tuple[np.ndarray, Arrays]:
    """The answers of a method of the package (n, d), and what it says about them."""
    explainer.fit(part.train, part.y_train)
    explainer.explain(model, refused.iloc[:2], target=part.desired)  # what is kept about a model is made once
    started = time.process_time()
    answered = explainer.explain(model, refused, target=part.desired)
    figures = {"ms": np.array([1000 * (time.process_time() - started) / len(refused)])}
    if "typicality" in answered.figures:
        level = answered.figures["typicality"].to_numpy(dtype=np.float64)
        figures["typical"] = np.where(np.isnan(level), np.nan, level == Typicality.TYPICAL)
    if explainer.laws is not None:
        figures["laws"] = np.array([len(explainer.population_.laws)])
    return answered.answers, figures


def _package_answers(explainer: Any, part: Part, model: Any, refused: pd.DataFrame) -> tuple[np.ndarray, Arrays]:
    """The answers of another package (n, d), NaN where it has none, fails or takes too long; and its CPU time."""
    explainer.fit(part.train[:PACKAGE_ROWS], part.y_train[:PACKAGE_ROWS])
    signal.signal(signal.SIGALRM, _too_long)
    started, answers = time.process_time(), []
    for i in range(len(refused)):
        person = refused.iloc[i : i + 1]
        signal.alarm(PACKAGE_SECONDS)
        try:
            answers.append(explainer.explain(model, person, target=part.desired).frame)
        except Exception as error:
            print(f"{type(explainer).__name__}, row {person.index[0]}: {type(error).__name__}: {error}", flush=True)
            answers.append(person.astype(object).mask(np.ones(person.shape, dtype=bool)))
        finally:
            signal.alarm(0)
    figures = {"ms": np.array([1000 * (time.process_time() - started) / len(refused)])}
    return cells_of(pd.concat(answers), part.schema), figures


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"more than {PACKAGE_SECONDS} s")


def _usable(rows: np.ndarray, own: Table, model: Any, layout: Any, desired: Any) -> np.ndarray:
    """The answers that keep immutable cells, have whole numbers where these are asked for, and flip the decision.

    Others count as none: their rows are NaN, (n, d).
    """
    immutable = np.array([feature.immutable for feature in own.schema])
    whole = np.array([feature.step == 1 for feature in own.schema])
    moved = ~np.isnan(rows) & ~immutable & ((rows % 1 == 0) | ~whole)
    usable = (unchanged(own.values, rows) | moved).all(axis=1)
    usable[usable] = model.predict(layout.frame(rows[usable])) == desired
    return np.where(usable[:, None], rows, np.nan)


def _evaluated(against: RealPeople, table: Table, rows: np.ndarray, name: str, measures: Any = MEASURES) -> Arrays:
    """By `NAME/MEASURE`, one number per row; NaN without an answer."""
    found = unchanged(table.values, rows).all(axis=1) | ~np.isnan(rows).all(axis=1)
    given = AnswerMatrix(table, rows, found, against.train.goal.target)
    evaluation = against.evaluate(given, measures=measures, resamples=1)
    return {f"{name}/{measure}": column.to_numpy(np.float64) for measure, column in evaluation.frame.items()}


def pooled(kept: Kept, data: str, schema: str, model: str, group: str) -> Figures | None:
    """The figures of all splits; None where one was not measured."""
    return kept.of(*(Cell(data, seed, schema, model, group).key for seed in range(SEEDS.get(data, 1))))


def line(figures: Figures, method: str, judged: bool) -> tuple[str, ...]:
    """A line of the table, with the targets that were missed marked if it is judged."""
    broken, real = (100 - 100 * figures.mean(whose, "possible") for whose in (method, "real"))
    shares = ("held_out_inlier_20", "connected_90", "typical")
    texts = [
        report.percent(figures.mean(method, "found")),
        *(report.number(value, 1) for value in (broken, real, broken - real)),
        *(report.percent(figures.mean(method, measure)) for measure in shares),
        *(report.number(figures.mean(method, m), 3) for m in ("total_shift", "midrank_shift", "max_shift")),
        report.number(figures.mean(method, "changed")),
        *(report.number(figures.mean(*of), 0) for of in ((method, "ms"), (method, "laws"), ("real", "laws"))),
    ]
    if judged:
        lost = {
            place: 100 * figures.mean(method, measure) < 100 * figures.mean(BEFORE, measure) - LOST
            for place, measure in ((0, "found"), (4, "held_out_inlier_20"), (5, "connected_90"))
        }
        dearer = figures.mean(method, "total_shift") > DEARER * figures.mean(BEFORE, "total_shift")
        for place, missed in {**lost, 3: broken - real > DIFFERENCE, 7: dearer}.items():
            texts[place] += " ✗" if missed else ""
    return method, *texts


def moved(figures: Figures, method: str, names: Iterable[str]) -> str:
    """The features that most answers move, with the percentage of answers that do."""
    found = figures.get(method, "found") == 1
    share = (~unchanged(figures.get("real", "factuals")[found], figures.get(method, "answers")[found])).mean(axis=0)
    most = sorted(zip(-share, names, strict=True), key=lambda pair: pair[0])[:MOST_MOVED]
    return ", ".join(f"{name} {-100 * less:.0f}" for less, name in most)


def tables(kept: Kept) -> Iterator[str]:
    """A table for each data set and schema, one of other methods and packages, and one of what answers move."""
    moves: list[tuple[str, ...]] = []
    for data, schema in product(DATA, (INFERRED, OWN)):
        lines = []
        for model in MODELS:
            figures = pooled(kept, data, schema, model, GUARDED)
            if figures is None:
                continue
            names = Part.of(Cell(data, 0, schema, model, GUARDED)).schema.names
            for variant in filter(figures.has, (BEFORE, COST, LAWS)):
                lines.append((model, *line(figures, variant, variant == LAWS)))
                if schema == INFERRED:
                    moves.append((data, model, variant, moved(figures, variant, names)))
        if lines:
            yield f"## {data}, {schema} schema\n\n" + report.table(("classifier", *HEADER), lines)
    others = [
        (data, *line(figures, method, False))
        for data, group in product(DATA, (OTHERS, PACKAGES))
        if (figures := pooled(kept, data, INFERRED, MODELS[1], group)) is not None
        for method in filter(figures.has, FURTHER)
    ]
    if others:
        title = f"## Other methods and packages, inferred schema, {MODELS[1]}"
        yield f"{title}\n\n{report.table(('data', 'method', *HEADER[1:]), others)}"
    said = f"The {MOST_MOVED} features that most answers move, inferred schema, with the percentage that move each."
    shown = report.table(("data", "classifier", "variant", "features"), moves)
    yield f"## What answers move\n\n{said}\n\n{shown}"


def main() -> None:
    """Measures every cell that the file of figures lacks, and writes the tables of all that it has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--cells", nargs="*", default=["*"], help="patterns of cells; none writes the tables only")
    parser.add_argument("--figures", type=Path, default=Path("possible.npz"))
    given = parser.parse_args()
    kept = Kept(given.figures)
    chosen = [cell.key for cell in all_cells() if any(fnmatch(cell.key, pattern) for pattern in given.cells)]
    kept.measure(chosen, measured, given.jobs)
    report.write(__doc__, *tables(kept))


if __name__ == "__main__":
    main()
