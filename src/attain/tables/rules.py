"""The schema's rules over rows of the matrix: which rows keep them, and how a row that breaks one is mended."""

from __future__ import annotations

import numpy as np

from attain.schema.expressions import Clause, Comparison, Expression
from attain.schema.schema import Rule, Schema
from attain.tables.cells import unchanged


class RuleBook:
    """The rules between features and the derived columns of one schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._rules = schema.parsed_rules

    def kept(self, rows: np.ndarray) -> np.ndarray:
        """Which rule (column) holds in which row."""
        result = np.ones((len(rows), len(self._rules)), dtype=bool)
        columns = self._columns(rows)
        for k, rule in enumerate(self._rules):
            condition, _ = self._state(rule.condition, columns, rows) if rule.condition else (True, True)
            _, unbroken = self._state(rule.consequence, columns, rows)
            result[:, k] = ~condition | unbroken if rule.condition else unbroken
        return result

    def _columns(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return {name: rows[:, j] for j, name in enumerate(self._schema.names)}

    def _state(self, clause: Clause, columns: dict[str, np.ndarray], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """In which rows the clause surely holds, and in which it is not surely broken."""
        holds = np.ones(len(rows), dtype=bool)
        unbroken = np.ones(len(rows), dtype=bool)
        for comparison in clause.comparisons:
            known = self._known(comparison, rows)
            value = comparison(columns)
            holds &= known & value
            unbroken &= ~known | value
        return holds, unbroken

    def _known(self, comparison: Comparison, rows: np.ndarray) -> np.ndarray:
        """Where every number compared is there, and is a number."""
        known = np.ones(len(rows), dtype=bool)
        for name in comparison.names:
            cells = rows[:, self._schema.position(name)]
            known &= ~np.isnan(cells)
            special = self._schema[name].special
            if special and not comparison.asks_for_a_state:
                known &= ~np.isin(cells, list(special))
        return known

    def derive(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The rows with derived columns computed anew wherever a column they depend on has changed."""
        if not self._schema.derivations:
            return rows
        rows = rows.copy()
        for j, expression in self._schema.derivations:
            inputs = [self._schema.position(name) for name in expression.names]
            changed = ~unchanged(rows[:, inputs], factuals[:, inputs]).all(axis=1)
            rows[:, j] = np.where(changed, expression(self._columns(rows)), factuals[:, j])
        return rows

    def mended(self, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray) -> np.ndarray:
        """The rows with broken rules mended where that is easy; what stays broken is refused later.

        A linear inequality is mended by going back towards the person's own values just far enough, an equality by
        solving it for one feature, an implication by setting what follows, or else by taking back its condition.
        """
        if not self._rules:
            return rows
        rows = rows.copy()
        for k, rule in enumerate(self._rules):
            broken = np.flatnonzero(~self.kept(rows)[:, k])
            if broken.size:
                rows[broken] = self._mend(rule, rows[broken], factuals[broken], frozen[broken])
        return rows

    def _mend(self, rule: Rule, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray) -> np.ndarray:
        for comparison in rule.consequence.comparisons:
            rows = self._mend_comparison(comparison, rows, factuals, frozen)
        if rule.condition is None:
            return rows
        _, unbroken = self._state(rule.consequence, self._columns(rows), rows)
        columns = np.array([self._schema.position(name) for name in rule.condition.names])
        rows[np.ix_(~unbroken, columns)] = factuals[np.ix_(~unbroken, columns)]
        return rows

    def _mend_comparison(
        self, comparison: Comparison, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray
    ) -> np.ndarray:
        left = comparison.left.linear()
        right = comparison.right.linear() if isinstance(comparison.right, Expression) else ({}, comparison.right.value)
        if left is None or right is None:
            return rows
        weights = {name: left[0].get(name, 0.0) - right[0].get(name, 0.0) for name in comparison.names}
        used = [(self._schema.position(name), weight) for name, weight in weights.items() if weight]
        if not used:
            return rows
        columns, slopes = np.array([j for j, _ in used]), np.array([weight for _, weight in used])
        constant = left[1] - right[1]
        broken = self._known(comparison, rows) & ~comparison(self._columns(rows))
        if comparison.operator == "=":
            rows[broken] = self._solve(rows[broken], factuals[broken], frozen[broken], columns, slopes, constant)
            return rows
        if comparison.operator == "≠":
            return rows
        gap, gap_before = rows[:, columns] @ slopes + constant, factuals[:, columns] @ slopes + constant
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(gap_before / (gap_before - gap), 0.0, 1.0)
        share = np.where(np.isfinite(share), share, 0.0)[:, None]
        back = factuals[:, columns] + share * (rows[:, columns] - factuals[:, columns])
        rows[np.ix_(broken, columns)] = back[broken]
        return rows

    def _solve(
        self,
        rows: np.ndarray,
        factuals: np.ndarray,
        frozen: np.ndarray,
        columns: np.ndarray,
        slopes: np.ndarray,
        constant: float,
    ) -> np.ndarray:
        """One free feature a row takes up the gap: one the candidate left alone, where there is such."""
        gap = rows[:, columns] @ slopes + constant
        moved = ~unchanged(rows[:, columns], factuals[:, columns])
        preference = np.where(frozen[:, columns], 2, moved)
        chosen = preference.argmin(axis=1)
        at = np.flatnonzero((np.abs(gap) > 0) & ~frozen[np.arange(len(rows)), columns[chosen]])
        rows[at, columns[chosen[at]]] -= gap[at] / slopes[chosen[at]]
        return rows
