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

    cdef void squared(
        self, const double* point, const unsigned char* counted, double* squared
    ) noexcept nogil
