"""The mixed polytope of one row: each feature is a number within a range or one of its states, never a mixture.

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
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array

from attain.methods.search.integer_program import Solution, solve
from attain.methods.search.linear_rules import LinearRule, is_linear, linear_rules
from attain.methods.search.signatures import Signatures, unbeaten
from attain.models.structure.linear import LinearScore
from attain.schema import Rule, Schema
from attain.tables import Region, ordinary, snapped

OWN = "own"
VALUE = "value"
State = str | float
Terms = dict[int, float]

_MULTIPLE = 1e-9
"""How far from an integer a limit may lie, in steps, and still count as one."""


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
        self._cost: list[float] = []
        self._high: list[float] = []
        self._whole: list[bool] = []
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
        return is_linear(rule, self._region.schema) and not columns & self._region.following

    def _variable(self, cost: float, high: float, whole: bool) -> int:
        self._cost.append(cost)
        self._high.append(high)
        self._whole.append(whole)
        return len(self._cost) - 1

    def _feature(self, j: int) -> _Feature:
        region, i = self._region, self._i
        description, own = region.schema.features[j], float(region.factuals[i, j])
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
        goals, gain = (some[(goals != own) & ~np.isnan(gain)] for some in (goals, gain))
        cost = self._state_costs(j, own, goals) + leaving
        best = unbeaten(cost, gain, self._signatures.of(j, goals), self._options)
        for state, price, gained in zip(*(some[best].tolist() for some in (goals, cost, gain)), strict=True):
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
            own = np.repeat(region.factuals[[self._i]], len(slopes), axis=0)
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
            description, own = region.schema.features[j], float(region.factuals[self._i, j])
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
        states = [self._features[j].states[self.state(j, row)] for j in columns if j in self._features]
        self._conditions.append((dict.fromkeys(states, 1.0), -math.inf, len(states) - 1.0))

    def state(self, j: int, row: np.ndarray) -> State:
        """The state that column j has in a row."""
        own, cell = self._region.factuals[self._i, j], float(row[j])
        if cell == own or (math.isnan(cell) and math.isnan(own)):
            return OWN
        description = self._region.schema.features[j]
        return VALUE if description.numeric and cell not in description.special else cell

    def variable(self, j: int, row: np.ndarray) -> int:
        """The variable of the state that column j has in a row."""
        return self._features[j].states[self.state(j, row)]

    def solve(self, need: float, restricted: frozenset[int], seconds: float) -> tuple[np.ndarray, Solution] | None:
        """The nearest record that gains `need` with these variables at 0, and the solution; None for none.

        `seconds` is the most time that the solver may take.
        """
        rows = [(self._gain, need, math.inf), *self._conditions]
        entries = [(r, variable, value) for r, (terms, _, _) in enumerate(rows) for variable, value in terms.items()]
        places, variables, coefficients = (np.array(part) for part in zip(*entries, strict=True))
        matrix = csr_array((coefficients, (places, variables)), shape=(len(rows), len(self._cost)))
        high = np.array(self._high)
        high[list(restricted)] = 0.0
        solution = solve(
            np.array(self._cost),
            [LinearConstraint(matrix, [low for _, low, _ in rows], [top for _, _, top in rows])],
            upper=high,
            integral=np.array(self._whole),
            seconds=seconds,
            presolve=False,  # with it, HiGHS may print a line of its own, where a program reads our output
        )
        return None if solution.x is None else (self._row(solution.x), solution)

    def _row(self, solution: np.ndarray) -> np.ndarray:
        row: np.ndarray = self._region.factuals[self._i].copy()
        for j, made in self._features.items():
            state = max(made.states, key=lambda name: solution[made.states[name]])
            if state == VALUE:
                row[j] = sum(coefficient * solution[variable] for variable, coefficient in made.value.items())
            elif state != OWN:
                row[j] = state
        return row
