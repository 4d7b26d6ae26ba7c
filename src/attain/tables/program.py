"""A rule book as the arrays that the engine runs (`attain.engine.rules`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from attain.engine.cells import COLUMN, grid
from attain.engine.rules import DERIVATION, GROUP, INSTRUCTION, OPERATIONS, RULE, Rules
from attain.schema.expressions import Expression
from attain.schema.feature import Feature
from attain.schema.formulas import All, Among, Comparison, Formula, Implication, Missing, Not
from attain.schema.formulas import Any as AnyOf

if TYPE_CHECKING:
    from attain.tables.lookups import Lookup
    from attain.tables.rules import RuleBook

_NUMBERS, _CODED, _LEVELS, _ORDERED = range(4)


def assembled(book: RuleBook) -> Rules:
    """The rule book for the engine."""
    return _Assembler(book).rules()


class _Assembler:
    """Collects instructions, and the lists, numbers and tables that they refer to."""

    def __init__(self, book: RuleBook) -> None:
        self._book, self._schema = book, book.schema
        self._code: list[dict[str, Any]] = []
        self._lists: list[int] = []
        self._numbers: list[float] = []
        self._tables: list[np.ndarray] = []
        self._judged: dict[int, tuple[int, int]] = {}

    def rules(self) -> Rules:
        book, lookups = self._book, self._book.lookups
        columns = self._columns()
        groups = [self._group(group) for group in lookups.groups]
        derivations = [
            (one.column, self._list(one.inputs), self._expression(one.expression), one.follows, one.keeps)
            for one in book.derivations
        ]
        rules = [self._rule(k) for k in range(len(book.rules))]
        code = np.zeros(len(self._code), dtype=INSTRUCTION)
        for at, fields in enumerate(self._code):
            for name, value in fields.items():
                code[name][at] = value
        return Rules(
            np.array(columns, dtype=COLUMN),
            code,
            np.array(groups, dtype=GROUP),
            np.array(derivations, dtype=DERIVATION),
            np.array(rules, dtype=RULE),
            np.array(lookups.rest, dtype=np.intp),
            np.array(sorted({j for group in lookups.groups for j in group.columns}), dtype=np.intp),
            np.array(self._lists, dtype=np.intp),
            np.array(self._numbers, dtype=np.float64),
            np.concatenate([np.zeros(0, dtype=bool), *self._tables]).view(np.uint8),
            len(code),
        )

    def _columns(self) -> list[tuple[Any, ...]]:
        columns: list[tuple[Any, ...]] = []
        states = 0
        for j, feature in enumerate(self._schema):
            number = len(feature.levels) + len(feature.special) + bool(feature.special)
            edges = self._pool(self._book.lookups.edges(j))
            spacing = grid(feature.step if feature.numeric else 1.0)
            columns.append((_kind(feature), spacing, self._pool(feature.special), (states, states + number), edges))
            states += number
        return columns

    def _group(self, group: Lookup) -> tuple[Any, ...]:
        axes = [entry for axis in zip(group.columns, group.strides, strict=True) for entry in axis]
        start = sum(map(len, self._tables))
        self._tables += [group.any_broken, *group.broken]
        return self._list(axes), start, len(group.any_broken), self._list(group.rules)

    def _rule(self, k: int) -> tuple[Any, ...]:
        formula = self._book.rules[k].formula
        judge = self._formula(formula)
        gaps = self._gaps(formula)
        repair = len(self._code)
        self._repair(formula)
        excess = len(self._code)
        self._excess(formula, gaps)
        spans = judge, (repair, excess), (excess, len(self._code))
        return (*spans, self._columns_of(formula), self._book.followed[k])

    def _list(self, entries: Iterable[int]) -> tuple[int, int]:
        start = len(self._lists)
        self._lists += map(int, entries)
        return start, len(self._lists)

    def _columns_of(self, formula: Formula) -> tuple[int, int]:
        return self._list(map(self._schema.position, formula.names))

    def _pool(self, numbers: Iterable[float]) -> tuple[int, int]:
        start = len(self._numbers)
        self._numbers += map(float, numbers)
        return start, len(self._numbers)

    def _emit(self, operation: str, **fields: Any) -> dict[str, Any]:
        self._code.append({"operation": OPERATIONS[operation], **fields})
        return self._code[-1]

    def _expression(self, expression: Expression) -> tuple[int, int]:
        start = len(self._code)
        for kind, content in expression.steps:
            if kind == "number":
                self._emit(kind, number=self._pool([content])[0])
            elif kind == "column":
                self._emit(kind, column=self._schema.position(content))
            elif kind == "table":
                keys, values = content.sorted
                first, end = self._pool(keys)
                self._pool(values)
                self._emit(kind, column=self._schema.position(content.name), span=(first, end))
            else:
                self._emit(kind, count=content)
        return start, len(self._code)

    def _formula(self, formula: Formula) -> tuple[int, int]:
        """Emits what judges a formula, and remembers where that is."""
        start = len(self._code)
        if isinstance(formula, Comparison):
            self._expression(formula.left)
            self._expression(formula.right)
            known = () if formula.tests_a_state else dict.fromkeys((*formula.left.numbers, *formula.right.numbers))
            self._emit(formula.operator, span=self._list(map(self._schema.position, known)))
        elif isinstance(formula, Among):
            self._emit("in", column=self._schema.position(formula.name), span=self._pool(sorted(formula.values)))
        elif isinstance(formula, Missing):
            self._emit("missing", column=self._schema.position(formula.name))
        elif isinstance(formula, Not):
            self._formula(formula.part)
            self._emit("negate", count=1)
        elif isinstance(formula, Implication):
            self._formula(formula.condition)
            self._emit("negate", count=1)
            self._formula(formula.consequence)
            self._emit("max", count=2)
        else:
            for part in formula.parts:
                self._formula(part)
            self._emit("max" if isinstance(formula, AnyOf) else "min", count=len(formula.parts))
        self._judged[id(formula)] = start, len(self._code)
        return self._judged[id(formula)]

    def _unless_broken(self, formula: Formula) -> dict[str, Any]:
        """Emits a jump over what follows; `_land` sets its goal."""
        return self._emit("skip unless broken", span=self._judged[id(formula)])

    def _land(self, jump: dict[str, Any]) -> None:
        jump["goal"] = len(self._code)

    def _repair(self, formula: Formula) -> None:
        """Emits what is done to a row that breaks a rule, or a part of one; see `attain.engine.settle`."""
        if isinstance(formula, Implication):
            self._repair(formula.consequence)
            for broken, undone in ((formula.consequence, formula.condition), (formula, formula)):
                jump = self._unless_broken(broken)
                self._emit("undo", span=self._columns_of(undone))
                self._land(jump)
        elif isinstance(formula, All):
            for part in formula.parts:
                jump = self._unless_broken(part)
                self._repair(part)
                self._land(jump)
        elif isinstance(formula, Among) and len(formula.values) == 1:
            self._emit("put", column=self._schema.position(formula.name), number=self._pool(formula.values)[0])
        elif isinstance(formula, Comparison) and (form := self._linear(formula)):
            weights, constant = form
            limits = len(weights) == 1 and formula.operator in ("<=", ">=")
            pulls = self._book.order(formula) is not None
            how = "solve" if formula.operator == "=" else "pull" if pulls else "limit" if limits else "retreat"
            self._emit(how, span=self._list(weights), number=self._pool((*weights.values(), constant))[0])
        else:
            self._emit("undo", span=self._columns_of(formula))

    def _linear(self, comparison: Comparison) -> tuple[dict[int, float], float] | None:
        """left − right as the weight of each column and a constant; None where it is not linear, or `≠`."""
        form = comparison.linear()
        if form is None or comparison.operator == "≠":
            return None
        weights = {self._schema.position(name): weight for name, weight in form[0].items() if weight}
        return (weights, form[1]) if weights else None

    def _gaps(self, formula: Formula) -> dict[int, tuple[int, int]]:
        """Emits left − right of the comparisons of numbers, which say by how much a row breaks a rule."""
        if isinstance(formula, Implication):
            return self._gaps(formula.consequence)
        if isinstance(formula, All):
            return {key: found for part in formula.parts for key, found in self._gaps(part).items()}
        of_numbers = not any(self._schema[name].levels for name in formula.names)
        if not isinstance(formula, Comparison) or formula.operator == "≠" or not of_numbers:
            return {}
        start = len(self._code)
        self._expression(formula.left)
        self._expression(formula.right)
        self._emit("-", count=2)
        return {id(formula): (start, len(self._code))}

    def _excess(self, formula: Formula, gaps: dict[int, tuple[int, int]]) -> None:
        """Emits by how much a row breaks a formula: the largest gap of the comparisons that it breaks."""
        if isinstance(formula, Implication):
            self._excess(formula.consequence, gaps)
        elif isinstance(formula, All):
            for part in formula.parts:
                jump = self._unless_broken(part)
                self._excess(part, gaps)
                self._land(jump)
        elif id(formula) in gaps:
            self._emit("gap", span=gaps[id(formula)])
        else:
            self._emit("no size")


def _kind(feature: Feature) -> int:
    if feature.numeric:
        return _CODED if feature.special else _NUMBERS
    return _ORDERED if feature.ordered else _LEVELS
