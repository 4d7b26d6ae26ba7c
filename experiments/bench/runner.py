"""Performs the runs of a benchmark into a store; splits, classifiers and autoencoders are made once and shared."""

from __future__ import annotations

import hashlib
import pickle
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from attain.core.errors import AttainError
from attain.core.files import write_atomically
from attain.datasets import Dataset
from attain.metrics.comparison import FAILED
from attain.schema import Schema
from attain.tables import Table
from experiments.bench.cases import Case, Split, content
from experiments.bench.methods import MethodFactory
from experiments.bench.runs import STOPPED, Fitted, Run, failed, measured, unmeasured, without_rows
from experiments.store import Artifact, Store

Kept = TypeVar("Kept")


@dataclass(frozen=True, eq=False)
class Spec:
    """What a benchmark consists of, by name; the number of rows explained, and the budget for each."""

    datasets: Mapping[str, Dataset]
    classifiers: Mapping[str, Callable[[Schema, int], Any]]
    methods: Mapping[str, MethodFactory]
    people: int
    budget: int | None

    @cached_property
    def contents(self) -> dict[str, str]:
        """Digests of the data sets."""
        return {name: content(data) for name, data in self.datasets.items()}

    def origin(self, run: Run) -> str:
        """All that a run depends on beside its names: a stored one with another origin is a different run."""
        make = self.classifiers[run.classifier]
        maker = f"{make.__module__}:{make.__qualname__}"
        return f"{self.contents[run.dataset]} | {maker} | {self.methods[run.method]}"


class BenchmarkRunner:
    """Performs runs into a store.

    Parameters
    ----------
    spec
        What the runs consist of.
    store
        Where runs and autoencoders are stored.
    scratch
        A temporary folder through which processes share fitted classifiers; None for a single process.
    """

    def __init__(self, spec: Spec, store: Store, scratch: Path | None = None) -> None:
        self.spec, self.store, self.scratch = spec, store, scratch
        self._splits: OrderedDict[Hashable, Split] = OrderedDict()
        self._cases: OrderedDict[Hashable, Case] = OrderedDict()
        self._fitted: OrderedDict[Hashable, Fitted] = OrderedDict()

    def done(self, run: Run) -> bool:
        """Whether the store has the run; one that failed or was stopped is repeated."""
        if run.key not in self.store:
            return False
        facts = self.store.read(run.key).facts
        if facts["status"] in (FAILED, STOPPED):
            return False
        if facts["origin"] != self.spec.origin(run):
            raise AttainError(
                f"{self.store.folder} has {run.method!r} on {run.dataset!r} with {run.classifier!r} from other data or "
                "with other parameters; use another folder, or another name"
            )
        return True

    def perform(self, run: Run) -> None:
        """Performs a run and stores it. Whatever is raised is stored as a failed run with its reason."""
        try:
            case = self.case(run.dataset, run.seed, run.classifier)
            try:
                artifact = measured(case, self._method(run.dataset, run.seed, run.method))
            except Exception as error:
                artifact = unmeasured(*failed(error), case.refused)
        except Exception as error:
            artifact = without_rows(*failed(error))
        self._keep(run, artifact)

    def give_up(self, run: Run, status: str, reason: str) -> None:
        """Stores that a run ended without a result, because its process did."""
        path = self._shared(run.dataset, run.seed, run.classifier)
        rows: pd.DataFrame | None = None
        if path is not None and path.exists():
            rows = self.case(run.dataset, run.seed, run.classifier).refused
        self._keep(run, without_rows(status, reason) if rows is None else unmeasured(status, reason, rows))

    def case(self, dataset: str, seed: int, classifier: str) -> Case:
        """The fitted classifier and its refused rows: remembered, from another process, or made now."""

        def find() -> Case:
            path = self._shared(dataset, seed, classifier)
            if path is not None and path.exists():
                found: Case = pickle.loads(path.read_bytes())  # written by this very run
                return found
            made = Case.of(self._split(dataset, seed), self.spec.classifiers[classifier], seed, self.spec.people)
            if path is not None:
                write_atomically(path, pickle.dumps(made))
            return made

        most = len(self.spec.classifiers) if self.scratch is None else 1
        return _remembered(self._cases, (dataset, seed, classifier), find, most)

    def autoencoder(self, dataset: str, seed: int) -> Any:
        """The autoencoder that all methods of a data set and seed share: from the store, or trained now."""
        from attain.density import CHVAE

        schema, rows = self.spec.datasets[dataset].schema, self._rows(dataset, seed)
        paper = partial(CHVAE, likelihoods="paper", hidden=0, random_state=seed, verbose=False)

        def train() -> Artifact:
            started = time.process_time()
            trained = paper(schema).fit(rows)
            facts, arrays = trained.state()
            seconds = time.process_time() - started
            return Artifact({"state": facts, "cpu_seconds": seconds, "content": self.spec.contents[dataset]}, arrays)

        artifact = self.store.get(f"autoencoder {dataset} seed {seed}", train)
        if artifact.facts["content"] != self.spec.contents[dataset]:
            raise AttainError(f"{self.store.folder} has an autoencoder of other data named {dataset!r}")
        return paper(schema).restore(artifact.facts["state"], artifact.arrays)

    def _method(self, dataset: str, seed: int, name: str) -> Fitted:
        def fit() -> Fitted:
            factory, split = self.spec.methods[name], self._split(dataset, seed)
            shared = self.autoencoder(dataset, seed) if factory.latent else None
            method = factory.make(split.data.schema, seed, self.spec.budget, shared)
            started = time.process_time()
            if hasattr(method, "fit"):
                method.fit(split.train, split.y_train)
            return Fitted(method, time.process_time() - started)

        return _remembered(self._fitted, (dataset, seed, name), fit, 1)

    def _split(self, dataset: str, seed: int) -> Split:
        return _remembered(self._splits, (dataset, seed), lambda: Split.of(self.spec.datasets[dataset], seed), 1)

    def _rows(self, dataset: str, seed: int) -> Any:
        return Table.read(self._split(dataset, seed).train, self.spec.datasets[dataset].schema).values

    def _keep(self, run: Run, artifact: Artifact) -> None:
        facts = {**run._asdict(), "origin": self.spec.origin(run), **artifact.facts}
        self.store.put(run.key, Artifact(facts, artifact.arrays))

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
