"""Diverse coherent explanations (Russell 2019): the nearest record on the mixed polytope, then ones unlike it.

The mixed polytope of one row: each feature is a number within a range or one of its states, never a mixture.

For each free feature j there is one binary variable d_js per state s (its own cell, another value, each special code or
level it may take), and where it may take another value, two moves u_j, v_j ≥ 0:

    Σ_s d_js = 1        x_j = centre_j · d_j,value + unit_j (u_j − v_j)        u_j / up_j + v_j / down_j ≤ d_j,value

Moves are integers where the feature has a step, which is then the unit. The program is

    minimise Σ_js cost_js d_js + Σ_j (unit_j / spread_j) (u_j + v_j)   subject to   gain ≥ need,

at most `max_changes` features away from their own state, and the linear rules. Of levels and codes that no rule tells
apart, only those are states that no other beats in cost and gain; where several answers are wanted, and the states of
some are not allowed again, as many layers of them as there are answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from attain.core.errors import ModelError
from attain.methods.base import Explainer
from attain.models.goal import StructureError
from attain.models.scores import ACCEPTED, LinearScore, linear_score
from attain.population.population import DecidedPopulation, Population
from attain.results.status import Status
from attain.schema import Rule, Schema
from attain.search.problem import Answers, Problem
from attain.search.programs import (
    LinearRule,
    Signatures,
    Solution,
    factual_scores,
    is_linear,
    linear_rules,
    solve,
    unbeaten,
)
from attain.tables import Region, ordinary, snapped, unchanged

_NUDGE = 1e-7
"""How much more than needed is asked for, relative to the score: the solver's tolerance and a number's last digit."""
_TRIES = 12
"""How often the program is solved again, with a cut or more gain, after a record that is not an answer."""
_ROWS_AT_ONCE = 1_000
OWN = "own"
VALUE = "value"
State = str | float
Terms = dict[int, float]

_MULTIPLE = 1e-9
"""How far from an integer a limit may lie, in steps, and still count as one."""


class _Nearest(NamedTuple):
    """A record that flips the decision, its distance, and whether that is shown to be the least."""

    row: np.ndarray
    distance: float
    proven: bool


@dataclass(kw_only=True, eq=False, repr=False)
class Russell(Explainer):
    """The nearest record that flips a linear classifier's decision, and then ones that do so in other ways.

    Takes linear classifiers with two classes, recognised inside scikit-learn pipelines (`models.scores`); for
    others see `ActionableRecourse`, which fits local linear models. Each feature is a number within its range or one of
    its states: a special code, a level, a missing cell. A mixed-integer program (HiGHS) finds the least distance: moves
    of numbers in units of their median absolute deviation, changes of state in the same units of their indicators. For
    each further option every change of the last one is forbidden in turn, unless no answer would be left.

    Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions, special codes, missing
    cells, `max_changes` and linear rules between features. Other rules are kept by rejection: the states that broke one
    are forbidden together. Derived columns are linearised at the row and verified, with more gain asked for until the
    decision flips. The figure `proven` is 1 where the distance is the least there is in the answer's months (up to the
    six digits of numbers without a step), and 0 where one of these was needed, or the solver reached its limit of
    10,000 nodes.

    Departures from the publication: the score must exceed the boundary by the margin, steps are part of the program
    (values are not rounded afterwards), an indicator's MAD, which is 0 for most, is replaced by 0.6745 standard
    deviations, and a level with an order is as far away as its position.

    Parameters
    ----------
    schema
        What the columns are; None infers it from the training data.
    laws
        The laws of the data that answers keep like rules: `"found"` takes those of the schema or, if it has none, finds
        those of the training rows; None keeps none; a list of rules is kept as it is.
    budget
        The most rows the model is asked about for each row explained.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real rows of the desired class.
    random_state
        Not used: the method is deterministic.

    References
    ----------
    C. Russell: Efficient Search for Diverse Coherent Explanations, FAT* 2019.
    """

    citation = "russell2019efficient"
    own_figures = ("distance", "proven")

    def prepare(self, population: Population) -> None:
        self.spread_ = Spread(population.schema, population.values)

    def inspect(self, decided: DecidedPopulation) -> LinearScore:
        try:
            return linear_score(decided.goal, decided.population.values)
        except StructureError as error:
            raise ModelError(
                f"Russell takes {ACCEPTED}, but {error}; ActionableRecourse takes any classifier by local linear "
                "models, and so does GrowingSpheres without them"
            ) from error

    def _batch_size(self, n: int, inspected: Any) -> int:
        return _ROWS_AT_ONCE

    def search(self, problem: Problem) -> Answers:
        score: LinearScore = problem.inspected
        region, ledger = problem.region, problem.ledger
        own, signatures = factual_scores(problem, score), Signatures(region)
        status = [Status.OUT_OF_REACH] * len(problem)
        found: list[tuple[int, _Nearest]] = []
        both = problem.price + problem.goal.last_questions
        for i in range(len(problem)):
            # every option is asked about here, and again in the last check
            affordable = min(problem.options, int(ledger.left[i]) // both)
            if affordable < 1:
                status[i] = Status.BUDGET_SPENT
                continue
            polytope = MixedPolytope(region, i, score, self.spread_, signatures, affordable)
            diverse = _Diverse(problem, polytope, score, i, score.threshold - float(own[i]))
            found += [(i, nearest) for nearest in diverse.options(affordable)]
        rows = np.array([nearest.row for _, nearest in found]).reshape(-1, len(region.schema))
        owners = np.array([i for i, _ in found], dtype=np.intp)
        good = problem.accepts(rows, owners)
        for i in owners[good]:
            status[i] = Status.FOUND
        distance = np.array([nearest.distance for _, nearest in found])[good]
        proven = np.array([nearest.proven for _, nearest in found], dtype=np.float64)[good]
        figures = {"distance": np.round(distance, 6), "proven": proven}
        return Answers(rows[good], owners[good], distance, status, figures)


class _Diverse:
    """The options of one row, the nearest first."""

    def __init__(self, problem: Problem, polytope: MixedPolytope, score: LinearScore, i: int, lacking: float) -> None:
        self._region, self._polytope, self._score = problem.region, polytope, score
        self._owner, self._own = np.array([i]), problem.region.start[i]
        self._deadline = problem.ledger.deadline
        self._lacking, self._cut = lacking, False

    def options(self, most: int) -> Iterator[_Nearest]:
        restricted: frozenset[int] = frozenset()
        answer = self._solve(restricted)
        seen: set[bytes] = set()
        while answer is not None and answer.row.tobytes() not in seen:
            yield answer
            seen.add(answer.row.tobytes())
            if len(seen) == most:
                return
            answer, restricted = self._unlike(answer, restricted)

    def _unlike(self, answer: _Nearest, restricted: frozenset[int]) -> tuple[_Nearest, frozenset[int]]:
        """The answer after each change of this one is forbidden in turn; what leaves no answer is allowed again."""
        row = answer.row
        for j in np.flatnonzero(self._region.changed(row[None], self._owner)[0]):
            without = restricted | {self._polytope.variable(int(j), row)}
            other = self._solve(without)
            if other is not None:
                answer, restricted = other, without
        return answer, restricted

    def _solve(self, restricted: frozenset[int]) -> _Nearest | None:
        """The nearest record in final form that keeps every rule and meets the goal by its score."""
        region, owner = self._region, self._owner
        need = self._lacking + _NUDGE * max(1.0, abs(self._lacking), abs(self._score.threshold))
        for attempt in range(_TRIES):
            solved = self._polytope.solve(need, restricted, self._deadline.seconds_left)
            if solved is None:
                return None
            proposed, solution = solved
            rejected = self._broken(proposed)
            for columns in rejected:
                self._polytope.forbid_together(columns, proposed)
            if rejected:
                self._cut = True
                continue
            row = region.final_form(proposed[None], owner)
            short = self._lacking - self._gained(row[0])
            if short > 0:
                need += max(1.05 * short, _NUDGE * max(1.0, abs(need)))
            elif region.allows(row, owner)[0] and region.changed(row, owner).any():
                proven = solution.proven and attempt == 0 and not self._cut
                return _Nearest(row[0], solution.value, proven)
            else:
                return None
        return None

    def _broken(self, row: np.ndarray) -> list[list[int]]:
        """The columns of each rule that is not part of the program and that this row violates."""
        region = self._region
        kept = region.kept(region.derived(row[None], self._own[None]), self._owner)[0]
        return [
            [region.schema.position(name) for name in rule.names]
            for rule, good in zip(region.book.rules, kept, strict=True)
            if not good and rule not in self._polytope.linear
        ]

    def _gained(self, row: np.ndarray) -> float:
        """What the changed cells add to the score."""
        changed = np.flatnonzero(~unchanged(row, self._own))
        return float(
            sum(self._score.weight(j, row[[j]])[0] - self._score.weight(j, self._own[[j]])[0] for j in changed.tolist())
        )


class Spread:
    """The unit of change of each column: the MAD of its numbers or positions, and of the indicators of its states.

    Where the MAD is 0, as it is for most indicators, it is replaced by 0.6745 standard deviations, the MAD of a normal
    distribution; where that is 0 too, by 1 for a column, and for an indicator as if one training row differed.
    """

    def __init__(self, schema: Schema, values: np.ndarray) -> None:
        self.scale = np.ones(len(schema))
        self.middle = np.zeros(len(schema))
        self.states: list[dict[float, float]] = []
        for j, feature in enumerate(schema):
            known = values[ordinary(feature, values[:, j]), j]
            if feature.ordered and len(known):
                self.middle[j] = np.median(known)
                deviation = float(np.median(np.abs(known - self.middle[j])))
                self.scale[j] = deviation or 0.6745 * float(known.std()) or 1.0
            states = [*feature.special, *range(len(feature.levels)), math.nan]
            self.states.append({_key(state): self._indicator(values[:, j], state) for state in states})

    @staticmethod
    def _indicator(cells: np.ndarray, state: float) -> float:
        share = float(np.mean(np.isnan(cells) if math.isnan(state) else cells == state))
        share = min(max(share, 1 / len(cells)), 1 - 1 / len(cells))
        return 1 / (0.6745 * math.sqrt(share * (1 - share)))


def _key(cell: float) -> float:
    """A cell as a key of a dictionary, in which NaN has one place."""
    return -math.inf if math.isnan(cell) else float(cell)


@dataclass
class _Feature:
    """The variables of one feature, and the terms of its value where it holds another number."""

    states: dict[State, int] = field(default_factory=dict)
    value: Terms = field(default_factory=dict)


class MixedPolytope:
    """The program of row i: `solve` gives the nearest record that gains enough under the restrictions given."""

    def __init__(
        self, region: Region, i: int, score: LinearScore, spread: Spread, signatures: Signatures, options: int
    ) -> None:
        self._region, self._i, self._score, self._spread = region, i, score, spread
        self._signatures, self._options = signatures, options
        self._slopes = self._slopes_with_derived()
        self._variables: list[tuple[float, float, bool]] = []
        """The cost of each variable, its largest value, and whether it is an integer."""
        self._conditions: list[tuple[Terms, float, float]] = []
        self._gain: Terms = {}
        self._features = {int(j): self._feature(int(j)) for j in region.schema.free_columns if not region.frozen[i, j]}
        stays = {feature.states[OWN]: 1.0 for feature in self._features.values()}
        self._conditions.append((stays, len(stays) - float(region.max_changes[i]), math.inf))
        self.linear = [rule for rule in region.binding(i) if self._is_linear(rule)]
        for rule in self.linear:
            for linear in linear_rules(rule, region.schema):
                self._add_rule(linear)

    def _is_linear(self, rule: Rule) -> bool:
        """Whether a rule is a condition of the program: one about a column that follows others is checked later."""
        columns = {self._region.schema.position(name) for name in rule.names}
        return is_linear(rule, self._region.schema) and not columns & self._region.book.following

    def _variable(self, cost: float, high: float, whole: bool) -> int:
        self._variables.append((cost, high, whole))
        return len(self._variables) - 1

    def _feature(self, j: int) -> _Feature:
        region, i = self._region, self._i
        description, own = region.schema.features[j], float(region.start[i, j])
        is_state = math.isnan(own) or own in description.special
        leaving = self._spread.states[j][_key(own)] if is_state or not description.ordered else 0.0
        before = float(self._score.weight(j, np.array([own]))[0])
        made = _Feature({OWN: self._variable(0.0, 1.0, True)})
        if description.numeric:
            codes = list(description.special)
            allowed = region.states[j][i] if codes else np.ones(1, dtype=bool)
            goals = np.array([code for code, may in zip(codes, allowed, strict=False) if may], dtype=np.float64)
            if allowed[-1]:
                self._add_value(made, j, own if not is_state else None, before, leaving)
        else:
            goals = np.flatnonzero(region.levels(j)[i]).astype(np.float64)
        gain = self._score.weight(j, goals) - before
        other = (goals != own) & ~np.isnan(gain)
        goals, gain = goals[other], gain[other]
        cost = self._state_costs(j, own, goals) + leaving
        best = unbeaten(cost, gain, self._signatures.of(j, goals), self._options)
        for state, price, gained in zip(*(array[best].tolist() for array in (goals, cost, gain)), strict=True):
            made.states[state] = self._variable(price, 1.0, True)
            self._gain[made.states[state]] = gained
        self._conditions.append((dict.fromkeys(made.states.values(), 1.0), 1.0, 1.0))
        return made

    def _state_costs(self, j: int, own: float, states: np.ndarray) -> np.ndarray:
        """What it costs to enter each state, (n,)."""
        description = self._region.schema.features[j]
        if not description.numeric and description.ordered and not math.isnan(own):
            return np.asarray(np.abs(states - own) / self._spread.scale[j])
        return np.array([self._spread.states[j][state] for state in states.tolist()])

    def _add_value(self, made: _Feature, j: int, own: float | None, before: float, leaving: float) -> None:
        """The state “another number” and its moves; see the formulas at the top of this file.

        The centre is the row's own value, or the median where it has none; on the grid and within the limits.
        """
        region, step = self._region, self._region.schema.features[j].step
        low, high = float(region.low[self._i, j]), float(region.high[self._i, j])
        start = float(self._spread.middle[j]) if own is None else own
        centre = min(max(start, low), high)
        if step is not None:
            centre = float(snapped(np.array([start]), step, np.array([low]), np.array([high]))[0])
        if not (low <= centre <= high) or math.isinf(high - low) or math.isnan(before):
            return
        scale = float(self._spread.scale[j])
        unit = scale if step is None else step
        room = [max(high - centre, 0.0) / unit, max(centre - low, 0.0) / unit]
        if step is not None:
            room = [float(math.floor(way + _MULTIPLE)) for way in room]
        off_centre = abs(centre - own) / scale if own is not None else 0.0
        here = self._variable(leaving + off_centre, 1.0, True)
        up, down = (self._variable(unit / scale, way, step is not None) for way in room)
        made.states[VALUE] = here
        made.value = {here: centre, up: unit, down: -unit}
        # moves only where the cell is a number, and not both ways at once
        moves = {variable: 1 / way for variable, way in zip((up, down), room, strict=True) if way > 0}
        self._conditions.append(({**moves, here: -1.0}, -math.inf, 0.0))
        entered = float(self._score.slopes[j] * centre - before)
        slope = float(self._slopes[j])
        self._gain |= {here: entered, up: slope * unit, down: -slope * unit}

    def _slopes_with_derived(self) -> np.ndarray:
        """What one unit more of each column adds to the score, derived columns included as they move here, (d,)."""
        region, scale, slopes = self._region, self._spread.scale, self._score.slopes.copy()
        derived = [one.column for one in region.book.derivations if slopes[one.column]]
        if derived:
            own = np.repeat(region.start[[self._i]], len(slopes), axis=0)
            change = (region.book.derive(own + np.diag(scale), own) - own)[:, derived]
            slopes += (self._score.slopes[derived] * np.where(np.isfinite(change), change, 0.0)).sum(axis=1) / scale
        return slopes

    def _add_rule(self, rule: LinearRule) -> None:
        """A linear rule as a condition on the cells; a missing or special cell lifts it (big-M)."""
        region = self._region
        weights, low, high = rule
        terms: Terms = {}
        fixed, most, lifting = 0.0, 1.0, []
        for j, weight in weights.items():
            description, own = region.schema.features[j], float(region.start[self._i, j])
            known = bool(ordinary(description, np.array([own]))[0])
            limits = (region.low[self._i, j], region.high[self._i, j], own if known else 0.0)
            most += abs(weight) * max(map(abs, limits))
            made = self._features.get(j)
            if made is None:
                if not known:
                    return
                fixed += weight * own
                continue
            for state, variable in made.states.items():
                if state == VALUE or (state == OWN and known) or (state != OWN and not description.numeric):
                    cell = own if state == OWN else state
                    if state != VALUE:
                        terms[variable] = weight * float(cell)
                else:
                    lifting.append(variable)
            for variable, coefficient in made.value.items():
                terms[variable] = weight * coefficient
        if not math.isfinite(most):
            return
        for side, sign in ((high, 1.0), (low, -1.0)):
            if math.isfinite(side):
                room = 2 * (most + abs(side))
                row = {variable: sign * value for variable, value in terms.items()}
                row |= {variable: -room for variable in lifting}
                self._conditions.append((row, -math.inf, sign * (side - fixed)))

    def forbid_together(self, columns: list[int], row: np.ndarray) -> None:
        """A cut: these columns may not be in the states they have in a rejected row all at once."""
        states = [self.variable(j, row) for j in columns if j in self._features]
        self._conditions.append((dict.fromkeys(states, 1.0), -math.inf, len(states) - 1.0))

    def variable(self, j: int, row: np.ndarray) -> int:
        """The variable of the state that column j has in a row."""
        own, cell = self._region.start[self._i, j], float(row[j])
        states, description = self._features[j].states, self._region.schema.features[j]
        if cell == own or (math.isnan(cell) and math.isnan(own)):
            return states[OWN]
        return states[VALUE if description.numeric and cell not in description.special else cell]

    def solve(self, need: float, restricted: frozenset[int], seconds: float) -> tuple[np.ndarray, Solution] | None:
        """The nearest record that gains `need` with these variables at 0, and the solution; None for none.

        `seconds` is the most time that the solver may take.
        """
        rows = [(self._gain, need, math.inf), *self._conditions]
        entries = [(r, variable, value) for r, (terms, _, _) in enumerate(rows) for variable, value in terms.items()]
        places, variables, coefficients = (np.array(part) for part in zip(*entries, strict=True))
        matrix = csr_array((coefficients, (places, variables)), shape=(len(rows), len(self._variables)))
        conditions = [LinearConstraint(matrix, [low for _, low, _ in rows], [top for _, _, top in rows])]
        cost, high, whole = (np.array(part) for part in zip(*self._variables, strict=True))
        high[list(restricted)] = 0.0
        solution = solve(cost, conditions, upper=high, integral=whole, seconds=seconds)
        return None if solution.x is None else (self._row(solution.x), solution)

    def _row(self, solution: np.ndarray) -> np.ndarray:
        row: np.ndarray = self._region.start[self._i].copy()
        for j, made in self._features.items():
            state = max(made.states, key=lambda name: solution[made.states[name]])
            if state == VALUE:
                row[j] = sum(coefficient * solution[variable] for variable, coefficient in made.value.items())
            elif state != OWN:
                row[j] = state
        return row
