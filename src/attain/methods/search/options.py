"""Choosing the options a person is offered: different ways first, then near ones."""

from __future__ import annotations

import numpy as np

from attain.methods.search.pool import first_of_each
from attain.tables import Region


def diverse(
    rows: np.ndarray, owners: np.ndarray, cost: np.ndarray, region: Region, options: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At most `options` rows a person: the cheapest, the cheapest that change other sets of features, then others.

    Never the same row twice.
    """
    kept = diverse_order(rows, owners, cost, region, options)
    return rows[kept], owners[kept], cost[kept]


def diverse_order(rows: np.ndarray, owners: np.ndarray, cost: np.ndarray, region: Region, options: int) -> np.ndarray:
    """The positions of the rows that `diverse` chooses, grouped by person, in its order."""
    distinct = first_of_each(rows, owners)
    order = distinct[np.lexsort((cost[distinct], owners[distinct]))]
    sets = np.packbits(region.changed(rows, owners), axis=1)
    chosen: list[int] = []
    for person in np.unique(owners):
        mine = order[owners[order] == person]
        seen: set[bytes] = set()
        fresh: list[int] = []
        others: list[int] = []
        for i in mine:
            key = sets[i].tobytes()
            (others if key in seen else fresh).append(int(i))
            seen.add(key)
        chosen += (fresh + others)[:options]
    return np.array(chosen, dtype=np.intp)
