"""Where the cells of a bench are made: splits, classifiers and autoencoders once, and what they are made for."""

from __future__ import annotations

import hashlib
import pickle
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from attain.core.errors import AttainError
from attain.core.files import write_atomically
from attain.datasets import Dataset
from attain.schema import Schema
from attain.tables import Table
from experiments.bench.cases import Case, Split, content
from experiments.bench.cells import FAILED, STOPPED, Cell, Fitted, measured, unmeasured, without_people
from experiments.bench.methods import Recipe
from experiments.store import Part, Store

Kept = TypeVar("Kept")


@dataclass(frozen=True, eq=False)
class Plan:
    """What a bench is made of, by name, and how many people are asked about with how many rows each."""

    datasets: Mapping[str, Dataset]
    classifiers: Mapping[str, Callable[[Schema, int], Any]]
    recipes: Mapping[str, Recipe]
    people: int
    budget: int | None

    @cached_property
    def contents(self) -> dict[str, str]:
        """What tells each data set from another of the same name."""
        return {name: content(data) for name, data in self.datasets.items()}

    def origin(self, cell: Cell) -> str:
        """All that a cell depends on beside its names: a stored one with another origin is not this one."""
        make = self.classifiers[cell.classifier]
        maker = f"{make.__module__}:{make.__qualname__}"
        return f"{self.contents[cell.dataset]} | {maker} | {self.recipes[cell.method]}"


class Workshop:
    """Makes the cells of a plan into a store.

    Parameters
    ----------
    plan
        What there is to make.
    store
        Where cells and autoencoders go.
    scratch
        A folder of this run alone, through which processes share fitted classifiers; None where there is only one.
    """

    def __init__(self, plan: Plan, store: Store, scratch: Path | None = None) -> None:
        self.plan, self.store, self.scratch = plan, store, scratch
        self._splits: OrderedDict[Hashable, Split] = OrderedDict()
        self._cases: OrderedDict[Hashable, Case] = OrderedDict()
        self._fitted: OrderedDict[Hashable, Fitted] = OrderedDict()

    def done(self, cell: Cell) -> bool:
        """Whether the store has the cell; one that failed or was stopped is made again."""
        if cell.key not in self.store:
            return False
        facts = self.store.read(cell.key).facts
        if facts["status"] in (FAILED, STOPPED):
            return False
        if facts["origin"] != self.plan.origin(cell):
            raise AttainError(
                f"{self.store.folder} has {cell.method!r} on {cell.dataset!r} with {cell.classifier!r} from other data "
                "or with other parameters; take another folder, or another name"
            )
        return True

    def make(self, cell: Cell) -> None:
        """Makes a cell into the store. Whatever is raised becomes a failed cell that tells what it was."""
        try:
            case = self.case(cell.dataset, cell.seed, cell.classifier)
            try:
                part = measured(case, self._method(cell.dataset, cell.seed, cell.method))
            except Exception as error:
                part = unmeasured(FAILED, _told(error), case.people)
        except Exception as error:
            part = without_people(FAILED, _told(error))
        self._keep(cell, part)

    def give_up(self, cell: Cell, status: str, reason: str) -> None:
        """Stores that a cell ended without a result, for a reason that its own process cannot tell."""
        path = self._shared(cell.dataset, cell.seed, cell.classifier)
        people: pd.DataFrame | None = None
        if path is not None and path.exists():
            people = self.case(cell.dataset, cell.seed, cell.classifier).people
        self._keep(cell, without_people(status, reason) if people is None else unmeasured(status, reason, people))

    def case(self, dataset: str, seed: int, classifier: str) -> Case:
        """The classifier fitted, and its people: remembered, or from another process, or made now."""

        def find() -> Case:
            path = self._shared(dataset, seed, classifier)
            if path is not None and path.exists():
                found: Case = pickle.loads(path.read_bytes())  # written by this very run, into a folder of its own
                return found
            made = Case.of(self._split(dataset, seed), self.plan.classifiers[classifier], seed, self.plan.people)
            if path is not None:
                write_atomically(path, pickle.dumps(made))
            return made

        most = len(self.plan.classifiers) if self.scratch is None else 1
        return _remembered(self._cases, (dataset, seed, classifier), find, most)

    def autoencoder(self, dataset: str, seed: int) -> Any:
        """The autoencoder that all methods of a data set and seed share: from the store, or trained now."""
        from attain.density import CHVAE

        schema, rows = self.plan.datasets[dataset].schema, self._rows(dataset, seed)

        def train() -> Part:
            started = time.process_time()
            trained = CHVAE(schema, random_state=seed, verbose=False).fit(rows)
            facts, arrays = trained.state()
            seconds = time.process_time() - started
            return Part({"state": facts, "cpu_seconds": seconds, "content": self.plan.contents[dataset]}, arrays)

        part = self.store.get(f"autoencoder {dataset} seed {seed}", train)
        if part.facts["content"] != self.plan.contents[dataset]:
            raise AttainError(f"{self.store.folder} has an autoencoder of other data named {dataset!r}")
        return CHVAE(schema, random_state=seed, verbose=False).restore(part.facts["state"], part.arrays)

    def _method(self, dataset: str, seed: int, name: str) -> Fitted:
        def fit() -> Fitted:
            recipe, split = self.plan.recipes[name], self._split(dataset, seed)
            shared = self.autoencoder(dataset, seed) if recipe.latent else None
            method = recipe.make(split.data.schema, seed, self.plan.budget, shared)
            started = time.process_time()
            if hasattr(method, "fit"):
                method.fit(split.train, split.y_train)
            return Fitted(method, time.process_time() - started)

        return _remembered(self._fitted, (dataset, seed, name), fit, 1)

    def _split(self, dataset: str, seed: int) -> Split:
        return _remembered(self._splits, (dataset, seed), lambda: Split.of(self.plan.datasets[dataset], seed), 1)

    def _rows(self, dataset: str, seed: int) -> Any:
        return Table.read(self._split(dataset, seed).train, self.plan.datasets[dataset].schema).values

    def _keep(self, cell: Cell, part: Part) -> None:
        facts = {**cell._asdict(), "origin": self.plan.origin(cell), **part.facts}
        self.store.put(cell.key, Part(facts, part.arrays))

    def _shared(self, dataset: str, seed: int, classifier: str) -> Path | None:
        if self.scratch is None:
            return None
        name = hashlib.blake2b(f"{dataset} {seed} {classifier}".encode(), digest_size=12).hexdigest()
        return self.scratch / f"{name}.case"


def _remembered(known: OrderedDict[Hashable, Kept], key: Hashable, find: Callable[[], Kept], most: int) -> Kept:
    """The value of a key, found once and kept until `most` others were asked for after it."""
    if key not in known:
        # make room first: two of the largest need not be in memory at once
        while len(known) >= most:
            known.popitem(last=False)
        known[key] = find()
    known.move_to_end(key)
    return known[key]


def _told(error: Exception) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
