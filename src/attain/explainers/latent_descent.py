"""Gradient descent in latent space, many people at once: loss of the score plus λ times the distance, by Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attain.explainers.options import diverse
from attain.explainers.problem import Answers, Problem
from attain.explainers.relaxation import Relaxation
from attain.models.smooth import Smooth
from attain.percentiles import ordinary
from attain.search.costs import Costs
from attain.search.pool import Pool
from attain.search.shells import Latent
from attain.search.sphere import sphere
from attain.search.streams import streams
from attain.status import Status

if TYPE_CHECKING:
    from attain.explainers.latent import Pull
    from attain.explainers.revise import Revise

_MOMENTS = (0.9, 0.999)
_NEGLIGIBLE = 1e-8
_SPARE_OPTIONS = 4
_WEAKER = 10.0
"""λ is divided by this for people without an answer."""
_PATIENCE = 20
"""A person with an answer stops after so many steps without a nearer one."""
_WIDER, _NARROWER, _WIDEST = 1.5, 0.8, 3.0
"""Differences are taken wider where a score is flat, up to so many prior deviations, and narrower again where not."""
_DECIMALS = 9
"""A model's last bits depend on how many rows it is asked about at once."""


class Loss(NamedTuple):
    """log(1 + e^−t) with t how far a score lies beyond the boundary, in standard deviations of people's scores."""

    boundary: float
    spread: float

    def of(self, score: np.ndarray) -> np.ndarray:
        return np.asarray(np.logaddexp(0.0, -(score - self.boundary) / self.spread))

    def slope(self, score: np.ndarray) -> np.ndarray:
        """The derivative in the score."""
        ahead = np.clip((score - self.boundary) / self.spread, -500.0, 500.0)
        return np.asarray(-1.0 / (1.0 + np.exp(ahead)) / self.spread)


Gradient = Callable[[np.ndarray, np.ndarray, float], np.ndarray]
"""(codes, whose each is, λ) → the gradient of the objective in the codes; what turns the decision goes to the pool."""


