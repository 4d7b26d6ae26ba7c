"""Options as people see them: what each one changes, and all that is known about it.

Sentences, tables, notebooks, reports, pages, plots and files render these; `Record.option` makes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from attain.results import sentences
from attain.results.status import Typicality
from attain.schema.feature import Feature
from attain.tables import unchanged

if TYPE_CHECKING:
    from attain.results.record import Record

WAITING: Final = "waiting"
"""What plots and reports call the time that an option takes beyond what its changes need."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Change:
    """What an option does with one feature. Percentiles, shifts among them, run from 0 to 100.

    Attributes
    ----------
    current, suggested
        The values as `Layout.value` gives them; None where one is missing.
    follows
        What the change goes with, so that nobody carries it out by itself: a "relation" between columns, a formula or
        "law", or "time"; empty where the person makes it.
    related
        Whether a relation asks for it, whatever else does.
    low, high, low_percentile, high_percentile, levels, checked
        The range, or the other levels, that do as well; None where ranges were not asked for.
    gain, per_point, needed_for_decision, needed_to_stay_typical, needed_by_law, only_typical
        How much the change matters; None where importance was not asked for. See `Importances`.
    """

    feature: Feature
    current: Any
    suggested: Any
    current_percentile: float | None
    suggested_percentile: float | None
    shift: float | None
    follows: Literal["", "relation", "law", "time"]
    related: bool = False
    low: Any = None
    high: Any = None
    low_percentile: float | None = None
    high_percentile: float | None = None
    levels: tuple[Any, ...] | None = None
    checked: int | None = None
    gain: float | None = None
    per_point: float | None = None
    needed_for_decision: bool | None = None
    needed_to_stay_typical: bool | None = None
    needed_by_law: bool | None = None
    only_typical: bool = False

    def as_json(self) -> dict[str, Any]:
        """For programs: the feature by its name, label and unit, and everything else."""
        named = {"feature": self.feature.name, "label": self.feature.title, "unit": self.feature.unit}
        return named | {item.name: getattr(self, item.name) for item in fields(self)[1:]}


@dataclass(frozen=True, eq=False, kw_only=True)
class Option:
    """One way to the decision that was asked for.

    Attributes
    ----------
    place, position
        Its place among all options of the result, and the position of the person.
    person, number
        The label of the person's row, and the option's number among theirs, from 1.
    request
        The decision that was asked for, in words.
    changes
        In the order of the schema; `ordered` has them as they are read.
    level
        How typical the new record is, in words; None where the method has no guard.
    outlier, connected, total_shift, max_shift, score
        None where the method has no such figure. Shifts are percentile points.
    months, waits
        How long the option takes, and whether that is longer than its changes need.
    contradiction
        What contradicts itself in the new record, in words; otherwise empty.
    """

    place: int
    position: int
    person: Any
    number: int
    request: str
    changes: tuple[Change, ...]
    level: str | None
    outlier: bool | None
    connected: bool | None
    total_shift: float | None
    max_shift: float | None
    score: float | None
    months: float
    waits: bool
    contradiction: str

    @property
    def ordered(self) -> list[Change]:
        """The changes as they are read: what people do, then what is computed from that, and what time brings."""
        last = ("law", "time")
        return sorted(self.changes, key=lambda one: last.index(one.follows) + 1 if one.follows in last else 0)

    @property
    def is_typical(self) -> bool:
        return self.level == str(Typicality.TYPICAL)

    @property
    def sentence(self) -> str:
        """What to change, with values rounded for reading."""
        return sentences.option_sentence(self)

    def as_json(self) -> dict[str, Any]:
        """For programs: everything, and the sentence."""
        known = {item.name: getattr(self, item.name) for item in fields(self)}
        return known | {"changes": [change.as_json() for change in self.ordered], "sentence": self.sentence}


def option_at(record: Record, place: int) -> Option:
    """The option at a place among all of a result."""
    position, row = int(record.owners[place]), record.rows[place]
    figures = {name: _known(values[place]) for name, values in record.option_figures.items()}
    return Option(
        place=place,
        position=position,
        person=record.table.labels[position],
        number=int(record.ranks[place]),
        request=record.request,
        changes=tuple(_changes(record, place, np.flatnonzero(~unchanged(record.table.values[position], row)).tolist())),
        level=record.levels[place],
        outlier=_verdict(figures.get("outlier")),
        connected=_verdict(figures.get("connected")),
        total_shift=points(figures.get("total_shift")),
        max_shift=points(figures.get("max_shift")),
        score=figures.get("score_after"),
        months=float(record.months[place]),
        waits=bool(record.waits[place]),
        contradiction="" if record.related is None else record.related.contradictions[place],
    )


def _changes(record: Record, place: int, columns: list[int]) -> Iterator[Change]:
    own, row = record.table.values[record.owners[place]], record.rows[place]
    ranges, importance = _ranges(record, place), _importance(record, place)
    for j in columns:
        feature = record.table.schema.features[j]
        related = record.related is not None and bool(record.related.follows[place, j])
        before, after, shift = (points(part[place, j]) for part in record.percentiles)
        yield Change(
            feature=feature,
            current=record.table.layout.value(feature.name, float(own[j])),
            suggested=record.table.layout.value(feature.name, float(row[j])),
            current_percentile=before,
            suggested_percentile=after,
            shift=shift,
            follows=_follows(record, feature, related),
            related=related,
            **ranges.get(j, {}),
            **importance.get(j, {}),
        )


def _follows(record: Record, feature: Feature, related: bool) -> Literal["", "relation", "law", "time"]:
    if feature.clock is not None:
        return "time"
    if feature.name in record.following or feature.computed is not None:
        return "law"
    return "relation" if related else ""


def _ranges(record: Record, place: int) -> dict[int, dict[str, Any]]:
    """What else does as well, by column."""
    found = record.intervals
    if found is None:
        return {}
    columns = {int(found.column[r]): r for r in entries(found.option, place)}
    return {
        j: {
            **{end: record.table.layout.value(feature.name, float(getattr(found, end)[r])) for end in ("low", "high")},
            **{name: points(getattr(found, name)[r]) for name in ("low_percentile", "high_percentile")},
            "levels": tuple(feature.levels[level] for level in found.levels[r]),
            "checked": int(found.checked[r]),
        }
        for j, r in columns.items()
        for feature in [record.table.schema.features[j]]
    }


def _importance(record: Record, place: int) -> dict[int, dict[str, Any]]:
    """How much each change matters, by column."""
    found = record.importances
    if found is None:
        return {}
    return {
        (j := int(found.column[r])): {
            "gain": (gain := _known(found.gain[r])),
            "per_point": _per_point(gain, 100 * float(record.percentiles[2][place, j])),
            "needed_for_decision": bool(found.for_decision[r]),
            "needed_to_stay_typical": _verdict(_known(found.to_stay_typical[r])),
            "needed_by_law": bool(record.needed_by_law[place, j]),
            "only_typical": bool(found.only_typical[r] == 1),
        }
        for r in entries(found.option, place)
    }


def entries(options: np.ndarray, place: int) -> range:
    """The entries of an option among some that are in the order of options."""
    return range(*np.searchsorted(options, (place, place + 1)).tolist())


def _per_point(gain: float | None, shift: float) -> float | None:
    return None if gain is None or not shift > 0 else round(gain / shift, 9)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _verdict(value: float | None) -> bool | None:
    return None if value is None else bool(value)


def points(share: float | None) -> float | None:
    """A share as percentile points, rounded to a thousandth; None where there is none."""
    return None if share is None or math.isnan(share) else round(100 * float(share), 3)
