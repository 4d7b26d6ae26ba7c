"""The search of one person: starts, candidates that become cheaper version by version, and a pool of what passes.

Starts are real rows' cells and ascents along the score; the best of them are candidates, which move (`moves`). Where
nothing passes, more real rows are starts, once; then the guard's limits are relaxed, level by level. How the search asks
about rows is said at `Search`.
"""

from libc.math cimport INFINITY
from libc.string cimport memcpy, memmove

import numpy as np

from attain.engine.cells import matrix

from attain.engine.moves cimport ATTRACT, DONE, PAIR, WALK, Moves
from attain.engine.person cimport Candidate, People
from attain.engine.starts cimport add_start, ascend, fewer, price_grid, pull, rank_real_rows, sort_by, transplant

cdef enum:
    GIVEN, TRANSPLANTS, PULLED, ASCENT, SEARCH, PAIRS, ENDED

cdef Py_ssize_t MEASURED = 64


cdef class Search(Moves):
    """The search of one person of a batch. It never calls a model: it proposes rows and receives the decisions.

    `begin`, then `propose` and `receive` in turns until no rows are proposed, then `answers`. With a compiled model `run`
    replaces the turns: it decides by the compiled score, and no row leaves the engine before `answers`.

    `propose` returns the next rows, (n, d), copied: the caller may keep them.

    - Each is in final form, as `Settler.settle` leaves it: on its grid, within limits, computed columns computed, rules
      kept. A law may be broken as the owner breaks it. Settling it again changes nothing.
    - Each changes something. It may change more features than the owner may: `People` is given a settler without a
      largest number of changes, because the search counts those beyond it as excess. `answers` never change more.
    - All are for the owner named in `begin`. A row may be proposed again later, and twice at once.
    - The last rows may be more than the budget leaves.

    `receive` takes one entry for each row, in the same order, and before the next `propose`: whether it flips the decision
    (uint8, 0 or 1), and a score (float64), larger where the row is closer to flipping it. Scores choose starts; candidates
    move by decisions alone. A row that nobody was asked about gets 0 and the lowest score. Every row counts as asked in
    the search's own budget, which was given to `begin`.

    `answers` are rows that were proposed and said to flip the decision, and that pass, the cheapest first: in final form.
    """

    def begin(self, Py_ssize_t owner, Py_ssize_t budget, given):
        """Begins the search of one person; `given` rows, in any form, are proposed first, those that can be settled."""
        cdef People people = self.people
        cdef const double[:, ::1] further = matrix(given, self.columns)
        cdef Py_ssize_t i
        if not 0 <= owner < people.own.shape[0]:
            raise IndexError(f"there is no person {owner} of {people.own.shape[0]}")
        self.owner, self.budget, self.most = owner, budget, people.most[owner]
        self.own, self.start = &people.own[owner, 0], &people.start[owner, 0]
        self.ranks, self.weights = &people.ranks[owner, 0], &people.weights[owner, 0]
        self.low, self.high, self.movable = &people.low[owner, 0], &people.high[owner, 0], &people.movable[owner, 0]
        self.asked = self.level = self.found = self.used = self.started = self.active = self.asking = self.steps = 0
        self.phase, self.more, self.closest, self.own_nears, self.own_knowns = GIVEN, False, -INFINITY, -1, -1
        memcpy(self.closest_row, self.start, self.columns * sizeof(double))
        with nogil:
            self.relate()
            rank_real_rows(self)
            price_grid(self)
        for i in range(min(further.shape[0], 16)):
            memcpy(self.pending + self.asking * self.columns, &further[i, 0], self.columns * sizeof(double))
            if self.settler.settle(self.pending + self.asking * self.columns, NULL, owner, self.room):
                self.asking += 1

    cdef void relate(self) noexcept nogil:
        """What the person's own columns tell of each other, and how far off they are."""
        cdef Py_ssize_t r
        if self.relations.number:
            self.relations.tell(self.own, self.own_told)
        for r in range(self.relations.number):
            self.own_off[r] = self.relations.off(r, self.own, self.own_told)

    def run(self):
        """Searches with the compiled model until the end."""
        cdef Py_ssize_t i
        with nogil:
            while self.next_rows():
                self.asking = min(self.asking, self.budget - self.asked)
                for i in range(self.asking):
                    self.scores[i] = self.score.lead(self.pending + i * self.columns)
                    self.decided[i] = self.scores[i] >= 0.0
                self.asked += self.asking
                self.answered(self.scores)

    def propose(self):
        """The next rows, (n, d), as the class describes them; none at the end."""
        with nogil:
            self.next_rows()
        return self.copied(self.pending, self.asking)

    def receive(self, const unsigned char[::1] met, const double[::1] scores):
        """Takes which of the proposed rows flip the decision, and their scores, (n,) each."""
        cdef Py_ssize_t i
        if not met.shape[0] == scores.shape[0] == self.asking:
            raise ValueError(f"{met.shape[0]} decisions and {scores.shape[0]} scores of {self.asking} rows")
        for i in range(self.asking):
            self.decided[i] = met[i]
        self.asked += self.asking
        with nogil:
            self.answered(&scores[0] if self.asking else NULL)

    def answers(self):
        """What passes, the cheapest first: rows (n, d)."""
        return self.copied(self.pool, self.found)

    cdef copied(self, const double* rows, Py_ssize_t n):
        result = np.empty((n, self.columns))
        cdef double[:, ::1] into = result
        if n:
            memcpy(&into[0, 0], rows, n * self.columns * sizeof(double))
        return result

    cdef Py_ssize_t next_rows(self) noexcept nogil:
        """Puts the next rows into `pending`, and says how many they are."""
        cdef Py_ssize_t i
        while self.phase != ENDED and self.asked < self.budget:
            if self.phase == GIVEN or self.phase == PULLED:  # what is pending is asked, or was
                if self.asking:
                    return self.asking
                self.phase = TRANSPLANTS if self.phase == GIVEN else ASCENT
            elif self.phase == TRANSPLANTS:
                self.next_transplants()
            elif self.phase == ASCENT:
                self.next_ascent()
            else:
                for i in range(self.active):
                    self.put_next(i)
                if not self.asking:
                    self.next_stage()
            if self.asking:
                return self.asking
        self.asking = 0
        self.conclude()
        return 0

    cdef void conclude(self) noexcept nogil:
        """Where the budget ends the search before anything passes: the starts, at the first level that one passes."""
        if self.phase < SEARCH and self.started:
            self.choose()
        while self.started and not self.found and self.level + 1 < self.people.limits.shape[0]:
            self.relax()
        self.phase = ENDED

    cdef void answered(self, const double* scores) noexcept nogil:
        """Takes the decisions about the pending rows."""
        cdef Py_ssize_t i, n = self.asking, d = self.columns
        self.asking = 0
        if n == 0:
            return
        if self.phase == TRANSPLANTS:
            for i in range(n):
                if self.decided[i]:
                    add_start(self, self.pending + i * d)
                elif scores[i] > self.closest:
                    self.closest = scores[i]
                    memcpy(self.closest_row, self.pending + i * d, d * sizeof(double))
            self.pull_towards(n)
        elif self.phase == GIVEN or self.phase == PULLED:
            for i in range(n):
                if self.decided[i]:
                    add_start(self, self.pending + i * d)
        elif self.phase == ASCENT:
            self.climb(n, scores)
        else:
            self.decide(n)

    cdef void next_transplants(self) noexcept nogil:
        cdef Py_ssize_t i, last, d = self.columns
        last = min(self.settings.further if self.more else self.settings.transplants, self.ranked)
        for i in range(self.used, last):
            if transplant(self, i, self.pending + self.asking * d):
                self.asker[self.asking] = i
                self.asking += 1
        self.used = last
        if not self.asking:
            self.phase = ASCENT

    cdef void pull_towards(self, Py_ssize_t n) noexcept nogil:
        """Versions of the transplants that flip the decision: pulled towards the person, and with fewer changes."""
        cdef Py_ssize_t i, at = 0, d = self.columns, changes
        self.phase = PULLED
        for i in range(n):
            if not self.decided[i]:
                continue
            memcpy(self.spare_row, self.pending + i * d, d * sizeof(double))
            if self.settings.pulled and pull(self, self.asker[i], self.spare_row, self.pending + (n + at) * d):
                at += 1
            self.price.cost(self.spare_row, self.own, self.ranks, self.weights, &changes)
            if changes > self.most and fewer(self, self.spare_row, self.pending + (n + at) * d):
                at += 1
        memmove(self.pending, self.pending + n * d, at * d * sizeof(double))
        self.asking = at

    cdef void next_ascent(self) noexcept nogil:
        """Ascents; where the model must be asked, only for a person without any start, one cell after the other.

        Who has none after more transplants either ascends again, from the one that came closest, and farther.
        """
        cdef Py_ssize_t k, g, j, d = self.columns, width = self.people.grid.shape[1]
        if self.score is not None:
            if not self.more:
                ascend(self, self.start, self.settings.ascents)
            elif not self.started:
                ascend(self, self.closest_row, d)
                if not self.started:
                    ascend(self, self.start, d)
        elif not self.started and self.steps < (3 if self.more else 1) * self.settings.ascents:
            if self.steps == 0 or (self.more and self.steps == self.settings.ascents):
                memcpy(self.ascent, self.closest_row if self.more else self.start, d * sizeof(double))
                self.highest = -INFINITY
            for k in range(self.frees):
                j = self.free[k]
                for g in range(self.values[k]):
                    if self.prices[k * width + g] == INFINITY or (not self.more and self.differs(self.ascent, j)):
                        continue
                    memcpy(self.pending + self.asking * d, self.ascent, d * sizeof(double))
                    self.pending[self.asking * d + j] = self.grid[k * width + g]
                    if self.settler.settle(self.pending + self.asking * d, NULL, self.owner, self.room):
                        self.asker[self.asking] = k * width + g
                        self.asking += 1
            self.steps += 1
            if self.asking:
                return
        self.choose()

    cdef void climb(self, Py_ssize_t n, const double* scores) noexcept nogil:
        """Takes the change with the best gain for its price, or all that flip the decision as starts."""
        cdef Py_ssize_t i, best = -1, d = self.columns
        cdef double gain, most = 0.0
        for i in range(n):
            if self.decided[i]:
                add_start(self, self.pending + i * d)
        if self.highest == -INFINITY:
            self.highest = scores[0]
            for i in range(n):
                self.highest = min(self.highest, scores[i])
        for i in range(n):
            gain = (scores[i] - self.highest) / (self.prices[self.asker[i]] + self.price.change_weight)
            if gain > most:
                most, best = gain, i
        if best < 0:
            self.steps = (3 if self.more else 1) * self.settings.ascents
        else:
            memcpy(self.ascent, self.pending + best * d, d * sizeof(double))
            self.highest = scores[best]

    cdef void choose(self) noexcept nogil:
        """The candidates among the starts: those of least merit, some of which change different features."""
        cdef Py_ssize_t i, k, n, d = self.columns, taken = 0, most = self.settings.candidates
        cdef double merit, bound
        if not self.started:
            self.next_stage()
            return
        for i in range(self.started):
            self.places[i] = i
        sort_by(self.start_cost, self.places, self.started)
        memcpy(self.start_order, self.places, self.started * sizeof(Py_ssize_t))
        self.second_place()
        self.active = 0
        self.pick()
        for i in range(self.active):
            self.walk(&self.candidates[i], self.settings.light if self.settings.light_first else self.settings.heavy)
        self.phase = SEARCH

    cdef void second_place(self) noexcept nogil:
        """Shortlists around the person, and around the cheapest start that passes, or else the one of least excess."""
        cdef Candidate* c = &self.candidates[0]
        cdef Py_ssize_t i, best = 0, d = self.columns
        cdef double least = INFINITY
        for i in range(min(self.started, self.settings.judged)):
            self.space.place(self.starts + self.start_order[i] * d, c.point)
            self.make_shortlist(c.point)
            c.changes = 0
            self.measure(c, self.starts + self.start_order[i] * d, self.unrelated(self.starts + self.start_order[i] * d))
            if self.tried_excess < least:
                least, best = self.tried_excess, i
            if least <= 0.0:
                break
        if i != best:
            self.space.place(self.starts + self.start_order[best] * d, c.point)
            self.make_shortlist(c.point)
        self.add_known(c.point)

    cdef void pick(self) noexcept nogil:
        """Measures starts, the cheapest first, keeps those that pass, and begins with the best."""
        cdef Candidate* dummy = &self.candidates[2 * self.settings.candidates - 1]
        cdef Py_ssize_t i, k, n = 0, d = self.columns, most = self.settings.candidates, first = self.active, turn
        cdef bint alike
        for i in range(self.started):
            if n >= MEASURED:
                break
            k = self.start_order[i]
            dummy.changes = 0
            self.measure(dummy, self.starts + k * d, self.unrelated(self.starts + k * d))
            if self.tried_excess <= 0.0:
                self.keep(self.starts + k * d, self.tried_cost)
            self.start_merit[n] = self.tried_cost + self.settings.heavy * self.tried_excess
            self.places[n] = n
            n += 1
        sort_by(self.start_merit, self.places, n)
        for turn in range(2):  # different features first, then whatever is best
            for i in range(n):
                k = self.places[i]
                if k < 0 or self.active - first >= (self.settings.different if turn == 0 else most):
                    continue
                alike = False
                for j in range(first, self.active):
                    alike = alike or self.includes(self.starts + self.start_order[k] * d, self.candidates[j].row)
                if turn == 0 and alike:
                    continue
                self.begin_candidate(&self.candidates[self.active], self.starts + self.start_order[k] * d)
                self.active += 1
                self.places[i] = -1

    cdef bint includes(self, const double* row, const double* other) noexcept nogil:
        """Whether a row changes all that the other changes."""
        cdef Py_ssize_t j
        for j in range(self.columns):
            if self.price.counted[j] and self.differs(other, j) and not self.differs(row, j):
                return False
        return True

    cdef void next_stage(self) noexcept nogil:
        """After the last candidate is done: pairs; then, where nothing passes, more starts, or wider limits."""
        cdef Candidate* c
        cdef Py_ssize_t i
        if self.phase == SEARCH and self.settings.paired:
            self.phase = PAIRS
            for i in range(self.active):
                self.start_merit[i] = self.candidates[i].cost + self.settings.heavy * self.candidates[i].excess
                self.places[i] = i
            sort_by(self.start_merit, self.places, self.active)
            for i in range(min(self.settings.paired, self.active)):
                c = &self.candidates[self.places[i]]
                c.rounds, c.pairing, c.weight = 0, True, self.settings.heavy
                self.list_pairs(c)
        elif self.found:
            self.phase = ENDED
        elif not self.more and self.used < min(self.settings.further, self.ranked):
            self.more, self.phase = True, TRANSPLANTS
        elif self.started and self.level + 1 < self.people.limits.shape[0]:
            self.relax()
            for i in range(self.active):
                self.walk(&self.candidates[i], self.settings.heavy)
            self.phase = SEARCH
        else:
            self.phase = ENDED

    cdef void relax(self) noexcept nogil:
        """Goes on with candidates and starts at the next level."""
        cdef Py_ssize_t i
        self.level += 1
        self.active = min(self.active, self.settings.candidates)
        for i in range(self.active):
            self.begin_candidate(&self.candidates[i], self.candidates[i].row)
        self.pick()
