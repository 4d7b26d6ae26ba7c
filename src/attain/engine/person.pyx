"""What the searches of a batch share, and the record of the one person whose search it is."""

from libc.math cimport INFINITY
from libc.string cimport memcmp, memcpy, memmove

import numpy as np

from attain.engine.cells cimport same
from attain.engine.price cimport Price
from attain.engine.score cimport Score
from attain.engine.settle cimport Settler
from attain.engine.typical cimport Crowd, Finder, Relations

cdef double UNLAWFUL = 1e3  # added to the cost in the pool: rows that break a law, as their owner does, come last


cdef class Memory:
    """Arrays, all 0, that live as long as this object."""

    def __cinit__(self):
        self.arrays = []

    cdef double* numbers(self, Py_ssize_t n):
        cdef double[::1] array = np.zeros(n + 1)
        self.arrays.append(array)
        return &array[0]

    cdef Py_ssize_t* positions(self, Py_ssize_t n):
        return <Py_ssize_t*>self.numbers(n)


cdef class People:
    """A batch of people, and all that their searches share. Only one thread at a time may search.

    Parameters
    ----------
    settler, price
        What a row may be, and what it costs. The settler refuses no number of changes.
    guard
        Two crowds of real rows: those among which outlier factors are taken, and all (the same object where they are
        few); and the limits of each relaxation, (levels, sizes + 2): the largest outlier factors, the largest distance,
        and how far off its relations a row may be.
    score
        The compiled model; None where it must be asked.
    relations
        What columns predict for each other.
    region
        Arrays (n, d) of the people: `own`, `start`, `weights`, `low`, `high`, `movable`; and `most` changes, (n,).
    columns
        The positions of the `free` columns, (f,); the values of each that are compared, `grid` (f, G), and how many there
        are, `values` (f,); which columns are `ordered`, (d,), and which of them go `together`, (d, d).
    settings
        The fields of `Settings`, by name.
    """

    def __init__(self, settler, price, guard, score, relations, region, columns, settings):
        self.settler, self.price, self.score, self.relations = settler, price, score, relations
        self.thinned, self.all_real, self.limits = guard
        self.thinned_finder = self.real_finder = Finder(self.thinned)
        if self.all_real is not self.thinned:
            self.real_finder = Finder(self.all_real)
        self.own, self.start, self.weights = region["own"], region["start"], region["weights"]
        self.low, self.high, self.movable, self.most = region["low"], region["high"], region["movable"], region["most"]
        self.ranks, self.thinned_ranks = self.price.ranks(self.own), self.price.ranks(self.thinned.values)
        self.free, self.grid, self.values = columns["free"], columns["grid"], columns["values"]
        self.ordered, self.together = columns["ordered"], columns["together"]
        self.settings = settings
        self.columns, self.cells = self.price.columns, self.thinned.space.cells
        self.frees, self.width = self.grid.shape[0], self.grid.shape[1]


