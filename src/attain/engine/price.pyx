"""What a change costs: Σ_j c_j |ΔF_j| + w max_j c_j |ΔF_j| + λ #changes.

F_j is the interpolated midrank of column j. With p_i the share of training rows at x_i and P_i that at or below it,

    F(x) = P_i − p_i / 2                                                        at x_i,
    F(x) = P_i − c p_i + c (p_i + p_{i+1}) (x − x_i) / (x_{i+1} − x_i)          between x_i and x_{i+1}, c = 0.05,

and flat outside: no move is free, and leaving a value that a share p of the rows have costs about p / 2. A level, a
special code or a missing cell has no rank; a change to or from one counts 1.
"""

from libc.math cimport NAN, fabs, rint

import numpy as np

from attain.engine.cells import matrix

from attain.engine.cells cimport first_above, found_at, same

cdef double EDGE = 0.05
cdef double DIGITS = 1e10  # last bits must not decide between equals


cdef class Price:
    """The costs of changes.

    Parameters
    ----------
    ranks
        Three arrays: the distinct training values of all columns, one column after the other, `points`; the `shares` of
        rows at or below each of them, after a 0 for each column; and where each column begins among the points, (d + 1,).
    codes
        The special codes of all columns, and where each column begins among them, (d + 1,).
    priced, counted
        The columns whose shifts cost something, and those whose changes are counted, (d,).
    max_shift_weight, change_weight
        The weights w and λ.
    """

    def __init__(self, ranks, codes, priced, counted, max_shift_weight, change_weight):
        self.columns, self.priced, self.counted = len(priced), priced, counted
        self.points, self.shares, self.first = ranks
        self.codes, self.first_code = codes
        self.max_shift_weight, self.change_weight = max_shift_weight, change_weight

    cdef double rank(self, Py_ssize_t column, double cell) noexcept nogil:
        """F of a cell; NaN where it has none."""
        cdef Py_ssize_t begin = self.first[column], low = begin, high = self.first[column + 1], k
        cdef double along, before, at
        if low == high or cell != cell:
            return NAN
        if found_at(cell, &self.codes[0], self.first_code[column], self.first_code[column + 1]) >= 0:
            return NAN
        low = first_above(cell, &self.points[0], low, high)
        # the shares of a column are shifted by one for each column before it
        k = low + column
        at = self.shares[k]
        if low == begin:
            return at
        before = self.shares[k - 1]
        if self.points[low - 1] == cell:
            return (before + at) / 2
        if low == self.first[column + 1]:
            return at
        along = (cell - self.points[low - 1]) / (self.points[low] - self.points[low - 1])
        return at + EDGE * (along * (self.shares[k + 1] - at) - (1 - along) * (at - before))

    cdef double shift(self, Py_ssize_t column, double own, double own_rank, double cell) noexcept nogil:
        """How far a cell moved, in [0, 1]."""
        cdef double moved
        if same(cell, own):
            return 0.0
        moved = fabs(self.rank(column, cell) - own_rank)
        return 1.0 if moved != moved else moved

    cdef double cost(
        self, const double* row, const double* own, const double* ranks, const double* weights, Py_ssize_t* changes
    ) noexcept nogil:
        """The cost of a row to its owner; also how many features it changes."""
        cdef double total = 0.0, largest = 0.0, shift
        cdef Py_ssize_t j, number = 0
        for j in range(self.columns):
            if same(row[j], own[j]):
                continue
            number += self.counted[j]
            if self.priced[j]:
                shift = weights[j] * self.shift(j, own[j], ranks[j], row[j])
                total += shift
                largest = max(largest, shift)
        changes[0] = number
        return rint((total + self.max_shift_weight * largest + self.change_weight * number) * DIGITS) / DIGITS

    def ranks(self, rows):
        """F of each cell (n, d); NaN where there is none."""
        cdef const double[:, ::1] cells = matrix(rows, self.columns)
        cdef Py_ssize_t i, j
        result = np.empty((cells.shape[0], self.columns))
        cdef double[:, ::1] into = result
        for i in range(cells.shape[0]):
            for j in range(self.columns):
                into[i, j] = self.rank(j, cells[i, j])
        return result

    def costs(self, rows, own, weights):
        """The cost (n,) of each row to its owner, whose cells and weights are given, (n, d) each."""
        cdef Py_ssize_t n = len(rows), i, changes
        cdef const double[:, ::1] cells = matrix(rows, self.columns), ranks = self.ranks(own)
        cdef const double[:, ::1] before = matrix(own, self.columns, n), each = matrix(weights, self.columns, n)
        result = np.empty(n)
        cdef double[::1] into = result
        for i in range(n):
            into[i] = self.cost(&cells[i, 0], &before[i, 0], &ranks[i, 0], &each[i, 0], &changes)
        return result
