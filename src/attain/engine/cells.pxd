"""Cells of one row: what a column holds, its grid, and what becomes of a cell within limits."""

cdef enum Kind:
    NUMBERS, CODED, LEVELS, ORDERED  # numbers, numbers with special codes, levels, ordered levels

cdef enum Spacing:
    SIX_DIGITS, UNIT, MULTIPLES, DECIMAL  # no step, step 1, multiples of a step, the same with few decimals

cdef struct Span:  # from `start` up to, but without, `end`
    Py_ssize_t start
    Py_ssize_t end

cdef struct Grid:
    Py_ssize_t spacing
    double step
    double scale  # 10 to the number of the step's decimals
    double scaled  # step · scale

cdef struct Column:
    Py_ssize_t kind
    Grid grid
    Span codes  # its special codes, in a pool of numbers
    Span states  # its levels, or its special codes and then an ordinary value, among the states of all columns

cdef struct Limits:  # of one cell
    double own  # the factual's
    double place  # the factual's number on the grid
    double low
    double high
    const unsigned char* allowed  # which of the column's states


cdef inline bint same(double a, double b) noexcept nogil:
    """Whether two cells are equal, or both missing."""
    return a == b or (a != a and b != b)


cdef inline double within(double value, double low, double high) noexcept nogil:
    """The nearest value between limits; NaN stays."""
    if value < low:
        value = low
    return high if value > high else value


cdef inline Py_ssize_t first_above(double value, const double* sorted, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    """The first position from low on, before high, of a number above a value; high where there is none."""
    cdef Py_ssize_t middle
    while low < high:
        middle = (low + high) // 2
        if sorted[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


cdef inline Py_ssize_t found_at(double cell, const double* codes, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """The position of the first code that is a cell, a missing one perhaps; −1 where there is none."""
    cdef Py_ssize_t i
    for i in range(start, end):
        if same(codes[i], cell):
            return i
    return -1


cdef inline bint ordinary(double cell, const Column* column, const double* numbers) noexcept nogil:
    """Whether a cell is neither missing nor a special code."""
    return cell == cell and found_at(cell, numbers, column.codes.start, column.codes.end) < 0


cdef double rounded(double value, const Grid* grid) noexcept nogil
cdef bint may_take(Py_ssize_t level, const Column* column, const Limits* limits) noexcept nogil
cdef double kept_cell(double cell, const Column* column, const double* numbers, const Limits* limits) noexcept nogil
