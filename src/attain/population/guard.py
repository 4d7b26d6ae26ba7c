"""The guard: whether a record is one that real people of the desired class have.

A record is looked at from several sides: its local outlier factor among real people for several numbers of neighbours,
its density under the autoencoder, and, for the setting `connected`, its distance to the nearest of them. Each side
gives a rank: the share of real people who look as odd as the record, or odder. The record's score is the smallest of
its ranks, so that one odd side is enough.

What score is too small is settled once, conformally, on real people whom neither the guard nor the autoencoder was
fitted on: the guard refuses a new real person of the desired class with at most the stated probability. Several limits
of one rate each would not have that rate together; one limit on the smallest rank has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attain.core.arrays import FloatArray
from attain.population.reference import LocalDensity, Reference

Setting: TypeAlias = Literal["typical", "connected"]
Density: TypeAlias = Callable[[FloatArray], FloatArray]
"""Rows in original units to the log-density of each."""

NEIGHBOURS: Final = (5, 10, 20, 40, 80)
"""The numbers of neighbours of the outlier factors. A factor with many neighbours among many people sees what one with
few neighbours sees among few: so an answer is usual for a judge who knows fewer people, too."""
CLOSENESS: Final = 3.0
"""How much smaller a rank the nearest distance counts as: closeness is asked for more strictly than the rest."""
CROWD: Final = 8_000
"""So many real people make up the crowd for outlier factors and densities, at most."""
LEAST: Final = 20
"""With fewer people than this there is nothing to be learned about what is usual."""


@dataclass(frozen=True)
class Limits:
    """What a record may look like at one level: the largest factors and distance, and the least log-density."""

    factors: FloatArray
    distance: float
    density: float


@dataclass(frozen=True)
class Guard:
    """Real people of the desired class, how odd each of them looks among the others, and the calibrated scores.

    Attributes
    ----------
    setting
        `typical`: no outlier. `connected`: no outlier, and close to somebody real.
    people
        All real people of the desired class that the guard knows.
    crowd
        Those among whom outlier factors are taken: all, or a fixed sample of them.
    calibration
        The sorted scores of the real people that the guard was calibrated on.
    held_out
        Whether these were held out from guard and autoencoder; if not, there were too few to hold any out.
    """

    setting: Setting
    people: Reference
    crowd: Reference
    density: Density | None
    own_factors: tuple[FloatArray, ...]
    own_distances: FloatArray
    own_densities: FloatArray
    calibration: FloatArray
    held_out: bool

    @classmethod
    def fit(cls, setting: Setting, people: Reference, calibration: FloatArray, density: Density | None) -> Guard:
        """A guard of these people, calibrated on the rows of others; at least `LEAST` people are needed."""
        crowd = thinned(people, CROWD)
        sizes = [k for k in NEIGHBOURS if k <= max(len(crowd) // 8, min(NEIGHBOURS))]
        densities = [crowd.local_density(k) for k in sizes]
        factors = tuple(np.sort(part.factor(*crowd.own_neighbours(part.k))) for part in densities if part is not None)
        own = people.own_neighbours(1)[0][:, 0] if len(people) > 1 else np.zeros(len(people))
        own_densities = np.empty(0) if density is None else np.sort(density(crowd.values))
        guard = cls(setting, people, crowd, density, factors, np.sort(own), own_densities, np.empty(0), False)
        enough = len(calibration) >= LEAST
        scores = guard.score(calibration) if enough else guard._own_scores()
        return replace(guard, calibration=np.sort(scores), held_out=enough)

    @cached_property
    def local_densities(self) -> tuple[LocalDensity, ...]:
        """The crowd's side of the outlier factors, one for each number of neighbours."""
        sizes = NEIGHBOURS[: len(self.own_factors)]
        return tuple(part for part in map(self.crowd.local_density, sizes) if part is not None)

    def score(self, rows: FloatArray) -> FloatArray:
        """The smallest of each row's ranks."""
        factors, distance = self.position(rows)
        return self._score(factors, distance, rows)

    def position(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The outlier factors of each row, (n, sizes), and its distance to the nearest person."""
        points = self.people.space.transform(rows)
        widest = max((part.k for part in self.local_densities), default=1)
        distances, who = self.crowd.index.query(points, widest)
        factors = [part.factor(distances[:, : part.k], who[:, : part.k]) for part in self.local_densities]
        nearest = distances if self.crowd is self.people else self.people.index.query(points, 1)[0]
        return np.column_stack(factors), nearest[:, 0]

    def p_value(self, scores: FloatArray) -> FloatArray:
        """The share of real people who look as odd or odder, each score counted among them."""
        return (1 + np.searchsorted(self.calibration, scores, side="right")) / (len(self.calibration) + 1)

    def accepts(self, rows: FloatArray, rate: float) -> NDArray[np.bool_]:
        """Which rows are usual: a new real person is refused with probability `rate` at most."""
        return self.p_value(self.score(rows)) > rate

    def limits(self, rate: float) -> Limits:
        """The same as `accepts`, as limits of each side."""
        refused = int(np.floor(rate * (len(self.calibration) + 1) + 1e-9))
        bar = self.calibration[min(refused, len(self.calibration)) - 1] if refused else -1.0
        return Limits(
            np.array([_largest(own, bar) for own in self.own_factors]),
            _largest(self.own_distances, bar * CLOSENESS) if self.setting == "connected" else np.inf,
            -np.inf if self.density is None else -_largest(-self.own_densities[::-1], bar),
        )

    def refused(self, rows: FloatArray, rate: float) -> float:
        """The share of rows that are refused at a rate."""
        return float(1 - self.accepts(rows, rate).mean()) if len(rows) else float("nan")

    def _score(self, factors: FloatArray, distance: FloatArray, rows: FloatArray) -> FloatArray:
        ranks = [_rank(own, factors[:, i]) for i, own in enumerate(self.own_factors)]
        if self.density is not None:
            ranks.append(_rank(-self.own_densities[::-1], -self.density(rows)))
        if self.setting == "connected":
            ranks.append(_rank(self.own_distances, distance) / CLOSENESS)
        # equal shares of different numbers of people must be equal to the last bit
        return np.asarray(np.round(np.min(ranks, axis=0), 14))

    def _own_scores(self) -> FloatArray:
        """The crowd's own scores, each among the others."""
        factors = [part.factor(*self.crowd.own_neighbours(part.k)) for part in self.local_densities]
        distance = self.people.index.query(self.crowd.points, min(2, len(self.people)))[0][:, -1]
        return self._score(np.column_stack(factors), distance, self.crowd.values)


def thinned(people: Reference, most: int) -> Reference:
    """The same reference, or a fixed sample of it where it has more people than `most`."""
    if len(people) <= most:
        return people
    # the reference's own order is that of its rows' bytes, so a fixed draw depends on nothing else
    chosen = np.sort(np.random.default_rng(0).choice(len(people), most, replace=False))
    return people.subset(chosen)


def _rank(own: FloatArray, values: FloatArray) -> FloatArray:
    """The share of real people whose value is as large or larger; `own` is sorted."""
    rank: FloatArray = 1 - np.searchsorted(own, values, side="left") / max(len(own), 1)
    return rank


def _largest(own: FloatArray, bar: float) -> float:
    """The largest value whose rank is the bar or more; `own` is sorted."""
    # a value ranks 1 − j / n when j of the n own values are smaller; bars are shares of whole people, but for rounding
    most = int(np.floor((1 - bar) * len(own) + 1e-6))
    return float(own[most]) if 0 <= most < len(own) else np.inf if most >= 0 else -np.inf
