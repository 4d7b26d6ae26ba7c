"""Models that add up: C sums over the cells of a row of the matrix.

A cell is a number or a *state*: a level, a special code, or missing. The states of column j are numbered from
`first[j]`: its levels or special codes in order, then the missing cell. A model has a table for states, and a slope or
thresholds for numbers.

The score of a search is made from these sums: by how much a row meets the goal, one row at a time.
"""

import numpy as np

from attain.engine.cells import matrix

from libc.math cimport INFINITY, NAN, ldexp, log, rint
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
        cdef const double[::1] given = np.require(cells, dtype=np.float64, requirements="CA")
        cdef int64_t[::1] result = np.empty(given.shape[0], dtype=np.int64)
        cdef Py_ssize_t i
        if not 0 <= column < self.columns:
            raise IndexError(f"there is no column {column} of {self.columns}")
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


cdef class LinearSums(Sums):
    """constant + Σ_j c_j(x_j), where c_j is x_j · slopes[j] for a number and a fixed term for a state.

    `constant` (C,), `slopes` (d, C), `terms` (S, C); a term is NaN for a state that the model does not take.
    """

    cdef const double[::1] constant
    cdef const double[:, ::1] slopes, terms

    def __init__(self, States states, constant, slopes, terms):
        self.states = states
        self.constant, self.slopes, self.terms = (
            np.ascontiguousarray(part, dtype=np.float64) for part in (constant, slopes, terms)
        )
        self.width = len(constant)

    cdef inline double term(self, Py_ssize_t column, double cell, int64_t state, Py_ssize_t k) noexcept nogil:
        """The term of a cell in sum k."""
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


cdef class Score:
    """The lead of a row: at least 0 exactly where the goal is met, and NaN where only the model itself can say."""

    cdef double lead(self, const double* row) noexcept nogil:
        cdef double result
        self.few(row, -1, NULL, 1, &result)
        return result

    cdef void along(self, const double* row, Py_ssize_t column, const double* values, Py_ssize_t n, double* leads) noexcept nogil:
        """The leads of a row with the cell of one column replaced by each of n values, to the last bit."""
        cdef Py_ssize_t start = 0
        while start < n:
            self.few(row, column, values + start, <int> min(n - start, <Py_ssize_t> MOST_VALUES), leads + start)
            start += MOST_VALUES

    cdef void few(self, const double* row, Py_ssize_t column, const double* values, int n, double* leads) noexcept nogil:
        """The same for at most `MOST_VALUES` values; column −1 and one value give the lead of the row as it is."""
        pass

    def leads(self, rows):
        """The leads of rows, (n,)."""
        cdef const double[:, ::1] given = matrix(rows, self.columns)
        cdef double[::1] result = np.empty(given.shape[0])
        cdef Py_ssize_t i
        with nogil:
            for i in range(given.shape[0]):
                result[i] = self.lead(&given[i, 0])
        return np.asarray(result)

    def leads_along(self, rows, Py_ssize_t column, values):
        """The leads of rows with the cell of one column replaced by each of m values, (n, m)."""
        cdef const double[:, ::1] given = matrix(rows, self.columns)
        cdef const double[::1] cells = np.require(values, dtype=np.float64, requirements="CA")
        cdef double[:, ::1] result = np.empty((given.shape[0], cells.shape[0]))
        cdef Py_ssize_t i
        if not 0 <= column < self.columns:
            raise ValueError(f"there is no column {column} of {self.columns}")
        if cells.shape[0]:
            with nogil:
                for i in range(given.shape[0]):
                    self.along(&given[i, 0], column, &cells[0], cells.shape[0], &result[i, 0])
        return np.asarray(result)


cdef class SumScore(Score):
    """The lead of a model's sums s, by the target's lead l_k over each other class k, and over the closest one, l:

        lead = l − least − log(1 + weight · Σ_k exp(l − l_k)),   k not the closest.

    l_k is scale · s_target − scale · s_k, or scale · s_k itself where the target is −1: sums are then leads. With two
    classes there is one. Weight 0 asks for a lead in the sums themselves; 1 for a probability q by softmax, with
    least = log(q / (1 − q)); and m / (1 + m) for a lead of m in probability, with least = log((1 + m) / (1 − m)).
    """

    cdef readonly Sums sums
    cdef readonly double scale, least, weight
    cdef readonly Py_ssize_t target

    def __init__(self, Sums sums, double scale, double least, Py_ssize_t target=-1, double weight=0.0):
        if not (-1 <= target < sums.width <= MOST_SUMS):
            raise ValueError(f"there are {sums.width} sums, more than {MOST_SUMS} or without number {target}")
        self.sums, self.scale, self.least, self.target, self.weight = sums, scale, least, target, weight
        self.columns = sums.states.columns

    cdef void few(self, const double* row, Py_ssize_t column, const double* values, int n, double* leads) noexcept nogil:
        cdef double[MOST_SUMS * MOST_VALUES] sums
        cdef int i
        self.sums.along(row, column, values, n, sums)
        for i in range(n):
            leads[i] = self.of_sums(sums + i, n)

    cdef double of_sums(self, const double* sums, Py_ssize_t apart) noexcept nogil:
        """The lead from the sums of one row, `apart` positions from one another."""
        cdef double closest = INFINITY, rest = 0.0
        cdef Py_ssize_t k, nearest = -1
        for k in range(self.sums.width):
            if k != self.target and not self.ahead(sums, apart, k) >= closest:
                closest, nearest = self.ahead(sums, apart, k), k
                if closest != closest:
                    return NAN
        if self.weight == 0:
            return closest - self.least
        for k in range(self.sums.width):
            if k != self.target and k != nearest:
                rest += exponential(closest - self.ahead(sums, apart, k))
        return closest - self.least - log(1 + self.weight * rest)

    cdef inline double ahead(self, const double* sums, Py_ssize_t apart, Py_ssize_t k) noexcept nogil:
        """The target's lead over class k."""
        if self.target < 0:
            return self.scale * sums[k * apart]
        return self.scale * sums[self.target * apart] - self.scale * sums[k * apart]


cdef class LeastScore(Score):
    """The lesser lead of two scores, of models that must both agree; more than two are nested."""

    cdef readonly Score one, other

    def __init__(self, Score one, Score other):
        if one.columns != other.columns:
            raise ValueError(f"one score has {one.columns} columns, the other {other.columns}")
        self.one, self.other, self.columns = one, other, one.columns

    cdef void few(self, const double* row, Py_ssize_t column, const double* values, int n, double* leads) noexcept nogil:
        cdef double[MOST_VALUES] others
        cdef int i
        self.one.few(row, column, values, n, leads)
        self.other.few(row, column, values, n, others)
        for i in range(n):
            if leads[i] == leads[i] and not leads[i] < others[i]:  # NaN where either is
                leads[i] = others[i]


cdef double exponential(double x) noexcept nogil:
    """e^x for x ≤ 0, the same to the last bit on any machine: 2^k · e^r, with |r| ≤ log(2) / 2, by its series."""
    cdef double k, r, total = 1.0
    cdef int i
    if not x >= -700:  # NaN stays: the difference of two infinite leads
        return 0.0 if x == x else x
    k = rint(x * 1.4426950408889634)
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    for i in range(13, 0, -1):
        total = 1.0 + r / i * total
    return ldexp(total, <int> k)
