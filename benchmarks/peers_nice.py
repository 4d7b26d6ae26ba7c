"""NICE (NICEx 0.2.3; Brughmans, Leyman, Martens 2024) on a benchmark's people, with what they cannot change frozen.

The package knows no immutable columns. So each person is given training people of their own: cells that the schema
does not let this person have (immutable columns, levels out of reach, numbers against a direction) are replaced by the
person's. NICE mixes the person with the nearest of those whom the classifier then rightly gives what is wanted, so that
every answer keeps the schema's rules.

It needs no more than NumPy and SciPy and runs with today's versions, though it asks for pandas below 2:
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
from experiments.outside.people import Outcome, each, quiet

VARIANCE = 0.9
"""The share of variance that the components keep, whose reconstruction error tells what is plausible."""


class FrozenNICE:
    """Nearest instance counterfactual explanations: one answer for each person; nothing in it is random.

    Parameters
    ----------
    schema
        What the columns are.
    optimization
        `sparsity`, `proximity`, or `plausibility`, for which the package takes a function that tells how badly a row is
        reconstructed: here by principal components of the training people, numbers standardised, levels as indicators.
    """

    def __init__(
        self, schema: Schema, optimization: Literal["sparsity", "proximity", "plausibility"] = "sparsity"
    ) -> None:
        self.package = installed("nice", "NICEx")
        self.schema, self.optimization = schema, optimization

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Keeps the training people, and learns their principal components."""
        self.table_, self.labels_ = Table.read(X, self.schema), np.asarray(y, dtype=object)
        self.space_ = MeasuringSpace.fit(self.schema, self.table_.values)
        self.components_ = PCA(VARIANCE, svd_solver="full").fit(self.space_.transform(self.table_.values))
        return self

    def explain(self, model: Any, X: pd.DataFrame, *, target: Any) -> Outcome:
        """One answer for each person."""
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
                except ValueError:  # nobody is left whom the classifier rightly gives what is wanted
                    return None
            return dict(self.table_.layout.frame(found).iloc[0])

        return each(X, self.schema, answer, lambda: scored)

    def _error(self, rows: np.ndarray) -> np.ndarray:
        """How badly rows are reconstructed."""
        points = self.space_.transform(rows)
        again = self.components_.inverse_transform(self.components_.transform(points))
        return np.asarray(((points - again) ** 2).mean(axis=1))
