"""Rules, laws and computed columns of one row: which it breaks, by how much, and how it is repaired.

Expressions and formulas are one postfix code. A verdict is a number, 1 true, 0 unknown, −1 false; so `and` is the
smallest of its parts, `or` the largest, `not` the negative, and `if a then b` is max(−a, b). How a broken rule is
repaired (`attain.engine.settle`), and by how much a row breaks it, are instructions of the same code, with jumps over
what is not broken.
"""

import numpy as np

from attain.engine.cells import matrix

from libc.math cimport INFINITY, NAN, ceil, exp, fabs, floor, isfinite, log, pow, rint, sqrt

from attain.engine.cells cimport LEVELS, rounded, ordinary, same

OPERATIONS = {
    "number": NUMBER, "column": CELL, "table": TABLE, "in": AMONG, "missing": MISSING,
    "+": ADD, "sum": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE, "**": POWER, "negate": NEGATE, "abs": ABSOLUTE,
    "round": ROUND, "floor": FLOOR, "ceil": CEIL, "sqrt": ROOT, "log": LOG, "exp": EXP, "min": LEAST, "max": MOST,
    "<=": AT_MOST, ">=": AT_LEAST, "<": BELOW, ">": ABOVE, "=": EQUAL, "≠": UNEQUAL,
    "skip unless broken": SKIP_UNLESS_BROKEN, "put": PUT, "undo": UNDO, "solve": SOLVE, "retreat": RETREAT,
    "limit": LIMIT, "pull": PULL, "gap": GAP, "no size": NO_SIZE,
}
"""The operations of the code, by name."""

ctypedef double (*Function)(double) noexcept nogil
cdef Function[8] FUNCTIONS = [negative, fabs, rint, floor, ceil, sqrt, log, exp]  # from NEGATE on
cdef int[6] HOLDS = [0b011, 0b110, 0b001, 0b100, 0b010, 0b101]  # from AT_MOST on: a bit each for below, equal, above

cdef double TOLERANCE = 1e-9  # numbers that differ by less, relative to them or to 1, count as equal

cdef Instruction[1] _instruction
cdef Derivation[1] _derivation
cdef Rule[1] _rule
INSTRUCTION = np.asarray(<Instruction[:1]> _instruction).dtype
DERIVATION = np.asarray(<Derivation[:1]> _derivation).dtype
RULE = np.asarray(<Rule[:1]> _rule).dtype
"""The dtypes of the structs of a program."""


cdef Py_ssize_t located(double cell, const double* keys, Span span) noexcept nogil:
    """Where a cell is among sorted keys, up to rounding; −1 where it is none of them."""
    cdef Py_ssize_t low = span.start, high = span.end - 1, middle
    while low < high:  # the first key that is not below the cell, or the last
        middle = (low + high) // 2
        if keys[middle] < cell:
            low = middle + 1
        else:
            high = middle
    if low > span.start and fabs(cell - keys[low - 1]) < fabs(cell - keys[low]):
        low -= 1
    return low if fabs(cell - keys[low]) <= tolerance(cell, keys[low]) else -1


cdef double tolerance(double left, double right) noexcept nogil:
    return TOLERANCE * max(1.0, min(fabs(left), fabs(right)))


cdef double compared(Py_ssize_t operation, double left, double right) noexcept nogil:
    """The verdict of a comparison, up to rounding."""
    cdef double gap = left - right
    cdef int order = 1 if gap > 0 else -1
    if gap != gap:
        return 0.0
    if fabs(gap) <= tolerance(left, right):
        order = 0
    return 1.0 if HOLDS[operation - AT_MOST] >> (order + 1) & 1 else -1.0


cdef inline double negative(double value) noexcept nogil:
    return -value


cdef double joined(Py_ssize_t operation, double value, double other) noexcept nogil:
    if operation == ADD:
        return value + other
    if operation == SUBTRACT:
        return value - other
    if operation == MULTIPLY:
        return value * other
    if operation == DIVIDE:
        return value / other
    if operation == POWER:
        return pow(value, other)
    if value != value or other != other:
        return NAN
    return min(value, other) if operation == LEAST else max(value, other)


cdef double kept_distance(double own, double before, double value) noexcept nogil:
    """Where a cell moves as an expression moves from `before` to `value`; exactly the cell where that is no move."""
    if value == before or not isfinite(before):
        return own
    return own * (value / before) if own > 0 and before > 0 and value > 0 else own + (value - before)


