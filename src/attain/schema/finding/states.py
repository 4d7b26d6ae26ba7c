"""The states of columns: what a law can say that a person is in.

The cells of a column fall into disjoint *atoms*: missing, each special code, and the ordinary cells. Those are split
further: a column of levels has one atom for each frequent level and one for all others; a column of numbers one for
each pile (0, or the smallest or largest value, where many rows share it) and one for each gap between. A *state* is an
atom that laws speak of, or all ordinary cells together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from attain.schema.finding.statistics import SMALLEST

MOST_STATES = 64
"""Only that many levels of a column, the most frequent, are states."""
_PILE = 0.01
"""A number that at least this share of the ordinary cells have is a pile."""


class Feature(Protocol):
    """What there is to know of a column; see `attain.Feature`."""

    @property
    def name(self) -> str: ...

    @property
    def numeric(self) -> bool: ...

    @property
    def levels(self) -> tuple[Any, ...]: ...

    @property
    def special(self) -> Mapping[float, str]: ...

    @property
    def step(self) -> float | None: ...

    @property
    def title(self) -> str: ...

    @property
    def unit(self) -> str | None: ...


AtomKind: TypeAlias = Literal["missing", "special", "level", "point", "gap", "other"]


@dataclass(frozen=True)
class Atom:
    """A set of cells of one column: from `low` to `high`, where a gap excludes its ends.

    `least` and `most` are the smallest and largest cells that there are.
    """

    kind: AtomKind
    low: float = np.nan
    high: float = np.nan
    least: float = -np.inf
    most: float = np.inf

    @property
    def ordinary(self) -> bool:
        return self.kind not in ("missing", "special")

    def above(self, other: Atom) -> bool:
        """Whether each of its cells is larger than each of the other's."""
        return self.least > other.most


@dataclass(frozen=True)
class Column:
    """One column as atoms.

    `codes` (n,) are the atoms of the rows. `members` (states, atoms) says which atoms are in each state: each atom that
    laws speak of, in order, then all ordinary ones together where there are others. A law about a state is judged among
    the rows of its `universe` (states, atoms): ordinary cells for a state of ordinary cells, all cells for any other.
    """

    feature: Feature
    atoms: tuple[Atom, ...]
    codes: np.ndarray
    members: np.ndarray
    universe: np.ndarray

    @property
    def n_states(self) -> int:
        return len(self.members)

    @cached_property
    def ordinary(self) -> np.ndarray:
        """Which atoms are ordinary cells."""
        return np.array([atom.ordinary for atom in self.atoms])

    def atom(self, state: int) -> Atom | None:
        """The atom of a state; None for all ordinary cells together."""
        together = not self.ordinary.all() and state == self.n_states - 1
        return None if together else self.atoms[int(np.argmax(self.members[state]))]

    @cached_property
    def ordinary_states(self) -> tuple[tuple[int, Atom], ...]:
        """The states of ordinary cells, with their atoms."""
        atoms = ((state, self.atom(state)) for state in range(self.n_states))
        return tuple((state, atom) for state, atom in atoms if atom is not None and atom.ordinary)

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of rows in each state."""
        return np.asarray(self.members @ np.bincount(self.codes, minlength=len(self.atoms)))

    def remaining(self, excluded: Iterable[int]) -> list[int]:
        """The levels outside these states, where they are told more easily than those inside; otherwise none."""
        gone = {int(atom.low) for atom in map(self.atom, excluded) if atom is not None and atom.kind == "level"}
        left = [k for k in range(len(self.feature.levels)) if k not in gone] if gone else []
        return left if len(left) == 1 or len(left) < len(gone) / 2 else []

    def presence(self, state: int) -> bool:
        """Whether the state says that a cell is missing, special or ordinary, rather than what is in it."""
        return bool(self.universe[state].all() and not self.ordinary.all())


def column_of(feature: Feature, cells: np.ndarray) -> Column:
    """The column with these cells, (n,)."""
    missing = np.isnan(cells)
    special = [code for code in sorted(feature.special) if (cells == code).any()]
    outside = missing | np.isin(cells, special)
    atoms = [Atom("missing")] if missing.any() else []
    atoms += [Atom("special", code, code) for code in special]
    codes = np.zeros(len(cells), dtype=np.int16)
    for k, code in enumerate(special):
        codes[cells == code] = len(atoms) - len(special) + k
    ordinary = np.flatnonzero(~outside)
    inner, places = (_numbers if feature.numeric else _levels)(feature, cells[ordinary])
    codes[ordinary] = places + len(atoms)
    atoms += inner
    counts = np.bincount(codes, minlength=len(atoms))
    seen = counts > 0
    codes = (np.cumsum(seen) - 1).astype(np.int16)[codes]
    atoms, counts = [atom for atom, there in zip(atoms, seen, strict=True) if there], counts[seen]
    identity = np.eye(len(atoms))
    is_ordinary = np.array([atom.ordinary for atom in atoms], dtype=np.float64)
    spoken = [k for k, atom in enumerate(atoms) if atom.kind != "other" and counts[k] >= SMALLEST]
    universe = [is_ordinary if atoms[k].ordinary else np.ones(len(atoms)) for k in spoken]
    members = [identity[k] for k in spoken]
    if not is_ordinary.all():
        members.append(is_ordinary)
        universe.append(np.ones(len(atoms)))
    shape = (len(members), len(atoms))
    return Column(feature, tuple(atoms), codes, np.reshape(members, shape), np.reshape(universe, shape))


def _levels(feature: Feature, cells: np.ndarray) -> tuple[list[Atom], np.ndarray]:
    positions = cells.astype(np.intp)
    counts = np.bincount(positions, minlength=len(feature.levels))
    often = np.sort(np.argsort(-counts, kind="stable")[:MOST_STATES])
    often = often[counts[often] >= SMALLEST]
    places = np.full(len(feature.levels), len(often))
    places[often] = np.arange(len(often))
    atoms = [Atom("level", float(k), float(k), float(k), float(k)) for k in often]
    return [*atoms, Atom("other")], places[positions]


def _numbers(feature: Feature, cells: np.ndarray) -> tuple[list[Atom], np.ndarray]:
    if not len(cells):
        return [Atom("other")], np.zeros(0, dtype=np.intp)
    ends = sorted({0.0, float(cells.min()), float(cells.max())})
    piles = [p for p in ends if np.count_nonzero(cells == p) >= max(SMALLEST, _PILE * len(cells))]
    if not piles:
        return [Atom("other")], np.zeros(len(cells), dtype=np.intp)
    places = np.searchsorted(piles, cells, side="left") + np.searchsorted(piles, cells, side="right")
    edges = [-np.inf, *piles, np.inf]
    atoms = []
    for k in range(2 * len(piles) + 1):
        low, high = edges[(k + 1) // 2], edges[k // 2 + 1]
        inside = cells[places == k] if k % 2 == 0 else np.array([low])
        least, most = (float(inside.min()), float(inside.max())) if len(inside) else (low, high)
        atoms.append(Atom("point" if k % 2 else "gap", low, low if k % 2 else high, least, most))
    return atoms, places
