"""Whether answers are possible, not only typical: `python -m benchmarks.possible`.

Five data sets, three classifiers and two schemas: `inferred`, the one that `Schema.infer` gives with only the protected
columns immutable, and `own`, the data set's. Rows are split into three: half of them train the classifier and the
methods; three tenths are held out, and neither a method nor its laws have seen them: the laws that answers are held
against, the inliers and ε are theirs; among the last fifth are the rows explained, refused ones, and all of the fifth
are the real people whose own share of broken laws stands beside that of the answers. German credit is split three
times, and pooled.

The guarded search takes part in three variants: `before` (no laws, cost by the empirical distribution function), `cost`
(no laws, cost by midranks) and `laws` (its default: both). With boosted trees and the inferred schema there are other
methods of the package, with and without laws, and other packages where they are installed, with 5,000 training rows
and 10 seconds of wall time for a row, after which it counts as one without an answer:

    pip install dice-ml==0.12 treecf==0.3.2
    pip install --no-deps NICEx==0.2.3

Answers and figures are kept in a file, so that cells can be measured again; `--write` makes the table from it, and
`--read` prints answers as text. A cell takes one to three CPU minutes.

    python -m benchmarks.possible --jobs 2 --figures possible.npz
    python -m benchmarks.possible --jobs 2 --figures possible.npz --cells 'HELOC/*' --again
    python -m benchmarks.possible --jobs 2 --figures possible.npz --measure
    python -m benchmarks.possible --figures possible.npz --write
    python -m benchmarks.possible --figures possible.npz --read laws --people 20
"""

from __future__ import annotations

import argparse
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from multiprocessing import get_context
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
from attain.datasets import Dataset, load_adult, load_compas, load_german, load_gmsc, load_heloc
from attain.density import CHVAE
from attain.methods.guarded.settings import GuardedSettings
from attain.metrics import AnswerMatrix, Background, EvaluationContext
from attain.metrics.measures import MEASURES as CATALOGUE
from attain.metrics.measures import held_out_inlier
from attain.population.percentiles import total_shift
from attain.results.status import Typicality
from attain.schema import Schema
from attain.tables import Table, unchanged
from benchmarks.guarded_peers import cells_of
from benchmarks.methods import ONE_THREAD
from experiments import CLASSIFIERS
from experiments.bench.methods import OUTSIDE


def midrank_shift(c: EvaluationContext) -> np.ndarray:
    """The total shift of each answer by midranks, as the search sees it."""
    shifts = replace(c.percentiles, method="midrank").interpolated_shift(c.factuals, c.answers)
    return total_shift(shifts, c.schema.free_columns)


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
SAID = ("ms", "typical", "laws")
"""What is known about answers without measuring them."""
MOST_BROKEN = 10
"""The laws kept for reading that most answers break."""
MOST_REAL = 5000
"""The most real people whose own share is measured."""


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


class EcdfCost(Guarded):
    """The guarded search whose cost is measured by the empirical distribution function."""

    _settings = GuardedSettings(cost="ecdf")


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
        yield BEFORE, EcdfCost(schema, figures=False, laws=None)
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


def measured(cell: Cell, people: int, known: Arrays | None = None) -> Arrays:
    """The figures of one cell: by `METHOD/MEASURE`, one number per explained row; and the answers themselves.

    `known` are figures whose answers are measured again, without a search.
    """
    warnings.simplefilter("ignore")
    part = Part.of(cell)
    model = part.classifier(cell.model)
    background = Background(
        part.schema, model, part.train, part.y_train,
        target=part.desired, X_test=part.held_out, y_test=part.y_held_out,
    )  # fmt: skip
    refused = part.asked[model.predict(part.asked) != part.desired]
    most = len(known["factuals"]) if known else min(people, FEW) if cell.group == PACKAGES else people
    refused = refused.iloc[:most]
    own = Table.read(refused, part.schema)
    assert known is None or unchanged(known["factuals"], own.values).all(), "the answers are for other rows"
    real = Table.read(part.asked.iloc[:MOST_REAL], part.schema)
    result: dict[str, np.ndarray] = {
        "factuals": own.values,
        **_evaluated(background, real, real.values, "real", (POSSIBLE,)),
    }
    result["real/laws"] = np.array([len(background.laws or ())])
    for name, rows, figures in _searched(cell, part, model, refused) if known is None else _stored(known):
        usable = _usable(rows, own, model, background.train.layout, part.desired)
        result |= {f"{name}/{key}": values for key, values in {**figures, "answers": usable}.items()}
        result |= _evaluated(background, own, usable, name)
    return result


