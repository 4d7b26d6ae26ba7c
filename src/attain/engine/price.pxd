cdef class Price:
    cdef readonly Py_ssize_t columns
    cdef const double[::1] points, shares, codes
    cdef const Py_ssize_t[::1] first, first_code
    cdef const unsigned char[::1] priced, counted
    cdef double max_shift_weight, change_weight

    cdef double rank(self, Py_ssize_t column, double cell) noexcept nogil
    cdef double shift(self, Py_ssize_t column, double own, double own_rank, double cell) noexcept nogil
    cdef double cost(
        self, const double* row, const double* own, const double* ranks, const double* weights, Py_ssize_t* changes
    ) noexcept nogil