cdef class Rules:
    """A rule book as arrays of structs, as `attain.tables.program` makes them.

    `lists` and `numbers` are what the spans of the structs are in.
    """

    def __init__(self, *given):
        # a buffer of structs cannot be read-only, as that of a mapped file is
        given = tuple(np.require(part, requirements="W") for part in given[:6]) + given[6:]
        self._given = given
        self.column, self.code, self.derivations, self.rules, self.lists, self.numbers, self.depth = given
        self.columns, self.number = len(self.column), len(self.rules)
        self.room = self.depth + self.number

    def __reduce__(self):
        return Rules, self._given

    cdef Room divided(self, double* room) noexcept nogil:
        return Room(room, <Py_ssize_t*> (room + self.depth))

    cdef double run(self, Span code, const double* row, double* stack) noexcept nogil:
        """The value of a span of instructions for a row."""
        cdef Py_ssize_t top = 0, at, i, found
        cdef const Instruction* now
        cdef double value
        cdef const double* numbers = &self.numbers[0]
        for at in range(code.start, code.end):
            now = &self.code[at]
            if now.operation == NUMBER:
                value = numbers[now.number]
            elif now.operation == CELL:
                value = row[now.column]
            elif now.operation == MISSING:
                value = 1.0 if row[now.column] != row[now.column] else -1.0
            elif now.operation == AMONG:
                found = located(row[now.column], numbers, now.span)
                value = 0.0 if row[now.column] != row[now.column] else 1.0 if found >= 0 else -1.0
            elif now.operation == TABLE:
                found = located(row[now.column], numbers, now.span)
                value = NAN if found < 0 else numbers[found + now.span.end - now.span.start]
            elif now.operation >= AT_MOST:
                top -= 2
                value = compared(now.operation, stack[top], stack[top + 1])
                for i in range(now.span.start, now.span.end):
                    if not ordinary(row[self.lists[i]], &self.column[self.lists[i]], numbers):
                        value = 0.0
            else:
                top -= now.count
                value = stack[top]
                if NEGATE <= now.operation <= EXP:
                    value = FUNCTIONS[now.operation - NEGATE](value)
                for i in range(top + 1, top + now.count):
                    value = joined(now.operation, value, stack[i])
            stack[top] = value
            top += 1
        return stack[0]

    cdef bint breaks(self, Py_ssize_t k, const double* row, double* stack) noexcept nogil:
        return self.run(self.rules[k].verdict, row, stack) == -1.0

    cdef bint find_broken(self, const double* row, Room room) noexcept nogil:
        """Which rules a row breaks, into `room.broken`; returns whether there is any."""
        cdef bint some = False
        cdef Py_ssize_t k
        for k in range(self.number):
            room.broken[k] = self.breaks(k, row, room.stack)
            some = some or room.broken[k]
        return some

    cdef bint no_worse(self, Py_ssize_t k, const double* row, const double* own, double* stack) noexcept nogil:
        """Whether a row that breaks rule k does so as its factual does, or by less."""
        cdef bint equal = True
        cdef Py_ssize_t i
        cdef double now
        for i in range(self.rules[k].uses.start, self.rules[k].uses.end):
            equal = equal and same(row[self.lists[i]], own[self.lists[i]])
        if equal:
            return True
        now = excess(self, k, row, stack)
        return isfinite(now) and now <= excess(self, k, own, stack)

    cdef void compute(self, double* row, const double* own, bint rounds, double* stack) noexcept nogil:
        """Computes each computed column again where one of its inputs differs from the factual's, then rounds them.

        A column that follows a law does so where all inputs and the factual's own cell are ordinary values. One that
        keeps its distance does so where the factual's inputs are ordinary, too: the ratio of its cell to the expression
        where these are positive, else their difference.
        """
        cdef Py_ssize_t i, k, j
        cdef bint changed, defined, partly
        cdef double value, before
        cdef const Derivation* one
        for i in range(self.derivations.shape[0]):
            one = &self.derivations[i]
            partly = one.follows or one.keeps
            changed, defined = False, ordinary(own[one.column], &self.column[one.column], &self.numbers[0])
            for k in range(one.inputs.start, one.inputs.end):
                j = self.lists[k]
                changed = changed or not same(row[j], own[j])
                defined = defined and ordinary(row[j], &self.column[j], &self.numbers[0])
                defined = defined and (not one.keeps or ordinary(own[j], &self.column[j], &self.numbers[0]))
            row[one.column] = own[one.column]
            if changed and (defined or not partly):
                value = self.run(one.code, row, stack)
                if one.keeps:
                    before = self.run(one.code, own, stack)
                    value = kept_distance(own[one.column], before, value)
                if isfinite(value) or not partly:
                    row[one.column] = value if value == value else NAN  # NaN without a sign
        for i in range(self.derivations.shape[0] if rounds else 0):
            j = self.derivations[i].column
            if self.column[j].kind < LEVELS and row[j] != own[j]:
                row[j] = rounded(row[j], &self.column[j].grid)

    def values(self, rows, spans):
        """The value of each span of instructions (k, 2) for each row, (n, k)."""
        cdef const double[:, ::1] cells = matrix(rows, self.columns)
        cdef const Py_ssize_t[:, ::1] ends = spans
        cdef double[:, ::1] result = np.empty((len(cells), len(ends)))
        cdef double[::1] stack = np.empty(self.depth + 1)
        cdef Py_ssize_t i, k
        with nogil:
            for i in range(cells.shape[0]):
                for k in range(ends.shape[0]):
                    result[i, k] = self.run(Span(ends[k, 0], ends[k, 1]), &cells[i, 0], &stack[0])
        return np.asarray(result)

    def computed(self, rows, factuals, bint rounds):
        """The rows with their computed columns computed again; with `rounds` on their grid."""
        result = matrix(rows, self.columns).copy()
        cdef double[:, ::1] cells = result
        cdef const double[:, ::1] own = matrix(factuals, self.columns, len(cells))
        cdef double[::1] stack = np.empty(self.depth + 1)
        cdef Py_ssize_t i
        with nogil:
            for i in range(cells.shape[0]):
                self.compute(&cells[i, 0], &own[i, 0], rounds, &stack[0])
        return result


cdef double excess(Rules rules, Py_ssize_t k, const double* row, double* stack) noexcept nogil:
    """By how much a row breaks rule k; infinite where that has no size."""
    cdef Py_ssize_t at = rules.rules[k].excess.start
    cdef double size = 0.0, value
    cdef const Instruction* now
    while at < rules.rules[k].excess.end:
        now = &rules.code[at]
        at += 1
        if now.operation == NO_SIZE:
            return INFINITY
        value = rules.run(now.span, row, stack)
        if now.operation == GAP:
            size = max(size, INFINITY if value != value else fabs(value))
        elif value != -1.0:
            at = now.goal
    return size
