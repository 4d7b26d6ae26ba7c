"""The rules and laws of a schema, and the columns that are computed; `attain.engine.rules` runs them on rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attain.engine.rules import Rules
from attain.schema.expressions import Expression
from attain.schema.formulas import Comparison, Formula
from attain.schema.law import Law
from attain.schema.schema import Rule, Schema
from attain.tables.lookups import Lookups
from attain.tables.program import assembled
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
        """What others rather follow: levels, which have no value between two of theirs, and the coarser grid."""
        feature = self.schema.features[j]
        return not feature.numeric, 0.0 if feature.step is None else feature.step

    @cached_property
    def without_laws(self) -> RuleBook:
        """The book of the schema alone."""
        return RuleBook(self.schema) if self.is_law.any() else self

    @cached_property
    def lookups(self) -> Lookups:
        """The rules about single cells, as tables."""
        return Lookups(self.schema.features, [rule.formula for rule in self.rules])

    @cached_property
    def engine(self) -> Rules:
        """The book as the engine runs it."""
        return assembled(self)

    def order(self, formula: Formula) -> tuple[int, int] | None:
        """The columns of a and b, if the formula is `a <= b`."""
        if not isinstance(formula, Comparison) or formula.operator not in ("<=", ">="):
            return None
        if formula.left.column is None or formula.right.column is None:
            return None
        small, large = self.schema.position(formula.left.column), self.schema.position(formula.right.column)
        return (small, large) if formula.operator == "<=" else (large, small)

    def kept(self, rows: np.ndarray) -> np.ndarray:
        """Which rule (column) holds in which row; one that is not certainly broken holds."""
        return ~self.engine.broken(rows)

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
