"""Rules between features that are linear conditions on cells."""

from __future__ import annotations

import math
from typing import NamedTuple

from attain.schema import Rule, Schema
from attain.schema.formulas import Comparison, Formula, conjuncts

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
