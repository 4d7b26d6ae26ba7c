"""CPU milliseconds a person of the guarded search: `python -m benchmarks.person`.

Many people in one call, and one person in a call, after a first call; beside an earlier commit, whose files the command
checks out into a temporary folder. Every cell is measured in a process of its own, first the earlier commit's, then
this one's, with kernels in use. One thread. The earlier commit has no `Guarded`: there it is
`CCHVAE(schema, refine="guarded")`, with an autoencoder, as its default was.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.fixed_costs import ROOT, THREADS

COMMIT = "5a0a298"
PEOPLE, CALLS, REPEATS = 100, 15, 4
CASES = (
    ("HELOC", None),
    ("GMSC", 6_000),
    ("GMSC", None),
    ("Adult", 20_000),
    ("80 columns", 10_000),
)
"""Data sets, and how many of their rows are for training."""
NOT_BEFORE = (("GMSC", None), ("80 columns", 10_000))
"""Cases that the earlier commit would take most of an hour for, to train its autoencoder and to search."""
TARGETS = {"linear": (1, 3), "boosting": (5, 8)}
"""Milliseconds a person in one call of many: at up to some 5,000 real people, and at 10⁵."""
WIDE, ALONE = 10, 20
"""Milliseconds a person at 80 columns, and of one person in a call."""
MODELS = {"linear": "logistic regression", "boosting": "100 boosted trees"}


def wide(rows: int) -> Any:
    """Made-up data: 60 numbers and 20 levels with few common causes, five of them immutable, and a label."""
    from types import SimpleNamespace

    import numpy as np
    import pandas as pd

    from attain import Schema

    random = np.random.default_rng(0)
    causes = random.normal(size=(rows, 8))
    numbers = causes @ random.normal(size=(8, 80)) + random.normal(size=(rows, 80))
    X = pd.DataFrame({f"x{j}": numbers[:, j].round(2) for j in range(60)})
    for j in range(60, 80):
        X[f"x{j}"] = pd.cut(numbers[:, j], [-np.inf, -2, 0, 2, np.inf], labels=["a", "b", "c", "d"]).astype(str)
    score = numbers[:, :20] @ random.normal(size=20) + 2 * random.normal(size=rows)
    y = pd.Series(np.where(score > np.quantile(score, 0.6), "yes", "no"))
    immutable = [f"x{j}" for j in (0, 1, 2, 60, 61)]
    return SimpleNamespace(X=X, y=y, schema=Schema.infer(X, immutable=immutable), desired="yes")


def task(name: str, rows: int | None, kind: str) -> tuple[Any, Any, Any]:
    """A data set, its training rows, and a classifier fitted on them."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from attain import datasets

    loaders = {
        "HELOC": lambda: datasets.load_heloc(version="paper"),
        "GMSC": lambda: datasets.load_gmsc(version="paper"),
        "Adult": datasets.load_adult,
        "80 columns": lambda: wide(10_000),
    }
    data = loaders[name]()
    X = data.X if rows is None or rows >= len(data.X) else data.X.sample(rows, random_state=0)
    numbers, others = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    if kind == "linear":
        classifier, scaler = LogisticRegression(max_iter=1000), make_pipeline(SimpleImputer(), StandardScaler())
    else:
        classifier, scaler = HistGradientBoostingClassifier(max_iter=100, random_state=0), "passthrough"
    encoder = make_column_transformer((scaler, numbers), (levels, others))
    return data, X, make_pipeline(encoder, classifier).fit(X, data.y.loc[X.index])


def guarded(schema: Any) -> Any:
    """The guarded search with its defaults."""
    import attain

    if hasattr(attain, "Guarded"):
        return attain.Guarded(schema, figures=False)
    return attain.CCHVAE(schema, refine="guarded", figures=False)


