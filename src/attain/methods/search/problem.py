"""What a method is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from attain.models import GoalLike
from attain.results.status import Status
from attain.tables import Region


class Ledger:
    """Rows scored, person by person, against a budget."""

    def __init__(self, people: int, budget: int) -> None:
        self.budget = budget
        self.spent = np.zeros(people, dtype=np.int64)

    def affordable(self, owners: np.ndarray, reserve: int | np.ndarray = 0) -> np.ndarray:
        """Which of these rows can still be scored if each person keeps `reserve` rows back, earlier rows first."""
        left = np.maximum(self.budget - self.spent - reserve, 0)
        order = np.argsort(owners, kind="stable")
        grouped = owners[order]
        firsts = np.searchsorted(grouped, grouped, side="left")
        nth = np.empty(len(owners), dtype=np.int64)
        nth[order] = np.arange(len(owners)) - firsts
        return nth < left[owners]

    def charge(self, owners: np.ndarray) -> None:
        self.spent += np.bincount(owners, minlength=len(self.spent))


@dataclass(frozen=True)
class Problem:
    """The people of one batch: where they are, where they may go, and how to ask the model.

    `ask` judges candidates in final form, each charged to the person it is for.
    """

    goal: GoalLike
    region: Region
    ledger: Ledger
    options: int
    seed: int

    @property
    def people(self) -> int:
        return len(self.region)

    def ask(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which rows meet the goal, and how clearly; the rows are charged to their owners."""
        self.ledger.charge(owners)
        met, score, _ = self.goal.judge(rows)
        return met, score

    def accepts(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Which rows are answers: allowed, affordable, and meeting the goal. Only allowed rows are scored."""
        accepted = np.zeros(len(rows), dtype=bool)
        worth = np.flatnonzero(self.region.allows(rows, owners))
        # each option costs one more row, in the last check
        worth = worth[self.ledger.affordable(owners[worth], self.options)]
        accepted[worth] = self.ask(rows[worth], owners[worth])[0]
        return accepted


@dataclass(frozen=True)
class Answers:
    """What a method found: rows in final form, whose each is, and how good (less is better)."""

    rows: np.ndarray
    owners: np.ndarray
    cost: np.ndarray
    status: list[Status]
    figures: Mapping[str, np.ndarray] = field(default_factory=dict)


Search = Callable[[Problem], Answers]
