"""Mixed-integer programs by HiGHS, and what is linear for them: rules, scores of rows, cells that rules tell apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from attain.models.scores import LinearScore, decision_scores
from attain.schema import Rule, Schema
from attain.schema.evaluator import evaluate
from attain.schema.formulas import And, Comparison, Formula, Implication, Not, Or, conjuncts
from attain.search.problem import Problem
from attain.tables import Region

NODES: Final = 10_000
"""The most nodes HiGHS may open; then the best solution so far is taken."""


class Solution(NamedTuple):
    """What a program gave.

    Attributes
    ----------
    x
        The variables; None where no solution was found.
    value
        Their cost.
    proven
        Whether x is an optimum, or where it is None, whether there is no solution. False where the limit was reached.
    """

    x: np.ndarray | None
    value: float
    proven: bool


def solve(
    cost: np.ndarray,
    constraints: list[LinearConstraint],
    *,
    upper: np.ndarray,
    integral: np.ndarray,
    seconds: float,
) -> Solution:
    """Minimises cost · x subject to 0 ≤ x ≤ upper and the constraints, with xᵢ an integer where `integral`.

    `seconds` is the most time that HiGHS may take; what it found until then is the solution.
    """
    if seconds <= 0:
        return Solution(None, np.inf, False)
    result: Any = milp(
        cost,
        integrality=integral.astype(np.int64),
        bounds=Bounds(np.zeros(len(upper)), upper),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "node_limit": NODES, "presolve": False, "time_limit": seconds},
    )
    if result.x is None:
        return Solution(None, np.inf, result.status == 2)
    return Solution(np.asarray(result.x), float(result.fun), result.status == 0)


_SLACK = 1e-9
"""Relative to the right-hand side: ≤ and ≥ are loosened, and < and > tightened by this much."""


class LinearRule(NamedTuple):
    """low ≤ Σⱼ weights[j] · xⱼ ≤ high, over columns j."""

    weights: dict[int, float]
    low: float
    high: float


def linear_rules(rule: Rule, schema: Schema) -> list[LinearRule]:
    """The linear comparisons of a rule that is a comparison, or several joined by `and`; none of any other rule."""
    found = [_linear(part, schema) for part in conjuncts(rule.formula)]
    return [linear for linear in found if linear is not None]


def is_linear(rule: Rule, schema: Schema) -> bool:
    """Whether `linear_rules` is all of the rule."""
    return len(linear_rules(rule, schema)) == len(conjuncts(rule.formula))


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


def factual_scores(problem: Problem, score: LinearScore) -> np.ndarray:
    """The score of each row, (n,); the model is asked where a cell is missing that never is in the training data."""
    own = score.score(problem.region.start)
    unknown = np.flatnonzero(np.isnan(own))
    if unknown.size:
        problem.ledger.charge(unknown)
        own[unknown] = decision_scores(problem.goal, problem.region.start[unknown])
    return own


class Signatures:
    """The parts of rules and laws that each column is in, by which its cells are compared."""

    def __init__(self, region: Region) -> None:
        schema = region.schema
        self._features = schema.features
        self._parts: dict[int, list[Formula]] = {}
        self._compared: set[int] = set()
        inputs: dict[int, set[int]] = {}
        for one in region.book.derivations:
            inputs[one.column] = {one.column}.union(*(inputs.get(k, {k}) for k in one.inputs))
        for part in (part for rule in region.book.rules for part in _atoms(rule.formula)):
            columns = [schema.position(name) for name in part.names]
            if len(columns) == 1 and columns[0] not in inputs:
                self._parts.setdefault(columns[0], []).append(part)
            else:
                self._compared.update(*(inputs.get(k, {k}) for k in columns))

    def of(self, j: int, cells: np.ndarray) -> np.ndarray:
        """A number for each of the cells of column j, (n,): equal where no rule tells them apart."""
        if j in self._compared:
            return np.arange(len(cells))
        if j not in self._parts:
            return np.zeros(len(cells), dtype=np.intp)
        verdicts = evaluate([self._features[j]], cells[:, None], *self._parts[j])
        return np.unique(verdicts, axis=0, return_inverse=True)[1].ravel()


def unbeaten(cost: np.ndarray, gain: np.ndarray, kind: np.ndarray, layers: int = 1) -> np.ndarray:
    """Which of n cells no other of the same kind beats, by costing no more and gaining no less, (n,).

    With more layers, also those that are not beaten once the layers before are left out.
    """
    kept = np.zeros(len(cost), dtype=bool)
    for _ in range(layers):
        left = np.flatnonzero(~kept)
        order = left[np.lexsort((-gain[left], cost[left], kind[left]))]
        for group in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1):
            most = np.maximum.accumulate(np.append(-np.inf, gain[group]))
            kept[group[gain[group] > most[:-1]]] = True
    return kept


def _atoms(formula: Formula) -> Iterator[Formula]:
    """The parts of a formula that are not made of others."""
    if isinstance(formula, And | Or):
        parts: tuple[Formula, ...] = formula.parts
    elif isinstance(formula, Not):
        parts = (formula.part,)
    elif isinstance(formula, Implication):
        parts = (formula.condition, formula.consequence)
    else:
        yield formula
        return
    for part in parts:
        yield from _atoms(part)
