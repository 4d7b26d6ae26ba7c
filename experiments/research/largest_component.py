"""Whether answers are in the largest cluster of real rows, as a measure: `largest_component(0.9)`."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.metrics import Measure
from attain.population.faithfulness import check_request
from attain.population.measuring import measured
from attain.population.population import Reference
from attain.population.space import Neighbours

LINKS: Final = 40
"""Number of neighbours of each point that are linked first when looking for components."""


def largest_component(quantile: float, name: str | None = None) -> Measure:
    """1 for answers that join the largest cluster of the reference at this quantile's ε."""
    return Measure(
        name or f"largest_component_{100 * quantile:.0f}",
        lambda c: in_largest_component(c.answers, c.reference, c.reference.epsilon[quantile], found=c.found),
        "in the largest cluster",
        "higher",
        0.0,
        share=True,
        real=lambda c: c.drawn(c.real if c.held_out is not None else c.real[:0]),
    )


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
    others = check_request(epsilon, min_samples)

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
