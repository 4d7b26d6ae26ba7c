"""What rules say about one row, in plain Python that shares nothing with the package's evaluator."""

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from attain.schema import Feature
from attain.schema.formulas import Among, And, Comparison, Expression, Formula, Implication, Lookup, Missing, Not

Cells = Mapping[str, float]
Truth = bool | None

OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "negate": np.negative,
    "sum": lambda *values: reduce(np.add, values),
    "min": lambda *values: reduce(np.minimum, values),
    "max": lambda *values: reduce(np.maximum, values),
    "abs": np.abs,
    "round": np.round,
    "floor": np.floor,
    "ceil": np.ceil,
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
}
HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<=": lambda gap, slack: gap <= slack,
    ">=": lambda gap, slack: gap >= -slack,
    "<": lambda gap, slack: gap < -slack,
    ">": lambda gap, slack: gap > slack,
    "=": lambda gap, slack: abs(gap) <= slack,
    "≠": lambda gap, slack: abs(gap) > slack,
}


def slack(left: float, right: float) -> float:
    return 1e-9 * max(1.0, min(abs(left), abs(right)))


def found(cell: float, keys: tuple[float, ...]) -> int | None:
    """Which of the keys the cell is, up to rounding."""
    near = [k for k, key in enumerate(keys) if abs(cell - key) <= slack(cell, key)]
    return min(near, key=lambda k: abs(cell - keys[k]), default=None)


def looked_up(table: Lookup, cells: Cells) -> float:
    at = found(cells[table.name], table.keys)
    return math.nan if at is None else table.values[at]


def value(expression: Expression, cells: Cells) -> float:
    stack: list[Any] = []
    with np.errstate(all="ignore"):
        for kind, content in expression.steps:
            if kind in ("number", "column", "table"):
                now = content if kind == "number" else cells[content] if kind == "column" else looked_up(content, cells)
                stack.append(np.float64(now))
            else:
                stack[-content:] = [OPERATIONS[kind](*stack[-content:])]
    return float(stack.pop())


def conjunction(truths: list[Truth]) -> Truth:
    return False if False in truths else None if None in truths else True


def negation(truth: Truth) -> Truth:
    return None if truth is None else not truth


def disjunction(truths: list[Truth]) -> Truth:
    return negation(conjunction([negation(truth) for truth in truths]))


def truth(formula: Formula, cells: Cells, features: Mapping[str, Feature]) -> Truth:
    """Whether a formula is true or false; None where that is unknown."""
    if isinstance(formula, Missing):
        return math.isnan(cells[formula.name])
    if isinstance(formula, Among):
        cell = cells[formula.name]
        return None if math.isnan(cell) else found(cell, formula.values) is not None
    if isinstance(formula, Comparison):
        left, right = value(formula.left, cells), value(formula.right, cells)
        used = () if formula.tests_a_state else (*formula.left.numbers, *formula.right.numbers)
        unknown = any(math.isnan(cells[name]) or cells[name] in features[name].special for name in used)
        unknown |= math.isnan(left - right) if not math.isinf(left) or left != right else True
        return None if unknown else HOLDS[formula.operator](left - right, slack(left, right))
    if isinstance(formula, Not):
        return negation(truth(formula.part, cells, features))
    if isinstance(formula, Implication):
        condition, consequence = (truth(part, cells, features) for part in (formula.condition, formula.consequence))
        return disjunction([negation(condition), consequence])
    parts = [truth(part, cells, features) for part in formula.parts]
    return conjunction(parts) if isinstance(formula, And) else disjunction(parts)
