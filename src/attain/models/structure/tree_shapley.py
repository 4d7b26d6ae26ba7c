"""Exact Shapley values of the score of a tree ensemble, of one row against another.

The game takes the cells of the columns S from a row x and all others from a row z. On the path to a leaf, some columns
let only x pass (A), others only z (B), and others both; a leaf with a column that lets neither pass is never reached.
Any other leaf is reached if and only if A ⊆ S and S ∩ B = ∅, so that with a = |A| and b = |B| its value v adds

    v · (a − 1)! b! / (a + b)!  to each column of A,       −v · a! (b − 1)! / (a + b)!  to each column of B

(Lundberg et al. 2020, interventional TreeSHAP). The sum over leaves is score(x) − score(z).
"""

from __future__ import annotations

from math import comb
from typing import Final

import numpy as np

from attain.models.structure.encoding import StructureError
from attain.models.structure.trees import Boxes

_LONGEST: Final = 63
"""The most columns of the matrix that a path may ask about: each is a bit of an integer."""
_CELLS: Final = 4_000_000
"""How many conditions of rows z are looked at at once, which bounds memory."""


class TreePairs:
    """Shapley values of rows against the rows z of one sample.

    Parameters
    ----------
    boxes
        The conditions on the paths to the leaves, at least one.
    worth
        What each leaf adds to the score, by box, (L,).
    sources
        The column of the matrix that each column of the trees comes from, (p,).
    width
        The number d of columns of the matrix.
    others
        The rows z as the trees compare them, (B, p).
    """

    def __init__(self, boxes: Boxes, worth: np.ndarray, sources: np.ndarray, width: int, others: np.ndarray) -> None:
        parts = [(np.full(len(ends[0]), column), *ends) for column, ends in boxes.conditions.items()]
        column, box, low, high, missing = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((sources[column], box))
        self._conditions = column[order], low[order], high[order], missing[order]
        box, source = box[order], sources[column[order]]
        # a step of a path is all that it asks about one column of the matrix
        self._steps = np.flatnonzero((np.diff(box, prepend=-1) != 0) | (np.diff(source, prepend=-2) != 0))
        box, source = box[self._steps], source[self._steps]
        self._paths = np.flatnonzero(np.diff(box, prepend=-1))
        sizes = np.diff(np.append(self._paths, len(box)))
        if sizes.max() > _LONGEST:
            raise StructureError(f"a path of the trees asks about {sizes.max()} columns, more than {_LONGEST}")
        nth = np.arange(len(box)) - np.repeat(self._paths, sizes)
        self._bit = (1 << nth).astype(np.uint64)
        self._all = np.bitwise_or.reduceat(self._bit, self._paths)
        self._source = np.zeros((len(sizes), sizes.max()), dtype=np.intp)
        self._source[np.repeat(np.arange(len(sizes)), sizes), nth] = source
        self._worth, self._width = worth[box[self._paths]], width
        count = range(int(sizes.max()) + 1)
        self._weights = np.array([[1 / (a * comb(a + b, a)) if a else 0.0 for b in count] for a in count])
        self._others = self._passed(others)

    def _passed(self, encoded: np.ndarray) -> np.ndarray:
        """The steps of each path that let each row pass, as bits, (n, paths)."""
        column, low, high, missing = self._conditions
        result = np.empty((len(encoded), len(self._paths)), dtype=np.uint64)
        size = max(_CELLS // len(column), 1)
        for start in range(0, len(encoded), size):
            cells = encoded[start : start + size, column]
            passes = np.where(np.isnan(cells), missing, (cells > low) & (cells <= high))
            bits = np.logical_and.reduceat(passes, self._steps, axis=1) * self._bit
            result[start : start + size] = np.bitwise_or.reduceat(bits, self._paths, axis=1)
        return result

    def values(self, encoded: np.ndarray) -> np.ndarray:
        """The Shapley values of rows as the trees compare them, against each row z, (n, B, d)."""
        return np.array([self._against(own) for own in self._passed(encoded)])

    def _against(self, own: np.ndarray) -> np.ndarray:
        """The values of one row, (B, d), from the steps that let it pass, (paths,)."""
        at, path = np.nonzero((own | self._others) == self._all)
        own, other = own[path], self._others[at, path]
        only_own, only_other = own & ~other, other & ~own
        a, b = np.bitwise_count(only_own), np.bitwise_count(only_other)
        result = np.zeros(len(self._others) * self._width)
        for only, weight in ((only_own, self._weights[a, b]), (only_other, -self._weights[b, a])):
            adds = weight * self._worth[path]
            for nth in range(self._source.shape[1]):
                on = np.flatnonzero(only >> np.uint64(nth) & np.uint64(1))
                place = at[on] * self._width + self._source[path[on], nth]
                result += np.bincount(place, adds[on], len(result))
        return result.reshape(-1, self._width)
