"""Learns relations: how well the other columns of real rows predict each column.

A target is the rank of an ordered column, or a state: a level, a special code, being missing, being a number. It is
predicted by a sum of curves, one for each other column: straight from knot to knot over its numbers, and a constant for
each of its states. The curves are fitted by ridge regression on real rows of every class, and kept where they explain
`LEAST_EXPLAINED` of the variance of rows that they were not fitted on. An order between two numbers that nearly
everybody keeps, and many at its very edge, is a relation, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.schema import Feature, Schema
from attain.schema.feature import ordinary

QUANTILES = (0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0)
"""Where the knots of a column lie, unless it has few different values."""
MOST_CELLS, LEAST_FITTED, MOST_FITTED = 300_000, 1_500, 6_000
"""The most cells that are fitted on, but at least and at most these numbers of rows."""
MOST_STATES = 24
"""The most states of a column that predict something; the most common ones."""
MOST_PREDICTORS = 32
"""The most columns that predict one, where there are more: those that predict it best alone."""
LEAST_ROWS = 100
"""The least rows that relations are looked for in."""
LEAST_STATE = 0.01
"""The least share of people in a state that is a target, and of those who are not."""
LEAST_EXPLAINED = 0.75
"""The least share of the variance that makes a relation."""
RIDGE, STRAIGHT = 1.0, 0.01
"""How much curves are drawn to straight lines in ranks, and these to nothing."""
FOLDS, MANY, LEAST_FOLD = 5, 2_000, 10
"""Parts of the rows, each predicted from the others; with how many rows two are enough; the least rows of a part."""
SCALE = 0.98
"""The quantile of how far people are off that is the unit of a relation."""
LEAST_SCALE = 0.005
"""The least unit, in ranks: exact relations are true up to rounding."""
TOGETHER = 0.7
"""The least correlation of ranks with which columns go back to the person together."""
RATE = 0.18
"""The share of real people that may be refused, where a method has no rate of its own."""
NEARLY, RARER = (0.9, 0.997), 2.0
"""The shares of people between which nearly all keep an order; by how much more often chance would break it."""
EDGE, MOST_EQUAL = 0.02, 0.5
"""The least share of people at the edge of an order, and the most: where more are, the two predict each other."""
NUMBER, ANY_NUMBER, ORDER = -1, -2, -3
"""States for the engine: a rank, being any number, and an order, which counts down from here by its other column."""
_BROKEN = 10.0
"""How far off a row is at least that breaks an order: more than any limit."""


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


class RelationTarget(NamedTuple):
    """What a relation predicts: a column, its state as the engine numbers it, its values and in which rows, (n,)."""

    column: int
    state: int
    values: FloatArray
    where: BoolArray


class Fitted(NamedTuple):
    """A relation that was found.

    Attributes
    ----------
    explained
        The share of the variance that other columns predict.
    constant, weights, scale
        The prediction, from terms (terms,), and the unit.
    off
        How far off rows are, (n,), predicted by regressions that they took no part in.
    """

    target: RelationTarget
    explained: float
    constant: float
    weights: FloatArray
    scale: float
    off: FloatArray


def _first(parts: Sequence[FloatArray]) -> IndexArray:
    return np.cumsum([0, *map(len, parts)]).astype(np.intp)


def _is_state(cells: FloatArray, code: float) -> BoolArray:
    return np.isnan(cells) if np.isnan(code) else cells == code


def in_order(values: FloatArray) -> FloatArray:
    """The rows in an order that follows from their content."""
    return values[np.lexsort(np.where(np.isnan(values), np.inf, values).T[::-1])] if len(values) else values


def rows_to_fit_on(values: FloatArray) -> FloatArray:
    """Some of the rows, whatever their order; none where there are too few rows or columns."""
    d = values.shape[1]
    most = min(max(MOST_CELLS // max(d, 1), LEAST_FITTED), MOST_FITTED)
    known = in_order(values)[np.random.default_rng(0).permutation(len(values))[:most]]
    return known if len(known) >= LEAST_ROWS and d > 1 else known[:0]


def _targets(schema: Schema, curves: Curves, values: FloatArray) -> list[RelationTarget]:
    """What relations may be about: the rank of each ordered column, and each state that is neither rare nor certain."""
    targets, everybody = [], np.ones(len(values), dtype=bool)
    for j, feature in enumerate(schema):
        ranks = curves.ranks_of(j, values[:, j])
        number = ~np.isnan(ranks)
        if feature.ordered and number.sum() >= LEAST_ROWS // 2 and np.ptp(ranks[number]) > 0:
            targets.append(RelationTarget(j, NUMBER, np.where(number, ranks, 0.0), number))
        codes = range(curves.first_code[j], curves.first_code[j + 1])
        states = [(ANY_NUMBER, number)] if feature.ordered and len(codes) else []
        states += [(k, _is_state(values[:, j], float(curves.codes[k]))) for k in codes]
        targets += [
            RelationTarget(j, state, inside.astype(np.float64), everybody)
            for state, inside in states
            if LEAST_STATE <= inside.mean() <= 1 - LEAST_STATE
        ]
    return targets


def fitted_relations(schema: Schema, curves: Curves, values: FloatArray) -> list[Fitted]:
    """The relations of rows (n, d): predictions that are good enough, and orders."""
    if not len(values):
        return []
    with threadpool_limits(1):  # sums in one order, on any number of cores
        return [*_predictions(schema, curves, values), *_orders(schema, curves, values)]


def _predictions(schema: Schema, curves: Curves, values: FloatArray) -> list[Fitted]:
    """The targets that the other columns predict well enough."""
    d, terms = len(schema), curves.terms(values)
    ranks = np.nan_to_num(np.column_stack([curves.ranks_of(j, values[:, j]) for j in range(d)]))
    # a straight line in ranks, and what departs from it
    design, owner = np.column_stack((ranks, terms)), np.r_[:d, np.repeat(np.arange(d), np.diff(curves.first_term))]
    ridge, folds = np.repeat((STRAIGHT, RIDGE), (d, terms.shape[1])), FOLDS if len(values) < MANY else 2
    centred, found, moments = design - design.mean(axis=0), [], _Moments(design[:0], np.zeros(0, dtype=bool), 1)
    size = (centred**2).sum(axis=0) + ridge
    for target in _targets(schema, curves, values):
        columns = np.flatnonzero(np.arange(d) != target.column)
        if d > MOST_PREDICTORS + 1:
            alone = ((target.values - target.values.mean()) * target.where @ centred) ** 2 / size
            strength = np.array([alone[owner == k].max() for k in columns])
            columns = columns[np.sort(np.argsort(-strength, kind="stable")[:MOST_PREDICTORS])]
        used = np.isin(owner, columns)
        if d > MOST_PREDICTORS + 1 or not np.array_equal(target.where, moments.where):
            shared = used if d > MOST_PREDICTORS + 1 else np.ones(len(owner), dtype=bool)
            moments = _Moments(design[:, shared], target.where, folds)
            within = np.flatnonzero(shared)
        explained, off, constant, part = _cross_validated(moments, used[within], ridge[within], target)
        if explained >= LEAST_EXPLAINED:
            weights = np.zeros(len(owner))
            weights[within] = part
            least = LEAST_SCALE if target.state == NUMBER else 10 * LEAST_SCALE
            mine = target.where if target.state == NUMBER else target.values == 1
            scale = round(max(float(np.quantile(np.abs(off[mine]), SCALE)), least), 9)
            bent = np.round(curves.bent(weights[:d], weights[d:]), 9)  # last bits must not decide
            off = np.where(mine, np.abs(off) if target.state == NUMBER else np.maximum(off, 0.0), 0.0)
            found.append(Fitted(target, explained, round(constant, 9), bent, scale, off / scale))
    return found


def _orders(schema: Schema, curves: Curves, values: FloatArray) -> list[Fitted]:
    """Orders between two numbers that nearly everybody keeps, as long as few people break any of them."""
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
            target = RelationTarget(a, ORDER - b, np.zeros(0), both)
            found.append(
                Fitted(target, float((apart <= 0).mean()), 0.0, np.zeros(int(curves.first_term[-1])), scale, off)
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
        self, target: FloatArray, used: BoolArray, ridge: FloatArray, without: int | None
    ) -> tuple[float, FloatArray]:
        """The constant and the weights of the used terms, by ridge regression on all rows but those of a fold."""
        kept = np.arange(len(self.rows)) != (-1 if without is None else without)
        n, at = max(int(self.rows[kept].sum()), 1), np.flatnonzero(used)
        chosen = self.where if without is None else self.where & (self.fold != without)
        middle, level = self.sums[kept].sum(axis=0)[at] / n, float(target[chosen].sum()) / n
        square = sum(products[np.ix_(at, at)] for products in self.products[kept]) - n * np.outer(middle, middle)
        square[np.diag_indices_from(square)] += ridge[at]
        result = np.zeros(len(used))
        result[at] = np.linalg.solve(square, np.where(chosen, target - level, 0.0) @ self.terms[:, at])
        return level - float(middle @ result[at]), result


def _cross_validated(
    moments: _Moments, used: BoolArray, ridge: FloatArray, target: RelationTarget
) -> tuple[float, FloatArray, float, FloatArray]:
    """The share of a target's variance that is predicted, how far rows are off, (n,), and the constant and weights.

    The first two are by regressions in which a row's fold took no part.
    """
    off = np.zeros(len(target.values))
    if moments.rows.min() < LEAST_FOLD:
        return 0.0, off, 0.0, off
    for fold in range(len(moments.rows)):
        constant, weights = moments.weights(target.values, used, ridge, fold)
        here = moments.fold == fold
        off[here] = target.values[here] - constant - moments.terms[here] @ weights
    explained = 1 - float(np.mean(off[target.where] ** 2)) / max(float(np.var(target.values[target.where])), 1e-12)
    constant, weights = moments.weights(target.values, used, ridge, None)
    return explained, off, constant, weights


def columns_together(curves: Curves, values: FloatArray) -> BoolArray:
    """Which columns have ranks that are correlated."""
    d = values.shape[1]
    ranks = np.column_stack([curves.ranks_of(j, values[:, j]) for j in range(d)])
    known = ~np.isnan(ranks)
    middle = np.where(known, ranks, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    ranks = np.where(known, ranks - middle, 0.0)
    size = np.sqrt((ranks**2).sum(axis=0))
    product = (ranks.T @ ranks) / np.maximum(np.outer(size, size), 1e-12)
    return np.asarray((np.abs(product) >= TOGETHER) & ~np.eye(d, dtype=bool))
