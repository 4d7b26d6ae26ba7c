"""Gradient descent in latent space, many rows at once: loss of the score plus λ times the distance, by Adam.

Adam is written out in NumPy: rows leave the batch one by one, and float64 keeps answers independent of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from attain.methods.latent import Latent
from attain.methods.relaxed import Relaxation
from attain.methods.search.climb import boundary
from attain.methods.search.draws import sphere, streams
from attain.methods.search.moves import Costs
from attain.methods.search.options import Pool, diverse
from attain.methods.search.problem import Answers, Problem
from attain.models.structure.smooth import Smooth
from attain.tables import ordinary

if TYPE_CHECKING:
    from attain.methods.revise.revise import REVISE

_MOMENTS = (0.9, 0.999)
_NEGLIGIBLE = 1e-8
_SPARE_OPTIONS = 4
_WEAKER = 10.0
"""λ is divided by this for rows without an answer."""
_PATIENCE, _BETTER = 25, 1e-3
"""A descent ends after this many steps without a nearer answer or an objective that is better by this share."""
_WIDER, _NARROWER = 1.5, 0.8
"""Factors on the width of the differences: where the score is flat, and where it is not."""
_LEAST, _FLAT = 1e-7, 1e-12
"""Probabilities below the first count as it, and scores that differ by less than the second as equal."""
_DECIMALS = 9
"""A model's last bits depend on how many rows it is asked about at once."""


class Loss:
    """log(1 + e^−t), with t the distance of a score beyond the boundary in standard deviations of training scores.

    `ends` are the least and largest value of a score that is a probability, or a lead in probability: it is transformed
    to log-odds, which do not level off far from the boundary.
    """

    def __init__(self, score: np.ndarray, met: np.ndarray, ends: tuple[float, float] | None = None) -> None:
        self._ends = ends
        scaled = self._scaled(score)
        deviation = float(scaled.std())
        self.boundary = boundary(scaled, met)
        self.spread = deviation if deviation > _FLAT else 1.0

    def of(self, score: np.ndarray) -> np.ndarray:
        return np.asarray(np.logaddexp(0.0, -self._ahead(score)))

    def slope(self, score: np.ndarray) -> np.ndarray:
        """The derivative in a score that has no ends."""
        return np.asarray(-1.0 / (1.0 + np.exp(np.clip(self._ahead(score), -500.0, 500.0))) / self.spread)

    def _ahead(self, score: np.ndarray) -> np.ndarray:
        return np.asarray((self._scaled(score) - self.boundary) / self.spread)

    def _scaled(self, score: np.ndarray) -> np.ndarray:
        if self._ends is None:
            return score
        low, high = self._ends
        share = np.clip((score - low) / (high - low), _LEAST, 1 - _LEAST)
        return np.asarray(np.log(share / (1 - share)))


Objective = Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]
"""(codes (m, k), owners, λ) → the objective (m,) and its gradient (m, k); what flips the decision goes to the pool."""


