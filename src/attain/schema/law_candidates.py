"""Candidates for laws, each tested against the number of rows that would break it if its columns were independent.

What holds on the first half of the rows is proposed. It is tested on the second half (the holdout evaluation of Webb
2007, Discovering Significant Patterns), where the number of tests is accounted for (Bonferroni), and confirmed on all
rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeVar

import numpy as np

from attain.schema.feature import Feature
from attain.schema.law_states import SAMPLE, SMALLEST, LawRows

LARGEST_RATE = 0.01
"""The 95 % upper bound of the share of new rows that break a law, at most."""
_ALPHA = 0.01
"""The probability of finding any law at all in data whose columns are independent (Bonferroni)."""
_KINDS = 4
_PROPOSED = 1e-4
"""The p-value on the first half below which something is tested on the second."""
_BY_CHANCE = 0.01
"""A law is broken by at most this share of the rows that would break it by chance."""
_MOSTLY = 0.25
"""The same for an order and a range, which are also broken by rows that are hardly beyond them."""
_BY_LUCK = 1e-4
"""On half of the rows, a number of exceptions that is as large with this probability does not refute a law."""
_LEAST_EXCLUDED = 0.05
"""A range excludes at least this share of all rows; otherwise it is not worth a law."""
_COVERED = 0.9
"""The share of rows whose value of the first column has to prove by itself that it fixes the second."""
_PROVING = 9
"""A value with fewer rows in one half cannot prove anything by itself: P(V = 0) ≥ e⁻⁹ > 10⁻⁴."""
_IN_TABLE = 3
"""The fewest rows of a value for it to be in a table, and the fewest that would break its entry by chance."""


@dataclass(frozen=True)
class Counts:
    """Counts of one candidate, or arrays of the counts of several.

    `applies`: rows that it says something about; `broken`: those that break it; `expected`: those that would if its
    columns were independent; `rarest`: rows in the rarest of the states that it speaks of; `edge`: see `edge`.
    """

    applies: Any
    broken: Any
    expected: Any
    rarest: Any
    edge: Any = 0.0

    def among(self, chosen: np.ndarray) -> Counts:
        """The sums over some of the candidates."""
        return Counts(*(part[chosen].sum() for part in (self.applies, self.broken, self.expected, self.rarest)))


@dataclass(frozen=True)
class Test:
    """How few exceptions a candidate may have, and how improbable it has to be by chance.

    On half of the rows, a number of exceptions passes that is not more than luck; on all rows, the rate for new rows
    has to be bounded, whichever of the states is given.
    """

    __test__ = False

    exceptions: float
    threshold: float
    on_all: bool = False

    def passes(self, counts: Counts, share: float = _BY_CHANCE) -> Any:
        """Whether candidates hold, and would not if their columns were independent."""
        allowed = ((counts.broken, self.exceptions * counts.applies), (counts.broken, share * counts.expected))
        unlikely = (chance(counts.broken, counts.expected) <= self.threshold) & (counts.edge <= self.threshold)
        if self.on_all:
            bounded = (counts.rarest >= SMALLEST) & (rate(counts.broken, counts.rarest) <= LARGEST_RATE)
            return np.logical_and.reduce([broken <= most for broken, most in allowed]) & bounded & unlikely
        return np.logical_and.reduce([_few(broken, most) for broken, most in allowed]) & unlikely


def chance(broken: Any, expected: Any) -> Any:
    """P(V ≤ broken) if `expected` rows break it by chance.

    V is a sum of independent events under independence with given marginals (hypergeometric), so below its mean the
    Poisson distribution bounds its lower tail from above (Anderson and Samuels 1967).
    """
    from scipy.special import pdtr  # imported here, because importing a schema should not take long

    return pdtr(broken, expected)


def edge(beyond: int, inside: int, share: float) -> float:
    """P(V ≤ beyond) if rows were as frequent beyond a limit as just inside it: a limit is sharper than a tail.

    Just inside is where `share` of the rows in both regions would be beyond if the columns were independent.
    """
    from scipy.special import bdtr

    return float(bdtr(beyond, beyond + inside, share))


def _few(broken: Any, allowed: Any) -> Any:
    """Whether violations are within the allowance, up to chance."""
    from scipy.special import pdtrc

    return (broken <= allowed) | (pdtrc(np.maximum(broken, 1.0) - 1.0, allowed) >= _BY_LUCK)


def rate(broken: Any, applies: Any) -> Any:
    """The 95 % upper bound (Clopper–Pearson, one-sided) of the share that breaks a law."""
    from scipy.special import betaincinv

    whole = np.maximum(np.asarray(applies, dtype=np.float64), 1.0)
    return np.where(broken >= whole, 1.0, betaincinv(broken + 1.0, np.maximum(whole - broken, 1e-300), 0.95))


class Candidate(ABC):
    """Something that may be a law."""

    @property
    def tests(self) -> int:
        """The number of tests that it takes."""
        return 1

    @abstractmethod
    def tested(self, rows: LawRows, test: Test) -> Self | None:
        """The part that passes a test on some rows; None if nothing does."""

    def fitted(self, rows: LawRows, exceptions: float) -> Self | None:
        """The candidate fitted again on all rows; None if they refute it."""
        return self


_C = TypeVar("_C", bound=Candidate)


def confirmed(candidates: Iterable[_C], rows: LawRows, first: LawRows, second: LawRows, exceptions: float) -> list[_C]:
    """The candidates of one kind that are found on the first half, tested on the second and confirmed on all rows."""
    proposed = _passing(candidates, first, Test(exceptions, _PROPOSED))
    threshold = _ALPHA / _KINDS / max(sum(one.tests for one in proposed), 1)
    tested = _passing(proposed, second, Test(exceptions, threshold))
    fitted = [whole for one in tested if (whole := one.fitted(rows, exceptions)) is not None]
    return _passing(fitted, rows, Test(exceptions, threshold, on_all=True))


def _passing(candidates: Iterable[_C], rows: LawRows, test: Test) -> list[_C]:
    return [left for one in candidates if (left := one.tested(rows, test)) is not None]


@dataclass(frozen=True)
class Relation(Candidate):
    """`a <= b` or `a = b`, where a and b are positions of columns of numbers."""

    sign: Literal["<=", "="]
    a: int
    b: int

    def tested(self, rows: LawRows, test: Test) -> Self | None:
        return self if test.passes(self.counts(rows), _MOSTLY if self.sign == "<=" else _BY_CHANCE) else None

    def counts(self, rows: LawRows) -> Counts:
        left, right = rows.numbers[self.a], rows.numbers[self.b]
        known = ~np.isnan(left) & ~np.isnan(right)
        left, right, n = left[known], right[known], int(known.sum())
        slack = 1e-9 * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
        if self.sign == "=":
            ordered = np.sort(left)
            above, below = np.searchsorted(ordered, right + slack, "right"), np.searchsorted(ordered, right - slack)
            expected = float((1.0 - (above - below) / max(n, 1)).sum())
            return Counts(n, int(np.count_nonzero(np.abs(left - right) > slack)), expected, n)
        broken = int(np.count_nonzero(left - right > slack))
        expected = float(np.searchsorted(np.sort(right), left - slack).sum() / max(n, 1))
        # rows are in random order, so that the next row's left cell is an independent one
        unrelated = np.sort(right - np.roll(left, 1))
        out = int(np.searchsorted(unrelated, 0.0))
        near = int(np.searchsorted(unrelated, unrelated[min(2 * out, n - 1)], "right")) - out if n else 0
        inside = int(np.count_nonzero(right - left <= unrelated[out + near - 1])) - broken if near else 0
        return Counts(n, broken, expected, n, edge(broken, max(inside, 0), out / max(out + near, 1)))


def relations(half: LawRows) -> Iterator[Relation]:
    """Orders and equalities that hold on a sample, and that enough rows could confirm.

    What does not hold on a sample need not be counted on all rows (Papenbrock and Naumann 2016, HyFD).
    """
    sample, numbers = half.sample, half.numeric
    cells = sample.numbers[numbers]
    known = ~np.isnan(cells)
    for k, a in enumerate(numbers):
        gap, both = cells[k] - cells, np.count_nonzero(known[k] & known, axis=1)
        slack = 1e-9 * np.maximum(1.0, np.maximum(np.abs(cells[k]), np.abs(cells)))
        few = both * 0.005 + 2
        equal, ordered = np.count_nonzero(np.abs(gap) > slack, axis=1) <= few, np.count_nonzero(gap > slack, 1) <= few
        for m in np.flatnonzero(both >= SMALLEST / 10):  # other columns are mostly missing
            b = numbers[m]
            order = Relation("<=", a, b)
            if equal[m] and a < b:
                yield Relation("=", a, b)
            elif not equal[m] and ordered[m] and order.counts(sample).expected * len(half) >= SAMPLE:
                yield order


@dataclass(frozen=True, eq=False)
class Dependency(Candidate):
    """Column a fixes column b: for each value of a the place of the value of b that goes with it, −1 where unknown."""

    a: int
    b: int
    places: np.ndarray

    @property
    def tests(self) -> int:
        """Each value of a is tested by itself."""
        return len(self.places)

    def tested(self, rows: LawRows, test: Test) -> Self | None:
        counts, there = self.counts(rows), self.places >= 0
        proved = there & (chance(counts.broken, counts.expected) <= test.threshold)
        covered = counts.applies[proved].sum() >= _COVERED * counts.applies[there].sum()
        several = len(set(self.places[proved])) > 1
        return self if several and covered and test.passes(counts.among(there)) else None

    def fitted(self, rows: LawRows, exceptions: float) -> Self:
        whole = replace(self, places=rows.value_table(self.a, self.b).argmax(axis=1))
        counts = whole.counts(rows)
        enough = (counts.applies >= _IN_TABLE) & (counts.expected >= _IN_TABLE)
        enough &= counts.broken <= LARGEST_RATE * counts.applies
        return replace(whole, places=np.where(enough, whole.places, -1))

    def counts(self, rows: LawRows) -> Counts:
        """The counts for each value of a."""
        table, places = rows.value_table(self.a, self.b), np.maximum(self.places, 0)
        applies = table.sum(axis=1)
        right = np.take_along_axis(table, places[:, None], axis=1)[:, 0]
        share = table.sum(axis=0)[places] / max(table.sum(), 1)
        return Counts(applies, applies - right, applies * (1.0 - share), applies)


def dependencies(half: LawRows) -> Iterator[Dependency]:
    """Pairs of columns for which, on a sample sorted by a, rows with the same a seldom differ in b."""
    names = list(half.places)
    if len(names) < 2:
        return
    sample = np.stack([half.sample.places[j] for j in names], axis=1)
    for k, a in enumerate(names):
        often = np.bincount(half.places[a][half.places[a] >= 0])
        if often[often >= _PROVING].sum() < _COVERED * often.sum():
            continue
        ordered = sample[np.argsort(sample[:, k], kind="stable")]
        ordered = ordered[ordered[:, k] >= 0]
        same = ordered[1:, k] == ordered[:-1, k]
        before, after = ordered[:-1][same], ordered[1:][same]
        known = (before >= 0) & (after >= 0)
        differ = np.count_nonzero((before != after) & known, axis=0)
        enough = np.count_nonzero(known, axis=0) * 0.01 + 2 >= differ
        for b in (b for m, b in enumerate(names) if m != k and enough[m]):
            yield Dependency(a, b, half.value_table(a, b).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Pairs(Candidate):
    """States of columns a and b that exclude each other: `mask` (states of a, states of b)."""

    a: int
    b: int
    mask: np.ndarray

    @property
    def tests(self) -> int:
        return int(np.count_nonzero(self.mask))

    def tested(self, rows: LawRows, test: Test) -> Self | None:
        mask = self.mask & test.passes(pair_counts(rows, self.a, self.b))
        return replace(self, mask=mask) if mask.any() else None


def pairs(half: LawRows) -> Iterator[Pairs]:
    """All pairs of columns with states."""
    spoken = [j for j, column in enumerate(half.columns) if len(column.states)]
    for k, a in enumerate(spoken):
        yield from (Pairs(a, b, np.array(True)) for b in spoken[k + 1 :])


def pair_counts(rows: LawRows, a: int, b: int) -> Counts:
    """The counts of every state of a with every state of b, (states of a, states of b).

    A pair is read in either direction, so it applies to the rows of the more frequent of the two.
    """
    left, right, table = rows.columns[a], rows.columns[b], rows.atom_table(a, b)
    both = left.members @ table @ right.members.T
    first, second = left.members @ table @ right.universe.T, left.universe @ table @ right.members.T
    expected = first * second / np.maximum(left.universe @ table @ right.universe.T, 1.0)
    return Counts(np.maximum(first, second), both, expected, np.minimum(first, second))


@dataclass(frozen=True)
class Side(Candidate):
    """Cells of b are at most (`sign` 1) or at least (−1) `limit` in rows that are in this state of a."""

    b: int
    a: int
    state: int
    sign: int
    limit: float

    def tested(self, rows: LawRows, test: Test) -> Self | None:
        counts = self.counts(rows)
        excludes = counts.expected >= _LEAST_EXCLUDED * counts.applies
        return self if excludes and test.passes(counts, _MOSTLY) else None

    def fitted(self, rows: LawRows, exceptions: float) -> Self | None:
        """The side with the limit that these rows give: an estimate of the end point.

        It is the extreme without as many cells as may be exceptions, moved outwards by its distance from the next
        (Robson and Whitlock 1964, Estimation of a truncation point). None beyond all values of the column.
        """
        cells = rows.in_order(self.b)[1]
        inside = cells[self._inside(rows)]
        few = int(exceptions * len(inside))
        extreme, following = (inside[few], inside[few + 1]) if self.sign < 0 else (inside[-1 - few], inside[-2 - few])
        limit = _outwards(float(2 * extreme - following), self.sign, rows.columns[self.b].feature)
        limits = limit > cells[0] if self.sign < 0 else limit < cells[-1]
        return replace(self, limit=limit) if limits else None

    def counts(self, rows: LawRows) -> Counts:
        """The counts among the rows in which a is in the state's universe."""
        order, cells = rows.in_order(self.b)
        there = (rows.columns[self.a].universe[self.state] > 0)[rows.codes[self.a][order]]
        inside, beyond = self._inside(rows), self.beyond(rows)
        n = beyond.stop - beyond.start
        # just inside the limit: as many rows as beyond it, and all with the same value as the last of them
        if self.sign < 0:
            last = cells[min(beyond.stop + n, len(cells)) - 1]
            band = slice(beyond.stop, int(np.searchsorted(cells, last, "right")))
        else:
            band = slice(int(np.searchsorted(cells, cells[max(beyond.start - n, 0)])), beyond.start)
        applies, broken = int(inside.sum()), int(inside[beyond].sum())
        out, near = int(there[beyond].sum()), int(there[band].sum())
        sharp = edge(broken, int(inside[band].sum()), out / max(out + near, 1))
        return Counts(applies, broken, applies * out / max(int(there.sum()), 1), applies, sharp)

    def beyond(self, rows: LawRows) -> slice:
        """The rows beyond the limit, in the order of b."""
        cells, slack = rows.in_order(self.b)[1], 1e-9 * max(1.0, abs(self.limit))
        if self.sign < 0:
            return slice(0, int(np.searchsorted(cells, self.limit - slack)))
        return slice(int(np.searchsorted(cells, self.limit + slack, "right")), len(cells))

    def _inside(self, rows: LawRows) -> np.ndarray:
        """The rows in the state, in the order of b."""
        atom = int(np.argmax(rows.columns[self.a].members[self.state]))
        return np.asarray(rows.codes[self.a][rows.in_order(self.b)[0]] == atom)


