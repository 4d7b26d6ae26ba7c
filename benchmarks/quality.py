"""Answers of the guarded search beside those of another version: `python -m benchmarks.quality`.

Each cell is a table, a classifier (the network is a black box) and a split, 70 % of whose rows train. Every version has
the same fitted model, people and schema, in a process of its own. Schemas are those of the loaders, of breast cancer
inferred. All measures are computed by this checkout, but for `typical`, which each version says of its own answers. TS
and MS are compared over people whom both versions answer; ratios and differences are to the first version, and their
means count every cell equally. TS of what must change leaves out changes that follow others by a relation. An answer
breaks a relation that its person keeps, by a judge that learned relations from held-out rows, where columns are told;
real people are training rows. Inliers are so among held-out people of the desired class (local outlier factor, 20
neighbours), connected is at ε.95. Rows are those that the model itself was asked about, for each person, and ms are CPU
milliseconds, both after a first call.

Targets of relations: broken by at most as many answers as real people and 2 points, or a standard error where that is
more; by far, by as many as real people, or one; success as before; typical and connected at most a point lower on
average and five in any cell; where nothing is told, TS within 1 %; at most twice the time.

    python -m benchmarks.quality --beside COMMIT --jobs 16
    python -m benchmarks.quality --beside FOLDER --cells "HELOC/*" "*/neural network/0" --people 20   # writes nothing
    python -m benchmarks.quality --beside COMMIT --reading      # the tables that nothing is tuned on; writes nothing
"""

from __future__ import annotations

import argparse
import json
import pickle
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attain.metrics import AnswerMatrix, RealPeople
from attain.metrics.measures import connected, held_out_inlier
from attain.population.relation_fitting import RATE
from attain.population.relations import Relations
from attain.tables import Table
from benchmarks import harness, report
from benchmarks.harness import Figures, Kept
from benchmarks.tasks import ALL, DATA, READING, hand_over
from experiments.bench.cases import Split
from experiments.bench.classifiers import CLASSIFIERS

SETS = (*DATA, "breast cancer")
MODELS = ("logistic regression", "gradient boosting", "neural network")
BLACK_BOX = "neural network"
SPLITS = (0, 1)
PEOPLE = 200
BROKEN = ("relations_broken", "relations_broken_by_far")
MEASURES = ("total_shift", "max_shift", "changed", connected(0.95), held_out_inlier(20))
SHARES = {"found": "success", "typical": "typical", "connected_95": "connected", "held_out_inlier_20": "inliers"}
RATIOS = {"total_shift": "TS", "must": "TS, must", "max_shift": "MS"}
OTHERS = {"changed": "changes", "rows": "rows", "ms": "ms"}


class Version(NamedTuple):
    """A checkout of the package, and settings of the guarded search that differ from its defaults."""

    name: str
    source: Path = report.ROOT
    change: Mapping[str, Any] = {}


