"""Relations: what the columns of a table tell of each other, and how far real people are off.

A relation is about the rank of an ordered column, or about a state: a level, a special code, being missing, being a
number. What the other columns tell of it is a sum of curves, one for each of them: straight from knot to knot over its
numbers, and a constant for each of its states. It is fitted by ridge regression on real rows of every class, and kept
where it tells `TOLD` of the variance of rows that it was not fitted on. An order between two numbers that nearly
everybody keeps, and many at its very edge, is a relation, too: where it is broken, a row is off more than any limit.

How far a row is off is measured in units of a relation, the quantile `SCALE` of real people. The p-value of a row is
the share of real people whose worst relation is off as far, told by regressions that they took no part in: one limit
for all relations together, which a new real row exceeds with a probability of about the rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from attain.core.arrays import BoolArray, FloatArray, IndexArray, unchanged
from attain.core.text import plain
from attain.engine.typical import Relations as Engine
from attain.schema import Feature, Schema
from attain.schema.feature import ordinary

QUANTILES = (0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0)
"""Where the knots of a column lie, unless it has few different values."""
MOST_CELLS, LEAST_FITTED, MOST_FITTED = 300_000, 1_500, 6_000
"""Rows are fitted on while their cells are at most so many, but at least and at most so many rows."""
MOST_STATES = 24
"""The most states of a column that tell something; the most common ones."""
MOST_TELLING = 32
"""The most columns that tell one, where there are more: those that tell most by themselves."""
LEAST_ROWS = 100
"""The least rows that relations are looked for in."""
LEAST_STATE = 0.01
"""The least share of people in a state, and of those who are not, that is told."""
TOLD = 0.75
"""The least share of the variance that makes a relation."""
RIDGE, STRAIGHT = 1.0, 0.01
"""How much curves are drawn to straight lines in ranks, and these to nothing."""
FOLDS, MANY, LEAST_FOLD = 5, 2_000, 10
"""Parts of the rows that are told by the others; two from so many rows on; the least rows of a part."""
SCALE = 0.98
"""The quantile of how far people are off that is the unit of a relation."""
LEAST_SCALE = 0.005
"""The least unit, in ranks: exact relations are true up to rounding."""
TOGETHER = 0.7
"""The least correlation of ranks with which columns go back to the person together."""
RATE = 0.18
"""The share of real people that may be refused, where a method has no rate of its own."""
HALF = 0.5
"""The least part of a change that other changes must tell, for it to follow them."""
MOST_SAID = 2
"""The most contradictions of an answer that are put into words."""
NEARLY, RARER = (0.9, 0.997), 2.0
"""The shares of people between which nearly all keep an order; by chance so many times as many would break it."""
LEAST_LIMIT = 1e-6
"""The least limit: where orders are the only relations, nearly everybody is off by nothing."""
EDGE, MOST_EQUAL = 0.02, 0.5
"""The least share of people at the edge of an order, and the most: where more are, the two tell each other."""
_NUMBER, _ANY_NUMBER, _ORDER, _BROKEN = -1, -2, -3, 10.0


class Curves(NamedTuple):
    """The knots, ranks and states of every column, and where those of each begin, (d + 1,)."""

    first_knot: IndexArray
    knots: FloatArray
    ranks: FloatArray
    first_code: IndexArray
    codes: FloatArray

    @classmethod
    def of(cls, features: Sequence[Feature], values: FloatArray) -> Curves:
        """The curves of training rows."""
        knots, ranks, codes = [], [], []
        for feature, cells in zip(features, values.T, strict=True):
            known = ordinary(feature, cells) if feature.ordered else np.zeros(len(cells), dtype=bool)
            points = np.unique(cells[known])
            if len(points) > len(QUANTILES) + 3:
                points = np.unique(np.quantile(cells[known], QUANTILES, method="nearest"))
            below, upto = (np.searchsorted(np.sort(cells[known]), points, side) for side in ("left", "right"))
            knots.append(points)
            ranks.append((below + upto) / max(2 * int(known.sum()), 1))
            states, counts = np.unique(cells[~known], return_counts=True)
            common = np.sort(np.argsort(-counts, kind="stable")[:MOST_STATES])
            codes.append(states[common])
        return cls(_first(knots), np.concatenate(knots), np.concatenate(ranks), _first(codes), np.concatenate(codes))

    @property
    def first_term(self) -> IndexArray:
        """Where the terms of each column begin: those of its knots, then those of its states."""
        return self.first_knot + self.first_code

    def terms(self, values: FloatArray) -> FloatArray:
        """How much of each term a row has, (n, terms)."""
        result = np.zeros((len(values), int(self.first_term[-1])))
        for j, cells in enumerate(values.T):
            at, number = self.first_term[j], ~np.isnan(cells)
            knots = self.knots[self.first_knot[j] : self.first_knot[j + 1]]
            for k in range(self.first_code[j], self.first_code[j + 1]):
                same = _is_state(cells, self.codes[k])
                result[same, at + len(knots) + k - self.first_code[j]] = 1.0
                number &= ~same
            for k in range(len(knots)):
                result[number, at + k] = np.interp(cells[number], knots, np.arange(len(knots)) == k)
        return result

    def bent(self, straight: FloatArray, weights: FloatArray) -> FloatArray:
        """The weights of terms, with those of ranks (d,) added: a rank goes straight from knot to knot, too."""
        result = weights.copy()
        for j, slope in enumerate(straight):
            at, knots = self.first_term[j], slice(self.first_knot[j], self.first_knot[j + 1])
            result[at : at + knots.stop - knots.start] += slope * self.ranks[knots]
        return result

    def ranks_of(self, j: int, cells: FloatArray) -> FloatArray:
        """The ranks of the numbers of a column, (n,); NaN for states."""
        at = slice(self.first_knot[j], self.first_knot[j + 1])
        if at.start == at.stop:
            return np.full(len(cells), np.nan)
        codes = self.codes[self.first_code[j] : self.first_code[j + 1]]
        number = ~(np.isin(cells, codes) | np.isnan(cells))
        return np.where(number, np.interp(cells, self.knots[at], self.ranks[at]), np.nan)


class Subject(NamedTuple):
    """What a relation is about: a column and its state as the engine numbers them; what is told, and of whom, (n,)."""

    column: int
    state: int
    told: FloatArray
    where: BoolArray


class Fitted(NamedTuple):
    """A relation that was found: the share of variance told, its constant, weights (terms,) and unit.

    Last how far off rows are, (n,), told by regressions that they took no part in.
    """

    subject: Subject
    explained: float
    constant: float
    weights: FloatArray
    scale: float
    off: FloatArray


@dataclass(frozen=True, eq=False)
class Relations:
    """The relations of a table.

    Attributes
    ----------
    schema
        What the columns are.
    curves, engine
        The knots and states of the columns, and the relations themselves.
    columns, states, scales
        The column that each is about, its state as the engine numbers it, and its unit, (relations,).
    explained
        The share of the variance of each that the other columns tell, (relations,).
    telling
        How much of what is told varies with each column, (relations, d).
    together
        Which columns go with which, (d, d).
    calibration
        How far real people are off by the relation that they are farthest off in, sorted.
    """

    schema: Schema
    curves: Curves
    engine: Engine
    columns: IndexArray
    states: IndexArray
    scales: FloatArray
    explained: FloatArray
    telling: FloatArray
    together: BoolArray
    calibration: FloatArray

    @classmethod
    def fit(cls, schema: Schema, values: FloatArray) -> Relations:
        """The relations of real rows (n, d), whatever their order; none where there are too few."""
        d, most = len(schema), min(max(MOST_CELLS // max(len(schema), 1), LEAST_FITTED), MOST_FITTED)
        known = in_order(values)[np.random.default_rng(0).permutation(len(values))[:most]]
        known = known if len(known) >= LEAST_ROWS and d > 1 else known[:0]
        curves = Curves.of(schema.features, known)
        with threadpool_limits(1):  # sums in one order, on any number of cores
            found = [*_fitted(schema, curves, known), *_orders(schema, curves, known)] if len(known) else []
        weights = np.array([one.weights for one in found]).reshape(len(found), int(curves.first_term[-1])).T
        columns, states = (np.array([one.subject[place] for one in found], dtype=np.intp) for place in range(2))
        scales = np.array([one.scale for one in found])
        engine = Engine(curves, weights, (columns, states), [one.constant for one in found], scales)
        owner, terms = np.repeat(np.arange(d), np.diff(curves.first_term)), curves.terms(known)
        varying = [np.var(terms[:, owner == k] @ weights[owner == k], axis=0) for k in range(d if found else 0)]
        telling = np.column_stack(varying) if found else np.zeros((0, d))
        telling[states <= _ORDER, _ORDER - states[states <= _ORDER]] = 1.0
        explained = np.array([one.explained for one in found])
        farthest = np.sort(np.max([one.off for one in found], axis=0, initial=0.0)) if found else np.empty(0)
        together = _together(curves, known)
        return cls(schema, curves, engine, columns, states, scales, explained, telling, together, farthest)

    def __len__(self) -> int:
        return int(self.engine.number)

    def offs(self, rows: FloatArray, own: FloatArray | None = None) -> FloatArray:
        """How far each row is off, by relation, (n, relations); 0 where its person is as far off, on the same side."""
        off: FloatArray = self.engine.offs(np.ascontiguousarray(rows))
        if own is not None:
            before = self.engine.offs(np.ascontiguousarray(own))
            off = np.where((off * before > 0) & (np.abs(off) <= np.abs(before) + 1e-9), 0.0, off)
        return np.abs(off)

    def farthest(self, rows: FloatArray, own: FloatArray | None = None) -> FloatArray:
        """How far each row is off by the relation that it is farthest off in, (n,)."""
        return np.asarray(self.offs(rows, own).max(axis=1, initial=0.0))

    def p_value(self, rows: FloatArray, own: FloatArray | None = None) -> FloatArray:
        """The share of real people who are off as far, the row itself counted among them, (n,)."""
        if not len(self):
            return np.ones(len(rows))
        below = np.searchsorted(self.calibration, self.farthest(rows, own) - 1e-9, side="left")
        return np.asarray((1 + len(self.calibration) - below) / (len(self.calibration) + 1))

    def limit(self, rate: float) -> float:
        """How far off a row may be whose p-value is above a rate."""
        place = int(np.floor(rate * (len(self.calibration) + 1) + 1e-9))
        if not place or not len(self):
            return np.inf
        return max(float(self.calibration[-min(place, len(self.calibration))]), LEAST_LIMIT)

    def broken(self, rows: FloatArray, own: FloatArray, rate: float) -> BoolArray:
        """Which relations (n, relations) rows break that their people keep, or break by less."""
        return np.asarray(self.offs(rows, own) > self.limit(rate) + 1e-9)

    def follows(self, rows: FloatArray, own: FloatArray, rate: float) -> BoolArray:
        """Which changes (n, d) are there to keep a relation: others are due to something else, and tell them.

        Taken back alone, such a change breaks a relation about its column, and of the way it goes, the changes that
        follow nothing tell half at least. Columns that are told best follow first, of equal ones the later.
        """
        changed, limit, result = ~unchanged(own, rows), self.limit(rate), np.zeros(rows.shape, dtype=bool)
        for r in np.lexsort((-self.columns, -np.round(self.explained, 2))):
            j = self.columns[r]
            at = np.flatnonzero(changed[:, j] & ~result[:, j])
            before, after = own[at], rows[at]
            alone, undone = before.copy(), after.copy()
            alone[:, j], undone[:, j] = after[:, j], before[:, j]
            kept = self.offs(undone, before)[:, r] <= limit
            leading = changed[at] & ~result[at]
            leading[:, j] = False
            led = np.where(leading, after, before)
            off = self.engine.offs(before)[:, r]
            moved, told = self.engine.offs(alone)[:, r] - off, off - self.engine.offs(led)[:, r]
            due = (
                leading.any(axis=1)
                if self.states[r] != _NUMBER
                else (moved * told > 0) & (np.abs(told) >= HALF * np.abs(moved))
            )
            result[at[~kept & due], j] = True
        return result

    def contradictions(self, rows: FloatArray, own: FloatArray, rate: float) -> list[str]:
        """What contradicts itself in each row, in words, the worst first; empty where nothing does."""
        broken, offs = self.broken(rows, own, rate), self.offs(rows, own)
        texts = [""] * len(rows)
        for i in np.flatnonzero(broken.any(axis=1)):
            worst = [int(r) for r in np.argsort(-offs[i], kind="stable") if broken[i, r]]
            said = [f"{self.title(r)} does not go with {self.tellers(r)}" for r in worst[:MOST_SAID]]
            more = len(worst) - len(said)
            texts[i] = "; ".join(said) + (f"; and {more} more" if more else "")
        return texts

    def title(self, r: int) -> str:
        """The column that a relation is about, in words."""
        return plain(self.schema.features[self.columns[r]].title)

    def tellers(self, r: int, most: int = 2) -> str:
        """The columns that tell most of it, in words."""
        chosen = [k for k in np.argsort(-self.telling[r], kind="stable")[:most] if self.telling[r, k] > 0]
        return " and ".join(plain(self.schema.features[k].title) for k in chosen)

    def sentences(self) -> list[str]:
        """Each relation in words, those that are told best first."""
        order, texts = np.argsort(-self.explained, kind="stable"), []
        for r in order.tolist():
            state = int(self.states[r])
            if state <= _ORDER:
                title, other = self.title(r), plain(self.schema.features[_ORDER - state].title)
                texts.append(f"{title}: at most {other}, of {100 * self.explained[r]:.0f} % of people")
                continue
            about = f"{self.title(r)}{self._state(state)}: told by {self.tellers(r)}"
            within = f"{100 * SCALE:.0f} % of people are within {100 * self.scales[r]:.2g} percentile points"
            texts.append(f"{about}; {within if state == _NUMBER else f'{100 * self.explained[r]:.0f} % of it'}")
        return texts

    def _state(self, state: int) -> str:
        if state in (_NUMBER, _ANY_NUMBER):
            return "" if state == _NUMBER else " (being a number)"
        code = float(self.curves.codes[state])
        j = int(np.searchsorted(self.curves.first_code, state, side="right")) - 1
        levels = self.schema.features[j].levels
        return " (missing)" if np.isnan(code) else f" ({plain(levels[int(code)])})" if levels else f" ({code:g})"

    def __repr__(self) -> str:
        return "\n".join(self.sentences()) or "No column is told by the others."


def _first(parts: Sequence[FloatArray]) -> IndexArray:
    return np.cumsum([0, *map(len, parts)]).astype(np.intp)


def _is_state(cells: FloatArray, code: float) -> BoolArray:
    return np.isnan(cells) if np.isnan(code) else cells == code


def in_order(values: FloatArray) -> FloatArray:
    """The rows in an order that follows from their content."""
    return values[np.lexsort(np.where(np.isnan(values), np.inf, values).T[::-1])] if len(values) else values


def _subjects(schema: Schema, curves: Curves, values: FloatArray) -> list[Subject]:
    """What relations may be about: the rank of each ordered column, and each state that is neither rare nor certain."""
    subjects, everybody = [], np.ones(len(values), dtype=bool)
    for j, feature in enumerate(schema):
        ranks = curves.ranks_of(j, values[:, j])
        number = ~np.isnan(ranks)
        if feature.ordered and number.sum() >= LEAST_ROWS // 2 and np.ptp(ranks[number]) > 0:
            subjects.append(Subject(j, _NUMBER, np.where(number, ranks, 0.0), number))
        codes = range(curves.first_code[j], curves.first_code[j + 1])
        states = [(_ANY_NUMBER, number)] if feature.ordered and len(codes) else []
        states += [(k, _is_state(values[:, j], float(curves.codes[k]))) for k in codes]
        subjects += [
            Subject(j, state, inside.astype(np.float64), everybody)
            for state, inside in states
            if LEAST_STATE <= inside.mean() <= 1 - LEAST_STATE
        ]
    return subjects


def _fitted(schema: Schema, curves: Curves, values: FloatArray) -> list[Fitted]:
    """The relations that tell enough."""
    d, terms = len(schema), curves.terms(values)
    ranks = np.nan_to_num(np.column_stack([curves.ranks_of(j, values[:, j]) for j in range(d)]))
    # a straight line in ranks, and what departs from it
    design, owner = np.column_stack((ranks, terms)), np.r_[:d, np.repeat(np.arange(d), np.diff(curves.first_term))]
    ridge, folds = np.repeat((STRAIGHT, RIDGE), (d, terms.shape[1])), FOLDS if len(values) < MANY else 2
    centred, found, moments = design - design.mean(axis=0), [], _Moments(design[:0], np.zeros(0, dtype=bool), 1)
    size = (centred**2).sum(axis=0) + ridge
    for subject in _subjects(schema, curves, values):
        columns = np.flatnonzero(np.arange(d) != subject.column)
        if d > MOST_TELLING + 1:
            alone = ((subject.told - subject.told.mean()) * subject.where @ centred) ** 2 / size
            strength = np.array([alone[owner == k].max() for k in columns])
            columns = columns[np.sort(np.argsort(-strength, kind="stable")[:MOST_TELLING])]
        used = np.isin(owner, columns)
        if d > MOST_TELLING + 1 or not np.array_equal(subject.where, moments.where):
            shared = used if d > MOST_TELLING + 1 else np.ones(len(owner), dtype=bool)
            moments = _Moments(design[:, shared], subject.where, folds)
            within = np.flatnonzero(shared)
        explained, off, constant, part = _told(moments, used[within], ridge[within], subject)
        if explained >= TOLD:
            weights = np.zeros(len(owner))
            weights[within] = part
            least = LEAST_SCALE if subject.state == _NUMBER else 10 * LEAST_SCALE
            mine = subject.where if subject.state == _NUMBER else subject.told == 1
            scale = round(max(float(np.quantile(np.abs(off[mine]), SCALE)), least), 9)
            bent = np.round(curves.bent(weights[:d], weights[d:]), 9)  # last bits must not decide
            off = np.where(mine, np.abs(off) if subject.state == _NUMBER else np.maximum(off, 0.0), 0.0)
            found.append(Fitted(subject, explained, round(constant, 9), bent, scale, off / scale))
    return found


def _orders(schema: Schema, curves: Curves, values: FloatArray) -> list[Fitted]:
    """Orders that nearly everybody keeps, as far as all of them together are broken by few."""
    d, halves = len(schema), np.arange(len(values)) % 2
    number = np.column_stack([~np.isnan(curves.ranks_of(j, values[:, j])) for j in range(d)])
    found, ordered = [], [np.sort(values[number[:, j], j]) for j in range(d)]
    for a, b in permutations([j for j, feature in enumerate(schema) if feature.numeric and feature.ordered], 2):
        both = number[:, a] & number[:, b]
        apart = values[both, a] - values[both, b]
        if len(apart) < LEAST_ROWS or not NEARLY[0] <= (apart <= 0).mean() < NEARLY[1]:
            continue
        # of a being above b, were they independent
        chance = np.searchsorted(ordered[b], ordered[a], side="left").mean() / len(ordered[b])
        broken = [(apart[halves[both] == half] > 0).mean() for half in range(2)]
        edge = [(apart[halves[both] == half] == 0).mean() for half in range(2)]
        if EDGE <= min(edge) <= MOST_EQUAL and max(broken) * RARER <= chance:
            scale = max(float(np.quantile(np.abs(apart), SCALE)), 1e-9)
            off = np.zeros(len(values))
            off[both] = np.where(apart > 0, _BROKEN + apart / scale, 0.0)
            subject = Subject(a, _ORDER - b, np.zeros(0), both)
            found.append(
                Fitted(subject, float((apart <= 0).mean()), 0.0, np.zeros(int(curves.first_term[-1])), scale, off)
            )
    # those that most people keep, while all together leave most of the rate to other relations
    kept, off = [], np.zeros(len(values))
    for one in sorted(found, key=lambda one: -one.explained):
        if (np.maximum(off, one.off) > 0).mean() <= RATE / 2:
            kept.append(one)
            off = np.maximum(off, one.off)
    return kept


class _Moments:
    """Sums over rows from which regressions are made, by fold: of the terms, and of their products."""

    def __init__(self, terms: FloatArray, where: BoolArray, folds: int) -> None:
        self.terms, self.where = terms, where
        self.fold = np.where(where, np.arange(len(terms)) % folds, -1)
        parts = [terms[self.fold == f] for f in range(folds)]
        self.rows = np.array([len(part) for part in parts])
        self.sums = np.array([part.sum(axis=0) for part in parts])
        self.products = np.array([part.T @ part for part in parts])

    def weights(
        self, told: FloatArray, used: BoolArray, ridge: FloatArray, without: int | None
    ) -> tuple[float, FloatArray]:
        """The constant and the weights of the used terms, by ridge regression on all rows but those of a fold."""
        kept = np.arange(len(self.rows)) != (-1 if without is None else without)
        n, at = max(int(self.rows[kept].sum()), 1), np.flatnonzero(used)
        chosen = self.where if without is None else self.where & (self.fold != without)
        middle, level = self.sums[kept].sum(axis=0)[at] / n, float(told[chosen].sum()) / n
        square = sum(products[np.ix_(at, at)] for products in self.products[kept]) - n * np.outer(middle, middle)
        square[np.diag_indices_from(square)] += ridge[at]
        result = np.zeros(len(used))
        result[at] = np.linalg.solve(square, np.where(chosen, told - level, 0.0) @ self.terms[:, at])
        return level - float(middle @ result[at]), result


def _told(
    moments: _Moments, used: BoolArray, ridge: FloatArray, subject: Subject
) -> tuple[float, FloatArray, float, FloatArray]:
    """How well a subject is told, how far rows are off, (n,), and the constant and weights of what tells it.

    The first two by regressions in which a row's fold took no part.
    """
    told, off = subject.told[subject.where], np.zeros(len(subject.told))
    if moments.rows.min() < LEAST_FOLD:
        return 0.0, off, 0.0, off
    for fold in range(len(moments.rows)):
        constant, weights = moments.weights(subject.told, used, ridge, fold)
        here = moments.fold == fold
        off[here] = subject.told[here] - constant - moments.terms[here] @ weights
    explained = 1 - float(np.mean(off[subject.where] ** 2)) / max(float(np.var(told)), 1e-12)
    constant, weights = moments.weights(subject.told, used, ridge, None)
    return explained, off, constant, weights


def _together(curves: Curves, values: FloatArray) -> BoolArray:
    """Which columns have ranks that are correlated."""
    d = values.shape[1]
    ranks = np.column_stack([curves.ranks_of(j, values[:, j]) for j in range(d)])
    known = ~np.isnan(ranks)
    middle = np.where(known, ranks, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    ranks = np.where(known, ranks - middle, 0.0)
    size = np.sqrt((ranks**2).sum(axis=0))
    product = (ranks.T @ ranks) / np.maximum(np.outer(size, size), 1e-12)
    return np.asarray((np.abs(product) >= TOGETHER) & ~np.eye(d, dtype=bool))
