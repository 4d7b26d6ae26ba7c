"""The final form of one row: a record that could exist, for an owner, who is the factual it is made from.

Cells go on their grid and within limits, or stay as the owner's; frozen cells are copied bit for bit; computed columns
are computed; broken rules are repaired where that is easy.

An order `a <= b` of which one side moved moves the other along. Any other linear inequality moves back towards the
factual just far enough, an equality is solved for one column, an implication is repaired by enforcing its consequence,
or else by undoing its condition. Any other rule, and one that this does not repair, is repaired by undoing its changes.
Which of these a rule takes is in its instructions.
"""

import numpy as np

from attain.engine.cells import matrix

from libc.math cimport NAN, fabs, isfinite
from libc.string cimport memcpy

from attain.engine.cells cimport LEVELS, Column, Limits, kept_cell, may_take, rounded, same, within
from attain.engine.rules cimport LIMIT, PULL, PUT, SKIP_UNLESS_BROKEN, SOLVE, UNDO, Instruction, Room, Rules


cdef int PASSES = 3  # how often all rules are gone through: what one moves, another may refuse


cdef struct Repair:  # of one row
    double* row
    const double* own
    const unsigned char* frozen
    const unsigned char* excused
    bint pulls  # whether an order moves its other side along
    Room room


cdef double linear(Rules rules, const Instruction* form, const double* row) noexcept nogil:
    """Σ row[column] · slope + constant, the left side of a comparison minus its right side."""
    cdef double total = 0.0
    cdef Py_ssize_t i, number = form.number
    for i in range(form.span.start, form.span.end):
        total += row[rules.lists[i]] * rules.numbers[number]
        number += 1
    return total + rules.numbers[number]


cdef void solve(Rules rules, const Instruction* form, double gap, const Repair* now) noexcept nogil:
    """Closes the gap of a linear form by one free column, preferably one that the row does not change."""
    cdef Py_ssize_t i, j, rank, best = 2, chosen = form.span.start
    for i in range(form.span.start, form.span.end):
        j = rules.lists[i]
        rank = 2 if now.frozen[j] else (0 if same(now.row[j], now.own[j]) else 1)
        if rank < best:
            best, chosen = rank, i
    if fabs(gap) > 0 and best < 2:
        now.row[rules.lists[chosen]] -= gap / rules.numbers[form.number + chosen - form.span.start]


cdef bint pull(Rules rules, const Instruction* form, const Repair* now) noexcept nogil:
    """Moves one side of an order along with the other, if only that one moved; returns whether it does."""
    cdef Py_ssize_t first = rules.lists[form.span.start], second = rules.lists[form.span.start + 1]
    cdef bint first_moved = not same(now.row[first], now.own[first])
    if first_moved != same(now.row[second], now.own[second]) or now.frozen[second if first_moved else first]:
        return False
    if first_moved:
        now.row[second] = now.row[first]
    else:
        now.row[first] = now.row[second]
    return True


cdef void retreat(Rules rules, const Instruction* form, const Repair* now) noexcept nogil:
    """Moves the columns of a linear inequality back towards the factual, just far enough.

    A limit of one number that the factual does not keep either is the least change that does.
    """
    cdef double gap = linear(rules, form, now.row), before = linear(rules, form, now.own), share
    cdef Py_ssize_t i, j
    if form.operation == LIMIT and (gap > 0) - (gap < 0) == (before > 0) - (before < 0):
        solve(rules, form, gap, now)
        gap = 0.0
    share = within(before / (before - gap), 0.0, 1.0)
    if share != share:
        share = 0.0
    for i in range(form.span.start, form.span.end):
        j = rules.lists[i]
        now.row[j] = now.own[j] + share * (now.row[j] - now.own[j])


cdef void repair_rule(Rules rules, Py_ssize_t k, const Repair* now) noexcept nogil:
    """Repairs a broken rule if that is easy."""
    cdef Py_ssize_t at = rules.rules[k].repair.start, i
    cdef const Instruction* form
    while at < rules.rules[k].repair.end:
        form = &rules.code[at]
        at += 1
        if form.operation == SKIP_UNLESS_BROKEN:
            if rules.run(form.span, now.row, now.room.stack) != -1.0:
                at = form.goal
        elif form.operation == PUT:
            if not now.frozen[form.column]:
                now.row[form.column] = rules.numbers[form.number]
        elif form.operation == UNDO:
            for i in range(form.span.start, form.span.end):
                now.row[rules.lists[i]] = now.own[rules.lists[i]]
        elif form.operation == SOLVE:
            solve(rules, form, linear(rules, form, now.row), now)
        elif not (form.operation == PULL and now.pulls and pull(rules, form, now)):
            retreat(rules, form, now)


