"""Compiled scores: a model's score of rows of the matrix, computed without the model.

A search asks for many scores of few rows at a time, where most of what a library takes is spent on frames, checks and
threads. `compile_score` reads a linear model or a tree ensemble out of its library, through the pipeline before it, and
gives a function of the matrix with the same scores. It is used only if it decides like the model about every training
row, with scores that differ by less than half of the goal's margin. Searches alone use it (`Goal.judge`): whatever a
result says was decided by the model itself (`Goal.decide`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from scipy.special import expit

from attain.core.compiled import kernels, load_for
from attain.core.errors import ModelError
from attain.models.structure.compiled_trees import KERNELS, TreeSum, compile_trees
from attain.models.structure.encoding import Encoding, Preprocessing
from attain.models.structure.linear import leading, leads_of, rows_to_compare, target_position
from attain.models.structure.states import UNKNOWN, States
from attain.models.structure.trees import unverified_ensemble

if TYPE_CHECKING:
    from attain.models.goal import CompiledScore, Goal

Judged: TypeAlias = Callable[[], tuple[np.ndarray, np.ndarray]]

_LIBRARIES: Final = ("lightgbm", "sklearn", "xgboost")
"""The libraries whose models are compiled; a class that was defined elsewhere may do anything."""
_ROWS_AS_ONE: Final = 300
"""To score so many rows by trees without kernels takes as long as to explain one."""
_METHODS: Final = ("predict", "predict_proba", "decision_function")


@dataclass(frozen=True, eq=False)
class LinkedSums:
    """A compiled score: sums of rows, (n, d) → (n,) or (n, C), and the link from them to the score, (n,)."""

    sums: CellSum | TreeSum | Callable[[np.ndarray], np.ndarray]
    link: Callable[[np.ndarray], np.ndarray]

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
    same = np.array_equal(goal.meets(own[known]), met[known])
    return compiled if known.any() and close.all() and same else None


def _is_known(model: Any) -> bool:
    """Whether the estimator that decides, and what it is wrapped in, are of known libraries, with their own methods."""
    wrapped = getattr(model, "best_estimator_", None)
    if wrapped is None and isinstance(getattr(model, "steps", None), list):
        wrapped = model.steps[-1][1]
    known = type(model).__module__.partition(".")[0] in _LIBRARIES and not any(name in vars(model) for name in _METHODS)
    return known and (wrapped is None or _is_known(wrapped))


@dataclass(frozen=True, eq=False)
class CellSum:
    """constant + Σ_j c_j(x_j), where c_j is x_j · slopes[j] for a number and a fixed term for a state.

    Attributes
    ----------
    states
        The states of the columns.
    constant, slopes, terms
        A number, (d,) and (S,). A term is NaN for a state that the model does not take.
    """

    states: States
    constant: float
    slopes: np.ndarray
    terms: np.ndarray

    @classmethod
    def columns_of(cls, encoding: Encoding) -> list[CellSum]:
        """The coordinates of an encoding."""
        states = States.of(encoding.schema)
        tables = [
            np.vstack((special if feature.numeric else levels, missing))
            for feature, levels, special, missing in zip(
                encoding.schema, encoding.levels, encoding.special, encoding.missing, strict=True
            )
        ]
        terms = np.concatenate(tables)
        return [
            cls(
                states,
                float(encoding.constant[k]),
                np.ascontiguousarray(encoding.slopes[:, k]),
                np.ascontiguousarray(terms[:, k]),
            )
            for k in range(encoding.width)
        ]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The sum of each row, (n,), column after column; NaN where a state is unknown or not taken."""
        compiled, states = kernels(KERNELS), self.states
        if compiled is not None:
            rows = np.ascontiguousarray(rows)
            found: np.ndarray = compiled.sums(
                rows, self.constant, self.slopes, self.terms, states.numeric, states.first, states.codes
            )
            return found
        terms = self.cells(rows)
        terms[:, 0] += self.constant
        return np.ascontiguousarray(np.add.accumulate(terms, axis=1)[:, -1])  # which adds in order, unlike sum

    def cells(self, rows: np.ndarray) -> np.ndarray:
        """The term of each cell, (n, d); NaN where a state is unknown or not taken."""
        state = self.states.of_cells(rows)
        terms = np.where(state >= 0, self.terms[state], rows * self.slopes)
        terms[state == UNKNOWN] = np.nan
        return terms


def _compiled(goal: Goal, values: np.ndarray) -> LinkedSums:
    preprocessing = Preprocessing(goal.reader)
    return (_linear if hasattr(preprocessing.estimator, "coef_") else _trees)(goal, preprocessing, values)


def _linear(goal: Goal, preprocessing: Preprocessing, values: np.ndarray) -> LinkedSums:
    encoding = leads_of(goal, values)
    rows = rows_to_compare(goal.layout.schema, values)
    encoding.verify(preprocessing.inputs, rows, leading(goal, preprocessing.estimator))
    leads = CellSum.columns_of(encoding)
    link = _link(goal)
    if len(leads) == 1:
        return LinkedSums(leads[0], lambda sums: link(sums[:, None]))
    return LinkedSums(lambda rows: np.column_stack([lead(rows) for lead in leads]), link)


def _trees(goal: Goal, preprocessing: Preprocessing, values: np.ndarray) -> LinkedSums:
    ensemble = unverified_ensemble(goal, values)
    nodes, target = ensemble.nodes, target_position(goal, preprocessing.estimator)
    sums = compile_trees(ensemble, values, target)
    load_for(len(values) // _ROWS_AS_ONE)
    if nodes.votes:
        return LinkedSums(sums, lambda sums: _of_shares(sums / len(nodes.roots), target, goal.probability is None))
    link = _link(goal)
    if len(goal.classes) == 2:
        sign = nodes.scale if target == 1 else -nodes.scale
        return LinkedSums(sums, lambda sums: link(sign * sums))

    def score(sums: np.ndarray) -> np.ndarray:
        own = nodes.scale * sums
        return link(own[:, [target]] - np.delete(own, target, axis=1))

    return LinkedSums(sums, score)


def _of_shares(shares: np.ndarray, target: int, lead: bool) -> np.ndarray:
    """The share of the target, or its lead, from the shares of all classes, (n, K), or of the target, (n, 1)."""
    if shares.shape[1] == 1:
        own, other = shares[:, 0], 1 - shares[:, 0]
    else:
        own, other = shares[:, target], np.delete(shares, target, axis=1).max(axis=1)
    return np.asarray(own - other if lead else own)


def _link(goal: Goal) -> Callable[[np.ndarray], np.ndarray]:
    """From the leads over the other classes, (n, K − 1), in scores or log-odds, to what the goal is judged by, (n,)."""
    if goal.scale == "lead in score":
        return lambda leads: np.asarray(leads.min(axis=1))
    return _lead_in_probability if goal.probability is None else _probability


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