def measured(cell: str, people: int, versions: Sequence[Version]) -> dict[str, np.ndarray]:
    """The figures of a cell: by `VERSION/MEASURE`, one number for each person, or one for all."""
    warnings.simplefilter("ignore")
    name, classifier, seed = cell.split("/")
    data = ALL[name]()
    split = Split.of(data, int(seed))
    labels, held = ((y == data.desired).to_numpy(dtype=np.int64) for y in (split.y_train, split.y_test))
    model = CLASSIFIERS[classifier](data.schema, int(seed)).fit(split.train, labels)
    refused = split.test[model.predict(split.test) != 1]
    refused = refused.sample(min(people, len(refused)), random_state=int(seed))
    given = Table.read(refused, data.schema)
    against = RealPeople(data.schema, model, split.train, labels, target=1, X_test=split.test, y_test=held, laws=())
    result: dict[str, np.ndarray] = {}
    told = len(against.relations.columns) if against.relations is not None else 0
    known = Relations.fit(data.schema, Table.read(split.train, data.schema).values)
    measures = (*MEASURES, *BROKEN) if told else MEASURES
    with tempfile.TemporaryDirectory() as place:
        hand_over(Path(place), data.schema, split.train, labels, refused, model)
        for version in versions:
            change = json.dumps(version.change)
            asked = harness.alone("versions", "answers", place, version.name, change, source=version.source)
            frame, found, level = pickle.loads((Path(place) / f"{version.name}.answers").read_bytes())
            rows = np.full(given.values.shape, np.nan)
            rows[found] = _matrix(frame[found], data.schema)
            evaluation = against.evaluate(AnswerMatrix(given, rows, found, 1), measures=measures, resamples=1)
            figures = {str(name): column.to_numpy(dtype=np.float64) for name, column in evaluation.frame.items()}
            figures |= {"typical": np.where(found, level == 0, np.nan), "told": np.array([float(told)])}
            if told:
                figures |= {f"real_{name}": evaluation.summary.loc[[name], "real"].to_numpy(float) for name in BROKEN}
            shifts = against.train.population.percentiles.shift(given.values[found], rows[found])
            shifts[known.follows(rows[found], given.values[found], RATE)] = 0.0
            figures["must"] = np.full(len(found), np.nan)
            figures["must"][found] = shifts[:, data.schema.free_columns].sum(axis=1)
            figures |= {measure: np.array([value]) for measure, value in asked.items()}
            result |= {f"{version.name}/{measure}": values for measure, values in figures.items()}
    return result


def _matrix(frame: pd.DataFrame, schema: Any) -> np.ndarray:
    """Answers as rows of the matrix; none may be unreadable."""
    table = Table.read(frame, schema)
    if table.refused:
        raise ValueError(f"an answer cannot be read: {next(iter(table.refused.values()))}")
    return table.values


def chosen(patterns: Sequence[str], reading: bool = False) -> list[str]:
    """The cells whose name matches one of the patterns."""
    cells = [f"{name}/{model}/{split}" for name, model, split in product(READING if reading else SETS, MODELS, SPLITS)]
    return [cell for cell in cells if any(fnmatch(cell, pattern) for pattern in patterns)]


def run(
    cells: Sequence[str], people: int, versions: Sequence[Version], jobs: int, figures: Path | None
) -> dict[str, Figures]:
    """The figures of each cell; those in the file are taken from there."""
    with tempfile.TemporaryDirectory() as place:
        kept = Kept(figures or Path(place) / "figures.npz")
        kept.measure(cells, partial(measured, people=people, versions=tuple(versions)), jobs)
        known = {cell: kept.of(cell) for cell in cells}
    if not any(known.values()):
        raise SystemExit("no cell was measured")
    return {cell: found for cell, found in known.items() if found is not None}


def every_cell(found: Mapping[str, Figures], names: Sequence[str]) -> str:
    """A line for each cell and version."""
    lines = []
    for cell, figures in found.items():
        for name in names:
            ratios = [figures.ratio(name, names[0], measure)[0] for measure in RATIOS]
            lines.append((
                *cell.split("/"), name, len(figures.get(name, "found")),
                *(report.percent(figures.mean(name, measure)) for measure in SHARES),
                *(report.number(figures.mean(name, measure), 3) for measure in RATIOS),
                *(report.number(ratio, 3) for ratio in ratios),
                *(report.number(figures.mean(name, measure), 1) for measure in OTHERS),
                *(_beside_real([figures], name, measure) for measure in BROKEN),
            ))  # fmt: skip
    header = (
        "data", "classifier", "split", "version", "people", *(f"{title}, %" for title in SHARES.values()),
        *RATIOS.values(), *(f"{title} ratio" for title in RATIOS.values()), *OTHERS.values(),
        "break a relation, % (real people)", "by far, %",
    )  # fmt: skip
    return report.table(header, lines)


