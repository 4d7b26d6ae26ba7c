"""Diverse coherent explanations (Russell 2019): the nearest record on the mixed polytope, then ones unlike it.

The mixed polytope of one row: each feature is a number or one of its states, never a mixture. Its points are choices of
actions, one for each feature; see `program` for how the nearest is found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attain.core.errors import ModelError
from attain.methods.base import Explainer
from attain.methods.recourse.actionable_recourse import exact_recourse
from attain.methods.recourse.actions import ActionGrid, Actions
from attain.methods.recourse.program import Choices, FlipSet, Item
from attain.models.goal import StructureError
from attain.models.scores import ACCEPTED, LinearScore, linear_score
from attain.population.population import DecidedPopulation, Population
from attain.schema import Schema
from attain.search.problem import Answers, Problem
from attain.tables import ordinary

_ROWS_AT_ONCE = 1_000
_NORMAL = 0.6745
"""The MAD of a normal distribution, in standard deviations."""


@dataclass(kw_only=True, eq=False, repr=False)
class Russell(Explainer):
    """The nearest record that flips a linear classifier's decision, and then ones that do so in other ways.

    Takes linear classifiers with two classes, recognised inside scikit-learn pipelines (`models.scores`); for
    others see `ActionableRecourse`, which fits local linear models. Numbers may become what they are in some training
    row, or the first or last value that the row may reach; any other cell is one of its states: a special code, a
    level, a missing cell. A mixed-integer program (HiGHS) finds the least distance: moves of numbers and ordered levels
    in units of their median absolute deviation, changes of state in the same units of their indicators, weighted by the
    feature's `cost`. For each further option every change of the last one is forbidden in turn, unless no answer would
    be left: a number may not move again, and a state is not taken again.

    Keeps by construction what `ActionableRecourse` keeps, rules and laws included. The figure `proven` is 1 where the
    distance is the least there is on the grid of training values, and 0 where the solver reached a limit.

    Departures from the publication: the score must exceed the boundary by the margin, numbers are on the grid (values
    are not rounded afterwards), an indicator's MAD, which is 0 for most, is replaced by 0.6745 standard deviations, and
    a level with an order is as far away as its position.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    budget
        The most rows the model is asked about for each row explained.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        Not used: the method is deterministic.

    References
    ----------
    C. Russell: Efficient Search for Diverse Coherent Explanations, FAT* 2019.
    """

    citation = "russell2019efficient"
    own_figures = ("distance", "proven")

    def prepare(self, population: Population) -> None:
        self.grid_ = ActionGrid(population.schema, population.values, "observed")
        self.prices_ = DeviationPrices(population.schema, population.values)

    def inspect(self, decided: DecidedPopulation) -> LinearScore:
        try:
            return linear_score(decided.goal, decided.population.values)
        except StructureError as error:
            raise ModelError(
                f"Russell takes {ACCEPTED}, but {error}; ActionableRecourse takes any classifier by local linear "
                "models, and so does GrowingSpheres without them"
            ) from error

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _ROWS_AT_ONCE

    def search(self, problem: Problem) -> Answers:
        actions = Actions(problem.region, self.grid_, self.prices_)
        answers = exact_recourse(problem, actions, problem.inspected, self._unlike)
        return replace(answers, figures={"distance": answers.figures["cost"], "proven": answers.figures["proven"]})

    def _unlike(self, flip_set: FlipSet) -> Iterator[Item]:
        """The cheapest item; then the one after each change of the last is forbidden in turn, unless none is left."""
        item, kept, seen = flip_set.cheapest(), [np.arange(n) for n in flip_set.program.sizes], set[tuple[int, ...]]()
        while item is not None and tuple(item.actions) not in seen:
            yield item
            seen.add(tuple(item.actions))
            for g, change in self._changes(flip_set.program.pairs(item.actions)):
                rest = [part[~change[part]] if h == g else part for h, part in enumerate(kept)]
                other = flip_set.cheapest(rest)
                if other is not None:
                    item, kept = other, rest

    def _changes(self, chosen: list[tuple[Choices, int]]) -> Iterator[tuple[int, np.ndarray]]:
        """For each change of an item, its group and the actions (A,) that make it: the same state, or any number."""
        for g, (group, a) in enumerate(chosen):
            for k in np.flatnonzero(group.moved[a]):
                feature, cells = self.population_.schema.features[group.columns[k]], group.cells[:, k]
                number = feature.numeric & ordinary(feature, cells)
                yield g, group.moved[:, k] & (number if number[a] else cells == cells[a])


class DeviationPrices:
    """Places in units of the MAD of a column's numbers or positions; switches by the MAD of the states' indicators.

    Where a MAD is 0, as it is for most indicators, it is replaced by 0.6745 standard deviations, the MAD of a normal
    distribution; where that is 0 too, by 1 for a column, and for an indicator as if one training row differed.
    """

    def __init__(self, schema: Schema, values: np.ndarray) -> None:
        self._features, self._n = schema.features, len(values)
        self._scale, self._middle = np.ones(len(schema)), np.zeros(len(schema))
        self._states: list[tuple[np.ndarray, np.ndarray]] = []
        for j, feature in enumerate(schema):
            known = values[ordinary(feature, values[:, j]), j]
            if feature.ordered and len(known):
                self._middle[j] = np.median(known)
                deviation = float(np.median(np.abs(known - self._middle[j])))
                self._scale[j] = deviation or _NORMAL * float(known.std()) or 1.0
            self._states.append(np.unique(values[:, j], return_counts=True))

    def places(self, j: int, cells: np.ndarray) -> np.ndarray:
        feature = self._features[j]
        on_scale = ordinary(feature, cells) if feature.ordered else np.zeros(len(cells), dtype=bool)
        return np.where(on_scale, cells / self._scale[j], math.nan)

    def switch(self, j: int, own: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Leaving a number is free; entering one is a move from the median."""
        entered = np.abs(cells - self._middle[j]) / self._scale[j]
        numbers = (self._features[j].numeric & ordinary(self._features[j], part) for part in (own, cells))
        left, reached = numbers
        return np.where(left, 0.0, self._indicator(j, own)) + np.where(reached, entered, self._indicator(j, cells))

    def _indicator(self, j: int, cells: np.ndarray) -> np.ndarray:
        """What it costs to enter or leave the states in these cells."""
        states, counts = self._states[j]
        at = np.minimum(np.searchsorted(states, cells), len(states) - 1)
        same = (states[at] == cells) | (np.isnan(states[at]) & np.isnan(cells))
        share = np.clip(np.where(same, counts[at], 0) / self._n, 1 / self._n, 1 - 1 / self._n)
        return np.asarray(1 / (_NORMAL * np.sqrt(share * (1 - share))))
