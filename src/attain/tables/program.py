"""A rule book as flat arrays, the form in which kernels read it (`attain.tables.region_kernels`).

Expressions and formulas become one postfix code. A verdict is a number: 1 true, 0 unknown, −1 false; so `and` is the
smallest of its parts, `or` the largest, `not` the negative, and `if a then b` is max(−a, b). How a broken rule is
repaired, and by how much a row breaks it, are instructions of the same code, with jumps over what is not broken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from attain.schema.expressions import Expression
from attain.schema.feature import Feature
from attain.schema.formulas import All, Among, Comparison, Formula, Implication, Missing, Not
from attain.schema.formulas import Any as AnyOf
from attain.tables.grid import POWERS as POWERS_OF_TEN
from attain.tables.grid import decimals_of

if TYPE_CHECKING:
    from attain.tables.lookups import Lookup
    from attain.tables.rules import RuleBook

# Where `integers` says how long each section is: at SECTION its start, at SECTION + 1 its end.
MOVABLE, GROUPS, ORDERS, DERIVATIONS, RULES, CLOCKS, PACES = range(0, 14, 2)
FREE, COUNTED, MOVABLE_COLUMNS, GROUP_COLUMNS, OTHERS = range(14, 24, 2)
EXCUSED, FOLLOWERS_PACED, PLAIN, DEPTH = range(24, 28)
HEADER: Final = 28

# The fields of a record, by section.
RECORD: Final = 10
KIND, GRID, CODES, CODES_END, STATES, STATES_END, EDGES, EDGES_END = range(8)
STRIDES, TABLE, COMBINATIONS, MEMBERS, MEMBERS_END = 3, 6, 7, 8, 9  # after the three columns of a group
LOW, HIGH, RULE = range(3)
COLUMN, INPUTS, INPUTS_END, START, END, FOLLOWS = range(6)
JUDGE, JUDGE_END, REPAIR, REPAIR_END, EXCESS, EXCESS_END, USES, USES_END, FOLLOWED = range(9)
FLAG: Final = 1  # of a clock: it is immutable; of a pace: its column is ordered

POWERS: Final = len(POWERS_OF_TEN)
SCALES: Final = 6
STEP, SCALE, SCALED, PACE, RATE, TOP = range(SCALES)
"""The numbers of a column."""

NUMBERS, CODED, UNORDERED, ORDERED = range(4)
"""The kinds of columns: numbers, numbers with special codes, levels, ordered levels."""

SIX_DIGITS, UNIT, MULTIPLES, DECIMAL = range(4)
"""The kinds of grids: without a step, with step 1, and multiples of a step without and with few decimals."""

# Instructions: an operation and four operands. Those of expressions and formulas put a number on a stack, or replace
# its topmost ones.
NUMBER, CELL, LOOKUP, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE, ABSOLUTE, ROUND, FLOOR, CEIL, ROOT = range(13)
SUM, LEAST, MOST, COMPARE, AMONG, MISSING = range(13, 19)
# Those of repairs and of sizes.
SKIP_UNLESS_BROKEN, PUT, UNDO, SOLVE, RETREAT, PULL, GAP, NO_SIZE = range(19, 27)
INSTRUCTION: Final = 5
AT_MOST, AT_LEAST, BELOW, ABOVE, EQUAL, UNEQUAL = range(6)

_OPERATIONS: Final = {
    "+": ADD,
    "-": SUBTRACT,
    "*": MULTIPLY,
    "/": DIVIDE,
    "negate": NEGATE,
    "abs": ABSOLUTE,
    "round": ROUND,
    "floor": FLOOR,
    "ceil": CEIL,
    "sqrt": ROOT,
    "sum": SUM,
    "min": LEAST,
    "max": MOST,
}
"""Not `log`, `exp` and `**`: their last bits differ between NumPy and compiled code."""
_OPERATORS: Final = {"<=": AT_MOST, ">=": AT_LEAST, "<": BELOW, ">": ABOVE, "=": EQUAL, "≠": UNEQUAL}


class Program(NamedTuple):
    """A rule book as flat arrays.

    Attributes
    ----------
    integers
        A header: where each section starts and ends. Then ten integers for each column, lists of columns and rules, and
        ten integers for each look-up, order, computed column, rule, clock and pace.
    code
        The instructions, five integers each.
    numbers
        The powers of ten (`grid.POWERS`). Six numbers for each column: its grid, pace and rate. Then constants, special
        codes, edges, keys and values of tables, and slopes.
    tables
        Which combinations of parts break a rule.
    """

    integers: np.ndarray
    code: np.ndarray
    numbers: np.ndarray
    tables: np.ndarray


class Scratch(NamedTuple):
    """Room for the final form of a row: two rows (d,), a mark for each column and rule, and a stack for formulas.

    `empty` is a row without any cells, (d,).
    """

    tried: np.ndarray
    spare: np.ndarray
    marks: np.ndarray
    stack: np.ndarray
    empty: np.ndarray


class Limits(NamedTuple):
    """What n rows may reach, over d features.

    Attributes
    ----------
    values
        The factuals, `low` and `high` of a region side by side, `max_changes` and `max_months`, and the factuals on
        their grids, (n, 4d + 2).
    flags
        Its frozen cells, states and excused laws side by side, (n, d + states + rules).
    """

    values: np.ndarray
    flags: np.ndarray


class UnsupportedOperationError(Exception):
    """An expression has an operation that kernels do not have."""


def assembled(book: RuleBook) -> Program | None:
    """The program of a rule book; None where an expression has an operation that kernels do not have."""
    try:
        return _Assembler(book).program()
    except UnsupportedOperationError:
        return None


class _Assembler:
    """Collects the parts of a program."""

    def __init__(self, book: RuleBook) -> None:
        self._book, self._schema = book, book.schema
        self._code: list[int] = []
        self._lists: list[int] = []
        self._first_list = HEADER + RECORD * len(self._schema)
        scales = [number for feature in self._schema for number in _scales(feature)]
        self._numbers: list[float] = [*POWERS_OF_TEN, *scales]
        self._tables: list[np.ndarray] = []
        self._ranges: dict[int, tuple[int, int]] = {}
        self._depth = 1

    def program(self) -> Program:
        book, schema = self._book, self._schema
        timing, lookups = book.timing, book.lookups
        clocks = () if timing is None else timing.clocks
        derived = [j for j, _ in schema.derivations]
        columns, excused = self._columns()
        sections: dict[int, list[tuple[int, ...]]] = {
            MOVABLE: [self._group(group, with_rules=False) for group in lookups.movable],
            GROUPS: [self._group(group, with_rules=True) for group in lookups.groups],
            ORDERS: [(int(a), int(b), int(k)) for a, b, k in zip(*book.orders, strict=True)],
            DERIVATIONS: [
                (one.column, *self._list(one.inputs), *self._expression(one.expression), int(one.follows))
                for one in book.derivations
            ],
            RULES: [self._rule(k) for k in range(len(book.rules))],
            CLOCKS: [(j, int(schema.features[j].immutable)) for j in clocks],
            PACES: [(j, int(schema.features[j].ordered)) for j, _ in (() if timing is None else timing.paces)],
        }
        lists = {
            FREE: schema.free_columns.tolist(),
            COUNTED: [j for j in range(len(schema)) if j not in derived and j not in clocks],
            MOVABLE_COLUMNS: _columns_of(lookups.movable),
            GROUP_COLUMNS: _columns_of(lookups.groups),
            OTHERS: book.others,
        }
        header = [0] * HEADER
        for section, entries in lists.items():
            header[section : section + 2] = self._list(entries)
        records: list[int] = []
        for section, found in sections.items():
            start = self._first_list + len(self._lists) + len(records)
            records += _flat(found, RECORD)
            header[section : section + 2] = start, start + RECORD * len(found)
        header[EXCUSED], header[DEPTH] = excused, self._depth
        header[PLAIN] = timing is None and not book.derivations
        header[FOLLOWERS_PACED] = any(one.follows and schema.features[one.column].pace for one in book.derivations)
        return Program(
            np.array([*header, *_flat(columns, RECORD), *self._lists, *records], dtype=np.int64),
            np.array(self._code, dtype=np.int64),
            np.array(self._numbers, dtype=np.float64),
            np.concatenate([np.zeros(0, dtype=bool), *self._tables]),
        )

    def _columns(self) -> tuple[list[tuple[int, ...]], int]:
        """The records of the columns, and where excused laws begin in `Limits.flags`."""
        records: list[tuple[int, ...]] = []
        states = len(self._schema)
        for j, feature in enumerate(self._schema):
            numbers = CODED if feature.special else NUMBERS
            kind = numbers if feature.numeric else ORDERED if feature.ordered else UNORDERED
            end = states + (len(feature.special) + 1 if kind == CODED else len(feature.levels))
            edges = self._pool(self._book.lookups.edges(j))
            records.append((kind, _grid(feature), *self._pool(feature.special), states, end, *edges))
            states = end
        return records, states

    def _group(self, group: Lookup, *, with_rules: bool) -> tuple[int, ...]:
        columns = (*group.columns, -1, -1)[:3]
        strides = (*group.strides, 0, 0)[:3]
        start = sum(map(len, self._tables))
        self._tables += [group.any_broken, *(group.broken if with_rules else ())]
        return (*columns, *strides, start, len(group.any_broken), *self._list(group.rules if with_rules else ()))

    def _rule(self, k: int) -> tuple[int, ...]:
        formula = self._book.rules[k].formula
        judged = self._formula(formula)
        gaps = self._gaps(formula)
        repair = len(self._code)
        self._repair(formula)
        excess = len(self._code)
        self._excess(formula, gaps)
        end = len(self._code)
        uses = self._list(map(self._schema.position, formula.names))
        return (*judged, repair, excess, excess, end, *uses, int(self._book.followed[k]))

    def _list(self, entries: Iterable[int]) -> tuple[int, int]:
        start = len(self._lists)
        self._lists += map(int, entries)
        return self._first_list + start, self._first_list + len(self._lists)

    def _pool(self, numbers: Iterable[float]) -> tuple[int, int]:
        start = len(self._numbers)
        self._numbers += map(float, numbers)
        return start, len(self._numbers)

    def _emit(self, operation: int, *operands: int) -> int:
        self._code += _flat([(operation, *operands)], INSTRUCTION)
        return len(self._code) - INSTRUCTION

    def _range(self, start: int) -> tuple[int, int]:
        self._depth = max(self._depth, (len(self._code) - start) // INSTRUCTION)
        return start, len(self._code)

    def _expression(self, expression: Expression) -> tuple[int, int]:
        start = len(self._code)
        for kind, content in expression.steps:
            if kind == "number":
                self._emit(NUMBER, self._pool([content])[0])
            elif kind == "column":
                self._emit(CELL, self._schema.position(content))
            elif kind == "table":
                keys, values = content.sorted
                first, _ = self._pool((*keys, *values))
                self._emit(LOOKUP, self._schema.position(content.name), first, first + len(keys))
            elif kind in _OPERATIONS:
                self._emit(_OPERATIONS[kind], content)
            else:
                raise UnsupportedOperationError(kind)
        return self._range(start)

    def _formula(self, formula: Formula) -> tuple[int, int]:
        """Emits what judges a formula, and remembers where that is."""
        start = len(self._code)
        if isinstance(formula, Comparison):
            self._expression(formula.left)
            self._expression(formula.right)
            known = () if formula.tests_a_state else dict.fromkeys((*formula.left.numbers, *formula.right.numbers))
            self._emit(COMPARE, _OPERATORS[formula.operator], *self._list(map(self._schema.position, known)))
        elif isinstance(formula, Among):
            self._emit(AMONG, self._schema.position(formula.name), *self._pool(sorted(formula.values)))
        elif isinstance(formula, Missing):
            self._emit(MISSING, self._schema.position(formula.name))
        elif isinstance(formula, Not):
            self._formula(formula.part)
            self._emit(NEGATE, 1)
        elif isinstance(formula, Implication):
            self._formula(formula.condition)
            self._emit(NEGATE, 1)
            self._formula(formula.consequence)
            self._emit(MOST, 2)
        else:
            for part in formula.parts:
                self._formula(part)
            self._emit(MOST if isinstance(formula, AnyOf) else LEAST, len(formula.parts))
        self._ranges[id(formula)] = self._range(start)
        return self._ranges[id(formula)]

    def _unless_broken(self, formula: Formula) -> int:
        """Emits a jump over what follows; its goal is set by `_land`."""
        return self._emit(SKIP_UNLESS_BROKEN, *self._ranges[id(formula)])

    def _land(self, jump: int) -> None:
        self._code[jump + 3] = len(self._code)

    def _undo(self, formula: Formula) -> None:
        self._emit(UNDO, *self._list(map(self._schema.position, formula.names)))

    def _repair(self, formula: Formula) -> None:
        """Emits what `RuleBook.repaired` does to a row that breaks a rule, or a part of one."""
        if isinstance(formula, Implication):
            self._repair(formula.consequence)
            for broken, undone in ((formula.consequence, formula.condition), (formula, formula)):
                jump = self._unless_broken(broken)
                self._undo(undone)
                self._land(jump)
        elif isinstance(formula, All):
            for part in formula.parts:
                jump = self._unless_broken(part)
                self._repair(part)
                self._land(jump)
        elif isinstance(formula, Among) and len(formula.values) == 1:
            self._emit(PUT, self._schema.position(formula.name), self._pool(formula.values)[0])
        elif isinstance(formula, Comparison) and (form := self._book.linear(formula)) is not None:
            operation = SOLVE if formula.operator == "=" else RETREAT
            limits = len(form.columns) == 1 and formula.operator in ("<=", ">=")
            slopes, _ = self._pool((*form.slopes, form.constant))
            pulls = self._book.order(formula) is not None
            self._emit(PULL if pulls else operation, *self._list(form.columns), slopes, int(limits))
        else:
            self._undo(formula)

    def _gaps(self, formula: Formula) -> dict[int, tuple[int, int]]:
        """Emits left − right of the comparisons whose sizes `no_worse` compares."""
        if isinstance(formula, Implication):
            return self._gaps(formula.consequence)
        if isinstance(formula, All):
            return {key: found for part in formula.parts for key, found in self._gaps(part).items()}
        if not self._book.has_size(formula):
            return {}
        assert isinstance(formula, Comparison)
        start = len(self._code)
        self._expression(formula.left)
        self._expression(formula.right)
        self._emit(SUBTRACT, 2)
        return {id(formula): self._range(start)}

    def _excess(self, formula: Formula, gaps: dict[int, tuple[int, int]]) -> None:
        """Emits by how much a row breaks a formula."""
        if isinstance(formula, Implication):
            self._excess(formula.consequence, gaps)
        elif isinstance(formula, All):
            for part in formula.parts:
                jump = self._unless_broken(part)
                self._excess(part, gaps)
                self._land(jump)
        elif id(formula) in gaps:
            self._emit(GAP, *gaps[id(formula)])
        else:
            self._emit(NO_SIZE)


def _columns_of(groups: Iterable[Lookup]) -> list[int]:
    return sorted({j for group in groups for j in group.columns})


def _flat(records: Iterable[tuple[int, ...]], width: int) -> list[int]:
    """Records one after the other, each filled up with zeros."""
    return [number for record in records for number in (*record, *(0,) * (width - len(record)))]


def _grid(feature: Feature) -> int:
    if not feature.numeric or feature.step == 1:
        return UNIT
    if feature.step is None:
        return SIX_DIGITS
    return MULTIPLES if decimals_of(feature.step) is None else DECIMAL


def _scales(feature: Feature) -> tuple[float, ...]:
    step = (feature.step or 0.0) if feature.numeric else 1.0
    decimals = decimals_of(step)
    scale = 1.0 if decimals is None else 10.0**decimals
    top = np.inf if feature.numeric else len(feature.levels) - 1.0
    return step, scale, step * scale, feature.pace or 0.0, feature.clock or 0.0, top