def sides(half: LawRows, exceptions: float) -> Iterator[Side]:
    """Limits of numbers given a state that enough rows are in, where the limits exclude enough."""
    for b in half.numeric:
        order, cells = half.in_order(b)
        for a, column in enumerate(half.columns):
            counts = np.bincount(half.codes[a][order], minlength=len(column.atoms))
            for state, atom in enumerate(column.states):
                often = atom is not None and counts[int(np.argmax(column.members[state]))] >= SMALLEST / 3
                for sign in (-1, 1) if often and a != b else ():
                    side = Side(b, a, state, sign, 0.0).fitted(half, exceptions)
                    beyond = side.beyond(half) if side is not None else slice(0, 0)
                    if side is not None and beyond.stop - beyond.start >= _LEAST_EXCLUDED * len(cells) / 2:
                        yield side


def _outwards(limit: float, sign: int, feature: Feature) -> float:
    """The limit on the column's step, or with three significant digits, rounded away from the range."""
    rounded = math.ceil if sign > 0 else math.floor
    if feature.step is not None:
        decimals = max(0, -math.floor(math.log10(feature.step))) + 2
        return round(rounded(round(limit / feature.step, 6)) * feature.step, decimals)
    if limit == 0:
        return 0.0
    decimals = 2 - math.floor(math.log10(abs(limit)))
    return float(f"{rounded(round(limit * 10.0**decimals, 6))}e{-decimals}")
