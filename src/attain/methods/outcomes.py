"""How the search of each row ends: what is known before it, and the last check after it."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attain.methods.search.problem import Answers, Problem
from attain.models import Judgement
from attain.results.status import Status
from attain.tables import Region, Table, unchanged


class Decided(NamedTuple):
    """What the model decides about rows as they are.

    Attributes
    ----------
    met, score
        Which rows meet the goal, and their score, (n,) each; NaN for rows that cannot be read.
    asked
        How many questions about each row were asked, (n,).
    unreadable
        Why these cannot be read, by position.
    """

    met: np.ndarray
    score: np.ndarray
    asked: np.ndarray
    unreadable: dict[int, str]

    @classmethod
    def of(cls, table: Table, judged: Judgement) -> Decided:
        """From what the goal decides about the rows of a table that can be read."""
        readable = table.readable
        met, score = np.zeros(len(table), dtype=bool), np.full(len(table), math.nan)
        asked = np.zeros(len(table), dtype=np.int64)
        met[readable], score[readable], asked[readable] = judged.met, judged.score, judged.asked
        score[readable[list(judged.failures)]] = math.nan
        failures = {int(readable[i]): sentence for i, sentence in judged.failures.items()}
        return cls(met, score, asked, dict(sorted({**table.refused, **failures}.items())))


def known_before(region: Region, met: np.ndarray, unreadable: Collection[int]) -> list[Status | None]:
    """The status of rows whose outcome is known before any search; None for the others."""
    nothing_free = region.frozen.all(axis=1) & ~region.waits(region.start, np.arange(len(region)))
    stuck_rule = np.zeros(len(region), dtype=bool)
    fixed, kept = fixed_cells(region), region.book.kept(region.factuals) | region.book.is_law
    for k, rule in enumerate(region.schema.parsed_rules):
        columns = [region.schema.position(name) for name in rule.names]
        stuck_rule |= ~kept[:, k] & np.asarray(fixed[:, columns].all(axis=1))
    return [
        Status.UNREADABLE if i in unreadable
        else Status.ALREADY_DESIRED if met[i]
        else Status.NOTHING_FREE if nothing_free[i]
        else Status.RULES_CONFLICT if stuck_rule[i]
        else None
        for i in range(len(region))
    ]  # fmt: skip


def fixed_cells(region: Region) -> np.ndarray:
    """Which cells no answer can change: frozen ones that time does not move, and what is computed from them alone."""
    fixed = region.frozen & unchanged(region.start, region.factuals)
    for one in region.book.derivations:
        fixed[:, one.column] = fixed[:, one.inputs].all(axis=1)
    return fixed


def last_check(problem: Problem, outcome: list[Status | None], answers: Answers) -> tuple[Answers, np.ndarray]:
    """The last check: final form again, every rule again, the model's own decision. At most n options for each row."""
    region, owners = problem.region, answers.owners
    rows = region.after(answers.rows, owners).final_form(answers.rows, np.arange(len(owners)))
    decided = problem.decide(rows, owners)
    good = region.allows(rows, owners) & decided.met
    good &= region.changed(rows, owners).any(axis=1) | region.waits(rows, owners)
    order = np.lexsort((answers.sort_key, owners))
    order = order[good[order]]
    firsts = np.searchsorted(owners[order], owners[order], side="left")
    order = order[np.arange(len(order)) - firsts < problem.options]
    kept = replace(answers, rows=rows).at(order)
    answered = set(kept.owners.tolist())
    for i, status in enumerate(outcome):
        if status is Status.FOUND and i not in answered:
            outcome[i] = Status.OUT_OF_REACH
    return kept, decided.score[order]
