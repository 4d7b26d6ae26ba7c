"""What a user holds: an estimator round a trained `Mixture`, fitted on frames and asked about frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import equinox as eqx
import jax
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from attain.core.errors import AttainError, DataError
from attain.core.frames import Frame
from attain.core.progress import track
from attain.density import compiled
from attain.density.columns import Columns
from attain.density.mixture import Mixture
from attain.density.tiles import in_tiles
from attain.density.training import History, Plan, Trained, train
from attain.schema import Schema
from attain.tables import Table

ACTIVE = 0.01
"""A latent unit is active if the variance over rows of its posterior mean, relative to its prior mean, exceeds this."""
_BOUND_TILE = 128
_STEPS = 4_000
"""About how many steps of Adam training takes by default."""


class Codes(NamedTuple):
    """Latent codes (n, k): the posterior mean under the most probable component, and that component (n,)."""

    z: np.ndarray
    component: np.ndarray


class Autoencoder(BaseEstimator):
    """What `CHVAE`, `CVAE` and `VAE` share; they differ in having a mixture, and in having conditions."""

    _conditional: ClassVar[bool]
    _mixture: ClassVar[bool]

    schema: Schema
    latent_dim: int | None
    hidden: Sequence[int] | int | None
    epochs: int | None
    batch_size: int | None
    learning_rate: float
    warm_up: float
    free_bits: float
    patience: int | None
    validation: float
    rows_on_device: int
    random_state: Any
    verbose: bool

    def fit(self, X: Frame, y: object = None) -> Self:
        """Learns the density of the free features given the immutable ones; `y` is not used."""
        self._check()
        self.schema_, values = self._read(X)
        if len(values) < 2:
            raise DataError(f"X has {len(values)} rows; a density needs at least 2")
        if not len(self.schema_.free_columns):
            raise DataError("no feature is free, so there is nothing to model; see immutable and derived in the schema")
        self.n_features_in_ = values.shape[1]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        training, held = _split(len(values), self.validation, seed)
        self.columns_ = Columns.fit(self.schema_, values[training], conditional=self._conditional)
        rows = self.columns_.prepare(values)
        sizes = self._sizes(len(training))
        complete = not np.isnan(rows[:, : self.columns_.width]).any()
        model = Mixture.initial(
            self.columns_,
            jax.random.key(seed),
            latent_dim=sizes.latent_dim,
            components=sizes.components,
            hidden=sizes.hidden,
            estimator=getattr(self, "estimator", "exact"),
            complete=complete,
        )
        trained = self._train(model, rows[training], rows[held], sizes.plan, seed)
        base = (
            float(self.columns_.log_base(values[training]).mean()),
            float(self.columns_.log_base(values[held]).mean()),
        )
        self._history = History(
            [value + base[0] for value in trained.history.reconstruction],
            trained.history.kl_latent,
            trained.history.kl_component,
            [value + base[1] for value in trained.history.validation],
        )
        self.best_epoch_ = trained.best_epoch
        # Training may promise complete rows, a query may not.
        self.model_ = eqx.tree_at(lambda m: m.weights, _uncompleted(model), trained.model.weights)
        self._active = _active_units(self.model_, rows[training])
        return self

    def encode(self, X: Frame) -> Codes:
        """The latent code of each row: the posterior mean under its most probable component, and that component."""
        rows = self._rows(X)
        z, component = in_tiles(lambda tile: compiled.encode(self.model_, tile), [rows])
        return Codes(z, component)

    def decode(self, z: np.ndarray, conditions: Frame, component: np.ndarray) -> np.ndarray:
        """Typical rows of the one matrix for latent codes: deterministic, in original units.

        Parameters
        ----------
        z
            Codes (n, k).
        conditions
            A frame, or a matrix in the order of the schema, of n rows; its immutable cells are used and copied.
        component
            The mixture component of each code (n,).
        """
        values = self._values(conditions)
        if not len(z) == len(values) == len(component):
            raise DataError(
                f"z has {len(z)} rows, conditions {len(values)}, component {len(component)}; they must agree"
            )
        return self._completed(self.decode_free(z, self.encode_conditions(values), component), values)

    def decode_free(self, z: np.ndarray, encoded: np.ndarray, component: np.ndarray) -> np.ndarray:
        """Typical free cells (n, free columns) for codes and conditions from `encode_conditions`: for searches."""
        arrays = [np.asarray(z, np.float32), np.asarray(encoded, np.float32), np.asarray(component, np.int32)]
        return np.asarray(in_tiles(lambda *tiles: compiled.decode_matrix(self.model_, *tiles), arrays))

    def draw_free(self, z: np.ndarray, encoded: np.ndarray, component: np.ndarray, seed: int) -> np.ndarray:
        """One random draw of the free cells for each code, as the code released with the paper decodes.

        The draws depend on the seed and on the number of rows, and on nothing else.
        """
        codes, conditions = jax.numpy.asarray(z, np.float32), jax.numpy.asarray(encoded, np.float32)
        drawn = compiled.draw_matrix(
            self.model_, codes, conditions, jax.numpy.asarray(component, np.int32), jax.random.key(seed)
        )
        return np.asarray(drawn)

    def encode_conditions(self, X: Frame) -> np.ndarray:
        """The immutable features of each row as the network takes them: the `conditions` of `decode_matrix`."""
        return np.asarray(in_tiles(lambda tile: compiled.encode_conditions(self.model_, tile), [self._rows(X)]))

    def sample(self, conditions: Frame, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """`n` draws for each row of conditions, one after the other, as rows of the one matrix within their bounds."""
        values = np.repeat(self._values(conditions), n, axis=0)
        seed = int(check_random_state(self.random_state if random_state is None else random_state).randint(2**31 - 1))
        keys = jax.random.split(jax.random.key(seed), max(1, -(-len(values) // 4096)))
        tiles = iter(keys)
        free = in_tiles(lambda tile: compiled.sample(self.model_, tile, next(tiles)), [self.columns_.prepare(values)])
        return self._completed(free, values)

    def log_density_bound(
        self, X: Frame, samples: int = 100, *, return_error: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """The importance-weighted bound of log p(free | immutable) of each row, in original units.

        Parameters
        ----------
        X
            A frame, or a matrix in the order of the schema.
        samples
            Draws of z per row and component; more are tighter.
        return_error
            Also return the standard error of each figure.
        """
        if samples < 1:
            raise DataError(f"samples is {samples}; it takes a whole number from 1 upward")
        values = self._values(X)
        shape = (samples, self.model_.components, self.model_.latent_dim)
        noise = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        bound, error = in_tiles(
            lambda tile: compiled.importance_bound(self.model_, tile, jax.numpy.asarray(noise)),
            [self.columns_.prepare(values)],
            _BOUND_TILE,
        )
        bound = bound.astype(np.float64) + self.columns_.log_base(values)
        return (bound, error.astype(np.float64)) if return_error else bound

    @property
    def history(self) -> dict[str, list[float]]:
        """Per epoch, in nats per row and original units: reconstruction, kl_latent, kl_component, validation bound."""
        self._check_fitted()
        return {
            "reconstruction": self._history.reconstruction,
            "kl_latent": self._history.kl_latent,
            "kl_component": self._history.kl_component,
            "validation": self._history.validation,
        }

    @property
    def active_units(self) -> np.ndarray:
        """For each latent dimension whether the posterior uses it; all False is a collapsed model."""
        self._check_fitted()
        return self._active

    def _train(self, model: Mixture, rows: np.ndarray, held: np.ndarray, plan: Plan, seed: int) -> Trained:
        bar = track(plan.epochs, f"training {type(self).__name__}", unit="epochs") if self.verbose else None

        def advance(done: int, planned: int, bound: float) -> None:
            if bar is not None:
                bar.update(1)

        try:
            return train(model, rows, held, plan, seed=seed, names=self.columns_.names, progress=advance)
        finally:
            if bar is not None:
                bar.close()

    def _sizes(self, rows: int) -> _Sizes:
        """What the parameters say, and for those left open what the data suggests."""
        free = len(self.schema_.free_columns)
        hidden = (self.hidden,) if isinstance(self.hidden, int) else tuple(self.hidden or ())
        batch_size = self.batch_size or int(np.clip(2 ** round(np.log2(max(rows / 100, 1))), 32, 512))
        steps = -(-rows // min(batch_size, rows))
        epochs = self.epochs or int(np.clip(_STEPS // steps, 30, 200))
        components = (getattr(self, "components", None) or min(1 + rows // 20_000, 5)) if self._mixture else 1
        plan = Plan(
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=self.learning_rate,
            warm_up=self.warm_up,
            free_bits=self.free_bits,
            patience=self.patience or max(10, epochs // 5),
            rows_on_device=self.rows_on_device,
        )
        latent_dim = self.latent_dim or min(free, max(6, round(free / 4)), 16)
        return _Sizes(latent_dim, components, tuple(width for width in hidden if width), plan)

    def _check(self) -> None:
        if not isinstance(self.schema, Schema):
            raise DataError(f"schema is a {type(self.schema).__name__}; it takes an attain.Schema")
        for name in ("latent_dim", "components", "epochs", "batch_size", "patience"):
            given = getattr(self, name, None)
            if given is not None and (not isinstance(given, int | np.integer) or given < 1):
                raise DataError(f"{name} is {given!r}; it takes a whole number from 1 upward, or None")
        if getattr(self, "estimator", "exact") not in ("exact", "relaxed"):
            raise DataError(f"estimator is {self.estimator!r}; it takes 'exact' or 'relaxed'")
        if not 0 < self.learning_rate < np.inf:
            raise DataError(f"learning_rate is {self.learning_rate!r}; it takes a number above 0")
        if not 0 < self.validation < 1:
            raise DataError(f"validation is {self.validation!r}; it takes a share between 0 and 1")

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise AttainError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _read(self, X: Frame) -> tuple[Schema, np.ndarray]:
        if isinstance(X, np.ndarray) and X.dtype == np.float64 and X.ndim == 2 and X.shape[1] == len(self.schema):
            return self.schema, X
        table = Table.read(X, self.schema)
        return table.schema, table.values

    def _values(self, X: Frame) -> np.ndarray:
        self._check_fitted()
        return self._read(X)[1]

    def _rows(self, X: Frame) -> np.ndarray:
        values = self._values(X)
        return self.columns_.prepare(values)

    def _completed(self, free: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whole rows: free cells within their bounds, immutable cells copied, derived ones computed."""
        schema = self.schema_
        rows = values.copy()
        for column, position in enumerate(schema.free_columns):
            feature = schema.features[position]
            cells = free[:, column].astype(np.float64)
            low, high = (-np.inf if feature.bounds[0] is None else feature.bounds[0], feature.bounds[1] or np.inf)
            special = np.isin(cells, list(feature.special)) if feature.special else np.zeros(len(cells), bool)
            rows[:, position] = np.where(special, cells, np.clip(cells, low, high))
        for position, expression in schema.derivations:
            rows[:, position] = expression({name: rows[:, j] for j, name in enumerate(schema.names)})
        return rows


class _Sizes(NamedTuple):
    latent_dim: int
    components: int
    hidden: tuple[int, ...]
    plan: Plan


def _active_units(model: Mixture, rows: np.ndarray) -> np.ndarray:
    displacement = in_tiles(lambda tile: compiled.displacement(model, tile), [rows[:50_000]])
    return np.asarray(displacement.var(axis=0) > ACTIVE)


def _uncompleted(model: Mixture) -> Mixture:
    return Mixture(model.weights, model.columns, model.latent_dim, model.components, model.estimator, False)


def _split(rows: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers for training and for validation; very small data serve as both."""
    if rows < 20:
        return np.arange(rows), np.arange(rows)
    held = int(np.clip(round(share * rows), 1, 20_000))
    order = np.random.default_rng(seed).permutation(rows)
    return np.sort(order[held:]), np.sort(order[:held])
