"""The tables of `benchmarks.possible`, and answers as text, from its file of figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attain.schema import Schema
from attain.tables import Table, unchanged
from benchmarks import report
from benchmarks.possible import (
    BEFORE,
    COST,
    DATA,
    GUARDED,
    INFERRED,
    LAWS,
    MODELS,
    OTHERS,
    OWN,
    PACKAGES,
    PEERS,
    SEEDS,
    Cell,
    Part,
    part_of,
)  # fmt: skip

VARIANTS = (BEFORE, COST, LAWS)
FURTHER = {
    OTHERS: [
        f"{name}{suffix}" for name in ("CCHVAE", "GrowingSpheres", "NearestUnlike") for suffix in (", no laws", "")
    ],
    PACKAGES: list(PEERS),
}
HEADER = (
    "variant", "success %", "breaks a law %", "real people %", "difference", "inliers %", "connected %", "typical %",
    "TS", "midrank TS", "MS", "changes", "CPU ms", "laws", "held-out laws",
)  # fmt: skip
MOST_MOVED = 5
DIFFERENCE, LOST, DEARER = 0.5, 1.0, 1.15
"""The targets: points above real people's own share, points lost, and the ratio of TS."""
EXPLAINED = f"""
Half of the rows train the classifier and the methods. Three tenths are held out: their laws, their inliers (local
outlier factor with 20 neighbours) and their ε.9 are what answers are measured by. Rows explained are up to 200 refused
ones of the last fifth (50 for other packages); `real people` are all of that fifth, up to 5,000. `breaks a law`: the
share of answers that break at least one law found on held-out people; `difference`: to real people, in points.
`typical` is the guard's own verdict. TS and MS are by the empirical distribution function, `midrank TS` by that of the
cost, all means over the answers. `laws`: the number that the method found on its training rows; `held-out laws`: the
number that answers are held against. German credit is split three times, and pooled.

Schemas: `inferred` from the data with only the protected columns immutable; `own`, the data set's. Variants of the
guarded search: `before` has no laws, and a cost by the empirical distribution function; `cost` has no laws, and a cost
by midranks; `laws`, the default, has both. Its targets: at most {DIFFERENCE} points more answers break a law than real
people; success, inliers and connectedness at most {LOST:.0f} point below `before`; TS at most {DEARER} times that of
`before`. ✗ marks a target that was missed.
"""


@dataclass(frozen=True)
class Figures:
    """The figures of one data set, schema, classifier and group of methods, splits pooled."""

    cell: Cell
    parts: Sequence[Mapping[str, np.ndarray]]

    @classmethod
    def of(cls, known: Mapping[str, np.ndarray], *place: str) -> Figures | None:
        """Those of a data set, schema, classifier and group; None where a split was not measured."""
        data, schema, model, group = place
        cells = [Cell(data, seed, schema, model, group) for seed in range(SEEDS.get(data, 1))]
        if not all(f"{cell.key}/factuals" in known for cell in cells):
            return None
        return cls(cells[0], [part_of(known, cell) for cell in cells])

    def has(self, method: str) -> bool:
        return all(f"{method}/found" in part for part in self.parts)

    def mean(self, method: str, measure: str) -> float:
        """The mean over the rows answered, NaN where it was not measured."""
        found = [part[f"{method}/{measure}"].ravel() for part in self.parts if f"{method}/{measure}" in part]
        values = np.concatenate([np.empty(0), *found])
        return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")

    def percent(self, method: str, measure: str) -> float:
        return 100 * self.mean(method, measure)

    def broken(self, method: str) -> float:
        """The percentage that break a law."""
        return 100 - self.percent(method, "possible")

    def moved(self, method: str) -> np.ndarray:
        """The share of answers that move each feature, (d,)."""
        moved = []
        for part in self.parts:
            found = part[f"{method}/found"] == 1
            moved.append(~unchanged(part["factuals"][found], part[f"{method}/answers"][found]))
        return np.asarray(np.concatenate(moved).mean(axis=0))


