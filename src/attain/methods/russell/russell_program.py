"""The mixed polytope of one person: each feature is a number within a range or one of its states, never a mixture.

For each free feature one binary variable a state (its own cell, another value, each special code or level it may go
to), one of which is 1, and for numbers how far the value moves up and down, in units of the feature's spread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from attain.methods.recourse.actions import linear_rule
from attain.models.structure.linear import LinearScore
from attain.schema import Rule, Schema
from attain.tables import Region, ordinary, snapped

OWN = "own"
VALUE = "value"
State = str | float
Terms = dict[int, float]

_NODES = 10_000
"""The most nodes HiGHS may open; then its best record so far is taken."""
_MULTIPLE = 1e-9
"""How far from a whole number a limit may lie, in steps, and still count as one."""


def in_program(rule: Rule, schema: Schema) -> bool:
    """Whether a rule is linear, so that the program keeps it."""
    return rule.condition is None and all(linear_rule(c, schema) is not None for c in rule.consequence.comparisons)


class Spread:
    """How much a unit of change is, from the training data: the MAD of numbers and orders, and of indicators.

    Where the MAD is 0, as it is for most indicators, 0.6745 standard deviations stand in, which is the MAD of a normal
    distribution; where that is 0 too, 1 for a column and one person's share for an indicator.
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
    """The program of one person: `solve` gives the nearest record that gains enough under the restrictions given."""

    def __init__(self, region: Region, i: int, score: LinearScore, spread: Spread) -> None:
        self._region, self._i, self._score, self._spread = region, i, score, spread
        self._cost: list[float] = []
        self._high: list[float] = []
        self._whole: list[bool] = []
        self._conditions: list[tuple[Terms, float, float]] = []
        self._gain: Terms = {}
        self._features = {int(j): self._feature(int(j)) for j in region.schema.free_columns if not region.frozen[i, j]}
        stays = {feature.states[OWN]: 1.0 for feature in self._features.values()}
        self._conditions.append((stays, len(stays) - float(region.max_changes[i]), math.inf))
        for rule in region.schema.parsed_rules:
            if in_program(rule, region.schema):
                for comparison in rule.consequence.comparisons:
                    row = linear_rule(comparison, region.schema)
                    assert row is not None
                    self._add_rule(*row)

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
            goals = {code: self._spread.states[j][code] for code, may in zip(codes, allowed, strict=False) if may}
            if allowed[-1]:
                self._add_value(made, j, own if not is_state else None, before, leaving)
        else:
            goals = {float(k): self._level_cost(j, own, float(k)) for k in np.flatnonzero(region.levels(j)[i])}
        for state, cost in goals.items():
            weight = float(self._score.weight(j, np.array([state]))[0])
            if state != own and not math.isnan(weight - before):
                made.states[state] = self._variable(cost + leaving, 1.0, True)
                self._gain[made.states[state]] = weight - before
        self._conditions.append((dict.fromkeys(made.states.values(), 1.0), 1.0, 1.0))
        return made

    def _level_cost(self, j: int, own: float, level: float) -> float:
        if self._region.schema.features[j].ordered and not math.isnan(own):
            return abs(level - own) / float(self._spread.scale[j])
        return self._spread.states[j][level]

    def _add_value(self, made: _Feature, j: int, own: float | None, before: float, leaving: float) -> None:
        """Another number: centre · d + unit · (up − down) within the limits; up and down count steps where there are.

        The centre is the person's own value, or the median where they have none; on the grid and within the limits.
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
        slope = self._slope(j)
        self._gain |= {here: entered, up: slope * unit, down: -slope * unit}

    def _slope(self, j: int) -> float:
        """What one unit more of column j adds to the score, derived columns included as they move here."""
        region, slope = self._region, float(self._score.slopes[j])
        derived = [k for k, _ in region.schema.derivations if self._score.slopes[k]]
        if derived:
            own = region.factuals[[self._i]]
            moved = own.copy()
            moved[0, j] += self._spread.scale[j]
            change = region.book.derive(moved, own)[0] - own[0]
            for k in derived:
                if math.isfinite(change[k]):
                    slope += float(self._score.slopes[k] * change[k] / self._spread.scale[j])
        return slope

    def _add_rule(self, weights: dict[int, float], low: float, high: float) -> None:
        """A linear rule as a condition on the cells; a missing or special cell lifts it."""
        region = self._region
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

    def solve(self, need: float, restricted: frozenset[int]) -> tuple[np.ndarray, float] | None:
        """The nearest record that gains `need` with these variables at 0, and its distance; None for none."""
        rows = [(self._gain, need, math.inf), *self._conditions]
        entries = [(r, variable, value) for r, (terms, _, _) in enumerate(rows) for variable, value in terms.items()]
        places, variables, coefficients = (np.array(part) for part in zip(*entries, strict=True))
        matrix = csr_array((coefficients, (places, variables)), shape=(len(rows), len(self._cost)))
        high = np.array(self._high)
        high[list(restricted)] = 0.0
        result = milp(
            np.array(self._cost),
            integrality=np.array(self._whole, dtype=np.int64),
            bounds=Bounds(np.zeros(len(high)), high),
            constraints=LinearConstraint(matrix, [low for _, low, _ in rows], [top for _, _, top in rows]),
            # with presolve, HiGHS may print a line of its own, where a program reads our output
            options={"mip_rel_gap": 0.0, "presolve": False, "node_limit": _NODES},
        )
        if result.x is None:
            return None
        return self._row(np.asarray(result.x)), float(result.fun)

    def _row(self, solution: np.ndarray) -> np.ndarray:
        row: np.ndarray = self._region.factuals[self._i].copy()
        for j, made in self._features.items():
            state = max(made.states, key=lambda name: solution[made.states[name]])
            if state == VALUE:
                row[j] = sum(coefficient * solution[variable] for variable, coefficient in made.value.items())
            elif state != OWN:
                row[j] = state
        return row
