"""Rules, laws and computed columns of one row."""

from attain.engine.cells cimport Column, Span

cdef enum Operation:
    # put a value on the stack
    NUMBER, CELL, TABLE, AMONG, MISSING
    # replace the topmost values; functions and comparisons in the order of FUNCTIONS and HOLDS
    ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, NEGATE, ABSOLUTE, ROUND, FLOOR, CEIL, ROOT, LOG, EXP, LEAST, MOST
    AT_MOST, AT_LEAST, BELOW, ABOVE, EQUAL, UNEQUAL
    # change the row, or measure by how much it breaks a rule
    SKIP_UNLESS_BROKEN, PUT, UNDO, SOLVE, RETREAT, LIMIT, PULL, GAP, NO_SIZE

cdef struct Instruction:  # an operation, and those of its operands that it has
    Py_ssize_t operation
    Py_ssize_t count  # of values on the stack that it replaces
    Py_ssize_t column
    Py_ssize_t number  # where its numbers start in the pool
    Py_ssize_t goal  # where a jump leads
    Span span  # of instructions, of columns in `lists`, or of numbers in the pool

cdef struct Derivation:  # a computed column
    Py_ssize_t column
    Span inputs
    Span code
    Py_ssize_t follows
    Py_ssize_t keeps

cdef struct Rule:
    Span verdict
    Span repair
    Span excess
    Span uses
    Py_ssize_t followed

cdef struct Room:  # scratch for one row
    double* stack
    Py_ssize_t* broken  # of each rule: 1 where the row breaks it


cdef class Rules:
    cdef readonly Py_ssize_t columns, number, room
    cdef object _given
    cdef Column[::1] column
    cdef Instruction[::1] code
    cdef Derivation[::1] derivations
    cdef Rule[::1] rules
    cdef Py_ssize_t[::1] lists
    cdef double[::1] numbers
    cdef Py_ssize_t depth

    cdef Room divided(self, double* room) noexcept nogil
    cdef double run(self, Span code, const double* row, double* stack) noexcept nogil
    cdef bint breaks(self, Py_ssize_t k, const double* row, double* stack) noexcept nogil
    cdef bint find_broken(self, const double* row, Room room) noexcept nogil
    cdef bint no_worse(self, Py_ssize_t k, const double* row, const double* own, double* stack) noexcept nogil
    cdef void compute(self, double* row, const double* own, bint rounds, double* stack) noexcept nogil
