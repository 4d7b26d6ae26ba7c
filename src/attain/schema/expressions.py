"""The small language of derived columns and rules.

    debt / income                                   a derived column
    revolving + instalment <= total                 a linear rule
    if has_mortgage = no then mortgage_balance = 0  an implication

Column names that are not identifiers go in backticks: `` `days past due` <= 90 ``. Strings may be quoted; a bare word
on the right of a comparison with a column of levels is a level. Text is split into tokens in one pass, so parsing takes
linear time; Python's parser turns it into a tree of which only the nodes below are accepted, and which is evaluated
over the columns of a matrix. Nothing is ever executed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from attain.core.errors import SchemaError

_TOKEN = re.compile(r"""'[^'\n]*'|"[^"\n]*"|`[^`\n]+`|<=|>=|==|!=|\w+|.""", re.DOTALL)
_SPELLING = {"=": "==", "≤": "<=", "≥": ">=", "≠": "!="}
_MAX_DEPTH = 400
"""The largest depth of a tree: evaluation is recursive, and Python's stack has a limit."""

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.Gt: ">",
    ast.Eq: "=",
    ast.NotEq: "≠",
}
_HOLDS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "<=": lambda gap, slack: gap <= slack,
    ">=": lambda gap, slack: gap >= -slack,
    "<": lambda gap, slack: gap < -slack,
    ">": lambda gap, slack: gap > slack,
    "=": lambda gap, slack: np.abs(gap) <= slack,
    "≠": lambda gap, slack: np.abs(gap) > slack,
}
_OF_SEVERAL = ("min", "max")
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": lambda *values: _fold(np.minimum, values),
    "max": lambda *values: _fold(np.maximum, values),
    "abs": np.abs,
    "round": np.round,
    "floor": np.floor,
    "ceil": np.ceil,
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
}

Columns = Mapping[str, np.ndarray]


def _fold(function: Callable[[Any, Any], Any], values: tuple[Any, ...]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


@dataclass(frozen=True)
class Expression:
    """A parsed arithmetic expression over columns."""

    text: str
    names: tuple[str, ...]
    _tree: ast.expr
    _aliases: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Expression:
        """The expression that `text` describes, or a `SchemaError` that says what cannot be parsed."""
        tree, aliases = _parse(text)
        return cls._of(text, tree, aliases)

    @classmethod
    def _of(cls, text: str, tree: ast.expr, aliases: Mapping[str, str]) -> Expression:
        names: dict[str, None] = {}
        for node in _check_arithmetic(text, tree):
            names[aliases.get(node.id, node.id)] = None
        return cls(text, tuple(names), tree, aliases)

    def __call__(self, columns: Columns) -> np.ndarray:
        """The value in every row; NaN or infinite where it is undefined."""
        with np.errstate(all="ignore"):
            return np.asarray(self._value(self._tree, columns), dtype=np.float64)

    def linear(self) -> tuple[dict[str, float], float] | None:
        """The weight of each column and the constant of a linear expression; None for any other."""
        return _linear(self._tree, self._aliases)

    def _value(self, node: ast.expr, columns: Columns) -> Any:
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            return columns[self._aliases.get(node.id, node.id)]
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, columns)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, columns), self._value(node.right, columns)
            return _BINARY[type(node.op)](left, right)
        assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        return _FUNCTIONS[node.func.id](*(self._value(argument, columns) for argument in node.args))


def _linear(node: ast.expr, aliases: Mapping[str, str]) -> tuple[dict[str, float], float] | None:
    if isinstance(node, ast.Constant):
        return {}, float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return {aliases.get(node.id, node.id): 1.0}, 0.0
    if isinstance(node, ast.UnaryOp):
        inner = _linear(node.operand, aliases)
        return inner if isinstance(node.op, ast.UAdd) else _combined(({}, 0.0), inner, -1.0)
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _linear(node.left, aliases), _linear(node.right, aliases)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Add | ast.Sub):
        return _combined(left, right, 1.0 if isinstance(node.op, ast.Add) else -1.0)
    if isinstance(node.op, ast.Mult) and not (left[0] and right[0]):
        factor, other = (right[1], left) if not right[0] else (left[1], right)
        return _combined(({}, 0.0), other, factor)
    if isinstance(node.op, ast.Div) and not right[0] and right[1]:
        return _combined(({}, 0.0), left, 1.0 / right[1])
    return None