def _searched(cell: Cell, part: Part, model: Any, refused: pd.DataFrame) -> Iterator[tuple[str, np.ndarray, Arrays]]:
    """Each method's name, its answers (n, d), and what it says about them."""
    for name, explainer in methods(part, cell.group):
        started = time.perf_counter()
        yield name, *(_package_answers if cell.group == PACKAGES else _answers)(explainer, part, model, refused)
        print(f"{cell.key}, {name}: {time.perf_counter() - started:.0f} s", flush=True)


def _stored(known: Arrays) -> Iterator[tuple[str, np.ndarray, Arrays]]:
    """The same from the file."""
    for name in [key.removesuffix("/answers") for key in known if key.endswith("/answers")]:
        yield name, known[f"{name}/answers"], {key: known[f"{name}/{key}"] for key in SAID if f"{name}/{key}" in known}


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
        figures["laws"] = np.array([len(explainer.laws_)])
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


def _evaluated(background: Background, table: Table, rows: np.ndarray, name: str, measures: Any = MEASURES) -> Arrays:
    """By `NAME/MEASURE`, one number per row; NaN without an answer."""
    found = unchanged(table.values, rows).all(axis=1) | ~np.isnan(rows).all(axis=1)
    given = AnswerMatrix(table, rows, found, background.goal.target)
    evaluation = background.evaluate(given, measures=measures, resamples=1)
    broken = evaluation.broken_laws.head(MOST_BROKEN).to_dict("records") if background.laws else []
    lines = [f"{100 * law['share']:.1f} % ({100 * law['real_share']:.2f} %) {law['law']}" for law in broken]
    figures = {measure: column.to_numpy(dtype=np.float64) for measure, column in evaluation.frame.items()}
    return {f"{name}/{key}": values for key, values in {**figures, "broken_laws": np.array(lines)}.items()}


def part_of(known: Arrays, cell: Cell) -> Arrays:
    """The figures of one cell, by `METHOD/MEASURE`."""
    head = f"{cell.key}/"
    return {name.removeprefix(head): values for name, values in known.items() if name.startswith(head)}


def _performed(cell: Cell, people: int, known: Arrays | None) -> tuple[Cell, Arrays, float]:
    started = time.perf_counter()
    return cell, measured(cell, people, known), time.perf_counter() - started


def main() -> None:
    """Measures every cell that the file of figures lacks; writes the table, or prints answers, on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--people", type=int, default=PEOPLE, help="rows explained in a cell")
    parser.add_argument("--cells", nargs="*", default=["*"], help="patterns of DATA/SEED/SCHEMA/CLASSIFIER/GROUP")
    parser.add_argument("--again", action="store_true", help="measure cells again that the file has")
    parser.add_argument("--measure", action="store_true", help="measure answers that the file has, without a search")
    parser.add_argument("--figures", type=Path, default=Path("possible.npz"))
    parser.add_argument("--write", action="store_true", help="measure nothing, write the table from the figures")
    parser.add_argument("--read", metavar="METHOD", help="measure nothing, print answers of a method as text")
    given = parser.parse_args()
    known = dict(np.load(given.figures)) if given.figures.exists() else {}
    cells = [cell for cell in all_cells() if any(fnmatch(cell.key, pattern) for pattern in given.cells)]
    if given.write or given.read:
        from benchmarks import possible_table

        if given.read:
            possible_table.read(known, cells, given.read, given.people)
        else:
            possible_table.write(known)
        return
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "XLA_FLAGS": ONE_THREAD}
    parts = {cell: part_of(known, cell) for cell in cells}
    answered = [cell for cell, part in parts.items() if any(key.endswith("/answers") for key in part)]
    chosen = answered if given.measure else [cell for cell in cells if given.again or cell not in answered]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        tasks = [pool.submit(_performed, cell, given.people, parts[cell] if given.measure else None) for cell in chosen]
        for done in as_completed(tasks):
            try:
                cell, figures, seconds = done.result()
            except Exception as error:  # the other cells go on
                print(f"a cell failed: {type(error).__name__}: {error}", flush=True)
                continue
            known = {name: values for name, values in known.items() if not name.startswith(f"{cell.key}/")}
            known |= {f"{cell.key}/{name}": values for name, values in figures.items()}
            np.savez_compressed(given.figures, **known)
            print(f"{cell.key}: {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
