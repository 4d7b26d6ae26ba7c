"""Models that add up: C sums over the cells of a row of the matrix.

A cell is a number or a *state*: a level, a special code, or missing. The states of column j are numbered from
`first[j]`: its levels or special codes in order, then the missing cell. A model says what a state does in a table, and
what a number does by a slope or by thresholds.
"""

import numpy as np

from libc.math cimport NAN
from libc.stdint cimport int64_t


cdef class States:
    """The states of d columns: which hold numbers (d,), the first state of each (d + 1,), the cells they are (S,)."""

    def __init__(self, numeric, first, codes):
        self.numeric = np.ascontiguousarray(numeric, dtype=np.uint8)
        self.first = np.ascontiguousarray(first, dtype=np.int64)
        self.codes = np.ascontiguousarray(codes, dtype=np.float64)
        self.columns = len(numeric)

    cdef int64_t of(self, Py_ssize_t column, double cell) noexcept nogil:
        """The number of the cell's state; NUMBER, or UNKNOWN for a level that the column does not have."""
        cdef int64_t first = self.first[column], missing = self.first[column + 1] - 1, state
        if cell != cell:
            return missing
        if self.numeric[column]:
            for state in range(first, missing):
                if self.codes[state] == cell:
                    return state
            return NUMBER
        if cell >= 0 and cell < missing - first and <double> <int64_t> cell == cell:
            return first + <int64_t> cell
        return UNKNOWN

    def of_column(self, Py_ssize_t column, cells):
        """The state of each cell of a column, or −1 for a number and −2 for an unknown level, (n,)."""
        cdef const double[:] given = cells
        cdef int64_t[::1] result = np.empty(given.shape[0], dtype=np.int64)
        cdef Py_ssize_t i
        for i in range(given.shape[0]):
            result[i] = self.of(column, given[i])
        return np.asarray(result)


cdef class Sums:
    """C sums of each row; NaN where only the model itself can be asked."""

    cdef void along(self, const double* row, Py_ssize_t column, const double* values, int n, double* sums) noexcept nogil:
        """The sums of a row with the cell of one column replaced by each of at most `MOST_VALUES` values, (C, n).

        To the last bit they are those of the rows themselves: terms are added in the same order, but what does not
        depend on the cell is computed once. Column −1 and one value give the sums of the row as it is.
        """
        pass

    def __call__(self, rows):
        """The sums of rows, (n, C)."""
        cdef const double[:, ::1] given = matrix(rows, self.states.columns)
        cdef double[:, ::1] result = np.empty((given.shape[0], self.width))
        cdef Py_ssize_t i
        with nogil:
            for i in range(given.shape[0]):
                self.along(&given[i, 0], -1, NULL, 1, &result[i, 0])
        return np.asarray(result)


def matrix(rows, Py_ssize_t columns):
    """Rows as the engine takes them, (n, d)."""
    given = np.ascontiguousarray(rows, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != columns:
        raise ValueError(f"rows have the shape {given.shape}, not (n, {columns})")
    return given


cdef class LinearSums(Sums):
    """constant + Σ_j c_j(x_j), where c_j is x_j · slopes[j] for a number and a fixed term for a state.

    `constant` (C,), `slopes` (d, C), `terms` (S, C); a term is NaN for a state that the model does not take.
    """

    cdef const double[::1] constant
    cdef const double[:, ::1] slopes, terms

    def __init__(self, States states, constant, slopes, terms):
        self.states = states
        self.constant = np.ascontiguousarray(constant, dtype=np.float64)
        self.slopes = np.ascontiguousarray(slopes, dtype=np.float64)
        self.terms = np.ascontiguousarray(terms, dtype=np.float64)
        self.width = len(constant)

    cdef inline double term(self, Py_ssize_t column, double cell, int64_t state, Py_ssize_t k) noexcept nogil:
        """What the cell adds to sum k."""
        if state == NUMBER:
            return cell * self.slopes[column, k]
        return NAN if state == UNKNOWN else self.terms[state, k]

    cdef void along(self, const double* row, Py_ssize_t column, const double* values, int n, double* sums) noexcept nogil:
        cdef Py_ssize_t i, j, k
        cdef int64_t state
        cdef double term
        for k in range(self.width):
            for i in range(n):
                sums[k * n + i] = self.constant[k]
        for j in range(self.states.columns):
            if j == column:
                for i in range(n):
                    state = self.states.of(j, values[i])
                    for k in range(self.width):
                        sums[k * n + i] += self.term(j, values[i], state, k)
            else:
                state = self.states.of(j, row[j])
                for k in range(self.width):
                    term = self.term(j, row[j], state, k)
                    for i in range(n):
                        sums[k * n + i] += term
