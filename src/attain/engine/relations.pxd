cdef class Relations:
    cdef readonly Py_ssize_t columns, number
    cdef object _given
    cdef const Py_ssize_t[::1] first_knot, first_code, first_term, column, state
    cdef const double[::1] knots, ranks, codes, constant, scale
    cdef const double[:, ::1] terms

    cdef Py_ssize_t state_of(self, Py_ssize_t column, double cell) noexcept nogil
    cdef Py_ssize_t place(self, Py_ssize_t column, double cell, double* along) noexcept nogil
    cdef void add(self, Py_ssize_t column, double cell, double sign, double* told) noexcept nogil
    cdef void tell(self, const double* row, double* told) noexcept nogil
    cdef void tell_again(self, const double* row, const double* own, double* told) noexcept nogil
    cdef double off(self, Py_ssize_t which, const double* row, const double* told) noexcept nogil
    cdef double excess(self, const double* row, const double* told, const double* own, double limit) noexcept nogil
