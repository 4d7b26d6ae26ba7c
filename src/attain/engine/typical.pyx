"""What is typical: rows that are near real ones, and whose cells go with one another.

**Near.** The measuring space is that of `attain.population.space`: the first cells of a point are states, which are the position
of the indicator that is on, from 1, or 0 if none is; then numbers, in standard deviations. The squared distance of two
points is the sum over cells of (a − b)² of numbers, and of 1 or 2 for states that differ: the number of indicators that
are on in one of the two.

**Relations**: what the other columns of a row predict for one of its cells, and how far off the cell is. Relation r is
about a column j. Every other column k adds a term to the prediction, which is linear between knots for a number and a
constant for a state (a level, a special code, missing):

    predicted_r(x) = constant_r + Σ_{k ≠ j} t_{k, r}(x_k),     off_r(x) = (rank_j(x_j) − predicted_r(x)) / scale_r.

A relation about a state of j predicts how likely it is: it is off by (1 − predicted) / scale where the cell is in that
state, and by 0 elsewhere. An order, x_j at most x_k, is off by 10 + (x_j − x_k) / scale where it is broken: more than any
limit.
"""

import numpy as np

from attain.engine.cells import matrix

from libc.math cimport log, sqrt

from attain.engine.cells cimport first_above, found_at, same, within

cdef Py_ssize_t NUMBER = -1, ANY_NUMBER = -2  # the state of a relation about a rank, and about being a number at all
cdef Py_ssize_t FIRST_ORDER = -3  # of an order with column 0; one less for each further column
cdef double BROKEN = 10.0  # how far off a broken order is at least
cdef double MOST = 1e3  # the most that one relation counts, as a multiple of its limit
cdef double TOLERANCE = 1e-9
cdef double UNREACHABLE = 1e6
cdef double FARTHEST = 1e100  # the largest cell of a point, so that all distances are finite


cdef class Space:
    """From rows of the matrix to points.

    Parameters
    ----------
    states
        The columns with states, where the states of each begin among all (one more entry), and all states: a level's
        position, a special code, or NaN for a missing cell.
    numbers
        The columns with an order, their means and their scales.
    complete
        The columns in which missing cells were not foreseen; they share the last cell of a point.
    codes
        The special codes of all columns, and where each column begins among them, (d + 1,).
    """

    def __init__(self, states, numbers, complete, codes):
        self.stated, self.first, self.state = states
        self.scaled, self.mean, self.scale = numbers
        self.complete = complete
        self.codes, self.first_code = codes
        self.cell_columns = np.concatenate((states[0], numbers[0], [-1])).astype(np.intp)
        self.columns, self.states, self.cells = len(codes[1]) - 1, len(states[0]), len(self.cell_columns)

    cdef void place(self, const double* row, double* point) noexcept nogil:
        """The point of a row."""
        cdef Py_ssize_t i, k, begin, end
        cdef double cell, missing = 0.0
        for i in range(self.states):
            cell, begin, end = row[self.stated[i]], self.first[i], self.first[i + 1]
            k = <Py_ssize_t>cell if cell == cell and 0 <= cell < end - begin else 0
            if cell != self.state[begin + k]:  # levels stand at their own position
                k = found_at(cell, &self.state[0], begin, end) - begin
            point[i] = max(k + 1.0, 0.0)
        for i in range(self.scaled.shape[0]):
            k = self.scaled[i]
            cell = (row[k] - self.mean[i]) / self.scale[i]
            if cell != cell or found_at(row[k], &self.codes[0], self.first_code[k], self.first_code[k + 1]) >= 0:
                cell = 0.0
            point[self.states + i] = within(cell, -FARTHEST, FARTHEST)
        for i in range(self.complete.shape[0]):
            missing += row[self.complete[i]] != row[self.complete[i]]
        point[self.cells - 1] = sqrt(missing)

    def points(self, rows):
        """The points (n, cells) of rows (n, d)."""
        cdef const double[:, ::1] given = matrix(rows, self.columns)
        result = np.empty((given.shape[0], self.cells))
        cdef double[:, ::1] into = result
        cdef Py_ssize_t i
        with nogil:
            for i in range(given.shape[0]):
                self.place(&given[i, 0], &into[i, 0])
        return result


cdef double gap(double one, double other, bint state) noexcept nogil:
    """The contribution of a cell to the squared distance of two points."""
    if not state:
        return (one - other) * (one - other)
    return 0.0 if one == other else (one != 0.0) + <double>(other != 0.0)


cdef void add_gaps(
    const double* cells, Py_ssize_t n, double cell, double sign, bint state, double* squared
) noexcept nogil:
    """Adds what one cell contributes to the squared distances from n points, or takes it away."""
    cdef Py_ssize_t i
    cdef double on = <double>(cell != 0.0)
    if state:
        for i in range(n):
            squared[i] += sign * (<double>(cells[i] != cell) * (on + <double>(cells[i] != 0.0)))
    else:
        for i in range(n):
            squared[i] += sign * ((cells[i] - cell) * (cells[i] - cell))


