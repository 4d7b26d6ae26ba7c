"""One person's search: the record, real rows near it, and what is known about versions of it.

A version of a record is settled, priced, put to the model where that is compiled, and measured against a shortlist of
real rows: those nearest to the person, and those nearest to a start that passes. Its distances to neighbours can
therefore only be too large, never too small. With cost C and excess E over the guard's limits, its merit is C + w E:

    E = Σ_k log⁺(factor_k / limit_k) + 2 log⁺(distance / limit) + v Σ_r log⁺(|off_r| / limit)
        + #changes beyond what the person may change.
"""

from libc.math cimport INFINITY, fabs, log, rint, sqrt
from libc.string cimport memcmp, memcpy

import numpy as np

from attain.engine.price cimport Price
from attain.engine.score cimport Score
from attain.engine.settle cimport Settler
from attain.engine.typical cimport Crowd, Relations, add_gaps, smallest

cdef double DIGITS = 1e5  # of an excess: last bits must not decide between equals
cdef double TOLERANCE = 1e-9  # on discrete data a limit is the value of some real row
cdef double FAR = 1e4  # cells beyond this are measured afresh, because differences would lose digits
cdef double UNLAWFUL = 1e3  # added to the cost in the pool: rows that break a law, as their owner does, come last
cdef Py_ssize_t LISTED = 24  # the most versions that a candidate has listed


cdef class People:
    """A batch of people, and all that their searches share.

    Parameters
    ----------
    settler, price
        What a row may be, and what it costs.
    crowd, known
        Real rows: those among which outlier factors are taken, and all. The same, where they are few.
    score
        The compiled model; None where it must be asked.
    relations, together
        What columns tell of each other, and which of them go together, (d, d).
    region
        Arrays (n, d) of the people: `own`, `start`, `weights`, `low`, `high`, `movable`; and `most` changes, (n,).
    free, grid, values
        The columns that are searched, the values of each that are compared (f, G), and how many there are, (f,).
    ordered
        Which columns have an order, (d,).
    limits
        The largest outlier factors and distance of each relaxation, and how far off its relations may be,
        (levels, sizes + 2).
    settings
        The fields of `Settings`, by name.
    """

    def __init__(
        self, settler, price, crowd, known, score, relations, together, region, free, grid, values, ordered, limits,
        settings,
    ):
        self.settler, self.price, self.crowd, self.known, self.score = settler, price, crowd, known, score
        self.relations, self.together = relations, together
        self.own, self.start, self.weights = region["own"], region["start"], region["weights"]
        self.low, self.high, self.movable, self.most = region["low"], region["high"], region["movable"], region["most"]
        self.ranks = self.price.ranks(self.own)
        self.crowd_ranks = self.price.ranks(self.crowd.values)
        self.free, self.grid, self.values, self.ordered, self.limits = free, grid, values, ordered, limits
        self.settings = settings
        self.columns, self.cells = self.price.columns, self.crowd.space.cells
        self.most_starts = 3 * self.settings.ranked + len(free) * (self.settings.ascents + 1) + 64
        # starts and columns are sorted in the same places as real rows
        self.places = max(self.crowd.rows, self.known.rows, self.most_starts, self.columns)
        self.scratch = np.empty(5 * self.places + self.settler.room + self.cells)


