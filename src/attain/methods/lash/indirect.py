"""Indirect features: columns that are not moved but follow the others, by kernel regression over training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attain.methods.lash.kernel_regression import KernelRegression
from attain.population.space import MeasuringSpace
from attain.tables import Region, ordinary

_KERNEL_ROWS = 2_000
"""The most training rows an indirect feature is estimated from."""


@dataclass(frozen=True, eq=False)
class IndirectFeatures:
    """The estimates of k columns from the others.

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
        """The estimates of these columns; the width of a feature without one is chosen by leaving one out."""
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
            regressions.append(KernelRegression.fit(points, values[known, j], widths.get(schema.names[j])))
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

    def within(self, region: Region, keep_residual: bool) -> FollowingFeatures:
        """The same for the rows of a region."""
        return FollowingFeatures(self, region, keep_residual)


class FollowingFeatures:
    """The indirect features of a batch: each keeps its distance from the estimate, or is put where the estimate is.

    Cells that are frozen, missing or special do not follow.
    """

    def __init__(self, indirect: IndirectFeatures, region: Region, keep_residual: bool) -> None:
        self.columns = indirect.columns
        self._indirect, self._region = indirect, region
        own = region.factuals[:, self.columns]
        known = [ordinary(region.schema.features[j], own[:, k]) for k, j in enumerate(self.columns)]
        self._follows = np.stack(known, axis=1) & ~region.frozen[:, self.columns]
        estimated = indirect.estimate(region.factuals)[0]
        self._residual = np.where(self._follows, own - estimated, 0.0) if keep_residual else np.zeros_like(own)

    def follow(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Writes these columns into the rows (m, d); returns their slopes in each cell, (m, k, d)."""
        estimates, slopes = self._indirect.estimate(rows)
        free = estimates + self._residual[owners]
        low, high = self._region.low[owners][:, self.columns], self._region.high[owners][:, self.columns]
        kept = np.clip(free, low, high)
        follows = self._follows[owners]
        rows[:, self.columns] = np.where(follows, kept, rows[:, self.columns])
        return np.asarray(slopes * (follows & (kept == free))[:, :, None])
