"""The rules of a schema and the columns that are computed, and the arrays of both that `attain.engine.rules` runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from attain.engine.rules import Rules
from attain.schema.evaluator import Assembler, Span, evaluate
from attain.schema.formulas import Among, And, Comparison, Expression, Formula, Implication
from attain.schema.schema import Law, Rule, Schema
from attain.tables.timing import Timing


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
        for k, j, expression in sorted(self._determined(), key=lambda one: self._leads(one[1])):
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

    def _determined(self) -> Iterator[tuple[int, int, Expression]]:
        """For each law, the columns that it determines, and how."""
        for k in np.flatnonzero(self.is_law).tolist():
            yield from ((k, self.schema.position(name), value) for name, value in self.rules[k].solutions)

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
        """Emits a jump over what follows; `_land` sets its goal."""
        return self._emit("skip unless broken", span=self._judged[id(formula)])

    def _land(self, jump: dict[str, Any]) -> None:
        jump["goal"] = len(self._code)

    def _repair(self, formula: Formula) -> None:
        """Emits the repair of a rule, or of a part of one; see `attain.engine.settle`."""
        if isinstance(formula, Implication):
            self._repair(formula.consequence)
            for broken, undone in ((formula.consequence, formula.condition), (formula, formula)):
                jump = self._unless_broken(broken)
                self._emit("undo", span=self._columns_of(undone))
                self._land(jump)
        elif isinstance(formula, And):
            for part in formula.parts:
                jump = self._unless_broken(part)
                self._repair(part)
                self._land(jump)
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
                self._land(jump)
        elif id(formula) in gaps:
            self._emit("gap", span=gaps[id(formula)])
        else:
            self._emit("no size")