class LatentDescent:
    """The search of one batch; `unit` is how far counts as 1 in each column, (d,)."""

    def __init__(self, settings: REVISE, problem: Problem, latent: Latent, unit: np.ndarray) -> None:
        self.settings = settings
        self.problem = problem
        self.latent = latent
        self.unit = unit
        self.costs = Costs(problem.region, unit)
        keep = 1 if problem.options == 1 else _SPARE_OPTIONS * problem.options
        self.pool = Pool(len(problem), len(problem.region.schema), keep)
        self.spent = np.zeros(len(problem), dtype=bool)
        self.generators = streams(problem.region.factuals, problem.seed)
        # a code outside the range of the training codes may stay, and come back
        self.low, self.high = np.minimum(latent.low, latent.codes), np.maximum(latent.high, latent.codes)
        self.width = np.full(len(problem), settings.width)
        self.widest = np.maximum((self.high - self.low).max(axis=1), settings.width)
        self.numeric = np.array([feature.numeric for feature in problem.region.schema])

    def answers(self) -> Answers:
        """The nearest hits met on the way, and how each search ended."""
        pool = self.pool
        status = self.problem.statuses(pool.owners, self.spent)
        chosen = diverse(pool.rows, pool.owners, pool.distances, self.problem.region, self.problem.options)
        rows, owners, distance = chosen
        return Answers(rows, owners, distance, status, {"distance": distance})

    def follow_slope(self, smooth: Smooth, loss: Loss) -> None:
        """Descends along the exact gradient, through the decoder's typical values; each step asks about one row."""
        decode_vjp = self.latent.decode_vjp
        assert decode_vjp is not None

        def objective(codes: np.ndarray, owners: np.ndarray, weight: float) -> tuple[np.ndarray, np.ndarray]:
            decoded = self.latent.decode(codes, owners)
            rows = self.problem.region.final_form(decoded, owners)
            self._ask(rows, owners)
            value, slope = self._slope(smooth, loss, decoded, rows, owners, weight)
            return value, decode_vjp(codes, owners, slope)

        self._descend(objective, questions=1)

    def follow_scores(self, loss: Loss) -> None:
        """Descends along ∇ ≈ k / (2 p h) Σᵢ (F(z + h uᵢ) − F(z − h uᵢ)) uᵢ, from p pairs of codes at directions uᵢ."""
        number = self.settings.pairs

        def objective(codes: np.ndarray, owners: np.ndarray, weight: float) -> tuple[np.ndarray, np.ndarray]:
            active = self.latent.active
            own = [self.generators[i] for i in owners]
            steps = np.zeros((len(owners), number, codes.shape[1]))
            steps[:, :, active] = sphere(own, number, int(active.sum()), 2)
            offsets = steps * self.width[owners, None, None]
            places = np.concatenate((np.zeros_like(steps[:, :1]), offsets, -offsets), axis=1) + codes[:, None, :]
            places = np.clip(places, self.low[owners, None], self.high[owners, None])
            whose = np.repeat(owners, 2 * number + 1)
            rows = self.problem.region.final_form(self.latent.decode(places.reshape(len(whose), -1), whose), whose)
            lost = loss.of(self._ask(rows, whose)).reshape(len(owners), -1)
            value = lost + weight * self.costs.of(rows, whose).reshape(lost.shape)
            rise = value[:, 1 : number + 1] - value[:, number + 1 :]
            flat = (lost == lost[:, :1]).all(axis=1)
            slope = (rise[:, :, None] * steps).sum(axis=1) * active.sum() / (2 * number * self.width[owners, None])
            factor = np.where(flat, _WIDER, _NARROWER)
            self.width[owners] = np.clip(self.width[owners] * factor, self.settings.width, self.widest[owners])
            return value[:, 0], np.asarray(slope)

        self._descend(objective, questions=2 * number + 1)

    def _descend(self, objective: Objective, questions: int) -> None:
        """Adam from the code of each row without an answer, for one λ after the other."""
        weight = self.settings.weight
        for _ in range(self.settings.rounds):
            waiting = np.flatnonzero(self.pool.size == 0)
            if not waiting.size:
                break
            self._adam(objective, waiting, weight, questions)
            weight /= _WEAKER

    def _adam(self, objective: Objective, owners: np.ndarray, weight: float, questions: int) -> None:
        latent, ledger = self.latent, self.problem.ledger
        codes = latent.codes[owners]
        low, high = self.low[owners], self.high[owners]
        first, second = np.zeros_like(codes), np.zeros_like(codes)
        least, since = np.full(len(owners), np.inf), np.zeros(len(owners), dtype=np.int64)
        active = np.arange(len(owners))
        for step in range(1, self.settings.iterations + 1):
            poor = ledger.left[owners[active]] < questions * self.problem.price + self.problem.last_price
            self.spent[owners[active[poor]]] = True
            active = active[~poor]
            if not active.size:
                break
            some = owners[active]
            nearest = self.pool.nearest[some]
            value, slope = objective(codes[active], some, weight)
            slope = np.where(latent.active, slope, 0.0)
            first[active] += (1 - _MOMENTS[0]) * (slope - first[active])
            second[active] += (1 - _MOMENTS[1]) * (slope**2 - second[active])
            mean, square = first[active] / (1 - _MOMENTS[0] ** step), second[active] / (1 - _MOMENTS[1] ** step)
            moved = codes[active] - self.settings.learning_rate * mean / (np.sqrt(square) + _NEGLIGIBLE)
            codes[active] = np.clip(moved, low[active], high[active])
            improved = (value < least[active] * (1 - _BETTER)) | (self.pool.nearest[some] < nearest)
            least[active] = np.minimum(least[active], value)
            since[active] = np.where(improved, 0, since[active] + 1)
            active = active[since[active] < _PATIENCE]

    def _ask(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The scores of rows in final form; those that are allowed and flip the decision go into the pool."""
        met, score, *_ = self.problem.judge(rows, owners)
        hits = np.flatnonzero(met)
        hits = hits[self.problem.region.admits(rows[hits], owners[hits])]
        self.pool.add(rows[hits], owners[hits], self.costs.of(rows[hits], owners[hits]))
        return np.round(score, _DECIMALS)

    def _slope(
        self,
        smooth: Smooth,
        loss: Loss,
        decoded: np.ndarray,
        rows: np.ndarray,
        owners: np.ndarray,
        weight: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The objective, and its gradient in the decoded cells, (n, d).

        Numbers are taken as decoded, within their limits; all other cells, which have no slope, in final form.
        """
        region, costs = self.problem.region, self.costs
        slides = costs.slides[owners] & self.numeric & ~np.isnan(decoded) & ~np.isnan(rows)
        for j, feature in enumerate(region.schema):
            if feature.special:
                slides[:, j] &= ordinary(feature, decoded[:, j]) & ordinary(feature, rows[:, j])
        low, high = region.low[owners], region.high[owners]
        base = region.start.copy()
        base[owners] = np.where(slides, np.clip(decoded, low, high), rows)
        score, gradient = Relaxation(smooth, region, base, self.unit).slope(np.zeros(rows.shape), owners)
        moved = np.sign(base[owners] - region.start[owners])
        price = np.where(moved > 0, costs.rise[owners], np.where(moved < 0, -costs.fall[owners], 0.0))
        whole = (loss.slope(score)[:, None] * gradient + weight * price) / self.unit
        value = loss.of(score) + weight * costs.of(base[owners], owners)
        return value, np.where(slides & (decoded >= low) & (decoded <= high), whole, 0.0)
