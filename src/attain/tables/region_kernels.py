"""Final form of one row after the other, and whether it is admitted: kernels beside `Region`.

A row is finished before the next one begins. What is known about columns and rules is a `Program`. `row` is one row;
`own` has its owner's `Limits.values`, of which the first d are the factual, and `may` the owner's `Limits.flags`.
"""

from __future__ import annotations

import math

import numpy as np

from attain.core.compiled import inlined, kernel, lean
from attain.tables import program as p
from attain.tables.cell_kernels import (
    FLAGS,
    FLOATS,
    INTEGERS,
    LIMITS,
    PROGRAM,
    copy,
    differs,
    level_allowed,
    on_grid,
    put_cells,
    same,
)
from attain.tables.clock_kernels import advance, asked_months, needed_months, number_of_changes
from attain.tables.program import Limits, Program, Scratch
from attain.tables.rule_kernels import compute, keeps, repair, take_from_guide


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
    like: np.ndarray,
    guide: np.ndarray,
    guided: bool,
    own: np.ndarray,
    may: np.ndarray,
    program: Program,
    scratch: Scratch,
) -> bool:
    """Puts a row into `Region.final_form`, in place; says whether it keeps the rules.

    `like` is a row in final form that it has most cells of, or one without any cells.
    """
    integers, numbers, d = program.integers, program.numbers, len(row)
    tried, spare, marks, stack = scratch.tried, scratch.spare, scratch.marks, scratch.stack
    copy(row, tried)
    way = 0
    while True:  # as it is; from its guide, twice: what is taken over for one rule may break another; two repairs
        if way > 2:
            repair(tried, own, may, way == 3, program, marks, stack)
        elif way > 0:
            take_from_guide(tried, guide, own, may, program, marks, stack)
        put_cells(tried, like, own, may, integers, numbers)
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


@lean
def counts(row: np.ndarray, own: np.ndarray, may: np.ndarray, program: Program, scratch: Scratch) -> bool:
    """Of a row that keeps the rules: whether it changes something, not too much, and whether all else is in order."""
    integers, numbers, d = program.integers, program.numbers, len(row)
    if not 0 < number_of_changes(row, own, integers, numbers) <= own[3 * d]:
        return False
    return integers[p.PLAIN] != 0 or in_order(row, own, may, program, scratch.tried, scratch.spare, scratch.stack)


@inlined
def scratch_for(d: int, program: Program, limits: Limits) -> Scratch:
    """Room for the final form of a row."""
    marks = d + limits.flags.shape[1] - program.integers[p.EXCUSED]
    stack = np.empty(program.integers[p.DEPTH])
    return Scratch(np.empty(d), np.empty(d), np.empty(marks, dtype=np.int64), stack, np.full(d, np.nan))


@kernel((FLOATS, FLOATS, PROGRAM))
def compute_all(rows: np.ndarray, factuals: np.ndarray, program: Program) -> None:
    """`RuleBook.computed`, in place."""
    stack = np.empty(program.integers[p.DEPTH])
    for i in range(len(rows)):
        compute(rows[i], factuals[i], program, stack)


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
    d, guided, scratch = rows.shape[1], len(guides) > 0, scratch_for(rows.shape[1], program, limits)
    for i in range(len(rows)):
        row, own, may = rows[i], limits.values[owners[i]], limits.flags[owners[i]]
        guide = guides[i] if guided else rows[i]
        if forms:
            kept = form(row, scratch.empty, guide, guided, own, may, program, scratch)
        else:
            kept = len(scratch.marks) == d or keeps(row, own, may, program, scratch.marks, scratch.stack)
        admitted[i] = kept and judges and counts(row, own, may, program, scratch)
