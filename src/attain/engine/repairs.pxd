"""How one row that breaks rules is repaired."""

from attain.engine.rules cimport Room, Rules

cdef void repair(
    Rules rules, double* row, const double* own, const unsigned char* frozen, const unsigned char* excused, bint pulls,
    Room room,
) noexcept nogil
