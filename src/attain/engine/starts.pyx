"""Where a search starts from: real rows' cells, pulled towards the person, and ascents along the model's score."""

from libc.math cimport INFINITY, fabs, sqrt
from libc.string cimport memcpy, memmove

from attain.engine.cells cimport same
from attain.engine.person cimport Memory, People, Person
from attain.engine.typical cimport UNREACHABLE, Finder, gap

cdef double LEAST = 2.0 ** -10, MOST = 2.0 ** 14  # between which μ is looked for
cdef int HALVINGS = 12


cdef void sort_by(const double* keys, Py_ssize_t* order, Py_ssize_t n) noexcept nogil:
    """Sorts positions by their keys, of equal ones the first: Shell's method."""
    cdef Py_ssize_t step = 1, i, j, held
    while step < n // 3:
        step = 3 * step + 1
    while step > 0:
        for i in range(step, n):
            held, j = order[i], i
            while j >= step and (
                keys[order[j - step]] > keys[held] or (keys[order[j - step]] == keys[held] and order[j - step] > held)
            ):
                order[j] = order[j - step]
                j -= step
            order[j] = held
        step //= 3


cdef void sort_all(const double* keys, Py_ssize_t* order, Py_ssize_t n) noexcept nogil:
    """The positions of n keys, sorted by these."""
    cdef Py_ssize_t i
    for i in range(n):
        order[i] = i
    sort_by(keys, order, n)


cdef class Questions:
    """Rows that the model is asked about: of each who asks, and then whether it flips the decision, and its score."""

    def __cinit__(self, Py_ssize_t most, Py_ssize_t columns, Memory memory):
        self.columns, self.rows, self.scores = columns, memory.numbers(most * columns), memory.numbers(most)
        self.asker, self.met = memory.positions(most), <unsigned char*>memory.numbers(most)

    cdef double* row(self, Py_ssize_t place) noexcept nogil:
        return self.rows + place * self.columns

    cdef void add(self, const double* row, Py_ssize_t asker) noexcept nogil:
        memcpy(self.row(self.number), row, self.columns * sizeof(double))
        self.asker[self.number] = asker
        self.number += 1


cdef class RealRows:
    """Real rows by promise: their `order`, and by how much of the squared radius each may move towards the person."""

    def __cinit__(self, Finder finder, Py_ssize_t most, Memory memory):
        self.finder, most = finder, min(most, finder.crowd.rows)
        self.order, self.found, self.places = memory.positions(most), memory.positions(most), memory.positions(most)
        self.slack, self.keys, self.ranks = memory.numbers(most), memory.numbers(most), memory.numbers(most)

    cdef void rank(self, Person p) noexcept nogil:
        """Ranks them by the better of their ranks by distance and by shift, then by the other rank.

        Rows that are too far away in cells that the person cannot change come last.
        """
        cdef double reach = p.people.settings.radius * p.people.settings.radius, by_distance
        cdef Py_ssize_t i, k, n
        n = self.finder.nearest_in_reach(p.point, p.movable, reach, p.people.settings.ranked, self.found)
        self.number = n
        for i in range(n):
            self.keys[i] = self.finder.squared[self.found[i]]
        sort_all(self.keys, self.places, n)
        for k in range(n):
            self.ranks[self.places[k]] = k
        for i in range(n):
            self.keys[i] = shifts(p, self.found[i], UNREACHABLE if self.keys[i] >= UNREACHABLE else 0.0)
        sort_all(self.keys, self.places, n)
        for k in range(n):
            by_distance = self.ranks[self.places[k]]
            self.ranks[self.places[k]] = min(by_distance, <double>k) * n + max(by_distance, <double>k)
        sort_all(self.ranks, self.places, n)
        for k in range(n):
            self.order[k] = self.found[self.places[k]]
            self.slack[k] = reach - self.finder.fixed[self.order[k]]


