"""How far answers are from the guarded optimum, proven, for linear models and a guard that asks for closeness.

An answer that passes such a guard lies in a ball around a real row. The least cost over all balls, by
`ball_program`, is a bound that no guarded answer undercuts, whatever else the guard asks for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from attain.methods import Guarded
from attain.methods.guarded.guard_context import GuardContext
from attain.methods.guarded.search import Costs
from attain.models import Goal
from attain.models.encoding import StructureError
from attain.models.scores import LinearScore, decision_scores, linear_score
from attain.population.reference import Reference
from attain.population.space import gap
from attain.results.counterfactuals import Counterfactuals
from attain.schema import Constraints
from attain.tables import NOT_A_RULE, Region, on_grid, ordinary, unchanged
from experiments.research.ball_program import NODES, BallProgram, ColumnOptions, Proof

_SLACK = 1e-8
"""How much less score, and how much more squared distance, than asked for is accepted, relative to the request."""
_DECIMALS = 6
_MOST_VALUES = 1_000
"""The most values of a number: every multiple of its step, or else values of training rows."""
_MOST_DISTANCES = 30_000_000
"""The most distances between a row's options and cells of real rows; beyond it there is no certificate."""


def certificate(
    explainer: Guarded,
    model: Any,
    result: Counterfactuals,
    *,
    constraints: Constraints | Mapping[str, Any] | None = None,
    balls: int = 200,
) -> pd.DataFrame:
    """For each answer, how far it is from the guarded optimum, proven: for linear models and `guard="connected"`.

    A record that passes the guard lies within its distance limit of a real row: in a ball around it. The bound is the
    least cost of a record that flips the decision, keeps the rules of its columns and lies in any ball. Rules between
    features and outlier factors take no part, so no guarded answer costs less. Numbers take every multiple of their
    step or, where that is too many or there is no step, values of training rows.

    Parameters
    ----------
    explainer, model, result, constraints
        The guarded search, the model and the constraints that the answers were made with; the best option of each row
        is used. Answers of other methods are taken, too.
    balls
        The most balls searched for each row; few have to be.

    Returns
    -------
    pd.DataFrame
        One row per answer: `cost`, the answer's total shift plus `max_shift_weight` times its largest plus
        `change_weight` for each change, by the percentiles that the search uses; `bound`, which no guarded answer
        undercuts; `gap` between them; `certified`, whether the bound is exactly the least over all balls; `least`, the
        cost of the easiest record found in a ball; `balls`, how many were searched; and `reason`, why an answer is not
        certified. An answer that is unusual is compared with all that are as unusual.
    """
    session = explainer.session(model, target=result.target, probability=result.probability)
    goal = session.goal.anew(result.table.layout.unseen)
    region = Region.of(result.table, Constraints.of(constraints), explainer.observed_)
    region, costs, months = explainer._weighted(region), explainer._costs, explainer.month_weight or 0.0
    certifier = _Certifier(goal, session.inspected, explainer._rates, costs, region, months, explainer.table_.values)
    owners = np.flatnonzero(result.found)
    cost, bound, least = (np.full(len(result), math.nan) for _ in range(3))
    cost[owners] = costs.of(result.answers[owners], owners, region)
    cost[owners] += months * region.months(result.answers[owners], owners)
    searched = np.zeros(len(result), dtype=np.int64)
    reasons = ["there is no answer"] * len(result)
    for i, (proof, reason) in zip(owners.tolist(), certifier.proofs(result.answers, owners, balls), strict=True):
        reasons[i] = reason
        if proof is not None:
            bound[i], least[i], searched[i] = proof.bound, proof.least, proof.balls
    return pd.DataFrame(
        {
            "cost": np.round(cost, _DECIMALS),
            "bound": np.round(bound, _DECIMALS),
            "gap": np.round(cost - bound, _DECIMALS) + 0.0,
            "certified": [not reason for reason in reasons],
            "least": np.round(least, _DECIMALS),
            "balls": searched,
            "reason": [f"not certified: {reason}" if reason else "" for reason in reasons],
        },
        index=pd.Index(result.table.labels),
    )


