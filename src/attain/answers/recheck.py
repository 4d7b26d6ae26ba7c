"""Any records without a search: what is known about them, side by side, altered by somebody."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attain.core.errors import AttainError
from attain.population.faithfulness import faithfulness
from attain.results.status import Verdict
from attain.schema import Feature, Schema
from attain.tables import Table, ordinary, unchanged

if TYPE_CHECKING:
    from attain.answers.session import GivenConstraints, Session
    from attain.results.counterfactuals import Counterfactuals
from attain.answers.result import difficulty


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
    verdict
        What the record is like beside real people of the desired class, where the method says.
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
    verdict: Verdict | None
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


def assess(session: Session, table: Table, *, typicality: bool = True) -> list[Assessed]:
    """What is known about each row of a table; without `typicality`, which takes longer, `verdict` is None."""
    explainer, rows, readable = session.explainer, table.values, table.readable
    said = session.decided.goal.fresh_copy(table.layout.unseen).classify(rows[readable])
    levels = np.full(len(rows), math.nan)
    if typicality and len(readable):
        levels[readable] = explainer._typicality(session.inspected, rows[readable])
    failed = {int(readable[k]): sentence for k, sentence in said.judgement.failures.items()}
    unreadable, place = {**table.refused, **failed}, {i: k for k, i in enumerate(readable.tolist())}
    book = explainer.population_.rule_book
    broken, shares = ~book.kept(rows), 100 * explainer.population_.percentiles.of(rows)
    rules = [rule.text for rule in book.rules]
    known = []
    for i in range(len(rows)):
        percentiles = {name: rounded(share, 3) for name, share in zip(table.schema.names, shares[i], strict=True)}
        if i in unreadable:
            known.append(Assessed(None, False, None, None, None, (), percentiles, unreadable[i]))
            continue
        k = place[i]
        known.append(
            Assessed(
                decision=said.labels[k],
                accepted=bool(said.judgement.met[k]),
                score=rounded(said.judgement.score[k]),
                probability=rounded(said.probability[k]),
                verdict=Verdict.of(levels[i]),
                broken=tuple(rules[r] for r in np.flatnonzero(broken[i])),
                percentiles=percentiles,
                unreadable=None,
            )
        )
    return known


def complete(session: Session, person: Table, edited: Table) -> Table:
    """The edited rows with what follows from others: computed columns, and clocks for the time it takes.

    A row with a value that cannot be computed, such as a share of nothing, cannot be read.
    """
    region = session.region(person, None).after(edited.values, np.arange(len(edited.values)))
    clocks, values = list(region.schema.clocks), edited.values.copy()
    values[:, clocks] = region.start[:, clocks]
    values = region.derived(values, region.factuals)
    refused, titles = dict(edited.refused), [feature.title for feature in edited.schema]
    for i, j in np.argwhere(np.isinf(values)).tolist():
        refused.setdefault(i, f"{titles[j]} cannot be computed from these values")
        values[i, j] = math.nan
    return replace(edited, values=values, refused=refused)


def compare(session: Session, person: Table, edited: Table, constraints: GivenConstraints = None) -> Compared:
    """The first row of `edited` beside the first of `person`; both can be read."""
    population, owners = session.decided.population, np.zeros(1, dtype=np.intp)
    rows, own = edited.values[:1], person.values[:1]
    region = session.region(person, constraints)
    violated = [kind for kind, broken in region.violations(rows, owners).items() if broken[0]]
    texts = {rule.text for rule in population.rule_book.rules}
    figures = difficulty(rows, own, population.percentiles.shift(own, rows), population.schema)
    if population.has_rows:
        figures |= faithfulness(rows, session.decided.reference)
    return Compared(
        flips=bool(session.decided.goal.fresh_copy(edited.layout.unseen).confirm_rows(rows).met[0]),
        allowed=not violated,
        violated=tuple(kind for kind in violated if kind not in texts),
        changed=tuple(np.array(population.schema.names)[~unchanged(own, rows)[0]].tolist()),
        total_shift=rounded(100 * figures["total_shift"][0], 3),
        max_shift=rounded(100 * figures["max_shift"][0], 3),
        outlier=verdict(figures, "outlier"),
        connected=verdict(figures, "connected"),
        months=float(region.months(rows, owners)[0]) if population.rule_book.timing is not None else 0.0,
    )


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
    """The people of a result, to check options of theirs that somebody has altered.

    Parameters
    ----------
    session, result, constraints
        A session, a result of it, and the constraints of the call.
    """

    def __init__(self, session: Session, result: Counterfactuals, constraints: GivenConstraints = None) -> None:
        if _columns(result.table.schema) != _columns(session.explainer.population_.schema):
            raise AttainError("result has another schema than the explainer was fitted with")
        self._session, self.region = session, session.region(result.table, constraints)
        self._goal = session.decided.goal.fresh_copy(result.table.layout.unseen)

    def decided(self, positions: np.ndarray) -> np.ndarray:
        """Which of the people at some positions have the desired decision as they are."""
        return self._goal.confirm_rows(self.region.factuals[positions]).met

    def options(self, rows: np.ndarray, owners: np.ndarray) -> Checked:
        """Puts options (m, d) of the people at the positions `owners`, (m,), into final form, and checks them.

        They take as long as before, or longer where their changes need that.
        """
        rows = self.region.after(rows, owners).final_form(rows, np.arange(len(owners)))
        holds = self.region.changed(rows, owners).any(axis=1) | self.region.waits(rows, owners)
        holds &= self.region.allows(rows, owners)
        holds[holds] = self._goal.confirm_rows(rows[holds]).met
        typicality = np.full(len(rows), math.nan)
        own = self.region.factuals[owners][holds]
        typicality[holds] = self._session.explainer._typicality(self._session.inspected, rows[holds], own)
        return Checked(rows, holds, np.maximum(typicality, self.region.breaks_law(rows, owners)))

    @property
    def usual(self) -> np.ndarray:
        """The median cell of each column among training rows that get the decision, (d,); NaN without an order.

        Without real training rows it is the median of all rows.
        """
        population = self._session.decided.population
        rows = population.values
        if population.has_rows and self._session.decided.met.any():
            rows = rows[self._session.decided.met]
        usual = np.full(rows.shape[1], math.nan)
        for j, feature in enumerate(population.schema):
            cells = rows[ordinary(feature, rows[:, j]), j]
            if feature.ordered and len(cells):
                usual[j] = np.median(cells)
        return usual


def _columns(schema: Schema) -> list[Feature]:
    """The features without their steps, which a table also takes from the types of its columns."""
    return [replace(feature, step=None) for feature in schema]
