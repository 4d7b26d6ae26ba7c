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

    cdef void propose(self, Py_ssize_t which) noexcept nogil:
        """Puts what a candidate asks next into `pending`."""
        cdef Candidate* c = &self.candidates[which]
        cdef Py_ssize_t d = self.columns, i, n
        while c.phase != DONE:
            if c.phase == WALK:
                if self.next_reversion(c):
                    memcpy(self.pending + self.asking * d, self.tried, d * sizeof(double))
                    self.asker[self.asking] = which
                    self.asking += 1
                    return
                self.walked(c)
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
                self.reverted(c, self.decided[i])
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

    cdef bint next_reversion(self, Candidate* c) noexcept nogil:
        """The next version with a change taken back that is better, into `tried`."""
        cdef Py_ssize_t j
        while c.at < c.ordered:
            j = c.order[c.at]
            if c.tries == 0 and not self.differs(c.row, j):
                c.at += 1
                continue
            memcpy(self.tried, c.row, self.columns * sizeof(double))
            if c.share > 0.0:
                self.take_back_together(c, j)
            else:
                self.tried[j] = self.start[j] if c.tries == 0 else self.price.points[(c.low + c.high) // 2]
            if self.version(c, self.tried, NULL, c.cost + c.weight * c.excess) < INFINITY:
                return True
            self.reverted(c, False)
        return False

    cdef void reverted(self, Candidate* c, bint accepted) noexcept nogil:
        """Goes on with the next bisection of a change, or with the next change."""
        cdef Py_ssize_t j = c.order[c.at]
        cdef bint go_on = True
        if c.share > 0.0:
            self.reverted_together(c, accepted)
            return
        if c.tries == 0:
            go_on = not accepted and self.bracket(c, j)
        elif accepted:
            c.high = (c.low + c.high) // 2
        else:
            c.low = (c.low + c.high) // 2
        c.tries += 1
        if not go_on or c.tries > self.settings.bisections or -1 <= c.high - c.low <= 1:
            if self.has_company(c, j):
                c.share, c.tries = 1.0, 1
            else:
                c.at, c.tries = c.at + 1, 0

    cdef void reverted_together(self, Candidate* c, bint accepted) noexcept nogil:
        """Goes on with half of the way, or the same part of what is left; then with the next change."""
        if not accepted:
            c.share /= 2
        c.tries += 1
        if (accepted and c.share == 1.0) or c.tries > self.settings.bisections:
            c.at, c.tries, c.share = c.at + 1, 0, 0.0

    cdef bint has_company(self, Candidate* c, Py_ssize_t j) noexcept nogil:
        """Whether a change, and one of a column that goes with it, are still there, and were not tried together."""
        cdef Py_ssize_t k
        if not self.relations.number or not self.differs(c.row, j):
            return False
        for k in range(c.at):
            if self.people.together[j, c.order[k]]:
                return False
        for k in range(self.columns):
            if self.people.together[j, k] and self.movable[k] and self.differs(c.row, k):
                return True
        return False

    cdef void take_back_together(self, Candidate* c, Py_ssize_t j) noexcept nogil:
        """Moves a cell, and those of the columns that go with it, back to the person by the same part."""
        cdef Py_ssize_t k
        for k in range(self.columns):
            if k == j or (self.people.together[j, k] and self.movable[k]):
                self.tried[k] = self.towards(k, c.row[k], self.start[k], c.share)

    cdef bint bracket(self, Candidate* c, Py_ssize_t j) noexcept nogil:
        """The values of real people between the person's cell and the candidate's; says whether there are any."""
        cdef double own = self.own[j], cell = c.row[j]
        if not self.ordered[j] or self.ranks[j] != self.ranks[j]:
            return False
        if self.price.rank(j, cell) != self.price.rank(j, cell):
            return False
        c.low, c.high = self.below(j, own), self.below(j, cell)
        if own > cell and self.price.points[c.low] < own:
            c.low += 1
        return c.high - c.low > 1 or c.low - c.high > 1

    cdef Py_ssize_t below(self, Py_ssize_t j, double cell) noexcept nogil:
        """The last value of real people that is not above a cell, or the first of all."""
        cdef const double* points = &self.price.points[0]
        cdef Py_ssize_t low = self.price.first[j], high = self.price.first[j + 1], begin = low, middle
        while low < high:
            middle = (low + high) // 2
            if points[middle] <= cell:
                low = middle + 1
            else:
                high = middle
        return max(low - 1, begin)

    cdef void walked(self, Candidate* c) noexcept nogil:
        """After a walk: another with the large weight, attractions, or pairs."""
        if c.weight < self.settings.heavy:
            self.walk(c, self.settings.heavy)
        elif c.excess > 0.0 and c.rounds < self.settings.rounds and self.settings.attractors:
            c.rounds += 1
            self.list_attractions(c)
        elif c.pairing and c.rounds < self.settings.rounds:
            c.rounds += 1
            self.list_pairs(c)
        else:
            c.phase = DONE

    cdef void listed(self, Candidate* c, double* row, const double* guide) noexcept nogil:
        """Lists a version if it is better than the candidate, and one of the best so far."""
        cdef Py_ssize_t at, last, d = self.columns, i
        cdef double merit = c.cost + c.weight * c.excess
        if c.listed == LISTED:
            merit = c.merits[LISTED - 1]
        merit = self.version(c, row, guide, merit)
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

    cdef Py_ssize_t nearest_real(self, Candidate* c, Py_ssize_t most) noexcept nogil:
        """Finds the real rows of the shortlist nearest to a candidate, into `reals`; says how many."""
        cdef Py_ssize_t n = self.knowns if self.knowns else self.nears, s, i, at, found = 0
        cdef const double* distances = c.known if self.knowns else c.near
        for s in range(n if most else 0):
            if found == most and distances[s] >= distances[self.reals[most - 1]]:
                continue
            at = found if found < most else most - 1
            found += found < most
            while at > 0 and distances[self.reals[at - 1]] > distances[s]:
                self.reals[at] = self.reals[at - 1]
                at -= 1
            self.reals[at] = s
        return found

    cdef const double* real(self, Py_ssize_t rank) noexcept nogil:
        """One of the real rows that were found."""
        if self.knowns:
            return &self.known_crowd.values[self.known_rows[self.reals[rank]], 0]
        return &self.crowd.values[self.near_rows[self.reals[rank]], 0]

    cdef double towards(self, Py_ssize_t j, double cell, double goal, double share) noexcept nogil:
        """A cell that goes a share of the way to another, along a scale; where there is no way between, it stays."""
        if share == 1.0:
            return goal
        if not self.ordered[j] or self.price.rank(j, cell) != self.price.rank(j, cell):
            return cell
        if self.price.rank(j, goal) != self.price.rank(j, goal):
            return cell
        return cell + share * (goal - cell)

    cdef void list_attractions(self, Candidate* c) noexcept nogil:
        """Versions with one cell, or all, moved towards a near real row."""
        cdef Py_ssize_t i, half, k, j, d = self.columns
        cdef const double* real
        cdef double share
        c.phase, c.listed, c.next = ATTRACT, 0, 0
        for i in range(self.nearest_real(c, self.settings.attractors)):
            real = self.real(i)
            for half in range(2):
                share = 1.0 if half == 0 else 0.5
                memcpy(self.tried, c.row, d * sizeof(double))
                for k in range(self.frees):
                    j = self.free[k]
                    if self.movable[j]:
                        self.tried[j] = self.towards(j, c.row[j], real[j], share)
                self.listed(c, self.tried, real)
                for k in range(self.frees):
                    j = self.free[k]
                    if self.movable[j] and real[j] != c.row[j]:
                        memcpy(self.tried, c.row, d * sizeof(double))
                        self.tried[j] = self.towards(j, c.row[j], real[j], share)
                        if self.tried[j] != c.row[j]:
                            self.listed(c, self.tried, real)

    cdef void list_pairs(self, Candidate* c) noexcept nogil:
        """Versions with one change taken back, wholly or by half, and another cell that makes up for it."""
        cdef Py_ssize_t i, k, half, rows, d = self.columns
        cdef double* base = self.spare_row
        self.walk(c, c.weight)  # for the order of the changes
        c.phase, c.listed, c.next = PAIR, 0, 0
        rows = self.nearest_real(c, self.settings.pair_rows)
        for k in range(min(c.ordered, self.settings.exchanged)):
            i = c.order[k]
            for half in range(2):
                memcpy(base, c.row, d * sizeof(double))
                base[i] = self.start[i]
                if half:
                    if not self.bracket(c, i):
                        break
                    base[i] = self.price.points[(c.low + c.high) // 2]
                self.settler.settle(base, NULL, self.owner, self.room)
                self.made_up(c, base, i, rows)

    cdef void made_up(self, Candidate* c, double* base, Py_ssize_t without, Py_ssize_t rows) noexcept nogil:
        """Lists versions of a row in which another cell makes up for a change that was taken back."""
        cdef Py_ssize_t k, j, g, r, cheapest, changes, width = self.people.grid.shape[1], d = self.columns
        cdef double cost = self.price.cost(base, self.own, self.ranks, self.weights, &changes), price, spent
        cdef double bound = c.cost + c.weight * c.excess
        cdef const double* real
        for k in range(self.frees):
            j = self.free[k]
            if j == without or not self.movable[j]:
                continue
            spent = self.weights[j] * self.price.shift(j, self.own[j], self.ranks[j], base[j])
            spent += self.price.change_weight if self.differs(base, j) else 0.0
            if self.score is not None and self.values[k] and self.asked < self.budget:
                self.score.along(base, j, self.grid + k * width, self.values[k], self.leads)
                self.asked += 1
                cheapest = -1
                for g in range(self.values[k]):
                    if self.leads[g] >= 0.0 and (
                        cheapest < 0 or self.prices[k * width + g] < self.prices[k * width + cheapest]
                    ):
                        cheapest = g
                if cheapest >= 0:
                    price = self.prices[k * width + cheapest] + self.price.change_weight
                    if cost - spent + price < bound:
                        memcpy(self.tried, base, d * sizeof(double))
                        self.tried[j] = self.grid[k * width + cheapest]
                        self.listed(c, self.tried, NULL)
            for r in range(rows):
                real = self.real(r)
                if real[j] == base[j]:
                    continue
                price = self.weights[j] * self.price.shift(j, self.own[j], self.ranks[j], real[j])
                if cost - spent + price < bound:
                    memcpy(self.tried, base, d * sizeof(double))
                    self.tried[j] = real[j]
                    self.listed(c, self.tried, NULL)
