from attain.engine.person cimport Candidate, Person

cdef enum:
    DONE, WALK, ATTRACT, PAIR


cdef class Moves(Person):
    cdef Py_ssize_t reals[16]

    cdef bint differs(self, const double* row, Py_ssize_t j) noexcept nogil
    cdef void put_next(self, Py_ssize_t which) noexcept nogil
    cdef void decide(self, Py_ssize_t n) noexcept nogil
    cdef void walk(self, Candidate* c, double weight) noexcept nogil
    cdef void list_pairs(self, Candidate* c) noexcept nogil
