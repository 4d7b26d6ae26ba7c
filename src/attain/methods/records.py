"""Any records without a search: what is known about them, one beside another, and answers that somebody altered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attain.core.errors import AttainError
from attain.models.goal import Classified
from attain.population.percentiles import Percentiles
from attain.results.status import Typicality
from attain.schema import Feature, Schema
from attain.tables import Region, RuleBook, Table, ordinary

if TYPE_CHECKING:
    from attain.methods.session import Session
    from attain.results.counterfactuals import Counterfactuals


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


class Checked(NamedTuple):
    """What became of m altered options.

    Attributes
    ----------
    rows
        The options in final form, (m, d).
    holds
        Which of them change something, keep every rule, law and constraint, and get the decision, (m,).
    typicality
        How typical they are, as members of `Typicality`, (m,); NaN where the method does not say.
    """

    rows: np.ndarray
    holds: np.ndarray
    typicality: np.ndarray


class Recheck:
    """The people of a result, and a model to decide on them again: what `Session.recheck` returns.

    Attributes
    ----------
    region
        What each of the people may become.
    """

    def __init__(self, session: Session, result: Counterfactuals, region: Region) -> None:
        if _columns(result.table.schema) != _columns(session.explainer.schema_):
            raise AttainError("result has another schema than the explainer was fitted with")
        self._session, self.region = session, region
        self._goal = session.goal.anew(result.table.layout.unseen)

    def decided(self, positions: np.ndarray) -> np.ndarray:
        """Which of the people at some positions have the desired decision as they are."""
        return self._goal.decide(self.region.factuals[positions]).met

    def options(self, rows: np.ndarray, owners: np.ndarray) -> Checked:
        """Puts options (m, d) of the people at the positions `owners`, (m,), into final form, and checks them.

        They take as long as before, or longer where their changes need that.
        """
        rows = self.region.after(rows, owners).final_form(rows, np.arange(len(owners)))
        holds = self.region.changed(rows, owners).any(axis=1) | self.region.waits(rows, owners)
        holds &= self.region.allows(rows, owners)
        holds[holds] = self._goal.decide(rows[holds]).met
        typicality = np.full(len(rows), math.nan)
        own = self.region.factuals[owners][holds]
        typicality[holds] = self._session.explainer._typicality(self._session.inspected, rows[holds], own)
        return Checked(rows, holds, np.maximum(typicality, self.region.breaks_law(rows, owners)))

    @property
    def usual(self) -> np.ndarray:
        """The median cell of each column among training rows that get the decision, (d,); NaN without an order.

        Without real training rows it is the median of all rows.
        """
        explainer = self._session.explainer
        rows = explainer.table_.values
        if explainer.has_rows_ and self._session.met.any():
            rows = rows[self._session.met]
        usual = np.full(rows.shape[1], math.nan)
        for j, feature in enumerate(explainer.schema_):
            cells = rows[ordinary(feature, rows[:, j]), j]
            if feature.ordered and len(cells):
                usual[j] = np.median(cells)
        return usual


def _columns(schema: Schema) -> list[Feature]:
    """The features without their steps, which a table also takes from the types of its columns."""
    return [replace(feature, step=None) for feature in schema]