def _combined(
    left: tuple[dict[str, float], float], right: tuple[dict[str, float], float] | None, factor: float
) -> tuple[dict[str, float], float] | None:
    """left + factor · right."""
    if right is None:
        return None
    weights = dict(left[0])
    for name, weight in right[0].items():
        weights[name] = weights.get(name, 0.0) + factor * weight
    return weights, left[1] + factor * right[1]


@dataclass(frozen=True)
class Comparison:
    """`left <= right`, row by row."""

    text: str
    left: Expression
    operator: str
    right: Expression | Literal

    def __call__(self, columns: Columns) -> np.ndarray:
        """Whether it holds, up to rounding: 0.1 + 0.2 = 0.3 holds."""
        left, right = self.left(columns), self.right(columns)
        with np.errstate(invalid="ignore"):
            gap = left - right
            slack = 1e-9 * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
        return _HOLDS[self.operator](gap, slack)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.left.names, *self.right.names)))

    @property
    def tests_a_state(self) -> bool:
        """Whether it compares one column with one constant for equality, which is meaningful for special codes too."""
        constant = self.right.linear() if isinstance(self.right, Expression) else ({}, 0.0)
        one_column = isinstance(self.left._tree, ast.Name) and constant is not None and not constant[0]
        return one_column and self.operator in ("=", "≠")


@dataclass(frozen=True)
class Literal:
    """The position of a level, on the right of a comparison."""

    value: float
    names: tuple[str, ...] = ()

    def __call__(self, columns: Columns) -> np.ndarray:
        return np.asarray(self.value, dtype=np.float64)


