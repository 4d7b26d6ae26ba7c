"""The schema's rules over rows of the matrix: which rows satisfy them, and how a row that violates one is repaired."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attain.schema.expressions import Clause, Comparison, Expression
from attain.schema.schema import Schema
from attain.tables.cells import unchanged


class RuleBook:
    """The rules between features and the derived columns of one schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._rules = [
            _Rule(None if rule.condition is None else _tests(rule.condition, schema), _tests(rule.consequence, schema))
            for rule in schema.parsed_rules
        ]

    def kept(self, rows: np.ndarray) -> np.ndarray:
        """Which rule (column) holds in which row."""
        result = np.ones((len(rows), len(self._rules)), dtype=bool)
        columns = self._columns(rows)
        for k, rule in enumerate(self._rules):
            result[:, k] = rule.kept(rows, columns)
        return result

    def _columns(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return {name: rows[:, j] for j, name in enumerate(self._schema.names)}

    def derive(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The rows with each derived column recomputed where one of its inputs has changed."""
        if not self._schema.derivations:
            return rows
        rows = rows.copy()
        for j, expression in self._schema.derivations:
            inputs = [self._schema.position(name) for name in expression.names]
            changed = ~unchanged(rows[:, inputs], factuals[:, inputs]).all(axis=1)
            rows[:, j] = np.where(changed, expression(self._columns(rows)), factuals[:, j])
        return rows

    def repaired(self, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray) -> np.ndarray:
        """The rows with violated rules repaired where that is easy; the others are rejected later.

        A linear inequality is repaired by moving back towards the factual just far enough, an equality by solving it
        for one feature, an implication by enforcing its consequence, or else by undoing its condition.
        """
        rows = rows.copy()
        columns = self._columns(rows)  # views, which follow the repairs
        for rule in self._rules:
            broken = np.flatnonzero(~rule.kept(rows, columns))
            if broken.size:
                rows[broken] = self._repair(rule, rows[broken], factuals[broken], frozen[broken])
        return rows

    def _repair(self, rule: _Rule, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray) -> np.ndarray:
        columns = self._columns(rows)
        for test in rule.consequence:
            if test.linear is not None:
                broken = test.known(rows) & ~test.comparison(columns)
                _repair_linear(test.linear, test.comparison.operator, broken, rows, factuals, frozen)
        if rule.condition is not None:
            _, unbroken = _state(rule.consequence, rows, columns)
            undone = np.ix_(~unbroken, np.unique([j for test in rule.condition for j in test.positions]))
            rows[undone] = factuals[undone]
        return rows


@dataclass(frozen=True)
class _Linear:
    """`rows[:, columns] @ slopes + constant`, the left side of a comparison minus its right side."""

    columns: np.ndarray
    slopes: np.ndarray
    constant: float

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return rows[:, self.columns] @ self.slopes + self.constant


@dataclass(frozen=True)
class _Test:
    """A comparison with the positions of its columns, their special codes, and its linear form, if it has one."""

    comparison: Comparison
    positions: tuple[int, ...]
    special: dict[int, list[float]]
    linear: _Linear | None

    def known(self, rows: np.ndarray) -> np.ndarray:
        """Where every number that is compared is present, and not a special code."""
        known = np.ones(len(rows), dtype=bool)
        for j in self.positions:
            known &= ~np.isnan(rows[:, j])
        for j, codes in self.special.items():
            known &= ~np.isin(rows[:, j], codes)
        return known


@dataclass(frozen=True)
class _Rule:
    condition: list[_Test] | None
    consequence: list[_Test]

    def kept(self, rows: np.ndarray, columns: dict[str, np.ndarray]) -> np.ndarray:
        _, unbroken = _state(self.consequence, rows, columns)
        if self.condition is None:
            return unbroken
        holds, _ = _state(self.condition, rows, columns)
        return ~holds | unbroken


def _state(tests: Iterable[_Test], rows: np.ndarray, columns: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The rows in which all tests certainly hold, and those in which none certainly fails."""
    holds = np.ones(len(rows), dtype=bool)
    unbroken = np.ones(len(rows), dtype=bool)
    for test in tests:
        known, value = test.known(rows), test.comparison(columns)
        holds &= known & value
        unbroken &= ~known | value
    return holds, unbroken


def _tests(clause: Clause, schema: Schema) -> list[_Test]:
    return [_test(comparison, schema) for comparison in clause.comparisons]


def _test(comparison: Comparison, schema: Schema) -> _Test:
    positions = tuple(schema.position(name) for name in comparison.names)
    special = {j: list(schema.features[j].special) for j in positions if schema.features[j].special}
    return _Test(comparison, positions, {} if comparison.tests_a_state else special, _linear(comparison, schema))


def _linear(comparison: Comparison, schema: Schema) -> _Linear | None:
    left = comparison.left.linear()
    right = comparison.right.linear() if isinstance(comparison.right, Expression) else ({}, comparison.right.value)
    if left is None or right is None:
        return None
    weights = {name: left[0].get(name, 0.0) - right[0].get(name, 0.0) for name in comparison.names}
    used = {schema.position(name): weight for name, weight in weights.items() if weight}
    return _Linear(np.array(list(used)), np.array(list(used.values())), left[1] - right[1]) if used else None


def _repair_linear(
    form: _Linear, operator: str, broken: np.ndarray, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray
) -> None:
    if operator == "=":
        rows[broken] = _solved(form, rows[broken], factuals[broken], frozen[broken])
    elif operator != "≠":
        gap, gap_before = form(rows), form(factuals)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(gap_before / (gap_before - gap), 0.0, 1.0)
        share = np.where(np.isfinite(share), share, 0.0)[:, None]
        own = factuals[:, form.columns]
        back = own + share * (rows[:, form.columns] - own)
        rows[np.ix_(broken, form.columns)] = back[broken]


def _solved(form: _Linear, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray) -> np.ndarray:
    """The rows with one free feature each solved for: preferably one that the candidate does not change."""
    columns, gap = form.columns, form(rows)
    moved = ~unchanged(rows[:, columns], factuals[:, columns])
    chosen = np.where(frozen[:, columns], 2, moved).argmin(axis=1)
    at = np.flatnonzero((np.abs(gap) > 0) & ~frozen[np.arange(len(rows)), columns[chosen]])
    rows[at, columns[chosen[at]]] -= gap[at] / form.slopes[chosen[at]]
    return rows
