"""Whether answers can be reached from real people of the desired class in small steps.

A chain goes from person to person in steps of at most ε; DBSCAN asks for a crowd of `min_samples` on the way. Each
answer is looked at alone among the real people, as if DBSCAN were fitted anew with it, but nothing is fitted: which ε
connects an answer follows from its nearest real people and from theirs.
"""

from __future__ import annotations

from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from attain.core.errors import AttainError
from attain.population.measuring import BoolArray, FloatArray, measured, positive_whole
from attain.population.reference import Neighbours, Reference

IndexArray: TypeAlias = NDArray[np.intp]

LINKS: Final = 40
"""How many neighbours of each point are looked at first when components are sought."""

_largest: WeakKeyDictionary[Reference, dict[tuple[float, int], Neighbours]] = WeakKeyDictionary()


def connecting_distance(
    answers: ArrayLike, reference: Reference, min_samples: int = 2, found: ArrayLike | None = None
) -> FloatArray:
    """The least ε at which each answer is `connected`; infinite where the reference is too small for any.

    With `min_samples` 2 it is the distance to the nearest real person. For any m it is the least of: the distance to
    the (m − 1)-th nearest person; and over the people nearer than that, the larger of the distance to the person and
    the person's own distance to their (m − 2)-th nearest other, who with themselves and the answer makes m. NaN for
    everybody where the reference is empty.
    """
    others = positive_whole("min_samples", min_samples) - 1

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        if not len(reference):
            return np.full(len(rows), np.nan)
        if others == 0:
            return np.zeros(len(rows))
        if others > len(reference):
            return np.full(len(rows), np.inf)
        distances, nearest = reference.nearest(rows, others)
        least = distances[:, -1]
        if others > 1:
            # Who is further away than the (m − 1)-th person can only be reached at a larger ε: no more need be asked.
            helped = reference.own_neighbours(others - 1)[0][:, -1]
            least = np.minimum(least, np.maximum(distances, helped[nearest]).min(axis=1))
        return least

    return measured(answers, found, len(reference.schema), measure)


def connected(
    answers: ArrayLike,
    reference: Reference,
    epsilon: float,
    min_samples: int = 2,
    found: ArrayLike | None = None,
) -> FloatArray:
    """1 for each answer that DBSCAN would not call noise among the reference and that answer alone, else 0.

    With `min_samples` 2 that is: the nearest real person is within ε, so that the curve over ε is the distribution
    of nearest distances. For any m it is: at least m − 1 people within ε of the answer, or somebody within ε of it who
    has m within ε, with themselves and the answer counted. NaN for everybody where the reference is empty or ε is NaN.
    """
    _check(epsilon)
    return connected_over(answers, reference, [epsilon], min_samples, found)[:, 0]


def connected_over(
    answers: ArrayLike,
    reference: Reference,
    epsilons: ArrayLike,
    min_samples: int = 2,
    found: ArrayLike | None = None,
) -> FloatArray:
    """`connected` for every ε of a grid, (people, grid), by one search for neighbours."""
    grid = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
    if grid.ndim != 1:
        raise AttainError(f"epsilons has the shape {grid.shape}; it takes a list of distances")
    for epsilon in grid:
        _check(float(epsilon))
    least = connecting_distance(answers, reference, min_samples, found)[:, None]
    return np.where(np.isnan(least) | np.isnan(grid), np.nan, least <= grid)


