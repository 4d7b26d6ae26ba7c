"""What a result stores, and what follows from it: the input of every way to show or write it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from attain.core.errors import DataError, listed
from attain.core.text import number, plain
from attain.results.details import Attributions, Importances, Ranges, Related
from attain.results.options import Option, entries, option_at
from attain.results.status import Status, Typicality
from attain.schema import Schema
from attain.schema.laws import Law
from attain.tables import RuleBook, Table, unchanged


def why_nothing_is_free(schema: Schema, row: np.ndarray) -> str:
    """Why no cell of a row (d,) may change: all that could are missing, or special codes; empty for other reasons."""
    cells = [(feature, float(row[j])) for j, feature in enumerate(schema) if feature.searched]
    codes = {cell: feature.special[cell] for feature, cell in cells if cell in feature.special}
    missing = any(np.isnan(cell) for _, cell in cells)
    held = (
        not feature.fillable if np.isnan(cell) else cell in feature.special and cell not in feature.transitions
        for feature, cell in cells
    )
    if not cells or not all(held):
        return ""
    shown = ", ".join(f"{number(code)}: {plain(text)}" if text else number(code) for code, text in codes.items())
    coded = [f"recorded as a code ({shown}) rather than a number"] if codes else []
    return f"every value that could is {' or '.join(['missing'] * missing + coded)}"


@dataclass(frozen=True, eq=False)
class Record:
    """The fields of `Counterfactuals`; m options for n people with d features."""

    table: Table = field(repr=False)
    method: str
    target: Any
    probability: float | None
    statuses: tuple[Status, ...] = field(repr=False)
    """One for each person."""
    rows: np.ndarray = field(repr=False)
    """Every option as a row of the matrix (m, d), grouped by person, best first."""
    owners: np.ndarray = field(repr=False)
    """The position of the person that each option belongs to (m,)."""
    percentiles: tuple[np.ndarray, np.ndarray, np.ndarray] = field(repr=False)
    """Percentiles of the factual, percentiles of the option, and shifts, each (m, d)."""
    person_figures: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    """Figures with one value per person (n,)."""
    option_figures: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    """Figures with one value per option (m,)."""
    notes: tuple[str, ...] = ()
    rows_asked: int = 0
    """All rows that models were asked about in this call, once for each score or decision."""
    rows_uncharged: int = 0
    """Those of them that are charged to nobody: the probe, training rows, gradients, rows of importance and
    contributions, and rows asked again after an error. All others are charged: the sum of the figure `rows_scored`."""
    unreadable: Mapping[int, str] = field(default_factory=dict, repr=False)
    """The people whose record cannot be read, by position, each with a sentence that says why."""
    target_name: str | None = None
    """What the target is called in texts; None for the target itself."""
    laws: tuple[Law, ...] = field(default=(), repr=False)
    """The laws that answers keep, unless a person breaks one already."""
    intervals: Ranges | None = field(default=None, repr=False)
    """The ranges round the options, where they were asked for."""
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What these answers follow from, as JSON: see `Counterfactuals.settings`."""
    importances: Importances | None = field(default=None, repr=False)
    """How much each change matters, where it was asked for."""
    attributions: Attributions | None = field(default=None, repr=False)
    """What each scored input contributes, where it was asked for."""
    related: Related | None = field(default=None, repr=False)
    """What relations between columns say of each option; None where there are none."""

    @property
    def decision(self) -> Any:
        """The target as texts call it."""
        return self.target if self.target_name is None else self.target_name

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def ranks(self) -> np.ndarray:
        """The number of each option among those of its person, from 1 (m,)."""
        return np.arange(len(self.owners)) - np.searchsorted(self.owners, self.owners, side="left") + 1

    @property
    def best(self) -> np.ndarray:
        """Which options are the best of their person (m,)."""
        return self.ranks == 1

    @cached_property
    def levels(self) -> list[str | None]:
        """How typical each option is, in words (m,); None where the method has no guard."""
        known = self.option_figures.get("typicality", np.full(len(self.owners), math.nan))
        return [None if math.isnan(kind) else str(Typicality(int(kind))) for kind in known]

    @property
    def found(self) -> np.ndarray:
        """Who has an answer (n,)."""
        return np.array([status is Status.FOUND for status in self.statuses], dtype=bool)

    @property
    def answers(self) -> np.ndarray:
        """The best option of each person as a row of the matrix (n, d); NaN where there is none."""
        answers = np.full(self.table.values.shape, math.nan)
        answers[self.owners[self.best]] = self.rows[self.best]
        return answers

    @property
    def share_found(self) -> float:
        """The share of people with an answer among those whose decision was not the desired one already."""
        asked = [status for status in self.statuses if status is not Status.ALREADY_DESIRED]
        return asked.count(Status.FOUND) / len(asked) if asked else math.nan

    def reason(self, position: int) -> str:
        """How the search for the person at this position ended, as a sentence."""
        wrong, status = self.unreadable.get(position), self.statuses[position]
        if wrong is not None:
            return f"This record cannot be read: {wrong.rstrip('.')}."
        if status is Status.NOTHING_FREE and (
            why := why_nothing_is_free(self.table.schema, self.table.values[position])
        ):
            return f"{status.reason.rstrip('.')}: {why}."
        return status.reason

    def positions(self, person: Any) -> list[int]:
        """The positions of the rows with this label."""
        found = [i for i, label in enumerate(self.table.labels) if label == person]
        if not found:
            raise DataError(f"no row has the label {person!r}; the labels are {listed(self.table.labels)}")
        return found

    def of_best(self, name: str) -> np.ndarray:
        """A figure of each person's best option (n,); NaN where there is no option or no such figure."""
        values = np.full(len(self), math.nan)
        if name in self.option_figures:
            values[self.owners[self.best]] = self.option_figures[name][self.best]
        return values

    @property
    def request(self) -> str:
        """What was asked for in words: the decision, and the probability if there is one."""
        likely = "" if self.probability is None else f" with a probability of at least {number(self.probability)}"
        name = self.decision
        return f"{f'the decision “{plain(name)}”' if isinstance(name, str) else f'class {plain(name)}'}{likely}"

    def option(self, place: int) -> Option:
        """The option at a place among all, to be shown."""
        return option_at(self, place)

    def options_of(self, position: int) -> list[Option]:
        """The options of the person at a position, the best first."""
        return [self.option(place) for place in entries(self.owners, position)]

    @cached_property
    def views(self) -> list[Option]:
        """All options, to be shown."""
        return [self.option(place) for place in range(len(self.owners))]

    @cached_property
    def _book(self) -> RuleBook:
        return RuleBook(self.table.schema, self.laws)

    @cached_property
    def following(self) -> frozenset[str]:
        """The features that follow others by a law: nobody changes them by themselves."""
        return frozenset(self.table.schema.names[one.column] for one in self._book.derivations if one.follows)

    @cached_property
    def months(self) -> np.ndarray:
        """How long each option takes (m,), by the clocks and paces of the schema."""
        timing, own = self._book.timing, self.table.values[self.owners]
        return np.zeros(len(own)) if timing is None else timing.months(self.rows, own)

    @cached_property
    def waits(self) -> np.ndarray:
        """Which options take longer than their changes need, so that clocks advance (m,)."""
        timing, own = self._book.timing, self.table.values[self.owners]
        return np.zeros(len(own), dtype=bool) if timing is None else timing.waits(self.rows, own)

    @cached_property
    def _breaks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The changed cells, by option and column, and the rules and laws each keeps its option from breaking."""
        own = self.table.values[self.owners]
        options, columns = np.nonzero(~unchanged(own, self.rows))
        undone = self.rows[options]
        undone[np.arange(len(options)), columns] = own[options, columns]
        needed = ~self._book.kept(undone) & self._book.kept(self.rows)[options]
        # where one column follows others, the law asks for its change, not for theirs
        equations = np.array([rule.determines is not None for rule in self._book.rules], dtype=bool)
        follows = np.array([name in self.following for name in self.table.schema.names])
        needed &= ~(equations & self._book.is_law) | follows[columns][:, None]
        return options, columns, needed

    @cached_property
    def needed_by_law(self) -> np.ndarray:
        """Which changed cells (m, d) a rule or law asks for, or follow from others, as clocks do from time."""
        options, columns, needed = self._breaks
        result = np.zeros(self.rows.shape, dtype=bool)
        result[options, columns] = needed.any(axis=1)
        follows = [*(one.column for one in self._book.derivations), *self.table.schema.clocks]
        result[:, follows] = ~unchanged(self.table.values[self.owners], self.rows)[:, follows]
        return result

    def law_cells(self) -> list[dict[str, Any]]:
        """One dictionary for each changed cell and law that the option would break without the change."""
        options, columns, broken = self._breaks
        needed = broken[:, self._book.is_law]
        return [
            {
                "person": self.table.labels[int(self.owners[options[cell]])],
                "option": int(self.ranks[options[cell]]),
                "feature": self.table.schema.names[columns[cell]],
                "law": self.laws[k].text,
                "sentence": self.laws[k].sentence,
            }
            for cell, k in zip(*(part.tolist() for part in np.nonzero(needed)), strict=True)
        ]

    def contribution_entries(self) -> list[dict[str, Any]]:
        """One dictionary for each person and scored input, with the columns of `contributions`, most against first."""
        return [] if self.attributions is None else self.attributions.entries(self)
