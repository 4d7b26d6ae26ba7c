"""What is known about any record without a search: the decision, how typical it is, what it breaks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attain.methods.figures import difficulty, faithfulness
from attain.models import Goal
from attain.results.status import Typicality
from attain.schema import Constraints
from attain.tables import Region, Table, unchanged

if TYPE_CHECKING:
    from attain.methods.base import Explainer


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


class Assessment:
    """One model and one desired decision, ready to assess records; several threads may share it.

    Parameters
    ----------
    explainer
        A fitted explainer.
    model, target, probability
        As in `explain`.
    """

    def __init__(self, explainer: Explainer, model: Any, target: Any, probability: float | None = None) -> None:
        self._explainer = explainer
        self._goal: Goal = explainer._request(model, target, probability)
        self._context = explainer._context(self._goal)
        self._inspected = self._context.inspected(self._goal, explainer._parameters(), explainer._inspect)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The model's classes."""
        return self._goal.classes

    @property
    def target(self) -> Any:
        """The desired class, as the model names it."""
        return self._goal.target

    def of(self, table: Table, *, typicality: bool = True) -> list[Assessed]:
        """What is known about each row; without `typicality`, which takes longer, `level` is None."""
        explainer, rows, readable = self._explainer, table.values, table.readable
        refused: dict[int, str] = dict(table.refused)
        levels = np.full(len(rows), math.nan)
        broken = ~explainer.book_.kept(rows)
        percentiles = 100 * explainer.percentiles_.of(rows)
        labels: list[Any] = [None] * len(rows)
        met, score, probability = (np.full(len(rows), math.nan) for _ in range(3))
        if len(readable):
            asked = self._goal.with_unseen(table.layout.unseen).classify(rows[readable])
            refused |= {int(readable[i]): sentence for i, sentence in asked.judgement.failures.items()}
            met[readable], score[readable] = asked.judgement.met, asked.judgement.score
            probability[readable] = asked.probability
            for i, label in zip(readable.tolist(), asked.labels, strict=True):
                labels[i] = label
            if typicality:
                levels[readable] = explainer._typicality(self._inspected, rows[readable])
        names, rules = explainer.schema_.names, [rule.text for rule in explainer.book_.rules]
        return [
            Assessed(
                labels[i],
                bool(met[i] == 1),
                None if i in refused else round(float(score[i]), 6) + 0.0,
                _rounded(probability[i]),
                None if math.isnan(levels[i]) or i in refused else str(Typicality(int(levels[i]))),
                tuple(rules[k] for k in np.flatnonzero(broken[i])) if i not in refused else (),
                {name: _rounded(percentiles[i, j], 3) for j, name in enumerate(names)},
                refused.get(i),
            )
            for i in range(len(rows))
        ]

    def completed(self, person: Table, edited: Table) -> Table:
        """The edited rows with what follows from others: computed columns, and clocks for the time it takes.

        A row with a value that cannot be computed, such as a share of nothing, cannot be read.
        """
        region = Region.of(person, Constraints(), self._explainer.observed_, self._explainer.book_)
        values = region.derived(edited.values.copy(), person.values)
        refused, titles = dict(edited.refused), [feature.title for feature in self._explainer.schema_]
        for i, j in np.argwhere(np.isinf(values)).tolist():
            refused.setdefault(i, f"{titles[j]} cannot be computed from these values")
            values[i, j] = math.nan
        return replace(edited, values=values, refused=refused)

    def compare(
        self, person: Table, edited: Table, constraints: Constraints | Mapping[str, Any] | None = None
    ) -> Compared:
        """The first row of `edited` beside the first of `person`; both can be read."""
        explainer, owners = self._explainer, np.zeros(1, dtype=np.intp)
        rows, own = edited.values[:1], person.values[:1]
        region = Region.of(person, Constraints.of(constraints), explainer.observed_, explainer.book_)
        violated = [kind for kind, broken in region.violations(rows, owners).items() if broken[0]]
        texts = {rule.text for rule in explainer.book_.rules}
        figures = difficulty(rows, own, explainer.percentiles_)
        if explainer.has_rows_:
            figures |= faithfulness(rows, self._context.reference(self._goal))
        return Compared(
            flips=bool(self._goal.with_unseen(edited.layout.unseen).decide(rows).met[0]),
            allowed=not violated,
            violated=tuple(kind for kind in violated if kind not in texts),
            changed=tuple(np.array(explainer.schema_.names)[~unchanged(own, rows)[0]].tolist()),
            total_shift=_rounded(100 * figures["total_shift"][0], 3),
            max_shift=_rounded(100 * figures["max_shift"][0], 3),
            outlier=_verdict(figures, "outlier"),
            connected=_verdict(figures, "connected"),
            months=float(region.months(rows, owners)[0]) if explainer.book_.timing is not None else 0.0,
        )


def _rounded(value: float, digits: int = 6) -> float | None:
    return None if math.isnan(value) else round(float(value), digits) + 0.0


def _verdict(figures: Mapping[str, np.ndarray], name: str) -> bool | None:
    return None if name not in figures or math.isnan(figures[name][0]) else bool(figures[name][0])
