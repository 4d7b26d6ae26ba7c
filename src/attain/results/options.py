"""Options as people see them: what each one changes, and all that is known about it.

Sentences, tables, notebooks, reports, pages, plots and files render these. `option_at` makes them, for
`Counterfactuals.option`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from attain.results import sentences
from attain.results.status import Purpose, Verdict
from attain.schema.feature import Feature
from attain.tables import unchanged

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

WAITING: Final = "waiting"
"""What plots and reports call the time that an option takes beyond what its changes need."""
Cause = Literal["", "relation", "law", "time"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Change:
    """What an option does with one feature. Percentiles and shifts are from 0 to 100.

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
        The range, or the other levels, that do as well, and how many values were checked and hold; None where ranges
        were not asked for.
    gain, per_point, needed_for_decision, needed_to_stay_typical, needed_by_law, only_typical
        How much the change matters; None (`only_typical`: False) where it is not known. See `Importances`.
    """

    feature: Feature
    current: Any
    suggested: Any
    current_percentile: float | None
    suggested_percentile: float | None
    shift: float | None
    follows: Cause
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

    @property
    def others(self) -> tuple[Any, ...]:
        """The other levels that do as well; none where the person's own does, so that the change is not needed."""
        return () if self.levels is None or self.current in self.levels else self.levels

    @property
    def reviewed(self) -> bool:
        """Whether somebody has decided what may happen to the feature, or a search leaves it alone."""
        return self.feature.is_reviewed or not self.feature.searched

    def as_json(self) -> dict[str, Any]:
        """For programs: the feature by its name, label and unit, other levels as texts, and everything else."""
        cells = {item.name: getattr(self, item.name) for item in fields(self)}
        cells |= {"feature": self.feature.name, "label": self.feature.title, "unit": self.feature.unit}
        cells["reviewed"] = self.reviewed
        return cells | {"levels": None if self.levels is None else [str(level) for level in self.levels]}


@dataclass(frozen=True, eq=False, kw_only=True)
class Option:
    """One way to the decision that was asked for.

    Attributes
    ----------
    place, position
        The option's row in `result.rows`, and the row of its person in the table.
    person, number
        The label of the person's row, and the option's number among theirs, from 1.
    request
        The decision that was asked for, in words.
    purpose
        "smallest" where it is the smallest change that is enough, "typical" where it changes more than that to be more
        typical; empty where these are the same, or the method does not distinguish them.
    changes
        In the order of the schema; `ordered` has them as they are read.
    verdict
        What the new record is like; None where that is not known.
    unreviewed
        The names of the features that it changes and nobody has reviewed.
    outlier, connected, total_shift, max_shift, score
        None where the method has no such figure. Shifts are percentile points.
    months, months_needed, waits
        How long the option takes, the same without changes that only keep the record typical, and whether time alone,
        not the pace of its changes, makes it take so long.
    contradiction
        What contradicts itself in the new record, in words; otherwise empty.
    """

    place: int
    position: int
    person: Any
    number: int
    request: str
    purpose: str
    changes: tuple[Change, ...]
    verdict: Verdict | None
    unreviewed: tuple[str, ...]
    outlier: bool | None
    connected: bool | None
    total_shift: float | None
    max_shift: float | None
    score: float | None
    months: float
    months_needed: float
    waits: bool
    contradiction: str

    @property
    def ordered(self) -> list[Change]:
        """The changes as they are read: what people do, then what is computed from that, and what time brings."""
        return sorted(self.changes, key=lambda change: {"law": 1, "time": 2}.get(change.follows, 0))

    @property
    def sentence(self) -> str:
        """What to change, with values rounded for reading."""
        return sentences.option_sentence(self)

    def as_json(self) -> dict[str, Any]:
        """For programs: everything, and the sentence."""
        cells = {item.name: getattr(self, item.name) for item in fields(self)}
        return cells | {"changes": [change.as_json() for change in self.ordered], "sentence": self.sentence}


