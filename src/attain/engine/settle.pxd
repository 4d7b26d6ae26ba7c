"""The final form of one row."""

from attain.engine.cells cimport Limits
from attain.engine.rules cimport Room, Rules


cdef class Settler:
    cdef readonly Py_ssize_t columns, owners, room, rows_settled
    cdef object _given
    cdef Rules rules
    cdef const double[:, ::1] factuals, start, low, high
    cdef double[:, ::1] places
    cdef const unsigned char[:, ::1] frozen, states, excused
    cdef const unsigned char[::1] counted
    cdef const Py_ssize_t[::1] max_changes

    cdef Limits limits(self, Py_ssize_t owner, Py_ssize_t j) noexcept nogil
    cdef bint settle(self, double* row, const double* guide, Py_ssize_t owner, double* room) noexcept nogil
    cdef bint breaks_law(self, const double* row, Py_ssize_t owner, double* room) noexcept nogil
