from attain.engine.price cimport Price
from attain.engine.score cimport Score
from attain.engine.settle cimport Settler
from attain.engine.typical cimport Crowd, Finder, Relations


cdef struct Settings:
    Py_ssize_t transplants, further, ranked, shortlist, measured, candidates, different, ascents, bisections
    Py_ssize_t attractors, paired, exchanged, pair_rows, rounds, pool, at_once
    bint pulled
    double radius, first_penalty, penalty, related


cdef class Memory:
    cdef list arrays

    cdef double* numbers(self, Py_ssize_t n)
    cdef Py_ssize_t* positions(self, Py_ssize_t n)


cdef class People:
    cdef readonly Settler settler
    cdef readonly Price price
    cdef readonly Crowd thinned, all_real
    cdef readonly Score score
    cdef readonly Relations relations
    cdef readonly Py_ssize_t versions_measured
    cdef Finder thinned_finder, real_finder
    cdef Settings settings
    cdef Py_ssize_t columns, cells, frees, width
    cdef const double[:, ::1] own, start, ranks, weights, low, high, thinned_ranks, grid, limits
    cdef const unsigned char[:, ::1] movable, together
    cdef const Py_ssize_t[::1] free, values, most
    cdef const unsigned char[::1] ordered


cdef class Person:
    cdef readonly People people
    cdef readonly Py_ssize_t owner, asked, level
    cdef Py_ssize_t budget, most
    cdef const double *own, *start, *ranks, *weights, *low, *high
    cdef const unsigned char* movable
    cdef double *point, *grid, *prices, *leads, *room

    cdef begin(self, Py_ssize_t owner, Py_ssize_t budget)
    cdef bint settle(self, double* row, const double* guide) noexcept nogil
    cdef double cost(self, const double* row, Py_ssize_t* changes) noexcept nogil
    cdef double price_of(self, Py_ssize_t j, double cell) noexcept nogil
    cdef bint differs(self, const double* row, Py_ssize_t j) noexcept nogil
    cdef bint on_scale(self, Py_ssize_t j, double one, double other) noexcept nogil
    cdef double lead(self, const double* row) noexcept nogil
    cdef bint flips(self, const double* row) noexcept nogil
    cdef Py_ssize_t cheapest_flip(self, const double* row, Py_ssize_t k) noexcept nogil


cdef void insert_row(
    double* rows, double* keys, Py_ssize_t at, Py_ssize_t last, const double* row, double key, Py_ssize_t width
) noexcept nogil


cdef class Pool:
    cdef Person person
    cdef double *rows, *cost
    cdef Py_ssize_t number

    cdef void keep(self, const double* row, double cost) noexcept nogil
