"""REVISE (Joshi et al. 2019): gradient search in the latent space of an autoencoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attain.core.errors import AttainError
from attain.methods.base import choice, integer, number
from attain.methods.latent import AutoencoderChoice, Latent, LatentExplainer
from attain.models import Goal
from attain.models.scores import Smooth, smooth_if_possible
from attain.population.population import DecidedPopulation
from attain.search.climb import Probe, boundary
from attain.search.moves import Costs, sphere, streams, units
from attain.search.pool import Pool, diverse
from attain.search.problem import Answers, Problem
from attain.search.relaxed import Relaxation
from attain.tables import ordinary

Method = Literal["auto", "gradient", "scores"]

_ROWS_AT_ONCE = 2_000
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


@dataclass(kw_only=True, eq=False, repr=False)
class REVISE(LatentExplainer):
    """The record that minimises loss(f(g(z)), y′) + λ ‖x − g(z)‖₁ over codes z, g being an autoencoder's decoder.

    Takes any classifier. Where the slope of its score is known (linear models and Gaussian or linear support vector
    machines, also in scikit-learn pipelines whose steps scale, fill in or encode single columns; torch modules; JAX
    functions), the gradient is exact, through the decoder's typical values; levels and special codes change with the
    code but have no slope. Else, and for rows that stay without an answer, the gradient is estimated from scores at
    pairs of codes on opposite sides. Adam descends from each row's code, all rows at once. Every record on the way is
    put into final form and asked about; the nearest that flips the decision is the answer.

    The loss is logistic, in standard deviations of the training rows' scores beyond the boundary (probabilities are
    put on the scale of log-odds). Distances are shares of each feature's range in the training data, weighted by the
    feature's `cost`; another level, special code or filled cell counts 1.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, missing cells, derived
    columns, `max_changes`. Rules between features: by repair where that is easy, else by rejection.

    Departures from the publication: the decoder is conditional on the immutable features, so that they stay as they are
    while the rest fits them; codes stay within the range of the training codes; the search goes on after the first
    answer as long as nearer ones come; rows without an answer are tried again with a smaller λ; the row itself is
    never an answer.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    autoencoder
        Any autoencoder that passes `attain.testing.check_autoencoder`, fitted or not; `"chvae"` is a `CHVAE` with
        default parameters. It is cloned and fitted with the schema, unless it is fitted already.
    method
        `auto`: the exact gradient where there is one, then the estimate. `gradient`: nothing else, and a model without
        one is refused. `scores`: always the estimate.
    weight
        λ, the weight of the distance.
    rounds
        How many λ are tried, each a tenth of the one before, for rows without an answer.
    iterations, learning_rate
        Of Adam, for each λ.
    pairs, width
        Of the estimate: pairs of codes per step, and their first distance from the current code, in latent units. It
        grows where the score is flat.
    budget
        The most rows the model is asked about for each row explained. The exact gradient itself does not ask it.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        The seed of training and of the pairs. Each row has its own stream of random numbers.

    References
    ----------
    S. Joshi, O. Koyejo, W. Vijitbenjaronk, B. Kim, J. Ghosh: Towards Realistic Individual Recourse and Actionable
    Explanations in Black-Box Decision Making Systems, 2019.
    """

    needs_rows = True

    citation = "joshi2019towards"
    own_figures = ("distance",)

    autoencoder: AutoencoderChoice = "chvae"
    method: Method = choice("auto", Method)
    weight: float = number(0.5, least=0)
    rounds: int = integer(3, least=1)
    iterations: int = integer(100, least=1)
    learning_rate: float = number(0.1, above=0)
    pairs: int = integer(8, least=1)
    width: float = number(0.2, above=0)

    def inspect(self, decided: DecidedPopulation) -> tuple[Smooth | None, Loss | None, Loss]:
        """The score as a smooth function, if it is one, its loss, and the loss of the model's own score."""
        differentiable, smooth, population = hasattr(self.autoencoder_, "decode_vjp"), None, decided.population
        if self.method == "gradient" and not differentiable:
            raise AttainError(
                f"method='gradient' needs the gradient of the decoder, and {type(self.autoencoder_).__name__} has no "
                "decode_vjp; use method='scores' or 'auto'"
            )
        if differentiable:
            smooth = smooth_if_possible(decided.goal, population.schema, population.values, self.method, "scores")
        rows, met, score = Probe.of(population.values, decided.judged)
        smooth_loss = None if smooth is None else Loss(smooth.score(rows), met)
        return smooth, smooth_loss, Loss(score, met, _ends(decided.goal, score))

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _ROWS_AT_ONCE

    def search(self, problem: Problem) -> Answers:
        unit = units(self.population_.schema, self.population_.observed)
        descent = LatentDescent(self, problem, self._latent(problem.region), unit)
        smooth, smooth_loss, loss = problem.inspected
        if smooth is not None:
            descent.follow_slope(smooth, smooth_loss)
        if self.method != "gradient":
            descent.follow_scores(loss)
        return descent.answers()