def in_largest_component(
    answers: ArrayLike,
    reference: Reference,
    epsilon: float,
    min_samples: int = 2,
    found: ArrayLike | None = None,
) -> FloatArray:
    """1 for each answer that DBSCAN, fitted to the reference and that answer alone, puts with its largest cluster.

    The largest cluster is that of the reference alone, border points counted; of equally large ones, the one with the
    first reference row among its core points. It does not depend on the answer: one that bridges two smaller clusters
    is not in the largest, however many they are together. An answer at the border of several clusters is in each of
    them. So it counts exactly when somebody within ε of it is a core point of the largest cluster, or becomes one with
    the answer's help. 0 for everybody where the reference alone has no cluster; NaN where it is empty or ε is NaN.

    The cluster is found once for a reference, ε and `min_samples`, from each person's 40 nearest others (those of the
    outlier factors), and by one nearest-neighbour search for each crowd that they do not show to be linked. Pairs are
    never listed: memory is a few times that of the 40 neighbours (64 MB for 100,000 people), whatever ε is.
    """
    positive_whole("min_samples", min_samples)
    _check(epsilon)

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        if not len(reference) or np.isnan(epsilon):
            return np.full(len(rows), np.nan)
        gate = _gate(reference, float(epsilon), int(min_samples))
        if not len(gate.points):
            return np.zeros(len(rows))
        return np.asarray(gate.query(reference.space.transform(rows), 1)[0][:, 0] <= epsilon, dtype=np.float64)

    return measured(answers, found, len(reference.schema), measure)


def components(
    points: FloatArray, distances: FloatArray, indices: IndexArray, epsilon: float, core: BoolArray
) -> IndexArray:
    """The component of each core point in the graph of core points at most ε apart, numbered by first row; else −1.

    `distances` and `indices` are each point's nearest others, nearest first. A point whose farthest one listed is
    within ε may have links that are not listed; crowds of such points are joined by asking, from the largest crowd on,
    who else's nearest point in it is within ε.
    """
    number = len(points)
    starts, places = np.nonzero((distances <= epsilon) & core[indices] & core[:, None])
    links = csr_array((np.ones(len(starts), dtype=np.int8), (starts, indices[starts, places])), shape=(number, number))
    labels = np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)
    waiting = np.flatnonzero(core & (distances.max(axis=1, initial=0.0) <= epsilon))
    while len(waiting):
        chosen = np.bincount(labels[waiting]).argmax()
        inside = labels[waiting] == chosen
        crowd, waiting = waiting[inside], waiting[~inside]
        while len(crowd) and len(waiting):
            near = Neighbours(points[crowd]).query(points[waiting], 1)[0][:, 0] <= epsilon
            joined = np.unique(labels[waiting[near]])
            inside = np.isin(labels[waiting], joined)
            crowd, waiting = waiting[inside], waiting[~inside]
            labels[np.isin(labels, joined)] = chosen
    result = np.full(number, -1, dtype=np.intp)
    _, first, which = np.unique(labels[core], return_index=True, return_inverse=True)
    result[core] = np.argsort(np.argsort(first))[which]
    return result


def _gate(reference: Reference, epsilon: float, min_samples: int) -> Neighbours:
    """The people who make an answer within ε of them part of the largest cluster."""
    known = _largest.setdefault(reference, {})
    if (epsilon, min_samples) not in known:
        known[epsilon, min_samples] = Neighbours(reference.points[_gatekeepers(reference, epsilon, min_samples)])
    return known[epsilon, min_samples]


def _gatekeepers(reference: Reference, epsilon: float, min_samples: int) -> BoolArray:
    others = min_samples - 1
    distances, indices = reference.own_neighbours(max(LINKS, others))
    near = distances <= epsilon
    number = near.sum(axis=1)  # all of those within ε, or at least m − 1 of them
    core = np.asarray(number >= others)
    if not core.any():
        return core
    labels = components(reference.points, distances, indices, epsilon, core)
    # A border point belongs to the first cluster that has a core point within ε of it.
    linked = np.where(near & core[indices], labels[indices], len(labels)).min(axis=1, initial=len(labels))
    cluster = np.where(core, labels, linked)
    largest = np.bincount(cluster[cluster < len(labels)]).argmax()
    members = core & (labels == largest)
    # One more person makes a core point of these, and they are within ε of the cluster already.
    almost = ~core & (number == others - 1) & (near & members[indices]).any(axis=1)
    gatekeepers: BoolArray = members | almost
    return gatekeepers


def _check(epsilon: float) -> None:
    if epsilon < 0:
        raise AttainError(f"epsilon is {epsilon!r}; it takes a distance from 0 upward")