def _parse(text: str) -> tuple[ast.expr, dict[str, str]]:
    """The tree of the text in Python's spelling, and the column name behind each alias in it."""
    aliases: dict[str, str] = {}
    source: list[str] = []
    for token in _TOKEN.findall(text.strip()):
        if token[0] == "`" and len(token) > 1:
            alias = f"_column_{len(aliases)}_"
            aliases[alias] = token[1:-1]
            source.append(alias)
        else:
            source.append(_SPELLING.get(token, token))
    try:
        tree = ast.parse("".join(source), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise SchemaError(
            f"the expression {text!r} cannot be parsed; write it like `debt / income`, `a <= b` or "
            "`if owner = no then mortgage = 0`, with backticks around column names that are not identifiers"
        ) from None
    if _depth(tree) > _MAX_DEPTH:
        raise SchemaError(f"the expression {text[:80]!r}… is nested too deeply (more than {_MAX_DEPTH} operations)")
    return tree, aliases


def _depth(tree: ast.AST) -> int:
    depth, nodes = 0, [tree]
    while nodes:
        depth, nodes = depth + 1, [child for node in nodes for child in ast.iter_child_nodes(node)]
    return depth


def _check_arithmetic(text: str, tree: ast.expr) -> Iterator[ast.Name]:
    """Yields the names used; rejects every node that is not plain arithmetic."""
    stack: list[ast.expr] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            yield node
        elif isinstance(node, ast.Constant) and _is_number(node.value):
            continue
        elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            stack += [node.right, node.left]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            stack.append(node.operand)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            several = node.func.id in _OF_SEVERAL
            if node.keywords or not node.args or (len(node.args) > 1 and not several):
                raise SchemaError(
                    f"in {text!r}: {node.func.id} takes {'positional arguments' if several else 'one argument'}"
                )
            stack += reversed(node.args)
        else:
            raise SchemaError(
                f"in {text!r}: {ast.unparse(node)!r} is not allowed here; an expression consists of columns, "
                f"numbers, + - * / **, and {', '.join(_FUNCTIONS)}"
            )


def _is_number(value: object) -> bool:
    """Whether a constant is a number that a float can represent."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


@dataclass(frozen=True)
class Clause:
    """Comparisons that must all hold."""

    comparisons: tuple[Comparison, ...]

    def __call__(self, columns: Columns) -> np.ndarray:
        return np.logical_and.reduce([comparison(columns) for comparison in self.comparisons])

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for comparison in self.comparisons for name in comparison.names))


class Column(Protocol):
    """What a rule needs to know about a column: its levels (none for a number), and whether they are ordered."""

    @property
    def levels(self) -> tuple[Any, ...]: ...

    @property
    def ordered(self) -> bool: ...


def parse_rule(text: str, columns: Mapping[str, Column]) -> tuple[Clause | None, Clause]:
    """The condition (None for a plain rule) and the consequence that `text` describes."""
    tokens = _TOKEN.findall(text.strip())
    if tokens[:1] != ["if"]:
        return None, _clause(text, columns)
    if "then" not in tokens:
        raise SchemaError(
            f"the rule {text!r} cannot be parsed: `if` needs a `then`, as in `if owner = no then debt = 0`"
        )
    at = tokens.index("then")
    return _clause("".join(tokens[1:at]), columns), _clause("".join(tokens[at + 1 :]), columns)


def _clause(text: str, columns: Mapping[str, Column]) -> Clause:
    tree, aliases = _parse(text)
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    comparisons: list[Comparison] = []
    for part in parts:
        if not isinstance(part, ast.Compare) or any(type(sign) not in _SIGNS for sign in part.ops):
            raise SchemaError(
                f"in {text.strip()!r}: {ast.unparse(part)!r} is not a comparison; write a rule like `a <= b`, "
                "`x + y <= 1` or `if owner = no then mortgage = 0`, with comparisons joined by `and`"
            )
        sides = [part.left, *part.comparators]
        for left, sign, right in zip(sides, part.ops, sides[1:], strict=False):
            comparisons.append(_comparison(text.strip(), left, _SIGNS[type(sign)], right, aliases, columns))
    return Clause(tuple(comparisons))


def _comparison(
    text: str, left: ast.expr, sign: str, right: ast.expr, aliases: Mapping[str, str], columns: Mapping[str, Column]
) -> Comparison:
    subject = Expression._of(text, left, aliases)
    if isinstance(left, ast.Name) and subject.names[0] in columns and columns[subject.names[0]].levels:
        name = subject.names[0]
        if sign not in ("=", "≠") and not columns[name].ordered:
            raise SchemaError(f"in {text!r}: the levels of {name!r} are not ordered; compare them with `=` or `≠`")
        position = _level(text, name, columns[name].levels, right, aliases)
        return Comparison(text, subject, sign, Literal(float(position)))
    comparison = Comparison(text, subject, sign, Expression._of(text, right, aliases))
    for name in comparison.names:
        if name not in columns:
            raise SchemaError(f"in {text!r}: there is no column {name!r} in the schema")
        if columns[name].levels:
            raise SchemaError(
                f"in {text!r}: {name!r} is a column of levels; put it on the left, and one of its levels on the right"
            )
    return comparison


def _level(text: str, name: str, known: tuple[Any, ...], node: ast.expr, aliases: Mapping[str, str]) -> int:
    """The position of the level that the right-hand side names."""
    if isinstance(node, ast.Constant):
        value: Any = node.value
    elif isinstance(node, ast.Name):
        value = aliases.get(node.id, node.id)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = -node.operand.value  # type: ignore[operator]
    else:
        raise SchemaError(f"in {text!r}: {name!r} is a column of levels; compare it with one of them")
    for position, level in enumerate(known):
        if level == value and isinstance(level, bool) == isinstance(value, bool):
            return position
        if isinstance(value, str) and str(level).lower() == value.lower() and not isinstance(level, str):
            return position
    raise SchemaError(
        f"in {text!r}: {value!r} is not a level of {name!r}; its levels are {', '.join(map(repr, known))}"
    )
