from attain.engine.person cimport Memory, People, Person
from attain.engine.typical cimport Finder

cdef void sort_by(const double* keys, Py_ssize_t* order, Py_ssize_t n) noexcept nogil
cdef void sort_all(const double* keys, Py_ssize_t* order, Py_ssize_t n) noexcept nogil


cdef class Questions:
    cdef Py_ssize_t columns, number
    cdef double *rows, *scores
    cdef Py_ssize_t* asker
    cdef unsigned char* met

    cdef double* row(self, Py_ssize_t place) noexcept nogil
    cdef void add(self, const double* row, Py_ssize_t asker) noexcept nogil


cdef class RealRows:
    cdef Finder finder
    cdef Py_ssize_t number
    cdef Py_ssize_t *order, *found, *places
    cdef double *slack, *keys, *ranks

    cdef void rank(self, Person p) noexcept nogil


cdef class Starts:
    cdef People people
    cdef Person person
    cdef Questions questions
    cdef RealRows real
    cdef Py_ssize_t number, most, used, steps
    cdef double *rows, *cost, *closest_row, *ascent, *tried, *point, *shifts
    cdef Py_ssize_t *by_cost, *by_shift
    cdef bint more
    cdef double closest, highest

    cdef void begin(self) noexcept nogil
    cdef void sort(self) noexcept nogil
    cdef const double* cheapest(self, Py_ssize_t rank) noexcept nogil
    cdef bint add_more(self) noexcept nogil
    cdef void ask_given(self, const double* row) noexcept nogil
    cdef void take_met(self) noexcept nogil
    cdef void ask_transplants(self) noexcept nogil
    cdef void take_transplants(self) noexcept nogil
    cdef void ascend(self) noexcept nogil
    cdef void take_step(self) noexcept nogil
