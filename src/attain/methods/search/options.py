"""Chooses the options of each row: different sets of features first, then near ones."""

from __future__ import annotations

import numpy as np

from attain.methods.search.pool import first_of_each, rank_within
from attain.tables import Region


def diverse(
    rows: np.ndarray, owners: np.ndarray, cost: np.ndarray, region: Region, options: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At most `options` rows per owner: the cheapest, the cheapest that change other sets of features, then others.

    Never the same row twice.
    """
    kept = diverse_order(rows, owners, cost, region, options)
    return rows[kept], owners[kept], cost[kept]


def diverse_order(rows: np.ndarray, owners: np.ndarray, cost: np.ndarray, region: Region, options: int) -> np.ndarray:
    """The positions of the rows that `diverse` chooses, grouped by owner, in its order."""
    distinct = first_of_each(rows, owners)
    order = distinct[np.lexsort((cost[distinct], owners[distinct]))]
    repeated = np.ones(len(order), dtype=bool)
    repeated[first_of_each(region.changed(rows[order], owners[order]), owners[order])] = False
    order = order[np.lexsort((repeated, owners[order]))]
    return np.asarray(order[rank_within(owners[order]) < options])


def different_changes(sort_key: np.ndarray, owners: np.ndarray, changed: np.ndarray, n: int) -> np.ndarray:
    """The positions of at most n rows of each owner: the best, then those that do not change all that one before does.

    A change of the same features by other amounts, or of more features, is not a different one. `changed` (rows, d)
    are the features that each row changes; a smaller `sort_key` is better.
    """
    left = np.lexsort((sort_key, owners))
    chosen = [left[:0]]
    for _ in range(n):
        first = left[rank_within(owners[left]) == 0]
        chosen.append(first)
        taken = first[np.searchsorted(owners[first], owners[left])]
        left = left[~(changed[left] | ~changed[taken]).all(axis=1)]
    return np.concatenate(chosen)
