"""How far answers are from the guarded optimum, proven, for linear models and a guard that asks for closeness.

An answer that such a guard lets through lies in a ball round a real person. The least cost over all balls, found by
`certificate_program`, is a bound that no guarded answer undercuts, whatever else the guard asks for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from attain.core.errors import AttainError
from attain.core.frames import Frame
from attain.methods.guarded.balls import Coordinates
from attain.methods.guarded.certificate_program import BallProgram, Column, Proof
from attain.methods.guarded.guarding import Guarding
from attain.methods.guarded.objective import Objective
from attain.models import GoalLike
from attain.models.structure.encoding import StructureError
from attain.models.structure.linear import LinearScore, decision_scores, linear_score
from attain.population.guard import Guard
from attain.population.reference import Reference
from attain.results.counterfactuals import Counterfactuals
from attain.tables import NOT_A_RULE, on_grid, ordinary, unchanged

_VALUES: Final = 1_000
"""A number takes at most so many values: every multiple of its step, or else what training people have."""
_DISTANCES: Final = 30_000_000
"""So many distances between a person's options and what real people have are kept in memory, at most."""
_SLACK: Final = 1e-8
"""How much less score, and how much more squared distance, than asked for is let through, relative to the request."""
_DECIMALS: Final = 6


def certificate(
    result: Counterfactuals,
    goal: GoalLike,
    guarding: Guarding,
    rates: tuple[float, float],
    objective: Objective,
    values: np.ndarray,
    limit: int,
) -> Frame:
    """One row a person: what their answer costs, what any guarded answer costs at least, and what is proven.

    `rates` are those at which an answer is typical, and unusual; `values` the training rows.
    """
    people = np.flatnonzero(result.found)
    _check(result, goal, objective, people)
    cost, bound, least = (np.full(len(result), math.nan) for _ in range(3))
    cost[people] = objective.cost(result.answers[people], people)
    balls = np.zeros(len(result), dtype=np.int64)
    reasons = ["there is no answer"] * len(result)
    for i, (proof, reason) in zip(
        people.tolist(), _proofs(result.answers, people, goal, guarding, rates, objective, values, limit), strict=True
    ):
        reasons[i] = reason
        if proof is not None:
            bound[i], least[i], balls[i] = proof.bound, proof.least, proof.balls
    columns: dict[str, Any] = {
        "cost": np.round(cost, _DECIMALS),
        "bound": np.round(bound, _DECIMALS),
        "gap": np.round(cost - bound, _DECIMALS) + 0.0,
        "certified": np.array([not reason for reason in reasons], dtype=bool),
        "least": np.round(least, _DECIMALS),
        "balls": balls,
        "reason": [f"not certified: {reason}" if reason else "" for reason in reasons],
    }
    library = result.table.layout.library
    return library.make(columns, index=library.index(result.table.source))


def _proofs(
    answers: np.ndarray,
    people: np.ndarray,
    goal: GoalLike,
    guarding: Guarding,
    rates: tuple[float, float],
    objective: Objective,
    values: np.ndarray,
    limit: int,
) -> Iterator[tuple[Proof | None, str]]:
    """For each of these people what is proven of their answer, if anything, and why it is not certified, if so."""
    guard, obstacle = guarding.guard, _obstacle(goal, guarding, values)
    if guard is None or obstacle:
        yield from ((None, obstacle) for _ in people)
        return
    certifier = Certifier(objective, linear_score(goal, values), guard.people, values)
    scores = _own_scores(certifier.score, goal, values, objective.region.factuals[people])
    radii = _radii(guard, rates, answers[people])
    for i, score, radius in zip(people.tolist(), scores.tolist(), radii.tolist(), strict=True):
        obstacle = _own_obstacle(objective, i, radius)
        program = None if obstacle else certifier.program(i, score, answers[i], radius)
        if program is None:
            yield None, obstacle or "real people and values are too many to be looked through"
            continue
        proof = program.prove(*certifier.known(i, answers[i]), limit)
        yield proof, _unfinished(proof, limit)