@dataclass(frozen=True)
class _Certifier:
    """Proofs for answers to one goal.

    `rates` are those at which an answer is typical, and unusual; `months` is what each month costs; `values` are the
    training rows (n, d).
    """

    goal: Goal
    context: GuardContext
    rates: tuple[float, float]
    costs: Costs
    region: Region
    months: float
    values: np.ndarray

    def proofs(self, answers: np.ndarray, owners: np.ndarray, limit: int) -> Iterator[tuple[Proof | None, str]]:
        """For each owner what is proven about its answer, if anything, and why it is not certified, if so."""
        obstacle = self._obstacle()
        if obstacle:
            yield from ((None, obstacle) for _ in owners)
            return
        score, region = linear_score(self.goal, self.values), self.region
        programs = BallPrograms(self.costs, region, score, self.context.guard.reference, self.values)
        own_score = score.score(region.factuals[owners])
        unknown = np.flatnonzero(np.isnan(own_score))  # a cell is missing that is never missing in training rows
        if unknown.size:
            own_score[unknown] = decision_scores(self.goal, region.factuals[owners[unknown]])
        radii = self._radii(answers[owners])
        for i, score_of, radius in zip(owners.tolist(), own_score.tolist(), radii.tolist(), strict=True):
            obstacle = self._row_obstacle(i, radius)
            program = None if obstacle else programs.program(i, score_of, answers[i], radius)
            if program is None:
                yield None, obstacle or "real rows and values are too many to look through"
                continue
            proof = program.prove(*programs.known(i, answers[i]), limit)
            yield proof, _unfinished(proof, limit)

    def _obstacle(self) -> str:
        """Why no answer can be certified; empty if some can."""
        if not self.context.known:
            return "too few real rows of the desired class are known for a guard"
        setting = self.context.guard.setting
        if setting != "connected":
            return f"guard={setting!r} does not ask for closeness to a real row; guard='connected' does"
        try:
            linear_score(self.goal, self.values)
        except StructureError as error:
            return f"the model is not linear: {error}"
        return ""

    def _row_obstacle(self, i: int, radius: float) -> str:
        """Why the answer for row i cannot be certified; empty if it can."""
        region = self.region
        for j, expression in region.schema.derivations:
            if not region.frozen[i, [region.schema.position(name) for name in expression.names]].all():
                return f"{region.schema.names[j]!r} is computed from features that may change"
        if (region.high > region.factuals)[i, list(region.schema.clocks)].any():
            return "its clocks advance together, by months that are no part of the program"
        if self.months:
            return "the cost counts months"
        return "" if math.isfinite(radius) else "there is no distance limit for an answer as unusual as this one"

    def _radii(self, rows: np.ndarray) -> np.ndarray:
        """How far from a real row each answer may lie, by the strictest rate at which it passes, (n,)."""
        guard = self.context.guard
        p_value = guard.p_value(guard.score(rows)) if len(rows) else np.empty(0)
        radii = np.full(len(rows), math.inf)
        for rate in reversed(self.rates):
            radii[p_value > rate] = guard.limits(rate).distance
        return radii


def _unfinished(proof: Proof, limit: int) -> str:
    if proof.closed:
        return ""
    if proof.balls < limit:
        return "the solver left a ball unfinished; the bound holds, but may be too low"
    return f"{limit} balls were not enough; the bound holds, but may be too low: pass more balls"


