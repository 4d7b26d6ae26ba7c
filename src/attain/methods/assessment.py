"""What is known about any record without a search: the decision, how typical it is, what it breaks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.models.goal import Classified
from attain.population.percentiles import Percentiles
from attain.results.status import Typicality
from attain.tables import RuleBook, Table


@dataclass(frozen=True)
class Assessed:
    """What is known about one record.

    Attributes
    ----------
    decision
        The class that the model decides for; None where the record cannot be read.
    accepted
        Whether that is the desired decision.
    score
        Larger when the record is closer to the desired decision; None where it cannot be read.
    probability
        The model's probability of the desired class, where it gives one.
    level
        How typical the record is of real people of the desired class, where the method says.
    broken
        The texts of the rules and laws that it breaks.
    percentiles
        Where each cell stands in its column, from 0 to 100; None for a missing cell.
    unreadable
        Why it cannot be read, as a sentence; None where it can.
    """

    decision: Any
    accepted: bool
    score: float | None
    probability: float | None
    level: str | None
    broken: tuple[str, ...]
    percentiles: Mapping[str, float | None]
    unreadable: str | None


@dataclass(frozen=True)
class Compared:
    """An edited record beside the one it was made from.

    Attributes
    ----------
    flips
        Whether the edited record gets the desired decision.
    allowed
        Whether it keeps every rule, law and limit on what may change.
    violated
        The kinds of limits that it does not keep, such as "immutable".
    changed
        The names of the features that differ.
    total_shift, max_shift
        The sum and the largest of the shifts, in percentile points; None where one cannot be said.
    outlier, connected
        Compared with real people of the desired class; None without training rows.
    months
        How long the changes take.
    """

    flips: bool
    allowed: bool
    violated: tuple[str, ...]
    changed: tuple[str, ...]
    total_shift: float | None
    max_shift: float | None
    outlier: bool | None
    connected: bool | None
    months: float


def assessed(
    table: Table, said: Classified, levels: np.ndarray, book: RuleBook, percentiles: Percentiles
) -> list[Assessed]:
    """What is known about each row of a table, from what the model says about those that can be read.

    `levels` are members of `Typicality`, (n,); NaN where the method does not say.
    """
    rows, readable = table.values, table.readable.tolist()
    refused = {**table.refused, **{readable[i]: sentence for i, sentence in said.judgement.failures.items()}}
    at = {i: k for k, i in enumerate(readable) if i not in refused}
    broken, shares = ~book.kept(rows), 100 * percentiles.of(rows)
    rules, names = [rule.text for rule in book.rules], table.schema.names
    return [
        Assessed(
            decision=said.labels[at[i]] if i in at else None,
            accepted=i in at and bool(said.judgement.met[at[i]]),
            score=round(float(said.judgement.score[at[i]]), 6) + 0.0 if i in at else None,
            probability=rounded(said.probability[at[i]]) if i in at else None,
            level=None if math.isnan(levels[i]) or i not in at else str(Typicality(int(levels[i]))),
            broken=tuple(rules[k] for k in np.flatnonzero(broken[i])) if i in at else (),
            percentiles={name: rounded(shares[i, j], 3) for j, name in enumerate(names)},
            unreadable=refused.get(i),
        )
        for i in range(len(rows))
    ]


def rounded(value: float, digits: int = 6) -> float | None:
    return None if math.isnan(value) else round(float(value), digits) + 0.0


def verdict(figures: Mapping[str, np.ndarray], name: str) -> bool | None:
    return None if name not in figures or math.isnan(figures[name][0]) else bool(figures[name][0])