class LatentDescent:
    """The search of one batch of people; `unit` is how far counts as 1 in each column."""

    def __init__(self, settings: Revise, problem: Problem, latent: Latent, pull: Pull, unit: np.ndarray) -> None:
        self.settings = settings
        self.problem = problem
        self.latent = latent
        self.pull = pull
        self.unit = unit
        self.costs = Costs(problem.region, unit)
        keep = 1 if problem.options == 1 else _SPARE_OPTIONS * problem.options
        self.pool = Pool(problem.people, len(problem.region.schema), keep)
        self.spent = np.zeros(problem.people, dtype=bool)
        self.generators = streams(problem.region.factuals, problem.seed)
        self.width = np.full(problem.people, settings.width)

    def answers(self) -> Answers:
        """The nearest hits met on the way, and how each search ended."""
        pool = self.pool
        status = [
            Status.FOUND if size else Status.BUDGET_SPENT if out else Status.OUT_OF_REACH
            for size, out in zip(pool.size, self.spent, strict=True)
        ]
        chosen = diverse(pool.rows, pool.owners, pool.distances, self.problem.region, self.problem.options)
        rows, owners, distance = chosen
        return Answers(rows, owners, distance, status, {"distance": distance})

    def follow_slope(self, smooth: Smooth, loss: Loss) -> None:
        """Descends along the exact gradient, through the decoder's typical values; each step asks about one row."""

        def gradient(codes: np.ndarray, people: np.ndarray, weight: float) -> np.ndarray:
            decoded = self.latent.decode(codes, people)
            rows = self.problem.region.final_form(decoded, people)
            self._ask(rows, people)
            return self.pull(codes, people, self._slope(smooth, loss, decoded, rows, people, weight))

        self._descend(gradient, questions=1)

    def follow_scores(self, loss: Loss) -> None:
        """Descends along a gradient estimated from scores at pairs of codes on opposite sides of the person's."""
        number = self.settings.pairs

        def gradient(codes: np.ndarray, people: np.ndarray, weight: float) -> np.ndarray:
            active = self.latent.active
            own = [self.generators[i] for i in people]
            steps = np.zeros((len(people), number, codes.shape[1]))
            steps[:, :, active] = sphere(own, number, int(active.sum()), 2)
            offsets = steps * self.width[people, None, None]
            places = np.concatenate((np.zeros_like(steps[:, :1]), offsets, -offsets), axis=1) + codes[:, None, :]
            owners = np.repeat(people, 2 * number + 1)
            rows = self.problem.region.final_form(self.latent.decode(places.reshape(len(owners), -1), owners), owners)
            lost = loss.of(self._ask(rows, owners)).reshape(len(people), -1)
            value = lost + weight * self.costs.of(rows, owners).reshape(lost.shape)
            rise = value[:, 1 : number + 1] - value[:, number + 1 :]
            flat = (lost == lost[:, :1]).all(axis=1)
            slope = (rise[:, :, None] * steps).sum(axis=1) * active.sum() / (2 * number * self.width[people, None])
            factor = np.where(flat, _WIDER, _NARROWER)
            self.width[people] = np.clip(self.width[people] * factor, self.settings.width, _WIDEST)
            return np.asarray(slope)

        self._descend(gradient, questions=2 * number + 1)

    def _descend(self, gradient: Gradient, questions: int) -> None:
        """Adam from the code of each person without an answer, for one λ after the other."""
        weight = self.settings.weight
        for _ in range(self.settings.rounds):
            waiting = np.flatnonzero(self.pool.size == 0)
            if not waiting.size:
                break
            self._adam(gradient, waiting, weight, questions)
            weight /= _WEAKER

    def _adam(self, gradient: Gradient, people: np.ndarray, weight: float, questions: int) -> None:
        latent, ledger = self.latent, self.problem.ledger
        codes = latent.codes[people]
        # a code outside the range of the training people's may stay, and come back
        low, high = np.minimum(latent.low, codes), np.maximum(latent.high, codes)
        first, second = np.zeros_like(codes), np.zeros_like(codes)
        since = np.zeros(len(people), dtype=np.int64)
        active = np.arange(len(people))
        for step in range(1, self.settings.iterations + 1):
            poor = ledger.spent[people[active]] + questions + self.problem.options > ledger.budget
            self.spent[people[active[poor]]] = True
            active = active[~poor]
            if not active.size:
                break
            some = people[active]
            before = self.pool.nearest[some]
            slope = np.where(latent.active, gradient(codes[active], some, weight), 0.0)
            first[active] += (1 - _MOMENTS[0]) * (slope - first[active])
            second[active] += (1 - _MOMENTS[1]) * (slope**2 - second[active])
            mean, square = first[active] / (1 - _MOMENTS[0] ** step), second[active] / (1 - _MOMENTS[1] ** step)
            moved = codes[active] - self.settings.learning_rate * mean / (np.sqrt(square) + _NEGLIGIBLE)
            codes[active] = np.clip(moved, low[active], high[active])
            since[active] = np.where(self.pool.nearest[some] < before, 0, since[active] + 1)
            active = active[(self.pool.size[some] == 0) | (since[active] < _PATIENCE)]

    def _ask(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """The scores of rows in final form; those that are allowed and turn the decision go into the pool."""
        met, score = self.problem.ask(rows, owners)
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
        people: np.ndarray,
        weight: float,
    ) -> np.ndarray:
        """The gradient of the objective in the decoded cells, (n, d).

        Numbers are taken as decoded, within their limits; all other cells, which have no slope, in final form.
        """
        region, costs = self.problem.region, self.costs
        slides = costs.slides[people] & ~np.isnan(decoded)
        for j, feature in enumerate(region.schema):
            slides[:, j] &= feature.numeric & ordinary(feature, decoded[:, j]) & ordinary(feature, rows[:, j])
        low, high = region.low[people], region.high[people]
        base = region.factuals.copy()
        base[people] = np.where(slides, np.clip(decoded, low, high), rows)
        score, gradient = Relaxation(smooth, region, base, self.unit).slope(np.zeros(rows.shape), people)
        moved = np.sign(base[people] - region.factuals[people])
        price = np.where(moved > 0, costs.rise[people], np.where(moved < 0, -costs.fall[people], 0.0))
        whole = (loss.slope(score)[:, None] * gradient + weight * price) / self.unit
        return np.where(slides & (decoded >= low) & (decoded <= high), whole, 0.0)
