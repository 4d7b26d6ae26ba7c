"""Rules, laws and computed columns of one row: kernels beside `RuleBook`; see `attain.tables.region_kernels`."""

from __future__ import annotations

import math

import numpy as np

from attain.core.compiled import lean
from attain.core.order_kernels import ONE, ZERO
from attain.tables import program as p
from attain.tables.cell_kernels import entries_below, ordinary, same, within
from attain.tables.program import Program

_SLACK = 1e-9
_PASSES = 3


@lean
def located(cell: float, numbers: np.ndarray, start: int, end: int) -> int:
    """The key that a cell is, by its position; −1 where it is none."""
    after = min(start + entries_below(numbers, start, end, cell), end - 1)
    before = max(after - 1, start)
    nearest = before if abs(cell - numbers[before]) < abs(cell - numbers[after]) else after
    key = numbers[nearest]
    return nearest if abs(cell - key) <= _SLACK * max(1.0, min(abs(cell), abs(key))) else -1


@lean
def run(start: int, end: int, row: np.ndarray, program: Program, stack: np.ndarray) -> float:
    """The value that the instructions from start to end make of a row."""
    integers, code, numbers, _ = program
    top = 0
    for at in range(start, end, p.INSTRUCTION):
        operation, a, b, c = code[at], code[at + 1], code[at + 2], code[at + 3]
        if operation <= p.LOOKUP or operation >= p.AMONG:
            if operation == p.NUMBER:
                value = numbers[a]
            elif operation == p.CELL:
                value = row[a]
            elif operation == p.MISSING:
                value = 1.0 if row[a] != row[a] else -1.0
            else:
                found = located(row[a], numbers, b, c)
                if operation == p.AMONG:
                    value = 0.0 if row[a] != row[a] else (1.0 if found >= 0 else -1.0)
                else:
                    value = math.nan if found < 0 else numbers[found + c - b]
        elif operation == p.COMPARE:
            top -= 2
            left, right = stack[top], stack[top + 1]
            gap, slack = left - right, _SLACK * max(1.0, min(abs(left), abs(right)))
            if a == p.AT_MOST or a == p.ABOVE:
                holds = (gap <= slack) == (a == p.AT_MOST)
            elif a == p.AT_LEAST or a == p.BELOW:
                holds = (gap >= -slack) == (a == p.AT_LEAST)
            else:
                holds = (abs(gap) <= slack) == (a == p.EQUAL)
            value = 0.0 if gap != gap else (1.0 if holds else -1.0)
            for known in range(b, c):
                if not ordinary(row[integers[known]], integers[known], integers, numbers):
                    value = 0.0
        else:
            top -= a
            value = stack[top]
            if operation == p.NEGATE:
                value = -value
            elif operation == p.ABSOLUTE:
                value = abs(value)
            elif operation == p.ROUND:
                value = np.rint(value)
            elif operation == p.FLOOR:
                value = np.floor(value)
            elif operation == p.CEIL:
                value = np.ceil(value)
            elif operation == p.ROOT:
                value = np.sqrt(value)
            for i in range(top + 1, top + a):
                other = stack[i]
                if operation == p.ADD or operation == p.SUM:
                    value += other
                elif operation == p.SUBTRACT:
                    value -= other
                elif operation == p.MULTIPLY:
                    value *= other
                elif operation == p.DIVIDE:
                    value /= other
                elif value == value and (other != other or (other < value) == (operation == p.LEAST)):
                    value = other
        stack[top] = value
        top += 1
    return stack[0]


@lean
def broken(k: int, row: np.ndarray, program: Program, stack: np.ndarray) -> bool:
    """Whether a row breaks rule k."""
    rule = program.integers[p.RULES] + k * p.RECORD
    return run(program.integers[rule + p.JUDGE], program.integers[rule + p.JUDGE_END], row, program, stack) == -1.0


@lean
def find_parts(section: int, row: np.ndarray, integers: np.ndarray, numbers: np.ndarray, parts: np.ndarray) -> None:
    """The part that each cell is in, for the columns of a section; see `Parts.number`."""
    for at in range(integers[section], integers[section + 1]):
        j = integers[at]
        cell, column = row[j], p.HEADER + j * p.RECORD
        if integers[column + p.KIND] >= p.UNORDERED:
            levels = integers[column + p.STATES_END] - integers[column + p.STATES]
            parts[j] = levels + 1 if cell != cell else int(within(cell, 0.0, float(levels)))
        else:
            start, end = integers[column + p.EDGES], integers[column + p.EDGES_END]
            parts[j] = end - start + 1 if cell != cell else entries_below(numbers, start, end, cell)


