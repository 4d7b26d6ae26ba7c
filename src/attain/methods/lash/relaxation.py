"""Moves along the scales of a record as continuous variables, with what follows from them, and the score's slope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attain.methods.lash.kernel_regression import KernelRegression
from attain.methods.search.costs import Costs
from attain.models.structure.smooth import Smooth
from attain.population.space import MeasuringSpace
from attain.tables import Region, ordinary

_DIFFERENCE = 1e-5
"""The step, in ranges, of the differences by which derived columns are differentiated."""
_KERNEL_ROWS = 2_000
"""The most training rows an indirect feature is estimated from."""


@dataclass(frozen=True, eq=False)
class IndirectFeatures:
    """Features nobody changes by hand: estimated from the others by kernel regression over training rows.

    Distances are those of columns scaled to [0, 1]; another level, special code or missing cell counts 1. Indirect and
    derived columns take no part in them.
    """

    space: MeasuringSpace
    weights: np.ndarray
    columns: np.ndarray
    regressions: tuple[KernelRegression, ...]

    @classmethod
    def fit(
        cls,
        space: MeasuringSpace,
        values: np.ndarray,
        unit: np.ndarray,
        columns: np.ndarray,
        widths: Mapping[str, float],
        seed: int,
    ) -> IndirectFeatures:
        """The estimates of these columns; a feature without a width gets the best by leaving one out."""
        schema = space.schema
        absent = {*columns, *(j for j, feature in enumerate(schema) if feature.derived is not None)}
        scaled = [0.0 if j in absent else scale / unit[j] for j, scale in zip(space.scaled, space.scale, strict=True)]
        indicated = [0.0 if j in absent else np.sqrt(0.5) for j in space.indicated]
        weights = np.array([*scaled, *indicated, np.sqrt(0.5)])
        some = np.random.default_rng(seed).permutation(len(values))
        regressions = []
        for j in columns:
            known = some[ordinary(schema.features[j], values[some, j])][:_KERNEL_ROWS]
            points = space.transform(values[known]) * weights
            width = widths.get(schema.names[j])
            regressions.append(KernelRegression.fit(points, values[known, j], width))
        return cls(space, weights, columns, tuple(regressions))

    def estimate(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The estimates, (n, k), and their slopes in each cell of the matrix, (n, k, d)."""
        points = self.space.transform(rows) * self.weights
        estimates = np.empty((len(rows), len(self.columns)))
        slopes = np.zeros((len(rows), len(self.columns), rows.shape[1]))
        scaled = len(self.space.scaled)
        for k, regression in enumerate(self.regressions):
            estimates[:, k], slope = regression.estimate(points)
            slopes[:, k, self.space.scaled] = slope[:, :scaled] * (self.weights[:scaled] / self.space.scale)
        return estimates, slopes


