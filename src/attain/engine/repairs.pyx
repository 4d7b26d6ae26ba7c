"""How one row that breaks rules is repaired where that is easy.

An order `a <= b` of which one side moved moves the other along. Any other linear inequality moves back towards the
factual just far enough, an equality is solved for one column, an implication is repaired by enforcing its consequence,
or else by undoing its condition. Any other rule, and one that this does not repair, is repaired by undoing its changes.
Which of these a rule takes is in its instructions.
"""

from libc.math cimport fabs

from attain.engine.cells cimport same, within
from attain.engine.rules cimport LIMIT, PULL, PUT, SKIP_UNLESS_BROKEN, SOLVE, UNDO, Instruction, Room, Rules

cdef int PASSES = 3  # how often all rules are gone through: what one moves, another may refuse


cdef double linear(Rules rules, const Instruction* form, const double* row) noexcept nogil:
    """Σ row[column] · slope + constant, the left side of a comparison minus its right side."""
    cdef double total = 0.0
    cdef Py_ssize_t i, number = form.number
    for i in range(form.span.start, form.span.end):
        total += row[rules.lists[i]] * rules.numbers[number]
        number += 1
    return total + rules.numbers[number]


cdef void solve(
    Rules rules, const Instruction* form, double gap, double* row, const double* own, const unsigned char* frozen
) noexcept nogil:
    """Closes the gap of a linear form by one free column, preferably one that the row does not change."""
    cdef Py_ssize_t i, j, rank, best = 2, chosen = form.span.start
    for i in range(form.span.start, form.span.end):
        j = rules.lists[i]
        rank = 2 if frozen[j] else (0 if same(row[j], own[j]) else 1)
        if rank < best:
            best, chosen = rank, i
    if fabs(gap) > 0 and best < 2:
        row[rules.lists[chosen]] -= gap / rules.numbers[form.number + chosen - form.span.start]


cdef bint pull(
    Rules rules, const Instruction* form, double* row, const double* own, const unsigned char* frozen
) noexcept nogil:
    """Where one side of an order moved, the other follows it; says whether it does."""
    cdef Py_ssize_t first = rules.lists[form.span.start], second = rules.lists[form.span.start + 1]
    cdef bint first_moved = not same(row[first], own[first]), second_moved = not same(row[second], own[second])
    if first_moved == second_moved or frozen[second if first_moved else first]:
        return False
    if first_moved:
        row[second] = row[first]
    else:
        row[first] = row[second]
    return True


cdef void retreat(
    Rules rules, const Instruction* form, double* row, const double* own, const unsigned char* frozen
) noexcept nogil:
    """Moves the columns of a linear inequality back towards the factual, just far enough.

    A limit of one number that the factual does not keep either is the least change that does.
    """
    cdef double gap = linear(rules, form, row), before = linear(rules, form, own), share
    cdef Py_ssize_t i, j
    if form.operation == LIMIT and (gap > 0) - (gap < 0) == (before > 0) - (before < 0):
        solve(rules, form, gap, row, own, frozen)
        gap = 0.0
    share = within(before / (before - gap), 0.0, 1.0)
    if share != share:
        share = 0.0
    for i in range(form.span.start, form.span.end):
        j = rules.lists[i]
        row[j] = own[j] + share * (row[j] - own[j])


cdef void repair_rule(
    Rules rules, Py_ssize_t k, double* row, const double* own, const unsigned char* frozen, bint pulls, double* stack
) noexcept nogil:
    """Repairs a broken rule if that is easy."""
    cdef Py_ssize_t at = rules.rules[k].repair.start, i
    cdef const Instruction* now
    while at < rules.rules[k].repair.end:
        now = &rules.code[at]
        at += 1
        if now.operation == SKIP_UNLESS_BROKEN:
            if rules.run(now.span, row, stack) != -1.0:
                at = now.goal
        elif now.operation == PUT:
            if not frozen[now.column]:
                row[now.column] = rules.numbers[now.number]
        elif now.operation == UNDO:
            for i in range(now.span.start, now.span.end):
                row[rules.lists[i]] = own[rules.lists[i]]
        elif now.operation == SOLVE:
            solve(rules, now, linear(rules, now, row), row, own, frozen)
        elif not (now.operation == PULL and pulls and pull(rules, now, row, own, frozen)):
            retreat(rules, now, row, own, frozen)


cdef void repair(
    Rules rules,
    double* row,
    const double* own,
    const unsigned char* frozen,
    const unsigned char* excused,
    bint pulls,
    Room room,
) noexcept nogil:
    """Repairs broken rules where that is easy; with `pulls`, an order moves its other side along."""
    cdef bint done = False
    cdef Py_ssize_t k
    cdef int attempt
    for attempt in range(PASSES):
        if done or not rules.find_broken(row, room):
            return
        done = True
        for k in range(rules.number):
            # an earlier repair may have mended it
            if room.broken[k] and not excused[k] and rules.breaks(k, row, room.stack):
                done = False
                repair_rule(rules, k, row, own, frozen, pulls, room.stack)
