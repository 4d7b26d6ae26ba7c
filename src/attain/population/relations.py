"""Relations between the columns of a table: how far a row is from what its other columns predict.

`relation_fitting` learns them. How far a row is off is measured in units of a relation, the quantile `SCALE` of real
people. The p-value of a row is the share of real people whose worst relation is off as far, each predicted by
regressions that they took no part in: one limit for all relations together, which a new real row exceeds with a
probability of about the rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attain.core.arrays import BoolArray, FloatArray, IndexArray, unchanged
from attain.core.text import plain
from attain.engine.typical import Relations as Engine
from attain.population import relation_fitting as fitting
from attain.population.relation_fitting import Curves
from attain.schema import Schema

HALF = 0.5
"""The least part of a change that other changes must predict, for it to follow them."""
MOST_SAID = 2
"""The most contradictions of an answer that are put into words."""
LEAST_LIMIT = 1e-6
"""The least limit: where orders are the only relations, nearly everybody is off by nothing."""


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
        The share of the variance of each that the other columns predict, (relations,).
    predictors
        How much of the prediction varies with each column, (relations, d).
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
    predictors: FloatArray
    together: BoolArray
    calibration: FloatArray

    @classmethod
    def fit(cls, schema: Schema, values: FloatArray) -> Relations:
        """The relations of real rows (n, d), whatever their order; none where there are too few."""
        d, known = len(schema), fitting.rows_to_fit_on(values)
        curves = Curves.of(schema.features, known)
        found = fitting.fitted_relations(schema, curves, known)
        weights = np.array([one.weights for one in found]).reshape(len(found), int(curves.first_term[-1])).T
        columns, states = (np.array([one.target[place] for one in found], dtype=np.intp) for place in range(2))
        scales = np.array([one.scale for one in found])
        engine = Engine(curves, weights, (columns, states), [one.constant for one in found], scales)
        owner, terms = np.repeat(np.arange(d), np.diff(curves.first_term)), curves.terms(known)
        varying = [np.var(terms[:, owner == k] @ weights[owner == k], axis=0) for k in range(d if found else 0)]
        predictors = np.column_stack(varying) if found else np.zeros((0, d))
        predictors[states <= fitting.ORDER, fitting.ORDER - states[states <= fitting.ORDER]] = 1.0
        explained = np.array([one.explained for one in found])
        farthest = np.sort(np.max([one.off for one in found], axis=0, initial=0.0)) if found else np.empty(0)
        together = fitting.columns_together(curves, known)
        return cls(schema, curves, engine, columns, states, scales, explained, predictors, together, farthest)

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
        """Which changes (n, d) are made only to keep a relation, and follow other changes.

        Taken back alone, such a change breaks a relation about its column, and the changes that follow nothing predict
        at least half of it. Columns that are predicted best follow first, of equal ones the later.
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
            moved, predicted = self.engine.offs(alone)[:, r] - off, off - self.engine.offs(led)[:, r]
            due = (
                leading.any(axis=1)
                if self.states[r] != fitting.NUMBER
                else (moved * predicted > 0) & (np.abs(predicted) >= HALF * np.abs(moved))
            )
            result[at[~kept & due], j] = True
        return result

    def contradictions(self, rows: FloatArray, own: FloatArray, rate: float) -> list[str]:
        """What contradicts itself in each row, in words, the worst first; empty where nothing does."""
        broken, offs = self.broken(rows, own, rate), self.offs(rows, own)
        texts = [""] * len(rows)
        for i in np.flatnonzero(broken.any(axis=1)):
            worst = [int(r) for r in np.argsort(-offs[i], kind="stable") if broken[i, r]]
            said = [f"{self.title(r)} does not go with {self.predictor_titles(r)}" for r in worst[:MOST_SAID]]
            more = len(worst) - len(said)
            texts[i] = "; ".join(said) + (f"; and {more} more" if more else "")
        return texts

    def title(self, r: int) -> str:
        """The column that a relation is about, in words."""
        return plain(self.schema.features[self.columns[r]].title)

    def predictor_titles(self, r: int, most: int = 2) -> str:
        """The columns that a relation is predicted from most, in words."""
        chosen = [k for k in np.argsort(-self.predictors[r], kind="stable")[:most] if self.predictors[r, k] > 0]
        return " and ".join(plain(self.schema.features[k].title) for k in chosen)

    def sentences(self) -> list[str]:
        """Each relation in words, those that are predicted best first."""
        order, texts = np.argsort(-self.explained, kind="stable"), []
        for r in order.tolist():
            state = int(self.states[r])
            if state <= fitting.ORDER:
                title, other = self.title(r), plain(self.schema.features[fitting.ORDER - state].title)
                texts.append(f"{title}: at most {other}, of {100 * self.explained[r]:.0f} % of people")
                continue
            about = f"{self.title(r)}{self._state(state)}: predicted from {self.predictor_titles(r)}"
            within = f"{100 * fitting.SCALE:.0f} % of people are within {100 * self.scales[r]:.2g} percentile points"
            texts.append(f"{about}; {within if state == fitting.NUMBER else f'{100 * self.explained[r]:.0f} % of it'}")
        return texts

    def _state(self, state: int) -> str:
        if state in (fitting.NUMBER, fitting.ANY_NUMBER):
            return "" if state == fitting.NUMBER else " (being a number)"
        code = float(self.curves.codes[state])
        j = int(np.searchsorted(self.curves.first_code, state, side="right")) - 1
        levels = self.schema.features[j].levels
        return " (missing)" if np.isnan(code) else f" ({plain(levels[int(code)])})" if levels else f" ({code:g})"

    def __repr__(self) -> str:
        return "\n".join(self.sentences()) or "No column can be predicted from the others."
