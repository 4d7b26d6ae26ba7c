"""Which features the answers rest on: how many answers change each, which way and how far, for all and by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from attain.core.arrays import is_missing
from attain.core.drawing import label
from attain.core.errors import DataError, listed
from attain.core.intervals import MISSING, in_reading_order
from attain.core.text import ENGLISH, number, plain
from attain.results.options import WAITING
from attain.schema import Schema
from attain.schema.text import described
from attain.tables import unchanged
from attain.tables.table import column_groups

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_FEWEST: Final = 5
"""The fewest answers for a question about a feature that more than half of them change."""
_SHOWN: Final = 3
"""How many features a summary names."""
_COLUMNS: Final = "feature label unit answers share alone up down change shift common reviewed example"
_MOST_FEATURES, _MOST_BY_GROUP = 15, 8
"""How many features are shown for everybody, and by group."""
_MOST_GROUPS: Final = 6


def changed_columns(result: Counterfactuals) -> np.ndarray:
    """Which features the best answers (b,) change, clocks never, and at the end which of them wait, (b, d + 1)."""
    best = result.best
    changed = ~unchanged(result.table.values[result.owners[best]], result.rows[best])
    changed[:, list(result.table.schema.clocks)] = False
    return np.column_stack((changed, result.waits[best]))


def changed_by_choice(result: Counterfactuals) -> np.ndarray:
    """Which features the best options (b,) change, but for those that follow others or time, (b, d)."""
    schema = result.table.schema
    follow = [feature.computed is not None or feature.name in result.following for feature in schema]
    return changed_columns(result)[:, :-1] & ~np.array(follow)


def lever_columns(result: Counterfactuals) -> dict[str, list[Any]]:
    """The columns of `Counterfactuals.levers`."""
    rows = lever_rows(result, changed_by_choice(result))
    return {name: [row[name] for row in rows] for name in _COLUMNS.split()}


def lever_rows(result: Counterfactuals, changed: np.ndarray) -> list[dict[str, Any]]:
    """A row for each feature that the best options change, as in `changed` (b, d), the most frequent first."""
    return [_lever(result, j, changed) for j in _most_changed(changed)]


def lever_counts(result: Counterfactuals) -> dict[str, int]:
    """How many of the best options change each feature, the most frequent first."""
    changed, names = changed_by_choice(result), result.table.schema.names
    return {names[j]: int(changed[:, j].sum()) for j in _most_changed(changed)}


def lever_lines(schema: Schema, counts: Mapping[str, int], people: int) -> list[str]:
    """What a summary says: the features changed most often, and a question about those that carry most answers."""
    if people < _FEWEST or not counts:
        return []
    order = sorted(counts, key=lambda name: -counts[name])[:_SHOWN]
    shown = [f"{plain(schema[name].title)} ({counts[name]} of {people} answers)" for name in order]
    lines = lever_questions(schema, counts, people)
    hint = "`attain review` asks, and writes the decision into the schema."
    return [f"  changed most often: {', '.join(shown)}", *lines, *([hint] if lines else [])]


def lever_questions(schema: Schema, counts: Mapping[str, int], people: int) -> list[str]:
    """A question about each feature that more than half of the answers change.

    It goes away only when a person has reviewed the feature: a direction or a pace does not answer it.
    """
    asked = [name for name, count in counts.items() if 2 * count > people >= _FEWEST and not schema[name].reviewed]
    return [
        f"{counts[name]} of {people} answers change {plain(schema[name].title)}: can people change it?"
        for name in asked
    ]


def _most_changed(changed: np.ndarray) -> list[int]:
    """The features that are changed at all, those changed most often first."""
    counts = changed.sum(axis=0)
    return [j for j in np.argsort(-counts, kind="stable").tolist() if counts[j]]


def _lever(result: Counterfactuals, j: int, changed: np.ndarray) -> dict[str, Any]:
    feature, using = result.table.schema.features[j], changed[:, j]
    places, others = np.flatnonzero(result.best)[using], changed[using].sum(axis=1) - 1
    before, after = result.table.values[result.owners[places], j], result.rows[places, j]
    states = np.isin((before, after), [*feature.special]).any(axis=0)
    moves = np.where(states | (not feature.ordered), np.nan, after - before)
    common = Counter(after.tolist()).most_common(1)[0][0]
    return {
        "feature": feature.name,
        "label": feature.title,
        "unit": feature.unit,
        "answers": len(places),
        "share": float(using.mean()),
        "alone": int((others == 0).sum()),
        "up": int((moves > 0).sum()),
        "down": int((moves < 0).sum()),
        "change": _median(moves),
        "shift": _median(100 * result.percentiles[2][places, j]),
        "common": None if feature.numeric else described(result.table.layout.value(feature.name, common), feature),
        "reviewed": feature.reviewed,
        "example": result.option(int(places[np.argmin(others)])).sentence,
    }


def _median(values: np.ndarray) -> float | None:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else None


def time_waited(waits: np.ndarray) -> str:
    """`1 to 18 months, median 6`, for some numbers of months (w,)."""
    if not len(waits) or waits.min() == waits.max():
        return ENGLISH.duration(float(waits[0])) if len(waits) else ""
    return f"{number(waits.min())} to {ENGLISH.duration(float(waits.max()))}, median {number(float(np.median(waits)))}"


class FeatureMoves(NamedTuple):
    """What the answers of one group do with one feature.

    Attributes
    ----------
    shifts
        The signed shift of each answer that moves it on its scale, in percentile points.
    levels
        The most frequent other changes, as text: new levels, with how often each is taken.
    share
        The share of the group whose answer changes it, from 0 to 1.
    """

    shifts: np.ndarray
    levels: str
    share: float


class ChangesByGroup(NamedTuple):
    """What the answers of groups of people change.

    Attributes
    ----------
    groups
        How many people with an answer each has, by name.
    levers
        For each feature its title, and what the answers of each group do with them.
    about
        A line on both.
    """

    groups: dict[str, int]
    levers: list[tuple[str, list[FeatureMoves]]]
    about: str


def changes_by_group(result: Counterfactuals, by: Any) -> ChangesByGroup:
    """What the best answers change, the features changed most often first; waiting stands for all clocks.

    `by` is None, the name of a column, or has the group of each person.
    """
    changed = changed_columns(result)
    masks = _groups(result, by)
    order = np.argsort(-changed.sum(axis=0), kind="stable")[: int(changed.any(axis=0).sum())]
    levers = []
    for j in order[: _MOST_FEATURES if len(masks) == 1 else _MOST_BY_GROUP].tolist():
        feature = result.table.schema.features[j] if j < len(result.table.schema) else None
        moves = [_moves(result, j, changed[:, j] & mask, int(mask.sum())) for mask in masks.values()]
        levers.append((WAITING if feature is None else feature.title, moves))
    about = f"the best answers of {int(result.found.sum())} of {len(result)} people"
    if len(levers) < len(order):
        about += f"; the {len(levers)} features changed most often, of {len(order)}"
    return ChangesByGroup({name: int(mask.sum()) for name, mask in masks.items()}, levers, about)


def _moves(result: Counterfactuals, j: int, chosen: np.ndarray, people: int) -> FeatureMoves:
    """What the best answers `chosen` (b,) of a group of people do with feature `j`, or how long they wait."""
    options = np.flatnonzero(result.best)[chosen]
    share = len(options) / people if people else 0.0
    if j == len(result.table.schema):
        return FeatureMoves(np.empty(0), time_waited(result.months[options]), share)
    feature = result.table.schema.features[j]
    before, after = (100 * part[options, j] for part in result.percentiles[:2])
    on_scale = ~np.isnan(before) & ~np.isnan(after)
    values = [result.table.layout.value(feature.name, float(cell)) for cell in result.rows[options[~on_scale], j]]
    common = Counter(label(described(value, feature), 24) for value in values).most_common(2)
    return FeatureMoves((after - before)[on_scale], ", ".join(f"→ {text} ({count})" for text, count in common), share)


def _groups(result: Counterfactuals, by: Any) -> dict[str, np.ndarray]:
    """By name, which of the best answers (b,) belong to each group; the smallest groups are put together."""
    owners = result.owners[result.best]
    if by is None:
        return {"everybody": np.ones(len(owners), dtype=bool)}
    names = np.array(_group_names(result, by), dtype=object)[owners]
    counts = Counter(names.tolist())
    kept = list(counts) if len(counts) <= _MOST_GROUPS else [name for name, _ in counts.most_common(_MOST_GROUPS - 1)]
    masks = {name: np.asarray(names == name) for name in sorted(kept, key=in_reading_order)}
    if len(counts) > len(kept):
        masks[f"{len(counts) - len(kept)} other groups"] = ~np.any(list(masks.values()), axis=0)
    return masks or {"nobody": np.zeros(0, dtype=bool)}


def _group_names(result: Counterfactuals, by: Any) -> list[str]:
    """The group of each person."""
    if isinstance(by, str):
        if by not in result.table.schema:
            raise DataError(f"by is {by!r}; the columns are {listed(result.table.schema.names)}")
        return column_groups(result.table, by)
    given = list(by)
    if len(given) != len(result):
        raise DataError(f"by must have one group for each of the {len(result)} people, got {len(given)}")
    return [MISSING if is_missing(item) else plain(item) for item in given]
