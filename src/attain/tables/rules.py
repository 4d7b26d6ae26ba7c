"""The schema's rules over rows of the matrix: which rows satisfy them, and how a row that violates one is repaired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attain.schema.formulas import Comparison, Formula, Implication, View, conjuncts
from attain.schema.schema import Schema
from attain.tables.cells import unchanged


class RuleBook:
    """The rules between features and the derived columns of one schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._rules = [_Rule.of(rule.formula, schema) for rule in schema.parsed_rules]

    def kept(self, rows: np.ndarray) -> np.ndarray:
        """Which rule (column) holds in which row: all that are not certainly false."""
        result = np.ones((len(rows), len(self._rules)), dtype=bool)
        view = View(self._schema, rows)
        for k, rule in enumerate(self._rules):
            result[:, k] = ~rule.formula.judge(view)[1]
        return result

    def derive(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The rows with each derived column recomputed where one of its inputs has changed."""
        if not self._schema.derivations:
            return rows
        rows = rows.copy()
        for j, expression in self._schema.derivations:
            inputs = [self._schema.position(name) for name in expression.names]
            changed = ~unchanged(rows[:, inputs], factuals[:, inputs]).all(axis=1)
            rows[:, j] = np.where(changed, expression(View(self._schema, rows).columns), factuals[:, j])
        return rows

    def repaired(self, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray) -> np.ndarray:
        """The rows with violated rules repaired where that is easy; the others are rejected later.

        A linear inequality is repaired by moving back towards the factual just far enough, an equality by solving it
        for one feature, an implication by enforcing its consequence, or else by undoing its condition.
        """
        rows = rows.copy()
        view = View(self._schema, rows)
        for rule in self._rules:
            broken = np.flatnonzero(rule.formula.judge(view)[1])
            if broken.size:
                rows[broken] = self._repair(rule, rows[broken], factuals[broken], frozen[broken])
                view = View(self._schema, rows)
        return rows

    def _repair(self, rule: _Rule, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray) -> np.ndarray:
        for comparison, linear in rule.linear:
            broken = comparison.judge(View(self._schema, rows))[1]
            _repair_linear(linear, comparison.operator, broken, rows, factuals, frozen)
        if isinstance(rule.formula, Implication):
            broken = rule.formula.consequence.judge(View(self._schema, rows))[1]
            undone = np.ix_(broken, np.array([self._schema.position(name) for name in rule.formula.condition.names]))
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
class _Rule:
    """A rule, and the linear comparisons among what it demands."""

    formula: Formula
    linear: tuple[tuple[Comparison, _Linear], ...]

    @classmethod
    def of(cls, formula: Formula, schema: Schema) -> _Rule:
        demanded = conjuncts(formula.consequence if isinstance(formula, Implication) else formula)
        forms = ((part, _linear(part, schema)) for part in demanded if isinstance(part, Comparison))
        return cls(formula, tuple((comparison, form) for comparison, form in forms if form is not None))


def _linear(comparison: Comparison, schema: Schema) -> _Linear | None:
    form = comparison.linear()
    used = {} if form is None else {schema.position(name): weight for name, weight in form[0].items() if weight}
    return _Linear(np.array(list(used)), np.array(list(used.values())), form[1]) if form and used else None


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
