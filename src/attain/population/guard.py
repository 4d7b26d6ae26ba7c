"""The guard: which records a search may give, with a known error rate.

A record x has several measurements among real rows: its local outlier factor for each number of neighbours and, for the
setting `connected`, its distance to the nearest of them. Each measurement m gives a rank, the share of the n rows that
it is taken among that are as unusual or more,

    r_m(x) = #{i : m(x_i) ≥ m(x)} / n,

for the distance divided by `closeness`; and the score of x is its smallest rank, s(x) = min_m r_m(x).

Which scores are too small is decided conformally, with k calibration rows that the guard was not fitted on. The p-value
(1 + #{j : s(c_j) ≤ s(x)}) / (k + 1) of a new real row is at most α with a probability of at most α. Separate limits
with a rate of α each would not have that rate together; one limit on the smallest rank has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from attain.core.arrays import BoolArray, FloatArray
from attain.population.faithfulness import LocalDensity, local_density
from attain.population.population import Reference

Setting: TypeAlias = Literal["connected", "typical"]


@dataclass(frozen=True)
class GuardSettings:
    """Constants of the guard; the letters are explained in `attain.methods.guarded.settings`."""

    neighbours: tuple[int, ...] = (5, 10, 20, 40, 80)
    """Numbers of neighbours of the outlier factors. A factor with many neighbours among many rows sees what one with
    few neighbours sees among few rows, so that answers are also typical by a smaller sample. (T)"""
    closeness: float = 3.0
    """What the rank of the nearest distance is divided by: closeness is asked for more strictly than the rest. (T)"""
    max_crowd: int = 8_000
    """The most real rows for outlier factors. (M)"""
    min_rows: int = 20
    """The least number of real rows, and of calibration rows, for a meaningful guard. (–)"""
    sample_seed: int = 0
    """The seed of the sample of real rows where they are more than `max_crowd`. A constant: the reference is in the
    order of its rows' content, so that the same rows are drawn whatever the order of the training data. (–)"""


@dataclass(frozen=True)
class GuardLimits:
    """The largest outlier factors (sizes,) and distance that a record may have."""

    factors: FloatArray
    distance: float


