"""Scores of linear models and tree ensembles as functions of the matrix.

A search asks for many scores of few rows at a time, where a library spends most of its time on frames, checks and
threads. `compile_score` reads a linear model or a tree ensemble out of its library, through the pipeline before it, and
gives a function of the matrix with the same scores. It is used only if it decides like the model about every training
row, with scores that differ by less than half of the goal's margin. Only searches use it (`Goal.score_rows`): whatever
a result says was decided by the model itself (`Goal.confirm_rows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from scipy.special import expit, logit

from attain.core.errors import ModelError
from attain.engine.score import LinearSums, Score, Sums, SumScore
from attain.models.encoding import Preprocessing, states_of
from attain.models.goal import Goal, StructureError
from attain.models.scores import leading, leads_of, rows_to_compare, target_position
from attain.models.trees import unverified_ensemble

Link: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""From a model's sums to the score that a goal is judged by, (n, C) → (n,)."""
Judged: TypeAlias = Callable[[], tuple[np.ndarray, np.ndarray]]

_LIBRARIES: Final = ("lightgbm", "sklearn", "xgboost")
"""The libraries whose models are compiled; a class that was defined elsewhere may do anything."""
_METHODS: Final = ("predict", "predict_proba", "decision_function")
_LARGEST: Final = 1e12
"""Leads that may be the least to meet a goal are smaller than this."""


@dataclass(frozen=True, eq=False)
class CompiledScore:
    """A goal's score, computed without the model; NaN where the model itself has to be asked.

    Attributes
    ----------
    sums
        The sums of rows, (n, d) → (n, C).
    link
        From the sums to the score, (n, C) → (n,).
    score
        For searches: by how much rows meet the goal, on the scale of the sums.
    """

    sums: Sums
    link: Link
    score: Score

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return self.link(self.sums(rows))


def compile_score(goal: Goal, values: np.ndarray, judged: Judged) -> CompiledScore | None:
    """The score of the goal's model as a function of rows of the matrix, (n, d) → (n,); None where there is none.

    `values` are the training rows, and `judged()` which of them meet the goal, by the model itself, and their scores,
    (n,) each; it is called only where there is something to compare. The compiled score is NaN for rows that only the
    model can be asked about: those with an unseen level, or a missing cell in a column that has none.
    """
    if goal.margin == 0 or not goal.decisive or not _is_known(goal.model.model):
        return None
    try:
        compiled = _compiled(goal, values)
        met, score = judged()
    except ModelError:
        return None
    own = compiled(values)
    known = ~np.isnan(own)
    close = np.abs(own - score)[known] <= goal.margin / 2
    decided = (goal.meets(own), compiled.score.leads(values) >= 0)
    same = all(np.array_equal(some[known], met[known]) for some in decided)
    return compiled if known.any() and close.all() and same else None


def _is_known(model: Any) -> bool:
    """Whether the estimator that decides, and what it is wrapped in, are of known libraries, with their own methods."""
    wrapped = getattr(model, "best_estimator_", None)
    if wrapped is None and isinstance(getattr(model, "steps", None), list):
        wrapped = model.steps[-1][1]
    known = type(model).__module__.partition(".")[0] in _LIBRARIES and not any(name in vars(model) for name in _METHODS)
    return known and (wrapped is None or _is_known(wrapped))


def _compiled(goal: Goal, values: np.ndarray) -> CompiledScore:
    preprocessing = Preprocessing(goal.reader)
    return (_linear if hasattr(preprocessing.estimator, "coef_") else _trees)(goal, preprocessing, values)


def _linear(goal: Goal, preprocessing: Preprocessing, values: np.ndarray) -> CompiledScore:
    encoding = leads_of(goal, values)
    rows = rows_to_compare(goal.layout.schema, values)
    encoding.verify(preprocessing.inputs, rows, leading(goal, preprocessing.estimator))
    terms = np.concatenate([encoding.terms(j) for j in range(len(encoding.schema))])
    sums = LinearSums(states_of(goal.layout), encoding.constant, encoding.slopes, terms)
    return _linked(goal, sums, _link(goal))


def _trees(goal: Goal, preprocessing: Preprocessing, values: np.ndarray) -> CompiledScore:
    trees, target = unverified_ensemble(goal, values), target_position(goal, preprocessing.estimator)
    if trees.votes and goal.probability is not None:
        return _linked(goal, trees.sums_of([target]), _least, trees.scale)
    if len(goal.classes) > 2:
        classes = list(range(len(goal.classes)))
        return _linked(goal, trees.sums_of(classes), _least if trees.votes else _link(goal), trees.scale, target)
    if trees.votes:
        return _linked(goal, trees.sums_of([target]), _lead_in_share, trees.scale)
    return _linked(goal, trees.sums_of([1]), _link(goal), trees.scale if target == 1 else -trees.scale)


def _linked(goal: Goal, sums: Sums, link: Link, scale: float = 1.0, target: int = -1) -> CompiledScore:
    """The score of sums: of the classes, the target among them, or of the target's leads where `target` is -1."""

    def score(own: np.ndarray) -> np.ndarray:
        leads = scale * own
        return link(leads if target < 0 else leads[:, [target]] - np.delete(leads, target, axis=1))

    if sums.width == 1:
        least, weight = _least_lead(goal, link), 0.0
    elif link is _least:
        least, weight = goal.margin, 0.0
    elif link is _probability:
        assert goal.probability is not None
        least, weight = float(logit(min(goal.probability + goal.margin, np.nextafter(1.0, 0.0)))), 1.0
    else:
        least, weight = float(np.log((1 + goal.margin) / (1 - goal.margin))), goal.margin / (1 + goal.margin)
    return CompiledScore(sums, score, SumScore(sums, scale, least, target, weight))


def _least_lead(goal: Goal, link: Link) -> float:
    """The least lead over the only other class that meets the goal, by bisection over the floats."""

    def met(lead: float) -> bool:
        with np.errstate(over="ignore"):
            return bool(goal.meets(link(np.array([[lead]])))[0])

    low, high = -_LARGEST, _LARGEST
    if met(low) or not met(high):
        raise StructureError("the goal is met by all scores, or by none")
    while np.nextafter(low, high) < high:
        middle = low / 2 + high / 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return high


def _link(goal: Goal) -> Link:
    """From the leads over the other classes, (n, K − 1), in scores or log-odds, to what the goal is judged by, (n,)."""
    if goal.scale == "lead in score":
        return _least
    return _lead_in_probability if goal.probability is None else _probability


def _least(leads: np.ndarray) -> np.ndarray:
    """The lead over the closest class; for a single column that column."""
    return np.asarray(leads.min(axis=1))


def _lead_in_share(shares: np.ndarray) -> np.ndarray:
    """The share of the target among votes less that of the only other class."""
    return np.asarray(shares[:, 0] - (1 - shares[:, 0]))


def _probability(leads: np.ndarray) -> np.ndarray:
    """The probability of the target: expit, or for several classes softmax."""
    if leads.shape[1] == 1:
        return np.asarray(expit(leads[:, 0]))
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.add.accumulate(np.exp(-leads), axis=1)[:, -1]))


def _lead_in_probability(leads: np.ndarray) -> np.ndarray:
    """The probability of the target less the largest other one."""
    probability = _probability(leads)
    if leads.shape[1] == 1:
        return np.asarray(probability - (1 - probability))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(probability - probability * np.exp(-leads.min(axis=1)))
