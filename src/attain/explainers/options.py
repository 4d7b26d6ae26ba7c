"""Choosing the options a person is offered: different ways first, then near ones."""

from __future__ import annotations

import numpy as np

from attain.region import Region
from attain.search.pool import first_of_each


def diverse(
    rows: np.ndarray, owners: np.ndarray, cost: np.ndarray, region: Region, options: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At most `options` rows a person: the cheapest, then the cheapest that change another set of features, then others.

    Never the same row twice.
    """
    distinct = first_of_each(rows, owners)
    order = distinct[np.lexsort((cost[distinct], owners[distinct]))]
    sets = np.packbits(region.changed(rows, owners), axis=1)
    chosen: list[int] = []
    for person in np.unique(owners):
        mine = order[owners[order] == person]
        seen: set[bytes] = set()
        fresh, others = [], []
        for i in mine:
            key = sets[i].tobytes()
            (others if key in seen else fresh).append(int(i))
            seen.add(key)
        chosen += (fresh + others)[:options]
    kept = np.array(chosen, dtype=np.intp)
    return rows[kept], owners[kept], cost[kept]
