"""Final form, rules and time of one row after the other: kernels beside `Region`, `RuleBook` and `Timing`.

A row is finished before the next one begins. What is known about columns and rules is a `Program`. `row` is one row;
`own` has its owner's `Limits.values`, of which the first d are the factual, and `may` the owner's `Limits.flags`.
"""

from __future__ import annotations

import math

import numpy as np

from attain.core.compiled import kernel, lean
from attain.tables import program as p
from attain.tables.grid import DIGITS, LOG10_OF_2
from attain.tables.program import Limits, Program

_SLACK = 1e-9
_ROUNDING = 1e-6
_PASSES = 3
_BEYOND = 2.0**50

FLOATS, INTEGERS, FLAGS = np.zeros((1, 1)), np.zeros(1, dtype=np.int64), np.zeros((1, 1), dtype=np.bool_)
PROGRAM = Program(INTEGERS, INTEGERS, FLOATS[0], FLAGS[0])
LIMITS = Limits(FLOATS, FLAGS)
"""Examples of arguments."""


@lean
def same(a: float, b: float) -> bool:
    """Whether two cells are equal, or both missing."""
    return a == b or (a != a and b != b)


@lean
def within(value: float, low: float, high: float) -> float:
    """np.clip(value, low, high): NaN stays."""
    if value < low:
        value = low
    if value > high:
        value = high
    return value


@lean
def copy(source: np.ndarray, target: np.ndarray) -> None:
    for j in range(len(target)):
        target[j] = source[j]


@lean
def entries_below(numbers: np.ndarray, start: int, end: int, value: float) -> int:
    """np.searchsorted: how many of the sorted numbers[start:end] are below a value."""
    first = start
    while start < end:
        middle = (start + end) >> 1
        if numbers[middle] < value:
            start = middle + 1
        else:
            end = middle
    return start - first


