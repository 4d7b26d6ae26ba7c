"""Data sets × classifiers × methods × seeds, measured the same way: one row for each person in each cell."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import attain
from attain.core.errors import AttainError, listed
from attain.core.progress import track
from attain.datasets import Dataset
from attain.schema import Schema
from experiments.bench.cases import MEASURES
from experiments.bench.cells import BROKEN, FAILED, FOUND, NONE, REFUSED, STOPPED, Cell
from experiments.bench.classifiers import CLASSIFIERS
from experiments.bench.methods import METHODS, OUTSIDE, Given, Recipe
from experiments.bench.workers import Task, perform_all
from experiments.bench.workshop import Plan, Workshop
from experiments.store import Part, Store

DATASETS: Final = ("german", "heloc", "gmsc", "adult", "compas")
_FORMAT: Final = 1
"""Raised when the same cell would be measured in another way, so that parts are not mixed."""
_TEXTS: Final = ("dataset", "classifier", "method", "person", "status", "reason", "verdict", "person_reason")


def run(
    datasets: Sequence[Dataset],
    *,
    people: int = 20,
    seeds: Sequence[int] = (0,),
    classifiers: Mapping[str, Callable[[Schema, int], Any]] = CLASSIFIERS,
    explainers: Mapping[str, Any] | None = None,
    budget: int | None = None,
    jobs: int | None = None,
    limit: float | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> pd.DataFrame:
    """Every method on every data set, classifier and seed: one row for each person of each cell.

    A person without an answer has a row too, and so have the people of a cell that could not be measured. See
    `read_people` for the columns; `summarised` averages them.

    Parameters
    ----------
    datasets
        Each is split 70/30 by the seed.
    people
        So many held-out people whom the classifier refuses are asked about, the same by every method.
    seeds
        Of split, classifiers and methods.
    classifiers
        By name, a function of schema and seed that gives a classifier, not fitted.
    explainers
        By name, anything with `explain(model, X, target=...)` that gives a `Counterfactuals` or a frame like `X`, with
        missing rows for people without an answer; what has a `fit(X, y)` is fitted on the training part first. Or how
        to make it: a `Method` of the package, a `Factory`. By default every method of the package.
    budget
        The most rows that a method of the package may ask the classifier about for one person; by default its own.
    jobs
        In so many processes; a script then needs `if __name__ == "__main__":`. By default in this one.
    limit
        A cell that takes longer than so many seconds is stopped; only with `jobs`.
    folder
        Where cells are kept as they are done. Run again with the same folder, only those that are not there, failed or
        were stopped are run, and all that the folder has is given back. By default nothing is kept.
    """
    _check(people, seeds, budget, jobs, limit, [data.name for data in datasets])
    given = METHODS if explainers is None else explainers
    recipes: dict[str, Recipe] = {
        name: value if hasattr(value, "make") and hasattr(value, "latent") else Given(value)
        for name, value in given.items()
    }
    plan = Plan({data.name: data for data in datasets}, dict(classifiers), recipes, people, budget)
    cells = [
        Cell(data.name, classifier, method, seed)
        for data in datasets
        for seed in seeds
        for method in recipes
        for classifier in classifiers
    ]
    with ExitStack() as stack:
        kept = stack.enter_context(tempfile.TemporaryDirectory()) if folder is None else folder
        store = Store(kept, settings(people, budget))
        scratch = None if jobs is None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workshop = Workshop(plan, store, scratch)
        waiting = [cell for cell in cells if not workshop.done(cell)]
        bar = track(len(cells), "bench", unit="cells")
        bar.update(len(cells) - len(waiting))
        stack.callback(bar.close)
        if jobs is None:
            # several threads would add the time they wait for each other to everybody's CPU seconds
            stack.enter_context(threadpool_limits(1))
            for cell in waiting:
                workshop.make(cell)
                bar.update(1)
        elif waiting:
            _in_processes(workshop, waiting, jobs, limit, bar)
        return read_people(store, cells)


def settings(people: int, budget: int | None) -> dict[str, Any]:
    """What all cells of a folder share; data sets, classifiers, methods and seeds may be added later."""
    return {"bench": _FORMAT, "attain": attain.__version__, "people": people, "budget": budget}


def read_people(store: Store, asked: Sequence[Cell] = ()) -> pd.DataFrame:
    """All cells of a store as one tidy table: a row for each person in each cell.

    Cells stand in the order in which the package lists their names; names of one's own as they were `asked` for.

    Columns: `dataset`, `classifier`, `method`, `seed`; `person`, the label of their row in the data set, missing where
    a cell has no people; `status` of the cell (`ok`, `not applicable`, `failed`, `stopped`, `nobody is refused`) and
    its `reason`; `verdict` on the person's answer (`found`, `no answer`, `breaks a rule`, `still refused`) and its
    `person_reason`; `found`, whether there is an answer that counts; `rules_kept`, whether an answer breaks no rule,
    and `type_valid`, whether the classifier also decides for it, both missing without one; every measure, missing
    without an answer that counts; `rows_scored`, how many rows the classifier was asked about; `cpu_seconds`, the
    cell's mean over its people; `fit_seconds`, what fitting the method took; `free_features`, with which a person
    without an answer is charged; `accuracy` of the classifier.
    """
    found = [part for key, part in store.items() if key.startswith("cell ")]
    frames = [_frame(part) for part in sorted(found, key=_order(asked))]
    if not frames:
        raise AttainError(f"{store.folder} has no cells of a bench")
    return pd.concat(frames, ignore_index=True).astype(dict.fromkeys(_TEXTS, "string"))


def _frame(part: Part) -> pd.DataFrame:
    facts, number = part.facts, len(part.facts["people"])
    verdicts = facts.get("verdicts", [None] * number)
    kept = {None: np.nan, NONE: np.nan, BROKEN: 0.0, REFUSED: 1.0, FOUND: 1.0}
    columns: dict[str, Any] = {name: [facts[name]] * number for name in ("dataset", "classifier", "method")}
    columns |= {"seed": np.full(number, facts["seed"], dtype=np.int64), "person": facts["people"]}
    columns |= {"status": [facts["status"]] * number, "reason": [facts["reason"]] * number, "verdict": verdicts}
    columns["person_reason"] = facts.get("reasons", [""] * number)
    columns["found"] = [verdict == FOUND for verdict in verdicts]
    columns["rules_kept"] = [kept[verdict] for verdict in verdicts]
    columns["type_valid"] = [0.0 if verdict == REFUSED else kept[verdict] for verdict in verdicts]
    for name in (*MEASURES, "rows_scored"):
        columns[name] = part.arrays.get(name, np.full(number, np.nan))
    for name in ("cpu_seconds", "fit_seconds", "free_features", "accuracy"):
        columns[name] = np.full(number, facts.get(name, np.nan), dtype=np.float64)
    return pd.DataFrame(columns)


def _order(cells: Sequence[Cell]) -> Callable[[Part], tuple[Any, ...]]:
    """Cells as the package lists their names, then as they were asked for, then by alphabet."""

    def places(known: Sequence[str], asked: Sequence[str]) -> dict[str, int]:
        return {name: place for place, name in enumerate(dict.fromkeys((*known, *asked)))}

    ranks = {
        "dataset": places(DATASETS, [cell.dataset for cell in cells]),
        "classifier": places(list(CLASSIFIERS), [cell.classifier for cell in cells]),
        "method": places([*METHODS, *OUTSIDE], [cell.method for cell in cells]),
    }

    def key(part: Part) -> tuple[Any, ...]:
        names = [(rank.get(part.facts[name], len(rank)), part.facts[name]) for name, rank in ranks.items()]
        return (*names, part.facts["seed"])

    return key


def _in_processes(workshop: Workshop, cells: Sequence[Cell], jobs: int, limit: float | None, bar: Any) -> None:
    """Classifiers and autoencoders first, each once; a cell as soon as what it needs is there."""
    tasks: dict[Hashable, Task] = {}
    for cell in cells:
        if workshop.plan.recipes[cell.method].latent:
            training = ("autoencoder", cell.dataset, cell.seed)
            tasks[training] = Task(training)
    for cell in cells:
        fitting = ("case", cell.dataset, cell.seed, cell.classifier)
        tasks[fitting] = Task(fitting)
    for cell in cells:
        needs: set[Hashable] = {("case", cell.dataset, cell.seed, cell.classifier)}
        if workshop.plan.recipes[cell.method].latent:
            needs.add(("autoencoder", cell.dataset, cell.seed))
        tasks[cell] = Task(cell, frozenset(needs), limit)

    def done(name: Hashable) -> None:
        if isinstance(name, Cell):
            bar.update(1)

    def lost(name: Hashable, reason: str, late: bool) -> None:
        if isinstance(name, Cell):
            workshop.give_up(name, STOPPED if late else FAILED, reason)
            bar.update(1)

    perform_all(
        list(tasks.values()),
        _performer,
        (workshop.plan, workshop.store.folder, workshop.scratch),
        jobs=jobs,
        done=done,
        lost=lost,
    )


def _performer(plan: Plan, folder: Path, scratch: Path) -> Callable[[Any], None]:
    """What a process does with the name of a task."""
    workshop = Workshop(plan, Store.opened(folder), scratch)

    def perform(name: Any) -> None:
        if isinstance(name, Cell):
            workshop.make(name)
            return
        kind, dataset, seed, *classifier = name
        try:
            workshop.case(dataset, seed, *classifier) if kind == "case" else workshop.autoencoder(dataset, seed)
        except Exception:  # whoever needs it will fail in the same way, and tell
            return

    return perform


def failures(frame: pd.DataFrame) -> list[str]:
    """A sentence for each cell that failed or was stopped."""
    bad = frame[frame["status"].isin((FAILED, STOPPED))].drop_duplicates(["dataset", "classifier", "method", "seed"])
    return [
        f"{row.method} on {row.dataset} with {row.classifier}, seed {row.seed}: {row.status} ({row.reason})"
        for row in bad.itertuples()
    ]


def _check(
    people: int, seeds: Sequence[int], budget: int | None, jobs: int | None, limit: float | None, names: list[str]
) -> None:
    for name, value, least in (("people", people, 1), ("budget", budget, 2), ("jobs", jobs, 1)):
        if value is not None and value < least:
            raise AttainError(f"{name} is {value}; it takes a whole number from {least} upward")
    if not seeds or min(seeds) < 0:
        raise AttainError(f"seeds is {list(seeds)}; it takes at least one whole number, each from 0 upward")
    if limit is not None and jobs is None:
        raise AttainError("limit is given without jobs; a cell can only be stopped in a process of its own")
    if limit is not None and limit <= 0:
        raise AttainError(f"limit is {limit}; it takes seconds above 0")
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise AttainError(f"several data sets are named {listed(twice)}; give each a name of its own")
