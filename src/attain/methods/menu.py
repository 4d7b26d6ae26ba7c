"""A menu for one person: which sets of few features suffice, the answer of each, and which sets cannot.

A set suffices where the method finds an answer that changes these features and no others; columns that are computed
from them follow. It cannot where the largest score of all that the person may reach with it is too low. That is exact
for linear models, and for tree ensembles where the table of scores is small; otherwise a bound, which may leave open
whether a set suffices. Rules and laws only take away from what can be reached, so the proof holds with them too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice, takewhile
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from attain.methods.ranges.axes import axis
from attain.methods.ranges.deciding import others_follow
from attain.methods.search.pool import rank_within
from attain.methods.search.problem import Answers, Problem
from attain.models.structure.products import Axes, Product, ProductScore
from attain.population.percentiles import Percentiles
from attain.results.sentences import arrow
from attain.results.status import Typicality
from attain.schema.text import months
from attain.tables import Region, Table, unchanged

Suffices: TypeAlias = Literal["yes", "no", "not found", "time spent"]
Columns: TypeAlias = tuple[int, ...]

_MOST_VALUES: Final = 1_024
"""Numbers with at most this many values take each of them."""
_MOST_CHOICES: Final = 4_096
"""The most choices of cells of a set, the easiest, that are held against the rules."""
_MOST_ASKED: Final = 16
"""The most of them that the model is asked about."""
_AT_ONCE: Final = 1_000
"""Sets that are searched together, which bounds memory."""
_CHEAPER: Final = 0.9
"""A set that contains one that suffices is listed only if its answer costs at most this share of the other's."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A set of features, whether it suffices, and where it does the answer (d,), its total shift and figures.

    `months` is how long the answer takes, and `waits` whether that is longer than its changes need.
    """

    columns: Columns
    suffices: Suffices
    row: np.ndarray | None = None
    total_shift: float = np.nan
    typicality: float = np.nan
    months: float = np.nan
    waits: bool = False


@dataclass(frozen=True, eq=False)
class Menu:
    """The menu of one person.

    Attributes
    ----------
    problem
        That of the person alone.
    answer
        The method's search of a batch, with the last check.
    typicality
        How typical rows are, (n,); NaN where the method does not say.
    score
        The score of a linear model or tree ensemble; None for other models, for which nothing is proven.
    """

    problem: Problem
    answer: Callable[[Problem], Answers]
    typicality: Callable[[np.ndarray], np.ndarray]
    percentiles: Percentiles
    score: ProductScore | None

    def entries(self, most: int) -> list[Entry]:
        """Sets of up to `most` features: those that suffice, cheapest first, then single features that do not.

        A pair is listed only with an answer that changes both features and is clearly cheaper than those of one of
        them; a larger set only if none within it suffices. Once the person's time is spent, no further sets are looked
        at.
        """
        found: dict[Columns, Entry] = {(j,): Entry((j,), "time spent") for j in self._levers}
        for size in range(1, most + 1):
            sets = (columns for columns in combinations(self._levers, size) if size < 3 or not _enough(columns, found))
            while not self._late and (some := list(islice(sets, _AT_ONCE))):
                hopeless = {columns for columns in some if not self._late and self._hopeless(columns)}
                found |= {columns: Entry(columns, "no") for columns in hopeless}
                left = [columns for columns in some if columns not in hopeless]
                found |= {entry.columns: entry for entry in self._searched(left)}
        enough = [entry for entry in found.values() if entry.suffices == "yes" and self._worth(entry, found)]
        alone = [entry for entry in found.values() if len(entry.columns) == 1 and entry.suffices != "yes"]
        enough.sort(key=lambda entry: (round(entry.total_shift, 9), entry.columns))
        return enough + sorted(alone, key=lambda entry: (entry.suffices == "no", entry.columns))

    @property
    def _late(self) -> bool:
        return bool(self.problem.ledger.late[0])

    def _worth(self, entry: Entry, found: Mapping[Columns, Entry]) -> bool:
        """Whether an answer changes all features of its set, and is clearly cheaper than those of sets within it."""
        assert entry.row is not None
        changed = self.problem.region.changed(entry.row[None], np.zeros(1, dtype=np.intp))[0]
        if not changed[list(entry.columns)].all():
            return False
        least = min((other.total_shift for other in _enough(entry.columns, found)), default=np.inf)
        return entry.total_shift <= _CHEAPER * least

    @cached_property
    def _levers(self) -> list[int]:
        """The features that the person may change."""
        return [int(j) for j in self.problem.region.schema.free_columns if not self.problem.region.frozen[0, j]]

    @cached_property
    def _cells(self) -> dict[int, Cells]:
        region, levers = self.problem.region, takewhile(lambda _: not self._late, self._levers)
        return {j: reachable(region, j, self.percentiles, self.score) for j in levers}

    @cached_property
    def _axes(self) -> Axes | None:
        if self.score is None or len(self._cells) < len(self._levers):
            return None
        cells = {j: some.values for j, some in self._cells.items()}
        return self.score.axes(self.problem.region.factuals[0], cells)

    def _product(self, columns: Columns) -> tuple[Product, list[np.ndarray]] | None:
        """The scores of what the person may reach with these features, and their cells; None where it is not known.

        Cells that break a rule with the features that stay as they are, are left out.
        """
        region = self.problem.region
        if self._axes is None or others_follow(region, columns):
            return None
        keep = {}
        for j in columns:
            alone = region.book.uses[:, j] & ~region.book.uses[:, [k for k in columns if k != j]].any(axis=1)
            keep[j] = np.asarray(self._cells[j].kept[:, alone].all(axis=1))
        return self._axes.product(columns, keep), [self._cells[j].values[keep[j]] for j in columns]

    def _hopeless(self, columns: Columns) -> bool:
        """Whether it is proven that no change of these features flips the decision."""
        reached = self._product(columns)
        if self.score is None or reached is None:
            return False
        return not all(map(len, reached[1])) or reached[0].most() < -self.score.doubt

    def _searched(self, sets: list[Columns]) -> list[Entry]:
        """The entries of sets that may suffice: all are searched at once, each as a row of its own."""
        if not sets:
            return []
        problem = self._restricted(sets)
        answers = self.answer(problem)
        kinds = answers.figures.get("typicality", np.full(len(answers.rows), np.nan))
        missed = np.setdiff1d(np.arange(len(sets)), answers.owners)
        rows, owners = self._enumerated([sets[i] for i in missed], problem.subset(missed))
        rows = np.concatenate((answers.rows, rows))
        owners = np.concatenate((answers.owners, missed[owners]))
        kinds = np.concatenate((kinds, self.typicality(rows[len(kinds) :])))
        shift = self.percentiles.shift(problem.region.factuals[owners], rows)
        total = np.round(shift[:, problem.region.schema.free_columns].sum(axis=1), 9)
        months, waits = self._time(rows)
        found = {
            int(i): (rows[k], float(total[k]), float(kinds[k]), float(months[k]), bool(waits[k]))
            for k, i in enumerate(owners)
        }
        otherwise: Suffices = "time spent" if self._late else "not found"
        return [
            Entry(columns, "yes", *found[i]) if i in found else Entry(columns, otherwise)
            for i, columns in enumerate(sets)
        ]

    def _time(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How long each answer takes, (n,), NaN in a schema without time; and whether the person has to wait, (n,)."""
        timing, own = self.problem.region.book.timing, np.repeat(self.problem.region.factuals, len(rows), axis=0)
        if timing is None:
            return np.full(len(rows), np.nan), np.zeros(len(rows), dtype=bool)
        return timing.months(rows, own), np.asarray(timing.waiting(rows, own).any(axis=1))

    def _restricted(self, sets: list[Columns]) -> Problem:
        """The person once for each set, with all features outside it held."""
        held = np.ones((len(sets), len(self.problem.region.schema)), dtype=bool)
        for i, columns in enumerate(sets):
            held[i, list(columns)] = False
        return _held(self.problem, np.zeros(len(sets), dtype=np.intp), held)

    def _enumerated(self, sets: list[Columns], problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        """The easiest row of each set among all choices of cells that flip the decision by the score, and its owner.

        The search may have missed them. Only what keeps the rules and flips the model's own decision is returned.
        """
        region, parts, owners = problem.region, [problem.region.factuals[:0]], [np.empty(0, dtype=np.intp)]
        for i, columns in takewhile(lambda _: not self._late, enumerate(sets)):
            reached = self._product(columns)
            table = None if reached is None else reached[0].table()
            if reached is None or table is None:
                continue
            choices = np.argwhere(table >= 0)
            rows = np.repeat(region.factuals[[i]], len(choices), axis=0)
            for k, j in enumerate(columns):
                rows[:, j] = reached[1][k][choices[:, k]]
            shift = self.percentiles.shift(region.factuals[[i]], rows).sum(axis=1)
            rows = rows[np.argsort(np.round(shift, 9), kind="stable")[:_MOST_CHOICES]]
            whose = np.full(len(rows), i)
            final = region.final_form(rows, whose)
            good = unchanged(final[:, list(columns)], rows[:, list(columns)]).all(axis=1) & region.admits(final, whose)
            parts.append(final[good][:_MOST_ASKED])
            owners.append(whose[good][:_MOST_ASKED])
        every = np.concatenate(owners)
        tried = problem.evaluate(np.concatenate(parts), every, in_final_form=True)
        first = tried.hits[rank_within(every[tried.hits]) == 0]
        return tried.rows[first], every[first]


def suffices_alone(problem: Problem, percentiles: Percentiles, score: ProductScore | None) -> np.ndarray:
    """For each row, the features that suffice alone, (n, d): some value of them flips the decision, all others held.

    Numbers with more than 1,024 values within reach take those of training rows, and those where the score may jump.
    Columns that are computed from the feature follow, and clocks run on; waiting is a change of the leading clock.
    """
    result = np.zeros(problem.region.frozen.shape, dtype=bool)
    for i in range(len(problem)):
        alone = problem.subset(np.array([i]))
        columns = np.flatnonzero(~alone.region.frozen[0])
        if columns.size:
            cells = [reachable(alone.region, int(j), percentiles, score).values for j in columns]
            owners = np.repeat(np.arange(len(columns)), [len(values) for values in cells])
            rows = np.repeat(alone.region.factuals, len(owners), axis=0)
            rows[np.arange(len(rows)), columns[owners]] = np.concatenate(cells)
            held = np.arange(rows.shape[1]) != columns[:, None]
            tried = _held(alone, np.zeros(len(columns), dtype=np.intp), held).evaluate(rows, owners)
            result[i, columns[owners[tried.hits]]] = True
    return result


def _held(problem: Problem, owners: np.ndarray, held: np.ndarray) -> Problem:
    """The rows `owners`, (m,), each with some cells held, (m, d), and with the whole budget."""
    region = problem.region.subset(owners)
    region = replace(region, frozen=region.frozen | held, frozen_without_laws=region.frozen_without_laws | held)
    return replace(problem, region=region, ledger=problem.ledger.fresh(owners))


def _enough(columns: Columns, found: Mapping[Columns, Entry]) -> list[Entry]:
    """The sets within a set that suffice."""
    within = (some for size in range(1, len(columns)) for some in combinations(columns, size))
    return [found[some] for some in within if some in found and found[some].suffices == "yes"]


class Cells(NamedTuple):
    """Cells that a feature of a person may take, (n,), and which rules and laws each keeps by itself, (n, rules)."""

    values: np.ndarray
    kept: np.ndarray


def reachable(region: Region, j: int, percentiles: Percentiles, score: ProductScore | None) -> Cells:
    """Cells of column j that the first row of a region may take: all, or such that the score is extreme at some."""
    feature, own = region.schema.features[j], region.factuals[0, j]
    whole = True
    if not feature.numeric:
        values = np.flatnonzero(region.levels(j)[0]).astype(np.float64)
    else:
        states = region.states[j][0] if feature.special else np.ones(1, dtype=bool)
        values = np.array([own, *(code for code, able in zip(feature.special, states, strict=False) if able)])
        if states[-1]:
            row = region.factuals[0].copy()
            row[j] = np.clip(np.nan_to_num(own), region.low[0, j], region.high[0, j])
            numbers = axis(row, 0, j, region, percentiles, score, _MOST_VALUES)
            values, whole = np.append(values, numbers.values), numbers.whole
    rows = np.repeat(region.factuals[:1], len(values), axis=0)
    rows[:, j] = values
    # between values that are not all there are, a rule may hold that none of them keeps
    kept = region.kept(rows, np.zeros(len(rows), dtype=np.intp))
    return Cells(values, kept if whole else np.ones_like(kept))


def as_columns(entries: list[Entry], table: Table) -> dict[str, list[Any]]:
    """The columns of a frame of entries for the first row of a table."""
    names, layout = table.schema.names, table.layout
    return {
        "features": [[names[j] for j in entry.columns] for entry in entries],
        "suffices": [entry.suffices for entry in entries],
        "values": [
            [] if entry.row is None else [str(layout.value(names[j], float(entry.row[j]))) for j in entry.columns]
            for entry in entries
        ],
        "change": [_change(entry, table) for entry in entries],
        "total_shift": [
            None if np.isnan(entry.total_shift) else round(100 * entry.total_shift, 3) for entry in entries
        ],
        "months": [None if np.isnan(entry.months) else entry.months for entry in entries],
        "typicality": [
            None if np.isnan(entry.typicality) else str(Typicality(int(entry.typicality))) for entry in entries
        ],
    }


def _change(entry: Entry, table: Table) -> str:
    """`duration: 48 → 24 months; wait 3 months`; empty where no answer is known. Clocks show the same as the time."""
    row, layout = entry.row, table.layout
    if row is None:
        return ""
    features = [(j, table.schema.features[j]) for j in entry.columns if table.schema.features[j].clock is None]
    cells = (
        {
            "current": layout.value(feature.name, float(table.values[0, j])),
            "counterfactual": layout.value(feature.name, float(row[j])),
        }
        for j, feature in features
    )
    parts = [arrow(cell, feature) for cell, (_, feature) in zip(cells, features, strict=True)]
    time = [f"{'wait' if entry.waits else 'takes'} {months(entry.months)}"] if entry.months > 0 else []
    return "; ".join([*parts, *time])
