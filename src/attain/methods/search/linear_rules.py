"""Rules between features that are linear conditions on cells."""

from __future__ import annotations

import math
from typing import NamedTuple

from attain.schema import Rule, Schema
from attain.schema.expressions import Comparison, Expression

_SLACK = 1e-9
"""Relative to the right-hand side: ≤ and ≥ are loosened, and < and > tightened by this much."""


class LinearRule(NamedTuple):
    """low ≤ Σⱼ weights[j] · xⱼ ≤ high, over columns j."""

    weights: dict[int, float]
    low: float
    high: float


def linear_rules(rule: Rule, schema: Schema) -> list[LinearRule]:
    """The linear comparisons of a rule; none where they hold under a condition only."""
    if rule.condition is not None:
        return []
    found = [_linear(comparison, schema) for comparison in rule.consequence.comparisons]
    return [linear for linear in found if linear is not None]


def is_linear(rule: Rule, schema: Schema) -> bool:
    """Whether `linear_rules` is all of the rule."""
    return rule.condition is None and len(linear_rules(rule, schema)) == len(rule.consequence.comparisons)


def _linear(comparison: Comparison, schema: Schema) -> LinearRule | None:
    left = comparison.left.linear()
    right = comparison.right.linear() if isinstance(comparison.right, Expression) else ({}, comparison.right.value)
    if left is None or right is None or comparison.operator == "≠":
        return None
    weights = {schema.position(name): left[0].get(name, 0.0) - right[0].get(name, 0.0) for name in comparison.names}
    if any(schema.features[j].derived is not None for j in weights):
        return None
    side = right[1] - left[1]
    slack = _SLACK * max(1.0, abs(side))
    if comparison.operator == "=":
        return LinearRule(weights, side - slack, side + slack)
    if comparison.operator in ("<=", "<"):
        return LinearRule(weights, -math.inf, side + (slack if comparison.operator == "<=" else -slack))
    return LinearRule(weights, side - (slack if comparison.operator == ">=" else -slack), math.inf)