@lean
def ordinary(cell: float, j: int, integers: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether a cell is neither missing nor a special code."""
    column = p.HEADER + j * p.RECORD
    known = cell == cell
    for c in range(integers[column + p.CODES], integers[column + p.CODES_END]):
        known = known and cell != numbers[c]
    return known


@lean
def exponent(value: float, numbers: np.ndarray) -> int:
    """⌊log₁₀|value|⌋."""
    size = abs(value)
    estimate = math.floor((math.frexp(size)[1] - 1) * LOG10_OF_2)
    return estimate + (size >= numbers[min(max(estimate + 308, 0), 615)])


@lean
def spacing(value: float, j: int, integers: np.ndarray, numbers: np.ndarray) -> float:
    """The distance between neighbouring grid values of column j near a value."""
    if integers[p.HEADER + j * p.RECORD + p.GRID] != p.SIX_DIGITS:
        return numbers[p.POWERS + j * p.SCALES + p.STEP]
    return numbers[min(max(exponent(value, numbers) - (DIGITS - 1) + 307, 0), 615)]


@lean
def on_grid(value: float, j: int, integers: np.ndarray, numbers: np.ndarray) -> float:
    """The nearest grid value of column j."""
    grid, scales = integers[p.HEADER + j * p.RECORD + p.GRID], p.POWERS + j * p.SCALES
    if grid == p.UNIT:
        return np.rint(value) + 0.0
    if grid == p.SIX_DIGITS:
        decimals = DIGITS - 1 - exponent(value, numbers)
        power = numbers[min(abs(decimals), 300) + 307]
        result = np.rint(value * power) / power if decimals >= 0 else np.rint(value / power) * power
        return (result if math.isfinite(result) else value) + 0.0
    multiples = np.rint(value / numbers[scales + p.STEP])
    if grid == p.MULTIPLES:
        result = multiples * numbers[scales + p.STEP]
    else:
        result = np.rint(multiples * numbers[scales + p.SCALED]) / numbers[scales + p.SCALE]
    return (result if abs(multiples) < _BEYOND else value) + 0.0


@lean
def placed(
    cell: float, own: float, j: int, low: float, high: float, integers: np.ndarray, numbers: np.ndarray
) -> float:
    """A number on its grid and within limits; NaN where there is none, the factual's for less than a grid's move."""
    clipped = within(cell, low, high)
    nearest = on_grid(clipped, j, integers, numbers)
    result = nearest
    if nearest > high:
        result = on_grid(result - spacing(clipped, j, integers, numbers), j, integers, numbers)
    if nearest < low:
        result = on_grid(result + spacing(clipped, j, integers, numbers), j, integers, numbers)
    if result < low or result > high:
        result = math.nan
    place = on_grid(own, j, integers, numbers)
    return own if place != own and (result == place or nearest == place or cell == own) else result


@lean
def level_allowed(
    code: int, own: float, j: int, low: float, high: float, integers: np.ndarray, may: np.ndarray
) -> bool:
    column = p.HEADER + j * p.RECORD
    return may[integers[column + p.STATES] + code] and (
        integers[column + p.KIND] != p.ORDERED or low <= code <= high or code == own
    )


@lean
def cell_kept(
    cell: float, own: float, j: int, low: float, high: float, integers: np.ndarray, numbers: np.ndarray, may: np.ndarray
) -> float:
    """What a cell of column j becomes; NaN where it cannot be kept."""
    column = p.HEADER + j * p.RECORD
    states, states_end = integers[column + p.STATES], integers[column + p.STATES_END]
    if integers[column + p.KIND] >= p.UNORDERED:
        code = -1 if cell != cell else int(within(np.rint(cell), -1.0, float(states_end - states - 1)))
        return float(code) if code >= 0 and level_allowed(code, own, j, low, high, integers, may) else math.nan
    result = placed(cell, own, j, low, high, integers, numbers)
    if integers[column + p.KIND] == p.CODED:
        if not may[states_end - 1] or not ordinary(result, j, integers, numbers):
            result = math.nan
        first = integers[column + p.CODES]
        for c in range(first, integers[column + p.CODES_END]):
            if cell == numbers[c]:
                result = numbers[c] if may[states + c - first] else math.nan
    return result


@lean
def put_cells(row: np.ndarray, own: np.ndarray, may: np.ndarray, integers: np.ndarray, numbers: np.ndarray) -> None:
    """`Region._cells`, in place."""
    d = len(row)
    free, end = integers[p.FREE], integers[p.FREE + 1]
    for j in range(d):
        cell, before, low, high = row[j], own[j], own[d + j], own[2 * d + j]
        row[j] = before
        if free == end or integers[free] != j:
            continue
        free += 1
        if not (may[j] or (cell == before and low <= cell <= high)):
            kept = cell_kept(cell, before, j, low, high, integers, numbers, may)
            if kept == kept and kept != before:
                row[j] = kept


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
    if find_broken(0, row, program, marks, stack):
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
    if not find_broken(1, row, program, marks, stack):
        return True
    excused = False
    for k in range(program.integers[p.EXCUSED], len(may)):
        excused = excused or may[k]
    return excused and not find_unkept(row, own, may, program, marks, stack)


@lean
def whole(months: float) -> float:
    return np.ceil(months - _ROUNDING * max(1.0, abs(months))) + 0.0


@lean
def clock_value(j: int, own: float, months: float, integers: np.ndarray, numbers: np.ndarray) -> float:
    """Where the clock of column j stands after some months."""
    if not months > 0:
        return own
    scales = p.POWERS + j * p.SCALES
    value = own + numbers[scales + p.RATE] * months
    apart, below = spacing(value, j, integers, numbers), on_grid(value, j, integers, numbers)
    if below > value + _ROUNDING * apart:
        below = on_grid(below - apart, j, integers, numbers)
    return min(own if own > below else below, numbers[scales + p.TOP])


@lean
def least_months(j: int, own: float, value: float, integers: np.ndarray, numbers: np.ndarray) -> float:
    """The months after which the clock of column j stands at a value or beyond."""
    months = max(whole((value - own) / numbers[p.POWERS + j * p.SCALES + p.RATE]), 0.0)
    if clock_value(j, own, months, integers, numbers) < value:
        months += 1
    if months > 0 and clock_value(j, own, months - 1, integers, numbers) >= value:
        months -= 1
    return months


@lean
def runs(j: int, own: np.ndarray, integers: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether a clock has a value that can advance."""
    return ordinary(own[j], j, integers, numbers) and own[j] < numbers[p.POWERS + j * p.SCALES + p.TOP]


@lean
def asked_months(row: np.ndarray, own: np.ndarray, integers: np.ndarray, numbers: np.ndarray) -> float:
    """The months that the leading clock shows."""
    for clock in range(integers[p.CLOCKS], integers[p.CLOCKS + 1], p.RECORD):
        j = integers[clock + p.COLUMN]
        if not integers[clock + p.FLAG] and runs(j, own, integers, numbers):
            moved = row[j] != own[j] and ordinary(row[j], j, integers, numbers)
            return least_months(j, own[j], row[j], integers, numbers) if moved else 0.0
    return 0.0


@lean
def needed_months(row: np.ndarray, own: np.ndarray, integers: np.ndarray, numbers: np.ndarray) -> float:
    """The months that the changes of features with a pace need."""
    needed = 0.0
    for pace in range(integers[p.PACES], integers[p.PACES + 1], p.RECORD):
        j = integers[pace + p.COLUMN]
        moved = row[j] != own[j] and ordinary(row[j], j, integers, numbers)
        if moved and ordinary(own[j], j, integers, numbers):
            size = abs(row[j] - own[j]) if integers[pace + p.FLAG] else 1.0
            needed = max(needed, whole(size / numbers[p.POWERS + j * p.SCALES + p.PACE]))
    return needed


@lean
def advance(row: np.ndarray, own: np.ndarray, months: float, integers: np.ndarray, numbers: np.ndarray) -> None:
    """Puts all clocks where they stand after some months."""
    for clock in range(integers[p.CLOCKS], integers[p.CLOCKS + 1], p.RECORD):
        j = integers[clock + p.COLUMN]
        row[j] = clock_value(j, own[j], months, integers, numbers) if runs(j, own, integers, numbers) else own[j]


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
                row[column] = value


@lean
def derive(row: np.ndarray, own: np.ndarray, program: Program, spare: np.ndarray, stack: np.ndarray) -> None:
    """`Region.derived`, in place: clocks in step, and computed columns on their grid."""
    integers, _, numbers, _ = program
    if integers[p.CLOCKS] < integers[p.CLOCKS + 1]:
        asked, changes = asked_months(row, own, integers, numbers), row
        if integers[p.FOLLOWERS_PACED]:
            copy(row, spare)
            advance(spare, own, 0.0, integers, numbers)
            compute(spare, own, program, stack)
            changes = spare
        months = max(asked, needed_months(changes, own, integers, numbers))
        advance(row, own, months, integers, numbers)
    compute(row, own, program, stack)
    for one in range(integers[p.DERIVATIONS], integers[p.DERIVATIONS + 1], p.RECORD):
        j = integers[one + p.COLUMN]
        if integers[p.HEADER + j * p.RECORD + p.KIND] < p.UNORDERED and row[j] != own[j]:
            row[j] = on_grid(row[j], j, integers, numbers)


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
        if find_broken(0, row, program, marks, stack):
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


@lean
def differs(row: np.ndarray, other: np.ndarray) -> bool:
    found = False
    for j in range(len(row)):
        found = found or not same(row[j], other[j])
    return found


@lean
def number_of_changes(row: np.ndarray, own: np.ndarray, integers: np.ndarray, numbers: np.ndarray) -> int:
    """How many features a row changes, waiting included."""
    number = 0
    for at in range(integers[p.COUNTED], integers[p.COUNTED + 1]):
        number += not same(row[integers[at]], own[integers[at]])
    if integers[p.CLOCKS] < integers[p.CLOCKS + 1]:
        number += asked_months(row, own, integers, numbers) > needed_months(row, own, integers, numbers)
    return number


@lean
def in_order(
    row: np.ndarray,
    own: np.ndarray,
    may: np.ndarray,
    program: Program,
    expected: np.ndarray,
    spare: np.ndarray,
    stack: np.ndarray,
) -> bool:
    """Whether computed cells are what their expressions say, and within their limits, and whether clocks stand where
    they do after the months that the row takes, and these are not too many.
    """
    integers, _, numbers, _ = program
    d = len(row)
    copy(row, expected)
    derive(expected, own, program, spare, stack)
    for one in range(integers[p.DERIVATIONS], integers[p.DERIVATIONS + 1], p.RECORD):
        j = integers[one + p.COLUMN]
        cell, low, high = row[j], own[d + j], own[2 * d + j]
        if not same(cell, expected[j]):
            return False
        if same(cell, own[j]):
            continue
        if integers[p.HEADER + j * p.RECORD + p.KIND] < p.UNORDERED:
            if cell < low or cell > high or not math.isfinite(cell):
                return False
        elif cell == cell and not level_allowed(int(cell), own[j], j, low, high, integers, may):
            return False
    months = max(asked_months(row, own, integers, numbers), needed_months(row, own, integers, numbers))
    advance(expected, own, months, integers, numbers)
    for clock in range(integers[p.CLOCKS], integers[p.CLOCKS + 1], p.RECORD):
        if not same(row[integers[clock + p.COLUMN]], expected[integers[clock + p.COLUMN]]):
            return False
    return months <= own[3 * d + 1]


@lean
def form(
    row: np.ndarray,
    guide: np.ndarray,
    guided: bool,
    own: np.ndarray,
    may: np.ndarray,
    program: Program,
    tried: np.ndarray,
    spare: np.ndarray,
    marks: np.ndarray,
    stack: np.ndarray,
) -> bool:
    """Puts a row into `Region.final_form`, in place; says whether it keeps the rules."""
    integers, numbers, d = program.integers, program.numbers, len(row)
    copy(row, tried)
    way = 0
    while True:  # as it is; from its guide, twice: what is taken over for one rule may break another; two repairs
        if way > 2:
            repair(tried, own, may, way == 3, program, marks, stack)
        elif way > 0:
            take_from_guide(tried, guide, own, may, program, marks, stack)
        put_cells(tried, own, may, integers, numbers)
        derive(tried, own, program, spare, stack)
        kept = len(marks) == d or keeps(tried, own, may, program, marks, stack)
        if kept or way == 0:
            copy(tried, row)
        way += 1
        if way == 1 and not (guided and differs(guide, row)):
            way = 3
        if kept or way > 4:
            return kept
        if way > 2:
            copy(row, tried)


@kernel((FLOATS, INTEGERS, FLOATS, True, True, PROGRAM, LIMITS, FLAGS[0]))
def settle(
    rows: np.ndarray,
    owners: np.ndarray,
    guides: np.ndarray,
    forms: bool,
    judges: bool,
    program: Program,
    limits: Limits,
    admitted: np.ndarray,
) -> None:
    """With `forms`, `Region.final_form` of rows, in place; with `judges`, `Region.admits`, into `admitted`.

    `guides` has as many rows, or none.
    """
    d, integers, numbers = rows.shape[1], program.integers, program.numbers
    values, flags = limits
    tried, spare, stack = np.empty(d), np.empty(d), np.empty(integers[p.DEPTH])
    marks = np.empty(d + flags.shape[1] - integers[p.EXCUSED], dtype=np.int64)
    guided = len(guides) > 0
    plain = integers[p.PLAIN]
    for i in range(len(rows)):
        row, own, may, guide = rows[i], values[owners[i]], flags[owners[i]], guides[i] if guided else rows[i]
        kept = True
        if forms:
            kept = form(row, guide, guided, own, may, program, tried, spare, marks, stack)
        if judges:
            good = kept and 0 < number_of_changes(row, own, integers, numbers) <= own[3 * d]
            if good and not forms and len(marks) > d:
                good = keeps(row, own, may, program, marks, stack)
            admitted[i] = good and (plain or in_order(row, own, may, program, tried, spare, stack))
