"""Finding laws, and what is found in data sets and in columns without any: `python -m benchmarks.laws`.

Scaling on made-up columns of mixed kinds with a common factor, one column in twenty with 1,000 levels. Each point runs
in a process of its own, so that its peak memory is its own. Data sets are those that are on disk, with inferred
schemas; the laws of a random half of the people are held against the other half, six times, once with the exceptions of
laws that answers are judged by (0.1 %) and once with those of laws that explainers keep (0.3 %).
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from attain import Feature
from attain.core.errors import AttainError
from attain.datasets import load_german
from attain.schema import Schema
from attain.schema.formulas import And, Comparison, Formula, Implication, evaluate
from attain.schema.language import parse_rule
from attain.schema.laws import KEPT, Law, find_laws
from attain.tables import Table
from experiments.data import load_adult, load_compas, load_gmsc, load_heloc

POINTS = (
    *((1000, columns) for columns in (10, 20)),
    *((10_000, columns) for columns in (10, 20, 50, 100)),
    *((100_000, columns) for columns in (10, 20, 50, 100)),
    (20_000, 200),
    (20_000, 500),
    (1_000_000, 10),
)
DATA_SETS = (load_heloc, load_adult, load_compas, load_gmsc, load_german)
SPLITS = 6
RUNS = 400


def made_up(rows: int, columns: int) -> tuple[list[Feature], np.ndarray]:
    """Reals, numbers with a pile at 0, counts, ordinal levels and categories."""
    random = np.random.default_rng(0)
    features, values = [], np.empty((rows, columns))
    common = random.normal(size=rows)
    for j in range(columns):
        base = 0.6 * common + 0.8 * random.normal(size=rows)
        name, kind = f"x{j}", j % 5
        if kind == 0:
            features.append(Feature(name, "real"))
            values[:, j] = base
        elif kind == 1:
            features.append(Feature(name, "positive"))
            values[:, j] = np.round(np.exp(base), 2) * (random.random(rows) < 0.7)
        elif kind == 2:
            features.append(Feature(name, "count"))
            values[:, j] = np.floor(np.exp(base))
        elif kind == 3:
            features.append(Feature(name, "ordinal", levels=tuple(range(6))))
            values[:, j] = np.clip(np.floor(base + 3), 0, 5)
        else:
            levels = 1000 if j % 20 == 4 else 8
            weights = 1 / np.arange(1, levels + 1)
            features.append(Feature(name, "categorical", levels=tuple(map(str, range(levels)))))
            values[:, j] = random.choice(levels, size=rows, p=weights / weights.sum())
    return features, values


def independent(rows: int, seed: int) -> tuple[list[Feature], np.ndarray]:
    """Columns that have nothing to do with each other: piles, codes, missing cells, rare levels, many levels."""
    random = np.random.default_rng(seed)
    columns: list[tuple[Feature, np.ndarray]] = []
    for k in range(2):
        holes, codes, letters = (
            random.poisson(5, rows) * 1.0,
            random.poisson(5, rows) * 1.0,
            random.integers(5, size=rows),
        )
        holes[random.random(rows) < 0.2] = np.nan
        codes[random.random(rows) < 0.15] = -9
        codes[random.random(rows) < 0.05] = -8
        piled = np.where(random.random(rows) < 0.9, 0.0, np.round(random.exponential(50, rows)))
        columns += [
            (Feature(f"normal{k}", "real"), random.normal(size=rows)),
            (Feature(f"count{k}", "real"), random.poisson(2, rows) * 1.0),
            (Feature(f"large{k}", "real"), np.round(np.exp(random.normal(8, 1, rows)))),
            (Feature(f"piled{k}", "real"), piled),
            (Feature(f"capped{k}", "real"), np.minimum(np.round(random.exponential(40, rows)), 100)),
            (Feature(f"holes{k}", "real"), holes),
            (Feature(f"codes{k}", "real", special={-9: "", -8: ""}), codes),
            (Feature(f"few{k}", "real"), random.choice([1.0, 2, 3, 5], rows, p=[0.7, 0.2, 0.05, 0.05])),
            (_category(f"even{k}", 2), (random.random(rows) < 0.5) * 1.0),
            (_category(f"rare{k}", 2), (random.random(rows) < 0.03) * 1.0),
            (_category(f"missing{k}", 5), np.where(random.random(rows) < 0.1, np.nan, letters)),
        ]
        for levels, power in ((30, 1.2), (1000, 1.5)):
            weights = 1 / np.arange(1, levels + 1) ** power
            cells = random.choice(levels, size=rows, p=weights / weights.sum()) * 1.0
            columns.append((_category(f"skewed{levels}_{k}", levels), cells))
    return [feature for feature, _ in columns], np.stack([cells for _, cells in columns], axis=1)


def _category(name: str, levels: int) -> Feature:
    return Feature(name, "categorical", levels=tuple(map(str, range(levels))))


def kind(formula: Formula) -> str:
    """What sort of law a formula is."""
    if isinstance(formula, Comparison):
        return "table" if "table(" in formula.text else "order" if formula.operator == "<=" else "equality"
    assert isinstance(formula, Implication)
    parts = formula.consequence.parts if isinstance(formula.consequence, And) else (formula.consequence,)
    limits = all(isinstance(part, Comparison) and part.operator in ("<=", ">=") for part in parts)
    return "range" if limits else "pair"


KINDS = ("order", "equality", "table", "pair", "range")


def one(rows: int, columns: int) -> dict[str, float]:
    """CPU seconds, peak memory beyond the table in MB, and the number of laws."""
    features, values = made_up(rows, columns)
    find_laws(features, values[:1000])
    before, start = _peak(), time.process_time()
    laws = find_laws(features, values)
    return {"seconds": time.process_time() - start, "memory": _peak() - before, "laws": len(laws)}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _loaded() -> Iterator[tuple[str, Table]]:
    for load in DATA_SETS:
        name = load.__name__.removeprefix("load_")
        try:
            frame = load().X
        except AttainError as error:
            print(f"{name} is left out: {error}")
            continue
        yield name, Table.read(frame, Schema.infer(frame, laws=False))


def _broken(laws: Sequence[Law], features: Sequence[Feature], values: np.ndarray) -> float:
    """The share of rows that break any of the laws."""
    named = {feature.name: feature for feature in features}
    masks = [evaluate(features, values, parse_rule(law.text, named))[:, 0] == -1 for law in laws]
    return float(np.mean(np.logical_or.reduce(masks))) if masks else 0.0


def _data_set(name: str, table: Table) -> list[str]:
    features, values = table.schema.features, table.values
    named = {feature.name: feature for feature in features}
    start = time.process_time()
    laws = find_laws(features, values)
    seconds = time.process_time() - start
    kinds = Counter(kind(parse_rule(law.text, named)) for law in laws)
    judged, kept = ([_other_half(features, values, split, share) for split in range(SPLITS)] for share in (0.001, KEPT))
    shares = [f"{100 * np.mean(share):.2f}" for share in (judged, kept)]
    return [name, f"{len(values):,}", str(len(features)), *(str(kinds[k]) for k in KINDS), f"{seconds:.2f}", *shares]


def _other_half(features: Sequence[Feature], values: np.ndarray, split: int, exceptions: float) -> float:
    """The share of one half of the people that breaks a law of the other half."""
    order = np.random.default_rng(split).permutation(len(values))
    laws = find_laws(features, values[order[::2]], exceptions=exceptions)
    return _broken(laws, features, values[order[1::2]])


def main() -> None:
    """Measures every point and every data set, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--point", nargs=2, type=int, metavar=("ROWS", "COLUMNS"))
    parser.add_argument("--runs", type=int, default=RUNS, help="runs on independent columns")
    given = parser.parse_args()
    if given.point:
        print(json.dumps(one(*given.point)))
        return
    from benchmarks import harness, report

    lines = []
    for rows, columns in POINTS:
        m = harness.alone("laws", "--point", rows, columns)
        lines.append([f"{rows:,}", columns, f"{m['seconds']:.2f}", f"{m['memory']:.0f}"])
    found = report.table(("rows", "columns", "CPU s", "peak memory beyond the table, MB"), lines)
    header = ("data set", "people", "columns", *KINDS, "CPU s", "other half breaks any, %", "the same with 0.3 %, %")
    sets = report.table(header, [_data_set(name, table) for name, table in _loaded()])
    false = sum(bool(find_laws(*independent((1000, 3000, 10_000)[run % 3], run))) for run in range(given.runs))
    independence = f"Independent columns of 13 kinds, two of each: laws in {false} of {given.runs} runs."
    report.write(__doc__, found, sets, independence)


if __name__ == "__main__":
    main()