cdef double shifts(Person p, Py_ssize_t real, double total) noexcept nogil:
    """The sum of a person's weighted shifts to a real row, added to a total."""
    cdef Py_ssize_t k, j
    cdef double cell, apart
    for k in range(p.people.frees):
        j = p.people.free[k]
        cell = p.people.thinned.values[real, j]
        if same(cell, p.own[j]):
            continue
        apart = fabs(p.people.thinned_ranks[real, j] - p.ranks[j])
        total += p.weights[j] * (1.0 if apart != apart else apart)
    return total


cdef class Starts:
    """Rows that flip the decision, with their costs.

    With `more`, more real rows were tried, and ascents go on from `closest_row`, which came closest of all transplants.
    """

    def __cinit__(self, Person person, Questions questions, Memory memory):
        cdef People people = person.people
        cdef Py_ssize_t d = people.columns, n = 3 * people.settings.ranked + people.frees * (people.settings.ascents + 1) + 64
        self.people, self.person, self.questions, self.most = people, person, questions, n
        self.real = RealRows(people.thinned_finder, people.settings.ranked, memory)
        self.rows, self.cost, self.by_cost = memory.numbers(n * d), memory.numbers(n), memory.positions(n)
        self.closest_row, self.ascent, self.tried = memory.numbers(d), memory.numbers(d), memory.numbers(d)
        self.point, self.shifts, self.by_shift = memory.numbers(people.cells), memory.numbers(d), memory.positions(d)

    cdef void begin(self) noexcept nogil:
        """Begins with a new person."""
        self.number = self.used = self.steps = 0
        self.more, self.closest = False, -INFINITY
        memcpy(self.closest_row, self.person.start, self.people.columns * sizeof(double))
        self.real.rank(self.person)

    cdef void sort(self) noexcept nogil:
        sort_all(self.cost, self.by_cost, self.number)

    cdef const double* cheapest(self, Py_ssize_t rank) noexcept nogil:
        """The cheapest start, or one after it, as sorted last."""
        return self.rows + self.by_cost[rank] * self.people.columns

    cdef bint add_more(self) noexcept nogil:
        """Goes on to more real rows, if there are any and they were not tried; returns whether it does."""
        if self.more or self.used >= min(self.people.settings.further, self.real.number):
            return False
        self.more = True
        return True

    cdef void ask_given(self, const double* row) noexcept nogil:
        """Asks about a row in any form, if it can be settled."""
        memcpy(self.tried, row, self.people.columns * sizeof(double))
        if self.person.settle(self.tried, NULL):
            self.questions.add(self.tried, 0)

    cdef void take_met(self) noexcept nogil:
        """Keeps the rows asked about that flip the decision."""
        cdef Py_ssize_t i
        for i in range(self.questions.number):
            if self.questions.met[i]:
                add(self, self.questions.row(i))

    cdef void ask_transplants(self) noexcept nogil:
        """Asks about the next transplants: the person with the cells of a real row, where these may change."""
        cdef Py_ssize_t i, k, j, last = self.people.settings.transplants
        cdef const double* real
        last = min(self.people.settings.further if self.more else last, self.real.number)
        for i in range(self.used, last):
            real = &self.people.thinned.values[self.real.order[i], 0]
            memcpy(self.tried, self.person.start, self.people.columns * sizeof(double))
            for k in range(self.people.frees):
                j = self.people.free[k]
                if self.person.movable[j]:
                    self.tried[j] = real[j]
            if self.person.settle(self.tried, real):
                self.questions.add(self.tried, i)
        self.used = last

    cdef void take_transplants(self) noexcept nogil:
        """Keeps transplants that flip the decision; asks about these pulled towards the person, and with fewer changes."""
        cdef Py_ssize_t i, n = self.questions.number, d = self.people.columns, changes
        cdef double* row
        self.take_met()
        for i in range(n):
            row = self.questions.row(i)
            if not self.questions.met[i]:
                if self.questions.scores[i] > self.closest:
                    self.closest = self.questions.scores[i]
                    memcpy(self.closest_row, row, d * sizeof(double))
                continue
            if self.people.settings.pulled and pull(self, self.questions.asker[i], row):
                self.questions.add(self.tried, i)
            self.person.cost(row, &changes)
            if changes > self.person.most and fewer(self, row):
                self.questions.add(self.tried, i)
        self.questions.number -= n
        memmove(self.questions.rows, self.questions.row(n), self.questions.number * d * sizeof(double))

    cdef void ascend(self) noexcept nogil:
        """Ascents; where the model must be asked, only for a person without any start, and asks about the next step.

        Who has no start after more transplants either ascends again, from the one that came closest, and farther.
        """
        cdef Py_ssize_t steps = self.people.settings.ascents, d = self.people.columns
        if self.people.score is not None:
            if not self.more:
                ascend_compiled(self, self.person.start, steps)
            elif not self.number:
                ascend_compiled(self, self.closest_row, d)
                if not self.number:
                    ascend_compiled(self, self.person.start, d)
        elif not self.number and self.steps < (3 if self.more else 1) * steps:
            if self.steps == 0 or (self.more and self.steps == steps):
                memcpy(self.ascent, self.closest_row if self.more else self.person.start, d * sizeof(double))
                self.highest = -INFINITY
            ask_step(self)
            self.steps += 1

    cdef void take_step(self) noexcept nogil:
        """Takes the change with the best gain for its price, or all that flip the decision as starts."""
        cdef Py_ssize_t i, best = -1
        cdef double gain, most = 0.0
        self.take_met()
        if self.highest == -INFINITY:
            self.highest = self.questions.scores[0]
            for i in range(self.questions.number):
                self.highest = min(self.highest, self.questions.scores[i])
        for i in range(self.questions.number):
            gain = self.questions.scores[i] - self.highest
            gain /= self.person.prices[self.questions.asker[i]] + self.people.price.change_weight
            if gain > most:
                most, best = gain, i
        if best < 0:
            self.steps = (3 if self.more else 1) * self.people.settings.ascents
        else:
            memcpy(self.ascent, self.questions.row(best), self.people.columns * sizeof(double))
            self.highest = self.questions.scores[best]


