"""How well densities know real people: `python -m benchmarks.densities`.

For five data sets, rows are split 70 / 30. Each model learns the first part, at most 30,000 rows of it, and draws one
row for each of at most 2,500 held-out people, given their immutable columns. A judge, boosted trees cross-fitted over
five folds of people, tells the draws from the people themselves: its AUC is 0.5 where it cannot. Beside it: held-out
log-densities of the free columns given the immutable ones, against independent marginals with the same smoothing, and
what fitting, densities and draws cost.

With `--arf` and `--spn`, adversarial random forests (arfpy) and mixed sum-product networks (SPFlow) take part. They
draw all columns at once, and are judged on all columns beside the tree density's draws of all columns.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from attain import densities
from attain.core.intervals import mean_interval
from attain.datasets import load_adult, load_compas, load_german, load_gmsc, load_heloc
from attain.density import CHVAE
from attain.density.rows import on_steps
from attain.metrics import judge
from attain.schema import Schema
from attain.tables import Table
from benchmarks import report

OTHERS = {
    "arf": "adversarial random forest (arfpy 0.1.1)",
    "spn": "mixed sum-product network (SPFlow 0.0.48)",
}
"""Models of other packages, by what their scripts are called."""
LOADERS: dict[str, Callable[[], Any]] = {
    "HELOC": lambda: load_heloc(version="paper"),
    "GMSC": lambda: load_gmsc(version="paper"),
    "Adult": load_adult,
    "German": load_german,
    "COMPAS": load_compas,
}
MODELS: dict[str, Callable[[Schema], Any]] = {
    "independent marginals": lambda schema: densities.TreeDensity(schema, max_depth=0),
    "Gaussian copula": densities.GaussianCopula,
    "CHVAE, default": lambda schema: densities.AutoencoderDensity(schema, autoencoder=CHVAE(schema, verbose=False)),
    "CHVAE, the paper's": lambda schema: densities.AutoencoderDensity(
        schema, autoencoder=CHVAE(schema, likelihoods="paper", hidden=0, verbose=False)
    ),
    "TreeDensity": densities.TreeDensity,
    "TreeDensity, 8 trees": lambda schema: densities.TreeDensity(schema, trees=8),
}
SPLIT, SHARE = 0, 0.7
"""The first 70 % of HELOC in this order served to choose the tree density's settings, the rest for nothing before."""
LARGEST, PEOPLE = 30_000, 2_500


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """A result and its CPU seconds."""
    start = time.process_time()
    return function(), time.process_time() - start


class Data(NamedTuple):
    """One data set: what is learned from, and held-out people."""

    name: str
    schema: Schema
    train: np.ndarray
    test: np.ndarray


def load(name: str) -> Data:
    """A data set by name, split."""
    given = LOADERS[name]()
    table = Table.read(given.X, given.schema)
    order = np.random.default_rng(SPLIT).permutation(len(table))
    cut = int(SHARE * len(order))
    return Data(name, table.schema, table.values[order[:cut][:LARGEST]], table.values[order[cut:][:PEOPLE]])


def compared(data: Data) -> Iterator[list[str]]:
    """The table's lines for one data set."""
    marginals = _marginals(data.schema, data.train, data.test)
    observed = _marginals(data.schema, _filled(data.train), data.test)
    warm = data.train[:2000]
    for label, make in MODELS.items():
        if "CHVAE" in label:
            make(data.schema).fit(warm)  # compiled once, so that what is timed is training
        model, fitting = timed(lambda make=make: make(data.schema).fit(data.train))
        model.log_density(data.test[:10]), model.sample(data.test[:10])
        density, reading = timed(lambda model=model: model.log_density(data.test))
        draws, drawing = timed(lambda model=model: model.sample(data.test))
        gain = density - (marginals if model.exact else observed)
        low, high = mean_interval(gain)
        gained = f"{gain.mean():+.2f} [{low:+.2f}, {high:+.2f}]"
        each = 1e6 / len(data.test)
        yield [
            data.name,
            label,
            str(judge(data.test, draws)),
            f"{density.mean():.2f}{'' if model.exact else ' (bound)'}",
            "–"
            if label == "independent marginals"
            else gained + (" *" if "paper" in label and _has_atoms(data) else ""),
            f"{fitting:.2f}",
            f"{reading * each:.0f}",
            f"{drawing * each:.0f}",
        ]
    half = min(len(data.train), len(data.test))
    alike = judge(data.test[:half], data.train[:half])
    yield [data.name, "real rows of other people", str(alike), "–", "–", "–", "–", "–"]


