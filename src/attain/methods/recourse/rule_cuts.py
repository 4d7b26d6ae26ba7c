"""Rules as conditions on the actions of a row: stated where they are linear, and by cuts where they are not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from attain.methods.recourse.program import Choices, Program, Row, not_all
from attain.models.scores import LinearScore
from attain.schema import Rule, Schema
from attain.schema.formulas import Comparison, Formula, conjuncts
from attain.tables import Region, ordinary, unchanged

_SLACK: Final = 1e-9
"""Relative to the right-hand side of a linear rule: ≤ and ≥ are loosened, and < and > tightened by this much."""
_LIMITS: Final = -1
"""Stands for the limits of computed columns where else a rule's position stands."""


class LinearRule(NamedTuple):
    """low ≤ Σⱼ weights[j] · xⱼ ≤ high, over columns j."""

    weights: dict[int, float]
    low: float
    high: float


def linear_rules(rule: Rule, schema: Schema) -> list[LinearRule]:
    """The linear comparisons of a rule that is a comparison, or several joined by `and`; none of any other rule."""
    found = [_linear(part, schema) for part in conjuncts(rule.formula)]
    return [linear for linear in found if linear is not None]


def _linear(part: Formula, schema: Schema) -> LinearRule | None:
    if not isinstance(part, Comparison) or part.operator == "≠" or (form := part.linear()) is None:
        return None
    weights = {schema.position(name): form[0].get(name, 0.0) for name in part.names}
    if any(schema.features[j].computed is not None for j in weights):
        return None
    side = -form[1]
    slack = _SLACK * max(1.0, abs(side))
    if part.operator == "=":
        return LinearRule(weights, side - slack, side + slack)
    if part.operator in ("<=", "<"):
        return LinearRule(weights, -math.inf, side + (slack if part.operator == "<=" else -slack))
    return LinearRule(weights, side - (slack if part.operator == ">=" else -slack), math.inf)


def row_of(region: Region, i: int, choices: list[Choices], actions: list[int]) -> np.ndarray:
    """A choice of actions of row i as a row with its computed columns, (1, d)."""
    row = region.start[[i]]
    for group, a in zip(choices, actions, strict=True):
        row[:, group.columns] = group.cells[a]
    return region.derived(row, region.factuals[[i]])


class RuleCuts:
    """What rules out choices of row i: conditions by the rules that they break.

    A linear rule is stated as it is. Any other, and a linear one that the solver's tolerance lets a choice break, gives
    cuts: sets of actions of the features that it is about, of which not all may be chosen from at once. Choices that do
    not meet the goal by the `score` are ruled out too, without asking the model.
    """

    def __init__(self, region: Region, i: int, program: Program, score: LinearScore) -> None:
        self._region, self._i, self._choices, self._score = region, i, program.choices, score
        self._group = {int(j): g for g, group in enumerate(program.choices) for j in group.columns}
        self._stated: set[int] = set()

    def row(self, actions: list[int]) -> np.ndarray:
        """The choice as a row with its computed columns, (1, d)."""
        return row_of(self._region, self._i, self._choices, actions)

    def __call__(self, actions: list[int]) -> list[Row]:
        """Conditions by the rules that the choice breaks; none where it is allowed."""
        region, row, owner = self._region, self.row(actions), np.array([self._i])
        broken = np.flatnonzero(~region.tolerates(row, owner)[0]).tolist()
        if not broken:
            final, admitted = region.form_and_admit(row, owner)
            if admitted[0] and unchanged(final, row).all():
                # a score that is not known (a missing cell that no training row has) is left to the model
                return [self._only(actions)] if self._score.score(row)[0] < self._score.threshold else []
            if not region.violations(row, owner)["derived"][0]:
                return [self._only(actions)]
            broken = [_LIMITS]
        return [condition for k in broken for condition in self._linear(k) or self._cuts(actions, k)]

    def _linear(self, k: int) -> list[Row]:
        """Rule k as conditions, if it is linear, holds for the row, and was not among them before."""
        region = self._region
        if k in self._stated or k == _LIMITS or region.book.rules[k] not in region.binding(self._i):
            return []
        self._stated.add(k)
        parts = linear_rules(region.book.rules[k], region.schema)
        if any(not region.book.following.isdisjoint(part.weights) for part in parts):
            return []
        return [condition for part in parts for condition in self._linear_rows(part)]

    def _linear_rows(self, rule: LinearRule) -> Iterator[Row]:
        """A linear rule as conditions, one for each side; a missing or special cell lifts it."""
        sums, lifted, fixed, scale = dict[int, np.ndarray](), dict[int, np.ndarray](), 0.0, 1.0
        for j, weight in rule.weights.items():
            g = self._group.get(j)
            group = None if g is None else self._choices[g]
            cells = self._region.start[[self._i], j] if group is None else group.cells[:, group.columns == j][:, 0]
            known = ordinary(self._region.schema.features[j], cells)
            terms = weight * np.where(known, cells, 0.0)
            scale += float(np.abs(terms).max())
            if g is not None:
                sums[g] = sums.get(g, 0.0) + terms
                lifted[g] = lifted.get(g, False) | ~known
            elif known[0]:
                fixed += float(terms[0])
            else:
                return
        for side, sign in ((rule.high, 1.0), (rule.low, -1.0)):
            if math.isfinite(side):
                room = scale + abs(side)
                yield Row({g: sign * sums[g] / room - 2.0 * lifted[g] for g in sums}, sign * (side - fixed) / room)

    def _only(self, actions: list[int]) -> Row:
        """A cut that rules out this choice alone."""
        pairs = enumerate(zip(self._choices, actions, strict=True))
        return not_all({g: np.arange(len(group)) == a for g, (group, a) in pairs})

    def _cuts(self, actions: list[int], k: int) -> list[Row]:
        """For each group that rule k is about, a cut of its actions that break the rule with the others as chosen."""
        region = self._region
        names = () if k == _LIMITS else region.book.rules[k].names
        columns = {region.schema.position(name) for name in names} or {one.column for one in region.book.derivations}
        for one in reversed(region.book.derivations):
            columns |= set(one.inputs) if one.column in columns else set()
        chosen = {
            g: np.arange(len(self._choices[g])) == actions[g] for j in columns if (g := self._group.get(j)) is not None
        }
        return [not_all({**chosen, g: self._breaking(actions, k, g)}) for g in sorted(chosen)]

    def _breaking(self, actions: list[int], k: int, g: int) -> np.ndarray:
        """Which actions of group g break rule k with the others as chosen."""
        region, group = self._region, self._choices[g]
        owners = np.full(len(group), self._i)
        rows = np.repeat(self.row(actions), len(group), axis=0)
        rows[:, group.columns] = group.cells
        rows = region.derived(rows, region.factuals[owners])
        return region.violations(rows, owners)["derived"] if k == _LIMITS else ~region.tolerates(rows, owners)[:, k]
