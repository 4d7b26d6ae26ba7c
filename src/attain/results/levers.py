"""Which features the answers rest on: how many answers change each, which way and how far, with an example."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from attain.core.text import plain
from attain.results.plot_people import changed_columns
from attain.schema.text import described

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_FEWEST: Final = 5
"""From so many answers on, a feature that more than half of them change is asked about."""
_SHOWN: Final = 3
"""How many features a summary names."""
_COLUMNS: Final = "feature label unit answers share alone up down change shift common reviewed example"


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


def lever_lines(result: Counterfactuals) -> list[str]:
    """What a summary says: the features changed most often, and a question about those that carry most answers.

    The question goes away only when a person has reviewed the feature: a direction or a pace does not answer it.
    """
    changed, features = changed_by_choice(result), result.table.schema.features
    people, order = len(changed), _most_changed(changed)
    counts = {j: f"{int(changed[:, j].sum())} of {people} answers" for j in order}
    if people < _FEWEST or not order:
        return []
    shown = [f"{plain(features[j].title)} ({counts[j]})" for j in order[:_SHOWN]]
    asked = [j for j in order if 2 * changed[:, j].sum() > people and not features[j].reviewed]
    lines = [f"{counts[j]} change {plain(features[j].title)}: can people change it?" for j in asked]
    hint = "`attain review` asks, and writes the decision into the schema."
    return [f"  changed most often: {', '.join(shown)}", *lines, *([hint] if lines else [])]


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