def _marginals(schema: Schema, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    return densities.TreeDensity(schema, max_depth=0).fit(train).log_density(test)


def _filled(rows: np.ndarray) -> np.ndarray:
    """The rows with missing cells filled from the same column, for marginals that leave missing cells out."""
    rows = rows.copy()
    for cells in rows.T:
        missing = np.isnan(cells)
        if missing.any() and not missing.all():
            cells[missing] = np.resize(cells[~missing], missing.sum())
    return rows


def _has_atoms(data: Data) -> bool:
    """Whether columns without a step have values that many rows share: the paper's likelihoods have a density there."""
    return any(
        feature.numeric and feature.step is None and np.unique(data.train[:, j], return_counts=True)[1].max() > 30
        for j, feature in ((j, data.schema.features[j]) for j in data.schema.free_columns)
    )


def of_all_columns(data: Data, pythons: Mapping[str, str | None]) -> Iterator[list[str]]:
    """Draws of all columns at once: by other packages, each with its own Python, and by the tree density."""
    levels = [j for j, feature in enumerate(data.schema) if not feature.numeric]
    for script, label in OTHERS.items():
        if (python := pythons[script]) is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            source, goal = f"{folder}/in.npz", f"{folder}/out.npz"
            np.savez(source, train=data.train, levels=levels, n=len(data.test))
            program = str(Path(__file__).with_name(f"{script}_draws.py"))
            subprocess.run([python, "-W", "ignore", program, source, goal], check=True)
            drawn = np.load(goal)
            rows = on_steps(drawn["rows"], data.schema, range(len(data.schema)))
            yield _whole_line(data, label, rows, float(drawn["fitting"]), float(drawn["drawing"]))
    model, fitting = timed(lambda: densities.TreeDensity(data.schema).fit(data.train))
    rows, drawing = timed(lambda: model.sample(data.test, given=()))
    yield _whole_line(data, "TreeDensity", rows, fitting, drawing)


def _whole_line(data: Data, label: str, rows: np.ndarray, fitting: float, drawing: float) -> list[str]:
    each = drawing * 1e6 / len(data.test)
    return [data.name, label, str(judge(data.test, rows)), f"{fitting:.2f}", f"{each:.0f}"]


def main() -> None:
    """Compares every model on every data set and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(LOADERS), default=list(LOADERS))
    parser.add_argument("--dry-run", action="store_true", help="do not write the result file")
    for script, label in OTHERS.items():
        parser.add_argument(f"--{script}", metavar="PYTHON", help=f"the Python of an environment with it: {label}")
    given = parser.parse_args()
    others = {script: getattr(given, script) for script in OTHERS}
    lines, whole = [], []
    with threadpool_limits(1):
        for name in given.data:
            data = load(name)
            for line in compared(data):
                lines.append(line)
                print(" | ".join(line), flush=True)
            if any(others.values()) and not np.isnan(data.train).any():
                for line in of_all_columns(data, others):
                    whole.append(line)
                    print(" | ".join(line), flush=True)
    if not given.dry_run:
        body = f"{_TEXT}\n\n{report.table(_HEADER, lines)}"
        if whole:
            body += f"\n\n{_WHOLE}\n\n{report.table(_WHOLE_HEADER, whole)}"
        report.write(
            "densities",
            "Densities and a judge",
            " ".join(["python -m benchmarks.densities", *(f"--{one} PYTHON" for one in OTHERS if others[one])]),
            body,
        )


_HEADER = ("data", "model", "judge's AUC", "log-density", "above marginals", "CPU s to fit", "µs density", "µs draw")
_WHOLE_HEADER = ("data", "model", "judge's AUC", "CPU s to fit", "µs draw")
_TEXT = """Models learn 70 % of the rows (at most 30,000) and draw one row for each of at most 2,500 held-out people,
given their immutable columns. The judge is a boosted-tree classifier, cross-fitted over five folds of people, that
tells the draws from the people: 0.5 is perfect. Log-densities are of the free columns given the immutable ones, in
nats per held-out person; the marginals have the same smoothing. µs are CPU time per row. The CHVAE's is an
importance-weighted lower bound (100 draws); missing cells are left out of it, and of the marginals that it is compared
with. With a star it has another base measure: values shared by many rows in columns without a step have a probability
in the other models and a density in the paper's CHVAE. Real rows of other people are judged without their immutable
columns matched. The tree density's settings were chosen within the 70 % of HELOC, by held-out log-density and, among
equals, the judge."""
_WHOLE = """Draws of all columns at once, judged on all columns, where no cell is missing. arfpy draws without
conditions, so it cannot hold a person's immutable columns fixed. The sum-product networks are SPFlow's of mixed
columns, with 200 rows or more in a slice; draws of both are put on their steps."""

if __name__ == "__main__":
    main()
