"""What the guarded search costs besides the search: `python -m benchmarks.fixed_costs`.

CPU seconds of fitting at 10³, 10⁴ and 10⁵ people, of one person in a call, and of a process up to its first answer;
each beside an earlier commit, whose files the command checks out into a temporary folder. Every cell is measured in a
process of its own, first the earlier commit's, then this one's. One thread. The earlier commit is the last one before
fixed costs were looked at; much earlier ones, such as 5a0a298, have no guarded search without a density, which is
what is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

COMMIT = "5c32965"
ROOT = Path(__file__).parents[1]
SIZES = (1_000, 10_000, 100_000)
CALLS = 20
CASES = [(data, model) for data in ("HELOC", "GMSC", "German") for model in ("linear", "boosting")]
SHAPES = [(columns, levels) for columns in (10, 100, 500) for levels in (2, 50, 1_000)]
STARTS = ("fit", "load", "load CHVAE")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def task(name: str, kind: str, rows: int | None = None) -> tuple[Any, Any, Any]:
    """A data set, at most so many of its rows, and a classifier fitted on them."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from attain import datasets

    loaders = {"HELOC": datasets.load_heloc, "GMSC": datasets.load_gmsc}
    data = loaders[name](version="paper") if name in loaders else datasets.load_german()
    X = data.X if rows is None else data.X.sample(rows, random_state=0)
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    if kind == "linear":
        classifier, numbers = LogisticRegression(max_iter=1000), StandardScaler()
    else:
        classifier, numbers = HistGradientBoostingClassifier(max_iter=100, random_state=0), "passthrough"
    chosen = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    encoder = make_column_transformer((numbers, chosen[0]), (levels, chosen[1])) if name == "German" else numbers
    return data, X, make_pipeline(encoder, classifier).fit(X, data.y.loc[X.index])


def refused(data: Any, X: Any, model: Any, number: int) -> Any:
    """The first rows that the model refuses."""
    return X[model.predict(X) != data.desired].iloc[:number]


def guarded(schema: Any, density: Any = None) -> Any:
    """A guarded search, not fitted; earlier commits have `autoencoder`, and no density is not their default."""
    from attain import Guarded

    name = "density" if "density" in signature(Guarded).parameters else "autoencoder"
    return Guarded(schema, **{name: density})


def fitting(rows: int) -> dict[str, float]:
    """Seconds of `fit`, and of the first call, in which the guard of a model is fitted."""
    data, X, model = task("GMSC", "linear", rows)
    people = refused(data, X, model, 2)
    started = time.process_time()
    explainer = guarded(data.schema).fit(X, data.y.loc[X.index])
    fitted = time.process_time()
    explainer.explain(model, people.iloc[:1], target=data.desired)
    first = time.process_time()
    explainer.explain(model, people.iloc[1:], target=data.desired)
    again = time.process_time() - first
    return {"fit": fitted - started, "guard": max(first - fitted - again, 0.0)}


class Clock:
    """CPU seconds spent inside some methods."""

    def __init__(self) -> None:
        self.seconds = {"search": 0.0, "model": 0.0}
        self._inside = 0

    def watch(self, owner: type, name: str, part: str) -> None:
        """Adds the time of a method; not that of one which another one called."""
        method = getattr(owner, name)

        def timed(*args: Any, **named: Any) -> Any:
            self._inside += 1
            started = time.process_time()
            try:
                return method(*args, **named)
            finally:
                self._inside -= 1
                if not self._inside:
                    self.seconds[part] += time.process_time() - started

        setattr(owner, name, timed)


