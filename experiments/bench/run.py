"""Data sets × classifiers × methods × seeds, measured the same way: one line for each row of each run."""

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
from attain.core.progress import ProgressBar
from attain.datasets import Dataset
from attain.metrics.comparison import FAILED
from attain.schema import Schema
from experiments.bench.cases import LOADERS, MEASURES
from experiments.bench.classifiers import CLASSIFIERS
from experiments.bench.methods import METHODS, OUTSIDE, InstanceFactory, MethodFactory
from experiments.bench.runner import BenchmarkRunner, Spec
from experiments.bench.runs import BROKEN, FOUND, NONE, REFUSED, STOPPED, Run
from experiments.bench.workers import Task, perform_all
from experiments.store import Artifact, Store

_FORMAT: Final = 3
"""Raised if the same run would be measured in another way, so that stored runs are not mixed."""
_STRINGS: Final = ("dataset", "classifier", "method", "row", "status", "reason", "verdict", "row_reason")


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
    """Every method on every data set, classifier and seed: one line for each explained row of each run.

    Rows without an answer have a line too, and so have the rows of a run that could not be measured. See `read_rows`
    for the columns; `summarised` averages them.

    Parameters
    ----------
    datasets
        Each is split 70/30 by the seed.
    people
        The number of held-out refused rows to explain, the same for every method.
    seeds
        Of split, classifiers and methods.
    classifiers
        By name, a function of schema and seed that returns an unfitted classifier.
    explainers
        By name, anything with `explain(model, X, target=...)` that returns a `Counterfactuals` or a frame like `X`,
        with missing rows if there is no answer; if it has a `fit(X, y)`, it is fitted on the training part first. Or a
        factory: a `Method` of the package, a `Factory`. By default every method of the package.
    budget
        The most rows scored for one row explained, for methods of the package; by default each method's own.
    jobs
        The number of processes; a script then needs `if __name__ == "__main__":`. By default all in this process.
    limit
        A run that takes longer than this many seconds is stopped; only with `jobs`.
    folder
        Where runs are stored as they are done. With the same folder, only runs that are missing, failed or were stopped
        are performed, and all runs of the folder are returned. By default nothing is kept.
    """
    _check(people, seeds, budget, jobs, limit, [data.name for data in datasets])
    methods: dict[str, MethodFactory] = {
        name: value if hasattr(value, "make") and hasattr(value, "latent") else InstanceFactory(value)
        for name, value in (METHODS if explainers is None else explainers).items()
    }
    spec = Spec({data.name: data for data in datasets}, dict(classifiers), methods, people, budget)
    runs = [
        Run(data.name, classifier, method, seed)
        for data in datasets
        for seed in seeds
        for method in methods
        for classifier in classifiers
    ]
    with ExitStack() as stack:
        kept = stack.enter_context(tempfile.TemporaryDirectory()) if folder is None else folder
        store = Store(kept, settings(people, budget))
        scratch = None if jobs is None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runner = BenchmarkRunner(spec, store, scratch)
        waiting = [run for run in runs if not runner.done(run)]
        bar = ProgressBar(len(runs), "bench", unit="runs")
        bar.update(len(runs) - len(waiting))
        stack.callback(bar.close)
        if jobs is None:
            # CPU seconds would count the time that threads wait for each other
            stack.enter_context(threadpool_limits(1))
            for run in waiting:
                runner.perform(run)
                bar.update(1)
        elif waiting:
            _in_processes(runner, waiting, jobs, limit, bar)
        return read_rows(store, runs)


def settings(people: int, budget: int | None) -> dict[str, Any]:
    """What all runs of a folder share; data sets, classifiers, methods and seeds may be added later."""
    return {"bench": _FORMAT, "attain": attain.__version__, "people": people, "budget": budget}


def read_rows(store: Store, asked: Sequence[Run] = ()) -> pd.DataFrame:
    """All runs of a store as one tidy table: a line for each explained row of each run.

    Runs are in the order in which the package lists their names; other names in the order of `asked`.

    Columns: `dataset`, `classifier`, `method`, `seed`; `row`, its label in the data set, missing if a run has no rows;
    `status` of the run (`ok`, `not applicable`, `failed`, `stopped`, `no row is refused`) and its `reason`; `verdict`
    on the answer (`found`, `no answer`, `breaks a rule`, `still refused`) and its `row_reason`; `found`, whether there
    is a valid answer; `rules_kept`, whether an answer breaks no rule, and `type_valid`, whether the classifier also
    decides for it, both missing without one; every measure, missing without a valid answer, and as `_real`
    its mean over real people, if it has one; `rows_scored`; `cpu_seconds`, the run's mean over its rows; `fit_seconds`,
    for fitting the method; `free_features`, which a row without an answer is charged with; `accuracy` of the
    classifier.
    """
    found = [artifact for key, artifact in store.items() if key.startswith("run ")]
    frames = [_frame(artifact) for artifact in sorted(found, key=_order(asked))]
    if not frames:
        raise AttainError(f"{store.folder} has no runs of a benchmark")
    return pd.concat(frames, ignore_index=True).astype(dict.fromkeys(_STRINGS, "string"))


