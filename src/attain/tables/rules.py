"""The rules and laws over rows of the matrix: which rows keep them, and how a row that breaks one is repaired."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attain.core.compiled import kernels
from attain.schema.expressions import Expression
from attain.schema.formulas import All, Among, Comparison, Formula, Implication, View
from attain.schema.law import Law
from attain.schema.schema import Rule, Schema
from attain.tables.cells import ordinary, unchanged
from attain.tables.lookups import Lookups
from attain.tables.program import Program, assembled
from attain.tables.timing import Timing

_PASSES = 3
"""How often all rules are gone through in a repair: what one rule moves, another may refuse."""


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
    """

    column: int
    inputs: tuple[int, ...]
    expression: Expression
    follows: bool


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
        The columns that are computed from others, in an order in which they can be: the schema's derived ones, and
        those that a law `column = expression` determines, unless they never change.
    timing
        The clocks and paces; None where the schema has neither.
    """

    def __init__(self, schema: Schema, laws: Iterable[Law] = ()) -> None:
        self.schema = schema
        found = tuple(schema.rule(law.text) for law in laws)
        self.rules: tuple[Rule, ...] = (*schema.parsed_rules, *found)
        self.is_law = np.arange(len(self.rules)) >= len(schema.parsed_rules)
        self._positions = [tuple(schema.position(name) for name in rule.names) for rule in self.rules]
        self.followed = np.zeros(len(self.rules), dtype=bool)
        self.derivations = tuple(self._derivations())
        self.timing = Timing(schema) if schema.clocks or schema.paced else None

    def _derivations(self) -> Iterator[Derivation]:
        schema = self.schema
        for j, expression in schema.derivations:
            yield Derivation(j, tuple(map(schema.position, expression.names)), expression, False)
        # what a column depends on, directly or not, so that no column comes to depend on itself
        needs = {j: {schema.position(name) for name in expression.names} for j, expression in schema.derivations}
        chosen: dict[int, Derivation] = {}
        for k, j, expression in sorted(self._determined(), key=lambda one: self._leads(one[1])):
            inputs = tuple(map(schema.position, expression.names))
            behind = set(inputs).union(*(needs.get(i, set()) for i in inputs))
            able = schema.features[j].searched and schema.features[j].clock is None
            if able and not self.followed[k] and j not in chosen and j not in behind:
                chosen[j] = Derivation(j, inputs, expression, True)
                self.followed[k] = True
                needs[j] = behind
                for others in needs.values():
                    others |= behind if j in others else set()
        while chosen:
            for j in [j for j, one in chosen.items() if not any(k in chosen for k in one.inputs)]:
                yield chosen.pop(j)

    def _determined(self) -> Iterator[tuple[int, int, Expression]]:
        """For each law, the columns that it determines, and how."""
        for k in np.flatnonzero(self.is_law).tolist():
            yield from ((k, self.schema.position(name), value) for name, value in self.rules[k].solutions)

    def _leads(self, j: int) -> tuple[bool, float]:
        """What others rather follow: levels, which have no value between two of theirs, and the coarser grid."""
        feature = self.schema.features[j]
        return not feature.numeric, 0.0 if feature.step is None else feature.step

    @cached_property
    def uses(self) -> np.ndarray:
        """Which columns each rule is about, (rules, d)."""
        uses = np.zeros((len(self.rules), len(self.schema)), dtype=bool)
        for k, columns in enumerate(self._positions):
            uses[k, list(columns)] = True
        return uses

    @cached_property
    def without_laws(self) -> RuleBook:
        """The book of the schema alone."""
        return RuleBook(self.schema) if self.is_law.any() else self

    @cached_property
    def lookups(self) -> Lookups:
        """The rules about single cells, as tables."""
        return Lookups(self.schema.features, [rule.formula for rule in self.rules], self.is_law)

    @cached_property
    def orders(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rules `a <= b` between two numbers: the columns of a and of b, and the positions of the rules."""
        found = [(*pair, k) for k in self.lookups.rest if (pair := self.order(self.rules[k].formula)) is not None]
        low, high, rules = np.array(found, dtype=np.intp).reshape(-1, 3).T
        return low, high, rules

    def order(self, formula: Formula) -> tuple[int, int] | None:
        """The columns of a and b, if the formula is `a <= b`."""
        if not isinstance(formula, Comparison) or formula.operator not in ("<=", ">="):
            return None
        if formula.left.column is None or formula.right.column is None:
            return None
        small, large = self.schema.position(formula.left.column), self.schema.position(formula.right.column)
        return (small, large) if formula.operator == "<=" else (large, small)

    @cached_property
    def others(self) -> list[int]:
        """The positions of rules that are neither look-ups nor orders."""
        return [k for k in self.lookups.rest if k not in set(self.orders[2].tolist())]

    def kept(self, rows: np.ndarray) -> np.ndarray:
        """Which rule (column) holds in which row; one that is not certainly broken holds."""
        result = np.ones((len(rows), len(self.rules)), dtype=bool)
        for k, broken in self._broken(rows):
            result[:, k] = ~broken
        return result

    def all_kept(self, rows: np.ndarray) -> np.ndarray:
        """The rows in final form that keep every rule; for laws that a row in final form breaks only if its factual
        does, see `Lookups.movable` and `followed`.
        """
        good = np.ones(len(rows), dtype=bool)
        parts = self.lookups.parts(rows, self.lookups.movable)
        for group in self.lookups.movable:
            good &= ~group.any_broken[group.combinations(parts)]
        low, high, rules = self.orders
        if rules.size:
            at, which = np.nonzero(rows[:, low] > rows[:, high])
            good[at[self._certainly_above(rows, at, low[which], high[which])]] = False
        for k in self.others:
            if not self.followed[k]:
                good &= ~self._judged(k, rows)
        return good

    def _broken(self, rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Each rule that some row breaks, in the order of the rules, and which rows do."""
        found: dict[int, np.ndarray] = {}
        parts = self.lookups.parts(rows, self.lookups.groups)
        for group in self.lookups.groups:
            where = group.combinations(parts)
            if group.any_broken[where].any():
                for k, broken in zip(group.rules.tolist(), group.broken[:, where], strict=True):
                    found[k] = found[k] | broken if k in found else broken
        for low, high, k in zip(*self.orders, strict=True):
            above = rows[:, low] > rows[:, high]
            if above.any():
                at = np.flatnonzero(above)
                above[at] = self._certainly_above(rows, at, low, high)
                found[int(k)] = above
        found |= {k: self._judged(k, rows) for k in self.others}
        yield from ((k, found[k]) for k in sorted(found) if found[k].any())

    def _certainly_above(
        self, rows: np.ndarray, at: np.ndarray, low: np.ndarray | int, high: np.ndarray | int
    ) -> np.ndarray:
        """Whether the cells of rows `at` in columns `low` are larger than those in `high`, up to rounding.

        A special code is not a number, and larger than nothing.
        """
        small, large = rows[at, low], rows[at, high]
        certain = small - large > 1e-9 * np.maximum(1.0, np.maximum(np.abs(small), np.abs(large)))
        for side, cells in ((low, small), (high, large)):
            columns = np.broadcast_to(side, len(at))
            for j in set(columns.tolist()) & self._with_codes:
                certain &= (columns != j) | ordinary(self.schema.features[j], cells)
        return np.asarray(certain)

    @cached_property
    def _with_codes(self) -> set[int]:
        return {j for j, feature in enumerate(self.schema) if feature.special}

    def _judged(self, k: int, rows: np.ndarray) -> np.ndarray:
        """The rows that break rule k."""
        return self.rules[k].formula.judge(self._view(k, rows))[1]

    def _view(self, k: int, rows: np.ndarray) -> View:
        columns = list(self._positions[k])
        return View([self.schema.features[j] for j in columns], rows[:, columns])

    def no_worse(self, k: int, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """Where rows that break rule k do so as their factuals do, or by less."""
        columns = list(self._positions[k])
        same = unchanged(rows[:, columns], factuals[:, columns]).all(axis=1)
        formula = self.rules[k].formula
        now, before = (self._excess(formula, self._view(k, some)) for some in (rows, factuals))
        return np.asarray(same | (np.isfinite(now) & (now <= before)))

    def _excess(self, formula: Formula, view: View) -> np.ndarray:
        """By how much each row breaks a formula of numbers; infinite where that has no size."""
        if isinstance(formula, Implication):
            return self._excess(formula.consequence, view)
        if isinstance(formula, All):
            sizes = [np.where(part.judge(view)[1], self._excess(part, view), 0.0) for part in formula.parts]
            return np.asarray(np.max(sizes, axis=0))
        n = len(next(iter(view.columns.values())))
        if not self.has_size(formula):
            return np.full(n, np.inf)
        assert isinstance(formula, Comparison)
        with np.errstate(invalid="ignore"):
            gap = formula.left(view.columns) - formula.right(view.columns)
        return np.broadcast_to(np.abs(np.where(np.isnan(gap), np.inf, gap)), n)

    def has_size(self, formula: Formula) -> bool:
        """Whether rows break a formula by some amount: a comparison of numbers, but for `≠`."""
        comparable = isinstance(formula, Comparison) and formula.operator != "≠"
        return comparable and not any(self.schema[name].levels for name in formula.names)

    @cached_property
    def program(self) -> Program | None:
        """What kernels read; None where an expression has an operation that they do not have."""
        return assembled(self)

    @cached_property
    def sources(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The s columns that the k computed ones follow from, which of these each of them moves, and its batch.

        These are (s,), (s, k) and (s,). No computed column follows from two sources of the same batch. Where there are
        clocks, which stand where the slowest change puts them, every column follows from every source.
        """
        follows: dict[int, set[int]] = {}
        for one in self.derivations:
            follows[one.column] = set().union(*(follows.get(j, {j}) for j in one.inputs))
        columns = sorted(set().union(*follows.values()) - set(follows))
        moves = np.zeros((len(columns), len(self.derivations)), dtype=bool)
        for k, one in enumerate(self.derivations):
            moves[:, k] = np.isin(columns, list(follows[one.column])) | (self.timing is not None)
        batch, taken = np.zeros(len(columns), dtype=np.intp), np.zeros_like(moves)
        for s, moved in enumerate(moves):
            batch[s] = np.flatnonzero(~(taken & moved).any(axis=1))[0]
            taken[batch[s]] |= moved
        return np.array(columns, dtype=np.intp), moves, batch

    def derive(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The rows with clocks in step, and each computed column computed again where one of its inputs has changed."""
        if self.timing is not None:
            rows = self.timing.in_step(rows, factuals, self._months(self.timing, rows, factuals))
        return self.computed(rows, factuals) if self.derivations else rows

    def _months(self, timing: Timing, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """How long it takes to become each row, what follows from its changes included; that of clocks is not known."""
        asked = timing.asked(rows, factuals)
        if any(one.follows and self.schema.features[one.column].pace is not None for one in self.derivations):
            rows = self.computed(timing.in_step(rows, factuals, np.zeros(len(rows))), factuals)
        return np.maximum(asked, timing.needed(rows, factuals))

    def computed(self, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """The rows with each computed column computed again where one of its inputs has changed."""
        compiled = kernels("attain.tables.region_kernels")
        if compiled is not None and self.program is not None:
            rows = np.array(rows, dtype=np.float64, order="C")
            compiled.compute_all(rows, np.ascontiguousarray(factuals, dtype=np.float64), self.program)
            return rows
        rows = rows.copy()
        for one in self.derivations:
            inputs = list(one.inputs)
            changed = ~unchanged(rows[:, inputs], factuals[:, inputs]).all(axis=1)
            if not changed.any():
                rows[:, one.column] = factuals[:, one.column]
                continue
            value = one.expression({self.schema.names[j]: rows[:, j] for j in inputs})
            if one.follows:
                changed &= np.isfinite(value) & self._defined(one, rows, factuals)
            value = np.where(np.isnan(value), np.nan, value)  # the sign of NaN depends on the order of operands
            rows[:, one.column] = np.where(changed, value, factuals[:, one.column])
        return rows

    def _defined(self, one: Derivation, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        """Where the inputs are ordinary values, and the column has one to replace."""
        defined = ordinary(self.schema.features[one.column], factuals[:, one.column])
        for j in one.inputs:
            defined = defined & ordinary(self.schema.features[j], rows[:, j])
        return defined

    def repaired(
        self,
        rows: np.ndarray,
        factuals: np.ndarray,
        frozen: np.ndarray,
        excused: np.ndarray | None = None,
        pull: bool = True,
    ) -> np.ndarray:
        """The rows with broken rules repaired where that is easy; the others are rejected later.

        With `pull`, an order `a <= b` of which one side moved moves the other along. Any other linear inequality moves
        back towards the factual just far enough, an equality is solved for one feature, an implication is repaired by
        enforcing its consequence, or else by undoing its condition. Any other rule, and one that this does not repair,
        is repaired by undoing its changes.
        Rules that a row is `excused` from, (n, rules), are left alone.
        """
        rows = rows.copy()
        for _ in range(_PASSES):
            done = True
            for k, broken in self._broken(rows):
                if excused is not None:
                    broken = broken & ~excused[:, k]
                at = np.flatnonzero(broken)
                at = at[self._judged(k, rows[at])]  # another rule's repair may have changed them
                if at.size:
                    done = False
                    rows[at] = self._repair(k, self.rules[k].formula, rows[at], factuals[at], frozen[at], pull)
            if done:
                break
        return rows

    def _repair(
        self, k: int, formula: Formula, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray, pull: bool
    ) -> np.ndarray:
        """Rows that break a rule, or this part of it, repaired if possible."""
        if isinstance(formula, Implication):
            rows = self._repair(k, formula.consequence, rows, factuals, frozen, pull)
            back = self._certainly_broken(k, formula.consequence, rows)
            rows = self._undone(formula.condition, back, rows, factuals)
            return self._undone(formula, self._certainly_broken(k, formula, rows), rows, factuals)
        if isinstance(formula, All):
            for part in formula.parts:
                broken = self._certainly_broken(k, part, rows)
                rows[broken] = self._repair(k, part, rows[broken], factuals[broken], frozen[broken], pull)
            return rows
        if isinstance(formula, Among) and len(formula.values) == 1:
            j = self.schema.position(formula.name)
            rows[:, j] = np.where(frozen[:, j], rows[:, j], formula.values[0])
            return rows
        linear = self.linear(formula) if isinstance(formula, Comparison) else None
        if linear is None:
            return self._undone(formula, np.ones(len(rows), dtype=bool), rows, factuals)
        assert isinstance(formula, Comparison)
        if pull and self.order(formula) is not None:
            return _pulled(linear, rows, factuals, frozen)
        return _repaired_linear(linear, formula.operator, rows, factuals, frozen)

    def linear(self, comparison: Comparison) -> LinearForm | None:
        """left − right as a linear form of columns; None where it is not one, or the comparison is `≠`."""
        form = comparison.linear()
        if form is None or comparison.operator == "≠":
            return None
        weights, constant = form
        used = {self.schema.position(name): weight for name, weight in weights.items() if weight}
        return LinearForm(np.array(list(used)), np.array(list(used.values())), constant) if used else None

    def _certainly_broken(self, k: int, part: Formula, rows: np.ndarray) -> np.ndarray:
        return part.judge(self._view(k, rows))[1]

    def _undone(self, formula: Formula, where: np.ndarray, rows: np.ndarray, factuals: np.ndarray) -> np.ndarray:
        columns = np.array([self.schema.position(name) for name in formula.names], dtype=np.intp)
        cells = np.ix_(where, columns)
        rows[cells] = factuals[cells]
        return rows


@dataclass(frozen=True)
class LinearForm:
    """Σ rows[:, columns] · slopes + constant, the left side of a comparison minus its right side."""

    columns: np.ndarray
    slopes: np.ndarray
    constant: float

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        total = np.zeros(len(rows))
        for column, slope in zip(self.columns, self.slopes, strict=True):  # in this order, as kernels do
            total += rows[:, column] * slope
        return total + self.constant


def _pulled(form: LinearForm, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray) -> np.ndarray:
    """Rows that break an order of two numbers: where one moved, the other follows it, or else it stops there."""
    columns = form.columns
    moved = ~unchanged(rows[:, columns], factuals[:, columns])
    mover = moved.argmax(axis=1)
    every = np.arange(len(rows))
    follows = (moved.sum(axis=1) == 1) & ~frozen[every, columns[1 - mover]]
    back = _repaired_linear(form, "<=", rows.copy(), factuals, frozen)
    rows[every, columns[1 - mover]] = np.where(follows, rows[every, columns[mover]], rows[every, columns[1 - mover]])
    return np.where(follows[:, None], rows, back)


def _repaired_linear(
    form: LinearForm, operator: str, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray
) -> np.ndarray:
    """Rows that break a linear comparison, solved for a feature, or moved back towards their factuals."""
    if operator == "=":
        return _solved(form, rows, factuals, frozen)
    gap, gap_before = form(rows), form(factuals)
    if len(form.columns) == 1 and operator in ("<=", ">="):
        # where the factual's own number does not do, the limit is the least change that does
        beyond = np.flatnonzero(np.sign(gap_before) == np.sign(gap))
        limited = _solved(form, rows[beyond], factuals[beyond], frozen[beyond])
        rows[beyond], gap[beyond] = limited, 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(gap_before / (gap_before - gap), 0.0, 1.0)
    share = np.where(np.isfinite(share), share, 0.0)[:, None]
    own = factuals[:, form.columns]
    rows[:, form.columns] = own + share * (rows[:, form.columns] - own)
    return rows


def _solved(form: LinearForm, rows: np.ndarray, factuals: np.ndarray, frozen: np.ndarray) -> np.ndarray:
    """The rows with one free feature each solved for: preferably one that the candidate does not change."""
    columns, gap = form.columns, form(rows)
    moved = ~unchanged(rows[:, columns], factuals[:, columns])
    chosen = np.where(frozen[:, columns], 2, moved).argmin(axis=1)
    at = np.flatnonzero((np.abs(gap) > 0) & ~frozen[np.arange(len(rows)), columns[chosen]])
    rows[at, columns[chosen[at]]] -= gap[at] / form.slopes[chosen[at]]
    return rows