def _check(result: Counterfactuals, goal: GoalLike, objective: Objective, people: np.ndarray) -> None:
    """Refuses answers that were made for something else."""
    rows, labels = result.answers[people], result.table.labels
    refused = people[~goal.decide(rows).met]
    if refused.size:
        raise AttainError(
            f"result has an answer of person {labels[refused[0]]!r} that this model does not decide "
            f"{result.target!r} for; pass the model that the answers were made for"
        )
    broken = people[~objective.region.allows(rows, people)]
    if broken.size:
        raise AttainError(
            f"result has an answer of person {labels[broken[0]]!r} that breaks the constraints; pass those that the "
            "answers were made with"
        )


def _obstacle(goal: GoalLike, guarding: Guarding, values: np.ndarray) -> str:
    """Why nobody's answer can be certified; empty where some can."""
    if guarding.guard is None:
        return "too few real people of the desired class are known for a guard"
    if guarding.guard.setting != "connected":
        return f"guard={guarding.guard.setting!r} asks for no closeness to a real person; guard='connected' does"
    try:
        linear_score(goal, values)
    except StructureError as error:
        return f"the model is not linear: {error}"
    return ""


def _own_obstacle(objective: Objective, i: int, radius: float) -> str:
    """Why this person's answer cannot be certified; empty where it can."""
    region = objective.region
    for j, expression in region.schema.derivations:
        if not region.frozen[i, [region.schema.position(name) for name in expression.names]].all():
            return f"{region.schema.names[j]!r} is computed from features that may change"
    return "" if math.isfinite(radius) else "no distance limit holds for an answer as unusual as this one"


def _unfinished(proof: Proof, limit: int) -> str:
    if proof.closed:
        return ""
    if proof.balls < limit:
        return "the solver left a ball unfinished; the bound holds, but may be too low"
    return f"{limit} balls were not enough; the bound holds, but may be too low: pass more balls"


def _radii(guard: Guard, rates: Sequence[float], rows: np.ndarray) -> np.ndarray:
    """How far from a real person each answer may lie, by the strictest rate at which it is let through."""
    p_value = guard.p_value(guard.score(rows)) if len(rows) else np.empty(0)
    radii = np.full(len(rows), math.inf)
    for rate in reversed(rates):
        radii[p_value > rate] = guard.limits(rate).distance
    return radii


