"""Versions of a record, measured against a shortlist of real rows.

The shortlist has the rows nearest to the person, and those nearest to a start that passes. A version's distances to
neighbours can therefore only be too large, never too small. With cost C and excess E over the guard's limits, its merit is
C + w E:

    E = Σ_k log⁺(factor_k / limit_k) + 2 log⁺(distance / limit) + v Σ_r log⁺(|off_r| / limit)
        + #changes beyond what the person may change.
"""

from libc.math cimport INFINITY, fabs, log, rint, sqrt
from libc.string cimport memcpy

from attain.engine.person cimport Memory, People, Person
from attain.engine.typical cimport Finder, add_gaps, smallest

cdef double DIGITS = 1e5  # of an excess: last bits must not decide between equals
cdef double TOLERANCE = 1e-9  # on discrete data a limit is the value of some real row
cdef double FAR = 1e4  # cells beyond this are measured afresh, because differences would lose digits


cdef class NearRows:
    """Rows of a crowd, at most `most` near a person and as many near a second place; `points` are theirs, by cell."""

    def __cinit__(self, Finder finder, Py_ssize_t most, Memory memory):
        cdef Py_ssize_t rows = finder.crowd.rows, each = min(most, rows), both = min(2 * most, rows)
        self.finder, self.most = finder, most
        self.own, self.other, self.rows = memory.positions(each), memory.positions(each), memory.positions(both)
        self.points = memory.numbers(both * finder.crowd.space.cells)

    cdef void find(self, const double* own, const double* place) noexcept nogil:
        """The rows nearest to either, in order of position, each once; `own_number` is −1 for a new person."""
        cdef Py_ssize_t others, i = 0, j = 0, n = 0, cell, s
        if self.own_number < 0:
            self.own_number = self.finder.nearest(own, self.most, self.own)
        others = self.finder.nearest(place, self.most, self.other)
        while i < self.own_number or j < others:
            if j == others or (i < self.own_number and self.own[i] <= self.other[j]):
                j += j < others and self.own[i] == self.other[j]
                self.rows[n] = self.own[i]
                i += 1
            else:
                self.rows[n] = self.other[j]
                j += 1
            n += 1
        for cell in range(self.finder.crowd.space.cells):
            for s in range(n):
                self.points[cell * n + s] = self.finder.crowd.points[cell, self.rows[s]]
        self.number = n


cdef class Shortlist:
    """Real rows near one person, and the latest version `measured` against them."""

    def __cinit__(self, Person person, Memory memory):
        cdef People people = person.people
        cdef Py_ssize_t most = people.settings.shortlist, r = people.relations.number
        self.person, self.people, self.widest = person, people, people.thinned.widest
        self.thinned = NearRows(people.thinned_finder, most, memory)
        self.real = NearRows(people.real_finder, 0 if people.all_real is people.thinned else most, memory)
        self.measured, self.place = self.new_measured(memory), memory.numbers(people.cells)
        self.spare, self.taken = memory.numbers(2 * most), <unsigned char*>memory.numbers(2 * most)
        self.gaps, self.likely = memory.numbers(self.widest), memory.positions(self.widest)
        self.predicted, self.own_predicted, self.own_off = memory.numbers(r), memory.numbers(r), memory.numbers(r)

    cdef Measured new_measured(self, Memory memory):
        cdef Measured found
        found.point, found.neighbours = memory.numbers(self.people.cells), memory.positions(self.widest)
        found.near = memory.numbers(min(2 * self.thinned.most, self.thinned.finder.crowd.rows))
        found.real = memory.numbers(min(2 * self.real.most, self.real.finder.crowd.rows))
        return found

    cdef void begin(self) noexcept nogil:
        """Begins with a new person: what its own columns predict for each other, and how far off they are."""
        self.thinned.own_number = self.real.own_number = -1
        self.people.relations.find_offs(self.person.own, self.own_predicted, self.own_off)

    cdef void surround(self, const double* row) noexcept nogil:
        """Lists rows of the thinned crowd near the person and near a row."""
        self.people.thinned.space.place(row, self.place)
        self.thinned.find(self.person.point, self.place)
        self.real.number = 0

    cdef void add_real(self) noexcept nogil:
        """Where the crowd is thinned, lists all real rows in the same places, for the distance to the nearest of them."""
        if self.real.most:
            self.real.find(self.person.point, self.place)

    cdef double unrelated(self, const double* row) noexcept nogil:
        """By how much a row is off what its columns predict for each other, beyond what is usual or the person's own."""
        cdef Py_ssize_t number = self.people.relations.number, sizes = self.people.thinned.sizes
        cdef double limit = self.people.limits[self.person.level, sizes + 1], over
        if number == 0 or limit == INFINITY:
            return 0.0
        memcpy(self.predicted, self.own_predicted, number * sizeof(double))
        self.people.relations.predict_changed(row, self.person.own, self.predicted)
        over = self.people.relations.excess(row, self.predicted, self.own_off, limit)
        return rint(self.people.settings.related * over * DIGITS) / DIGITS

    cdef void measure(self, const double* row, double unrelated, const Measured* like) noexcept nogil:
        """Measures a row in final form, quickly where it is much like one that was measured, if any.

        `unrelated` is by how much it is off its relations.
        """
        cdef Measured* now = &self.measured
        cdef Py_ssize_t cell, moved = 0, i, cells = self.people.cells
        cdef bint afresh = like == NULL
        self.people.versions_measured += 1
        now.cost = self.person.cost(row, &now.changes)
        self.people.thinned.space.place(row, now.point)
        for cell in range(0 if afresh else cells):
            if now.point[cell] != like.point[cell]:
                moved += 1
                afresh = afresh or fabs(now.point[cell]) > FAR or fabs(like.point[cell]) > FAR
        afresh = afresh or 3 * moved > cells
        for i in range(self.thinned.number):
            now.near[i] = 0.0 if afresh else like.near[i]
        for i in range(self.real.number):
            now.real[i] = 0.0 if afresh else like.real[i]
        for cell in range(cells):
            if afresh:
                add_cell(self, cell, now.point[cell], 1.0)
            elif now.point[cell] != like.point[cell]:
                add_cell(self, cell, like.point[cell], -1.0)
                add_cell(self, cell, now.point[cell], 1.0)
        find_neighbours(self, NULL if afresh else like.neighbours)
        now.excess = excess(self) + unrelated


