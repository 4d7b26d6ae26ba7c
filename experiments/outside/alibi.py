"""alibi 0.9.6: counterfactuals by reinforcement learning (Samoilescu, Van Looveren, Klaise 2021), for tables.

The networks and settings are those of the package's tabular example: an autoencoder with 15 latent units trained for 50
epochs, and 10,000 steps of training against the classifier, once for each classifier. Answers then take one pass. The
package is told the immutable columns, the directions and, person by person, the levels that can be reached.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

from attain.schema import Schema
from attain.tables import Table
from experiments.bench.methods import installed
from experiments.outside.shared import FrameResult, each, quiet, reachable

LATENT, HIDDEN, EPOCHS, STEPS, BATCH = 15, 128, 50, 10_000, 100
DIRECTIONS = {"increase": [0.0, 1.0], "decrease": [-1.0, 0.0], "any": [-1.0, 1.0]}


class AlibiRL:
    """Counterfactuals by reinforcement learning: one answer per row.

    Parameters
    ----------
    schema
        What the columns are.
    """

    def __init__(self, schema: Schema, random_state: int = 0, steps: int = STEPS, epochs: int = EPOCHS) -> None:
        installed("alibi", "alibi[tensorflow]")
        self.schema, self.random_state, self.steps, self.epochs = schema, random_state, steps, epochs
        self._trained: list[tuple[Any, Any]] = []

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        """Trains the autoencoder of rows: numbers standardised, levels as indicators."""
        import keras
        from alibi.explainers.backends.cfrl_tabular import get_he_preprocessor
        from alibi.models.tensorflow import ADULTDecoder, ADULTEncoder, HeAE

        self.table_ = Table.read(X, self.schema)
        self.levels_ = {
            j: [str(level) for level in feature.levels] for j, feature in enumerate(self.schema) if not feature.numeric
        }
        whole = {feature.name: int for feature in self.schema if feature.integral}
        names = list(self.schema.names)
        with quiet():
            self.encode_, self.decode_ = get_he_preprocessor(self.table_.values, names, self.levels_, whole)
            rows = self.encode_(self.table_.values).astype(np.float32)
            n_numbers = len(names) - len(self.levels_)
            sizes = [n_numbers] * (n_numbers > 0) + [len(levels) for levels in self.levels_.values()]
            keras.utils.set_random_seed(self.random_state)
            self.network_ = HeAE(ADULTEncoder(HIDDEN, LATENT), ADULTDecoder(HIDDEN, sizes))
            losses = ["mse"] * (n_numbers > 0) + [
                keras.losses.SparseCategoricalCrossentropy(from_logits=True) for _ in self.levels_
            ]
            weights = [1.0] * (n_numbers > 0) + [1.0 / max(1, len(self.levels_))] * len(self.levels_)
            targets = [rows[:, :n_numbers]] * (n_numbers > 0) + [self.table_.values[:, [j]] for j in self.levels_]
            self.network_.build((1, rows.shape[1]))
            self.network_.compile(optimizer=keras.optimizers.Adam(1e-3), loss=losses, loss_weights=weights)
            self.network_.fit(rows, targets, epochs=self.epochs, batch_size=128, verbose=0)
        return self

    def explain(self, model: Any, X: pd.DataFrame, *, target: Any) -> FrameResult:
        """One answer per row; the first call with a classifier trains against it."""
        classes = list(model.classes_)
        explainer = next((made for known, made in self._trained if known is model), None)
        if explainer is None:
            explainer = self._made(model)
            self._trained.append((model, explainer))

        def answer(person: pd.DataFrame) -> dict[str, Any] | None:
            condition = {
                feature.name: [str(level) for level in self._reachable(feature.name, person)]
                for feature in self.schema
                if not feature.numeric and feature.searched
            }
            own = Table.read(person, self.schema).values
            with quiet():
                found = explainer.explain(own, np.array([classes.index(target)]), [condition] if condition else None)
            rows = found.data["cf"]["X"]
            return None if rows is None else dict(self.table_.layout.frame(np.asarray(rows, dtype=np.float64)).iloc[0])

        return each(X, self.schema, answer)

    def _reachable(self, name: str, person: pd.DataFrame) -> list[Any]:
        return reachable(self.schema[name], person[name].iloc[0], self.schema.max_months)

    def _made(self, model: Any) -> Any:
        from alibi.explainers import CounterfactualRLTabular

        def chances(rows: np.ndarray) -> np.ndarray:
            return np.asarray(model.predict_proba(self.table_.layout.frame(np.asarray(rows, dtype=np.float64))))

        free = [feature for feature in self.schema if feature.numeric and feature.searched]
        with quiet():
            return CounterfactualRLTabular(
                predictor=chances,
                encoder=self.network_.encoder,
                decoder=self.network_.decoder,
                latent_dim=LATENT,
                encoder_preprocessor=self.encode_,
                decoder_inv_preprocessor=self.decode_,
                coeff_sparsity=0.5,
                coeff_consistency=0.5,
                category_map=self.levels_,
                feature_names=list(self.schema.names),
                ranges={feature.name: DIRECTIONS[feature.direction] for feature in free},
                immutable_features=[feature.name for feature in self.schema if not feature.searched],
                train_steps=self.steps,
                batch_size=BATCH,
                backend="tensorflow",
                seed=self.random_state,
            ).fit(self.table_.values)