@dataclass(frozen=True)
class BallPrograms:
    """The programs of the rows of a region, in balls around the rows of a reference.

    `values` are the training rows: what numbers without a step may be. `nodes` is the solver's limit.
    """

    costs: Costs
    region: Region
    score: LinearScore
    reference: Reference
    values: np.ndarray
    nodes: int = NODES

    def known(self, i: int, answer: np.ndarray) -> tuple[float, int]:
        """The cost of the answer for row i, and in which ball it lies."""
        cost = float(self.costs.of(answer[None], np.array([i]), self.region)[0])
        return cost, int(self.reference.nearest(answer[None])[1][0, 0])

    def program(self, i: int, own_score: float, answer: np.ndarray, radius: float) -> BallProgram | None:
        """The options of row i, its answer's cells among them, and the balls; None if they are too many."""
        costs, region = self.costs, self.region
        slack_sq = np.full(len(self.reference), radius**2 * (1 + _SLACK))
        columns, options = [], self._options(i, answer)
        pairs = sum(len(cells) * len(kinds) for cells, (kinds, _) in zip(options, self._kinds, strict=True))
        if pairs > _MOST_DISTANCES:
            return None
        for j, cells in enumerate(options):
            kinds, kind_of = self._kinds[j]
            gaps = self._gaps(j, cells, kinds)
            if len(cells) == 1:
                slack_sq -= gaps[0, kind_of]
                continue
            own = np.full((len(cells), 1), cells[0])
            shift = costs.percentiles.interpolated_shift(own, cells[:, None], [j])[:, 0] * region.cost[i, j]
            weights = self.score.weight(j, cells)
            gain = np.append(0.0, weights[1:] - weights[0])
            columns.append(ColumnOptions(shift, gain, gaps, kind_of).where(~np.isnan(gain)))
        need = self.score.threshold - own_score
        need -= _SLACK * max(1.0, abs(own_score), abs(self.score.threshold))
        # the solver's tolerances are absolute, so scores are brought to the size of 1
        unit = max((float(np.abs(column.gain).max()) for column in columns), default=0.0) or 1.0
        columns = [replace(column, gain=column.gain / unit) for column in columns]
        weights_of = (costs.max_shift_weight, costs.change_weight)
        return BallProgram(columns, need / unit, slack_sq, int(region.max_changes[i]), *weights_of, self.nodes)

    def _options(self, i: int, answer: np.ndarray) -> list[np.ndarray]:
        """What each cell of row i may be: its own value first, then what the rules of its column allow."""
        region = self.region
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
        """What column j of row i may be, before its rules are checked."""
        region, feature = self.region, self.region.schema.features[j]
        if not feature.numeric:
            return np.arange(len(feature.levels), dtype=np.float64)
        low, high, step = region.low[i, j], region.high[i, j], feature.step
        known = self._observed[j]
        if step is not None and (high - low) / step < _MOST_VALUES:
            known = on_grid(np.arange(math.ceil(low / step), math.floor(high / step) + 1) * step, step)
        # a value that the row's own lies nearest to is, in final form, the row's own
        place = on_grid(region.factuals[[i], j], step)
        return np.append(known[known != place], list(feature.special))

    @cached_property
    def _observed(self) -> list[np.ndarray]:
        """The values of training rows in each column of numbers, on its grid; evenly thinned if they are too many."""
        observed, most = [], _MOST_VALUES
        for j, feature in enumerate(self.region.schema):
            cells = self.values[ordinary(feature, self.values[:, j]), j] if feature.numeric else np.empty(0)
            cells = np.unique(on_grid(cells, feature.step)) if feature.numeric else cells
            at = np.linspace(0, len(cells) - 1, most).astype(np.intp) if len(cells) > most else slice(None)
            observed.append(cells[at])
        return observed

    @cached_property
    def _kinds(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each column the different cells of the reference's rows, and which of them each row has."""
        return [np.unique(column, return_inverse=True) for column in self.reference.values.T]

    def _gaps(self, j: int, cells: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Squared distances between cells of column j, (cells, others)."""
        space = self.reference.space
        rows = np.zeros((len(cells) + len(others), len(space.schema)))
        rows[:, j] = np.concatenate((cells, others))
        points, gaps = space.points(rows), np.zeros((len(cells), len(others)))
        for cell in np.flatnonzero(space.columns == j):
            column = points[:, cell]
            gaps += gap(column[: len(cells), None], column[None, len(cells) :], bool(cell < len(space.stated)))
        # a missing cell in a column that is complete in the training rows has no coordinate of its own
        return gaps + (np.isnan(cells)[:, None] if j in space.complete else 0.0)
