"""REVISE (Joshi et al. 2019): gradient search in the latent space of an autoencoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attain.core.errors import AttainError
from attain.methods.base import choice, integer, number
from attain.methods.latent import AutoencoderChoice, LatentExplainer
from attain.methods.revise.latent_descent import LatentDescent, Loss
from attain.methods.search.climb import Probe
from attain.methods.search.moves import units
from attain.methods.search.problem import Answers, Problem
from attain.methods.session import Session
from attain.models import Goal
from attain.models.structure.smooth import Smooth, smooth_if_possible

Method = Literal["auto", "gradient", "scores"]

_ROWS_AT_ONCE = 2_000


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

    def _inspect(self, session: Session) -> tuple[Smooth | None, Loss | None, Loss]:
        """The score as a smooth function, if it is one, its loss, and the loss of the model's own score."""
        if self.method == "gradient" and not hasattr(self.autoencoder_, "decode_vjp"):
            raise AttainError(
                f"method='gradient' needs the gradient of the decoder, and {type(self.autoencoder_).__name__} has no "
                "decode_vjp; use method='scores' or 'auto'"
            )
        smooth = None
        if hasattr(self.autoencoder_, "decode_vjp"):
            smooth = smooth_if_possible(session.goal, self.schema_, self.table_.values, self.method, "scores")
        rows, met, score = Probe.of(self.table_.values, session.judged)
        return (
            smooth,
            None if smooth is None else Loss(smooth.score(rows), met),
            Loss(score, met, _ends(session.goal, score)),
        )

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _ROWS_AT_ONCE

    def _search(self, problem: Problem) -> Answers:
        unit = units(self.schema_, self.observed_)
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
