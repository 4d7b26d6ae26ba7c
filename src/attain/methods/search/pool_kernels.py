"""Kernels of `pool`: rows told apart by hashes, and the nearest hits of each owner in place."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import inlined, kernel, lean


@lean
def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two rows are equal; missing cells are."""
    equal = True
    for j in range(len(one)):
        equal = equal and (one[j] == other[j] or (one[j] != one[j] and other[j] != other[j]))
    return equal


@lean
def is_first(i: int, rows: np.ndarray, bits: np.ndarray, owners: np.ndarray, table: np.ndarray) -> bool:
    """Whether no row before this one equals it and has its owner; puts it into the table of hashes if so.

    `bits` are those of the rows. The table has a power of 2 as its size, and −1 where it is empty.
    """
    last = len(table) - 1
    key = np.uint64(owners[i]) * np.uint64(0x9E3779B97F4A7C15)
    for j in range(rows.shape[1]):
        cell = rows[i, j]
        if cell == cell and cell != 0.0:  # one hash for all missing cells, and for both zeros
            key ^= np.uint64(bits[i, j]) + np.uint64(j)
        elif cell == 0.0:
            key ^= np.uint64(j)
        key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    place = np.int64(key >> np.uint64(33)) & last
    while table[place] >= 0 and not (owners[table[place]] == owners[i] and same(rows[table[place]], rows[i])):
        place = (place + 1) & last
    new = table[place] < 0
    if new:
        table[place] = i
    return new


@inlined
def empty_table(n: int) -> np.ndarray:
    """A table of hashes for n rows."""
    size = 4
    while size < 2 * n:
        size *= 2
    return np.full(size, -1, dtype=np.int64)


@kernel("i8[::1](f8[:, ::1], i8[:, ::1], i8[::1])")
def first_of_each(rows: np.ndarray, bits: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Positions of the first copy of each distinct (owner, row), in order; `bits` are those of the rows."""
    table = empty_table(len(rows))
    found, number = np.empty(len(rows), dtype=np.int64), 0
    for i in range(len(rows)):
        if is_first(i, rows, bits, owners, table):
            found[number] = i
            number += 1
    return found[:number].copy()


@kernel("void(f8[:, ::1], i8[::1], f8[::1], f8[:, :, ::1], f8[:, ::1], i8[::1])")
def add(
    rows: np.ndarray,
    owners: np.ndarray,
    distances: np.ndarray,
    kept: np.ndarray,
    kept_distances: np.ndarray,
    size: np.ndarray,
) -> None:
    """Puts rows among those kept for their owners (owners, keep, d), in order of distance, each once."""
    keep, d = kept.shape[1], rows.shape[1]
    for i in range(len(rows)):
        own, number, known = owners[i], size[owners[i]], False
        for place in range(number):
            known = known or same(kept[own, place], rows[i])
        if known or (number == keep and not distances[i] < kept_distances[own, keep - 1]):
            continue
        place = min(number, keep - 1)
        size[own] = place + 1
        while place > 0 and distances[i] < kept_distances[own, place - 1]:
            for j in range(d):
                kept[own, place, j] = kept[own, place - 1, j]
            kept_distances[own, place] = kept_distances[own, place - 1]
            place -= 1
        for j in range(d):
            kept[own, place, j] = rows[i, j]
        kept_distances[own, place] = distances[i]
