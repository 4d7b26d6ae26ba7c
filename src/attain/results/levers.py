"""Which features the best answers change, how far, and for which groups of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, Final

import numpy as np

from attain.core.drawing import label
from attain.core.errors import DataError, listed
from attain.core.frames import is_missing
from attain.core.intervals import MISSING, in_reading_order
from attain.core.text import ENGLISH, number, plain
from attain.results.importance import WAITING
from attain.results.plots.people import Group, Lever, Moves
from attain.results.record import Record
from attain.schema.text import described
from attain.tables import unchanged
from attain.tables.labels import column_groups

_MOST_FEATURES, _MOST_BY_GROUP = 15, 8
"""How many features are shown for everybody, and by group."""
_MOST_GROUPS: Final = 6


def population(result: Record, by: Any) -> tuple[list[Group], list[Lever], str]:
    """The groups, the features that best answers change, those changed most often first, and how many there are.

    Waiting stands for all clocks.

    `by` is None, the name of a column, or has the group of each person.
    """
    changed = changed_columns(result)
    masks = _groups(result, by)
    groups = [Group(name, int(mask.sum())) for name, mask in masks.items()]
    order = np.argsort(-changed.sum(axis=0), kind="stable")[: int(changed.any(axis=0).sum())]
    shown = order[: _MOST_FEATURES if len(groups) == 1 else _MOST_BY_GROUP].tolist()
    levers = [_lever(result, j, changed[:, j], masks.values()) for j in shown]
    about = f"the best answers of {int(result.found.sum())} of {len(result)} people"
    if len(shown) < len(order):
        about += f"; the {len(shown)} features changed most often, of {len(order)}"
    return groups, levers, about


def _moves(result: Record, j: int, chosen: np.ndarray, people: int) -> Moves:
    """What the best answers `chosen` (b,) of a group of so many people do with feature `j`."""
    feature, options = result.table.schema.features[j], np.flatnonzero(result.best)[chosen]
    before, after = (100 * part[options, j] for part in result.percentiles[:2])
    on_scale = ~np.isnan(before) & ~np.isnan(after)
    values = [result.table.layout.value(feature.name, float(result.rows[i, j])) for i in options[~on_scale]]
    common = Counter(label(described(value, feature), 24) for value in values).most_common(2)
    levels = ", ".join(f"→ {text} ({count})" for text, count in common)
    return Moves((after - before)[on_scale], levels, len(options) / people if people else 0.0)


def _lever(result: Record, j: int, changed: np.ndarray, groups: Collection[np.ndarray]) -> Lever:
    """Feature `j`, which `changed` of the best answers (b,) change, or waiting, for groups given as masks (b,)."""
    schema = result.table.schema
    if j == len(schema):
        parts = [_waits(result, changed & mask, int(mask.sum())) for mask in groups]
        return Lever(WAITING, parts, None)
    parts = [_moves(result, j, changed & mask, int(mask.sum())) for mask in groups]
    return Lever(schema.features[j].title, parts, _gain(result, j))


def changed_columns(result: Record) -> np.ndarray:
    """Which features the best answers (b,) change, clocks never, and at the end which of them wait, (b, d + 1)."""
    best = result.best
    changed = ~unchanged(result.table.values[result.owners[best]], result.rows[best])
    changed[:, list(result.table.schema.clocks)] = False
    return np.column_stack((changed, result.waits[best]))


def _waits(result: Record, chosen: np.ndarray, people: int) -> Moves:
    """How long the best answers `chosen` (b,) of a group of so many people wait."""
    waits = result.months[result.best][chosen]
    return Moves(np.empty(0), time_waited(waits), len(waits) / people if people else 0.0)


def time_waited(waits: np.ndarray) -> str:
    """`1 to 18 months, median 6`, for some numbers of months (w,)."""
    if not len(waits) or waits.min() == waits.max():
        return ENGLISH.duration(float(waits[0])) if len(waits) else ""
    return f"{number(waits.min())} to {ENGLISH.duration(float(waits.max()))}, median {number(float(np.median(waits)))}"


def _gain(result: Record, j: int) -> float | None:
    """The mean score gained by the changes of feature `j` in the best options; None if not known."""
    found = result.importances
    if found is None:
        return None
    gains = found.gain[(found.column == j) & result.best[found.option]]
    return float(np.nanmean(gains)) if np.isfinite(gains).any() else None


def _groups(result: Record, by: Any) -> dict[str, np.ndarray]:
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


def _group_names(result: Record, by: Any) -> list[str]:
    """The group of each person."""
    table = result.table
    if isinstance(by, str):
        if by not in table.schema:
            raise DataError(f"by is {by!r}; the columns are {listed(table.schema.names)}")
        return column_groups(table, by)
    given = list(by)
    if len(given) != len(result):
        raise DataError(f"by must have one group for each of the {len(result)} people, got {len(given)}")
    return [MISSING if is_missing(item) else plain(item) for item in given]