cdef void repair(Rules rules, const Repair* now) noexcept nogil:
    """Repairs broken rules where that is easy."""
    cdef bint done = False
    cdef Py_ssize_t k
    cdef int attempt
    for attempt in range(PASSES):
        if done or not rules.find_broken(now.row, now.room):
            return
        done = True
        for k in range(rules.number):
            # an earlier repair may have mended it
            if now.room.broken[k] and not now.excused[k] and rules.breaks(k, now.row, now.room.stack):
                done = False
                repair_rule(rules, k, now)


cdef class Settler:
    """What each of n owners may reach, over d columns, and the final form of candidates.

    Parameters
    ----------
    rules
        The columns, rules, laws and computed columns.
    cells
        Five arrays (n, d): the owners' rows, `factuals`; the cells that frozen ones take, `start`, which are the same but
        for clocks that have advanced; the limits of each cell, `low` and `high`; and which are `frozen`.
    states
        Which levels, or special codes and ordinary values, each owner may take, (n, states of all columns).
    excused
        Which rules each owner breaks and may go on breaking, (n, rules).
    counted
        The columns whose changes count, (d,).
    max_changes
        How many of them may change, (n,).
    """

    def __init__(self, Rules rules, cells, states, excused, counted, max_changes):
        self._given = rules, cells, states, excused, counted, max_changes
        self.rules, self.columns, self.owners = rules, rules.columns, len(cells[0])
        self.factuals, self.start, self.low, self.high = (matrix(part, self.columns) for part in cells[:4])
        self.frozen, self.states, self.excused, self.counted = (
            np.ascontiguousarray(flags, dtype=bool).view(np.uint8) for flags in (cells[4], states, excused, counted)
        )
        self.max_changes = np.ascontiguousarray(max_changes, dtype=np.intp)
        self.room = rules.room + self.columns
        self.places = np.empty((self.owners, self.columns))
        cdef Py_ssize_t i, j
        for i in range(self.owners):
            for j in range(self.columns):
                self.places[i, j] = rounded(self.factuals[i, j], &rules.column[j].grid)

    def __reduce__(self):
        return Settler, self._given

    cdef Limits limits(self, Py_ssize_t owner, Py_ssize_t j) noexcept nogil:
        cdef const unsigned char* allowed = &self.states[owner, self.rules.column[j].states.start]
        return Limits(self.factuals[owner, j], self.places[owner, j], self.low[owner, j], self.high[owner, j], allowed)

    cdef bint settle(self, double* row, const double* guide, Py_ssize_t owner, double* room) noexcept nogil:
        """Puts a row into final form, taking the columns of broken rules from a guide, if there is one and that helps.

        Returns whether it is admitted: it keeps the rules, changes something, and not too much.
        """
        self.rows_settled += 1
        return form(self, row, guide, owner, room) and counts(self, row, owner)

    cdef bint breaks_law(self, const double* row, Py_ssize_t owner, double* room) noexcept nogil:
        """Whether an admitted row breaks a law, as its owner does."""
        cdef Room space = self.rules.divided(room)
        cdef Py_ssize_t k
        if self.rules.find_broken(row, space):
            for k in range(self.rules.number):
                if space.broken[k] and self.excused[owner, k]:
                    return True
        return False

    def settled(self, rows, owners, guides=None):
        """The final form of rows, and which are admitted, (n,)."""
        result = matrix(rows, self.columns).copy()
        cdef double[:, ::1] cells = result
        cdef const double[:, ::1] models = None if guides is None else matrix(guides, self.columns, len(cells))
        cdef const Py_ssize_t[::1] who = self._checked(owners, rows)
        cdef unsigned char[::1] admitted = np.empty(len(rows), dtype=np.uint8)
        cdef double[::1] room = np.empty(self.room + 1)
        cdef const double* guide = NULL
        cdef Py_ssize_t i
        with nogil:
            for i in range(cells.shape[0]):
                if models is not None:
                    guide = &models[i, 0]
                admitted[i] = self.settle(&cells[i, 0], guide, who[i], &room[0])
        return result, np.asarray(admitted).view(bool)

    def kept(self, rows, owners):
        """Which rule or law (column) holds in which row, or is broken as its owner does, and not by more."""
        cdef const double[:, ::1] cells = matrix(rows, self.columns)
        cdef const Py_ssize_t[::1] who = self._checked(owners, rows)
        cdef unsigned char[:, ::1] result = np.empty((len(rows), self.rules.number), dtype=np.uint8)
        cdef double[::1] room = np.empty(self.room + 1)
        cdef Room space = self.rules.divided(&room[0])
        cdef Py_ssize_t i, k
        with nogil:
            for i in range(cells.shape[0]):
                find_unkept(self, &cells[i, 0], who[i], space)
                for k in range(self.rules.number):
                    result[i, k] = not space.broken[k]
        return np.asarray(result).view(bool)

    def _checked(self, owners, rows):
        owners = np.require(owners, dtype=np.intp, requirements="CA")
        if owners.shape != (len(rows),) or not ((owners >= 0) & (owners < self.owners)).all():
            raise IndexError(f"{len(rows)} rows need as many owners, from 0 to {self.owners - 1}")
        return owners