def cell(name: str, rows: int | None, kind: str) -> dict[str, float]:
    """The milliseconds of a person, in one call of many and alone; how many real people there are, and answers."""
    import numpy as np

    data, X, model = task(name, rows, kind)
    people = data.X[model.predict(data.X) != data.desired].iloc[: PEOPLE + CALLS]
    explainer = guarded(data.schema).fit(X, data.y.loc[X.index])
    if hasattr(explainer, "warm_up"):
        explainer.warm_up()
    explainer.explain(model, people.iloc[:2], target=data.desired)
    result = explainer.explain(model, people.iloc[:PEOPLE], target=data.desired)

    def least(some: Any) -> float:
        taken = []
        for _ in range(REPEATS):
            started = time.process_time()
            explainer.explain(model, some, target=data.desired)
            taken.append(time.process_time() - started)
        return min(taken)

    together = least(people.iloc[:PEOPLE])
    alone = [least(people.iloc[[i]]) for i in range(PEOPLE, len(people))]
    return {
        "together": 1000 * together / len(result),
        "alone": 1000 * float(np.median(alone)),
        "found": float(result.found.mean()),
        "real": len(explainer.reference(model, data.desired)),
    }


def measured(source: Path, name: str, rows: int | None, kind: str) -> dict[str, float]:
    """What a process prints that imports the package from this folder."""
    here = {**os.environ, "PYTHONPATH": str(source), "JAX_PLATFORMS": "cpu", **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, "-m", "benchmarks.person", "--cell", name, str(rows or 0), kind]
    done = subprocess.run(command, env=here, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(case: tuple[str, int | None], kind: str, old: dict[str, float] | None, new: dict[str, float]) -> list[str]:
    """A line of the table; `old` is None where the earlier commit was not measured."""
    name = case[0]
    target = WIDE if name == "80 columns" else TARGETS[kind][new["real"] > 50_000]
    cells = [name, MODELS[kind], f"{new['real']:,.0f}"]
    cells += ["–" if old is None else f"{old['found']:.0%}", f"{new['found']:.0%}"]
    for part, aim in (("together", target), ("alone", ALONE)):
        before, factor = ("–", "–") if old is None else (f"{old[part]:.1f}", f"{old[part] / new[part]:.0f}")
        cells += [before, f"{new[part]:.1f}", factor, str(aim), "yes" if new[part] <= aim else "no"]
    return cells


def compare(commit: str, keep: Path) -> None:
    """Measures everything, but for what was kept by a run that was interrupted, and writes the table."""
    from benchmarks import report
    from benchmarks.earlier import checked_out

    kept, lines = json.loads(keep.read_text()) if keep.exists() else {}, []
    with checked_out(commit) as tree:
        for case, kind in product(CASES, MODELS):
            for when, source in ((commit, tree / "src"), ("now", ROOT / "src")):
                name = f"{when} {case[0]} {case[1]} {kind}"
                if when == "now" or commit != COMMIT or case not in NOT_BEFORE:
                    kept[name] = kept.get(name) or measured(source, *case, kind)
                    keep.write_text(json.dumps(kept, indent=1))
            cell_name = f"{case[0]} {case[1]} {kind}"
            lines.append(line(case, kind, kept.get(f"{commit} {cell_name}"), kept[f"now {cell_name}"]))
            print(lines[-1], flush=True)
    keep.unlink()
    header = (
        "data", "classifier", "real people", "found before", "found now",
        *(f"{part} {what}" for part in ("together", "alone") for what in ("before", "now", "factor", "target", "met")),
    )  # fmt: skip
    body = (
        f"Before: commit {commit}. CPU milliseconds a person, one thread: {PEOPLE} people together in one call, and "
        f"the median of {CALLS} people alone in a call each, after `warm_up`. Of {REPEATS} calls each the least: the "
        "machine is shared. Fitting is not counted. A dash: not measured.\n\n"
    )
    command = "python -m benchmarks.person"
    report.write("person", "CPU time of the guarded search", command, body + report.table(header, lines))


def main() -> None:
    """Measures one cell, or all of them beside the earlier commit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default=COMMIT, help="the commit to compare with")
    kept = Path(tempfile.gettempdir()) / "attain-person.json"
    parser.add_argument("--keep", type=Path, default=kept, help="where cells are kept until all are measured")
    parser.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cell:
        name, rows, kind = given.cell
        print(json.dumps(cell(name, int(rows) or None, kind)))
    else:
        compare(given.commit, given.keep)


if __name__ == "__main__":
    main()
