"""What a change costs: its size in units of the column, times the feature's cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from attain.core.checks import check_choice
from attain.core.errors import AttainError
from attain.methods.search.pool import rank_within
from attain.schema import Direction, Schema
from attain.tables import Region, ordinary

_MOST_SWITCHES: Final = 3_000
"""About how many switches of a row are listed at most."""


def units(schema: Schema, observed: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The range of each column in the training data, which counts as 1; positions of levels run from first to last."""
    span = np.nan_to_num(observed[1] - observed[0])
    levels = np.array([max(len(feature.levels) - 1, 1) if feature.levels else 0 for feature in schema])
    return np.where(levels > 0, levels, np.where(span > 0, span, 1.0))


def check_directions(directions: Mapping[str, Direction] | None, schema: Schema | None = None) -> None:
    """Refuses an unknown direction and, with a schema, one of a feature without an order."""
    for name, direction in (directions or {}).items():
        check_choice(f"directions[{name!r}]", direction, ("increase", "decrease"))
        if schema is not None and not schema[name].ordered:
            raise AttainError(f"directions names {name!r}, whose levels have no order")


def sliding(region: Region) -> np.ndarray:
    """Cells that move along a scale, (n, d): ordered, free, and holding an ordinary value."""
    slides = ~region.frozen
    for j, feature in enumerate(region.schema):
        slides[:, j] &= ordinary(feature, region.factuals[:, j]) if feature.ordered else False
    return slides


def other_states(region: Region, j: int) -> np.ndarray:
    """The other states of each cell of column j, (n, K): levels, or special codes and then an ordinary value."""
    feature, own = region.schema.features[j], region.factuals[:, j]
    if not feature.numeric:
        states = region.levels(j)
        return states & (np.isnan(own)[:, None] if feature.ordered else np.arange(states.shape[1]) != own[:, None])
    if not feature.special:
        return np.isnan(own)[:, None]
    others = np.column_stack((own[:, None] != np.array(list(feature.special)), ~ordinary(feature, own)))
    return np.asarray(region.states[j] & others)


class Costs:
    """The costs of the changes of n rows.

    Attributes
    ----------
    unit
        How far counts as 1 in each column, (d,): its range, for example.
    slides
        Cells that move along a scale, (n, d).
    lower, upper
        How far each sliding cell may go down and up, in units; 0 elsewhere.
    fall, rise
        What a move of one unit down or up costs, (n, d).
    """

    def __init__(
        self,
        region: Region,
        unit: np.ndarray,
        directions: Mapping[str, Direction] | None = None,
        uncharged: np.ndarray | None = None,
    ) -> None:
        self._region = region
        self.unit = unit
        self.slides = sliding(region)
        own = region.factuals
        with np.errstate(invalid="ignore"):
            self.lower = np.where(self.slides, np.minimum((region.low - own) / unit, 0.0), 0.0)
            self.upper = np.where(self.slides, np.maximum((region.high - own) / unit, 0.0), 0.0)
        self.rise = region.cost.copy()
        self.fall = region.cost.copy()
        self._switch = region.cost.copy()
        for name, direction in (directions or {}).items():
            free = {"increase": self.fall, "decrease": self.rise}.get(direction)
            if free is not None:
                free[:, region.schema.position(name)] = 0.0
        if uncharged is not None:
            for cost in (self.rise, self.fall, self._switch):
                cost[:, uncharged] = 0.0

    def cells(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each cell's change costs, (m, d)."""
        result = np.zeros(rows.shape)
        at, j = np.nonzero(self._region.changed(rows, owners))  # few cells of many change
        whose, cells = owners[at], rows[at, j]
        on_scale = self.slides[whose, j]
        for column, feature in enumerate(self._region.schema):
            if feature.special:
                on_scale &= (j != column) | ordinary(feature, cells)
        move = (cells - self._region.factuals[whose, j]) / self.unit[j]
        along = np.maximum(move, 0) * self.rise[whose, j] + np.maximum(-move, 0) * self.fall[whose, j]
        result[at, j] = np.where(on_scale, along, self._switch[whose, j])
        return result

    def of(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """What each row costs, (m,)."""
        return np.asarray(self.cells(rows, owners).sum(axis=1))


def switches(region: Region, pools: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every way to switch one cell into another state: its owner, its column and its value, sorted in this order.

    States are levels without an order, special codes, and an ordinary value where there was none: then a quartile of
    the training data (`pools` holds the sorted ordinary cells of each column). Of columns with very many levels, some
    are listed, evenly spread.
    """
    parts: list[tuple[np.ndarray, int, np.ndarray]] = []
    most = max(_MOST_SWITCHES // max(len(region.schema.free_columns), 1), 1)
    for j in region.schema.free_columns:
        feature, states = region.schema.features[j], other_states(region, j) & ~region.frozen[:, j, None]
        if not feature.numeric:
            owners, levels = np.nonzero(states)
            number, rank = states.sum(axis=1)[owners], rank_within(owners)
            spread = (number <= most) | (rank * most // number > (rank - 1) * most // number)
            parts.append((owners[spread], j, levels[spread].astype(np.float64)))
            continue
        owners, places = np.nonzero(states[:, :-1])
        parts.append((owners, j, np.array(list(feature.special), dtype=np.float64)[places]))
        owners = np.flatnonzero(states[:, -1])
        if owners.size and len(pools[j]):
            quartiles = np.unique(np.quantile(pools[j], (0.25, 0.5, 0.75), method="nearest"))
            parts.append((np.repeat(owners, len(quartiles)), j, np.tile(quartiles, len(owners))))
    parts.append((np.empty(0, dtype=np.intp), 0, np.empty(0)))
    owners = np.concatenate([owners for owners, _, _ in parts])
    columns = np.concatenate([np.full(len(owners), j) for owners, j, _ in parts])
    values = np.concatenate([values for _, _, values in parts])
    order = np.lexsort((values, columns, owners))
    return owners[order], columns[order], values[order]