@dataclass(frozen=True)
class Guard:
    """Real rows of the desired class, how unusual each is among the others, and the calibrated scores.

    Attributes
    ----------
    setting
        `typical`: not an outlier. `connected`: not an outlier, and close to a real row.
    reference
        All real rows of the desired class that the guard knows.
    crowd
        Those among which outlier factors are taken: all, or a fixed sample of them.
    own_factors, own_distances
        The measurements of the real rows, sorted.
    calibration
        The sorted scores of the rows that the guard was calibrated on.
    held_out
        Whether these were held out from the guard; if not, they are its own, because too few were held out.
    """

    setting: Setting
    reference: Reference
    crowd: Reference
    own_factors: tuple[FloatArray, ...]
    own_distances: FloatArray
    calibration: FloatArray
    held_out: bool
    settings: GuardSettings

    @classmethod
    def fit(
        cls,
        setting: Setting,
        reference: Reference,
        calibration_rows: FloatArray,
        settings: GuardSettings = GuardSettings(),  # noqa: B008
    ) -> Guard:
        """A guard calibrated on other rows, or on its own where there are fewer than `min_rows` of those."""
        crowd = thinned(reference, settings.max_crowd, settings.sample_seed)
        sizes = [k for k in settings.neighbours if k <= max(len(crowd) // 8, min(settings.neighbours))]
        # the widest search for neighbours comes first, because it answers the narrower ones
        densities = [local_density(crowd, k) for k in reversed(sizes)][::-1]
        factors = tuple(np.sort(part.factor(*crowd.own_neighbours(part.k))) for part in densities if part is not None)
        distances = reference.own_neighbours(1)[0][:, 0] if len(reference) > 1 else np.zeros(len(reference))
        guard = cls(setting, reference, crowd, factors, np.sort(distances), np.empty(0), False, settings)
        enough = len(calibration_rows) >= settings.min_rows
        scores = guard.score(calibration_rows) if enough else guard._own_scores()
        return replace(guard, calibration=np.sort(scores), held_out=enough)

    @cached_property
    def local_densities(self) -> tuple[LocalDensity, ...]:
        """The crowd's part of the outlier factors, one for each number of neighbours."""
        sizes = self.settings.neighbours[: len(self.own_factors)]
        return tuple(part for k in sizes if (part := local_density(self.crowd, k)) is not None)

    @cached_property
    def reaches_and_densities(self) -> FloatArray:
        """Each crowd row's distance to its k-th neighbour and its local density, for each k, (crowd, sizes, 2)."""
        return np.stack([np.column_stack((part.reach, part.density)) for part in self.local_densities], axis=1)

    def score(self, rows: FloatArray) -> FloatArray:
        """The smallest rank of each row, (n,)."""
        return self._score(*self.measurements(rows))

    def measurements(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The outlier factors (n, sizes) of rows, and their distances (n,) to the nearest real row."""
        points = self.reference.space.points(rows)
        widest = max((part.k for part in self.local_densities), default=1)
        distances, indices = self.crowd.index.query(points, widest)
        factors = [part.factor(distances[:, : part.k], indices[:, : part.k]) for part in self.local_densities]
        nearest = distances if self.crowd is self.reference else self.reference.index.query(points, 1)[0]
        return _columns(factors, len(rows)), nearest[:, 0]

    def p_value(self, scores: FloatArray) -> FloatArray:
        """The share of calibration rows with at most this score, each score itself counted among them, (n,)."""
        return (1 + np.searchsorted(self.calibration, scores, side="right")) / (len(self.calibration) + 1)

    def accepts(self, rows: FloatArray, rate: float) -> BoolArray:
        """Which rows pass; a new real row is refused with a probability of at most `rate`."""
        return self.p_value(self.score(rows)) > rate

    def limits(self, rate: float) -> GuardLimits:
        """What `accepts` checks, as a limit of each measurement."""
        # p > rate exactly if at least `place` calibration scores are as small: the least score to pass is that one
        place = int(np.floor(rate * (len(self.calibration) + 1) + 1e-9))
        least = self.calibration[min(place, len(self.calibration)) - 1] if place else -1.0  # every rank is above −1
        return GuardLimits(
            np.array([_largest(own, least) for own in self.own_factors]),
            _largest(self.own_distances, least * self.settings.closeness) if self.setting == "connected" else np.inf,
        )

    def _score(self, factors: FloatArray, distance: FloatArray) -> FloatArray:
        ranks = [np.ones(len(distance)), *(_rank(own, factors[:, i]) for i, own in enumerate(self.own_factors))]
        if self.setting == "connected":
            ranks.append(_rank(self.own_distances, distance) / self.settings.closeness)
        # equal shares of different numbers of rows must be equal to the last bit
        return np.asarray(np.round(np.min(ranks, axis=0), 14))

    def _own_scores(self) -> FloatArray:
        """The scores of the crowd, each among the others."""
        factors = [part.factor(*self.crowd.own_neighbours(part.k)) for part in self.local_densities]
        # each is its own nearest, as the crowd is part of the reference: the next one counts
        distance = self.reference.index.query(self.crowd.points, min(2, len(self.reference)))[0][:, -1]
        return self._score(_columns(factors, len(distance)), distance)


def thinned(reference: Reference, most: int, seed: int = 0) -> Reference:
    """The same reference, or a sample of `most` of its rows."""
    if len(reference) <= most:
        return reference
    return reference.subset(np.sort(np.random.default_rng(seed).choice(len(reference), most, replace=False)))


def _columns(factors: list[FloatArray], n: int) -> FloatArray:
    """The outlier factors (n, sizes) of n rows; among fewer than three real rows there are none."""
    return np.reshape(factors, (len(factors), n)).T


def _rank(own: FloatArray, values: FloatArray) -> FloatArray:
    """The share of real rows whose value is as large or larger, (n,); `own` is sorted."""
    return np.asarray(1 - np.searchsorted(own, values, side="left") / max(len(own), 1))


def _largest(own: FloatArray, least: float) -> float:
    """The largest value whose rank is at least `least`; `own` is sorted."""
    # a value ranks 1 − j / n when j of the n own values are smaller; `least` is a multiple of 1 / n, up to rounding
    smaller = int(np.floor((1 - least) * len(own) + 1e-6))
    if smaller < 0:
        return -np.inf
    return float(own[smaller]) if smaller < len(own) else np.inf
