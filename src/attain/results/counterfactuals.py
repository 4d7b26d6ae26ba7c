"""The one result type: plain frames, a status for everybody, and the figures beside every answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from attain.core.frames import Frame
from attain.results.status import Level, Status
from attain.tables import Table, unchanged


@dataclass(frozen=True, eq=False)
class Counterfactuals:
    """Answers for a batch of people.

    Everything a caller holds is a frame or column of the library that came in, in the order of the people asked about.

    Attributes
    ----------
    frame
        One row per person, the best option: the index, column order and dtypes of the input. A person without an answer
        has a row of missing cells.
    options
        All options, long form: person, option (1 is the best), then the features. Where a feature is called `person` or
        `option`, that column is called `person_` or `option_`.
    changes
        What changes, one row per changed feature, with the columns of the paper's Table 1; percentiles run from 0 to
        100.
    status
        How each person's search ended: the name of a `Status`; `sentences` has the sentence that a person reads.
    figures
        One row per person: score before and after, shifts, outlier, connectedness, rows scored, …
    notes
        What a reader must know of these answers, in sentences.

    `levels` says, where the method has a guard, how usual each person's answer is among real people.
    """

    table: Table = field(repr=False)
    method: str
    target: Any
    probability: float | None
    outcome: tuple[Status, ...] = field(repr=False)
    rows: np.ndarray = field(repr=False)
    """Every option as a row of the matrix, grouped by person, best first."""
    owners: np.ndarray = field(repr=False)
    """Whose option each row is: the person's position."""
    percentiles: tuple[np.ndarray, np.ndarray, np.ndarray] = field(repr=False)
    """Of every option: the factual's percentiles, the option's, and the shifts, each (options, features)."""
    person_figures: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    option_figures: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def _ranks(self) -> np.ndarray:
        """Which option of its person each row is, from 1."""
        firsts = np.searchsorted(self.owners, self.owners, side="left")
        return np.arange(len(self.owners)) - firsts + 1

    @property
    def found(self) -> np.ndarray:
        """Who has an answer, as a boolean array."""
        return np.array([status is Status.FOUND for status in self.outcome], dtype=bool)

    @property
    def answers(self) -> np.ndarray:
        """The best option of each person as a row of the matrix; NaN where there is none."""
        best = np.full(self.table.values.shape, math.nan)
        first = self._ranks == 1
        best[self.owners[first]] = self.rows[first]
        return best

    @cached_property
    def frame(self) -> Frame:
        return self.table.replaced(self.answers, self.found)

    @cached_property
    def options(self) -> Frame:
        library = self.table.layout.library
        listed = self.table.take(self.owners, self.rows)
        person, option = (_free_name(name, self.table.schema.names) for name in ("person", "option"))
        return library.with_leading(
            listed, {person: [self.table.labels[i] for i in self.owners], option: self._ranks.tolist()}
        )

    @cached_property
    def status(self) -> Any:
        return self._series("status", [status.name for status in self.outcome])

    @cached_property
    def sentences(self) -> Any:
        """The sentence a person reads, for each."""
        return self._series("status", [status.value for status in self.outcome])

    @cached_property
    def levels(self) -> Any:
        """How usual each person's answer is among real people: the words of a `Level`; None where nobody said."""
        return self._series("level", [self.level_of(i) for i in self._first_options])

    @property
    def _first_options(self) -> list[int | None]:
        """Where in `rows` each person's best option is; None for people without one."""
        places: list[int | None] = [None] * len(self)
        for i in np.flatnonzero(self._ranks == 1):
            places[self.owners[i]] = int(i)
        return places

    def level_of(self, option: int | None) -> str | None:
        """How usual an option is, in words; None where the method has no guard."""
        values = self.option_figures.get("level")
        known = values is not None and option is not None and not math.isnan(values[option])
        return str(Level(int(values[option]))) if known else None  # type: ignore[index]

    def _series(self, name: str, values: Sequence[Any]) -> Any:
        return self.table.layout.library.series(name, values, self.table.source)

    @cached_property
    def changes(self) -> Frame:
        rows = self.changed_cells()
        names = [
            *("person", "option", "feature", "current", "counterfactual"),
            *("current_percentile", "counterfactual_percentile", "shift"),
            *("total_shift", "outlier", "connected", "method"),
        ]
        columns = {name: [row[name] for row in rows] for name in names}
        return self.table.layout.library.make(columns)

    def changed_cells(self) -> list[dict[str, Any]]:
        """One dictionary for each changed cell: the columns of `changes`, and the position of the person."""
        before, after, shift = self.percentiles
        layout, schema = self.table.layout, self.table.schema
        total = self.option_figures.get("total_shift", np.full(len(self.rows), math.nan))
        own = self.table.values[self.owners]
        differs = ~unchanged(own, self.rows)
        cells = []
        for i, j in zip(*np.nonzero(differs), strict=True):
            name = schema.names[j]
            cells.append(
                {
                    "position": int(self.owners[i]),
                    "level": self.level_of(int(i)),
                    "method": self.method,
                    "person": self.table.labels[self.owners[i]],
                    "option": int(self._ranks[i]),
                    "feature": name,
                    "current": layout.value(name, float(own[i, j])),
                    "current_percentile": _points(before[i, j]),
                    "counterfactual": layout.value(name, float(self.rows[i, j])),
                    "counterfactual_percentile": _points(after[i, j]),
                    "shift": _points(shift[i, j]),
                    "total_shift": _points(total[i]),
                    "outlier": self._verdict("outlier", i),
                    "connected": self._verdict("connected", i),
                }
            )
        return cells

    def _verdict(self, name: str, i: int) -> bool | None:
        values = self.option_figures.get(name)
        return None if values is None or math.isnan(values[i]) else bool(values[i])

    @cached_property
    def figures(self) -> Frame:
        n = len(self.table)
        columns: dict[str, Any] = {name: np.asarray(values) for name, values in self.person_figures.items()}
        first = self._ranks == 1
        for name, values in self.option_figures.items():
            column = np.full(n, math.nan)
            column[self.owners[first]] = values[first]
            columns[name] = column
        library = self.table.layout.library
        return library.make(columns, index=library.index(self.table.source))

    @property
    def share_found(self) -> float:
        """The share of people with an answer among those whose decision was not the desired one already."""
        asked = [status for status in self.outcome if status is not Status.ALREADY_DESIRED]
        return sum(status is Status.FOUND for status in asked) / len(asked) if asked else math.nan

    def __str__(self) -> str:
        from attain.results.text import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from attain.results.html import notebook

        return notebook(self)

    def to_json(self) -> str:
        """Everything as JSON text; `Counterfactuals.from_json` gives it back."""
        from attain.results.serialise import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str) -> Counterfactuals:
        """The result that `to_json` wrote, with frames of the library it came from."""
        from attain.results.serialise import from_json

        return from_json(text)


def _free_name(name: str, taken: Sequence[str]) -> str:
    return _free_name(f"{name}_", taken) if name in taken else name


def _points(share: float) -> float | None:
    """A share as percentile points, to a thousandth; None where there is none."""
    return None if math.isnan(share) else round(100 * float(share), 3)
