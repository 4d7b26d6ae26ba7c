"""How a candidate becomes cheaper, version by version.

A candidate flips the decision. It goes through

- walks: its changes go back, the dearest first, each whole, or else as far as bisection over values of real people
  finds; first with a small weight of the excess, then with a large one;
- attractions, while it exceeds the guard's limits: one cell, or all, move to a near real row's, or half of the way;
  then it walks again;
- pairs, the best few candidates only: one of the dearest changes goes back, wholly or by half, and another cell makes up
  for it, by the cheapest value that flips the decision or by a near real row's; then it walks again.
"""

from libc.math cimport INFINITY
from libc.string cimport memcmp, memcpy

from attain.engine.cells cimport first_above
from attain.engine.person cimport Memory, People, Person, Pool, insert_row
from attain.engine.shortlist cimport Measured, Shortlist
from attain.engine.starts cimport sort_by

cdef enum:
    DONE, WALK, ATTRACT, PAIR
    LISTED = 24  # the most versions that a candidate has listed


cdef class Candidates:
    """The candidates of one person: of `each`, as many as `number` says."""

    def __cinit__(self, Person person, Shortlist shortlist, Pool pool, Memory memory):
        cdef Py_ssize_t d = person.people.columns, most = 2 * person.people.settings.candidates, i
        self.people, self.person, self.shortlist, self.pool = person.people, person, shortlist, pool
        self.tried, self.base, self.shifts = memory.numbers(d), memory.numbers(d), memory.numbers(d)
        # after a relaxation there are those before it, too
        self.each = <Candidate*>memory.numbers(most * sizeof(Candidate) // sizeof(double) + 1)
        for i in range(most):
            self.each[i].row, self.each[i].now = memory.numbers(d), shortlist.new_measured(memory)
            self.each[i].versions, self.each[i].merits = memory.numbers(LISTED * d), memory.numbers(LISTED)
            self.each[i].order = memory.positions(d)

    cdef void add(self, const double* row) noexcept nogil:
        """Adds a candidate."""
        begin(self, &self.each[self.number], row)
        self.number += 1

    cdef void begin_again(self, Py_ssize_t most) noexcept nogil:
        """Begins again with the first candidates, after the limits were relaxed."""
        cdef Py_ssize_t i
        self.number = min(self.number, most)
        for i in range(self.number):
            begin(self, &self.each[i], self.each[i].row)

    cdef void walk(self, double weight) noexcept nogil:
        """Begins the walks of all candidates."""
        cdef Py_ssize_t i
        for i in range(self.number):
            walk(self, &self.each[i], weight)

    cdef void pair_best(self) noexcept nogil:
        """Begins the pairs of the best candidates."""
        cdef Py_ssize_t i, turn
        cdef double merit, least, penalty = self.people.settings.penalty
        cdef Candidate* best
        for turn in range(min(self.people.settings.paired, self.number)):
            best, least = NULL, 0.0
            for i in range(self.number):
                merit = self.each[i].now.cost + penalty * self.each[i].now.excess
                if not self.each[i].pairing and (best == NULL or merit < least):
                    best, least = &self.each[i], merit
            best.rounds, best.pairing, best.weight = 0, True, penalty
            list_pairs(self, best)

    cdef bint covers(self, const double* row, Py_ssize_t first) noexcept nogil:
        """Whether a row changes all that some candidate changes, from the `first` one on."""
        cdef Py_ssize_t i, j
        for i in range(first, self.number):
            for j in range(self.people.columns):
                if self.people.price.counted[j] and self.person.differs(self.each[i].row, j) and (
                    not self.person.differs(row, j)
                ):
                    break
            else:
                return True
        return False

    cdef const double* propose(self, Candidate* c, Py_ssize_t* n) noexcept nogil:
        """The next versions of a candidate to ask about, one row after the other; n is set to how many."""
        cdef Py_ssize_t first = c.next
        n[0] = 0
        while c.phase != DONE:
            if c.phase == WALK:
                if next_reversion(self, c):
                    n[0] = 1
                    return self.tried
                walked(self, c)
            elif c.next < c.listed:
                first = c.next
                n[0] = min(self.people.settings.at_once, c.listed - c.next)
                c.next += n[0]
                return c.versions + first * self.people.columns
            elif c.phase == ATTRACT and c.pairing:
                list_pairs(self, c)
            else:
                c.phase = DONE
        return NULL

    cdef bint decide(self, Candidate* c, const double* row, bint met) noexcept nogil:
        """Moves a candidate to a version that flips the decision; returns whether the others just asked about are moot."""
        if c.phase == WALK:
            if met:
                put(self, c, row, &c.now)
            reverted(self, c, met)
        elif met:
            put(self, c, row, &c.now)
            walk(self, c, self.people.settings.penalty)
        return met


cdef double merit_of(const Candidate* c) noexcept nogil:
    return c.now.cost + c.weight * c.now.excess


cdef void begin(Candidates s, Candidate* c, const double* row) noexcept nogil:
    """Makes a row a candidate, measured afresh."""
    c.rounds, c.pairing = 0, False
    put(s, c, row, NULL)


cdef void put(Candidates s, Candidate* c, const double* row, const Measured* like) noexcept nogil:
    """Puts a row that flips the decision in the place of a candidate, measured as much like another version, if any."""
    cdef Measured held
    s.shortlist.measure(row, s.shortlist.unrelated(row), like)
    held, c.now = c.now, s.shortlist.measured
    s.shortlist.measured = held
    if row != c.row:
        memcpy(c.row, row, s.people.columns * sizeof(double))
    if c.now.excess <= 0.0:
        s.pool.keep(row, c.now.cost)


cdef double version(Candidates s, Candidate* c, double* row, const double* guide, double bound) noexcept nogil:
    """The merit of a version of a candidate, settled in place; infinite unless it is below the bound.

    Where the model is compiled, it flips the decision, too, and is kept for the pool.
    """
    cdef Py_ssize_t changes
    cdef double merit, unrelated
    cdef bint compiled = s.people.score is not None
    if not s.person.settle(row, guide) or memcmp(row, c.row, s.people.columns * sizeof(double)) == 0:
        return INFINITY
    merit = s.person.cost(row, &changes)
    unrelated = s.shortlist.unrelated(row) if merit < bound else 0.0
    if merit + c.weight * unrelated >= bound or (compiled and not s.person.flips(row)):
        return INFINITY
    s.shortlist.measure(row, unrelated, &c.now)
    if compiled and s.shortlist.measured.excess <= 0.0:
        s.pool.keep(row, s.shortlist.measured.cost)
    merit = s.shortlist.measured.cost + c.weight * s.shortlist.measured.excess
    return merit if merit < bound else INFINITY


cdef void walk(Candidates s, Candidate* c, double weight) noexcept nogil:
    """Begins to take changes back, the dearest first."""
    cdef Py_ssize_t j
    c.phase, c.weight, c.ordered, c.at, c.tries, c.share = WALK, weight, 0, 0, 0, 0.0
    for j in range(s.people.columns):
        if s.person.movable[j] and s.person.differs(c.row, j):
            s.shifts[j] = -s.person.price_of(j, c.row[j])
            c.order[c.ordered] = j
            c.ordered += 1
    sort_by(s.shifts, c.order, c.ordered)


cdef bint next_reversion(Candidates s, Candidate* c) noexcept nogil:
    """Puts the next version with a change taken back that is better into `tried`; returns whether there is one."""
    cdef Py_ssize_t j
    while c.at < c.ordered:
        j = c.order[c.at]
        if c.tries == 0 and not s.person.differs(c.row, j):
            c.at += 1
            continue
        memcpy(s.tried, c.row, s.people.columns * sizeof(double))
        if c.share > 0.0:
            take_back_together(s, c, j)
        else:
            s.tried[j] = s.person.start[j] if c.tries == 0 else middle(s, c)
        if version(s, c, s.tried, NULL, merit_of(c)) < INFINITY:
            return True
        reverted(s, c, False)
    return False


cdef void reverted(Candidates s, Candidate* c, bint accepted) noexcept nogil:
    """Goes on with the next bisection of a change, or with the next change."""
    cdef Py_ssize_t j = c.order[c.at], most = s.people.settings.bisections
    cdef bint go_on = True
    if c.share > 0.0:  # with the columns that go with it: half of the way, or the same part of what is left
        if not accepted:
            c.share /= 2
        c.tries += 1
        if (accepted and c.share == 1.0) or c.tries > most:
            c.at, c.tries, c.share = c.at + 1, 0, 0.0
        return
    if c.tries == 0:
        go_on = not accepted and bracket(s, c, j)
    elif accepted:
        c.high = (c.low + c.high) // 2
    else:
        c.low = (c.low + c.high) // 2
    c.tries += 1
    if not go_on or c.tries > most or -1 <= c.high - c.low <= 1:
        if has_company(s, c, j):
            c.share, c.tries = 1.0, 1
        else:
            c.at, c.tries = c.at + 1, 0


cdef bint has_company(Candidates s, Candidate* c, Py_ssize_t j) noexcept nogil:
    """Whether a change, and one of a column that goes with it, are still there, and were not tried together."""
    cdef Py_ssize_t k
    if not s.people.relations.number or not s.person.differs(c.row, j):
        return False
    for k in range(c.at):
        if s.people.together[j, c.order[k]]:
            return False
    for k in range(s.people.columns):
        if s.people.together[j, k] and s.person.movable[k] and s.person.differs(c.row, k):
            return True
    return False


cdef void take_back_together(Candidates s, Candidate* c, Py_ssize_t j) noexcept nogil:
    """Moves a cell, and those of the columns that go with it, back to the person by the same part."""
    cdef Py_ssize_t k
    for k in range(s.people.columns):
        if k == j or (s.people.together[j, k] and s.person.movable[k]):
            s.tried[k] = towards(s.person, k, c.row[k], s.person.start[k], c.share)


cdef double towards(Person p, Py_ssize_t j, double cell, double goal, double share) noexcept nogil:
    """A cell that goes a share of the way to another, along a scale; where there is no way between, it stays."""
    if share == 1.0:
        return goal
    return cell + share * (goal - cell) if p.on_scale(j, cell, goal) else cell


cdef bint bracket(Candidates s, Candidate* c, Py_ssize_t j) noexcept nogil:
    """Finds the values of real people between the person's cell and the candidate's; returns whether there are any."""
    cdef double own = s.person.own[j], cell = c.row[j]
    if not s.person.on_scale(j, own, cell):
        return False
    c.low, c.high = below(s.person, j, own), below(s.person, j, cell)
    if own > cell and s.people.price.points[c.low] < own:
        c.low += 1
    return c.high - c.low > 1 or c.low - c.high > 1


cdef double middle(Candidates s, Candidate* c) noexcept nogil:
    """The value in the middle of a bracket."""
    return s.people.price.points[(c.low + c.high) // 2]


cdef Py_ssize_t below(Person p, Py_ssize_t j, double cell) noexcept nogil:
    """The last value of real people that is not above a cell, or the first of all."""
    cdef Py_ssize_t first = p.people.price.first[j]
    return max(first_above(cell, &p.people.price.points[0], first, p.people.price.first[j + 1]) - 1, first)


cdef void walked(Candidates s, Candidate* c) noexcept nogil:
    """After a walk: another with the large penalty, attractions, or pairs."""
    cdef bint more = c.rounds < s.people.settings.rounds
    if c.weight < s.people.settings.penalty:
        walk(s, c, s.people.settings.penalty)
    elif c.now.excess > 0.0 and more and s.people.settings.attractors:
        c.rounds += 1
        list_attractions(s, c)
    elif c.pairing and more:
        c.rounds += 1
        list_pairs(s, c)
    else:
        c.phase = DONE


cdef void list_version(Candidates s, Candidate* c, const double* guide) noexcept nogil:
    """Lists the version in `tried` if it is better than the candidate, and one of the best so far."""
    cdef Py_ssize_t at, last, d = s.people.columns
    cdef double merit = c.merits[LISTED - 1] if c.listed == LISTED else merit_of(c)
    merit = version(s, c, s.tried, guide, merit)
    if merit == INFINITY:
        return
    last = at = min(c.listed, <Py_ssize_t>LISTED - 1)
    while at > 0 and c.merits[at - 1] > merit:
        at -= 1
    insert_row(c.versions, c.merits, at, last, s.tried, merit, d)
    c.listed = last + 1


cdef void list_changed(
    Candidates s, Candidate* c, const double* base, Py_ssize_t j, double cell, const double* guide
) noexcept nogil:
    """Lists a row with one cell changed."""
    memcpy(s.tried, base, s.people.columns * sizeof(double))
    s.tried[j] = cell
    list_version(s, c, guide)


cdef Py_ssize_t nearest_real(Candidates s, Candidate* c, Py_ssize_t most) noexcept nogil:
    """Finds the real rows of the shortlist nearest to a candidate, into `reals`; returns how many."""
    cdef bint all_real = s.shortlist.real.number > 0
    cdef Py_ssize_t n = s.shortlist.real.number if all_real else s.shortlist.thinned.number, row, at, found = 0
    cdef const double* distances = c.now.real if all_real else c.now.near
    for row in range(n if most else 0):
        if found == most and distances[row] >= distances[s.reals[most - 1]]:
            continue
        at = found if found < most else most - 1
        found += found < most
        while at > 0 and distances[s.reals[at - 1]] > distances[row]:
            s.reals[at] = s.reals[at - 1]
            at -= 1
        s.reals[at] = row
    return found


cdef const double* real_row(Candidates s, Py_ssize_t rank) noexcept nogil:
    """One of the real rows that were found."""
    if s.shortlist.real.number:
        return &s.people.all_real.values[s.shortlist.real.rows[s.reals[rank]], 0]
    return &s.people.thinned.values[s.shortlist.thinned.rows[s.reals[rank]], 0]


cdef void list_attractions(Candidates s, Candidate* c) noexcept nogil:
    """Lists versions with one cell, or all, moved towards a near real row, whole or by half."""
    cdef Py_ssize_t i, half, k, j
    cdef const double* real
    cdef double share, cell
    c.phase, c.listed, c.next = ATTRACT, 0, 0
    for i in range(nearest_real(s, c, s.people.settings.attractors)):
        real = real_row(s, i)
        for half in range(2):
            share = 0.5 if half else 1.0
            memcpy(s.tried, c.row, s.people.columns * sizeof(double))
            for k in range(s.people.frees):
                j = s.people.free[k]
                if s.person.movable[j]:
                    s.tried[j] = towards(s.person, j, c.row[j], real[j], share)
            list_version(s, c, real)
            for k in range(s.people.frees):
                j = s.people.free[k]
                if s.person.movable[j] and real[j] != c.row[j]:
                    cell = towards(s.person, j, c.row[j], real[j], share)
                    if cell != c.row[j]:
                        list_changed(s, c, c.row, j, cell, real)


cdef void list_pairs(Candidates s, Candidate* c) noexcept nogil:
    """Lists versions with one change taken back, wholly or by half, and another cell that makes up for it."""
    cdef Py_ssize_t k, j, half, rows
    walk(s, c, c.weight)  # for the order of the changes
    c.phase, c.listed, c.next = PAIR, 0, 0
    rows = nearest_real(s, c, s.people.settings.pair_rows)
    for k in range(min(c.ordered, s.people.settings.exchanged)):
        j = c.order[k]
        for half in range(2):
            if half and not bracket(s, c, j):
                break
            memcpy(s.base, c.row, s.people.columns * sizeof(double))
            s.base[j] = middle(s, c) if half else s.person.start[j]
            s.person.settle(s.base, NULL)
            make_up(s, c, j, rows)


cdef void make_up(Candidates s, Candidate* c, Py_ssize_t without, Py_ssize_t rows) noexcept nogil:
    """Lists versions of `base` in which another cell makes up for the change that was taken back.

    It takes the cheapest value that flips the decision, where the model is compiled, or that of a near real row.
    """
    cdef Py_ssize_t k, j, r, at, changes
    cdef double cost = s.person.cost(s.base, &changes), bound = merit_of(c), rest, spent, cell
    for k in range(s.people.frees):
        j = s.people.free[k]
        if j == without or not s.person.movable[j]:
            continue
        spent = s.person.price_of(j, s.base[j])
        spent += s.people.price.change_weight if s.person.differs(s.base, j) else 0.0
        rest = cost - spent
        if s.people.score is not None and s.people.values[k] and s.person.asked < s.person.budget:
            at = s.person.cheapest_flip(s.base, k)
            if at >= 0 and rest + (s.person.prices[at] + s.people.price.change_weight) < bound:
                list_changed(s, c, s.base, j, s.person.grid[at], NULL)
        for r in range(rows):
            cell = real_row(s, r)[j]
            if cell != s.base[j] and rest + s.person.price_of(j, cell) < bound:
                list_changed(s, c, s.base, j, cell, NULL)
