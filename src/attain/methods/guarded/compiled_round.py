"""A round of the local search as one kernel, where the model is compiled: one person after the other, in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attain.core.arrays import positions
from attain.core.compiled import kernels
from attain.methods.guarded.evaluator import CandidateEvaluator, Candidates
from attain.methods.guarded.local_guard import Near
from attain.methods.guarded.objective import Costs
from attain.methods.guarded.settings import GuardedSettings
from attain.models import Goal
from attain.models.structure.compiled_trees import TreeSum
from attain.models.structure.sweeps import LinearSweep, Sweep
from attain.population.space import SpaceArrays
from attain.tables.program import Limits, Program

_KERNELS = "attain.methods.guarded.round_kernels"


class Score(NamedTuple):
    """A compiled score of one sum, of a linear model or of trees; what belongs to the other is empty.

    Attributes
    ----------
    linear
        Whether it is that of a linear model.
    least, rising
        The goal is met from this sum on, or where it is not `rising`, up to this sum.
    states
        `numeric`, `first` and `codes` of `States`, and which states only the model can be asked about.
    constant, slopes, terms, grid_terms
        A linear model: see `CellSum` and `LinearSweep`.
    trees, start, single, along
        Trees: arrays of `TreeSum` and of `TreeSweep`.
    columns, values, prices
        The grid of single changes, and what each value costs each row of the batch, (f,), (f, G) and (rows, f, G).
    """

    linear: bool
    least: float
    rising: bool
    states: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    constant: float
    slopes: np.ndarray
    terms: np.ndarray
    grid_terms: np.ndarray
    trees: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    start: np.ndarray
    single: bool
    along: tuple[np.ndarray, np.ndarray, np.ndarray]
    columns: np.ndarray
    values: np.ndarray
    prices: np.ndarray

    @classmethod
    def of(cls, sweep: Sweep, prices: np.ndarray) -> Score:
        """The score of a sweep."""
        along, grid, none = sweep.along, sweep.grid, np.empty((0, 0))
        integers, flags = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        shared = (grid.columns.astype(np.int64), np.ascontiguousarray(grid.values), prices)
        states = (along.sums.states.numeric, along.sums.states.first, along.sums.states.codes)
        if isinstance(along, LinearSweep):
            sums = along.sums
            trees = (np.empty((0, 6), dtype=np.int32), none, flags, integers, integers, none)
            return cls(
                *(True, sweep.least, sweep.rising, (*states, flags)),
                *(sums.constant, sums.slopes, sums.terms, np.ascontiguousarray(along.terms)),
                *(trees, none.ravel(), False, (integers, integers, integers)),
                *shared,
            )
        own: TreeSum = along.sums
        return cls(
            *(False, sweep.least, sweep.rising, (*states, own.refused)),
            *(0.0, none.ravel(), none.ravel(), none),
            *((own.nodes, own.thresholds, own.sides, own.roots, own.group, own.value), own.start, own.single),
            (along.place, along.every, along.right),
            *shared,
        )


class Moves(NamedTuple):
    """What versions are made: see `GuardedSettings`, and which columns are ordered, (d,)."""

    ordered: np.ndarray
    reversions: np.ndarray
    fine_reversions: np.ndarray
    attractions: np.ndarray
    combined: np.ndarray
    n_attractors: int
    n_swept: int
    n_made_up: int
    excess_weight: float

    @classmethod
    def of(cls, settings: GuardedSettings, ordered: np.ndarray, n_real: int) -> Moves:
        """The moves of some settings among so many real rows."""
        return cls(
            ordered,
            np.array(settings.reversions),
            np.array(settings.fine_reversions),
            np.array(settings.attractions),
            np.array(settings.combined, dtype=np.int64),
            min(settings.n_attractors, n_real),
            settings.n_swept,
            settings.n_made_up,
            settings.excess_weight,
        )


class Batch(NamedTuple):
    """What the kernel reads of an evaluator.

    Attributes
    ----------
    values
        The real rows, (n, d).
    max_changes, levels
        How many features each row of the batch may change, and the relaxation that it is at, (rows,) each.
    """

    program: Program
    limits: Limits
    costs: Costs
    space: SpaceArrays
    near: Near
    values: np.ndarray
    score: Score
    moves: Moves
    max_changes: np.ndarray
    levels: np.ndarray


class Found(NamedTuple):
    """The best versions of n candidates, k at most: rows (n, k, d), cost and excess (n, k), and their number (n,)."""

    rows: np.ndarray
    cost: np.ndarray
    excess: np.ndarray
    number: np.ndarray


class Like(NamedTuple):
    """The m candidates of a person: rows (m, d), merits (m,), shifts (m, f), and terms of a linear model (m, d)."""

    rows: np.ndarray
    merits: np.ndarray
    shifts: np.ndarray
    terms: np.ndarray


@dataclass(frozen=True)
class CompiledRound:
    """A round of the local search of an evaluator's batch, by the kernel.

    It makes the versions that `local_search` describes, one person's after the other's, and puts them to the rules, the
    guard and the compiled model.
    """

    evaluator: CandidateEvaluator
    kernel: Any
    batch: Batch

    @classmethod
    def of(cls, evaluator: CandidateEvaluator) -> CompiledRound | None:
        """None where the kernel cannot be used: without a compiled model of one sum, with clocks or with slack."""
        problem, compiled, changes = evaluator.problem, kernels(_KERNELS), evaluator.single_changes
        region, reference, objective = problem.region, evaluator.guard.reference, evaluator.objective
        program = region.book.program
        if compiled is None or changes is None or region.schema.clocks or not objective.compilable:
            return None
        if not isinstance(problem.goal, Goal) or problem.slack is not None or problem.price != 1:
            return None
        assert evaluator.local_guard is not None
        assert program is not None
        near = evaluator.local_guard.near(evaluator.limits)
        batch = Batch(
            *(program, region.arrays, objective.arrays, reference.space.for_kernels, near, reference.values),
            Score.of(changes.sweep, changes.prices),
            Moves.of(evaluator.settings, evaluator.ordered, near.known_indices.shape[1]),
            *(evaluator.max_changes, evaluator.relaxation),
        )
        return cls(evaluator, compiled.improve, batch)

    def better(self, now: Candidates) -> tuple[Candidates, np.ndarray] | None:
        """The best versions of candidates that are better, `n_measured` at most, and whose version each is.

        None where only the model itself can be asked about one of them.
        """
        problem, (n, d), most = self.evaluator.problem, now.rows.shape, self.evaluator.settings.n_measured
        found = Found(np.empty((n, most, d)), np.empty((n, most)), np.empty((n, most)), np.zeros(n, dtype=np.int64))
        left, asked = problem.questions_left(self.evaluator.reserve), np.zeros(len(problem), dtype=np.int64)
        grouped, rows = np.argsort(now.owners, kind="stable"), np.ascontiguousarray(now.rows)
        if not self.kernel(rows, now.owners, now.merit, now.excess, grouped, self.batch, left, asked, found):
            return None
        problem.charge_compiled(asked)
        filled = np.arange(most) < found.number[:, None]
        of = positions(filled.ravel()) // most
        cost, excess = found.cost[filled], found.excess[filled]
        return Candidates(found.rows[filled], now.owners[of], cost, excess, now.excess_weight), of
