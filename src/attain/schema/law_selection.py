"""Finding laws in a matrix: what holds on both halves of the rows, would not by chance, and follows from no others.

Laws are denial constraints over single rows (Chu, Ilyas and Papotti 2013, Discovering Denial Constraints) that may have
exceptions (Livshits et al. 2020, Approximate Denial Constraints; Xiao et al. 2022, FastADC). These methods look for all
constraints that hold in the rows at hand; here, most of those would be flukes, so that what is looked for is limited to
kinds that people can read, and each finding is tested on rows that it was not found on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from attain.schema import law_candidates
from attain.schema.feature import Feature
from attain.schema.law_candidates import Dependency, Pairs, Relation, Side
from attain.schema.law_states import SMALLEST, Atom, LawColumn, LawRows

Exclusion = tuple[int, tuple[int, ...], int, tuple[int, ...]]
"""(a, states, b, excluded): no row is in one of the states of column a and one of the excluded ones of b."""


@dataclass(frozen=True)
class Determines:
    """The value of column b that goes with each value of a: numbers, or positions of levels."""

    a: int
    b: int
    entries: Mapping[float, float]


@dataclass(frozen=True)
class StateSet:
    """Some states of one column."""

    column: LawColumn
    states: tuple[int, ...]

    @property
    def atoms(self) -> list[Atom | None]:
        return [self.column.states[state] for state in self.states]

    @property
    def presence(self) -> bool:
        return self.column.presence(self.states[0])


@dataclass(frozen=True)
class Excludes:
    """Rows that are in one of `given` are in none of `excluded`."""

    given: tuple[StateSet, ...]
    excluded: tuple[StateSet, ...]


@dataclass(frozen=True)
class Within:
    """Rows that are in `given` have numbers of a column from `low` to `high`."""

    given: StateSet
    feature: Feature
    low: float | None
    high: float | None


Statement: TypeAlias = Relation | Determines | Excludes | Within


def findings(
    features: Sequence[Feature], values: np.ndarray, coin: np.ndarray, exceptions: float
) -> Iterator[tuple[Statement, float]]:
    """What holds in a matrix (n, d), with the number of rows that would break it if its columns were independent.

    Rows are in random order; `coin` (n,) are those of the first half.
    """
    if len(values) < SMALLEST or len(features) < 2:
        return
    rows = LawRows.of(features, values)
    first, second = rows[coin], rows[~coin]
    found = partial(law_candidates.confirmed, rows=rows, first=first, second=second, exceptions=exceptions)
    orders, tables = found(law_candidates.relations(first)), found(law_candidates.dependencies(first))
    pairs, sides = found(law_candidates.pairs(first)), found(law_candidates.sides(first, exceptions))
    yield from _Selection(rows, orders, tables).findings(pairs, sides)


class _Selection:
    """The laws to list: relations and tables, then ranges and exclusions that do not follow from other laws.

    Exclusions follow from each other by resolution: two states exclude each other if some column has no atom left that
    both allow. States and atoms are counted over all columns: those of column j are the slices `states[j]` and
    `atoms[j]`.
    """

    def __init__(self, rows: LawRows, found: Sequence[Relation], tables: Sequence[Dependency]) -> None:
        from scipy.linalg import block_diag

        self.rows, self.columns, self.all_relations = rows, rows.columns, found
        self.features = [column.feature for column in rows.columns]
        self.relations = _independent_relations(found, self.features)
        equal = [(r.a, r.b) for r in self.relations if r.sign == "="]
        self.tables = {(one.a, one.b): one for one in tables}
        self.independent, self.leader = _independent_tables(self.tables, self.features, equal)
        self.states, self.atoms = (
            [slice(end - size, end) for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True)]
            for sizes in ([len(c.states) for c in self.columns], [len(c.atoms) for c in self.columns])
        )
        self.members = block_diag(*(column.members for column in self.columns)).astype(np.float32)
        within = block_diag(*(np.ones_like(column.members) for column in self.columns))
        self.elsewhere = (within > 0) & (self.members == 0)
        self.counts = self.members @ np.concatenate(
            [np.bincount(codes, minlength=len(c.atoms)) for codes, c in zip(rows.codes, self.columns, strict=True)]
        )

    def findings(self, pairs: Sequence[Pairs], sides: Sequence[Side]) -> Iterator[tuple[Statement, float]]:
        """All findings, kind by kind."""
        for relation in self.relations:
            yield relation, relation.counts(self.rows).expected
        for a, b in self.independent:
            table = self.tables[a, b]
            yield (
                Determines(a, b, self._entries(table)),
                float(table.counts(self.rows).among(table.places >= 0).expected),
            )
        counts = {side: side.counts(self.rows).expected for side in self._new_sides(sides, pairs)}
        exclusions = self._exclusions(pairs, known := self._known(counts))
        strongest = sorted(exclusions, key=lambda e: (-exclusions[e], len(e[1]) * len(e[3]), self._names(e), e))
        yield from self._excluded(self._without_repetitions(known, strongest), exclusions)
        for members in self._grouped_sides(counts):
            limits = {side.sign: side.limit for side in members}
            (given,) = self._states_of([(members[0].a, tuple(sorted({side.state for side in members})))])
            within = Within(given, self.features[members[0].b], limits.get(-1), limits.get(1))
            yield within, sum(counts[side] for side in members)

    def _names(self, law: Exclusion) -> tuple[str, str]:
        return self.features[law[0]].name, self.features[law[2]].name

    def _entries(self, table: Dependency) -> dict[float, float]:
        """The value of b that goes with each value of a."""
        first, second = self.rows.distinct[table.a], self.rows.distinct[table.b]
        return {float(first[x]): float(second[y]) for x, y in enumerate(table.places) if y >= 0}

    def _known(self, sides: Iterable[Side]) -> np.ndarray:
        """Which states exclude each other because of tables, equalities, orders and ranges, (states, states)."""
        least, most = np.array([ends for j in range(len(self.columns)) for ends in self._ends(j)]).reshape(-1, 2).T
        known = np.zeros((len(least), len(least)), dtype=bool)
        for side in sides:
            b = self.states[side.b]
            beyond = least[b] > side.limit if side.sign > 0 else most[b] < side.limit
            known[self.states[side.a].start + side.state, b] |= beyond
        for one in self.all_relations:
            a, b = self.states[one.a], self.states[one.b]
            known[a, b] |= least[a][:, None] > most[b]
            if one.sign == "=":
                known[a, b] |= most[a][:, None] < least[b]
        for table in self.tables.values():
            a, b, entries = self.states[table.a], self.states[table.b], self._entries(table)
            values = [
                entries.get(atom.low, np.nan) if atom is not None and atom.kind in ("level", "point") else np.nan
                for atom in self.columns[table.a].states
            ]
            value = np.array(values).reshape(-1, 1)
            known[a, b] |= (value < least[b]) | (value > most[b])
        return known | known.T

    def _ends(self, j: int) -> list[tuple[float, float]]:
        """The smallest and the largest cell of each state of a column, NaN where it has none."""
        return [(s.least, s.most) if s is not None and s.ordinary else (np.nan, np.nan) for s in self.columns[j].states]

    def _exclusions(self, pairs: Sequence[Pairs], known: np.ndarray) -> dict[Exclusion, float]:
        """Pairs that are not known, as laws, with the number of rows expected to break them."""
        found = {}
        for pair in pairs:
            if self.leader[pair.a] == pair.a and self.leader[pair.b] == pair.b:
                new = pair.mask & ~known[self.states[pair.a], self.states[pair.b]]
                for e in self._grouped(pair.a, pair.b, new):
                    expected = law_candidates.pair_counts(self.rows, e[0], e[2]).expected
                    found[e] = float(expected[np.ix_(e[1], e[3])].sum())
        return found

    def _grouped(self, a: int, b: int, mask: np.ndarray) -> Iterator[Exclusion]:
        """Pairs of states as laws, as few as possible, in the direction that takes fewer words."""
        left, right = self.columns[a], self.columns[b]
        blocks: dict[tuple[bool, bool, str], list[tuple[int, int]]] = defaultdict(list)
        for x, y in np.argwhere(mask).tolist():
            blocks[left.presence(x), right.presence(y), _direction(left, right, mask, x, y)].append((x, y))
        for (_, _, direction), block in blocks.items():
            forth, back = self._laws(a, b, block), self._laws(b, a, [(y, x) for x, y in block])
            shorter = "back" if self._length(back) < self._length(forth) else "forth"
            yield from back if "back" in (direction, shorter if direction == "either" else "") else forth

    def _laws(self, a: int, b: int, block: Iterable[tuple[int, int]]) -> list[Exclusion]:
        """One law for each state of a, or for levels that exclude the same."""
        excluded: dict[int, list[int]] = defaultdict(list)
        for x, y in sorted(block):
            excluded[x].append(y)
        alike: dict[tuple[tuple[int, ...], int], list[int]] = defaultdict(list)
        for x, ys in excluded.items():
            alike[tuple(ys), self._together(a, x)].append(x)
        return [(a, tuple(xs), b, ys) for (ys, _), xs in alike.items()]

    def _together(self, column: int, state: int) -> int:
        """A key that is equal for states that one condition can name: levels."""
        atom = self.columns[column].states[state]
        return -1 if atom is not None and atom.kind == "level" else state

    def _length(self, laws: Sequence[Exclusion]) -> tuple[int, int, int, int, str]:
        """Sort key: fewer laws, levels and negations; then fewer rows in the conditions, then the name."""
        left = [self.columns[b].remaining(excluded) for _, _, b, excluded in laws]
        levels = sum(len(xs) + len(rest or ys) for (_, xs, _, ys), rest in zip(laws, left, strict=True))
        rows = sum(int(self.counts[self.states[a]][list(xs)].sum()) for a, xs, _, _ in laws)
        return len(laws), levels, sum(not rest for rest in left), rows, self.features[laws[0][0]].name

    def _without_repetitions(self, known: np.ndarray, laws: Sequence[Exclusion]) -> list[Exclusion]:
        """The laws, the weakest last, without those that the others imply."""
        self.excludes = known.astype(np.float32)
        self.excluded = (self.excludes @ self.members > 0) | self.elsewhere
        for law in laws:
            self._set(law, True)
        kept = list(laws)
        starts = [atoms.start for atoms in self.atoms]
        for law in reversed(laws):
            first, second = self._set(law, False)
            together = self.excluded[first][:, None] | self.excluded[second]
            if np.logical_and.reduceat(together, starts, axis=2).any(axis=2).all():
                kept.remove(law)
            else:
                self._set(law, True)
        return kept

    def _set(self, law: Exclusion, value: bool) -> tuple[np.ndarray, np.ndarray]:
        """Adds or removes a law; the positions of its states, and of those that they exclude."""
        a, xs, b, ys = law
        first, second = np.array(xs) + self.states[a].start, np.array(ys) + self.states[b].start
        self.excludes[np.ix_(first, second)] = self.excludes[np.ix_(second, first)] = value
        for states in (first, second):
            self.excluded[states] = (self.excludes[states] @ self.members > 0) | self.elsewhere[states]
        return first, second

    def _new_sides(self, sides: Iterable[Side], pairs: Iterable[Pairs]) -> Iterator[Side]:
        """The sides of ranges that follow neither from a table or an order nor from pairs of the same columns."""
        excludes = self._known(())
        for pair in pairs:
            excludes[self.states[pair.a], self.states[pair.b]] |= pair.mask
        excluded = ((excludes | excludes.T) @ self.members > 0) | self.elsewhere
        sides = [s for s in sides if self.leader[s.a] == s.a and self.leader[s.b] == s.b]
        limits = {(s.a, s.state, s.b, s.sign): s.sign * s.limit for s in sides}
        orders = [(r.a, r.b) for r in self.all_relations if r.sign == "<="]
        for s in sides:
            gone = excluded[self.states[s.a].start + s.state]
            beyond = [c if s.sign > 0 else b for b, c in orders if (b if s.sign > 0 else c) == s.b]
            reach = [limits.get((s.a, s.state, c, s.sign), np.inf) for c in beyond]
            reach += [self._farthest(c, s.sign, gone[self.atoms[c]]) for c in (s.b, *beyond)]
            if (s.a, s.b) not in self.tables and min(reach) > s.sign * s.limit:
                yield s

    def _farthest(self, j: int, sign: int, gone: np.ndarray) -> float:
        """The largest of sign · cell among the ordinary atoms of a column that are not gone."""
        left = [atom for atom, out in zip(self.columns[j].atoms, gone, strict=True) if atom.ordinary and not out]
        return max((atom.most if sign > 0 else -atom.least for atom in left), default=-np.inf)

    def _excluded(
        self, kept: Iterable[Exclusion], expected: dict[Exclusion, float]
    ) -> Iterator[tuple[Statement, float]]:
        """Exclusions one by one, and patterns of missing cells and codes with one condition or one consequence."""
        groups: list[list[Exclusion]] = []
        conditions: dict[object, list[Exclusion]] = defaultdict(list)
        consequences: dict[object, list[Exclusion]] = defaultdict(list)
        for law in kept:
            a, xs, b, ys = law
            if self.columns[a].presence(xs[0]) and any(self.columns[b].states[y] is None for y in ys):
                conditions[a, xs].append(law)
            else:
                groups.append([law])
        for laws in conditions.values():
            if len(laws) > 1:
                groups.append(laws)
            else:
                consequences[laws[0][2:]] += laws
        for laws in (*groups, *consequences.values()):
            given, excluded = dict.fromkeys(law[:2] for law in laws), dict.fromkeys(law[2:] for law in laws)
            statement = Excludes(self._states_of(given), self._states_of(excluded))
            together = len(self.rows) * self._share(given) * self._share(excluded)
            yield statement, expected[laws[0]] if len(laws) == 1 else together

    def _states_of(self, parts: Iterable[tuple[int, tuple[int, ...]]]) -> tuple[StateSet, ...]:
        return tuple(StateSet(self.columns[j], states) for j, states in parts)

    def _share(self, parts: Iterable[tuple[int, tuple[int, ...]]]) -> float:
        """The share of rows that would be in any of these states of columns if the columns were independent."""
        inside = [
            (self.columns[j].members[list(states)].sum(axis=0) > 0)[self.rows.codes[j]].mean() for j, states in parts
        ]
        return float(1.0 - np.prod(1.0 - np.array(inside)))

    def _grouped_sides(self, sides: Iterable[Side]) -> Iterable[list[Side]]:
        """Both sides of a range together, and levels with the same range."""
        ranges: dict[tuple[int, int, int], list[Side]] = defaultdict(list)
        for side in sides:
            ranges[side.a, side.b, side.state].append(side)
        alike: dict[object, list[Side]] = defaultdict(list)
        for (a, b, state), both in sorted(ranges.items()):
            alike[a, b, frozenset((side.sign, side.limit) for side in both), self._together(a, state)] += both
        return alike.values()


def _direction(left: LawColumn, right: LawColumn, mask: np.ndarray, x: int, y: int) -> str:
    """Which state becomes the condition: a specific one rather than “has a value”."""
    whole, other = left.states[x] is None, right.states[y] is None
    if whole != other:
        return "back" if whole else "forth"
    if not whole and left.presence(x) and right.presence(y):
        return "forth" if mask[x, -1] else "back" if mask[-1, y] else "either"
    return "either"


def _leaders(features: Sequence[Feature], pairs: Iterable[tuple[int, int]]) -> list[int]:
    """For each column the one that stands for all columns it is paired with: levels before numbers, then by name."""
    leader = list(range(len(features)))
    for a, b in pairs:
        first, second = sorted((leader[a], leader[b]), key=lambda j: (features[j].numeric, features[j].name))
        leader = [first if other == second else other for other in leader]
    return leader


def _independent_relations(found: Iterable[Relation], features: Sequence[Feature]) -> list[Relation]:
    """The relations without those that follow from others."""
    equal, orders = ({(r.a, r.b) for r in found if r.sign == sign} for sign in ("=", "<="))
    leader = _leaders(features, equal)
    led = {j for pair in equal for j, other in (pair, pair[::-1]) if other == leader[j]}
    stated = [(b, a) if leader[a] == a else (a, b) for a, b in sorted(equal) if not {a, b} <= led]
    orders = {(a, b) for a, b in orders if leader[a] == a and leader[b] == b}
    transitive = {(a, c) for a, b in orders for b_, c in orders if b == b_ and (a, c) in orders}
    return [
        *(Relation("=", a, b) for a, b in stated),
        *(Relation("<=", a, b) for a, b in sorted(orders - transitive)),
    ]


def _independent_tables(
    pairs: Collection[tuple[int, int]], features: Sequence[Feature], equal: Collection[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[int]]:
    """The tables without those that follow from others, and the leader of each column.

    Columns that fix each other have a common leader, and so have equal columns.
    """
    leader = _leaders(features, [*equal, *sorted((a, b) for a, b in pairs if (b, a) in pairs)])
    same = _leaders(features, equal)

    def independent(a: int, b: int) -> bool:
        if same[a] == same[b] or same[a] != a or same[b] != b:
            return False
        if leader[a] == leader[b]:
            return leader[a] in (a, b) or (b, a) not in pairs
        between = (c for c in range(len(features)) if (a, c) in pairs and (c, b) in pairs)
        return leader[a] == a and leader[b] == b and all(leader[c] in (a, b) for c in between)

    return [pair for pair in sorted(pairs) if independent(*pair)], leader
