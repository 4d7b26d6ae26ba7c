"""Whether answers still hold after somebody has altered them: the last check of `explain`, for any rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attain.core.errors import AttainError
from attain.schema import Constraints, Feature, Schema
from attain.tables import Region, ordinary

if TYPE_CHECKING:
    from attain.methods.base import Explainer
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
    """The people of a result, and a model to decide on them again.

    Parameters
    ----------
    explainer, model
        Those that the result was made with.
    result
        What `explain` returned.
    constraints
        Those of the call.
    """

    def __init__(
        self,
        explainer: Explainer,
        model: Any,
        result: Counterfactuals,
        constraints: Constraints | Mapping[str, Any] | None = None,
    ) -> None:
        goal = explainer._request(model, result.target, result.probability)
        if _columns(result.table.schema) != _columns(explainer.schema_):
            raise AttainError("result has another schema than the explainer was fitted with")
        context = explainer._context(goal)
        self._explainer, self._context, self._plain_goal = explainer, context, goal
        self._inspected = context.inspected(goal, explainer._parameters(), explainer._inspect)
        self._goal = goal.with_unseen(result.table.layout.unseen)
        self.region = Region.of(result.table, Constraints.of(constraints), explainer.observed_, explainer.book_)

    def decided(self, positions: np.ndarray) -> np.ndarray:
        """Which of the people at some positions have the desired decision as they are."""
        return self._goal.decide(self.region.factuals[positions]).met

    def options(self, rows: np.ndarray, owners: np.ndarray) -> Checked:
        """Puts options (m, d) of the people at the positions `owners`, (m,), into final form, and checks them.

        They take as long as their changes need, unless they wait.
        """
        rows = self.region.final_form(self.region.clocks_reset(rows, owners), owners)
        holds = self.region.allows(rows, owners) & self.region.changed(rows, owners).any(axis=1)
        holds[holds] = self._goal.decide(rows[holds]).met
        typicality = np.full(len(rows), math.nan)
        typicality[holds] = self._explainer._typicality(self._inspected, rows[holds])
        return Checked(rows, holds, np.maximum(typicality, self.region.breaks_law(rows, owners)))

    @property
    def usual(self) -> np.ndarray:
        """The median cell of each column among training rows that get the decision, (d,); NaN without an order.

        Without real training rows it is the median of all rows.
        """
        explainer = self._explainer
        rows = explainer.table_.values
        met = self._context.met(self._plain_goal) if explainer.has_rows_ else np.zeros(len(rows), dtype=bool)
        rows = rows[met] if met.any() else rows
        usual = np.full(rows.shape[1], math.nan)
        for j, feature in enumerate(explainer.schema_):
            cells = rows[ordinary(feature, rows[:, j]), j]
            if feature.ordered and len(cells):
                usual[j] = np.median(cells)
        return usual


def _columns(schema: Schema) -> list[Feature]:
    """The features without their steps, which a table also takes from the types of its columns."""
    return [replace(feature, step=None) for feature in schema]