def write(known: Mapping[str, np.ndarray]) -> None:
    """Writes `results/possible.md`."""
    body = [EXPLAINED.strip()]
    for data in DATA:
        for schema in (INFERRED, OWN):
            lines = [line for model in MODELS for line in _variants(Figures.of(known, data, schema, model, GUARDED))]
            if lines:
                body.append(f"## {data}, {schema} schema\n\n" + report.table(("classifier", *HEADER), lines))
    lines = [
        (data, *_line(figures, method, False))
        for data in DATA
        for group in (OTHERS, PACKAGES)
        if (figures := Figures.of(known, data, INFERRED, MODELS[1], group)) is not None
        for method in FURTHER[group]
        if figures.has(method)
    ]
    if lines:
        header = ("data", "method", *HEADER[1:])
        body.append(f"## Other methods and packages, inferred schema, {MODELS[1]}\n\n" + report.table(header, lines))
    moves = [line for data in DATA for line in _moves(known, data)]
    body.append(
        f"## What answers move\n\nThe {MOST_MOVED} features that most answers move, inferred schema, with the "
        "percentage of answers that move each.\n\n" + report.table(("data", "classifier", "variant", "features"), moves)
    )
    title, command = "Answers that break laws of the data", "python -m benchmarks.possible"
    report.write("possible", title, command, "\n\n".join(body))


def _variants(figures: Figures | None) -> Iterator[tuple[str, ...]]:
    if figures is not None:
        for variant in VARIANTS:
            if figures.has(variant):
                yield figures.cell.model, *_line(figures, variant, variant == LAWS)


def _line(figures: Figures, method: str, judged: bool) -> tuple[str, ...]:
    """A line of the table, with the targets that were missed marked if it is judged."""
    broken, real = figures.broken(method), figures.broken("real")
    texts = [f"{figures.percent(method, 'found'):.1f}", _number(broken), _number(real), _number(broken - real)]
    measures = ("held_out_inlier_20", "connected_90", "typical")
    texts += [_number(figures.percent(method, measure)) for measure in measures]
    texts += [_number(figures.mean(method, measure), 3) for measure in ("total_shift", "midrank_shift", "max_shift")]
    texts += [_number(figures.mean(method, "changed"), 2), f"{figures.mean(method, 'ms'):.0f}"]
    texts += [_number(figures.mean(whose, "laws"), 0) for whose in (method, "real")]
    if judged:
        lost = {
            place: figures.percent(method, measure) < figures.percent(BEFORE, measure) - LOST
            for place, measure in ((0, "found"), (4, "held_out_inlier_20"), (5, "connected_90"))
        }
        dearer = figures.mean(method, "total_shift") > DEARER * figures.mean(BEFORE, "total_shift")
        for place, missed in {**lost, 3: broken - real > DIFFERENCE, 7: dearer}.items():
            texts[place] += " ✗" if missed else ""
    return method, *texts


def _moves(known: Mapping[str, np.ndarray], data: str) -> Iterator[tuple[str, ...]]:
    for model in MODELS:
        figures = Figures.of(known, data, INFERRED, model, GUARDED)
        if figures is not None:
            names = Part.of(figures.cell).schema.names
            for variant in filter(figures.has, VARIANTS):
                share = figures.moved(variant)
                first = np.argsort(-share, kind="stable")[:MOST_MOVED]
                yield data, model, variant, ", ".join(f"{names[j]} {100 * share[j]:.0f}" for j in first)


def _number(value: float, digits: int = 1) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def read(known: Mapping[str, np.ndarray], cells: Sequence[Cell], method: str, people: int) -> None:
    """Prints the first answers of each cell as text, to be read by people."""
    for cell in cells:
        if f"{cell.key}/{method}/answers" not in known:
            continue
        part = Part.of(cell)
        layout = Table.read(part.train.iloc[:1], part.schema).layout
        rows = known[f"{cell.key}/factuals"], known[f"{cell.key}/{method}/answers"]
        frames = [layout.frame(values[:people]).astype(object) for values in rows]
        found = known[f"{cell.key}/{method}/found"] == 1
        print(f"\n{cell.key}, {method}")
        print(
            "Laws broken by most answers (and by training rows):", *known[f"{cell.key}/{method}/broken_laws"], sep="\n"
        )
        for i in range(len(frames[0])):
            print(f"{i + 1:3}.", _changes(part.schema, *(frame.iloc[i] for frame in frames)) if found[i] else "–")


def _changes(schema: Schema, before: Mapping[str, object], after: Mapping[str, object]) -> str:
    return "; ".join(
        f"{name} {before[name]} → {after[name]}"
        for name in schema.names
        if before[name] != after[name] and not (before[name] != before[name] and after[name] != after[name])
    )