def _ends(goal: Goal, score: np.ndarray) -> tuple[float, float] | None:
    """The range of a probability, or of a lead in probability; None for other scores."""
    if goal.probability is not None:
        return 0.0, 1.0
    return (-1.0, 1.0) if np.abs(score).max() <= 1 else None


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
    """Gradient descent in latent space, many rows at once: loss of the score plus λ times the distance, by Adam.

    Adam is written out in NumPy: rows leave the batch one by one, and float64 keeps answers independent of it. `unit`
    is how far counts as 1 in each column, (d,).
    """

    def __init__(self, settings: REVISE, problem: Problem, latent: Latent, unit: np.ndarray) -> None:
        self.settings, self.problem, self.latent = settings, problem, latent
        self.unit, self.costs = unit, Costs(problem.region, unit)
        keep = 1 if problem.options == 1 else _SPARE_OPTIONS * problem.options
        self.pool = Pool(len(problem), len(problem.region.schema), keep)
        self.spent = np.zeros(len(problem), dtype=bool)
        self.generators = streams(problem.region.factuals, problem.seed)
        # a code outside the range of the training codes may stay, and come back
        self.low, self.high = np.minimum(latent.low, latent.codes), np.maximum(latent.high, latent.codes)
        self.width = np.full(len(problem), settings.width)
        self.widest = np.maximum((self.high - self.low).max(axis=1), settings.width)

    def answers(self) -> Answers:
        """The nearest hits met on the way, and how each search ended."""
        pool = self.pool
        status = self.problem.statuses(pool.owners, self.spent)
        options = diverse(pool.rows, pool.owners, pool.distances, self.problem.region, self.problem.options)
        return Answers(*options, status, {"distance": options[2]})

    def follow_slope(self, smooth: Smooth, loss: Loss) -> None:
        """Descends along the exact gradient, through the decoder's typical values; each step asks about one row."""
        decode_vjp = self.latent.decode_vjp
        assert decode_vjp is not None

        def objective(codes: np.ndarray, owners: np.ndarray, weight: float) -> tuple[np.ndarray, np.ndarray]:
            decoded = self.latent.decode(codes, owners)
            rows = self._ask(decoded, owners)[0]
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
            rows, score = self._ask(self.latent.decode(places.reshape(len(whose), -1), whose), whose)
            lost = loss.of(score).reshape(len(owners), -1)
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
            self._adam(objective, np.flatnonzero(self.pool.size == 0), weight, questions)
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
            whose = owners[active]
            nearest = self.pool.nearest[whose]
            value, slope = objective(codes[active], whose, weight)
            slope = np.where(latent.active, slope, 0.0)
            first[active] += (1 - _MOMENTS[0]) * (slope - first[active])
            second[active] += (1 - _MOMENTS[1]) * (slope**2 - second[active])
            mean, square = first[active] / (1 - _MOMENTS[0] ** step), second[active] / (1 - _MOMENTS[1] ** step)
            moved = codes[active] - self.settings.learning_rate * mean / (np.sqrt(square) + _NEGLIGIBLE)
            codes[active] = np.clip(moved, low[active], high[active])
            improved = (value < least[active] * (1 - _BETTER)) | (self.pool.nearest[whose] < nearest)
            least[active] = np.minimum(least[active], value)
            since[active] = np.where(improved, 0, since[active] + 1)
            active = active[since[active] < _PATIENCE]

    def _ask(self, decoded: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Decoded rows in final form, and their scores; those that flip the decision go into the pool."""
        tried = self.problem.ask(decoded, owners, scored=True)
        rows, hits, score = tried.rows, tried.hits, np.full(len(decoded), self.problem.goal.lowest)
        self.pool.add(rows[hits], owners[hits], self.costs.of(rows[hits], owners[hits]))
        score[tried.asked] = np.round(tried.score, _DECIMALS)
        return rows, score

    def _slope(
        self, smooth: Smooth, loss: Loss, decoded: np.ndarray, rows: np.ndarray, owners: np.ndarray, weight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The objective, and its gradient in the decoded cells, (n, d).

        Numbers are taken as decoded, within their limits; all other cells, which have no slope, in final form.
        """
        region, costs = self.problem.region, self.costs
        slides = costs.slides[owners]
        for j, feature in enumerate(region.schema):
            slides[:, j] &= feature.numeric & ordinary(feature, decoded[:, j]) & ordinary(feature, rows[:, j])
        low, high = region.low[owners], region.high[owners]
        base = region.start.copy()
        base[owners] = np.where(slides, np.clip(decoded, low, high), rows)
        score, gradient = Relaxation(smooth, region, base, self.unit).slope(np.zeros(rows.shape), owners)
        moved = np.sign(base[owners] - region.start[owners])
        price = np.where(moved > 0, costs.rise[owners], np.where(moved < 0, -costs.fall[owners], 0.0))
        whole = (loss.slope(score)[:, None] * gradient + weight * price) / self.unit
        value = loss.of(score) + weight * costs.of(base[owners], owners)
        return value, np.where(slides & (decoded >= low) & (decoded <= high), whole, 0.0)
