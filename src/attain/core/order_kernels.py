"""What kernels share: numbers put into order, the smallest first; of equal ones, the one with the smaller index."""

from __future__ import annotations

from typing import Any

import numpy as np

from attain.core.compiled import lean

ZERO: Any = np.int64(0)
ONE: Any = np.int64(1)
"""Numbers that are no literals: Numba compiles a helper again for every literal that it is called with."""
BUCKETS = 256
_USUAL = 1e5
"""Larger numbers stand for what is out of reach, and come last."""


@lean
def after(one: Any, i: Any, other: Any, j: Any) -> bool:
    """Whether a number comes after another one: it is larger or, if it is equal, its index is."""
    return bool(one > other or (one == other and i > j))


@lean
def sift(values: np.ndarray, which: np.ndarray, place: int, size: int, value: Any, index: Any) -> None:
    """Puts a number into a heap at a place; the root of a heap comes after all others."""
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and after(values[child + 1], which[child + 1], values[child], which[child]):
            child += 1
        if not after(values[child], which[child], value, index):
            break
        values[place], which[place] = values[child], which[child]
        place = child
    values[place], which[place] = value, index


@lean
def sort(values: np.ndarray, which: np.ndarray, size: int) -> None:
    """Puts the first numbers of a list into order."""
    for place in range(size // 2 - 1, -1, -1):
        sift(values, which, place, size, values[place], which[place])
    for last in range(size - 1, 0, -1):
        value, index = values[last], which[last]
        values[last], which[last] = values[0], which[0]
        sift(values, which, ZERO, last, value, index)


@lean
def select(values: np.ndarray, which: np.ndarray, size: int, k: int) -> None:
    """Moves the k smallest of the first numbers of a list to its beginning, the k-th to its place."""
    first, last = 0, size - 1
    while first < last:
        middle = (first + last) // 2
        value, index = values[middle], which[middle]
        i, j = first, last
        while i <= j:
            while after(value, index, values[i], which[i]):
                i += 1
            while after(values[j], which[j], value, index):
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                which[i], which[j] = which[j], which[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            last = j
        elif k - 1 >= i:
            first = i
        else:
            break


@lean
def order(
    values: np.ndarray, ordered: np.ndarray, index: np.ndarray, bucket: np.ndarray, start: np.ndarray, k: int
) -> None:
    """Puts the k smallest of some numbers into `ordered`, in order, and where they are into `index`.

    Numbers are put into buckets between the smallest and the mean, or the largest if all are wanted, and those of the
    first buckets into order by insertion. All lists are as long as `values`, but for `start`: `BUCKETS` + 1.
    """
    least, most, total, number = values[0], values[0], 0.0, 0
    for i in range(len(values)):
        least = min(least, values[i])
        if values[i] < _USUAL:
            most = max(most, values[i])
            total += values[i]
            number += 1
    spread = (most if k == len(values) else total / max(number, 1)) - least
    scale = (BUCKETS - 1) / spread if spread > 1e-30 else 0.0
    for b in range(BUCKETS + 1):
        start[b] = 0
    for i in range(len(values)):
        bucket[i] = min((values[i] - least) * scale, BUCKETS - 1.0)
        start[bucket[i] + 1] += 1
    last = 0
    for b in range(BUCKETS):
        start[b + 1] += start[b]
        if start[b + 1] < k:
            last = b + 1
    number = start[last + 1]
    for i in range(len(values)):
        b = bucket[i]
        if b <= last:
            ordered[start[b]], index[start[b]] = values[i], i
            start[b] += 1
    for i in range(1, number):
        value, at, j = ordered[i], index[i], i
        while j > 0 and value < ordered[j - 1]:
            ordered[j], index[j] = ordered[j - 1], index[j - 1]
            j -= 1
        ordered[j], index[j] = value, at
