from attain.engine.price cimport Price
from attain.engine.score cimport Score
from attain.engine.settle cimport Settler
from attain.engine.typical cimport Crowd, Relations, Space


cdef struct Settings:
    Py_ssize_t transplants, further, ranked, shortlist, judged, candidates, different, ascents, bisections
    Py_ssize_t attractors, paired, exchanged, pair_rows, rounds, pool, at_once
    bint pulled, light_first
    double radius, light, heavy, related


cdef struct Candidate:
    double* row
    double* point
    double* near
    double* known
    double cost, excess, weight
    Py_ssize_t changes
    int phase
    Py_ssize_t* neighbours
    Py_ssize_t* order
    Py_ssize_t ordered, at, tries, low, high
    double share
    double* versions
    double* merits
    Py_ssize_t listed, next, rounds
    bint pairing


cdef class People:
    cdef readonly Settler settler
    cdef readonly Price price
    cdef readonly Crowd crowd, known
    cdef readonly Score score
    cdef readonly Relations relations
    cdef Settings settings
    cdef readonly Py_ssize_t columns, cells, most_starts, places
    cdef const double[:, ::1] own, start, ranks, weights, low, high, crowd_ranks, grid, limits
    cdef const unsigned char[:, ::1] movable, together
    cdef const Py_ssize_t[::1] free, values, most
    cdef const unsigned char[::1] ordered
    cdef double[::1] scratch


cdef class Person:
    cdef readonly People people
    cdef Settler settler
    cdef Price price
    cdef Score score
    cdef Relations relations
    cdef Space space
    cdef Crowd crowd, known_crowd
    cdef Settings settings
    cdef Py_ssize_t columns, cells, frees
    cdef const Py_ssize_t* free
    cdef const Py_ssize_t* values
    cdef const unsigned char* ordered
    cdef const unsigned char* movable
    cdef const double* low
    cdef const double* high
    cdef double* distances
    cdef double* spare
    cdef double* keys
    cdef double* room
    cdef Py_ssize_t* chosen
    cdef Py_ssize_t* places
    cdef unsigned char* counted_cells
    cdef readonly Py_ssize_t owner, asked, level, found
    cdef int phase
    cdef Py_ssize_t budget, most
    cdef const double* own
    cdef const double* start
    cdef const double* ranks
    cdef const double* weights
    cdef double* point
    cdef Py_ssize_t* order
    cdef double* slack
    cdef Py_ssize_t ranked, used
    cdef double* starts
    cdef double* start_cost
    cdef double* start_merit
    cdef Py_ssize_t* start_order
    cdef Py_ssize_t started
    cdef double* near
    cdef double* known
    cdef double* facts
    cdef Py_ssize_t* near_rows
    cdef Py_ssize_t* known_rows
    cdef Py_ssize_t* own_near
    cdef Py_ssize_t* own_known
    cdef Py_ssize_t nears, knowns, own_nears, own_knowns
    cdef Candidate* candidates
    cdef Py_ssize_t active
    cdef double* pending
    cdef Py_ssize_t* asker
    cdef unsigned char* decided
    cdef unsigned char* taken
    cdef Py_ssize_t asking
    cdef double* ascent
    cdef double* grid
    cdef double* prices
    cdef double* leads
    cdef Py_ssize_t steps
    cdef double highest, closest
    cdef double* closest_row
    cdef double* scores
    cdef bint more
    cdef double* pool
    cdef double* pool_cost
    cdef double* tried_near
    cdef double* tried_known
    cdef double* tried_point
    cdef double* tried_told
    cdef double* own_told
    cdef double* own_off
    cdef double* tried
    cdef double* spare_row
    cdef double* gaps
    cdef Py_ssize_t* gap_rows
    cdef double tried_cost, tried_excess
    cdef Py_ssize_t tried_changes
    cdef list memory

    cdef double* numbers(self, Py_ssize_t n)
    cdef Py_ssize_t* positions(self, Py_ssize_t n)
    cdef void make_shortlist(self, const double* place) noexcept nogil
    cdef void add_known(self, const double* place) noexcept nogil
    cdef double unrelated(self, const double* row) noexcept nogil
    cdef bint flips(self, const double* row) noexcept nogil
    cdef void measure(self, Candidate* c, const double* row, double unrelated) noexcept nogil
    cdef double version(self, Candidate* c, double* row, const double* guide, double bound) noexcept nogil
    cdef void replace(self, Candidate* c, const double* row) noexcept nogil
    cdef void begin_candidate(self, Candidate* c, const double* row) noexcept nogil
    cdef void keep(self, const double* row, double cost) noexcept nogil