cdef void form_cells(Settler p, double* row, Py_ssize_t owner, double* stack) noexcept nogil:
    """Puts every cell on its grid and within its limits, and computes computed columns."""
    cdef Py_ssize_t j
    cdef double kept
    cdef Limits limits
    for j in range(p.columns):
        if p.frozen[owner, j]:
            row[j] = p.start[owner, j]
            continue
        limits = p.limits(owner, j)
        kept = NAN  # what stays as it is may be outside its limits
        if row[j] != limits.own:
            kept = kept_cell(row[j], &p.rules.column[j], &p.rules.numbers[0], &limits)
        row[j] = limits.own if kept != kept or kept == limits.own else kept  # 0 and −0 are equal
    p.rules.compute(row, &p.factuals[owner, 0], True, stack)


cdef bint find_unkept(Settler p, const double* row, Py_ssize_t owner, Room room) noexcept nogil:
    """The rules that a row breaks, but for laws that a computed column follows up to its rounding, and for those
    that its owner breaks, too, and not by less; into `room.broken`. Returns whether there is any.
    """
    cdef bint some = False
    cdef Py_ssize_t k
    if not p.rules.find_broken(row, room):
        return False
    for k in range(p.rules.number):
        if room.broken[k]:
            if p.rules.rules[k].followed or (
                p.excused[owner, k] and p.rules.no_worse(k, row, &p.factuals[owner, 0], room.stack)
            ):
                room.broken[k] = 0
            else:
                some = True
    return some


cdef bint take_from_guide(Settler p, double* row, const double* guide, Py_ssize_t owner, Room room) noexcept nogil:
    """Takes the columns of rules that a row breaks from its guide; returns whether that keeps all of them."""
    cdef Py_ssize_t k, i
    cdef int attempt
    for attempt in range(2):  # what is taken over for one rule may break another
        for k in range(p.rules.number):
            if room.broken[k]:
                for i in range(p.rules.rules[k].uses.start, p.rules.rules[k].uses.end):
                    row[p.rules.lists[i]] = guide[p.rules.lists[i]]
        form_cells(p, row, owner, room.stack)
        if not find_unkept(p, row, owner, room):
            return True
    return False


cdef bint form(Settler p, double* row, const double* guide, Py_ssize_t owner, double* room) noexcept nogil:
    """Puts a row into final form; returns whether it keeps the rules. A repair that leaves a rule broken is not used."""
    cdef double* tried = room + p.rules.room
    cdef size_t size = p.columns * sizeof(double)
    cdef Room space = p.rules.divided(room)
    cdef Repair now = Repair(tried, &p.start[owner, 0], &p.frozen[owner, 0], &p.excused[owner, 0], True, space)
    cdef int attempt
    form_cells(p, row, owner, space.stack)
    if not find_unkept(p, row, owner, space):
        return True
    if guide != NULL:
        memcpy(tried, row, size)
        if take_from_guide(p, tried, guide, owner, space):
            memcpy(row, tried, size)
            return True
    for attempt in range(2):
        now.pulls = attempt == 0
        memcpy(tried, row, size)
        repair(p.rules, &now)
        form_cells(p, tried, owner, space.stack)
        if not find_unkept(p, tried, owner, space):
            memcpy(row, tried, size)
            return True
    return False


cdef bint computed_within(Settler p, const double* row, Py_ssize_t owner) noexcept nogil:
    """Whether computed cells that differ from the owner's are within their limits."""
    cdef Py_ssize_t i, j
    cdef Limits limits
    cdef const Column* column
    for i in range(p.rules.derivations.shape[0]):
        j = p.rules.derivations[i].column
        column, limits = &p.rules.column[j], p.limits(owner, j)
        if same(row[j], limits.own):
            continue
        if column.kind < LEVELS:
            if row[j] < limits.low or row[j] > limits.high or not isfinite(row[j]):
                return False
        elif row[j] == row[j] and not may_take(<Py_ssize_t> row[j], column, &limits):
            return False
    return True


cdef bint counts(Settler p, const double* row, Py_ssize_t owner) noexcept nogil:
    """Whether a row changes something, not too much, and has computed cells within their limits."""
    cdef Py_ssize_t j, changes = 0
    for j in range(p.columns):
        if p.counted[j] and not same(row[j], p.factuals[owner, j]):
            changes += 1
    return 0 < changes <= p.max_changes[owner] and computed_within(p, row, owner)
