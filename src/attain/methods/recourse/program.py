"""The program of a row: one action from each group of features, enough gain, and the conditions of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Choices:
    """The A actions of one group of m features.

    Attributes
    ----------
    columns
        The features, (m,).
    cells, moved
        The cells that each action writes, and which of them are changes, (A, m).
    cost, gain
        What each costs and adds to the score, (A,).
    """

    columns: np.ndarray
    cells: np.ndarray
    moved: np.ndarray
    cost: np.ndarray
    gain: np.ndarray

    @cached_property
    def changes(self) -> np.ndarray:
        """How many features each action changes, (A,)."""
        return np.asarray(self.moved.sum(axis=1))

    def where(self, keep: np.ndarray) -> Choices:
        return Choices(self.columns, self.cells[keep], self.moved[keep], self.cost[keep], self.gain[keep])


@dataclass(frozen=True)
class Row:
    """A linear condition on the actions a_g that are chosen: low ≤ Σ_g coefficients[g][a_g] ≤ high."""

    coefficients: tuple[np.ndarray, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Program:
    """One row's problem: one action from each group, a gain of `need`, at most `most` changes, and further conditions.

    `reach` has the actions whose largest gain bounds that of every allowed change, on the grid or not; None where no
    such bound is known. `whole` says that every choice keeps all rules; otherwise a choice has to be checked, and where
    it is rejected, `full` gives the program with the conditions and actions that rules add.
    """

    choices: list[Choices]
    rows: list[Row]
    need: float
    most: int
    reach: list[Choices] | None
    whole: bool = True
    exact: bool = True
    full: Callable[[], Program] | None = None

    def where(self, keeps: list[np.ndarray]) -> Program:
        """The program with some actions of each group, those at `keeps`."""
        rows = [
            replace(row, coefficients=tuple(some[keep] for some, keep in zip(row.coefficients, keeps, strict=True)))
            for row in self.rows
        ]
        return replace(
            self, choices=[some.where(keep) for some, keep in zip(self.choices, keeps, strict=True)], rows=rows
        )

    def thinned(self, most: int) -> Program:
        """The program with about `most` actions at most: staying, and others spread evenly over their costs."""
        if sum(len(some.cost) for some in self.choices) <= most:
            return self
        return self.where([_spread(some.cost, most // len(self.choices)) for some in self.choices])


def _spread(cost: np.ndarray, most: int) -> np.ndarray:
    """The positions of staying and of `most` other actions at most, spread evenly over their costs (A,)."""
    order = 1 + np.argsort(cost[1:], kind="stable")
    chosen = np.linspace(0, len(order) - 1, min(max(most, 2), len(order))).astype(np.intp)
    return np.append(0, np.sort(order[chosen]))
