from libc.stdint cimport int64_t, uint8_t

cdef enum:
    NUMBER = -1  # in place of the number of a state: the cell is a number
    UNKNOWN = -2  # ... a level that the column does not have, or a cell between two levels
    MOST_SUMS = 64  # of one row
    MOST_VALUES = 64  # of one column at once: each is a bit of an integer


cdef class States:
    cdef readonly Py_ssize_t columns
    cdef readonly const uint8_t[::1] numeric
    cdef readonly const int64_t[::1] first
    cdef readonly const double[::1] codes

    cdef int64_t of(self, Py_ssize_t column, double cell) noexcept nogil


cdef class Sums:
    cdef readonly States states
    cdef readonly Py_ssize_t width  # how many sums

    cdef void along(self, const double* row, Py_ssize_t column, const double* values, int n, double* sums) noexcept nogil


cdef class Score:
    cdef readonly Py_ssize_t columns

    cdef double lead(self, const double* row) noexcept nogil
    cdef void along(
        self, const double* row, Py_ssize_t column, const double* values, Py_ssize_t n, double* leads
    ) noexcept nogil
    cdef void few(self, const double* row, Py_ssize_t column, const double* values, int n, double* leads) noexcept nogil
