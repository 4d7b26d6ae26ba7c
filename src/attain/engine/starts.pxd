from attain.engine.person cimport Person

cdef void sort_by(const double* keys, Py_ssize_t* order, Py_ssize_t n) noexcept nogil
cdef void rank_real_rows(Person p) noexcept nogil
cdef bint transplant(Person p, Py_ssize_t place, double* row) noexcept nogil
cdef bint pull(Person p, Py_ssize_t place, const double* whole, double* row) noexcept nogil
cdef bint fewer(Person p, const double* whole, double* row) noexcept nogil
cdef void price_grid(Person p) noexcept nogil
cdef void ascend(Person p, const double* row, Py_ssize_t steps) noexcept nogil
cdef void add_start(Person p, const double* row) noexcept nogil