cdef void add_cell(Shortlist s, Py_ssize_t cell, double value, double sign) noexcept nogil:
    """Adds what one cell of a point contributes to all squared distances, or takes it away."""
    cdef Py_ssize_t near = s.thinned.number, real = s.real.number
    cdef bint state = cell < s.people.thinned.space.states
    add_gaps(s.thinned.points + cell * near, near, value, sign, state, s.measured.near)
    add_gaps(s.real.points + cell * real, real, value, sign, state, s.measured.real)


cdef double excess(Shortlist s) noexcept nogil:
    """By how much the distances that were measured, and the number of changes, exceed the limits."""
    cdef Py_ssize_t sizes = s.people.thinned.sizes, k = min(s.widest, s.thinned.number), n, i, size, row
    cdef double product = 1.0, over, reached, density, distance
    cdef const double* limits = &s.people.limits[s.person.level, 0]
    for i in range(k):
        s.gaps[i] = sqrt(max(s.gaps[i], 0.0))
    for size in range(sizes):
        reached, density, n = 0.0, 0.0, min(s.people.thinned.neighbours[size], k)
        for i in range(n):
            row = s.thinned.rows[s.measured.neighbours[i]]
            reached += max(s.gaps[i], s.people.thinned.reaches[row, size, 0])
            density += s.people.thinned.reaches[row, size, 1]
        over = density / n * (reached / n + 1e-10) / limits[size]
        product *= over if over > 1 + TOLERANCE else 1.0
    distance = s.gaps[0]
    if s.real.number:
        distance = s.measured.real[0]
        for i in range(1, s.real.number):
            distance = min(distance, s.measured.real[i])
        distance = sqrt(max(distance, 0.0))
    over = distance / limits[sizes]
    product *= over * over if over > 1 + TOLERANCE else 1.0
    return rint(log(product) * DIGITS) / DIGITS + max(s.measured.changes - s.person.most, 0)


cdef void find_neighbours(Shortlist s, const Py_ssize_t* likely) noexcept nogil:
    """The rows of the shortlist nearest to what was measured, nearest first; of those equally far, the first.

    Where it is much like another version, most of them are those `likely` ones; NULL where nothing is known.
    """
    cdef Py_ssize_t i, row, k = min(s.widest, s.thinned.number)
    cdef bint afresh = likely == NULL
    if afresh:
        smallest(s.measured.near, s.thinned.number, k, s.spare, s.likely)
        likely = s.likely
    for i in range(k):
        s.measured.neighbours[i] = -1
        insert(s, likely[i], i)
    if afresh:
        return
    for i in range(k):
        s.taken[likely[i]] = 1
    for row in range(s.thinned.number):
        if s.measured.near[row] <= s.gaps[k - 1] and not s.taken[row]:
            insert(s, row, k - 1)
    for i in range(k):
        s.taken[likely[i]] = 0


cdef void insert(Shortlist s, Py_ssize_t row, Py_ssize_t last) noexcept nogil:
    """Puts a row in its place among the neighbours found, the last of which gives way."""
    cdef Py_ssize_t at = last
    cdef Py_ssize_t* rows = s.measured.neighbours
    cdef double distance = s.measured.near[row]
    if rows[last] >= 0 and (distance > s.gaps[last] or (distance == s.gaps[last] and row > rows[last])):
        return
    while at > 0 and (s.gaps[at - 1] > distance or (s.gaps[at - 1] == distance and rows[at - 1] > row)):
        s.gaps[at], rows[at] = s.gaps[at - 1], rows[at - 1]
        at -= 1
    s.gaps[at], rows[at] = distance, row
