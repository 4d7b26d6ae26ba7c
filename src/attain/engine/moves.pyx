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
from libc.string cimport memcpy

from attain.engine.person cimport Candidate, Person
from attain.engine.starts cimport sort_by

cdef Py_ssize_t LISTED = 24


cdef class Moves(Person):
    """The candidates of one person."""

    cdef bint differs(self, const double* row, Py_ssize_t j) noexcept nogil:
        return row[j] != self.own[j] and (row[j] == row[j] or self.own[j] == self.own[j])

    cdef void put_next(self, Py_ssize_t which) noexcept nogil:
        """Puts what a candidate asks next into `pending`."""
        cdef Candidate* c = &self.candidates[which]
        cdef Py_ssize_t d = self.columns, i, n
        while c.phase != DONE:
            if c.phase == WALK:
                if next_reversion(self, c):
                    memcpy(self.pending + self.asking * d, self.tried, d * sizeof(double))
                    self.asker[self.asking] = which
                    self.asking += 1
                    return
                walked(self, c)
            elif c.next < c.listed:
                n = min(self.settings.at_once, c.listed - c.next)
                for i in range(n):
                    memcpy(self.pending + self.asking * d, c.versions + (c.next + i) * d, d * sizeof(double))
                    self.asker[self.asking] = which
                    self.asking += 1
                c.next += n
                return
            elif c.phase == ATTRACT and c.pairing:
                self.list_pairs(c)
            else:
                c.phase = DONE

    cdef void decide(self, Py_ssize_t n) noexcept nogil:
        """Moves candidates to the first of their versions that flips the decision."""
        cdef Candidate* c
        cdef Py_ssize_t i, d = self.columns, last = -1
        for i in range(n):
            c = &self.candidates[self.asker[i]]
            if self.asker[i] == last:
                continue
            if c.phase == WALK:
                if self.decided[i]:
                    self.replace(c, self.pending + i * d)
                reverted(self, c, self.decided[i])
            elif self.decided[i]:
                last = self.asker[i]
                self.replace(c, self.pending + i * d)
                self.walk(c, self.settings.heavy)

    cdef void walk(self, Candidate* c, double weight) noexcept nogil:
        """Begins to take changes back, the dearest first."""
        cdef Py_ssize_t j
        c.phase, c.weight, c.ordered, c.at, c.tries, c.share = WALK, weight, 0, 0, 0, 0.0
        for j in range(self.columns):
            if self.movable[j] and self.differs(c.row, j):
                self.keys[j] = -self.weights[j] * self.price.shift(j, self.own[j], self.ranks[j], c.row[j])
                c.order[c.ordered] = j
                c.ordered += 1
        sort_by(self.keys, c.order, c.ordered)

    cdef void list_pairs(self, Candidate* c) noexcept nogil:
        """Versions with one change taken back, wholly or by half, and another cell that makes up for it."""
        cdef Py_ssize_t i, k, half, rows, d = self.columns
        cdef double* base = self.spare_row
        self.walk(c, c.weight)  # for the order of the changes
        c.phase, c.listed, c.next = PAIR, 0, 0
        rows = nearest_real(self, c, self.settings.pair_rows)
        for k in range(min(c.ordered, self.settings.exchanged)):
            i = c.order[k]
            for half in range(2):
                memcpy(base, c.row, d * sizeof(double))
                base[i] = self.start[i]
                if half:
                    if not bracket(self, c, i):
                        break
                    base[i] = self.price.points[(c.low + c.high) // 2]
                self.settler.settle(base, NULL, self.owner, self.room)
                made_up(self, c, base, i, rows)


cdef bint next_reversion(Moves p, Candidate* c) noexcept nogil:
    """The next version with a change taken back that is better, into `tried`."""
    cdef Py_ssize_t j
    while c.at < c.ordered:
        j = c.order[c.at]
        if c.tries == 0 and not p.differs(c.row, j):
            c.at += 1
            continue
        memcpy(p.tried, c.row, p.columns * sizeof(double))
        if c.share > 0.0:
            take_back_together(p, c, j)
        else:
            p.tried[j] = p.start[j] if c.tries == 0 else p.price.points[(c.low + c.high) // 2]
        if p.version(c, p.tried, NULL, c.cost + c.weight * c.excess) < INFINITY:
            return True
        reverted(p, c, False)
    return False


cdef void reverted(Moves p, Candidate* c, bint accepted) noexcept nogil:
    """Goes on with the next bisection of a change, or with the next change."""
    cdef Py_ssize_t j = c.order[c.at]
    cdef bint go_on = True
    if c.share > 0.0:
        reverted_together(p, c, accepted)
        return
    if c.tries == 0:
        go_on = not accepted and bracket(p, c, j)
    elif accepted:
        c.high = (c.low + c.high) // 2
    else:
        c.low = (c.low + c.high) // 2
    c.tries += 1
    if not go_on or c.tries > p.settings.bisections or -1 <= c.high - c.low <= 1:
        if has_company(p, c, j):
            c.share, c.tries = 1.0, 1
        else:
            c.at, c.tries = c.at + 1, 0


cdef void reverted_together(Moves p, Candidate* c, bint accepted) noexcept nogil:
    """Goes on with half of the way, or the same part of what is left; then with the next change."""
    if not accepted:
        c.share /= 2
    c.tries += 1
    if (accepted and c.share == 1.0) or c.tries > p.settings.bisections:
        c.at, c.tries, c.share = c.at + 1, 0, 0.0


cdef bint has_company(Moves p, Candidate* c, Py_ssize_t j) noexcept nogil:
    """Whether a change, and one of a column that goes with it, are still there, and were not tried together."""
    cdef Py_ssize_t k
    if not p.relations.number or not p.differs(c.row, j):
        return False
    for k in range(c.at):
        if p.people.together[j, c.order[k]]:
            return False
    for k in range(p.columns):
        if p.people.together[j, k] and p.movable[k] and p.differs(c.row, k):
            return True
    return False


cdef void take_back_together(Moves p, Candidate* c, Py_ssize_t j) noexcept nogil:
    """Moves a cell, and those of the columns that go with it, back to the person by the same part."""
    cdef Py_ssize_t k
    for k in range(p.columns):
        if k == j or (p.people.together[j, k] and p.movable[k]):
            p.tried[k] = towards(p, k, c.row[k], p.start[k], c.share)


cdef bint bracket(Moves p, Candidate* c, Py_ssize_t j) noexcept nogil:
    """The values of real people between the person's cell and the candidate's; says whether there are any."""
    cdef double own = p.own[j], cell = c.row[j]
    if not p.ordered[j] or p.ranks[j] != p.ranks[j]:
        return False
    if p.price.rank(j, cell) != p.price.rank(j, cell):
        return False
    c.low, c.high = below(p, j, own), below(p, j, cell)
    if own > cell and p.price.points[c.low] < own:
        c.low += 1
    return c.high - c.low > 1 or c.low - c.high > 1


cdef Py_ssize_t below(Moves p, Py_ssize_t j, double cell) noexcept nogil:
    """The last value of real people that is not above a cell, or the first of all."""
    cdef const double* points = &p.price.points[0]
    cdef Py_ssize_t low = p.price.first[j], high = p.price.first[j + 1], begin = low, middle
    while low < high:
        middle = (low + high) // 2
        if points[middle] <= cell:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, begin)


cdef void walked(Moves p, Candidate* c) noexcept nogil:
    """After a walk: another with the large weight, attractions, or pairs."""
    if c.weight < p.settings.heavy:
        p.walk(c, p.settings.heavy)
    elif c.excess > 0.0 and c.rounds < p.settings.rounds and p.settings.attractors:
        c.rounds += 1
        list_attractions(p, c)
    elif c.pairing and c.rounds < p.settings.rounds:
        c.rounds += 1
        p.list_pairs(c)
    else:
        c.phase = DONE


cdef void listed(Moves p, Candidate* c, double* row, const double* guide) noexcept nogil:
    """Lists a version if it is better than the candidate, and one of the best so far."""
    cdef Py_ssize_t at, last, d = p.columns, i
    cdef double merit = c.cost + c.weight * c.excess
    if c.listed == LISTED:
        merit = c.merits[LISTED - 1]
    merit = p.version(c, row, guide, merit)
    if merit == INFINITY:
        return
    last = c.listed if c.listed < LISTED else LISTED - 1
    at = last
    while at > 0 and c.merits[at - 1] > merit:
        at -= 1
    for i in range(last, at, -1):
        c.merits[i] = c.merits[i - 1]
        memcpy(c.versions + i * d, c.versions + (i - 1) * d, d * sizeof(double))
    c.merits[at] = merit
    memcpy(c.versions + at * d, row, d * sizeof(double))
    c.listed = last + 1


cdef Py_ssize_t nearest_real(Moves p, Candidate* c, Py_ssize_t most) noexcept nogil:
    """Finds the real rows of the shortlist nearest to a candidate, into `reals`; says how many."""
    cdef Py_ssize_t n = p.knowns if p.knowns else p.nears, s, i, at, found = 0
    cdef const double* distances = c.known if p.knowns else c.near
    for s in range(n if most else 0):
        if found == most and distances[s] >= distances[p.reals[most - 1]]:
            continue
        at = found if found < most else most - 1
        found += found < most
        while at > 0 and distances[p.reals[at - 1]] > distances[s]:
            p.reals[at] = p.reals[at - 1]
            at -= 1
        p.reals[at] = s
    return found


cdef const double* real_row(Moves p, Py_ssize_t rank) noexcept nogil:
    """One of the real rows that were found."""
    if p.knowns:
        return &p.known_crowd.values[p.known_rows[p.reals[rank]], 0]
    return &p.crowd.values[p.near_rows[p.reals[rank]], 0]


cdef double towards(Moves p, Py_ssize_t j, double cell, double goal, double share) noexcept nogil:
    """A cell that goes a share of the way to another, along a scale; where there is no way between, it stays."""
    if share == 1.0:
        return goal
    if not p.ordered[j] or p.price.rank(j, cell) != p.price.rank(j, cell):
        return cell
    if p.price.rank(j, goal) != p.price.rank(j, goal):
        return cell
    return cell + share * (goal - cell)


cdef void list_attractions(Moves p, Candidate* c) noexcept nogil:
    """Versions with one cell, or all, moved towards a near real row."""
    cdef Py_ssize_t i, half, k, j, d = p.columns
    cdef const double* real
    cdef double share
    c.phase, c.listed, c.next = ATTRACT, 0, 0
    for i in range(nearest_real(p, c, p.settings.attractors)):
        real = real_row(p, i)
        for half in range(2):
            share = 1.0 if half == 0 else 0.5
            memcpy(p.tried, c.row, d * sizeof(double))
            for k in range(p.frees):
                j = p.free[k]
                if p.movable[j]:
                    p.tried[j] = towards(p, j, c.row[j], real[j], share)
            listed(p, c, p.tried, real)
            for k in range(p.frees):
                j = p.free[k]
                if p.movable[j] and real[j] != c.row[j]:
                    memcpy(p.tried, c.row, d * sizeof(double))
                    p.tried[j] = towards(p, j, c.row[j], real[j], share)
                    if p.tried[j] != c.row[j]:
                        listed(p, c, p.tried, real)


cdef void made_up(Moves p, Candidate* c, double* base, Py_ssize_t without, Py_ssize_t rows) noexcept nogil:
    """Lists versions of a row in which another cell makes up for a change that was taken back."""
    cdef Py_ssize_t k, j, g, r, cheapest, changes, width = p.people.grid.shape[1], d = p.columns
    cdef double cost = p.price.cost(base, p.own, p.ranks, p.weights, &changes), price, spent
    cdef double bound = c.cost + c.weight * c.excess
    cdef const double* real
    for k in range(p.frees):
        j = p.free[k]
        if j == without or not p.movable[j]:
            continue
        spent = p.weights[j] * p.price.shift(j, p.own[j], p.ranks[j], base[j])
        spent += p.price.change_weight if p.differs(base, j) else 0.0
        if p.score is not None and p.values[k] and p.asked < p.budget:
            p.score.along(base, j, p.grid + k * width, p.values[k], p.leads)
            p.asked += 1
            cheapest = -1
            for g in range(p.values[k]):
                if p.leads[g] >= 0.0 and (
                    cheapest < 0 or p.prices[k * width + g] < p.prices[k * width + cheapest]
                ):
                    cheapest = g
            if cheapest >= 0:
                price = p.prices[k * width + cheapest] + p.price.change_weight
                if cost - spent + price < bound:
                    memcpy(p.tried, base, d * sizeof(double))
                    p.tried[j] = p.grid[k * width + cheapest]
                    listed(p, c, p.tried, NULL)
        for r in range(rows):
            real = real_row(p, r)
            if real[j] == base[j]:
                continue
            price = p.weights[j] * p.price.shift(j, p.own[j], p.ranks[j], real[j])
            if cost - spent + price < bound:
                memcpy(p.tried, base, d * sizeof(double))
                p.tried[j] = real[j]
                listed(p, c, p.tried, NULL)