cdef void add(Starts s, const double* row) noexcept nogil:
    """Keeps a row that flips the decision."""
    cdef Py_ssize_t changes, d = s.people.columns
    if s.number < s.most:
        memcpy(s.rows + s.number * d, row, d * sizeof(double))
        s.cost[s.number] = s.person.cost(row, &changes)
        s.number += 1


cdef bint pull(Starts s, Py_ssize_t place, const double* whole) noexcept nogil:
    """Draws a transplant towards the person as far as the guard's radius allows, into `tried`; returns if it is admitted.

    With p_j what a unit of cell j costs, x the person and c the transplant, it minimises
    Σ_j p_j |z_j − x_j| + μ (z_j − c_j)²: a number moves from c_j towards x_j by p_j / 2μ, a state goes back if its price
    is above μ times its gap. The least μ with Σ_j (z_j − c_j)² within the radius is found by bisection.
    """
    cdef Py_ssize_t halving, cell, j, cells = s.people.cells, states = s.people.thinned.space.states
    cdef double low = LEAST, high = MOST, multiplier, used, share, width
    if s.real.slack[place] <= 0.0:
        return False
    s.people.thinned.space.place(whole, s.point)
    for halving in range(HALVINGS):
        multiplier, used = sqrt(low * high), 0.0
        for cell in range(cells - 1):
            share = share_back(s, whole, cell, multiplier, &width)
            used += width * share * share
        if used <= s.real.slack[place]:
            high = multiplier
        else:
            low = multiplier
    memcpy(s.tried, whole, s.people.columns * sizeof(double))
    for cell in range(cells - 1):
        j = s.people.thinned.space.cell_columns[cell]
        share = share_back(s, whole, cell, high, &width)
        if share == 1.0:
            s.tried[j] = s.person.start[j]
        elif share > 0.0 and cell >= states:
            s.tried[j] = whole[j] + share * (s.person.start[j] - whole[j])
    return s.person.settle(s.tried, whole)