class Relaxation:
    """The score of moves from the people's `base` rows, in units of each column's range, and its slope.

    Ordered cells take any value in between. Indirect features follow by their estimates, derived columns by their
    expressions; the slope goes through both.
    """

    def __init__(
        self,
        smooth: Smooth,
        region: Region,
        base: np.ndarray,
        unit: np.ndarray,
        indirect: IndirectFeatures | None = None,
        keep_residual: bool = True,
    ) -> None:
        self._smooth = smooth
        self._region = region
        self._base = base
        self._unit = unit
        self._indirect = indirect
        self._book = region.book
        names = {name for _, expression in region.schema.derivations for name in expression.names}
        self._sources = [region.schema.position(name) for name in sorted(names) if region.schema[name].derived is None]
        self._derived = [j for j, _ in region.schema.derivations]
        if indirect is not None:
            columns = indirect.columns
            own = region.factuals[:, columns]
            known = [ordinary(region.schema.features[j], own[:, k]) for k, j in enumerate(columns)]
            self._follows = np.stack(known, axis=1) & ~region.frozen[:, columns]
            estimated = indirect.estimate(region.factuals)[0]
            self._residual = np.where(self._follows, own - estimated, 0.0) if keep_residual else np.zeros_like(own)

    def rows(self, moves: np.ndarray, people: np.ndarray) -> np.ndarray:
        """The records after the moves, with what follows from them; not yet in final form."""
        return self._followed(self._base[people] + moves * self._unit, people)[0]

    def _followed(self, rows: np.ndarray, people: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The rows with indirect and derived columns, and the slopes of the indirect ones."""
        slopes = None
        if self._indirect is not None:
            columns = self._indirect.columns
            estimates, slopes = self._indirect.estimate(rows)
            free = estimates + self._residual[people]
            kept = np.clip(free, self._region.low[people][:, columns], self._region.high[people][:, columns])
            follows = self._follows[people]
            rows[:, columns] = np.where(follows, kept, rows[:, columns])
            slopes *= (follows & (kept == free))[:, :, None]
        return self._book.derive(rows, self._region.factuals[people]), slopes

    def slope(self, moves: np.ndarray, people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The score of each move, and its gradient in the moves."""
        rows, slopes = self._followed(self._base[people] + moves * self._unit, people)
        score, gradient = self._smooth.slope(rows)
        gradient = gradient + self._through_derived(rows, gradient, people)
        if slopes is not None and self._indirect is not None:
            columns = self._indirect.columns
            gradient = gradient + (gradient[:, columns, None] * slopes).sum(axis=1)
        return score, gradient * self._unit

    def _through_derived(self, rows: np.ndarray, gradient: np.ndarray, people: np.ndarray) -> np.ndarray:
        """What moving a source of a derived column adds to its slope, by central differences of the expression."""
        extra = np.zeros(rows.shape)
        factuals = self._region.factuals[people]
        for j in self._sources:
            step = _DIFFERENCE * self._unit[j]
            above, below = rows.copy(), rows.copy()
            above[:, j] += step
            below[:, j] -= step
            rise = self._book.derive(above, factuals) - self._book.derive(below, factuals)
            change = (rise[:, self._derived] * gradient[:, self._derived]).sum(axis=1) / (2 * step)
            extra[:, j] = np.where(np.isfinite(change), change, 0.0)
        return extra


def roundings(rows: np.ndarray, owners: np.ndarray, region: Region) -> tuple[np.ndarray, np.ndarray]:
    """Each relaxed row put on the grid in three ways, in final form: to the nearest value, outward and inward.

    Outward goes beyond what the relaxation asked for, so that the decision stays turned; inward stays within its cost.
    """
    own = region.factuals[owners]
    outward, inward = rows.copy(), rows.copy()
    for j in region.schema.free_columns:
        feature = region.schema.features[j]
        step = feature.step if feature.numeric else (1.0 if feature.ordered else None)
        if step is None:
            continue
        places = rows[:, j] / step
        moved = np.abs(rows[:, j] - own[:, j]) > 1e-3 * step
        near = np.rint(places)
        exact = np.abs(places - near) < 1e-6
        up, down = np.where(exact, near, np.ceil(places)) * step, np.where(exact, near, np.floor(places)) * step
        rises = rows[:, j] > own[:, j]
        outward[:, j] = np.where(moved, np.where(rises, up, down), own[:, j])
        inward[:, j] = np.where(moved, np.where(rises, down, up), own[:, j])
    stacked = np.concatenate((rows, outward, inward))
    people = np.tile(owners, 3)
    return region.final_form(stacked, people), people


def switched(
    people: np.ndarray,
    smooth: Smooth,
    region: Region,
    costs: Costs,
    switches: tuple[np.ndarray, np.ndarray, np.ndarray],
    limit: float,
) -> np.ndarray:
    """All people's rows, those of `people` with the switches of state that raise the score, as far as costs allow.

    The most gain for its cost first; at most one switch a cell.
    """
    base = region.factuals.copy()
    who, columns, values = (part[np.isin(switches[0], people)] for part in switches)
    if not len(who):
        return base
    rows = region.factuals[who]
    rows[np.arange(len(rows)), columns] = values
    rows = region.final_form(rows, who)
    gain = smooth.score(rows) - smooth.score(region.factuals)[who]
    cost = costs.of(rows, who)
    order = np.lexsort((-gain / np.maximum(cost, 1e-9), who))
    left, room = np.full(len(region), limit), region.max_changes.copy()
    done: set[tuple[int, int]] = set()
    for i in order[gain[order] > 0]:
        cell = int(who[i]), int(columns[i])
        if cell not in done and cost[i] <= left[who[i]] and room[who[i]] > 0:
            base[cell] = values[i]
            left[who[i]] -= cost[i]
            room[who[i]] -= 1
            done.add(cell)
    return base
