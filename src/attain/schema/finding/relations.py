"""Relations between numbers: a <= b, a = b, a = b + c, a = b * c and a = b / c, exactly or up to rounding.

Candidates are screened on few rows and checked on more, as HyFD does for functional dependencies (Papenbrock and
Naumann 2016): what does not hold on a sample need not be counted on all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from attain.schema.finding.rows import SAMPLE, Rows
from attain.schema.finding.statements import Relation
from attain.schema.finding.statistics import BY_CHANCE, MOSTLY, PROPOSED, SMALLEST, Counts, edge

SCREEN = 32
"""The number of rows on which sums, products and quotients are screened."""
MOST_NUMBERS = 120
"""Sums, products and quotients are looked for among that many columns, those with the most distinct values."""
_ENOUGH = 4
"""The number of screened rows in which a sum or a product must not be trivial."""

_OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add,
    "*": np.multiply,
    "/": np.divide,
}


def _share(relation: Relation) -> float:
    """The share of the rows expected to break a relation that may."""
    return MOSTLY if relation.sign == "<=" else BY_CHANCE


def measured(relation: Relation, rows: Rows) -> Counts:
    """The counts of a relation, over rows that are not trivial: a sum with a term 0, a product with a factor 0 or 1."""
    left, right, trivial = _sides(relation, rows)
    slack = 1e-9 * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
    if relation.sign == "<=":
        return _order(left, right, slack)
    slack += relation.tolerance
    ordered, telling = np.sort(left), ~trivial
    above, below = np.searchsorted(ordered, right + slack, "right"), np.searchsorted(ordered, right - slack)
    by_chance = 1.0 - (above - below) / max(len(left), 1)
    applies = int(np.count_nonzero(telling))
    broken = int(np.count_nonzero((np.abs(left - right) > slack) & telling))
    return Counts(applies, broken, float(by_chance[telling].sum()), applies)


def _order(left: np.ndarray, right: np.ndarray, slack: np.ndarray) -> Counts:
    """The counts of `left <= right`. Rows are in random order, so the next row's left cell is an independent one."""
    n, broken = len(left), int(np.count_nonzero(left - right > slack))
    expected = float(np.searchsorted(np.sort(right), left - slack).sum() / max(n, 1))
    unrelated = np.sort(right - np.roll(left, 1))
    out = int(np.searchsorted(unrelated, 0.0))
    near = int(np.searchsorted(unrelated, unrelated[min(2 * out, n - 1)], "right")) - out if n else 0
    inside = int(np.count_nonzero(right - left <= unrelated[out + near - 1])) - broken if near else 0
    return Counts(n, broken, expected, n, edge(broken, max(inside, 0), out / max(out + near, 1)))


