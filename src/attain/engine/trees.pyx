"""Sums over trees, whose nodes compare cells of the matrix."""

import numpy as np

from attain.engine.cells import matrix

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from attain.engine.cells cimport first_above
from attain.engine.score cimport MOST_VALUES, NUMBER, States, Sums

cdef enum:
    TOGETHER = 8  # trees that are walked in turn, so that the memory of one is waited for while others move on
    ONLY_OWN = 1
    ONLY_OTHER = 2


cdef packed struct Node:
    double threshold
    int32_t column  # -1 for a leaf
    int32_t child  # the first child, which the second one follows; of a leaf: its place among the leaves


cdef struct Values:  # of one column, which are tried in a row
    Py_ssize_t column
    int n
    const double* cells
    int64_t[MOST_VALUES] state
    bint ascending  # all are numbers, in order


cdef struct Pair:  # of rows that share out the difference of their sums
    const double* own
    const double* other
    double* values  # (d,)
    uint8_t* passed  # which columns let only one of them pass, on the way to a node, (d,)
    const double* weights
    Py_ssize_t apart


cdef struct Both:
    double own, other


cdef extern from *:
    int lowest_bit "__builtin_ctzll"(uint64_t) noexcept nogil


cdef inline uint64_t all_bits(int n) noexcept nogil:
    return ~<uint64_t> 0 >> (MOST_VALUES - n)


