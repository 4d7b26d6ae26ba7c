"""Whether answers can be reached from real rows of the desired class in steps of at most ε.

The verdicts are those of DBSCAN, fitted to the reference and one answer at a time. Nothing is fitted: they follow from
the answer's nearest reference rows and from theirs.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.core.checks import check_integer
from attain.core.errors import AttainError
from attain.population.measuring import measured
from attain.population.reference import Reference
from attain.population.space import Neighbours

LINKS: Final = 40
"""Number of neighbours of each point that are linked first when looking for components."""


def connected(
    answers: ArrayLike,
    reference: Reference,
    epsilon: float,
    min_samples: int = 2,
    found: ArrayLike | None = None,
) -> FloatArray:
    """1 for each answer that DBSCAN, fitted to the reference and that answer alone, does not call noise, else 0.

    That is: at least m − 1 reference rows are within ε of the answer, or one within ε of it is a core point once the
    answer is counted. With d_i(x̃) the distance to the i-th nearest reference row a_i, and m = `min_samples`:

        min( d_{m−1}(x̃),  min_{i < m−1} max( d_i(x̃), d_{m−2}(a_i) ) ) ≤ ε

    For m = 2: the nearest reference row is within ε. NaN if the reference is empty or ε is NaN.
    """
    others = _check(epsilon, min_samples)

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray | float:
        if not len(reference) or np.isnan(epsilon):
            return np.nan
        if not 0 < others <= len(reference):
            return float(others == 0)
        distances, nearest = reference.nearest(rows, others)
        least = distances[:, -1]
        if others > 1:
            # Rows beyond the (m − 1)-th could only be reached at a larger ε.
            helped = reference.own_neighbours(others - 1)[0][:, -1]
            least = np.minimum(least, np.maximum(distances, helped[nearest]).min(axis=1))
        return np.asarray(least <= epsilon, dtype=np.float64)

    return measured(answers, found, len(reference.schema), measure)


def in_largest_component(
    answers: ArrayLike,
    reference: Reference,
    epsilon: float,
    min_samples: int = 2,
    found: ArrayLike | None = None,
) -> FloatArray:
    """1 for each answer that DBSCAN, fitted to the reference and that answer alone, puts into its largest cluster.

    The largest cluster is that of the reference alone, border points included; ties go to the cluster with the first
    core point. It does not depend on the answer: one that bridges two smaller clusters is not in the largest, however
    large they are together. An answer at the border of several clusters is in each of them. So it counts exactly if a
    reference row within ε of it is a core point of the largest cluster, or becomes one once the answer is counted. 0
    if the reference alone has no cluster; NaN if it is empty or ε is NaN.

    The cluster is found once per reference, ε and `min_samples`, from each row's 40 nearest others (those of the
    outlier factors), and one nearest-neighbour search for each group of points that these leave unlinked. Pairs are
    never listed: memory is a few times that of the 40 neighbours (64 MB for 100,000 rows), whatever ε is.
    """
    others = _check(epsilon, min_samples)

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray | float:
        if not len(reference) or np.isnan(epsilon):
            return np.nan
        key = ("largest cluster", float(epsilon), others)
        gate = reference.learned(key, lambda: reference.index.subset(_gatekeepers(reference, epsilon, others)))
        if not len(gate.points):
            return 0.0
        return np.asarray(gate.query(reference.space.points(rows), 1)[0][:, 0] <= epsilon, dtype=np.float64)

    return measured(answers, found, len(reference.schema), measure)


def components(
    index: Neighbours, distances: FloatArray, indices: IndexArray, epsilon: float, core: BoolArray
) -> IndexArray:
    """The component of each core point in the graph of core points at most ε apart, numbered by first row; else −1.

    `index` has the points; `distances` and `indices` are each one's nearest others, nearest first. A point whose
    farthest one listed is within ε may have links that are not listed: components of such points are joined, from the
    largest on, with every other one that has a point within ε of it.
    """
    number = len(index.points)
    starts, places = np.nonzero((distances <= epsilon) & core[indices] & core[:, None])
    links = csr_array((np.ones(len(starts), dtype=np.int8), (starts, indices[starts, places])), shape=(number, number))
    labels = np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)
    waiting = np.flatnonzero(core & (distances.max(axis=1, initial=0.0) <= epsilon))
    while len(waiting):
        chosen = np.bincount(labels[waiting]).argmax()
        inside = labels[waiting] == chosen
        group, waiting = waiting[inside], waiting[~inside]
        while len(group) and len(waiting):
            near = index.subset(group).query(index.points[waiting], 1)[0][:, 0] <= epsilon
            joined = np.unique(labels[waiting[near]])
            inside = np.isin(labels[waiting], joined)
            group, waiting = waiting[inside], waiting[~inside]
            labels[np.isin(labels, joined)] = chosen
    result = np.full(number, -1, dtype=np.intp)
    _, first, which = np.unique(labels[core], return_index=True, return_inverse=True)
    result[core] = np.argsort(np.argsort(first))[which]
    return result


def _gatekeepers(reference: Reference, epsilon: float, others: int) -> BoolArray:
    """The reference rows that make an answer within ε of them part of the largest cluster."""
    distances, indices = reference.own_neighbours(max(LINKS, others))
    near = distances <= epsilon
    number = near.sum(axis=1)  # all of those within ε, or at least m − 1 of them
    core = np.asarray(number >= others)
    if not core.any():
        return core
    labels = components(reference.index, distances, indices, epsilon, core)
    # A border point belongs to the first cluster that has a core point within ε of it.
    linked = np.where(near & core[indices], labels[indices], len(labels)).min(axis=1, initial=len(labels))
    cluster = np.where(core, labels, linked)
    largest = np.bincount(cluster[cluster < len(labels)]).argmax()
    members = core & (labels == largest)
    # One more neighbour makes these core points, and they are within ε of the cluster already.
    almost = ~core & (number == others - 1) & (near & members[indices]).any(axis=1)
    gatekeepers: BoolArray = members | almost
    return gatekeepers


def _check(epsilon: float, min_samples: int) -> int:
    """How many others a core point needs."""
    check_integer("min_samples", min_samples, 1)
    if epsilon < 0:
        raise AttainError(f"epsilon must be a distance ≥ 0, got {epsilon!r}")
    return min_samples - 1
