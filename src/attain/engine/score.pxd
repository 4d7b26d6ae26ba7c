cdef class Score:
    cdef readonly Py_ssize_t columns

    cdef double lead(self, const double* row) noexcept nogil
    cdef void along(
        self, const double* row, Py_ssize_t column, const double* values, Py_ssize_t n, double* leads
    ) noexcept nogil