@lean
def find_broken(quickly: int, row: np.ndarray, program: Program, marks: np.ndarray, stack: np.ndarray) -> bool:
    """Which rules a row breaks, into `marks` after the first d, and whether there is any.

    With `quickly` only whether there is any, among those that `RuleBook.all_kept` looks at.
    """
    integers, _, numbers, tables = program
    d, some, groups = len(row), False, p.GROUPS
    if quickly:
        groups = p.MOVABLE
        find_parts(p.MOVABLE_COLUMNS, row, integers, numbers, marks)
    else:
        find_parts(p.GROUP_COLUMNS, row, integers, numbers, marks)
        for k in range(d, len(marks)):
            marks[k] = 0
    for group in range(integers[groups], integers[groups + 1], p.RECORD):
        where = integers[group + p.TABLE]
        for i in range(group, group + 3):
            if integers[i] >= 0:
                where += marks[integers[i]] * integers[i + p.STRIDES]
        if tables[where]:
            some = True
            if quickly:
                return True
            for member in range(integers[group + p.MEMBERS], integers[group + p.MEMBERS_END]):
                where += integers[group + p.COMBINATIONS]
                if tables[where]:
                    marks[d + integers[member]] = 1
    for order in range(integers[p.ORDERS], integers[p.ORDERS + 1], p.RECORD):
        low, high = integers[order + p.LOW], integers[order + p.HIGH]
        small, large = row[low], row[high]
        above = small - large > _SLACK * max(1.0, max(abs(small), abs(large)))
        if above and ordinary(small, low, integers, numbers) and ordinary(large, high, integers, numbers):
            some = True
            if quickly:
                return True
            marks[d + integers[order + p.RULE]] = 1
    for at in range(integers[p.OTHERS], integers[p.OTHERS + 1]):
        k = integers[at]
        followed = integers[integers[p.RULES] + k * p.RECORD + p.FOLLOWED]
        if not (quickly and followed) and broken(k, row, program, stack):
            some = True
            if quickly:
                return True
            marks[d + k] = 1
    return some


@lean
def excess(k: int, row: np.ndarray, program: Program, stack: np.ndarray) -> float:
    """By how much a row breaks rule k."""
    integers, code, _, _ = program
    rule = integers[p.RULES] + k * p.RECORD
    at, end, size = integers[rule + p.EXCESS], integers[rule + p.EXCESS_END], 0.0
    while at < end:
        operation, a, b, goal = code[at], code[at + 1], code[at + 2], code[at + 3]
        at += p.INSTRUCTION
        value = math.inf if operation == p.NO_SIZE else run(a, b, row, program, stack)
        if operation != p.SKIP_UNLESS_BROKEN:
            size = max(size, math.inf if value != value else abs(value))
        elif value != -1.0:
            at = goal
    return size


@lean
def no_worse(k: int, row: np.ndarray, own: np.ndarray, program: Program, stack: np.ndarray) -> bool:
    """Whether a row that breaks rule k does so as its factual does, or by less."""
    integers = program.integers
    rule = integers[p.RULES] + k * p.RECORD
    equal = True
    for at in range(integers[rule + p.USES], integers[rule + p.USES_END]):
        equal = equal and same(row[integers[at]], own[integers[at]])
    if equal:
        return True
    now = excess(k, row, program, stack)
    return math.isfinite(now) and now <= excess(k, own, program, stack)


@lean
def find_unkept(
    row: np.ndarray, own: np.ndarray, may: np.ndarray, program: Program, marks: np.ndarray, stack: np.ndarray
) -> bool:
    """The rules that a row does not keep, as `Region.kept` has it; says whether there is any."""
    some, d, integers = False, len(row), program.integers
    if find_broken(ZERO, row, program, marks, stack):
        for k in range(len(marks) - d):
            if marks[d + k]:
                followed = integers[integers[p.RULES] + k * p.RECORD + p.FOLLOWED]
                if followed or (may[integers[p.EXCUSED] + k] and no_worse(k, row, own, program, stack)):
                    marks[d + k] = 0
                else:
                    some = True
    return some


@lean
def keeps(
    row: np.ndarray, own: np.ndarray, may: np.ndarray, program: Program, marks: np.ndarray, stack: np.ndarray
) -> bool:
    """`Region.keeps`."""
    if not find_broken(ONE, row, program, marks, stack):
        return True
    excused = False
    for k in range(program.integers[p.EXCUSED], len(may)):
        excused = excused or may[k]
    return excused and not find_unkept(row, own, may, program, marks, stack)