cdef double share_back(
    Starts s, const double* whole, Py_ssize_t cell, double multiplier, double* width
) noexcept nogil:
    """Which share of the way back to the person a cell takes, and the squared width of the way."""
    cdef bint state = cell < s.people.thinned.space.states
    cdef Py_ssize_t j = s.people.thinned.space.cell_columns[cell]
    cdef double price, apart
    width[0] = 0.0
    if s.point[cell] == s.person.point[cell] or not s.person.movable[j]:
        return 0.0
    width[0], price = gap(s.point[cell], s.person.point[cell], state), s.person.price_of(j, whole[j])
    if state or not s.person.on_scale(j, s.person.own[j], whole[j]):
        return 1.0 if price + s.people.price.change_weight > multiplier * width[0] else 0.0
    apart = sqrt(width[0])
    return min(price / apart / (2 * multiplier) / apart, 1.0)


cdef bint fewer(Starts s, const double* whole) noexcept nogil:
    """Puts a row with its largest shifts only, as many as the person may change, into `tried`; returns if it is admitted."""
    cdef Py_ssize_t j, n, d = s.people.columns
    for j in range(d):
        s.shifts[j] = 0.0
        if s.people.price.counted[j] and s.person.movable[j]:
            s.shifts[j] = -s.people.price.shift(j, s.person.own[j], s.person.ranks[j], whole[j])
    sort_all(s.shifts, s.by_shift, d)
    memcpy(s.tried, s.person.start, d * sizeof(double))
    for n in range(min(s.person.most, d)):
        s.tried[s.by_shift[n]] = whole[s.by_shift[n]]
    return s.person.settle(s.tried, whole)


cdef void ask_step(Starts s) noexcept nogil:
    """Asks about all single changes of the ascent; at first, each feature changes once."""
    cdef Py_ssize_t k, at, first
    for k in range(s.people.frees):
        first = k * s.people.width
        if s.more or not s.person.differs(s.ascent, s.people.free[k]):
            for at in range(first, first + s.people.values[k]):
                if s.person.prices[at] < INFINITY and try_change(s, k, at):
                    s.questions.add(s.tried, at)


cdef bint try_change(Starts s, Py_ssize_t k, Py_ssize_t at) noexcept nogil:
    """Puts the ascent with a value of the free column k into `tried`; returns whether that is admitted."""
    memcpy(s.tried, s.ascent, s.people.columns * sizeof(double))
    s.tried[s.people.free[k]] = s.person.grid[at]
    return s.person.settle(s.tried, NULL)


cdef void ascend_compiled(Starts s, const double* row, Py_ssize_t steps) noexcept nogil:
    """Starts from below: the change with the best gain for its price, several times, each feature once.

    After each, and before the first, every feature's cheapest value that flips the decision is a start.
    """
    cdef Py_ssize_t step, k, g, j, at, best_k, best_at, cheapest
    cdef double now, worth, best
    memcpy(s.ascent, row, s.people.columns * sizeof(double))
    for step in range(steps + 1):
        if s.person.asked >= s.person.budget:
            return
        now, best, best_k, best_at = s.person.lead(s.ascent), 0.0, -1, -1
        if not now < 0.0:
            return
        for k in range(s.people.frees):
            j = s.people.free[k]
            if not s.person.movable[j] or not s.people.values[k] or s.person.asked >= s.person.budget:
                continue
            cheapest = s.person.cheapest_flip(s.ascent, k)
            for g in range(s.people.values[k] if not (s.ascent[j] != row[j] and row[j] == row[j]) else 0):
                at = k * s.people.width + g
                worth = min((now - s.person.leads[g]) / now, 1.0)
                worth /= s.person.prices[at] + s.people.price.change_weight
                if worth > best and try_change(s, k, at) and s.tried[j] != s.ascent[j]:
                    best, best_k, best_at = worth, k, at
            if cheapest >= 0 and try_change(s, k, cheapest) and s.person.flips(s.tried):
                add(s, s.tried)
        if best_k < 0:
            return
        s.ascent[s.people.free[best_k]] = s.person.grid[best_at]
        s.person.settle(s.ascent, NULL)
