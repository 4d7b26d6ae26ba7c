"""Algorithm 1 of C-CHVAE, beside an earlier commit: `python -m benchmarks.search`.

People per CPU second: distinct refused people of HELOC and Give Me Some Credit (paper's versions) in one call, after a
smaller one. Each cell is measured in a process of its own, first the earlier commit's, whose files the command checks
out into a temporary folder. One thread.

Latent distances: on five data sets, with one autoencoder each, the same people are searched shell after shell, which
is what the earlier commit does, and with radii that grow geometrically. The test is Wilcoxon's signed-rank test, whose
alternative is that geometric growth ends farther away.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COMMIT = "5a0a298"
ROOT = Path(__file__).parents[1]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MODELS = ("logistic regression", "gradient boosting")
TARGETS = {("GMSC", "logistic regression"): "20,000", ("HELOC", "logistic regression"): "5,000"}
BEFORE = {"GMSC": 4_000, "HELOC": 1_000}
"""How many people the earlier commit is asked about, and both about boosting, by a quarter."""


def speed(name: str, number: int) -> dict[str, dict[str, float]]:
    """What one call takes, for each classifier."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from attain import CCHVAE
    from benchmarks.tasks import paper_task

    boosting = HistGradientBoostingClassifier(max_iter=100, random_state=0)
    explainer, found = None, {}
    for model, classifier, people in ((MODELS[0], None, number), (MODELS[1], boosting, BEFORE[name] // 4)):
        task = paper_task(name, 0, classifier)
        if explainer is None:
            explainer = CCHVAE(task.data.schema, figures=False, random_state=0).fit(task.train, task.y_train)
            if hasattr(explainer, "warm_up"):
                explainer.warm_up()
        asked = task.many_refused(people)
        explainer.explain(task.model, asked.iloc[:200], target=task.data.desired)
        started = time.process_time()
        result = explainer.explain(task.model, asked, target=task.data.desired)
        seconds = time.process_time() - started
        found[model] = {
            "per second": people / seconds,
            "found": float(result.found.mean()),
            "rows": float(result.person_figures["rows_scored"].mean()),
        }
    return found


def first_answer(folder: str) -> dict[str, float]:
    """CPU seconds of a process that loads an explainer of German credit and answers one person, and of its parts."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    import attain
    from attain import CCHVAE
    from attain.datasets import load_german

    data = load_german()
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers, others = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    encoder = make_column_transformer((StandardScaler(), numbers), (levels, others))
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(data.X, data.y)
    person = data.X[model.predict(data.X) != data.desired].iloc[:1]
    path = Path(folder) / "explainer.attain"
    if not path.exists():
        CCHVAE(data.schema, figures=False, random_state=0).fit(data.X, data.y).save(path)
    ready = time.process_time()
    explainer = attain.load(path)
    loaded = time.process_time()
    explainer.explain(model, person, target=data.desired)
    return {"load": loaded - ready, "answer": time.process_time() - loaded}


def distances(people: int) -> list[list[str]]:
    """The paired comparison, a line for each data set."""
    import numpy as np
    from scipy.stats import wilcoxon

    from attain import CCHVAE
    from attain.core.compiled import load
    from attain.datasets import load_adult, load_compas, load_german, load_gmsc, load_heloc
    from experiments.bench.cases import Split
    from experiments.bench.classifiers import logistic_regression

    load()
    loaders = {
        "HELOC": lambda: load_heloc(version="paper"), "GMSC": lambda: load_gmsc(version="paper"), "Adult": load_adult,
        "German": load_german, "COMPAS": load_compas,
    }  # fmt: skip
    lines = []
    for name, loader in loaders.items():
        split = Split.of(loader(), 0)
        model = logistic_regression(split.data.schema, 0).fit(split.train, split.y_train)
        refused = split.test[model.predict(split.test) != split.data.desired].iloc[:people]
        explainer = CCHVAE(split.data.schema, figures=False, random_state=0).fit(split.train, split.y_train)
        results = []
        for growth in ("linear", "geometric"):
            explainer.set_params(growth=growth)
            results.append(explainer.explain(model, refused, target=split.data.desired))
        linear, geometric = (result.figures["latent_distance"].to_numpy() for result in results)
        both = np.flatnonzero((linear > 0) & (geometric > 0))
        moved = geometric[both] - linear[both]
        test = wilcoxon(moved, alternative="greater") if len(both) else None
        rows = [f"{result.person_figures['rows_scored'].mean():,.0f}" for result in results]
        lines.append([
            name, str(len(refused)), *(f"{result.found.mean():.1%}" for result in results), str(len(both)),
            f"{linear[both].mean():.3f}", f"{geometric[both].mean():.3f}", f"{np.median(moved):+.3f}",
            f"{(moved < 0).mean():.0%}", "" if test is None else f"{test.pvalue:.2g}", *rows,
        ])  # fmt: skip
        print(lines[-1], flush=True)
    return lines


def measured(source: Path, *arguments: str) -> dict[str, Any]:
    """What a process prints that imports the package from this folder."""
    path = os.pathsep.join((str(source / "src"), str(source)))
    here = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", **dict.fromkeys(THREADS, "1")}
    here.pop("JAX_COMPILATION_CACHE_DIR", None)  # nothing is compiled before
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, env=here, check=True, stdout=subprocess.PIPE, cwd=source)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(*arguments, found, flush=True)
    return found


def tables(before: Path, people: int, compared: int, folder: Path) -> str:
    """All figures as Markdown."""
    from threadpoolctl import threadpool_limits

    from benchmarks.report import table

    lines = []
    for data in BEFORE:
        before_it = measured(before, "--speed", data, str(BEFORE[data]))
        now = measured(ROOT, "--speed", data, str(people))
        for model in MODELS:
            old, new = before_it[model], now[model]
            lines.append([
                data, model, f"{old['per second']:,.0f}", f"{new['per second']:,.0f}",
                f"{new['per second'] / old['per second']:.1f}", TARGETS.get((data, model), ""), f"{old['rows']:,.0f}",
                f"{new['rows']:,.0f}", f"{old['found']:.1%}", f"{new['found']:.1%}",
            ])  # fmt: skip
    starts = []
    for name, source in (("before", before), ("now", ROOT)):
        (folder / name).mkdir()
        measured(source, "--first", str(folder / name))
        found = measured(source, "--first", str(folder / name))
        starts.append([name, f"{found['load']:.2f}", f"{found['answer']:.2f}"])
    with threadpool_limits(1):
        paired = distances(compared)
    return "\n\n".join((
        f"Before: commit {COMMIT}. Step 0.1, 100 samples, figures off, one thread.",
        "## People per CPU second\n\nKernels compiled before. Rows: how many the model is asked about for a person.",
        table(("data", "classifier", "before", "now", "factor", "target", "rows before", "rows now", "found before",
               "found now"), lines),
        "## The first answer of a process\n\nCPU seconds of loading an explainer of German credit from a file, and of "
        "one person's answer, without kernels.",
        table(("", "load", "answer"), starts),
        "## Latent distances\n\nLogistic regression, one autoencoder for each data set, held-out people. Compared are "
        "people whom both answer by a move: distances of the reconstruction are 0 in both.",
        table(("data", "people", "found, shells", "found, geometric", "compared", "mean, shells", "mean, geometric",
               "median difference", "nearer", "p, farther", "rows, shells", "rows, geometric"), paired),
    ))  # fmt: skip


def main() -> None:
    """Measures one cell, or all of them beside the earlier commit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default=COMMIT, help="the commit to compare with")
    parser.add_argument("--people", type=int, default=20_000, help="how many people are asked about now")
    parser.add_argument("--compared", type=int, default=500, help="how many people's distances are compared")
    parser.add_argument("--speed", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--first", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.speed:
        print(json.dumps(speed(given.speed[0], int(given.speed[1]))))
    elif given.first:
        print(json.dumps(first_answer(given.first)))
    else:
        compare(given.commit, given.people, given.compared)


def compare(commit: str, people: int, compared: int) -> None:
    """Measures everything, and writes the tables."""
    from benchmarks import report
    from benchmarks.earlier import checked_out

    with tempfile.TemporaryDirectory() as folder, checked_out(commit) as tree:
        body = tables(tree, people, compared, Path(folder))
    report.write("search", "C-CHVAE, Algorithm 1: speed and distances", "python -m benchmarks.search", body)


if __name__ == "__main__":
    main()