@lean
def compute(row: np.ndarray, own: np.ndarray, program: Program, stack: np.ndarray) -> None:
    """`RuleBook._computed`, in place."""
    integers, _, numbers, _ = program
    for one in range(integers[p.DERIVATIONS], integers[p.DERIVATIONS + 1], p.RECORD):
        column, follows = integers[one + p.COLUMN], integers[one + p.FOLLOWS]
        changed, defined = False, ordinary(own[column], column, integers, numbers)
        for at in range(integers[one + p.INPUTS], integers[one + p.INPUTS_END]):
            j = integers[at]
            changed = changed or not same(row[j], own[j])
            defined = defined and ordinary(row[j], j, integers, numbers)
        row[column] = own[column]
        if changed and (defined or not follows):
            value = run(integers[one + p.START], integers[one + p.END], row, program, stack)
            if not follows or math.isfinite(value):
                row[column] = value if value == value else math.nan


@lean
def linear(start: int, end: int, slopes: int, row: np.ndarray, integers: np.ndarray, numbers: np.ndarray) -> float:
    """A linear form of the columns integers[start:end]."""
    total = 0.0
    for at in range(start, end):
        total += row[integers[at]] * numbers[slopes + at - start]
    return total + numbers[slopes + end - start]


@lean
def solve(
    start: int,
    end: int,
    slopes: int,
    gap: float,
    row: np.ndarray,
    own: np.ndarray,
    may: np.ndarray,
    integers: np.ndarray,
    numbers: np.ndarray,
) -> None:
    """Solves a linear form for one free feature, preferably one that the row does not change."""
    chosen, rank = start, 3
    for at in range(start, end):
        j = integers[at]
        this = 2 if may[j] else (0 if same(row[j], own[j]) else 1)
        if this < rank:
            chosen, rank = at, this
    if abs(gap) > 0 and rank < 2:
        row[integers[chosen]] -= gap / numbers[slopes + chosen - start]


@lean
def repair_rule(
    k: int, row: np.ndarray, own: np.ndarray, may: np.ndarray, pulls: bool, program: Program, stack: np.ndarray
) -> None:
    """`RuleBook._repair`, in place."""
    integers, code, numbers, _ = program
    rule = integers[p.RULES] + k * p.RECORD
    at, end = integers[rule + p.REPAIR], integers[rule + p.REPAIR_END]
    while at < end:
        operation, a, b, c, to_limit = code[at], code[at + 1], code[at + 2], code[at + 3], code[at + 4]
        at += p.INSTRUCTION
        if operation == p.SKIP_UNLESS_BROKEN:
            if run(a, b, row, program, stack) != -1.0:
                at = c
        elif operation == p.PUT:
            if not may[a]:
                row[a] = numbers[b]
        elif operation == p.UNDO:
            for entry in range(a, b):
                row[integers[entry]] = own[integers[entry]]
        else:
            if operation == p.PULL and pulls:
                first, second = integers[a], integers[b - 1]
                moved = not same(row[first], own[first])
                other = second if moved else first
                if moved == same(row[second], own[second]) and not may[other]:
                    row[other] = row[first if moved else second]
                    continue
            gap, before = linear(a, b, c, row, integers, numbers), linear(a, b, c, own, integers, numbers)
            if operation == p.SOLVE or (to_limit and np.sign(gap) == np.sign(before)):
                solve(a, b, c, gap, row, own, may, integers, numbers)
                gap = 0.0
            if operation != p.SOLVE:  # back towards the factual, just far enough
                share = within(before / (before - gap), 0.0, 1.0)
                for entry in range(a, b):
                    j = integers[entry]
                    row[j] = own[j] + (share if share == share else 0.0) * (row[j] - own[j])


@lean
def repair(
    row: np.ndarray,
    own: np.ndarray,
    may: np.ndarray,
    pulls: bool,
    program: Program,
    marks: np.ndarray,
    stack: np.ndarray,
) -> None:
    """`RuleBook.repaired`, in place."""
    d, excused = len(row), program.integers[p.EXCUSED]
    for _ in range(_PASSES):
        done = True
        if find_broken(ZERO, row, program, marks, stack):
            for k in range(len(marks) - d):
                if marks[d + k] and not may[excused + k] and broken(k, row, program, stack):
                    done = False
                    repair_rule(k, row, own, may, pulls, program, stack)
        if done:
            break


@lean
def take_from_guide(
    row: np.ndarray,
    guide: np.ndarray,
    own: np.ndarray,
    may: np.ndarray,
    program: Program,
    marks: np.ndarray,
    stack: np.ndarray,
) -> None:
    """The features of rules that a row breaks from its guide."""
    integers, d = program.integers, len(row)
    find_unkept(row, own, may, program, marks, stack)
    for k in range(len(marks) - d):
        if marks[d + k]:
            rule = integers[p.RULES] + k * p.RECORD
            for at in range(integers[rule + p.USES], integers[rule + p.USES_END]):
                row[integers[at]] = guide[integers[at]]