def calling(name: str, kind: str) -> dict[str, float]:
    """Median milliseconds of one person in a call: of all, in the search, in the model besides, and of the rest."""
    import numpy as np

    from attain import Guarded, Model

    data, X, model = task(name, kind)
    people = refused(data, X, model, CALLS + 1)
    explainer = guarded(data.schema).fit(X, data.y)
    explainer.explain(model, people.iloc[:1], target=data.desired)
    calls = []
    for i in range(1, len(people)):
        clock, started = Clock(), time.process_time()
        with restored(Guarded, "_search"), restored(Model, "ask"):
            clock.watch(Guarded, "_search", "search")
            clock.watch(Model, "ask", "model")
            explainer.explain(model, people.iloc[[i]], target=data.desired)
        whole = time.process_time() - started
        calls.append((whole, *clock.seconds.values(), whole - sum(clock.seconds.values())))
    return dict(zip(("all", "search", "model", "rest"), (1000 * np.median(calls, axis=0)).tolist(), strict=True))


@contextmanager
def restored(owner: type, name: str) -> Iterator[None]:
    """Puts a method back afterwards."""
    method = owner.__dict__[name]
    try:
        yield
    finally:
        setattr(owner, name, method)


def starting(what: str, folder: str) -> dict[str, float]:
    """Seconds from the start of a process to its first answer: of imports, of the explainer, and of the answer."""
    import pandas  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    libraries = time.process_time()
    import attain
    from attain import Guarded  # noqa: F401

    imported = time.process_time()
    data, X, model = task("German", "linear")
    people = refused(data, X, model, 1)
    ready = time.process_time()
    explainer = guarded(data.schema).fit(X, data.y) if what == "fit" else attain.load(saved(what, folder, data, X))
    loaded = time.process_time()
    explainer.explain(model, people, target=data.desired)
    answered = time.process_time()
    return {
        "libraries": libraries,
        "attain": imported - libraries,
        "explainer": loaded - ready,
        "answer": answered - loaded,
        "all": answered,
    }


def saved(what: str, folder: str, data: Any, X: Any) -> Path:
    """The file of a fitted explainer, made by another process where there is none yet."""
    path = Path(folder) / f"{what}.attain"
    if not path.exists():
        subprocess.run([sys.executable, __file__, "--save", what, folder], check=True)
    return path


def save(what: str, folder: str) -> None:
    """Fits an explainer and saves it."""
    from attain.density import CHVAE

    data, X, _ = task("German", "linear")
    guarded(data.schema, None if what == "load" else CHVAE(data.schema, likelihoods="paper", hidden=0)).fit(
        X, data.y
    ).save(Path(folder) / f"{what}.attain")