def _sides(relation: Relation, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both sides in the rows in which they are known, and where the right one is trivial."""
    left, first = rows.numbers[relation.a], rows.numbers[relation.b]
    if relation.c is None:
        known = ~np.isnan(left) & ~np.isnan(first)
        return left[known], first[known], np.zeros(np.count_nonzero(known), dtype=bool)
    second = rows.numbers[relation.c]
    with np.errstate(all="ignore"):
        right = _OPERATIONS[relation.operator](first, second)
        known = ~np.isnan(left) & np.isfinite(right)
        left, right, first, second = left[known], right[known], first[known], second[known]
        trivial = _trivial(right, first, second, relation)
        if relation.decimals is not None:
            factor = 10.0**relation.decimals
            scaled = (
                factor * right if relation.operator == "+" else _OPERATIONS[relation.operator](factor * first, second)
            )
            right = np.round(scaled) / factor
    return left, right, trivial


def _trivial(right: np.ndarray, first: np.ndarray, second: np.ndarray, relation: Relation) -> np.ndarray:
    """Where the right side is one of its terms or 0: such rows say nothing about the relation."""
    least = (relation.tolerance if relation.decimals is None else 0.5 * 10.0**-relation.decimals) + 1e-9
    trivial = (np.abs(right - first) <= least) | (np.abs(right) <= least)
    return trivial if relation.operator == "/" else trivial | (np.abs(right - second) <= least)


@dataclass
class Relations:
    """Candidates for relations."""

    exceptions: float
    found: list[Relation] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.found)

    def propose(self, half: Rows) -> None:
        """Takes the relations that hold on these rows."""
        candidates = [*_comparisons(half, half.numeric), *_equations(half, half.numeric)]
        self.found = [r for r in candidates if measured(r, half).hold(self.exceptions, PROPOSED, _share(r))]
        self._drop_repetitions()

    def test(self, half: Rows, threshold: float) -> None:
        """Keeps the relations that hold on these rows and would not by chance."""
        self.found = [r for r in self.found if measured(r, half).hold(self.exceptions, threshold, _share(r))]

    def confirm(self, rows: Rows, threshold: float) -> None:
        """Keeps the relations that hold on all rows."""
        self.found = [r for r in self.found if measured(r, rows).confirmed(self.exceptions, threshold, _share(r))]

    def _drop_repetitions(self) -> None:
        """An equation that holds exactly is not repeated up to rounding, nor a product as quotients."""
        kept: list[Relation] = []
        for relation in sorted(
            self.found, key=lambda r: (r.decimals is not None or r.tolerance > 0, r.operator == "/")
        ):
            same = [other for other in kept if other.c is not None and other.columns == relation.columns]
            if relation.c is None or not same:
                kept.append(relation)
        self.found = kept


def _comparisons(half: Rows, numbers: list[int]) -> Iterator[Relation]:
    """Orders and equalities that hold on a sample, and could be told from chance."""
    sample = half.sample.numbers
    known = ~np.isnan(sample)
    for a in numbers:
        gap = sample[a] - sample[numbers]
        slack = 1e-9 * np.maximum(1.0, np.maximum(np.abs(sample[a]), np.abs(sample[numbers])))
        both = np.count_nonzero(known[a] & known[numbers], axis=1)
        few = both * 0.005 + 2
        above = np.count_nonzero(gap > slack, axis=1)
        apart = np.count_nonzero(np.abs(gap) > slack, axis=1)
        for k, b in enumerate(numbers):
            if a == b or both[k] < SMALLEST / 10:  # a column that is mostly missing
                continue
            if apart[k] <= few[k]:
                if a < b:
                    yield Relation("=", a, b)
            elif above[k] <= few[k]:
                relation = Relation("<=", a, b)
                if measured(relation, half.sample).expected * len(half) >= SAMPLE:
                    yield relation


def _equations(half: Rows, numbers: list[int]) -> Iterator[Relation]:
    """Sums, products and quotients that hold on a few rows, those with the most cells that are neither 0 nor 1."""
    sample = half.sample.numbers
    distinct = [len(np.unique(sample[j][~np.isnan(sample[j])])) for j in numbers]
    ranked = np.argsort(-np.array(distinct, dtype=np.intp), kind="stable")[:MOST_NUMBERS]
    numbers = sorted(numbers[k] for k in ranked if distinct[k] > 2)
    if len(numbers) < 3:
        return
    telling = np.count_nonzero(~np.isnan(sample) & (sample != 0) & (sample != 1), axis=0)
    screen = sample[numbers][:, np.argsort(-telling, kind="stable")[:SCREEN]]
    decimals = [_decimals(sample[j]) for j in numbers]
    halves = np.array([0.0 if places is None else 0.5 * 10.0**-places for places in decimals])
    some = half.sample
    for k, b in enumerate(numbers):
        for operator, partners in (
            ("+", range(k + 1, len(numbers))),
            ("*", range(k + 1, len(numbers))),
            ("/", range(len(numbers))),
        ):
            others = [p for p in partners if p != k]
            for p, a in _matching(screen, halves, k, operator, others):
                exact = Relation("=", numbers[a], b, operator, numbers[others[p]])
                for relation in _roundings(exact, decimals[a]):
                    m = measured(relation, some)
                    if m.broken <= min(0.005 * m.applies + 2, 0.05 * m.expected):
                        yield relation
                        break


def _roundings(exact: Relation, decimals: int | None) -> Iterator[Relation]:
    """An equation as it is, rounded like its left side, and up to half a unit in the last place of that."""
    yield exact
    if decimals is not None:
        yield replace(exact, decimals=decimals)
        yield replace(exact, tolerance=float(f"5e-{decimals + 1}"))


def _matching(
    screen: np.ndarray, halves: np.ndarray, k: int, operator: str, others: list[int]
) -> Iterator[tuple[int, int]]:
    """(partner, result) for which column k with the partner gives the result on every screened row that has them."""
    if not others:
        return
    with np.errstate(all="ignore"):
        right = _OPERATIONS[operator](screen[k], screen[others])[:, None, :]
    right = np.where(np.isfinite(right), right, np.nan)
    slack = 1e-9 * np.maximum(1.0, np.abs(right)) + halves[None, :, None]
    gap = np.abs(screen[None, :, :] - right)
    least = halves[None, :, None] + 1e-9
    trivial = (np.abs(right - screen[k]) <= least) | (np.abs(right) <= least)
    if operator != "/":
        trivial |= np.abs(right - screen[others][:, None, :]) <= least
    wrong = np.count_nonzero(gap > slack, axis=2)
    telling = np.count_nonzero((gap <= slack) & ~trivial, axis=2)
    for p, a in zip(*np.nonzero((wrong <= 1) & (telling >= _ENOUGH)), strict=True):
        if a not in (k, others[p]):
            yield int(p), int(a)


def _decimals(cells: np.ndarray) -> int | None:
    """The number of decimal places of the numbers; None where they have more than six."""
    cells = cells[~np.isnan(cells)]
    for decimals in range(7):
        scaled = cells * 10.0**decimals
        if (np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(1.0, np.abs(scaled))).all():
            return decimals
    return None
