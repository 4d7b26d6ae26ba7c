"""Which versions of an answer hold: they keep the rules, and flip the decision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attain.methods.search.problem import Problem
from attain.models.structure.products import ProductScore
from attain.tables import Region, unchanged


def others_follow(region: Region, columns: Iterable[int]) -> bool:
    """Whether other columns change with these: computed ones, and clocks, which advance while a change takes time."""
    timing = region.book.timing
    inputs = {j for one in region.book.derivations for j in one.inputs}
    if timing is not None and timing.clocks:
        inputs |= {*timing.clocks, *(j for j, _ in timing.paces)}
    return not inputs.isdisjoint(columns)


@dataclass(frozen=True)
class Deciding:
    """Decides about versions of answers: rows (n, d) that differ from answers (n, d) for the rows `owners`, (n,).

    Attributes
    ----------
    score
        The score of a linear model or a tree ensemble; None where the model itself has to be asked.
    """

    problem: Problem
    score: ProductScore | None

    def kept(self, rows: np.ndarray, answers: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows with computed columns computed again, and which of them keep all rules and laws, (n,)."""
        region = self.problem.region
        final = region.final_form(rows, owners, answers)
        given = np.setdiff1d(region.schema.free_columns, [one.column for one in region.book.derivations])
        # a cell that is frozen though it differs is a clock that another one leads
        same = (unchanged(final, rows) | region.frozen[owners])[:, given].all(axis=1)
        return final, same & region.admits(final, owners)

    def hold(self, rows: np.ndarray, answers: np.ndarray, owners: np.ndarray, ask: bool = False) -> np.ndarray:
        """Which rows keep all rules and laws and flip the decision, (n,); `ask` does so without the score.

        None of owners whose time is spent.
        """
        holds = ~self.problem.ledger.late[owners]
        if not holds.all():
            holds[holds] = self.hold(rows[holds], answers[holds], owners[holds], ask)
            return holds
        final, holds = self.kept(rows, answers, owners)
        left = np.flatnonzero(holds)
        if not left.size:
            return holds
        if self.score is None or ask:
            holds[left] = self.problem.meets(final[left], owners[left])
        else:
            holds[left] = self.score.score(final[left]) >= 0
        return holds