cdef class Person:
    """The search of one person at a time; `Search.begin` says whose."""

    def __cinit__(self, People people):
        cdef Py_ssize_t d = people.columns, cells = people.cells, n = people.settings.candidates, i
        cdef Py_ssize_t near = min(2 * people.settings.shortlist, people.crowd.rows)
        cdef Py_ssize_t known = 0 if people.known is people.crowd else min(
            2 * people.settings.shortlist, people.known.rows
        )
        cdef Py_ssize_t grid = people.grid.shape[0] * people.grid.shape[1]
        cdef Py_ssize_t ranked = min(people.settings.ranked, people.crowd.rows)
        cdef Candidate* c
        self.people = people
        self.settler, self.price, self.score, self.space = people.settler, people.price, people.score, people.crowd.space
        self.crowd, self.known_crowd, self.relations = people.crowd, people.known, people.relations
        self.settings, self.columns, self.cells, self.frees = people.settings, d, cells, people.free.shape[0]
        self.free, self.values, self.ordered = &people.free[0], &people.values[0], &people.ordered[0]
        self.distances = &people.scratch[0]
        self.spare, self.keys = self.distances + people.places, self.distances + 2 * people.places
        self.chosen = <Py_ssize_t*>(self.keys + people.places)
        self.places = self.chosen + people.places
        self.room = <double*>(self.places + people.places)
        self.counted_cells = <unsigned char*>(self.room + people.settler.room)
        n = 2 * n  # a relaxation goes on with candidates and starts
        cdef Py_ssize_t pending = max(3 * ranked, grid, n * people.settings.at_once) + 64
        self.memory = []
        self.point, self.tried_point = self.numbers(cells), self.numbers(cells)
        self.own_told, self.own_off, self.tried_told = (
            self.numbers(people.relations.number), self.numbers(people.relations.number),
            self.numbers(people.relations.number),
        )
        self.tried, self.spare_row, self.ascent, self.closest_row = (
            self.numbers(d), self.numbers(d), self.numbers(d), self.numbers(d)
        )
        self.order, self.slack = self.positions(ranked), self.numbers(ranked)
        self.starts, self.start_order = self.numbers(people.most_starts * d), self.positions(people.most_starts)
        self.start_cost, self.start_merit = self.numbers(people.most_starts), self.numbers(people.most_starts)
        self.near, self.near_rows, self.tried_near = self.numbers(near * cells), self.positions(near), self.numbers(near)
        self.known, self.known_rows = self.numbers(known * cells), self.positions(known)
        self.own_near, self.own_known = self.positions(near), self.positions(known)
        self.tried_known, self.facts = self.numbers(known), self.numbers(near * 2 * people.crowd.sizes)
        self.pending, self.asker, self.scores = self.numbers(pending * d), self.positions(pending), self.numbers(pending)
        self.decided, self.taken = <unsigned char*>self.numbers(pending), <unsigned char*>self.numbers(near)
        self.grid, self.prices, self.leads = self.numbers(grid), self.numbers(grid), self.numbers(grid)
        self.pool, self.pool_cost = self.numbers(people.settings.pool * d), self.numbers(people.settings.pool)
        self.gaps, self.gap_rows = self.numbers(people.crowd.widest), self.positions(people.crowd.widest)
        self.candidates = <Candidate*>self.numbers(n * sizeof(Candidate) // sizeof(double) + 1)
        for i in range(n):
            c = &self.candidates[i]
            c.row, c.point, c.near, c.known = self.numbers(d), self.numbers(cells), self.numbers(near), self.numbers(known)
            c.versions, c.merits = self.numbers(LISTED * d), self.numbers(LISTED)
            c.order, c.neighbours = self.positions(d), self.positions(people.crowd.widest)

    cdef double* numbers(self, Py_ssize_t n):
        """Room for n numbers, all 0, for as long as the search lives."""
        cdef double[::1] room = np.zeros(n + 1)
        self.memory.append(room)
        return &room[0]

    cdef Py_ssize_t* positions(self, Py_ssize_t n):
        """Room for n positions."""
        return <Py_ssize_t*>self.numbers(n)

    cdef void make_shortlist(self, const double* place) noexcept nogil:
        """The rows of the crowd nearest to the person and to a second place, with all that measuring needs of them."""
        cdef Py_ssize_t s, i, j
        if self.own_nears < 0:
            self.own_nears = nearest(self, self.crowd, self.point, self.own_near)
        self.nears = joined(self, self.crowd, self.own_near, self.own_nears, place, self.near_rows, self.near)
        for s in range(self.nears):
            for i in range(self.crowd.sizes):
                for j in range(2):
                    self.facts[(s * self.crowd.sizes + i) * 2 + j] = self.crowd.reaches[self.near_rows[s], i, j]
        self.knowns = 0

    cdef void add_known(self, const double* place) noexcept nogil:
        """Where the crowd is a sample: the nearest of all real rows, too, for the distance to the nearest of them."""
        if self.known_crowd is self.crowd:
            return
        if self.own_knowns < 0:
            self.own_knowns = nearest(self, self.known_crowd, self.point, self.own_known)
        self.knowns = joined(
            self, self.known_crowd, self.own_known, self.own_knowns, place, self.known_rows, self.known
        )

    cdef bint flips(self, const double* row) noexcept nogil:
        """Whether the compiled model decides as wanted; every question counts, and beyond the budget none is asked."""
        if self.asked >= self.budget:
            return False
        self.asked += 1
        return self.score.lead(row) >= 0.0

    cdef void measure(self, Candidate* c, const double* row, double unrelated) noexcept nogil:
        """The cost, excess and distances of a settled row, into `tried_…`; quickly where it is much like a candidate.

        `unrelated` is by how much it is off its relations.
        """
        cdef Py_ssize_t cell, moved = 0, i
        cdef bint afresh = c.changes == 0
        self.tried_cost = self.price.cost(row, self.own, self.ranks, self.weights, &self.tried_changes)
        self.space.place(row, self.tried_point)
        for cell in range(self.cells):
            if self.tried_point[cell] != c.point[cell]:
                moved += 1
                afresh = afresh or fabs(self.tried_point[cell]) > FAR or fabs(c.point[cell]) > FAR
        afresh = afresh or 3 * moved > self.cells
        for i in range(self.nears):
            self.tried_near[i] = 0.0 if afresh else c.near[i]
        for i in range(self.knowns):
            self.tried_known[i] = 0.0 if afresh else c.known[i]
        for cell in range(self.cells):
            if afresh:
                add_cell(self, cell, self.tried_point[cell], 1.0)
            elif self.tried_point[cell] != c.point[cell]:
                add_cell(self, cell, c.point[cell], -1.0)
                add_cell(self, cell, self.tried_point[cell], 1.0)
        self.tried_excess = excess(self, c, afresh) + unrelated

    cdef double unrelated(self, const double* row) noexcept nogil:
        """By how much a row is off what its columns tell of each other, beyond what is usual or the person's own."""
        cdef double limit = self.people.limits[self.level, self.crowd.sizes + 1]
        if self.relations.number == 0 or limit == INFINITY:
            return 0.0
        memcpy(self.tried_told, self.own_told, self.relations.number * sizeof(double))
        self.relations.tell_again(row, self.own, self.tried_told)
        return rint(
            self.settings.related * self.relations.excess(row, self.tried_told, self.own_off, limit) * DIGITS
        ) / DIGITS

    cdef double version(self, Candidate* c, double* row, const double* guide, double bound) noexcept nogil:
        """The merit of a version of a candidate, settled in place; infinite unless it is below the bound.

        Where the model is compiled, it flips the decision, too, and is kept for the pool.
        """
        cdef Py_ssize_t changes
        cdef double merit, unrelated
        if not self.settler.settle(row, guide, self.owner, self.room):
            return INFINITY
        if memcmp(row, c.row, self.columns * sizeof(double)) == 0:
            return INFINITY
        merit = self.price.cost(row, self.own, self.ranks, self.weights, &changes)
        unrelated = self.unrelated(row) if merit < bound else 0.0
        if merit + c.weight * unrelated >= bound:
            return INFINITY
        if self.score is not None and not self.flips(row):
            return INFINITY
        self.measure(c, row, unrelated)
        if self.score is not None and self.tried_excess <= 0.0:
            self.keep(row, self.tried_cost)
        merit = self.tried_cost + c.weight * self.tried_excess
        return merit if merit < bound else INFINITY

    cdef void replace(self, Candidate* c, const double* row) noexcept nogil:
        """Puts a row that flips the decision in the place of a candidate."""
        self.measure(c, row, self.unrelated(row))
        memcpy(c.row, row, self.columns * sizeof(double))
        memcpy(c.point, self.tried_point, self.cells * sizeof(double))
        memcpy(c.near, self.tried_near, self.nears * sizeof(double))
        memcpy(c.known, self.tried_known, self.knowns * sizeof(double))
        memcpy(c.neighbours, self.gap_rows, min(self.crowd.widest, self.nears) * sizeof(Py_ssize_t))
        c.cost, c.excess, c.changes = self.tried_cost, self.tried_excess, self.tried_changes
        if c.excess <= 0.0:
            self.keep(row, c.cost)

    cdef void begin_candidate(self, Candidate* c, const double* row) noexcept nogil:
        """A new candidate."""
        c.changes, c.rounds, c.pairing = 0, 0, False
        self.replace(c, row)

    cdef void keep(self, const double* row, double cost) noexcept nogil:
        """Puts a row that flips the decision and passes into the pool, if it is one of the cheapest."""
        cdef Py_ssize_t d = self.columns, at, size = d * sizeof(double)
        if self.settler.breaks_law(row, self.owner, self.room):
            cost += UNLAWFUL
        if self.found == self.settings.pool and not cost < self.pool_cost[self.found - 1]:
            return
        at = self.found
        while at > 0 and self.pool_cost[at - 1] >= cost:
            if self.pool_cost[at - 1] == cost and memcmp(self.pool + (at - 1) * d, row, size) == 0:
                return
            at -= 1
        cdef Py_ssize_t last = self.found if self.found < self.settings.pool else self.found - 1, i
        for i in range(last, at, -1):
            memcpy(self.pool + i * d, self.pool + (i - 1) * d, size)
            self.pool_cost[i] = self.pool_cost[i - 1]
        memcpy(self.pool + at * d, row, size)
        self.pool_cost[at] = cost
        self.found = last + 1


cdef Py_ssize_t joined(
    Person p, Crowd crowd, const Py_ssize_t* own, Py_ssize_t owns, const double* place, Py_ssize_t* rows, double* points
) noexcept nogil:
    """Rows of a crowd and those nearest to a place, in order of position, each once; and their points, by cell."""
    cdef Py_ssize_t* other = p.chosen
    cdef Py_ssize_t others = nearest(p, crowd, place, other), i = 0, j = 0, n = 0, cell, s
    while i < owns or j < others:
        if j == others or (i < owns and own[i] <= other[j]):
            j += j < others and own[i] == other[j]
            rows[n] = own[i]
            i += 1
        else:
            rows[n] = other[j]
            j += 1
        n += 1
    for cell in range(p.cells):
        for s in range(n):
            points[cell * n + s] = crowd.points[cell, rows[s]]
    return n


cdef Py_ssize_t nearest(Person p, Crowd crowd, const double* place, Py_ssize_t* rows) noexcept nogil:
    cdef Py_ssize_t s
    for s in range(crowd.rows):
        p.distances[s] = 0.0
    crowd.squared(place, p.counted_cells, p.distances)
    return smallest(p.distances, crowd.rows, p.settings.shortlist, p.spare, rows)


cdef void add_cell(Person p, Py_ssize_t cell, double value, double sign) noexcept nogil:
    cdef bint state = cell < p.space.states
    add_gaps(p.near + cell * p.nears, p.nears, value, sign, state, p.tried_near)
    add_gaps(p.known + cell * p.knowns, p.knowns, value, sign, state, p.tried_known)


cdef double excess(Person p, Candidate* c, bint afresh) noexcept nogil:
    """By how much the distances that were measured, and the number of changes, exceed the limits."""
    cdef Py_ssize_t k = min(p.crowd.widest, p.nears), n, i, size, s
    cdef double product = 1.0, over, reached, density, distance
    find_neighbours(p, c, k, afresh)
    for i in range(k):
        p.gaps[i] = sqrt(max(p.gaps[i], 0.0))
    for size in range(p.crowd.sizes):
        reached, density, n = 0.0, 0.0, min(p.crowd.neighbours[size], k)
        for i in range(n):
            s = (p.gap_rows[i] * p.crowd.sizes + size) * 2
            reached += max(p.gaps[i], p.facts[s])
            density += p.facts[s + 1]
        over = density / n * (reached / n + 1e-10) / p.people.limits[p.level, size]
        product *= over if over > 1 + TOLERANCE else 1.0
    distance = p.gaps[0]
    if p.knowns:
        distance = p.tried_known[0]
        for i in range(1, p.knowns):
            distance = min(distance, p.tried_known[i])
        distance = sqrt(max(distance, 0.0))
    over = distance / p.people.limits[p.level, p.crowd.sizes]
    product *= over * over if over > 1 + TOLERANCE else 1.0
    return rint(log(product) * DIGITS) / DIGITS + max(p.tried_changes - p.most, 0)


cdef void find_neighbours(Person p, Candidate* c, Py_ssize_t k, bint afresh) noexcept nogil:
    """The k rows of the shortlist nearest to what was measured, nearest first; of those equally far, the first.

    Where it is much like a candidate, most of them are the candidate's.
    """
    cdef const Py_ssize_t* likely = c.neighbours
    cdef Py_ssize_t i, s
    if afresh:
        smallest(p.tried_near, p.nears, k, p.spare, p.chosen)
        likely = p.chosen
    for i in range(k):
        p.gap_rows[i] = -1
        insert(p, likely[i], i)
    if afresh:
        return
    for i in range(k):
        p.taken[likely[i]] = 1
    for s in range(p.nears):
        if p.tried_near[s] <= p.gaps[k - 1] and not p.taken[s]:
            insert(p, s, k - 1)
    for i in range(k):
        p.taken[likely[i]] = 0


cdef void insert(Person p, Py_ssize_t row, Py_ssize_t last) noexcept nogil:
    """Puts a row in its place among the neighbours found, the last of which gives way."""
    cdef Py_ssize_t at = last
    cdef double distance = p.tried_near[row]
    if p.gap_rows[last] >= 0 and (
        distance > p.gaps[last] or (distance == p.gaps[last] and row > p.gap_rows[last])
    ):
        return
    while at > 0 and (
        p.gaps[at - 1] > distance or (p.gaps[at - 1] == distance and p.gap_rows[at - 1] > row)
    ):
        p.gaps[at], p.gap_rows[at] = p.gaps[at - 1], p.gap_rows[at - 1]
        at -= 1
    p.gaps[at], p.gap_rows[at] = distance, row