def shaped(columns: int, levels: int) -> dict[str, float]:
    """Seconds of fitting and of the first answer, by a table's columns and levels, with nothing compiled before."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from attain import CCHVAE, Guarded
    from benchmarks.tasks import random_table

    schema, X, y = random_table(columns, levels)
    numbers, others = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    encoder = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), others))
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(X, y)
    person, seconds = X[model.predict(X) == 0].iloc[:1], {}
    for name, method in (("Guarded", Guarded), ("CCHVAE", CCHVAE)):
        started = time.process_time()
        explainer = method(schema, random_state=0).fit(X, y)
        fitted = time.process_time()
        result = explainer.explain(model, person, target=1)
        seconds |= {f"{name} fit": fitted - started, f"{name} answer": time.process_time() - fitted}
        seconds[f"{name} found"] = float(result.found.mean())
    return seconds


def measured(source: Path, *arguments: str) -> dict[str, float]:
    """What a process prints that imports the package from this folder."""
    path = os.pathsep.join((str(source), str(ROOT)))
    here = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", **dict.fromkeys(THREADS, "1")}
    here.pop("JAX_COMPILATION_CACHE_DIR", None)  # nothing is compiled before
    done = subprocess.run([sys.executable, __file__, *arguments], env=here, check=True, stdout=subprocess.PIPE)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def tables(before: Path, after: Path, folder: Path) -> str:
    """All figures as Markdown."""
    from benchmarks.report import table

    def both(*arguments: str, own: bool = False) -> tuple[dict[str, float], dict[str, float]]:
        pair = []
        for name, source in (("before", before), ("after", after)):
            (folder / name).mkdir(exist_ok=True)
            pair.append(measured(source, *arguments, *([str(folder / name)] if own else [])))
        print(*arguments, pair, flush=True)
        return pair[0], pair[1]

    def shown(old: float, new: float, digits: int) -> list[str]:
        return [f"{old:,.{digits}f}", f"{new:,.{digits}f}", f"{old / max(new, 10.0**-digits):.1f}"]

    fits, calls, starts = [], [], []
    for size in SIZES:
        old, new = both("--fit", str(size))
        fits += [[f"{size:,}", part, *shown(old[part], new[part], 2)] for part in ("fit", "guard")]
    for data, model in CASES:
        old, new = both("--call", data, model)
        parts = [f"{new[part]:.1f}" for part in ("search", "model", "rest")]
        outside = (one["model"] + one["rest"] for one in (old, new))
        calls.append([data, model, *shown(old["all"], new["all"], 0), *shown(*outside, 1), *parts])
    for what in STARTS:
        old, new = both("--start", what, own=True)
        parts = [f"{new[part]:.2f}" for part in ("libraries", "attain", "explainer", "answer")]
        starts.append([what, *shown(old["all"], new["all"], 2), *parts])
    shapes = []
    for columns, levels in SHAPES:
        new = measured(after, "--shape", str(columns), str(levels))
        print(columns, levels, new, flush=True)
        parts = [f"{new[f'{name} {part}']:.1f}" for name in ("Guarded", "CCHVAE") for part in ("fit", "answer")]
        shapes.append([str(columns), f"{levels:,}", *parts])
    pair = ("before", "now", "factor")
    return "\n\n".join((
        f"Before: commit {COMMIT}. CPU time, one thread, `Guarded` without a density unless it says CHVAE.",
        "## Fitting\n\nGive Me Some Credit, logistic regression: seconds of `fit`, and of the guard of a model, which "
        "the first call fits, with the figures that stand beside answers.",
        table(("people", "part", *pair), fits),
        f"## One person in a call\n\nMilliseconds, the median of {CALLS} calls after a first one; the search, and all "
        "outside it. Of what lies outside now, the model's share is that of asking it: about the probe, which shows "
        "whether it is the same model, about the person, and in the last check.",
        table(("data", "model", *(f"all {one}" for one in pair), *(f"outside {one}" for one in pair), "search now",
               "model now", "rest now"), calls),
        "## The first answer of a process\n\nSeconds from the start of the process, on German credit: fitting an "
        "explainer, or loading a saved one, without and with a CHVAE, with nothing compiled before. The libraries are "
        "pandas and scikit-learn, which the model needs itself; reading the data and fitting the model is in all only.",
        table(("explainer", *(f"all {one}" for one in pair), "libraries now", "attain now", "explainer now",
               "answer now"), starts),
        "## Columns and levels\n\nSeconds of a process: fitting on 600 random rows, columns of all six kinds in turn, "
        "and the first answer, with logistic regression and with nothing compiled before. "
        "Kernels are compiled for types, not for tables: how long they take depends on neither.",
        table(("columns", "most levels", "Guarded fit", "Guarded answer", "CCHVAE fit", "CCHVAE answer"), shapes),
    ))  # fmt: skip


def main() -> None:
    """Measures one cell, or all of them beside the earlier commit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default=COMMIT, help="the commit to compare with")
    parser.add_argument("--fit", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--call", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--shape", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--start", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--save", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.save:
        save(*given.save)
    elif given.fit:
        print(json.dumps(fitting(given.fit)))
    elif given.call:
        print(json.dumps(calling(*given.call)))
    elif given.shape:
        print(json.dumps(shaped(*given.shape)))
    elif given.start:
        print(json.dumps(starting(*given.start)))
    else:
        compare(given.commit)


def compare(commit: str) -> None:
    """Measures everything, and writes the tables."""
    from benchmarks import report
    from benchmarks.earlier import checked_out

    with tempfile.TemporaryDirectory() as folder, checked_out(commit) as tree:
        body = tables(tree / "src", ROOT / "src", Path(folder))
    report.write("fixed_costs", "Fixed costs of the guarded search", "python -m benchmarks.fixed_costs", body)


if __name__ == "__main__":
    main()
