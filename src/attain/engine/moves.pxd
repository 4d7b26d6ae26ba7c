from attain.engine.person cimport Candidate, Person

cdef enum:
    DONE, WALK, ATTRACT, PAIR


cdef class Moves(Person):
    cdef Py_ssize_t reals[16]

    cdef bint differs(self, const double* row, Py_ssize_t j) noexcept nogil
    cdef void propose(self, Py_ssize_t which) noexcept nogil
    cdef void decide(self, Py_ssize_t n) noexcept nogil
    cdef void walk(self, Candidate* c, double weight) noexcept nogil
    cdef bint next_reversion(self, Candidate* c) noexcept nogil
    cdef void reverted(self, Candidate* c, bint accepted) noexcept nogil
    cdef void reverted_together(self, Candidate* c, bint accepted) noexcept nogil
    cdef bint has_company(self, Candidate* c, Py_ssize_t j) noexcept nogil
    cdef void take_back_together(self, Candidate* c, Py_ssize_t j) noexcept nogil
    cdef bint bracket(self, Candidate* c, Py_ssize_t j) noexcept nogil
    cdef Py_ssize_t below(self, Py_ssize_t j, double cell) noexcept nogil
    cdef void walked(self, Candidate* c) noexcept nogil
    cdef void listed(self, Candidate* c, double* row, const double* guide) noexcept nogil
    cdef Py_ssize_t nearest_real(self, Candidate* c, Py_ssize_t most) noexcept nogil
    cdef const double* real(self, Py_ssize_t rank) noexcept nogil
    cdef double towards(self, Py_ssize_t j, double cell, double goal, double share) noexcept nogil
    cdef void list_attractions(self, Candidate* c) noexcept nogil
    cdef void list_pairs(self, Candidate* c) noexcept nogil
    cdef void made_up(self, Candidate* c, double* base, Py_ssize_t without, Py_ssize_t rows) noexcept nogil
