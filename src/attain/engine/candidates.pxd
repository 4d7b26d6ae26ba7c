from attain.engine.person cimport Memory, People, Person, Pool
from attain.engine.shortlist cimport Measured, Shortlist


cdef struct Candidate:
    double* row
    Measured now
    double weight
    int phase
    Py_ssize_t* order
    Py_ssize_t ordered, at, tries, low, high
    double share
    double* versions
    double* merits
    Py_ssize_t listed, next, rounds
    bint pairing


cdef class Candidates:
    cdef People people
    cdef Person person
    cdef Shortlist shortlist
    cdef Pool pool
    cdef Candidate* each
    cdef Py_ssize_t number
    cdef double *tried, *base, *shifts
    cdef Py_ssize_t reals[16]

    cdef void add(self, const double* row) noexcept nogil
    cdef void begin_again(self, Py_ssize_t most) noexcept nogil
    cdef void walk(self, double weight) noexcept nogil
    cdef void pair_best(self) noexcept nogil
    cdef bint covers(self, const double* row, Py_ssize_t first) noexcept nogil
    cdef const double* propose(self, Candidate* c, Py_ssize_t* n) noexcept nogil
    cdef bint decide(self, Candidate* c, const double* row, bint met) noexcept nogil