cdef Py_ssize_t smallest(
    const double* values, Py_ssize_t n, Py_ssize_t k, double* spare, Py_ssize_t* found
) noexcept nogil:
    """The positions of the k smallest of n values, in order of position; of equal ones, the first. Returns how many."""
    cdef Py_ssize_t low = 0, high = n - 1, i, j, left, number = 0
    cdef double pivot, held
    if k >= n:
        for i in range(n):
            found[i] = i
        return n
    for i in range(n):
        spare[i] = values[i]
    while low < high:  # Hoare's selection of the k-th value
        pivot, i, j = spare[(low + high) // 2], low, high
        while i <= j:
            while spare[i] < pivot:
                i += 1
            while spare[j] > pivot:
                j -= 1
            if i <= j:
                held = spare[i]
                spare[i] = spare[j]
                spare[j] = held
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    pivot, left = spare[k - 1], k
    for i in range(n):
        left -= values[i] < pivot
    for i in range(n):
        if values[i] < pivot or (values[i] == pivot and left > 0):
            left -= values[i] == pivot
            found[number] = i
            number += 1
    return number


cdef class Crowd:
    """Real rows.

    Parameters
    ----------
    values, points
        The rows (n, d), and their points (n, cells).
    reaches
        The distance of each to its k-th neighbour and its local density, for each k, (n, sizes, 2).
    neighbours
        The numbers k, increasing, (sizes,).
    """

    def __init__(self, Space space, values, points, reaches, neighbours):
        self.space, self.rows, self.sizes = space, len(values), len(neighbours)
        self.values, self.points = values, np.ascontiguousarray(points.T)
        self.reaches, self.neighbours = reaches, neighbours
        self.widest = max(neighbours, default=1)

    cdef void add_cell(self, Py_ssize_t cell, double value, double* squared) noexcept nogil:
        """Adds what one cell of a point contributes to the squared distance of each row."""
        add_gaps(&self.points[cell, 0], self.rows, value, 1.0, cell < self.space.states, squared)


cdef class Finder:
    """Finds the rows of a crowd nearest to a point.

    The squared distances found last are left in `squared`, and those in cells that cannot move in `fixed`, (rows,).
    """

    def __init__(self, Crowd crowd):
        self.crowd = crowd
        self.squared, self.fixed, self.spare = np.empty((3, crowd.rows + 1))

    cdef Py_ssize_t nearest(self, const double* point, Py_ssize_t k, Py_ssize_t* found) noexcept nogil:
        """The positions of the k nearest rows, in order of position; returns how many."""
        cdef Py_ssize_t cell
        self.squared[:] = 0.0
        for cell in range(self.crowd.space.cells):
            self.crowd.add_cell(cell, point[cell], &self.squared[0])
        return smallest(&self.squared[0], self.crowd.rows, k, &self.spare[0], found)

    cdef Py_ssize_t nearest_in_reach(
        self, const double* point, const unsigned char* movable, double reach, Py_ssize_t k, Py_ssize_t* found
    ) noexcept nogil:
        """The same, where rows farther than the squared distance `reach` in cells that cannot move come last.

        `UNREACHABLE` is added to the distances of these.
        """
        cdef Py_ssize_t cell, column, s
        cdef bint moving, moves
        self.fixed[:] = 0.0
        for moving in range(2):
            for cell in range(self.crowd.space.cells):
                column = self.crowd.space.cell_columns[cell]
                moves = column >= 0 and movable[column]
                if moves == moving:
                    self.crowd.add_cell(cell, point[cell], &self.squared[0] if moving else &self.fixed[0])
            for s in range(0 if moving else self.crowd.rows):
                self.squared[s] = self.fixed[s] + (UNREACHABLE if self.fixed[s] > reach else 0.0)
        return smallest(&self.squared[0], self.crowd.rows, k, &self.spare[0], found)


cdef class Relations:
    """The relations of d columns.

    Parameters
    ----------
    curves
        Five arrays: the knots of column k are those from `first_knot[k]` on in `knots`, increasing, with the `ranks` of
        these; its states are those from `first_code[k]` on in `codes`: cells, of which NaN is the missing one.
    terms
        What knots and states add to predictions, (terms, relations): column by column, its knots and then its states.
    subjects
        What each relation is about: its column, and the position of its state among `codes`, or −1 for the rank, −2 for
        being a number, −3 − k for being at most column k.
    constant, scale
        Of each relation.
    """

    def __init__(self, curves, terms, subjects, constant, scale):
        self._given = curves, terms, subjects, constant, scale
        first_knot, knots, ranks, first_code, codes = curves
        self.first_knot, self.first_code, self.column, self.state = (
            np.ascontiguousarray(part, dtype=np.intp) for part in (first_knot, first_code, *subjects)
        )
        self.knots, self.ranks, self.codes, self.constant, self.scale = (
            np.ascontiguousarray(part, dtype=np.float64) for part in (knots, ranks, codes, constant, scale)
        )
        self.terms = np.ascontiguousarray(terms, dtype=np.float64)
        self.columns, self.number = len(first_knot) - 1, len(self.column)

    def __reduce__(self):
        return Relations, self._given

    cdef Py_ssize_t state_of(self, Py_ssize_t column, double cell) noexcept nogil:
        """The position of a cell's state among all codes, or `NUMBER`."""
        return found_at(cell, &self.codes[0], self.first_code[column], self.first_code[column + 1])

    cdef Py_ssize_t place(self, Py_ssize_t column, double cell, double* along) noexcept nogil:
        """The knot at or below a number, and how far it is on the way to the next one; −1 without knots."""
        cdef Py_ssize_t low = self.first_knot[column], high = self.first_knot[column + 1] - 1
        along[0] = 0.0
        if high < low or cell != cell:
            return -1
        if cell <= self.knots[low]:
            return low
        if cell >= self.knots[high]:
            return high
        low = first_above(cell, &self.knots[0], low, high) - 1
        along[0] = (cell - self.knots[low]) / (self.knots[low + 1] - self.knots[low])
        return low

    cdef void add(self, Py_ssize_t column, double cell, double sign, double* predicted) noexcept nogil:
        """Adds the term of a cell to all predictions, or takes it away."""
        cdef Py_ssize_t state = self.state_of(column, cell), knot, r
        cdef double along
        if state != NUMBER:
            for r in range(self.number):
                predicted[r] += sign * self.terms[self.first_knot[column + 1] + state, r]
            return
        knot = self.place(column, cell, &along)
        if knot < 0:
            return
        for r in range(self.number):
            predicted[r] += sign * (1.0 - along) * self.terms[self.first_code[column] + knot, r]
        for r in range(self.number if along > 0.0 else 0):
            predicted[r] += sign * along * self.terms[self.first_code[column] + knot + 1, r]

    cdef void find_offs(self, const double* row, double* predicted, double* offs) noexcept nogil:
        """Finds what a row predicts and how far it is off, relation by relation."""
        cdef Py_ssize_t j, r
        for r in range(self.number):
            predicted[r] = self.constant[r]
        for j in range(self.columns if self.number else 0):
            self.add(j, row[j], 1.0, predicted)
        for r in range(self.number):
            offs[r] = self.off(r, row, predicted)

    cdef void predict_changed(self, const double* row, const double* own, double* predicted) noexcept nogil:
        """Turns the predictions of `own` into those of a row: only cells that differ are looked at."""
        cdef Py_ssize_t j
        for j in range(self.columns):
            if not same(row[j], own[j]):
                self.add(j, own[j], -1.0, predicted)
                self.add(j, row[j], 1.0, predicted)

    cdef double off(self, Py_ssize_t which, const double* row, const double* predicted) noexcept nogil:
        """How far a row is off, in one relation."""
        cdef Py_ssize_t j = self.column[which], state = self.state_of(j, row[j]), knot
        cdef double along, rank
        if self.state[which] <= FIRST_ORDER:
            knot = FIRST_ORDER - self.state[which]
            if state != NUMBER or self.state_of(knot, row[knot]) != NUMBER or not row[j] > row[knot]:
                return 0.0
            return BROKEN + (row[j] - row[knot]) / self.scale[which]
        if self.state[which] != NUMBER:
            if state != self.state[which] and not (state == NUMBER and self.state[which] == ANY_NUMBER):
                return 0.0
            return max(1.0 - predicted[which], 0.0) / self.scale[which]
        if state != NUMBER:
            return 0.0
        knot = self.place(j, row[j], &along)
        if knot < 0:
            return 0.0
        rank = self.ranks[knot]
        if along > 0.0:
            rank += along * (self.ranks[knot + 1] - rank)
        return (rank - predicted[which]) / self.scale[which]

    cdef double excess(self, const double* row, const double* predicted, const double* own, double limit) noexcept nogil:
        """Σ_r log⁺(|off_r| / limit_r), where a person who is beyond the limit may stay as far off as before.

        `own` is how far the person is off, by relation.
        """
        cdef double product = 1.0, off, over, total = 0.0
        cdef Py_ssize_t r
        for r in range(self.number):
            off = self.off(r, row, predicted)
            over = off / (max(limit, own[r]) if off >= 0.0 else min(-limit, own[r]))
            if over > 1.0 + TOLERANCE:
                product *= min(over, MOST)
                if product > 1e200:
                    total += log(product)
                    product = 1.0
        return total + log(product)

    def offs(self, rows):
        """How far each row is off, relation by relation, (n, relations)."""
        cdef const double[:, ::1] given = matrix(rows, self.columns)
        cdef double[:, ::1] result = np.empty((given.shape[0], self.number))
        cdef double[::1] predicted = np.empty(self.number + 1)
        cdef Py_ssize_t i
        with nogil:
            for i in range(given.shape[0] if self.number else 0):
                self.find_offs(&given[i, 0], &predicted[0], &result[i, 0])
        return np.asarray(result)
