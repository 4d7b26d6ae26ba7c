"""Where a search starts from: real rows' cells, pulled towards the person, and ascents along the model's score."""

from libc.math cimport INFINITY, fabs, sqrt
from libc.string cimport memcpy

from attain.engine.typical cimport Crowd, gap, smallest
from attain.engine.person cimport People, Person

cdef double UNREACHABLE = 1e6  # larger than any squared distance within reach
cdef double LEAST = 2.0 ** -10, MOST = 2.0 ** 14  # between which μ is looked for
cdef int HALVINGS = 12


cdef void sort_by(const double* keys, Py_ssize_t* order, Py_ssize_t n) noexcept nogil:
    """Sorts positions by their keys, of equal ones the first: Shell's method."""
    cdef Py_ssize_t step = 1, i, j, held
    while step < n // 3:
        step = 3 * step + 1
    while step > 0:
        for i in range(step, n):
            held, j = order[i], i
            while j >= step and (
                keys[order[j - step]] > keys[held] or (keys[order[j - step]] == keys[held] and order[j - step] > held)
            ):
                order[j] = order[j - step]
                j -= step
            order[j] = held
        step //= 3


cdef void rank_real_rows(Person p) noexcept nogil:
    """Real rows by promise: by the better of their ranks by distance and by shift, then by the other rank.

    Rows that are too far away in cells that the person cannot change come last.
    """
    cdef Py_ssize_t cell, column, s, i, k, n, d = p.columns
    cdef double reach = p.settings.radius * p.settings.radius, shift, apart
    p.space.place(p.own, p.point)
    for s in range(p.crowd.rows):
        p.keys[s] = 0.0
    for cell in range(p.cells):
        column = p.space.cell_columns[cell]
        p.counted_cells[cell] = column < 0 or not p.movable[column]
    p.crowd.squared(p.point, p.counted_cells, p.keys)
    for s in range(p.crowd.rows):
        p.distances[s] = p.keys[s] + (UNREACHABLE if p.keys[s] > reach else 0.0)
    for cell in range(p.cells):
        p.counted_cells[cell] = not p.counted_cells[cell]
    p.crowd.squared(p.point, p.counted_cells, p.distances)
    for cell in range(p.cells):
        p.counted_cells[cell] = 1
    n = smallest(p.distances, p.crowd.rows, p.settings.ranked, p.spare, p.chosen)
    # from here on, position i stands for the real row chosen[i]
    for i in range(n):
        s = p.chosen[i]
        p.slack[i] = reach - p.keys[s]
        p.distances[i] = p.distances[s]
        p.places[i] = i
    sort_by(p.distances, p.places, n)
    for k in range(n):
        p.keys[p.places[k]] = k
    for i in range(n):
        shift = UNREACHABLE if p.distances[i] >= UNREACHABLE else 0.0
        s = p.chosen[i]
        for k in range(p.frees):
            column = p.free[k]
            apart = p.crowd.values[s, column]
            if apart == p.own[column] or (apart != apart and p.own[column] != p.own[column]):
                continue
            apart = fabs(p.people.crowd_ranks[s, column] - p.ranks[column])
            shift += p.weights[column] * (1.0 if apart != apart else apart)
        p.distances[i] = shift
        p.places[i] = i
    sort_by(p.distances, p.places, n)
    for k in range(n):
        i = p.places[k]
        p.spare[i] = min(p.keys[i], <double>k) * n + max(p.keys[i], <double>k)
    for i in range(n):
        p.places[i] = i
    sort_by(p.spare, p.places, n)
    for k in range(n):
        p.keys[k] = p.slack[p.places[k]]
        p.order[k] = p.chosen[p.places[k]]
    for k in range(n):
        p.slack[k] = p.keys[k]
    p.ranked = n


cdef bint transplant(Person p, Py_ssize_t place, double* row) noexcept nogil:
    """The person with the cells of a real row, where these may change; says whether that is admitted."""
    cdef const double* real = &p.crowd.values[p.order[place], 0]
    cdef Py_ssize_t k, j
    memcpy(row, p.start, p.columns * sizeof(double))
    for k in range(p.frees):
        j = p.free[k]
        if p.movable[j]:
            row[j] = real[j]
    return p.settler.settle(row, real, p.owner, p.room)


cdef bint on_scale(Person p, Py_ssize_t column, double one, double other) noexcept nogil:
    """Whether a cell can go from one value to the other along a scale."""
    return p.ordered[column] and p.price.rank(column, one) == p.price.rank(column, one) and (
        p.price.rank(column, other) == p.price.rank(column, other)
    )


cdef bint pull(Person p, Py_ssize_t place, const double* whole, double* row) noexcept nogil:
    """A transplant, drawn towards the person as far as the guard's radius allows; says whether that is admitted.

    With p_j what a unit of cell j costs, x the person and c the transplant, it minimises
    Σ_j p_j |z_j − x_j| + μ (z_j − c_j)²: a number moves from c_j towards x_j by p_j / 2μ, a state goes back if its price
    is above μ times its gap. The least μ with Σ_j (z_j − c_j)² within the radius is found by bisection.
    """
    cdef Py_ssize_t k, j, halving, cell, states = p.space.states
    cdef double low = LEAST, high = MOST, multiplier, used, share, width
    cdef double* point = p.tried_point
    if p.slack[place] <= 0.0:
        return False
    p.space.place(whole, point)
    for halving in range(HALVINGS):
        multiplier, used = sqrt(low * high), 0.0
        for cell in range(p.cells - 1):
            j = p.space.cell_columns[cell]
            if point[cell] == p.point[cell] or not p.movable[j]:
                continue
            width = gap(point[cell], p.point[cell], cell < states)
            share = share_back(p, whole, j, width, cell < states, multiplier)
            used += width * share * share
        if used <= p.slack[place]:
            high = multiplier
        else:
            low = multiplier
    multiplier = high
    memcpy(row, whole, p.columns * sizeof(double))
    for cell in range(p.cells - 1):
        j = p.space.cell_columns[cell]
        if point[cell] == p.point[cell] or not p.movable[j]:
            continue
        width = gap(point[cell], p.point[cell], cell < states)
        share = share_back(p, whole, j, width, cell < states, multiplier)
        if share == 1.0:
            row[j] = p.start[j]
        elif share > 0.0 and cell >= states:
            row[j] = whole[j] + share * (p.start[j] - whole[j])
    return p.settler.settle(row, whole, p.owner, p.room)


