"""Splits of trees that compare cells of the matrix itself, whatever steps of a pipeline come before the trees.

A split of a library's tree compares one coordinate of the pipeline's output, z ≤ t. Each coordinate depends on one
column of the matrix. So for a number the split is x ≤ b, or x > b where the coordinate falls, and b is the largest
float on its side, found by running the pipeline; and for a level, a special code or a missing cell it is an entry of a
table, again by running the pipeline. Both are exact: rounding inside the pipeline and to single precision is part of
what is run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from attain.engine.score import States
from attain.models.goal import Goal
from attain.models.reader import Reader, by_halves
from attain.models.structure.encoding import Encoding, Preprocessing, StructureError, Transform, base_row
from attain.models.structure.states import states_of
from attain.models.structure.tree_readers import TreeNodes
from attain.schema import Schema

_MOST_ENTRIES: Final = 50_000_000
"""The largest table of the sides that states take, over all splits: ensembles that need more are not read."""
_FARTHEST: Final = 2**50
"""How far from a guess the end of a side is looked for, in floats: a quarter of its size."""


class Splits:
    """The different splits of the inner nodes of trees, U of them, said in cells of the matrix.

    Attributes
    ----------
    which
        The split of each inner node, in the order of the nodes.
    column, threshold, falling
        The column of the matrix that each compares; a number goes left if it is at most the threshold, or, where the
        coordinate falls, if it is above, (U,).
    """

    def __init__(self, goal: Goal, trees: TreeNodes, rows: np.ndarray) -> None:
        """The splits of the trees of the goal's model; `rows` are training rows.

        Raises a `StructureError` where a split cannot be said in cells of the matrix.
        """
        inner = np.flatnonzero(trees.feature >= 0)
        bound = single_bounds(trees.threshold[inner]) if trees.single else trees.threshold[inner]
        different, self.which = _different((trees.feature[inner], bound, trees.missing_left[inner]))
        self._coordinate, self._bound, self._missing_left = coordinate, bound, _ = different
        transform, schema = Preprocessing(goal.reader), goal.layout.schema
        last = transform.estimator
        try:
            encoding = Encoding.learn(lambda asked: _split(transform(asked)), schema, rows).filled(rows)
        except StructureError as error:
            raise unreadable(last, "its preprocessing cannot be followed back to single columns") from error
        source = _sources(encoding, schema, trees, last)[coordinate]
        self._base, self._seen_missing = base_row(schema, rows), np.isnan(rows).any(axis=0)
        self._fillable = np.array([feature.fillable for feature in schema])
        self._constant = source < 0
        self.column = np.where(self._constant, 0, source)
        self._level = transform(self._base[None])[0][coordinate]
        self.threshold = np.where(self._left(self._level, np.arange(len(bound))), np.inf, -np.inf)
        slope = np.where(self._constant, 0.0, encoding.slopes[self.column, coordinate])
        numeric = np.array([feature.numeric for feature in schema])[self.column]
        moving = np.flatnonzero(numeric & (slope != 0) & np.isfinite(bound))
        self.falling = np.zeros(len(bound), dtype=bool)
        self.falling[moving] = slope[moving] < 0
        guess = (bound - encoding.constant[coordinate])[moving] / slope[moving]
        self.threshold[moving] = self._boundaries(transform, moving, guess)

    def sides(self, reader: Reader) -> tuple[States, np.ndarray, np.ndarray, np.ndarray]:
        """The states of a reader's columns; where those of each split begin, (U,), and which side each goes to.

        0 is the side of numbers up to the threshold. Last, which states only the model can be asked about, (S,).
        """
        states = states_of(reader.layout)
        encoded, refused = self._encoded(Preprocessing(reader), states)
        count = np.diff(states.first)[self.column]
        if count.sum() > _MOST_ENTRIES:
            raise StructureError(f"the splits have {count.sum():,} entries for levels and missing cells")
        begin = np.cumsum(count) - count - np.asarray(states.first)[self.column]
        split = np.repeat(np.arange(len(count)), count)
        state = np.arange(count.sum()) - begin[split]
        cells = np.where(self._constant[split], self._level[split], encoded[state, self._coordinate[split]])
        return states, begin, self._left(cells, split) == self.falling[split], refused

    def _left(self, cells: np.ndarray, split: np.ndarray) -> np.ndarray:
        """Whether cells of the trees' columns go to the library's left child of splits."""
        return np.where(np.isnan(cells), self._missing_left[split], cells <= self._bound[split])

    def _encoded(self, transform: Transform, states: States) -> tuple[np.ndarray, np.ndarray]:
        """What the coordinates are for each state, (S, p), and which states only the model can be asked about, (S,)."""
        codes, column = np.asarray(states.codes), np.repeat(np.arange(states.columns), np.diff(states.first))
        tried = np.flatnonzero(~np.isnan(codes) | (self._seen_missing | self._fillable)[column])
        trials = np.repeat(self._base[None], len(tried), axis=0)
        trials[np.arange(len(tried)), column[tried]] = codes[tried]
        encoded = np.full((len(codes), transform(self._base[None]).shape[1]), np.nan)
        refused = np.ones(len(codes), dtype=bool)
        for at, made in by_halves(transform, trials)[0] if len(trials) else ():
            encoded[tried[at]] = made
            # whether the trees take a missing cell is seen where training rows have one
            refused[tried[at]] = np.isnan(made).any(axis=1) & ~self._seen_missing[column[tried[at]]]
        return encoded, refused

    def _boundaries(self, transform: Transform, splits: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """The largest number on the lower side of each of some splits, by bisection over the floats around a guess."""
        column, coordinate = self.column[splits], self._coordinate[splits]
        bound, falling = self._bound[splits], self.falling[splits]

        def low(at: np.ndarray, key: np.ndarray) -> np.ndarray:
            """Whether numbers are on the lower sides of the splits `at`; a row takes one split of each column."""
            order = np.argsort(column[at], kind="stable")
            grouped = column[at][order]
            row = np.empty(len(at), dtype=np.intp)
            row[order] = np.arange(len(at)) - np.searchsorted(grouped, grouped, side="left")
            trials = np.repeat(self._base[None], row.max(initial=-1) + 1, axis=0)
            trials[row, column[at]] = _floats(key)
            encoded = transform(trials)[row, coordinate[at]] if len(at) else np.empty(0)
            return np.asarray((encoded <= bound[at]) != falling[at])

        under, over = _bracket(low, _keys(guess))
        while (wide := np.flatnonzero(over - under > 1)).size:
            middle = under[wide] + (over[wide] - under[wide]) // 2
            lower = low(wide, middle)
            under[wide] = np.where(lower, middle, under[wide])
            over[wide] = np.where(lower, over[wide], middle)
        return _floats(under)


def _different(keys: tuple[np.ndarray, ...]) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The different entries of several arrays side by side, and which of them each is."""
    order = np.lexsort(keys)
    ordered = [key[order] for key in keys]
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in ordered])
    which = np.empty(len(order), dtype=np.intp)
    which[order] = np.cumsum(new) - 1
    return tuple(key[new] for key in ordered), which