def option_at(result: Counterfactuals, place: int) -> Option:
    """The option at a place among all of a result."""
    position = int(result.owners[place])
    figures = {name: values[place] for name, values in result.option_figures.items()}
    changes = tuple(_changes(result, place))
    return Option(
        place=place,
        position=position,
        person=result.table.labels[position],
        number=int(result.ranks[place]),
        request=result.request,
        purpose=str(Purpose(_or_none(figures.get("purpose"), int) or Purpose.NONE)),
        changes=changes,
        verdict=result.verdicts[place],
        unreviewed=tuple(change.feature.name for change in changes if not change.reviewed),
        outlier=_or_none(figures.get("outlier"), bool),
        connected=_or_none(figures.get("connected"), bool),
        total_shift=points(figures.get("total_shift")),
        max_shift=points(figures.get("max_shift")),
        score=_or_none(figures.get("score_after")),
        months=float(result.months[place]),
        months_needed=float(result.months_needed[place]),
        waits=bool(result.waits[place]),
        contradiction="" if result.related is None else result.related.contradictions[place],
    )


def _changes(result: Counterfactuals, place: int) -> Iterator[Change]:
    own, row, schema = result.table.values[result.owners[place]], result.rows[place], result.table.schema
    ranges, importance = _ranges(result, place), _importance(result, place)
    for j in np.flatnonzero(~unchanged(own, row)).tolist():
        feature = schema.features[j]
        related = result.related is not None and bool(result.related.follows[place, j])
        by_law = feature.name in result.following or feature.computed is not None
        before, after, shift = (points(part[place, j]) for part in result.percentiles)
        yield Change(
            feature=feature,
            current=result.table.layout.value(feature.name, float(own[j])),
            suggested=result.table.layout.value(feature.name, float(row[j])),
            current_percentile=before,
            suggested_percentile=after,
            shift=shift,
            follows="time" if feature.clock is not None else "law" if by_law else "relation" if related else "",
            related=related,
            **ranges.get(j, {}),
            **importance.get(j, {}),
        )


def _ranges(result: Counterfactuals, place: int) -> dict[int, dict[str, Any]]:
    """The ranges of an option's changes, by column."""
    ranges, shown_value = result.intervals, result.table.layout.value
    if ranges is None:
        return {}
    feature_of = {entry: result.table.schema.features[ranges.column[entry]] for entry in entries(ranges.option, place)}
    return {
        int(ranges.column[entry]): {
            "low": shown_value(feature.name, float(ranges.low[entry])),
            "high": shown_value(feature.name, float(ranges.high[entry])),
            "low_percentile": points(ranges.low_percentile[entry]),
            "high_percentile": points(ranges.high_percentile[entry]),
            "levels": tuple(feature.levels[level] for level in ranges.levels[entry]),
            "checked": int(ranges.checked[entry]),
        }
        for entry, feature in feature_of.items()
    }


def _importance(result: Counterfactuals, place: int) -> dict[int, dict[str, Any]]:
    """How much each change matters, by column."""
    details, shifts = result.importances, 100 * result.percentiles[2][place]
    if details is None:
        return {}
    entry_of = {int(details.column[entry]): entry for entry in entries(details.option, place)}
    return {
        j: {
            "gain": _or_none(details.gain[entry]),
            "per_point": _or_none(round(float(details.gain[entry]) / float(shifts[j]), 9)) if shifts[j] > 0 else None,
            "needed_for_decision": bool(details.for_decision[entry]),
            "needed_to_stay_typical": _or_none(details.to_stay_typical[entry], bool),
            "needed_by_law": bool(result.needed_by_law[place, j]),
            "only_typical": bool(details.only_typical[entry] == 1),
        }
        for j, entry in entry_of.items()
    }


def entries(options: np.ndarray, place: int) -> range:
    """The positions in `options`, which is sorted, that hold this place."""
    return range(*np.searchsorted(options, (place, place + 1)).tolist())


def _or_none(value: float | None, convert: Callable[[float], Any] = float) -> Any:
    """The value converted; None where it is None or NaN."""
    return None if value is None or math.isnan(value) else convert(value)


def points(share: float | None) -> float | None:
    """A share as percentile points, rounded to a thousandth; None where there is none."""
    return _or_none(share, lambda value: round(100 * float(value), 3))