cdef double share_back(
    Person p, const double* whole, Py_ssize_t j, double width, bint state, double multiplier
) noexcept nogil:
    """Which share of the way back to the person a cell takes."""
    cdef double price = p.weights[j] * p.price.shift(j, p.own[j], p.ranks[j], whole[j]), apart
    if state or not on_scale(p, j, p.own[j], whole[j]):
        return 1.0 if price + p.price.change_weight > multiplier * width else 0.0
    apart = sqrt(width)
    return min(price / apart / (2 * multiplier) / apart, 1.0)


cdef bint fewer(Person p, const double* whole, double* row) noexcept nogil:
    """A row with its dearest changes only, as many as the person may change; says whether that is admitted."""
    cdef Py_ssize_t j, n = 0, d = p.columns
    for j in range(d):
        p.keys[j] = 0.0
        if p.price.counted[j] and p.movable[j]:
            p.keys[j] = -p.price.shift(j, p.own[j], p.ranks[j], whole[j])
        p.places[j] = j
    sort_by(p.keys, p.places, d)
    memcpy(row, p.start, d * sizeof(double))
    for n in range(min(p.most, d)):
        row[p.places[n]] = whole[p.places[n]]
    return p.settler.settle(row, whole, p.owner, p.room)


cdef void price_grid(Person p) noexcept nogil:
    """The values of the grid within the person's reach, and what each costs; infinite for what is no other value."""
    cdef Py_ssize_t k, g, j, at, width = p.people.grid.shape[1]
    cdef double value
    for k in range(p.frees):
        j = p.free[k]
        for g in range(p.values[k]):
            value, at = p.people.grid[k, g], k * width + g
            if p.ordered[j]:  # values out of reach stand for the last one within
                value = p.low[j] if value < p.low[j] else p.high[j] if value > p.high[j] else value
            p.grid[at], p.prices[at] = value, INFINITY
            if p.movable[j] and value != p.own[j] and (g == 0 or value != p.grid[at - 1]):
                p.prices[at] = p.weights[j] * p.price.shift(j, p.own[j], p.ranks[j], value)


cdef void ascend(Person p, const double* row, Py_ssize_t steps) noexcept nogil:
    """Starts from below: the change with the best gain for its price, several times, each feature once.

    After each, and before the first, every feature's cheapest value that flips the decision is a start.
    """
    cdef Py_ssize_t step, k, g, j, best_k, best_g, cheapest, width = p.people.grid.shape[1], d = p.columns
    cdef double now, worth, best, price
    memcpy(p.ascent, row, d * sizeof(double))
    for step in range(steps + 1):
        if p.asked >= p.budget:
            return
        now, best, best_k, best_g = p.score.lead(p.ascent), 0.0, -1, -1
        p.asked += 1
        if not now < 0.0:
            return
        for k in range(p.frees):
            j = p.free[k]
            if not p.movable[j] or not p.values[k] or p.asked >= p.budget:
                continue
            p.score.along(p.ascent, j, p.grid + k * width, p.values[k], p.leads)
            p.asked += 1
            cheapest = -1
            for g in range(p.values[k]):
                price = p.prices[k * width + g]
                if price == INFINITY or p.leads[g] != p.leads[g]:
                    continue
                if p.leads[g] >= 0.0 and (cheapest < 0 or price < p.prices[k * width + cheapest]):
                    cheapest = g
                worth = min((now - p.leads[g]) / now, 1.0) / (price + p.price.change_weight)
                if worth > best and not (p.ascent[j] != row[j] and row[j] == row[j]):
                    memcpy(p.tried, p.ascent, d * sizeof(double))
                    p.tried[j] = p.grid[k * width + g]
                    if p.settler.settle(p.tried, NULL, p.owner, p.room) and p.tried[j] != p.ascent[j]:
                        best, best_k, best_g = worth, k, g
            if cheapest >= 0:
                memcpy(p.tried, p.ascent, d * sizeof(double))
                p.tried[j] = p.grid[k * width + cheapest]
                if p.settler.settle(p.tried, NULL, p.owner, p.room) and p.flips(p.tried):
                    add_start(p, p.tried)
        if best_k < 0:
            return
        p.ascent[p.free[best_k]] = p.grid[best_k * width + best_g]
        p.settler.settle(p.ascent, NULL, p.owner, p.room)


cdef void add_start(Person p, const double* row) noexcept nogil:
    """Keeps a row that flips the decision."""
    cdef Py_ssize_t changes, d = p.columns
    if p.started < p.people.most_starts:
        memcpy(p.starts + p.started * d, row, d * sizeof(double))
        p.start_cost[p.started] = p.price.cost(row, p.own, p.ranks, p.weights, &changes)
        p.started += 1
