cdef double UNREACHABLE  # more than any squared distance within reach


cdef class Space:
    cdef readonly Py_ssize_t columns, cells, states
    cdef const Py_ssize_t[::1] stated, first, scaled, complete, first_code, cell_columns
    cdef const double[::1] state, mean, scale, codes

    cdef void place(self, const double* row, double* point) noexcept nogil


cdef double gap(double one, double other, bint state) noexcept nogil

cdef void add_gaps(
    const double* cells, Py_ssize_t n, double cell, double sign, bint state, double* squared
) noexcept nogil

cdef Py_ssize_t smallest(
    const double* values, Py_ssize_t n, Py_ssize_t k, double* spare, Py_ssize_t* found
) noexcept nogil


cdef class Crowd:
    cdef readonly Space space
    cdef readonly Py_ssize_t rows, sizes, widest
    cdef const double[:, ::1] values, points
    cdef const double[:, :, ::1] reaches
    cdef const Py_ssize_t[::1] neighbours

    cdef void add_cell(self, Py_ssize_t cell, double value, double* squared) noexcept nogil


cdef class Finder:
    cdef readonly Crowd crowd
    cdef double[::1] squared, fixed, spare

    cdef Py_ssize_t nearest(self, const double* point, Py_ssize_t k, Py_ssize_t* found) noexcept nogil
    cdef Py_ssize_t nearest_in_reach(
        self, const double* point, const unsigned char* movable, double reach, Py_ssize_t k, Py_ssize_t* found
    ) noexcept nogil


cdef class Relations:
    cdef readonly Py_ssize_t columns, number
    cdef object _given
    cdef const Py_ssize_t[::1] first_knot, first_code, column, state
    cdef const double[::1] knots, ranks, codes, constant, scale
    cdef const double[:, ::1] terms

    cdef Py_ssize_t state_of(self, Py_ssize_t column, double cell) noexcept nogil
    cdef Py_ssize_t place(self, Py_ssize_t column, double cell, double* along) noexcept nogil
    cdef void add(self, Py_ssize_t column, double cell, double sign, double* predicted) noexcept nogil
    cdef void predict_changed(self, const double* row, const double* own, double* predicted) noexcept nogil
    cdef double off(self, Py_ssize_t which, const double* row, const double* predicted) noexcept nogil
    cdef void find_offs(self, const double* row, double* predicted, double* offs) noexcept nogil
    cdef double excess(self, const double* row, const double* predicted, const double* own, double limit) noexcept nogil