cdef class Person:
    """The record of one person: what it may become, what that costs, and what the compiled model says of it."""

    def __cinit__(self, People people, Memory memory):
        cdef Py_ssize_t grid = people.frees * people.width
        self.people, self.point, self.room = people, memory.numbers(people.cells), memory.numbers(people.settler.room)
        self.grid, self.prices, self.leads = memory.numbers(grid), memory.numbers(grid), memory.numbers(people.width)

    cdef begin(self, Py_ssize_t owner, Py_ssize_t budget):
        cdef People people = self.people
        if not 0 <= owner < people.own.shape[0]:
            raise IndexError(f"there is no person {owner} of {people.own.shape[0]}")
        self.owner, self.budget, self.most, self.asked, self.level = owner, budget, people.most[owner], 0, 0
        self.own, self.start = &people.own[owner, 0], &people.start[owner, 0]
        self.ranks, self.weights = &people.ranks[owner, 0], &people.weights[owner, 0]
        self.low, self.high, self.movable = &people.low[owner, 0], &people.high[owner, 0], &people.movable[owner, 0]
        people.thinned.space.place(self.own, self.point)
        price_grid(self)

    cdef bint settle(self, double* row, const double* guide) noexcept nogil:
        """Puts a row into final form, with a guide or NULL; returns whether it is admitted."""
        return self.people.settler.settle(row, guide, self.owner, self.room)

    cdef double cost(self, const double* row, Py_ssize_t* changes) noexcept nogil:
        return self.people.price.cost(row, self.own, self.ranks, self.weights, changes)

    cdef double price_of(self, Py_ssize_t j, double cell) noexcept nogil:
        """What the shift of one cell costs."""
        return self.weights[j] * self.people.price.shift(j, self.own[j], self.ranks[j], cell)

    cdef bint differs(self, const double* row, Py_ssize_t j) noexcept nogil:
        return not same(row[j], self.own[j])

    cdef bint on_scale(self, Py_ssize_t j, double one, double other) noexcept nogil:
        """Whether there are values between two of a column."""
        cdef double rank
        if not self.people.ordered[j]:
            return False
        rank = self.people.price.rank(j, one) + self.people.price.rank(j, other)
        return rank == rank

    cdef double lead(self, const double* row) noexcept nogil:
        """The lead of a row by the compiled model, which counts as a question."""
        self.asked += 1
        return self.people.score.lead(row)

    cdef bint flips(self, const double* row) noexcept nogil:
        """Whether the compiled model decides as wanted; beyond the budget it is not asked."""
        return self.asked < self.budget and self.lead(row) >= 0.0

    cdef Py_ssize_t cheapest_flip(self, const double* row, Py_ssize_t k) noexcept nogil:
        """The place in the grid of the cheapest value of the free column k that flips the decision, or −1.

        The leads of all values are left in `leads`. It counts as one question.
        """
        cdef Py_ssize_t first = k * self.people.width, cheapest = -1, g
        self.asked += 1
        self.people.score.along(row, self.people.free[k], self.grid + first, self.people.values[k], self.leads)
        for g in range(self.people.values[k]):
            if self.leads[g] >= 0.0 and self.prices[first + g] < (
                INFINITY if cheapest < 0 else self.prices[cheapest]
            ):
                cheapest = first + g
        return cheapest


cdef void price_grid(Person p) noexcept nogil:
    """The values of the grid within the person's reach, and what each costs; infinite for what is no other value."""
    cdef Py_ssize_t k, g, j, at
    cdef double value
    for k in range(p.people.frees):
        j = p.people.free[k]
        for g in range(p.people.values[k]):
            value, at = p.people.grid[k, g], k * p.people.width + g
            if p.people.ordered[j]:  # values out of reach stand for the last one within
                value = p.low[j] if value < p.low[j] else p.high[j] if value > p.high[j] else value
            p.grid[at], p.prices[at] = value, INFINITY
            if p.movable[j] and value != p.own[j] and (g == 0 or value != p.grid[at - 1]):
                p.prices[at] = p.price_of(j, value)


cdef class Pool:
    """The cheapest rows that flip the decision and pass, the cheapest first."""

    def __cinit__(self, Person person, Memory memory):
        cdef Py_ssize_t most = person.people.settings.pool
        self.person, self.rows, self.cost = person, memory.numbers(most * person.people.columns), memory.numbers(most)

    cdef void keep(self, const double* row, double cost) noexcept nogil:
        """Keeps a row that flips the decision and passes, if it is one of the cheapest."""
        cdef Py_ssize_t d = self.person.people.columns, at = self.number, size = d * sizeof(double), last
        cdef bint full = self.number == self.person.people.settings.pool
        if self.person.people.settler.breaks_law(row, self.person.owner, self.person.room):
            cost += UNLAWFUL
        if full and not cost < self.cost[self.number - 1]:
            return
        while at > 0 and self.cost[at - 1] >= cost:
            if self.cost[at - 1] == cost and memcmp(self.rows + (at - 1) * d, row, size) == 0:
                return
            at -= 1
        last = self.number - full
        insert_row(self.rows, self.cost, at, last, row, cost, d)
        self.number = last + 1


cdef void insert_row(
    double* rows, double* keys, Py_ssize_t at, Py_ssize_t last, const double* row, double key, Py_ssize_t width
) noexcept nogil:
    """Inserts a row and its key at a place; those from there on move by one, up to the place that is last then."""
    cdef Py_ssize_t moved = (last - at) * sizeof(double)
    memmove(keys + at + 1, keys + at, moved)
    memmove(rows + (at + 1) * width, rows + at * width, moved * width)
    memcpy(rows + at * width, row, width * sizeof(double))
    keys[at] = key