def _frame(artifact: Artifact) -> pd.DataFrame:
    facts, number = artifact.facts, len(artifact.facts["rows"])
    verdicts = facts.get("verdicts", [None] * number)
    kept = {None: np.nan, NONE: np.nan, BROKEN: 0.0, REFUSED: 1.0, FOUND: 1.0}
    columns: dict[str, Any] = {name: [facts[name]] * number for name in ("dataset", "classifier", "method")}
    columns |= {"seed": np.full(number, facts["seed"], dtype=np.int64), "row": facts["rows"]}
    columns |= {"status": [facts["status"]] * number, "reason": [facts["reason"]] * number, "verdict": verdicts}
    columns["row_reason"] = facts.get("reasons", [""] * number)
    columns["found"] = [verdict == FOUND for verdict in verdicts]
    columns["rules_kept"] = [kept[verdict] for verdict in verdicts]
    columns["type_valid"] = [0.0 if verdict == REFUSED else kept[verdict] for verdict in verdicts]
    for name in (*MEASURES, "rows_scored"):
        if name != "found":
            columns[name] = artifact.arrays.get(name, np.full(number, np.nan))
    for name, measure in MEASURES.items():
        if measure.real is not None:
            columns[f"{name}_real"] = np.full(number, facts.get("real", {}).get(name, np.nan))
    for name in ("cpu_seconds", "fit_seconds", "free_features", "accuracy"):
        columns[name] = np.full(number, facts.get(name, np.nan), dtype=np.float64)
    return pd.DataFrame(columns)


def _order(runs: Sequence[Run]) -> Callable[[Artifact], tuple[Any, ...]]:
    """Runs as the package lists their names, then as they were asked for, then alphabetically."""

    def places(known: Sequence[str], asked: Sequence[str]) -> dict[str, int]:
        return {name: place for place, name in enumerate(dict.fromkeys((*known, *asked)))}

    ranks = {
        "dataset": places(list(LOADERS), [run.dataset for run in runs]),
        "classifier": places(list(CLASSIFIERS), [run.classifier for run in runs]),
        "method": places([*METHODS, *OUTSIDE], [run.method for run in runs]),
    }

    def key(artifact: Artifact) -> tuple[Any, ...]:
        names = [(rank.get(artifact.facts[name], len(rank)), artifact.facts[name]) for name, rank in ranks.items()]
        return (*names, artifact.facts["seed"])

    return key


def _in_processes(runner: BenchmarkRunner, runs: Sequence[Run], jobs: int, limit: float | None, bar: Any) -> None:
    """Classifiers and autoencoders first, each once; a run as soon as what it needs is there."""
    tasks: dict[Hashable, Task] = {}
    for run in runs:
        if runner.spec.methods[run.method].latent:
            training = ("autoencoder", run.dataset, run.seed)
            tasks[training] = Task(training)
    for run in runs:
        fitting = ("case", run.dataset, run.seed, run.classifier)
        tasks[fitting] = Task(fitting)
    for run in runs:
        needs: set[Hashable] = {("case", run.dataset, run.seed, run.classifier)}
        if runner.spec.methods[run.method].latent:
            needs.add(("autoencoder", run.dataset, run.seed))
        tasks[run] = Task(run, frozenset(needs), limit)

    def done(name: Hashable) -> None:
        if isinstance(name, Run):
            bar.update(1)

    def lost(name: Hashable, reason: str, late: bool) -> None:
        # A case or an autoencoder that is lost fails again in each run that needs it, which stores the reason.
        if isinstance(name, Run):
            runner.give_up(name, STOPPED if late else FAILED, reason)
            bar.update(1)

    given = (runner.spec, runner.store.folder, runner.scratch)
    perform_all(list(tasks.values()), _performer, given, jobs=jobs, done=done, lost=lost)


def _performer(spec: Spec, folder: Path, scratch: Path) -> Callable[[Any], None]:
    """What a process does with the name of a task."""
    runner = BenchmarkRunner(spec, Store.opened(folder), scratch)

    def perform(name: Any) -> None:
        if isinstance(name, Run):
            runner.perform(name)
            return
        kind, *names = name
        runner.case(*names) if kind == "case" else runner.autoencoder(*names)

    return perform


def failures(frame: pd.DataFrame) -> list[str]:
    """A sentence for each run that failed or was stopped."""
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
            raise AttainError(f"{name} must be an integer ≥ {least}, got {value}")
    if not seeds or min(seeds) < 0:
        raise AttainError(f"seeds must hold at least one integer ≥ 0, got {list(seeds)}")
    if limit is not None and jobs is None:
        raise AttainError("limit is given without jobs; a run can only be stopped in a process of its own")
    if limit is not None and limit <= 0:
        raise AttainError(f"limit must be a number of seconds > 0, got {limit}")
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise AttainError(f"several data sets are named {listed(twice)}; give each a name of its own")
