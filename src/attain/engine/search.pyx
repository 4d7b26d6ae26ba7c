"""The search of one person: starts, candidates that become cheaper version by version, and a pool of what passes.

Starts are rows that flip the decision: given ones, the person with real rows' cells, and ascents along the score. The best
of them become candidates, which are made cheaper (`candidates`). A row passes if it keeps the guard's limits. Where none
does, more real rows are tried, once; then the limits are relaxed, level by level. `Search` says how rows are proposed, and
how the decisions about them come back.
"""

from libc.math cimport INFINITY

import numpy as np

from attain.engine.cells import matrix

from attain.engine.candidates cimport Candidates
from attain.engine.person cimport Memory, People, Person, Pool
from attain.engine.shortlist cimport Shortlist
from attain.engine.starts cimport Questions, Starts, sort_all

cdef enum:
    GIVEN, TRANSPLANTS, PULLED, ASCENT, WALKS, PAIRS, ENDED  # phases; before WALKS, rows are asked about to find starts
    MOST_STARTS = 64  # the cheapest starts, among which candidates are chosen
    MOST_GIVEN = 16  # of the given rows, the first


cdef class Search:
    """The search of one person of a batch. It never calls a model: it proposes rows and receives the decisions.

    `begin`, then `propose` and `receive` in turns until no rows are proposed, then `answers`. With a compiled model `run`
    replaces the turns: it decides by the compiled score, and no row leaves the engine before `answers`.

    `propose` returns the next rows, (n, d), copied: the caller may keep them.

    - Each is in final form, as `Settler.settle` leaves it: on its grid, within limits, computed columns computed, rules
      kept. A law may be broken as the owner breaks it. Settling it again changes nothing.
    - Each changes something. It may change more features than the owner may: `People` is given a settler without a
      largest number of changes, because the search counts those beyond it as excess. `answers` never change more.
    - All are for the owner named in `begin`. A row may be proposed again later, and twice at once.
    - The last batch may be larger than what is left of the budget.

    `receive` takes one entry for each row, in the same order, and before the next `propose`: whether it flips the decision
    (uint8, 0 or 1), and a score (float64), larger where the row is closer to flipping it. Scores only guide ascents. A row
    that the model was not asked about gets 0 and the lowest score. Every row counts as asked in the search's own budget,
    which was given to `begin`.

    `answers` are rows in final form that flip the decision and pass: the cheapest first, but those that break a law last.
    With a compiled model they need not have been proposed.
    """

    cdef Memory memory
    cdef People people
    cdef readonly Person person
    cdef Shortlist shortlist
    cdef Questions questions
    cdef Starts starts
    cdef Candidates candidates
    cdef Pool pool
    cdef int phase

    def __cinit__(self, People people):
        cdef Memory memory
        cdef Py_ssize_t ranked = min(people.settings.ranked, people.thinned.rows)
        cdef Py_ssize_t versions = 2 * people.settings.candidates * people.settings.at_once  # candidates of two levels
        self.memory = memory = Memory()
        self.people, self.person = people, Person(people, memory)
        self.shortlist = Shortlist(self.person, memory)
        # the most at once: transplants, each pulled and with fewer changes; a step of an ascent; versions; `MOST_GIVEN`
        self.questions = Questions(max(3 * ranked, people.frees * people.width, versions) + 64, people.columns, memory)
        self.starts = Starts(self.person, self.questions, memory)
        self.pool = Pool(self.person, memory)
        self.candidates = Candidates(self.person, self.shortlist, self.pool, memory)

    def begin(self, Py_ssize_t owner, Py_ssize_t budget, given):
        """Begins the search of one person; of `given` rows, in any form, the first 16 are proposed if they can be settled."""
        cdef const double[:, ::1] rows = matrix(given, self.people.columns)
        cdef Py_ssize_t i
        self.person.begin(owner, budget)
        self.phase = GIVEN
        self.pool.number = self.candidates.number = self.questions.number = 0
        with nogil:
            self.shortlist.begin()
            self.starts.begin()
        for i in range(min(rows.shape[0], <Py_ssize_t>MOST_GIVEN)):
            self.starts.ask_given(&rows[i, 0])

    def run(self):
        """Searches with the compiled model until the end."""
        cdef Questions questions = self.questions
        cdef Py_ssize_t i
        with nogil:
            while self.next_rows():
                questions.number = min(questions.number, self.person.budget - self.person.asked)
                for i in range(questions.number):
                    questions.scores[i] = self.person.lead(questions.row(i))
                    questions.met[i] = questions.scores[i] >= 0.0
                self.take_decisions()

    def propose(self):
        """The next rows, (n, d), as the class describes them; none at the end."""
        with nogil:
            self.next_rows()
        return self.copied(self.questions.rows, self.questions.number)

    def receive(self, const unsigned char[::1] met, const double[::1] scores):
        """Takes which of the proposed rows flip the decision, and their scores, (n,) each."""
        cdef Py_ssize_t i
        if not met.shape[0] == scores.shape[0] == self.questions.number:
            raise ValueError(f"{met.shape[0]} decisions and {scores.shape[0]} scores of {self.questions.number} rows")
        for i in range(self.questions.number):
            self.questions.met[i], self.questions.scores[i] = met[i], scores[i]
        self.person.asked += self.questions.number
        with nogil:
            self.take_decisions()

    def answers(self):
        """What was found, as the class describes it: rows (n, d)."""
        return self.copied(self.pool.rows, self.pool.number)

    cdef copied(self, const double* rows, Py_ssize_t n):
        cdef Py_ssize_t d = self.questions.columns
        return np.array(<const double[:n, :d]> rows) if n else np.empty((0, d))

    cdef Py_ssize_t next_rows(self) noexcept nogil:
        """Lists in `questions` the next rows to be decided on; returns how many, or 0 when the search has ended."""
        while self.phase != ENDED and self.person.asked < self.person.budget:
            if self.phase == GIVEN or self.phase == PULLED:  # listed when the phase began; none are left once decided
                if not self.questions.number:
                    self.phase = TRANSPLANTS if self.phase == GIVEN else ASCENT
                    continue
            elif self.phase == TRANSPLANTS:
                self.starts.ask_transplants()
                if not self.questions.number:
                    self.phase = ASCENT
            elif self.phase == ASCENT:
                self.starts.ascend()
                if not self.questions.number:
                    self.begin_walks()
            else:
                self.ask_candidates()
                if not self.questions.number:
                    self.next_stage()
            if self.questions.number:
                return self.questions.number
        self.questions.number = 0
        self.finish()
        return 0

    cdef void ask_candidates(self) noexcept nogil:
        """Lists the next versions of every candidate."""
        cdef const double* rows
        cdef Py_ssize_t i, k, n
        for i in range(self.candidates.number):
            rows = self.candidates.propose(&self.candidates.each[i], &n)
            for k in range(n):
                self.questions.add(rows + k * self.questions.columns, i)

    cdef void finish(self) noexcept nogil:
        """Ends the search; where nothing has passed, limits are relaxed until a candidate or a start does."""
        if self.phase < WALKS and self.starts.number:  # the budget was spent on starts
            self.begin_walks()
        while self.starts.number and not self.pool.number and self.relax():
            pass
        self.phase = ENDED

    cdef void take_decisions(self) noexcept nogil:
        """Goes on with the decisions about the rows in `questions`."""
        cdef Py_ssize_t i, last = -1
        if self.questions.number == 0:
            return
        if self.phase == TRANSPLANTS:
            self.starts.take_transplants()
            self.phase = PULLED
            return
        if self.phase == ASCENT:
            self.starts.take_step()
        elif self.phase < WALKS:
            self.starts.take_met()
        else:
            for i in range(self.questions.number):
                if self.questions.asker[i] != last and self.candidates.decide(
                    &self.candidates.each[self.questions.asker[i]], self.questions.row(i), self.questions.met[i]
                ):
                    last = self.questions.asker[i]
        self.questions.number = 0

    cdef void begin_walks(self) noexcept nogil:
        """Makes the best starts candidates and begins their walks; without starts, goes on to the next stage."""
        if not self.starts.number:
            self.next_stage()
            return
        self.starts.sort()
        self.make_shortlists()
        self.candidates.number = 0
        self.add_candidates()
        self.candidates.walk(self.people.settings.first_penalty)
        self.phase = WALKS

    cdef void make_shortlists(self) noexcept nogil:
        """Makes the shortlists around the cheapest start that passes, of the first `measured`, or that of least excess."""
        cdef Py_ssize_t i, at = 0, best = 0
        cdef double least = INFINITY
        for i in range(min(self.starts.number, self.people.settings.measured)):
            at = i
            self.shortlist.surround(self.starts.cheapest(i))
            self.measure_start(i)
            if self.shortlist.measured.excess < least:
                least, best = self.shortlist.measured.excess, i
            if least <= 0.0:
                break
        if at != best:
            self.shortlist.surround(self.starts.cheapest(best))
        self.shortlist.add_real()

    cdef void measure_start(self, Py_ssize_t rank) noexcept nogil:
        cdef const double* row = self.starts.cheapest(rank)
        self.shortlist.measure(row, self.shortlist.unrelated(row), NULL)

    cdef void add_candidates(self) noexcept nogil:
        """Measures the cheapest starts, puts those that pass into the pool, and makes the best of them candidates."""
        cdef Py_ssize_t i, turn, n = min(self.starts.number, <Py_ssize_t>MOST_STARTS), first = self.candidates.number, most
        cdef double[MOST_STARTS] merit
        cdef Py_ssize_t[MOST_STARTS] order
        cdef const double* row
        for i in range(n):
            self.measure_start(i)
            if self.shortlist.measured.excess <= 0.0:
                self.pool.keep(self.starts.cheapest(i), self.shortlist.measured.cost)
            merit[i] = self.shortlist.measured.cost + self.people.settings.penalty * self.shortlist.measured.excess
        sort_all(merit, order, n)
        for turn in range(2):  # first those that change different features, then the best of the others
            most = self.people.settings.candidates if turn else self.people.settings.different
            for i in range(n):
                if order[i] < 0 or self.candidates.number - first >= most:
                    continue
                row = self.starts.cheapest(order[i])
                if turn or not self.candidates.covers(row, first):
                    self.candidates.add(row)
                    order[i] = -1

    cdef void next_stage(self) noexcept nogil:
        """After the last candidate, or without starts: pairs; then, where nothing passes, more real rows or wider limits."""
        if self.phase == WALKS and self.people.settings.paired:
            self.phase = PAIRS
            self.candidates.pair_best()
        elif self.pool.number:
            self.phase = ENDED
        elif self.starts.add_more():
            self.phase = TRANSPLANTS
        elif self.starts.number and self.relax():
            self.candidates.walk(self.people.settings.penalty)
            self.phase = WALKS
        else:
            self.phase = ENDED

    cdef bint relax(self) noexcept nogil:
        """Relaxes the limits by one level, for the candidates and more from the starts; returns whether there was one."""
        if self.person.level + 1 >= self.people.limits.shape[0]:
            return False
        self.person.level += 1
        self.candidates.begin_again(self.people.settings.candidates)
        self.add_candidates()
        return True
