"""Real rows as points, and how far other points are from them.

The measuring space is that of `attain.population.space`: the first cells of a point are states, which are the position
of the indicator that is on, from 1, or 0 if none is; then numbers, in standard deviations. The squared distance of two
points is the sum over cells of (a − b)² of numbers, and of 1 or 2 for states that differ: the number of indicators that
are on in one of the two.
"""

from libc.math cimport sqrt

import numpy as np


cdef class Space:
    """From rows of the matrix to points.

    Parameters
    ----------
    stated, first, state
        The columns with states, where the states of each begin among all (one more entry), and all states: a level's
        position, a special code, or NaN for a missing cell.
    scaled, mean, scale
        The columns with an order, and how they are scaled.
    complete
        The columns in which missing cells were not foreseen; they share the last cell of a point.
    codes, first_code
        The special codes of all columns, and where each column begins among them, (d + 1,).
    """

    def __init__(self, stated, first, state, scaled, mean, scale, complete, codes, first_code):
        self.columns, self.states, self.cells = len(first_code) - 1, len(stated), len(stated) + len(scaled) + 1
        self.stated, self.first, self.state = stated, first, state
        self.scaled, self.mean, self.scale, self.complete = scaled, mean, scale, complete
        self.codes, self.first_code = codes, first_code
        self.cell_columns = np.concatenate((stated, scaled, [-1])).astype(np.intp)

    cdef void place(self, const double* row, double* point) noexcept nogil:
        """The point of a row."""
        cdef Py_ssize_t i, k, begin, end
        cdef double cell, missing = 0.0
        for i in range(self.states):
            cell, begin, end = row[self.stated[i]], self.first[i], self.first[i + 1]
            point[i] = 0.0
            k = <Py_ssize_t>cell if cell == cell and 0 <= cell < end - begin else 0
            if cell != self.state[begin + k]:  # levels stand at their own position
                for k in range(end - begin):
                    if cell == self.state[begin + k] or (cell != cell and self.state[begin + k] != self.state[begin + k]):
                        break
                else:
                    continue
            point[i] = k + 1.0
        for i in range(self.scaled.shape[0]):
            k = self.scaled[i]
            cell = row[k]
            point[self.states + i] = (cell - self.mean[i]) / self.scale[i] if cell == cell else 0.0
            for k in range(self.first_code[k], self.first_code[k + 1]):
                if cell == self.codes[k]:
                    point[self.states + i] = 0.0
        for i in range(self.complete.shape[0]):
            missing += row[self.complete[i]] != row[self.complete[i]]
        point[self.cells - 1] = sqrt(missing)

    def points(self, const double[:, ::1] rows):
        """The points (n, cells) of rows (n, d)."""
        result = np.empty((rows.shape[0], self.cells))
        cdef double[:, ::1] into = result
        cdef Py_ssize_t i
        with nogil:
            for i in range(rows.shape[0]):
                self.place(&rows[i, 0], &into[i, 0])
        return result


cdef double gap(double one, double other, bint state) noexcept nogil:
    """What a cell adds to the squared distance of two points."""
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
    """The positions of the k smallest of n values, in order of position; of equal ones, the first. Says how many."""
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

    cdef void squared(self, const double* point, const unsigned char* counted, double* squared) noexcept nogil:
        """Adds to the squared distance of each row from a point what the cells contribute that count."""
        cdef Py_ssize_t cell
        for cell in range(self.space.cells):
            if counted[cell]:
                add_gaps(&self.points[cell, 0], self.rows, point[cell], 1.0, cell < self.space.states, squared)
