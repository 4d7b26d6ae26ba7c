"""The cheapest point of a ball around a real row that flips the decision, feature by feature.

A candidate is close to a real row c if it lies in a ball of radius ρ around it. On the linear surrogate g of the score,
the cheapest such point for a row x minimises

    Σ_j [ p_j |z_j − x_j|  +  μ (z_j − c_j)²  −  ν g_j z_j ],

with p_j the cost of a standard deviation, μ ≥ 0 the multiplier of the ball and ν ≥ 0 the weight of the score. Each
feature is minimised by itself:

- a number moves by the soft threshold  z_j = x_j + S(c_j + ν g_j / 2μ − x_j, p_j / 2μ)  with
  S(a, b) = sgn(a) max(|a| − b, 0): it stays unless the real row's value or the score outweighs the cost of moving;
- a level or another state is taken over from the real row if that is worth it:  price − ν gain < μ gap.

μ is found by bisection: the smallest for which the point lies in the ball, Σ_j (z_j − c_j)² ≤ ρ² − (what cannot
change). ν is found by asking the model: the smallest that flips the decision (`starts`).

Arrays are (P, f): P pairs of a row and a real row, f free features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from attain.core.compiled import kernels
from attain.methods.guarded.objective import Objective
from attain.methods.guarded.settings import GuardedSettings
from attain.methods.guarded.surrogate import Surrogate
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace, gap
from attain.tables import ordinary, unchanged

_KERNELS = "attain.methods.guarded.ball_kernels"
_STILL = 1e-9
"""Moves smaller than this, in standard deviations, are none."""


@dataclass(frozen=True)
class Numbers:
    """Cells that move along a scale, in standard deviations, (P, f).

    Attributes
    ----------
    moves
        Which cells these are.
    own, centre
        The row's value x_j, and the real row's c_j.
    price
        The cost p_j of a standard deviation.
    """

    moves: np.ndarray
    own: np.ndarray
    centre: np.ndarray
    price: np.ndarray

    def take(self, chosen: np.ndarray) -> Numbers:
        return Numbers(self.moves[chosen], self.own[chosen], self.centre[chosen], self.price[chosen])


@dataclass(frozen=True)
class States:
    """Cells that are switched to the real row's state as a whole, (P, f).

    Attributes
    ----------
    differs
        Which cells these are, and are not equal already.
    price, gap, gain
        What the switch costs, the squared distance that is left without it, and the score it gains.
    """

    differs: np.ndarray
    price: np.ndarray
    gap: np.ndarray
    gain: np.ndarray

    def take(self, chosen: np.ndarray) -> States:
        return States(self.differs[chosen], self.price[chosen], self.gap[chosen], self.gain[chosen])


@dataclass(frozen=True)
class BallSubproblems:
    """P pairs of a row of the batch and a real row.

    Attributes
    ----------
    owners
        The row of each pair, (P,).
    transplants
        The rows with all that may change taken from the real row, in final form, (P, d).
    slope
        The score gained by a standard deviation of each number, (f,).
    slack_sq
        The squared radius that is left after what cannot change, (P,).
    score
        The surrogate's score of the row, (P,).
    """

    objective: Objective
    space: MeasuringSpace
    settings: GuardedSettings
    owners: np.ndarray
    transplants: np.ndarray
    numbers: Numbers
    states: States
    slope: np.ndarray
    slack_sq: np.ndarray
    score: np.ndarray

    @classmethod
    def of(
        cls,
        objective: Objective,
        reference: Reference,
        surrogate: Surrogate,
        owners: np.ndarray,
        centres: np.ndarray,
        fixed_sq: np.ndarray,
        radius: float,
        settings: GuardedSettings,
    ) -> BallSubproblems:
        """The pairs of rows and real rows; `fixed_sq` (P,) is the squared distance that cannot change."""
        region, space = objective.region, reference.space
        schema, free = region.schema, region.schema.free_columns
        factuals = region.factuals[owners]
        transplants = factuals.copy()
        transplants[:, free] = reference.values[centres][:, free]
        transplants = region.final_form(transplants, owners)
        before, after = space.points(factuals), space.points(transplants)
        movable = ~region.frozen[owners][:, free]
        moves = np.zeros((len(owners), len(free)), dtype=bool)
        number = np.full(len(free), -1)  # the cell of a number; of other features any, because they do not move
        gaps, gains = np.zeros(moves.shape), np.zeros(moves.shape)
        for k, j in enumerate(free):
            if schema.features[j].ordered:
                moves[:, k] = ordinary(schema.features[j], factuals[:, j])
                moves[:, k] &= ordinary(schema.features[j], transplants[:, j])
            for cell in np.flatnonzero(space.columns == j)[::-1]:  # a number before its state
                state = bool(cell < len(space.stated))
                number[k] = number[k] if state else cell
                gaps[:, k] += gap(before[:, cell], after[:, cell], state)
                gains[:, k] += surrogate.gained(before[:, cell], after[:, cell], cell)
        moves &= movable
        own, centre = before[:, number], after[:, number]
        shifts = objective.shifts(transplants, owners)
        apart = np.abs(centre - own)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean_price = shifts / np.where(apart > _STILL, apart, 1.0)
        price = np.where(apart > _STILL, mean_price, _local_price(objective, space)[owners])
        differs = ~unchanged(factuals[:, free], transplants[:, free]) & movable & ~moves
        return cls(
            objective,
            space,
            settings,
            owners,
            transplants,
            Numbers(moves, own, centre, price),
            States(differs, shifts + objective.change_weight, gaps, gains),
            surrogate.slopes[number],
            np.maximum(radius**2 - fixed_sq, 0.0),
            surrogate.score(before),
        )

    def __len__(self) -> int:
        return len(self.owners)

    def take(self, chosen: np.ndarray) -> BallSubproblems:
        """Some of the pairs."""
        return BallSubproblems(
            self.objective,
            self.space,
            self.settings,
            self.owners[chosen],
            self.transplants[chosen],
            self.numbers.take(chosen),
            self.states.take(chosen),
            self.slope,
            self.slack_sq[chosen],
            self.score[chosen],
        )

    def cheapest(self, score_weight: np.ndarray, slack_sq: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers z (P, f) and which states are switched (P, f), for each pair's ν (P,)."""
        compiled, multipliers = kernels(_KERNELS), self._multipliers
        if compiled is not None:
            numbers, switched = np.empty(self.numbers.own.shape), np.empty(self.numbers.own.shape, dtype=bool)
            compiled.cheapest(*self._arrays, multipliers, score_weight, slack_sq, numbers, switched)
            return numbers, switched
        pull = score_weight[:, None] * self.slope
        switch = self.states.price - score_weight[:, None] * self.states.gain
        low, high = np.zeros(len(self), dtype=np.intp), np.full(len(self), len(multipliers) - 1)
        for _ in range(self.settings.multiplier_halvings):
            middle = (low + high) // 2
            inside = self._minimum(multipliers[middle], pull, switch)[2] <= slack_sq
            high, low = np.where(inside, middle, high), np.where(inside, low, middle)
        numbers, switched, _ = self._minimum(multipliers[high], pull, switch)
        return numbers, switched

    def _minimum(
        self, multiplier: np.ndarray, pull: np.ndarray, switch: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The minimum for each pair's μ (P,): numbers, switched states, and the squared distance left (P,)."""
        numbers, states, half = self.numbers, self.states, (0.5 / multiplier)[:, None]
        move = numbers.centre + pull * half - numbers.own
        z = numbers.own + np.sign(move) * np.maximum(np.abs(move) - numbers.price * half, 0.0)
        switched = states.differs & (switch < multiplier[:, None] * states.gap)
        unswitched = np.where(states.differs & ~switched, states.gap, 0.0)
        return z, switched, _total(np.where(numbers.moves, (z - numbers.centre) ** 2, unswitched))

    def estimated_cost(self, threshold: float) -> np.ndarray:
        """The cost of an answer in each ball by the surrogate, (P,).

        Where the surrogate has no answer in a ball, the cost is larger than all others, and smaller the closer the
        score comes to the threshold.
        """
        cost, gained = self._probed(np.array(self.settings.probed_score_weights))
        # among rows that are alike, last bits must not decide
        score = np.round(self.score[:, None] + gained - threshold, 9)
        cheapest = np.where(score >= 0, np.round(cost, 9), np.inf).min(axis=1)
        return np.where(np.isfinite(cheapest), cheapest, 1e3 - score.max(axis=1))

    def _probed(self, score_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the cheapest points for each ν cost, by the surrogate, and the score they gain, (P, weights)."""
        numbers, states, objective = self.numbers, self.states, self.objective
        cost, gained = np.empty((2, len(self), len(score_weights)))
        weights = objective.max_shift_weight, objective.change_weight
        compiled = kernels(_KERNELS)
        if compiled is not None:
            compiled.probed(
                *self._arrays, self._multipliers, score_weights, self.slack_sq, *weights, _STILL, cost, gained
            )
            return cost, gained
        for i, score_weight in enumerate(score_weights):
            z, switched = self.cheapest(np.full(len(self), score_weight), self.slack_sq)
            moved = np.where(numbers.moves, np.abs(z - numbers.own), 0.0)
            shifts = moved * numbers.price + np.where(switched, states.price, 0.0)
            cost[:, i] = _total(shifts) + weights[0] * shifts.max(axis=1, initial=0.0)
            cost[:, i] += weights[1] * (moved > _STILL).sum(axis=1)
            gained[:, i] = _total(
                np.where(numbers.moves, (z - numbers.own) * self.slope, np.where(switched, states.gain, 0.0))
            )
        return cost, gained

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        """The pairs as kernels take them."""
        numbers, states = self.numbers, self.states
        pairs = (numbers.moves, numbers.own, numbers.centre, numbers.price)
        every = (*pairs, states.differs, states.price, states.gap, states.gain, self.slope)
        return tuple(map(np.ascontiguousarray, every))

    @property
    def _multipliers(self) -> np.ndarray:
        return _multipliers(*self.settings.log_multipliers, self.settings.multiplier_halvings)

    def rows(self, numbers: np.ndarray, switched: np.ndarray) -> np.ndarray:
        """The points as rows in final form, (P, d)."""
        region, space = self.objective.region, self.space
        free, rows = region.schema.free_columns, region.factuals[self.owners]
        scale, mean = np.full((2, len(region.schema)), np.nan)
        scale[space.scaled], mean[space.scaled] = space.scale, space.mean
        moved = self.numbers.moves & (np.abs(numbers - self.numbers.own) > _STILL)
        cells = np.where(moved, numbers * scale[free] + mean[free], rows[:, free])
        rows[:, free] = np.where(switched, self.transplants[:, free], cells)
        return region.final_form(rows, self.owners, self.transplants)


@lru_cache(maxsize=8)
def _multipliers(low: float, high: float, halvings: int) -> np.ndarray:
    """All μ that bisections of log μ may come to, (2^halvings + 1,)."""
    return np.exp(np.linspace(low, high, 2**halvings + 1))


def _total(terms: np.ndarray) -> np.ndarray:
    """The sum of each row (P,), one column after the other, as kernels do."""
    total = np.zeros(len(terms))
    for column in terms.T:
        total += column
    return total


def _local_price(objective: Objective, space: MeasuringSpace) -> np.ndarray:
    """The cost of a standard deviation near each row's own value, (rows, f); 0 for what is not a number."""
    region, free = objective.region, objective.region.schema.free_columns
    deviation = np.zeros(len(region.schema))
    deviation[space.scaled] = space.scale
    cells, half = region.factuals[:, free], deviation[free] / 2
    around = objective.percentiles.interpolated(cells + half, free)
    around -= objective.percentiles.interpolated(cells - half, free)
    price: np.ndarray = np.where(deviation[free] > 0, np.nan_to_num(around) * region.cost[:, free], 0.0)
    return price
