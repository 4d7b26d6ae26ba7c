"""Whether answers still hold after somebody has altered them: the last check of `explain`, for any rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attain.core.errors import AttainError
from attain.schema import Feature, Schema
from attain.tables import Region, ordinary

if TYPE_CHECKING:
    from attain.methods.session import Session
    from attain.results.counterfactuals import Counterfactuals


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
