"""The rules of a schema and the columns that are computed, and the arrays of both that `attain.engine.rules` runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from attain.core.arrays import unchanged
from attain.engine.cells import on_grid, spacing
from attain.engine.rules import Rules
from attain.schema.feature import ordinary
from attain.schema.formulas import Among, And, Assembler, Comparison, Expression, Formula, Implication, Span, evaluate
from attain.schema.schema import Law, Rule, Schema

_ROUNDING = 1e-9
"""The share of a month that rounding may add."""
_APART = 1e-6
"""The share of the distance between grid values that rounding may lose."""
_CENTURY = 1200.0


class Timing:
    """The clocks and paces of a schema.

    Attributes
    ----------
    clocks
        The columns of clocks.
    paces
        The columns whose changes take time, each with its pace.
    """

    def __init__(self, schema: Schema) -> None:
        self._features = schema.features
        self.clocks = schema.clocks
        self._counted = [j for j in self.clocks if not schema.features[j].immutable]
        self._rates = {j: feature.clock for j, feature in enumerate(schema) if feature.clock is not None}
        self.paces = [(j, feature.pace) for j, feature in enumerate(schema) if feature.pace is not None]

    def _step(self, j: int) -> float | None:
        return self._features[j].step if self._features[j].numeric else 1.0

    def _top(self, j: int) -> float:
        """The last level of column j; no limit for numbers."""
        return math.inf if self._features[j].numeric else len(self._features[j].levels) - 1.0

    def runs(self, factuals: np.ndarray) -> np.ndarray:
        """Which clocks (columns, in the order of `clocks`) have a value that can advance, (n, clocks)."""
        runs = np.zeros((len(factuals), len(self.clocks)), dtype=bool)
        for k, j in enumerate(self.clocks):
            runs[:, k] = ordinary(self._features[j], factuals[:, j]) & (factuals[:, j] < self._top(j))
        return runs

    def _value(self, j: int, own: np.ndarray, months: np.ndarray) -> np.ndarray:
        """Where the clock of column j stands after some months."""
        later = np.maximum(own, on_grid_below(own + self._rates[j] * months, self._step(j)))
        return np.where(months > 0, np.minimum(later, self._top(j)), own)

    def _least(self, j: int, own: np.ndarray, value: np.ndarray) -> np.ndarray:
        """The months after which the clock of column j stands at `value` or beyond."""
        with np.errstate(invalid="ignore"):
            months = np.maximum(_whole((value - own) / self._rates[j]), 0.0)
        # rounding may be off by one
        months = np.where(self._value(j, own, months) < value, months + 1, months)
        return np.where((months > 0) & (self._value(j, own, months - 1) >= value), months - 1, months)

    def _last(self, j: int, own: np.ndarray, value: np.ndarray) -> np.ndarray:
        """The months after which the clock of column j has not passed `value` yet, at most."""
        months = self._least(j, own, on_grid_beyond(value, self._step(j))) - 1
        months = np.where(self._value(j, own, months) > value, months - 1, months)
        return np.where(value >= self._top(j), math.inf, months)

    def longest(self, factuals: np.ndarray, high: np.ndarray) -> np.ndarray:
        """For how many months no clock of a row exceeds its limit in `high` (n, d) or comes to a special code, (n,).

        A number without a limit goes on for a century.
        """
        longest = np.full(len(factuals), math.inf)
        for j, runs in zip(self.clocks, self.runs(factuals).T, strict=True):
            if self._features[j].numeric:
                longest[runs] = np.minimum(longest[runs], _CENTURY)
            at = np.flatnonzero(runs & np.isfinite(high[:, j]))
            own = factuals[at, j]
            longest[at] = np.minimum(longest[at], self._last(j, own, np.maximum(high[at, j], own)))
            for code in self._features[j].special:
                at = np.flatnonzero(runs & (factuals[:, j] < code))
                longest[at] = np.minimum(longest[at], self._least(j, factuals[at, j], np.full(len(at), code)) - 1)
        return np.maximum(longest, 0.0)

    def advanced(self, factuals: np.ndarray, months: np.ndarray) -> np.ndarray:
        """Where the clocks of rows stand after some months, (n, clocks)."""
        cells = factuals[:, list(self.clocks)]
        for k, (j, runs) in enumerate(zip(self.clocks, self.runs(factuals).T, strict=True)):
            cells[runs, k] = self._value(j, cells[runs, k], months[runs])
        return cells

    def reach(self, pace: float, months: np.ndarray) -> np.ndarray:
        """How far changes with a pace go in some months, rounding errors of `needed` included."""
        return np.asarray(pace * (months + _ROUNDING * np.maximum(1.0, months)))

    def needed(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The months that the changes of features with a pace need, (n,)."""
        needed = np.zeros(len(rows))
        for j, pace in self.paces:
            feature, at = self._features[j], np.flatnonzero(rows[:, j] != factuals[:, j])
            at = at[ordinary(feature, rows[at, j]) & ordinary(feature, factuals[at, j])]
            size = np.abs(rows[at, j] - factuals[at, j]) if feature.ordered else np.ones(len(at))
            needed[at] = np.maximum(needed[at], _whole(size / pace))
        return needed

    def months(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """How long it takes to become each row, (n,)."""
        months = self.needed(rows, factuals)
        for j, runs in zip(self.clocks, self.runs(factuals).T, strict=True):
            at = np.flatnonzero(runs & (rows[:, j] > factuals[:, j]))
            at = at[ordinary(self._features[j], rows[at, j])]
            months[at] = np.maximum(months[at], self._least(j, factuals[at, j], rows[at, j]))
        return months

    def waits(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """Which rows take longer than their changes need, (n,), for a clock that is not immutable."""
        clocks = self._counted
        advanced = ~np.asarray(unchanged(rows[:, clocks], factuals[:, clocks]).all(axis=1))
        return advanced & (self.months(rows, factuals) > self.needed(rows, factuals))

    def in_step(self, rows: np.ndarray, months: np.ndarray) -> np.ndarray:
        """The rows with all clocks where they stand after some months."""
        rows = rows.copy()
        rows[:, list(self.clocks)] = self.advanced(rows, months)
        return rows


def on_grid_below(values: np.ndarray, step: float | None) -> np.ndarray:
    """The largest grid value that is not above each value, but for rounding errors."""
    nearest, apart = on_grid(values, step), spacing(values, step)
    with np.errstate(invalid="ignore"):
        return np.where(nearest > values + _APART * apart, on_grid(nearest - apart, step), nearest)


def on_grid_beyond(values: np.ndarray, step: float | None) -> np.ndarray:
    """The grid value that follows each value."""
    below = on_grid_below(values, step)
    return on_grid(below + spacing(below, step), step)


def _whole(months: np.ndarray) -> np.ndarray:
    """Months rounded up, without rounding errors."""
    return np.ceil(months - _ROUNDING * np.maximum(1.0, np.abs(months))) + 0.0  # no negative zeros


@dataclass(frozen=True)
class Derivation:
    """A column that is computed from others.

    Attributes
    ----------
    column, inputs
        The positions of the column, and of those it is computed from.
    expression
        How it is computed.
    follows
        Whether a law says so: then it follows where the law is defined, and stays as it is elsewhere.
    keeps
        Whether it keeps the row's own ratio to the expression, or else its difference (`Feature.follows`).
    """

    column: int
    inputs: tuple[int, ...]
    expression: Expression
    follows: bool
    keeps: bool = False


class RuleBook:
    """The rules between features and the derived columns of one schema, and laws of its data.

    Attributes
    ----------
    rules
        The schema's rules, then the laws.
    is_law
        Which of them are laws, (rules,).
    followed
        Which of them are laws that a computed column keeps by following them, up to its own rounding, (rules,).
    derivations
        The columns that are computed from others, in an order in which they can be: the schema's own, and
        those that a law `column = expression` determines, unless they never change.
    timing
        The clocks and paces; None where the schema has neither.
    """

    def __init__(self, schema: Schema, laws: Iterable[Law] = ()) -> None:
        self.schema = schema
        found = tuple(schema.rule(law.text) for law in laws)
        self.rules: tuple[Rule, ...] = (*schema.parsed_rules, *found)
        self.is_law = np.arange(len(self.rules)) >= len(schema.parsed_rules)
        self.followed = np.zeros(len(self.rules), dtype=bool)
        self.derivations = tuple(self._derivations())
        self.timing = Timing(schema) if schema.clocks or schema.paced else None

    def _derivations(self) -> Iterator[Derivation]:
        schema = self.schema
        waiting: dict[int, Derivation] = {}
        # what a column depends on, directly or not, so that no column comes to depend on itself
        needs: dict[int, set[int]] = {}
        for j, expression in schema.derivations:
            inputs = tuple(map(schema.position, expression.names))
            waiting[j] = Derivation(j, inputs, expression, False, schema.features[j].follows is not None)
            needs[j] = set(inputs).union(*(needs.get(i, set()) for i in inputs))
        laws = np.flatnonzero(self.is_law).tolist()
        determined = [(k, schema.position(name), value) for k in laws for name, value in self.rules[k].solutions]
        for k, j, expression in sorted(determined, key=lambda one: self._leads(one[1])):
            inputs = tuple(map(schema.position, expression.names))
            behind = set(inputs).union(*(needs.get(i, set()) for i in inputs))
            able = schema.features[j].searched and schema.features[j].clock is None
            if able and not self.followed[k] and j not in waiting and j not in behind:
                waiting[j] = Derivation(j, inputs, expression, True)
                self.followed[k] = True
                needs[j] = behind
                for others in needs.values():
                    others |= behind if j in others else set()
        while waiting:
            for j in [j for j, one in waiting.items() if not any(i in waiting for i in one.inputs)]:
                yield waiting.pop(j)

    def _leads(self, j: int) -> tuple[bool, float]:
        """Sort key: prefer to drive by levels, then by coarser grids."""
        feature = self.schema.features[j]
        return not feature.numeric, 0.0 if feature.step is None else feature.step

    @cached_property
    def following(self) -> frozenset[int]:
        """The columns that follow others by a law."""
        return frozenset(one.column for one in self.derivations if one.follows)

    @cached_property
    def without_laws(self) -> RuleBook:
        """The book of the schema alone."""
        return RuleBook(self.schema) if self.is_law.any() else self

    @cached_property
    def _compiled(self) -> tuple[Rules, np.ndarray]:
        return _BookAssembler(self).rules()

    @property
    def engine(self) -> Rules:
        """The book as a program for the engine."""
        return self._compiled[0]

    def kept(self, rows: np.ndarray) -> np.ndarray:
        """Which rule (column) holds in which row; one that is not certainly broken holds."""
        engine, spans = self._compiled
        return engine.values(rows, spans) != -1.0

    def pinned(self, factuals: np.ndarray) -> np.ndarray:
        """Which cells are immutable for their row by `immutable_if`, (n, d)."""
        schema, pinned = self.schema, np.zeros(factuals.shape, dtype=bool)
        if schema.conditions:
            columns, conditions = zip(*schema.conditions, strict=True)
            pinned[:, columns] = evaluate(schema.features, factuals, *(rule.formula for rule in conditions)) == 1
        return pinned

    def held(self, pinned: np.ndarray) -> np.ndarray:
        """The pinned cells, and those that they are computed from, (n, d)."""
        held = pinned.copy()
        for one in reversed(self.derivations):
            held[:, one.inputs] |= held[:, [one.column]]
        return held

    @cached_property
    def sources(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The s columns that the k computed ones follow from, which of these each of them moves, and its batch.

        These are (s,), (s, k) and (s,). No computed column follows from two sources of the same batch.
        """
        follows: dict[int, set[int]] = {}
        for one in self.derivations:
            follows[one.column] = set().union(*(follows.get(j, {j}) for j in one.inputs))
        columns = sorted(set().union(*follows.values()) - set(follows))
        moves = np.zeros((len(columns), len(self.derivations)), dtype=bool)
        for k, one in enumerate(self.derivations):
            moves[:, k] = np.isin(columns, list(follows[one.column]))
        batch, taken = np.zeros(len(columns), dtype=np.intp), np.zeros_like(moves)
        for s, moved in enumerate(moves):
            batch[s] = np.flatnonzero(~(taken & moved).any(axis=1))[0]
            taken[batch[s]] |= moved
        return np.array(columns, dtype=np.intp), moves, batch

    def derive(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The rows with each computed column computed again where one of its inputs has changed."""
        return self.engine.computed(rows, factuals, False)


class _BookAssembler(Assembler):
    """Collects what the rules of a book say, how a broken one is repaired, and how columns are computed."""

    def __init__(self, book: RuleBook) -> None:
        super().__init__(book.schema)
        self._book, self._schema = book, book.schema

    def rules(self) -> tuple[Rules, np.ndarray]:
        """The book as a program, and the spans of its rules' verdicts, (rules, 2)."""
        derivations = [
            (one.column, self._list(one.inputs), self.expression(one.expression), one.follows, one.keeps)
            for one in self._book.derivations
        ]
        rules = [self._rule(k) for k in range(len(self._book.rules))]
        return self.assembled(derivations, rules), np.array([rule[0] for rule in rules], dtype=np.intp).reshape(-1, 2)

    def _rule(self, k: int) -> tuple[Any, ...]:
        formula = self._book.rules[k].formula
        judge = self.formula(formula)
        gaps = self._gaps(formula)
        repair = len(self._code)
        self._repair(formula)
        excess = len(self._code)
        self._excess(formula, gaps)
        spans = judge, (repair, excess), (excess, len(self._code))
        return (*spans, self._columns_of(formula), self._book.followed[k])

    def _unless_broken(self, formula: Formula) -> dict[str, Any]:
        """Emits a jump over what follows, up to the goal that is set after it."""
        return self._emit("skip unless broken", span=self._judged[id(formula)])

    def _repair(self, formula: Formula) -> None:
        """Emits the repair of a rule, or of a part of one; see `attain.engine.settle`."""
        if isinstance(formula, Implication):
            self._repair(formula.consequence)
            for broken, undone in ((formula.consequence, formula.condition), (formula, formula)):
                jump = self._unless_broken(broken)
                self._emit("undo", span=self._columns_of(undone))
                jump["goal"] = len(self._code)
        elif isinstance(formula, And):
            for part in formula.parts:
                jump = self._unless_broken(part)
                self._repair(part)
                jump["goal"] = len(self._code)
        elif isinstance(formula, Among) and len(formula.values) == 1:
            self._emit("put", column=self._positions[formula.name], number=self._pool(formula.values)[0])
        elif isinstance(formula, Comparison) and (form := self._linear(formula)):
            weights, constant = form
            limits = len(weights) == 1 and formula.operator in ("<=", ">=")
            pulls = formula.left.column and formula.right.column and formula.operator in ("<=", ">=")
            how = "solve" if formula.operator == "=" else "pull" if pulls else "limit" if limits else "retreat"
            self._emit(how, span=self._list(weights), number=self._pool((*weights.values(), constant))[0])
        else:
            self._emit("undo", span=self._columns_of(formula))

    def _linear(self, comparison: Comparison) -> tuple[dict[int, float], float] | None:
        """left − right as the weight of each column and a constant; None where it is not linear, or `≠`."""
        form = comparison.linear()
        if form is None or comparison.operator == "≠":
            return None
        weights = {self._positions[name]: weight for name, weight in form[0].items() if weight}
        return (weights, form[1]) if weights else None

    def _gaps(self, formula: Formula) -> dict[int, Span]:
        """Emits left − right of the comparisons of numbers, which say by how much a row breaks a rule."""
        if isinstance(formula, Implication):
            return self._gaps(formula.consequence)
        if isinstance(formula, And):
            return {key: found for part in formula.parts for key, found in self._gaps(part).items()}
        of_numbers = not any(self._schema[name].levels for name in formula.names)
        if not isinstance(formula, Comparison) or formula.operator == "≠" or not of_numbers:
            return {}
        start = len(self._code)
        self.expression(formula.left)
        self.expression(formula.right)
        self._emit("-", count=2)
        return {id(formula): (start, len(self._code))}

    def _excess(self, formula: Formula, gaps: dict[int, Span]) -> None:
        """Emits by how much a row breaks a formula: the largest gap of the comparisons that it breaks."""
        if isinstance(formula, Implication):
            self._excess(formula.consequence, gaps)
        elif isinstance(formula, And):
            for part in formula.parts:
                jump = self._unless_broken(part)
                self._excess(part, gaps)
                jump["goal"] = len(self._code)
        elif id(formula) in gaps:
            self._emit("gap", span=gaps[id(formula)])
        else:
            self._emit("no size")
