"""The cheapest point of a ball round a real person that turns the decision, in closed form.

A candidate is close to a real person when it lies in a ball round them. On a line through the scores (`Surrogate`), the
cheapest such point that gains enough score is the least of a sum over features: what moving costs the person, μ times
the squared distance to the real person's value, and ν times the score, with its sign turned. Each feature is then on
its own. For a number that is a soft threshold: it stays at the person's own value, unless the real person's value, or
the score, pulls harder than the move costs. For levels and other states it is a choice of two. μ is found by bisection
such that the point lies in the ball; ν by asking the model, as little as turns the decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from attain.methods.guarded.objective import Objective
from attain.methods.guarded.surrogate import Surrogate
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.tables import Region, ordinary, unchanged

_HALVINGS: Final = 10
_LOOSEST, _TIGHTEST = -6.0, 10.0
"""Between which logarithms μ is looked for."""
_STILL: Final = 1e-9
_PULLS: Final = (0.1, 0.5, 2.0, 10.0)
"""The values of ν along which a ball is looked over before the model is asked."""


class Coordinates:
    """Which coordinates of the measuring space belong to which feature."""

    def __init__(self, reference: Reference) -> None:
        space, schema = reference.space, reference.schema
        owner = np.concatenate((space.scaled, space.indicated, [-1]))
        self.of = [np.flatnonzero(owner == j) for j in range(len(schema))]
        self.first = np.array([places[0] if len(places) else 0 for places in self.of])
        self.owner = owner


@dataclass(frozen=True)
class Balls:
    """Pairs of a person and a real person, feature by feature; arrays are (pairs, free features) unless said.

    Attributes
    ----------
    people, centres
        Whose pair it is, and the real person's position, (pairs,).
    grafts
        The person's rows with all that may change taken from the real person, in final form, (pairs, d).
    own, goal
        Where a number is and where the real person's is, in standard deviations.
    price
        What a standard deviation of a number costs the person, in weighted percentiles.
    slope
        The score gained by a standard deviation, (free features,).
    smooth, differs
        Whether the cell moves along a scale; whether, if not, taking the other's state is a change at all.
    switch_price, switch_gap, switch_gain
        What taking the other's state costs, the squared distance left without it, and the score it gains.
    room
        The squared radius left after what cannot change, (pairs,).
    base
        The surrogate's score of the person, (pairs,).
    """

    region: Region
    reference: Reference
    objective: Objective
    people: np.ndarray
    centres: np.ndarray
    grafts: np.ndarray
    own: np.ndarray
    goal: np.ndarray
    price: np.ndarray
    slope: np.ndarray
    smooth: np.ndarray
    differs: np.ndarray
    switch_price: np.ndarray
    switch_gap: np.ndarray
    switch_gain: np.ndarray
    room: np.ndarray
    base: np.ndarray

    @classmethod
    def of(
        cls,
        objective: Objective,
        reference: Reference,
        surrogate: Surrogate,
        coordinates: Coordinates,
        people: np.ndarray,
        centres: np.ndarray,
        fixed: np.ndarray,
        radius: float,
    ) -> Balls:
        """The pairs of people and real people; `fixed` is the squared distance that the people cannot change."""
        region, space = objective.region, reference.space
        schema, free = region.schema, region.schema.free_columns
        factuals = region.factuals[people]
        grafts = factuals.copy()
        grafts[:, free] = reference.values[centres][:, free]
        grafts = region.final_form(grafts, people)
        before, after = space.transform(factuals), space.transform(grafts)
        movable = ~region.frozen[people][:, free]
        smooth = np.zeros((len(people), len(free)), dtype=bool)
        gap, gain = np.zeros(smooth.shape), np.zeros(smooth.shape)
        for k, j in enumerate(free):
            feature, places = schema.features[j], coordinates.of[j]
            if feature.ordered:
                smooth[:, k] = ordinary(feature, factuals[:, j]) & ordinary(feature, grafts[:, j])
            gap[:, k] = ((after[:, places] - before[:, places]) ** 2).sum(axis=1)
            gain[:, k] = (after[:, places] - before[:, places]) @ surrogate.slope[places]
        smooth &= movable
        first = coordinates.first[free]
        shifts = objective.shifts(grafts, people)
        own, goal = before[:, first], after[:, first]
        apart = np.abs(goal - own)
        near = _local_price(objective.percentiles, region, reference)[people]
        with np.errstate(divide="ignore", invalid="ignore"):
            price = np.where(apart > _STILL, shifts / np.where(apart > _STILL, apart, 1.0), near)
        return cls(
            region, reference, objective, people, centres, grafts, own, goal, price, surrogate.slope[first],
            smooth, ~unchanged(factuals[:, free], grafts[:, free]) & movable & ~smooth,
            shifts + objective.number, gap, gain, np.maximum(radius**2 - fixed, 0.0), before @ surrogate.slope,
        )  # fmt: skip

    def subset(self, chosen: np.ndarray) -> Balls:
        """Some of the pairs."""
        shared = {"region", "reference", "objective", "slope"}
        return Balls(
            **{name: value if name in shared else value[chosen] for name, value in self.__dict__.items()}  # the arrays
        )

    def cheapest(self, pull: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each pair the numbers, in standard deviations, and which states are taken over, at its ν."""
        drift = pull[:, None] * self.slope
        switch = self.switch_price - pull[:, None] * self.switch_gain
        low, high = np.full(len(pull), _LOOSEST), np.full(len(pull), _TIGHTEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            _, _, used = self._at(middle, drift, switch)
            inside = used <= room
            high, low = np.where(inside, middle, high), np.where(inside, low, middle)
        numbers, taken, _ = self._at(high, drift, switch)
        return numbers, taken

    def _at(
        self, logarithm: np.ndarray, drift: np.ndarray, switch: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        tightness = np.exp(logarithm)[:, None]
        pulled = self.goal + drift / (2 * tightness) - self.own
        numbers = self.own + np.sign(pulled) * np.maximum(np.abs(pulled) - self.price / (2 * tightness), 0.0)
        taken = self.differs & (switch < tightness * self.switch_gap)
        left = np.where(self.smooth, (numbers - self.goal) ** 2, np.where(self.differs & ~taken, self.switch_gap, 0.0))
        return numbers, taken, left.sum(axis=1)

    def promise(self, surrogate: Surrogate) -> np.ndarray:
        """What an answer in each ball would cost, by the line through the scores; more than all others where none is.

        Where the line sees no answer in a ball, the one that comes closest to it is the most promising.
        """
        cheapest = np.full(len(self.people), np.inf)
        best = np.full(len(self.people), -np.inf)
        for pull in _PULLS:
            numbers, taken = self.cheapest(np.full(len(self.people), pull), self.room)
            moved = np.where(self.smooth, np.abs(numbers - self.own), 0.0)
            shifts = moved * self.price + np.where(taken, self.switch_price, 0.0)
            cost = shifts.sum(axis=1) + self.objective.largest * shifts.max(axis=1, initial=0.0)
            cost += self.objective.number * (moved > _STILL).sum(axis=1)
            gained = np.where(self.smooth, (numbers - self.own) * self.slope, np.where(taken, self.switch_gain, 0.0))
            # among people who are alike, last bits must not decide
            score = np.round(self.base + gained.sum(axis=1) - surrogate.level, 9)
            cheapest = np.where((score >= 0) & (cost < cheapest), np.round(cost, 9), cheapest)
            best = np.maximum(best, score)
        return np.where(np.isfinite(cheapest), cheapest, 1e3 - best)

    def rows(self, numbers: np.ndarray, taken: np.ndarray) -> np.ndarray:
        """The points as rows in final form."""
        space, free = self.reference.space, self.region.schema.free_columns
        result = self.region.factuals[self.people].copy()
        place = {int(column): i for i, column in enumerate(space.scaled)}
        for k, j in enumerate(free):
            if int(j) in place:
                i = place[int(j)]
                moved = self.smooth[:, k] & (np.abs(numbers[:, k] - self.own[:, k]) > _STILL)
                result[moved, j] = numbers[moved, k] * space.scale[i] + space.mean[i]
            result[taken[:, k], j] = self.grafts[taken[:, k], j]
        return self.region.final_form(result, self.people)


def _local_price(percentiles: Percentiles, region: Region, reference: Reference) -> np.ndarray:
    """What a standard deviation costs each person near their own value, (people, free features)."""
    space, free = reference.space, region.schema.free_columns
    result = np.zeros((len(region), len(free)))
    place = {int(column): i for i, column in enumerate(space.scaled)}
    for k, j in enumerate(free):
        if int(j) in place:
            half = space.scale[place[int(j)]] / 2
            cells = region.factuals[:, [j]]
            around = percentiles.interpolated(cells + half, [j]) - percentiles.interpolated(cells - half, [j])
            result[:, k] = np.nan_to_num(around[:, 0]) * region.cost[:, j]
    return result
