"""The rows that laws are looked for in, and the states of their columns that laws are about.

The cells of a column fall into disjoint *atoms*: missing, each special code, and the ordinary cells. Those are split
further: a column of levels has one atom for each frequent level and one for all others; a column of numbers one for
each pile (0, or the smallest or largest value, where many rows share it) and one for each gap between. A *state* is an
atom that laws speak of, or all ordinary cells together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Literal, TypeAlias

import numpy as np

from attain.core.arrays import GOLDEN, mixed
from attain.schema.feature import Feature, ordinary

SMALLEST = 299
"""The fewest rows of which none breaks a law for its rate to be at most 1 %: 1 − 0.05^(1/n) ≤ 0.01."""
SAMPLE = 2000
"""The number of rows that candidates are screened on."""
_MOST_STATES = 64
"""The most levels of a column that are states: the most frequent ones."""
_MOST_VALUES = 1000
"""A number with more distinct values is not looked at value by value."""
_PILE = 0.01
"""A number that at least this share of the ordinary cells have is a pile."""


@dataclass(frozen=True)
class Atom:
    """A set of cells of one column: from `low` to `high`, where a gap excludes its ends.

    `least` and `most` are the smallest and largest cells that there are.
    """

    kind: Literal["missing", "special", "level", "point", "gap", "other"]
    low: float = np.nan
    high: float = np.nan
    least: float = -np.inf
    most: float = np.inf

    @property
    def ordinary(self) -> bool:
        return self.kind not in ("missing", "special")


@dataclass(frozen=True, eq=False)
class LawColumn:
    """One column as atoms.

    `members` (states, atoms) says which atoms are in each state: each atom that laws speak of, in order, then all
    ordinary ones together where there are others. A law about a state is judged among the rows of its `universe`
    (states, atoms): ordinary cells for a state of ordinary cells, all cells for any other.
    """

    feature: Feature
    atoms: tuple[Atom, ...]
    members: np.ndarray
    universe: np.ndarray

    @cached_property
    def ordinary(self) -> np.ndarray:
        """Which atoms are ordinary cells."""
        return np.array([atom.ordinary for atom in self.atoms])

    @cached_property
    def states(self) -> tuple[Atom | None, ...]:
        """The atom of each state; None for all ordinary cells together."""
        atoms = [self.atoms[k] for k in self.members.argmax(axis=1)]
        return tuple(atoms if self.ordinary.all() else [*atoms[:-1], None])

    def presence(self, state: int) -> bool:
        """Whether the state says that a cell is missing, special or ordinary, rather than what is in it."""
        return bool(self.universe[state].all() and not self.ordinary.all())

    def remaining(self, excluded: Sequence[int]) -> list[int]:
        """The levels outside these states, where naming them is shorter than naming those inside; otherwise none."""
        atoms = [self.states[state] for state in excluded]
        gone = {int(atom.low) for atom in atoms if atom is not None and atom.kind == "level"}
        left = [k for k in range(len(self.feature.levels)) if k not in gone] if gone else []
        return left if len(left) == 1 or len(left) < len(gone) / 2 else []


InOrder: TypeAlias = tuple[np.ndarray, np.ndarray]
"""The positions of the rows that have an ordinary number in a column, by its size, and the numbers."""


@dataclass(frozen=True, eq=False)
class LawRows:
    """Rows, column by column: as atoms, as numbers and value by value.

    `codes` (d, n) are atoms. `numbers` (d, n) are ordinary numbers, and NaN everywhere else. Columns with few distinct
    values are in `places` (n,): positions in `distinct`, −1 where a cell is not ordinary.
    """

    columns: tuple[LawColumn, ...]
    codes: np.ndarray
    numbers: np.ndarray
    distinct: Mapping[int, np.ndarray]
    places: Mapping[int, np.ndarray]
    _in_order: dict[int, InOrder] = field(default_factory=dict)

    @classmethod
    def of(cls, features: Sequence[Feature], values: np.ndarray) -> LawRows:
        """The rows of a matrix (n, d)."""
        read = [_column(feature, cells) for feature, cells in zip(features, values.T, strict=True)]
        numbers, distinct, places = ordinary_numbers(features, values), {}, {}
        for j, feature in enumerate(features):
            cells = values[:, j]
            if feature.numeric and len(np.unique(cells[:SAMPLE])) > _MOST_VALUES:
                continue
            known = ordinary(feature, cells)
            found, inverse = np.unique(cells[known], return_inverse=True)
            if 2 <= len(found) <= _MOST_VALUES:
                distinct[j], places[j] = found, np.full(len(cells), -1, dtype=np.int32)
                places[j][known] = inverse
        return cls(tuple(c for c, _ in read), np.stack([codes for _, codes in read]), numbers, distinct, places)

    def __len__(self) -> int:
        return self.codes.shape[1]

    def __getitem__(self, chosen: np.ndarray | slice) -> LawRows:
        places = {j: cells[chosen] for j, cells in self.places.items()}
        return LawRows(self.columns, self.codes[:, chosen], self.numbers[:, chosen], self.distinct, places)

    @property
    def sample(self) -> LawRows:
        """The first rows, for screening."""
        return self[slice(SAMPLE)]

    @property
    def numeric(self) -> list[int]:
        """The columns of numbers."""
        return [j for j, column in enumerate(self.columns) if column.feature.numeric]

    def in_order(self, j: int) -> InOrder:
        """The rows that have an ordinary number in column j, in its order."""
        if j not in self._in_order:
            known = np.flatnonzero(~np.isnan(self.numbers[j]))
            order = known[np.argsort(self.numbers[j, known], kind="stable")]
            self._in_order[j] = order, self.numbers[j, order]
        return self._in_order[j]

    def atom_table(self, a: int, b: int) -> np.ndarray:
        """The number of rows in each atom of a and of b, (atoms of a, atoms of b)."""
        return _counts(self.codes[a], self.codes[b], len(self.columns[a].atoms), len(self.columns[b].atoms))

    def value_table(self, a: int, b: int) -> np.ndarray:
        """The number of rows with each value of a and of b, (values of a, values of b)."""
        known = (self.places[a] >= 0) & (self.places[b] >= 0)
        x, y = self.places[a][known], self.places[b][known]
        return _counts(x, y, len(self.distinct[a]), len(self.distinct[b]))


def ordinary_numbers(features: Sequence[Feature], values: np.ndarray) -> np.ndarray:
    """The ordinary numbers of a matrix (n, d) as (d, n); NaN for special codes and in columns of levels."""
    numbers = np.full(values.T.shape, np.nan)
    for j, feature in enumerate(features):
        if feature.numeric:
            numbers[j] = np.where(ordinary(feature, values[:, j]), values[:, j], np.nan)
    return numbers


def _counts(x: np.ndarray, y: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """How often each pair of positions occurs."""
    flat = np.bincount(x.astype(np.intp) * columns + y, minlength=rows * columns)
    return flat.reshape(rows, columns).astype(np.float64)


def _column(feature: Feature, cells: np.ndarray) -> tuple[LawColumn, np.ndarray]:
    """The column with these cells, and the atom of each, (n,)."""
    special = sorted(feature.special)
    known = ordinary(feature, cells)
    split, places = (_piles if feature.numeric else _frequent_levels)(feature, cells[known])
    codes = np.zeros(len(cells), dtype=np.intp)
    for k, code in enumerate(special, start=1):
        codes[cells == code] = k
    codes[known] = places + 1 + len(special)
    atoms = [Atom("missing"), *(Atom("special", code, code) for code in special), *split]
    there, codes, counts = np.unique(codes, return_inverse=True, return_counts=True)
    atoms = [atoms[k] for k in there]
    is_ordinary = np.array([atom.ordinary for atom in atoms], dtype=np.float64)
    spoken = [k for k, atom in enumerate(atoms) if atom.kind != "other" and counts[k] >= SMALLEST]
    members = np.eye(len(atoms))[spoken]
    universe = np.where(is_ordinary[spoken, None] > 0, is_ordinary, 1.0)
    if not is_ordinary.all():
        members, universe = np.vstack([members, is_ordinary]), np.vstack([universe, np.ones(len(atoms))])
    return LawColumn(feature, tuple(atoms), members, universe), codes.astype(np.int16)


def _frequent_levels(feature: Feature, cells: np.ndarray) -> tuple[list[Atom], np.ndarray]:
    positions = cells.astype(np.intp)
    counts = np.bincount(positions, minlength=len(feature.levels))
    often = np.sort(np.argsort(-counts, kind="stable")[:_MOST_STATES])
    often = often[counts[often] >= SMALLEST]
    places = np.full(len(feature.levels), len(often))
    places[often] = np.arange(len(often))
    return [*(Atom("level", k, k, k, k) for k in often.astype(float).tolist()), Atom("other")], places[positions]


def _piles(feature: Feature, cells: np.ndarray) -> tuple[list[Atom], np.ndarray]:
    ends = sorted({0.0, float(cells.min()), float(cells.max())}) if len(cells) else []
    piles = [p for p in ends if np.count_nonzero(cells == p) >= max(SMALLEST, _PILE * len(cells))]
    if not piles:
        return [Atom("other")], np.zeros(len(cells), dtype=np.intp)
    places = np.searchsorted(piles, cells, side="left") + np.searchsorted(piles, cells, side="right")
    edges = [-np.inf, *piles, np.inf]
    atoms = []
    for k in range(2 * len(piles) + 1):
        low, high = edges[(k + 1) // 2], edges[k // 2 + 1]
        inside = cells[places == k]
        least, most = (float(inside.min()), float(inside.max())) if len(inside) else (low, high)
        atoms.append(Atom("point" if k % 2 else "gap", low, low if k % 2 else high, least, most))
    return atoms, places


def shuffled(names: Sequence[str], values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order of the rows (n,) that is random, and a coin (n,) for each row in that order.

    Both come from a hash of the cells, so that they do not depend on the order of the rows or the columns: cells are
    hashed with the name of their column, and equal rows are numbered.
    """
    hashed = np.zeros(len(values), dtype=np.uint64)
    for j, name in enumerate(names):
        cells = values[:, j] + 0.0  # a copy, in which −0 is 0
        cells[np.isnan(cells)] = np.nan
        key = np.frombuffer(blake2b(name.encode(), digest_size=8).digest(), dtype=np.uint64)[0]
        hashed += mixed(cells.view(np.uint64) ^ key)
    order = np.argsort(hashed, kind="stable")
    new = np.concatenate([[True], np.diff(hashed[order]) != 0])
    number = np.arange(len(values)) - np.flatnonzero(new)[np.cumsum(new) - 1]
    numbered = mixed(hashed[order] + number.astype(np.uint64) * GOLDEN)
    again = np.argsort(numbered, kind="stable")
    return order[again], numbered[again] & np.uint64(1) == 1
