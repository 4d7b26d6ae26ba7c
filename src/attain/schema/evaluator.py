"""What expressions and formulas say about rows: compiled for `attain.engine.rules`, which alone evaluates them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from attain.engine.cells import COLUMN, grid
from attain.engine.rules import DERIVATION, INSTRUCTION, OPERATIONS, RULE, Rules
from attain.schema.feature import Feature
from attain.schema.formulas import Among, Comparison, Expression, Formula, Implication, Missing, Not, Or

Span = tuple[int, int]
"""Where something starts and ends in a list."""

_NUMBERS, _CODED, _LEVELS, _ORDERED = range(4)
"""The kinds of columns, as numbers for the engine."""


def evaluate(features: Sequence[Feature], rows: np.ndarray, *parts: Expression | Formula) -> np.ndarray:
    """What expressions and formulas give in rows (n, d) of these features, (n, parts).

    An expression gives its value, NaN or infinite where that is undefined. A formula gives 1 where it is certainly
    true, −1 where it is certainly false, and 0 elsewhere.
    """
    program = Assembler(features)
    spans = [program.expression(part) if isinstance(part, Expression) else program.formula(part) for part in parts]
    return program.assembled().values(rows, np.array(spans, dtype=np.intp).reshape(-1, 2))


class Assembler:
    """Collects instructions, and the lists and numbers that they refer to."""

    def __init__(self, features: Iterable[Feature]) -> None:
        self._features = tuple(features)
        self._positions = {feature.name: j for j, feature in enumerate(self._features)}
        self._code: list[dict[str, Any]] = []
        self._lists: list[int] = []
        self._numbers: list[float] = []
        self._judged: dict[int, Span] = {}

    def assembled(self, derivations: Iterable[Any] = (), rules: Iterable[Any] = ()) -> Rules:
        """The collected program, for the engine."""
        columns = self._columns()
        code = np.zeros(len(self._code), dtype=INSTRUCTION)
        for at, fields in enumerate(self._code):
            for name, value in fields.items():
                code[name][at] = value
        return Rules(
            np.array(columns, dtype=COLUMN),
            code,
            np.array(list(derivations), dtype=DERIVATION),
            np.array(list(rules), dtype=RULE),
            np.array(self._lists, dtype=np.intp),
            np.array(self._numbers, dtype=np.float64),
            len(code),
        )

    def expression(self, expression: Expression) -> Span:
        """Emits an expression; the span of its instructions."""
        start = len(self._code)
        for kind, content in expression.steps:
            if kind == "number":
                self._emit(kind, number=self._pool([content])[0])
            elif kind == "column":
                self._emit(kind, column=self._positions[content])
            elif kind == "table":
                keys, values = content.sorted
                first, end = self._pool(keys)
                self._pool(values)
                self._emit(kind, column=self._positions[content.name], span=(first, end))
            else:
                self._emit(kind, count=content)
        return start, len(self._code)

    def formula(self, formula: Formula) -> Span:
        """Emits the verdict of a formula; the span of its instructions."""
        start = len(self._code)
        if isinstance(formula, Comparison):
            self.expression(formula.left)
            self.expression(formula.right)
            known = () if formula.tests_a_state else dict.fromkeys((*formula.left.numbers, *formula.right.numbers))
            self._emit(formula.operator, span=self._list(self._positions[name] for name in known))
        elif isinstance(formula, Among):
            self._emit("in", column=self._positions[formula.name], span=self._pool(sorted(formula.values)))
        elif isinstance(formula, Missing):
            self._emit("missing", column=self._positions[formula.name])
        elif isinstance(formula, Not):
            self.formula(formula.part)
            self._emit("negate", count=1)
        elif isinstance(formula, Implication):
            self.formula(formula.condition)
            self._emit("negate", count=1)
            self.formula(formula.consequence)
            self._emit("max", count=2)
        else:
            for part in formula.parts:
                self.formula(part)
            self._emit("max" if isinstance(formula, Or) else "min", count=len(formula.parts))
        self._judged[id(formula)] = start, len(self._code)
        return self._judged[id(formula)]

    def _columns(self) -> list[tuple[Any, ...]]:
        columns: list[tuple[Any, ...]] = []
        states = 0
        for feature in self._features:
            number = len(feature.levels) + len(feature.special) + bool(feature.special)
            spacing = grid(feature.step if feature.numeric else 1.0)
            columns.append((_kind(feature), spacing, self._pool(feature.special), (states, states + number)))
            states += number
        return columns

    def _list(self, entries: Iterable[int]) -> Span:
        start = len(self._lists)
        self._lists += map(int, entries)
        return start, len(self._lists)

    def _columns_of(self, formula: Formula) -> Span:
        return self._list(self._positions[name] for name in formula.names)

    def _pool(self, numbers: Iterable[float]) -> Span:
        start = len(self._numbers)
        self._numbers += map(float, numbers)
        return start, len(self._numbers)

    def _emit(self, operation: str, **fields: Any) -> dict[str, Any]:
        self._code.append({"operation": OPERATIONS[operation], **fields})
        return self._code[-1]


def _kind(feature: Feature) -> int:
    if feature.numeric:
        return _CODED if feature.special else _NUMBERS
    return _ORDERED if feature.ordered else _LEVELS