def _own_scores(score: LinearScore, goal: GoalLike, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The score of each person, by the model itself where a cell is missing that no training person misses."""
    own = score.score(rows)
    unknown = np.flatnonzero(np.isnan(own))
    if unknown.size:
        own[unknown] = decision_scores(goal, rows[unknown])
    return own


@dataclass(frozen=True)
class Certifier:
    """Proofs for the people of a region, about balls round the people of a reference.

    `values` are the training rows: what numbers without a step may be.
    """

    objective: Objective
    score: LinearScore
    reference: Reference
    values: np.ndarray

    def known(self, i: int, answer: np.ndarray) -> tuple[float, int]:
        """What the answer of person i costs, and in whose ball it lies."""
        cost = float(self.objective.cost(answer[None], np.array([i]))[0])
        return cost, int(self.reference.nearest(answer[None])[1][0, 0])

    def program(self, i: int, own_score: float, answer: np.ndarray, radius: float) -> BallProgram | None:
        """The options of person i, what their answer has among them, and the balls; None where that is too much."""
        region, largest, number = self.objective.region, self.objective.largest, self.objective.number
        room = np.full(len(self.reference), radius**2 * (1 + _SLACK))
        columns, options = [], self._options(i, answer)
        if sum(len(cells) * len(kinds) for cells, (kinds, _) in zip(options, self._kinds, strict=True)) > _DISTANCES:
            return None
        for j, cells in enumerate(options):
            kinds, whose = self._kinds[j]
            gaps = self._gaps(j, cells, kinds)
            if len(cells) == 1:
                room -= gaps[0, whose]
                continue
            own = np.full((len(cells), 1), cells[0])
            shift = self.objective.percentiles.interpolated_shift(own, cells[:, None], [j])[:, 0] * region.cost[i, j]
            weights = self.score.weight(j, cells)
            gain = np.append(0.0, weights[1:] - weights[0])
            columns.append(Column(shift, gain, gaps, whose).where(~np.isnan(gain)))
        need = self.score.threshold - own_score
        need -= _SLACK * max(1.0, abs(own_score), abs(self.score.threshold))
        # the solver's tolerances are absolute: scores of any size are brought to 1
        unit = max((float(np.abs(column.gain).max()) for column in columns), default=0.0) or 1.0
        columns = [replace(column, gain=column.gain / unit) for column in columns]
        return BallProgram(columns, need / unit, room, int(region.max_changes[i]), largest, number)

    def _options(self, i: int, answer: np.ndarray) -> list[np.ndarray]:
        """What each cell of person i may be: their own first, then what the rules of its column allow."""
        region = self.objective.region
        schema, own = region.schema, region.factuals[i]
        options = [
            np.empty(0) if region.frozen[i, j] else np.unique(np.append(self._cells(i, j), answer[j]))
            for j in range(len(schema))
        ]
        columns = np.repeat(np.arange(len(schema)), [len(cells) for cells in options])
        cells = np.concatenate(options)
        rows = np.repeat(own[None], len(cells), axis=0)
        rows[np.arange(len(cells)), columns] = cells
        broken = region.violations(rows, np.full(len(cells), i))
        allowed = ~np.logical_or.reduce([broken[kind] for kind in NOT_A_RULE]) & ~unchanged(cells, own[columns])
        return [np.append(own[j], cells[allowed & (columns == j)]) for j in range(len(schema))]

    def _cells(self, i: int, j: int) -> np.ndarray:
        """What column j may hold, for person i, before its rules are asked."""
        region, feature = self.objective.region, self.objective.region.schema.features[j]
        if not feature.numeric:
            return np.arange(len(feature.levels), dtype=np.float64)
        low, high, step = region.low[i, j], region.high[i, j], feature.step
        known = self._known[j]
        if step is not None and (high - low) / step < _VALUES:
            known = on_grid(np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step, step)
        # a value that the person's own lies nearest to is, in final form, their own
        place = on_grid(region.factuals[[i], j], step)
        return np.append(known[known != place], list(feature.special))

    @cached_property
    def _known(self) -> list[np.ndarray]:
        """The values that training people have in each column of numbers, on its grid."""
        return [
            _some(np.unique(on_grid(self.values[ordinary(feature, self.values[:, j]), j], feature.step)))
            if feature.numeric
            else np.empty(0)
            for j, feature in enumerate(self.objective.region.schema)
        ]

    @cached_property
    def _kinds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each column the different cells that the reference's people have, and who has which."""
        return [np.unique(column, return_inverse=True) for column in self.reference.values.T]

    @cached_property
    def _coordinates(self) -> Coordinates:
        return Coordinates(self.reference)

    def _gaps(self, j: int, cells: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Squared distances between cells of column j."""
        space = self.reference.space
        rows = np.zeros((len(cells) + len(others), len(space.schema)))
        rows[:, j] = np.concatenate((cells, others))
        points = space.transform(rows)[:, self._coordinates.of[j]]
        gaps: np.ndarray = ((points[: len(cells), None] - points[None, len(cells) :]) ** 2).sum(axis=2)
        # a cell missing where nobody's was foreseen to be has no coordinate of its own
        return gaps + (np.isnan(cells)[:, None] if j in space.complete else 0.0)


def _some(values: np.ndarray) -> np.ndarray:
    """The values, or some of them, evenly spread, where they are too many."""
    if len(values) <= _VALUES:
        return values
    return values[np.linspace(0, len(values) - 1, _VALUES).astype(np.intp)]
