"""Answers that still hold where every change is carried out only roughly.

An execution of a row moves each changed number or ordered level by up to `size` percentiles along the distribution of
its training column, independently, on its grid and within what its owner may reach. Where that breaks a rule or a law,
the cells that this ties together are carried out exactly. Other changes, and unchanged cells, stay. It is what
`metrics.valid_after_inexact_execution` measures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np

from attain.methods.search.streams import streams, uniforms
from attain.models.structure.linear import LinearScore
from attain.population.percentiles import Percentiles
from attain.tables import Region

_CORNERS: Final = 8
"""Executions with deviations of the full size, in random directions, that a search asks about."""
_INNER: Final = 8
"""Executions with random deviations that a search asks about."""
_SEED: Final = 0x51AC
DRAWS: Final = 100
"""Executions by which the share that holds is measured."""
_STREAM: Final = 0x57ACE
"""Separates their random numbers from those of a search."""

Judge: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From rows and their owners to which rows meet the goal, charged to the owners."""


@dataclass(frozen=True)
class Slack:
    """Which rows still meet a goal when their changes are carried out to ± `size` percentiles.

    Attributes
    ----------
    size
        The largest deviation of a change, in percentiles from 0 to 1.
    score
        The linear score of the model, which tells the worst execution; None for other models.
    """

    percentiles: Percentiles
    size: float
    score: LinearScore | None

    @property
    def most_questions(self) -> int:
        """The most executions of one row that `holds` asks about."""
        return 1 if self.score is not None else 1 + len(self._drawn)

    def holds(self, rows: np.ndarray, owners: np.ndarray, region: Region, judge: Judge) -> np.ndarray:
        """Which rows meet the goal in the executions that are most likely to fail, (n,).

        For a linear score that is the worst one. For other models it is the one that stops short of every change, and
        where that holds, a fixed set of others.
        """
        holds = np.ones(len(rows), dtype=bool)
        stages = (self._short, lambda *_: self._drawn) if self.score is None else (self._worst,)
        for moves_of in stages:
            left = np.flatnonzero(holds)
            moves = moves_of(rows[left], owners[left], region)
            holds[left] = self._met(rows[left], owners[left], region, moves, judge).all(axis=1)
        return holds

    def share(self, rows: np.ndarray, owners: np.ndarray, region: Region, judge: Judge, seed: int) -> np.ndarray:
        """The share of `DRAWS` executions of each row that meet the goal, (n,); a row's draws are its owner's own."""
        drawn = uniforms(streams(region.factuals[owners], seed ^ _STREAM), (DRAWS, rows.shape[1]))
        return self._met(rows, owners, region, self.size * (2.0 * drawn - 1.0), judge).mean(axis=1)

    def _met(self, rows: np.ndarray, owners: np.ndarray, region: Region, moves: np.ndarray, judge: Judge) -> np.ndarray:
        """Which executions, with moves (n, m, d) or (m, d), meet the goal, (n, m)."""
        executed = self._executed(rows, owners, region, moves)
        met = judge(executed.reshape(-1, rows.shape[1]), np.repeat(owners, executed.shape[1]))
        return met.reshape(executed.shape[:2])

    def _executed(self, rows: np.ndarray, owners: np.ndarray, region: Region, moves: np.ndarray) -> np.ndarray:
        """The executions, (n, m, d)."""
        moves = np.broadcast_to(moves, (len(rows), *moves.shape[-2:]))
        versions = self.percentiles.moved(rows, moves, region.changed(rows, owners))
        exact, owners = np.repeat(rows, moves.shape[1], axis=0), np.repeat(owners, moves.shape[1])
        return region.final_form(versions.reshape(exact.shape), owners, exact).reshape(versions.shape)

    def _worst(self, rows: np.ndarray, owners: np.ndarray, region: Region) -> np.ndarray:
        """Towards the side of each change that has the lower linear score, (n, 1, d)."""
        assert self.score is not None
        sides = np.array([[-self.size], [self.size]])
        ends = self._executed(rows, owners, region, np.broadcast_to(sides, (2, rows.shape[1])))
        worth = [[self.score.weight(j, ends[:, side, j]) for j in range(rows.shape[1])] for side in (0, 1)]
        return np.where(np.array(worth[0]) < np.array(worth[1]), -self.size, self.size).T[:, None, :]

    def _short(self, rows: np.ndarray, owners: np.ndarray, region: Region) -> np.ndarray:
        """Towards the owner's own value of each change, (n, 1, d)."""
        return self.size * np.sign(np.nan_to_num(region.factuals[owners] - rows))[:, None, :]

    @cached_property
    def _drawn(self) -> np.ndarray:
        """The same deviations for every row, (m, d)."""
        random, width = np.random.default_rng(_SEED), len(self.percentiles.schema)
        corners = random.choice((-1.0, 1.0), (_CORNERS, width))
        return self.size * np.concatenate((corners, random.uniform(-1.0, 1.0, (_INNER, width))))
