from attain.engine.person cimport Memory, People, Person
from attain.engine.typical cimport Finder


cdef struct Measured:  # of a row in final form
    double cost, excess
    Py_ssize_t changes
    double* point
    double* near  # the squared distance to each row of the shortlist
    double* real  # the same for the shortlist of all real rows
    Py_ssize_t* neighbours  # the nearest rows of the shortlist, nearest first


cdef class NearRows:
    cdef Finder finder
    cdef Py_ssize_t most, own_number, number
    cdef Py_ssize_t *own, *other, *rows
    cdef double* points

    cdef void find(self, const double* own, const double* place) noexcept nogil


cdef class Shortlist:
    cdef People people
    cdef Person person
    cdef NearRows thinned, real
    cdef Measured measured
    cdef Py_ssize_t widest
    cdef Py_ssize_t* likely
    cdef unsigned char* taken
    cdef double *place, *spare, *gaps, *predicted, *own_predicted, *own_off

    cdef Measured new_measured(self, Memory memory)
    cdef void begin(self) noexcept nogil
    cdef void surround(self, const double* row) noexcept nogil
    cdef void add_real(self) noexcept nogil
    cdef double unrelated(self, const double* row) noexcept nogil
    cdef void measure(self, const double* row, double unrelated, const Measured* like) noexcept nogil