cdef class TreeSums(Sums):
    """Sums over T trees of the values of the leaves that a row reaches.

    Parameters
    ----------
    states, refused
        The states of the columns, and which of them only the model can be asked about, (S,).
    nodes
        The nodes; where the states of each begin among the `sides`, (nodes,); and these: which child, 0 or 1, states go to,
        that of state s at the node's beginning plus s. A number goes to the first child if it is at most the threshold.
    trees
        The first node of each tree, its root, and the first of the sums that it adds to, (T,).
    leaves
        What each leaf adds to V sums, (leaves, V).
    start
        What the sums start from, (C,).
    single
        Whether sums are rounded to single precision after each tree.
    """

    cdef const Node[::1] node
    cdef const int64_t[::1] begin, roots, group
    cdef const uint8_t[::1] sides, refused, plain
    cdef const uint8_t[:, ::1] asks
    cdef const double[:, ::1] leaves
    cdef const double[::1] start
    cdef bint single

    def __init__(self, States states, refused, nodes, trees, leaves, start, bint single):
        nodes, begin, sides = nodes
        roots, group = trees
        self.states, self.node, self.single, self.width = states, nodes, single, len(start)
        self.refused, self.sides = (np.ascontiguousarray(part, dtype=np.uint8) for part in (refused, sides))
        self.begin, self.roots, self.group = (np.ascontiguousarray(part, dtype=np.int64) for part in (begin, roots, group))
        self.leaves, self.start = (np.ascontiguousarray(part, dtype=np.float64) for part in (leaves, start))
        # numbers without special codes are compared at once
        self.plain = (np.asarray(states.numeric) & (np.diff(states.first) == 1)).astype(np.uint8)
        inner = np.flatnonzero(nodes["column"] >= 0)
        asks = np.zeros((len(roots), states.columns), dtype=np.uint8)  # whether each tree compares each column
        asks[np.searchsorted(roots, inner, side="right") - 1, nodes["column"][inner]] = 1
        self.asks = asks

    cdef inline bint takes(self, int64_t state) noexcept nogil:
        """Whether the trees can be asked about a cell with this state."""
        return state == NUMBER or (state >= 0 and not self.refused[state])

    cdef inline bint takes_row(self, const double* row, Py_ssize_t but) noexcept nogil:
        """Whether the trees can be asked about a row, whatever is in the column `but`."""
        cdef Py_ssize_t j
        for j in range(self.states.columns):
            if j != but and not (self.plain[j] and row[j] == row[j]) and not self.takes(self.states.of(j, row[j])):
                return False
        return True

    cdef inline int second(self, int64_t at, const Node* node, double cell, int64_t state) noexcept nogil:
        """Whether a cell with this state goes to the second child of an inner node."""
        if state < 0:
            return cell > node.threshold
        return self.sides[self.begin[at] + state]

    cdef inline int64_t below(self, const double* row, int64_t at, const Node* node) noexcept nogil:
        """The child of an inner node that a row goes to."""
        cdef double cell = row[node.column]
        if self.plain[node.column] and cell == cell:
            return node.child + (cell > node.threshold)
        return node.child + self.second(at, node, cell, self.states.of(node.column, cell))

    cdef inline int walk(self, const double* row, Py_ssize_t tree, Py_ssize_t but, int64_t* at) noexcept nogil:
        """Finds the leaves of the next trees that a row reaches, or the roots of those that compare `but`; returns how many."""
        cdef int k, trees = <int> min(<Py_ssize_t> TOGETHER, self.roots.shape[0] - tree)
        cdef const Node* nodes = &self.node[0]
        cdef const Node* node
        cdef bint[TOGETHER] walking
        cdef bint moved = True
        for k in range(trees):
            at[k] = self.roots[tree + k]
            walking[k] = but < 0 or not self.asks[tree + k, but]
        while moved:
            moved = False
            for k in range(trees):
                node = &nodes[at[k]]
                if node.column >= 0 and walking[k]:
                    at[k] = self.below(row, at[k], node)
                    moved = True
        return trees

    cdef void along(self, const double* row, Py_ssize_t column, const double* values, int n, double* sums) noexcept nogil:
        cdef int64_t[TOGETHER] leaf
        cdef Values tried = Values(column, n, values)
        cdef bint known = self.takes_row(row, column)
        cdef Py_ssize_t i, k, tree = 0
        cdef int trees
        tried.ascending = True
        for i in range(n):
            tried.state[i] = NUMBER if column < 0 else self.states.of(column, values[i])
            tried.ascending = tried.ascending and tried.state[i] == NUMBER and (i == 0 or values[i] >= values[i - 1])
            for k in range(self.width):
                sums[k * n + i] = self.start[k] if known and self.takes(tried.state[i]) else NAN
        while known and tree < self.roots.shape[0]:
            trees = self.walk(row, tree, column, leaf)
            for k in range(trees):
                if column >= 0 and self.asks[tree + k, column]:
                    self.add_along(row, tree + k, &tried, sums)
                else:
                    self.add(tree + k, leaf[k], sums, n, all_bits(n))
            tree += trees

    cdef inline void add(self, Py_ssize_t tree, int64_t leaf, double* sums, int n, uint64_t bits) noexcept nogil:
        """Adds the values of a leaf to the sums (C, n) of those of n rows whose bits are set."""
        cdef const double* value = &self.leaves[self.node[leaf].child, 0]
        cdef Py_ssize_t i, k
        cdef uint64_t left
        sums += self.group[tree] * n
        for k in range(self.leaves.shape[1]):
            if bits == all_bits(n) and not self.single:
                for i in range(n):
                    sums[i] += value[k]
            else:
                left = bits
                while left:
                    i = lowest_bit(left)
                    sums[i] = <float> (sums[i] + value[k]) if self.single else sums[i] + value[k]
                    left &= left - 1
            sums += n

    cdef void add_along(self, const double* row, Py_ssize_t tree, const Values* tried, double* sums) noexcept nogil:
        """Adds one tree to the sums of all values, in one walk: bits are the values that get to a node."""
        cdef int64_t[MOST_VALUES] waiting  # nodes, never more than values
        cdef uint64_t[MOST_VALUES] having  # the values that get there
        cdef uint64_t bits = all_bits(tried.n), second
        cdef int64_t at = self.roots[tree]
        cdef int count = 0
        cdef const Node* node
        while True:
            node = &self.node[at]
            if node.column < 0:
                self.add(tree, at, sums, tried.n, bits)
                if not count:
                    return
                count -= 1
                at, bits = waiting[count], having[count]
            elif node.column != tried.column:
                at = self.below(row, at, node)
            else:
                second = bits & self.seconds(at, node, tried)
                if second and second != bits:
                    waiting[count], having[count] = node.child + 1, second
                    count += 1
                    bits ^= second
                    second = 0
                at = node.child + (second != 0)

    cdef inline uint64_t seconds(self, int64_t at, const Node* node, const Values* tried) noexcept nogil:
        """Which values of a node's column, as bits, go to its second child."""
        cdef uint64_t result = 0
        cdef Py_ssize_t i, low
        if not tried.ascending:
            for i in range(tried.n):
                result |= <uint64_t> self.second(at, node, tried.cells[i], tried.state[i]) << i
            return result
        low = first_above(node.threshold, tried.cells, 0, tried.n)
        return ~<uint64_t> 0 << low if low < MOST_VALUES else 0

    def leaves_of(self, rows):
        """The leaf that each row reaches in each tree, by its place among all leaves, (n, T)."""
        cdef const double[:, ::1] given = matrix(rows, self.states.columns)
        cdef int64_t[:, ::1] result = np.empty((given.shape[0], self.roots.shape[0]), dtype=np.int64)
        cdef int64_t[TOGETHER] leaf
        cdef Py_ssize_t i, k, tree
        for i in range(given.shape[0]):
            for tree in range(0, self.roots.shape[0], TOGETHER):
                for k in range(self.walk(&given[i, 0], tree, -1, leaf)):
                    result[i, tree + k] = self.node[leaf[k]].child
        return np.asarray(result)

    def shapley(self, rows, others, weights):
        """The exact Shapley values of the first sum of each row x against each of B others z, (n, B, d).

        The game takes the cells of the columns S from x and all others from z. On the path to a leaf, a columns let
        only x pass, and b others only z, so that its value v adds

            v · (a − 1)! b! / (a + b)!  to each of the former,     −v · a! (b − 1)! / (a + b)!  to each of the latter

        (Lundberg et al. 2020, interventional TreeSHAP). `weights[a, b]` is (a − 1)! b! / (a + b)!, for as many columns
        as a path compares.
        """
        cdef const double[:, ::1] own = matrix(rows, self.states.columns)
        cdef const double[:, ::1] theirs = matrix(others, self.states.columns)
        cdef const double[:, ::1] table = matrix(weights, len(weights))
        cdef double[:, :, ::1] result = np.zeros((own.shape[0], theirs.shape[0], own.shape[1]))
        cdef uint8_t[::1] passed = np.zeros(own.shape[1], dtype=np.uint8)
        cdef Py_ssize_t i, k, tree
        cdef Pair pair
        with nogil:
            for i in range(own.shape[0]):
                for k in range(theirs.shape[0]):
                    pair = Pair(&own[i, 0], &theirs[k, 0], &result[i, k, 0], &passed[0], &table[0, 0], table.shape[1])
                    for tree in range(self.roots.shape[0]):
                        self.shared(&pair, self.roots[tree], 0, 0)
        return np.asarray(result)

    cdef Both shared(self, Pair* pair, int64_t at, int a, int b) noexcept nogil:
        """Adds to each column the share of the leaves below a node; returns the share of a column on either side so far.

        It calls itself only where a column parts the two for the first time: no tree is too deep for it.
        """
        cdef const Node* node = &self.node[at]
        cdef Both one, other
        cdef int64_t own, theirs
        cdef uint8_t* passed
        while node.column >= 0:
            own, theirs = self.below(pair.own, at, node), self.below(pair.other, at, node)
            passed = &pair.passed[node.column]
            if own != theirs and passed[0] == 0:
                break
            at = theirs if passed[0] == ONLY_OTHER else own
            node = &self.node[at]
        else:
            one.own = self.leaves[node.child, 0] * pair.weights[a * pair.apart + b]
            one.other = self.leaves[node.child, 0] * pair.weights[b * pair.apart + a]
            return one
        passed[0] = ONLY_OWN
        one = self.shared(pair, own, a + 1, b)
        passed[0] = ONLY_OTHER
        other = self.shared(pair, theirs, a, b + 1)
        passed[0] = 0
        pair.values[node.column] += one.own - other.other
        one.own += other.own
        one.other += other.other
        return one