def summary(found: Mapping[str, Figures], names: Sequence[str], title: str = "version") -> str:
    """A line for each version, relative to the first: means over the cells, and the worst of them."""
    boxes = [figures for cell, figures in found.items() if f"/{BLACK_BOX}/" in cell]
    lines = []
    for name in names:
        shifts = {
            measure: {cell: figures.ratio(name, names[0], measure)[0] for cell, figures in found.items()}
            for measure in RATIOS
        }
        largest, worst = max((np.nan_to_num(ratio), cell) for cell, ratio in shifts["total_shift"].items())
        line = [name, report.number(_mean(shifts["total_shift"].values()), 3)]
        line += [f"{largest:.3f}" + (f" ({worst})" if name != names[0] else "")]
        line += [report.number(_mean(shifts[measure].values()), 3) for measure in ("must", "max_shift")]
        for measure in SHARES:
            shares = np.array([[one.mean(which, measure) for one in found.values()] for which in (name, names[0])])
            differences = shares[0] - shares[1]
            line += [f"{100 * _mean(shares[0]):.1f}"]
            if name != names[0]:
                line[-1] += f" ({100 * _mean(differences):+.2f}; least {100 * np.nanmin(differences):+.1f})"
        for measure, cells in (("changed", found.values()), ("ms", found.values()), ("rows", boxes)):
            means = np.array([[one.mean(which, measure) for one in cells] for which in (name, names[0])])
            line += [report.number(_mean(means[0] / means[1]), 2)]
        line += [_beside_real(found.values(), name, measure) for measure in BROKEN]
        lines.append(line)
    percents = (f"{share}, %" for share in SHARES.values())
    header = (title, "TS", "largest TS", "TS, must", "MS", *percents, "changes", "ms", "rows asked of a black box")
    header += ("break a relation, % (real people)", "by far, %")
    return report.table(header, lines)


def _beside_real(cells: Iterable[Figures], name: str, measure: str) -> str:
    """The mean share of answers that break a relation, and of real people; of cells in which columns are told."""
    told = [one for one in cells if one.mean(name, "told") > 0]
    answers, real = (_mean([one.mean(name, which) for one in told]) for which in (measure, f"real_{measure}"))
    return f"{report.percent(answers)} ({report.percent(real)})" if told else "–"


def _mean(values: Any) -> float:
    known = np.array(list(values), dtype=np.float64)
    return float(np.nanmean(known)) if np.isfinite(known).any() else float("nan")


def arguments(told: str | None) -> argparse.ArgumentParser:
    """What this benchmark and the ablation are told."""
    parser = argparse.ArgumentParser(description=told, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", default=["*"], help="patterns of DATA/CLASSIFIER/SPLIT; writes nothing")
    parser.add_argument("--people", type=int, default=PEOPLE, help="the most refused people of a cell")
    parser.add_argument("--jobs", type=int, default=1, help="cells measured at the same time")
    parser.add_argument("--figures", type=Path, help="a file that keeps the figures of cells, to go on with a run")
    return parser


def main() -> None:
    """Measures both versions, and writes the tables if all cells were measured."""
    parser = arguments(__doc__)
    parser.add_argument("--beside", required=True, help="the commit, or the folder of a checkout, to compare with")
    parser.add_argument("--reading", action="store_true", help="the tables that nothing is tuned on, instead")
    given = parser.parse_args()
    cells = chosen(given.cells, given.reading)
    with harness.checked_out(given.beside) as tree:
        versions = (Version("before", tree), Version("now"))
        found = run(cells, given.people, versions, given.jobs, given.figures)
    names = [version.name for version in versions]
    parts = ("## Summary\n\n" + summary(found, names), "## Cells\n\n" + every_cell(found, names))
    if len(found) == len(chosen(["*"])) and not given.reading:
        report.write(__doc__, *parts)
    else:
        print(*parts, sep="\n\n")


if __name__ == "__main__":
    main()