def single_bounds(threshold: np.ndarray) -> np.ndarray:
    """The largest doubles that are at most the threshold once they are rounded to single precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        below = threshold.astype(np.float32)
        below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf)).astype(np.float64)
        middle = below.astype(np.float64) + (above - below) / 2
        bound = np.where(middle.astype(np.float32) <= below, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isfinite(threshold), bound, threshold)


def _split(encoded: np.ndarray) -> np.ndarray:
    """Missing cells as 0, followed by one indicator of missing cells per column, (n, 2p)."""
    missing = np.isnan(encoded)
    return np.column_stack((np.where(missing, 0.0, encoded), missing))


def _sources(encoding: Encoding, schema: Schema, nodes: TreeNodes, last: Any) -> np.ndarray:
    width, depends = encoding.width // 2, encoding.depends()
    if width != nodes.width:
        raise unreadable(last, f"it has {nodes.width} columns, but {width} reach it")
    depends = depends[:, :width] | depends[:, width:]
    mixed = np.intersect1d(np.flatnonzero(depends.sum(axis=0) > 1), nodes.feature)
    if mixed.size:
        names = [schema.names[j] for j in np.flatnonzero(depends[:, mixed[0]])]
        raise unreadable(last, f"one of its columns is made of several: {', '.join(names)}")
    return np.where(depends.any(axis=0), depends.argmax(axis=0), -1)


def _bracket(low: Callable[[np.ndarray, np.ndarray], np.ndarray], key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of a number on the lower side of each split, and of one on the upper side, from guesses of its end."""
    waiting, step = np.arange(len(key)), 1
    side = low(waiting, key)
    under, over, towards = key.copy(), key.copy(), np.where(side, 1, -1)
    while waiting.size:
        if step > _FARTHEST:
            raise StructureError("a split has all numbers on one side")
        key = np.where(side[waiting], under[waiting], over[waiting]) + step * towards[waiting]
        lower = low(waiting, key)
        under[waiting[lower]], over[waiting[~lower]] = key[lower], key[~lower]
        waiting, step = waiting[lower == side[waiting]], 2 * step
    return under, over


_SIGN: Final = np.int64(np.iinfo(np.int64).min)


def _keys(values: np.ndarray) -> np.ndarray:
    """Integers in the order of the floats: neighbours differ by 1."""
    bits = np.ascontiguousarray(values + 0.0).view(np.int64)
    return np.where(bits < 0, -(bits & ~_SIGN), bits)


def _floats(keys: np.ndarray) -> np.ndarray:
    """The floats of `_keys`."""
    return np.where(keys < 0, -1.0, 1.0) * np.abs(keys).view(np.float64)


def unreadable(last: Any, why: str) -> StructureError:
    return StructureError(
        f"the trees of the {type(last).__name__} model cannot be followed back to the table: {why}; give it numbers, "
        "or levels through a one-hot or ordinal encoder in a pipeline, or use GrowingSpheres or NearestUnlike, which "
        "take any classifier"
    )
