"""Stand-ins for real rows: each cell is that of one of the most similar rows, so that no row is anybody's.

A stand-in is made from a real row x with a label. Its neighbours N(x) are the `NEIGHBOURS` nearest other rows of that
label in the measuring space; cell j of the stand-in is cell j of a row drawn from N(x), for each j anew. Similar rows
have similar cells, so stand-ins lie where real rows lie, and levels, steps and special codes stay what they are. One
whose free cells are those of a real row, or that breaks a rule, is drawn again, and left out after `TRIES` draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.population.copies import Copies
from attain.population.neighbours import Neighbours
from attain.population.space import MeasuringSpace

NEIGHBOURS: Final = 5
TRIES: Final = 20
MOST: Final = 8_000
"""The most stand-ins: as many rows as a guard takes outlier factors among."""


def stand_ins(
    values: FloatArray,
    groups: IndexArray,
    space: MeasuringSpace,
    completed: Callable[[FloatArray, FloatArray], tuple[FloatArray, BoolArray]],
    secret: FloatArray,
    seed: int,
) -> tuple[FloatArray, IndexArray]:
    """Stand-ins (m, d) for real rows (n, d), and the rows (m,) that they were made from.

    Parameters
    ----------
    values, groups
        Real rows, and the number of each one's group, such as its label; neighbours are of the same group.
    completed
        From drawn rows and those they are made from to the former with what is computed in them, and which of these
        keep the rules.
    secret
        Rows whose free cells no stand-in may have.
    seed
        Of all draws.
    """
    random = np.random.default_rng(seed)
    free = space.schema.free_columns
    known = Copies(secret[:, free])
    waiting = np.arange(len(values))
    if len(waiting) > MOST:
        waiting = np.sort(random.choice(waiting, MOST, replace=False))
    near = _neighbours(Neighbours(space.points(values), len(space.stated)), groups, waiting)
    waiting, near = waiting[near[:, 0] >= 0], near[near[:, 0] >= 0]
    parts: list[tuple[FloatArray, IndexArray]] = []
    for _ in range(TRIES):
        drawn = random.integers(near.shape[1], size=(len(waiting), values.shape[1]))
        cells = values[np.take_along_axis(near, drawn, axis=1), np.arange(values.shape[1])]
        rows, kept = completed(cells, values[waiting])
        kept &= known.of(rows[:, free]) == 0
        parts.append((rows[kept], waiting[kept]))
        waiting, near = waiting[~kept], near[~kept]
    rows, made_from = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(made_from, kind="stable")
    return rows[order], made_from[order]


def _neighbours(index: Neighbours, groups: IndexArray, wanted: IndexArray) -> IndexArray:
    """The nearest other rows of the same group of each wanted row, (m, k); −1 where the group is too small."""
    found = np.full((len(wanted), NEIGHBOURS), -1)
    for group in np.unique(groups[wanted]):
        members = np.flatnonzero(groups == group)
        if len(members) <= NEIGHBOURS:
            continue
        mine = np.flatnonzero(groups[wanted] == group)
        asked = index.points[wanted[mine]]
        nearest = members[index.subset(members).query(asked, NEIGHBOURS + 1)[1]]
        own = nearest == wanted[mine][:, None]
        own[~own.any(axis=1), -1] = True  # copies of a row may hide it from its own neighbours
        found[mine] = nearest[~own].reshape(len(mine), NEIGHBOURS)
    return found
