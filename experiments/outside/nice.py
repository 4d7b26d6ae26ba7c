"""NICE (NICEx 0.2.3; Brughmans, Leyman, Martens 2024), with the cells that a row cannot change frozen.

The package has no immutable columns. So each row gets training rows of its own, in which cells that the schema does not
let it reach (immutable columns, unreachable levels, numbers against a direction) are replaced by the row's. NICE mixes
the row with the nearest of those that the classifier then decides correctly as desired, so that every answer keeps the
schema's rules.

It needs only NumPy and SciPy and runs with current versions, although it requires pandas below 2: install it with
`pip install --no-deps NICEx`.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

from attain.population.space import MeasuringSpace
from attain.schema import Constraints, Schema
from attain.tables import Region, Table
from experiments.bench.methods import installed
from experiments.outside.shared import FrameResult, each, quiet

VARIANCE = 0.9
"""The share of variance kept by the components whose reconstruction error measures plausibility."""


class FrozenNICE:
    """Nearest instance counterfactual explanations: one answer per row; nothing in it is random.

    Parameters
    ----------
    schema
        What the columns are.
    optimization
        `sparsity`, `proximity`, or `plausibility`, for which the package takes a reconstruction error: here that of the
        training rows' principal components, numbers standardised, levels as indicators.
    """

    def __init__(
        self,
        schema: Schema,
        random_state: int = 0,
        optimization: Literal["sparsity", "proximity", "plausibility"] = "sparsity",
    ) -> None:
        self.package = installed("nice", "NICEx")
        self.schema, self.random_state, self.optimization = schema, random_state, optimization

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Keeps the training rows, and fits their principal components."""
        self.table_, self.labels_ = Table.read(X, self.schema), np.asarray(y, dtype=object)
        self.space_ = MeasuringSpace.fit(self.schema, self.table_.values)
        self.components_ = PCA(VARIANCE, svd_solver="full").fit(self.space_.transform(self.table_.values))
        return self

    def explain(self, model: Any, X: pd.DataFrame, *, target: Any) -> FrameResult:
        """One answer per row."""
        wanted = np.array([label == target for label in model.classes_])
        labels = np.array([label == target for label in self.labels_], dtype=np.int64)
        levels = [j for j, feature in enumerate(self.schema) if not feature.numeric]
        scored = 0

        def chances(rows: np.ndarray) -> np.ndarray:
            nonlocal scored
            scored += len(rows)
            given = np.asarray(model.predict_proba(self.table_.layout.frame(rows)))[:, wanted].sum(axis=1)
            return np.column_stack((1.0 - given, given))

        def answer(person: pd.DataFrame) -> dict[str, Any] | None:
            own = Table.read(person, self.schema)
            reached = Region.of(own, Constraints()).final_form(
                self.table_.values, np.zeros(len(self.table_), dtype=np.intp)
            )
            with quiet():
                nice = self.package.NICE(
                    chances, reached, levels, y_train=labels, optimization=self.optimization, auto_encoder=self._error
                )
                try:
                    found = nice.explain(own.values.copy(), target_class=[1])
                except ValueError:  # no training row is left that the classifier correctly decides as desired
                    return None
            return dict(self.table_.layout.frame(found).iloc[0])

        return each(X, self.schema, answer, lambda: scored)

    def _error(self, rows: np.ndarray) -> np.ndarray:
        """The reconstruction error of rows."""
        points = self.space_.transform(rows)
        again = self.components_.inverse_transform(self.components_.transform(points))
        return np.asarray(((points - again) ** 2).mean(axis=1))
