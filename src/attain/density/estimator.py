"""Estimators around a trained `Mixture`: fitted on frames, queried with frames or rows of the matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np
from sklearn.utils import check_random_state

from attain.core.checks import check_number
from attain.core.errors import DataError, FileError
from attain.core.frames import Frame
from attain.core.progress import track
from attain.density import compiled, state
from attain.density.autoencoder import Codes, State
from attain.density.columns import Columns
from attain.density.forked import check_not_forked
from attain.density.likelihoods import Family
from attain.density.mixture import Estimator, Mixture
from attain.density.network import Network
from attain.density.objective import Bound, Objective
from attain.density.plots import DensityPlots
from attain.density.rows import ReadsRows, check_enough, with_derived
from attain.density.tiles import in_tiles
from attain.density.training import Plan, Trained, train
from attain.density.uniforms import draw_keys, row_keys
from attain.schema import Schema

ACTIVE = 0.01
"""A latent unit is active if the variance over rows of its posterior mean, relative to its prior mean, exceeds this."""
_BOUND_TILE, _GRADIENT_TILE, _SAMPLE_TILE = 128, 8, 1024
_DRAWS = 5
"""Draws in one call of the compiled bound, so that any number of them is compiled once."""
_BOUND_SEED = 0
"""A constant: every call of `log_density` uses the same noise, so that a row's figure never changes."""
_HISTORY = ("reconstruction", "kl_latent", "kl_component", "validation")
_STEPS = 4_000
"""About how many steps of Adam training takes by default."""
_HIDDEN, _BEARS_HIDDEN = (64,), 5_000
"""The hidden layers by default, and from how many rows on the linear network need not be tried beside them."""


@dataclass(eq=False, repr=False)
class MixtureEstimator(ReadsRows):
    """What `CHVAE`, `CVAE` and `VAE` share; they differ in the number of components and in using conditions.

    Parameters are documented by `CHVAE`.
    """

    schema: Schema
    _: KW_ONLY
    likelihoods: Family = "binned"
    latent_dim: int | None = None
    hidden: Sequence[int] | int | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float = 8e-3
    beta: float = 1.0
    warm_up: float = 0.1
    free_bits: float = 0.0
    patience: int | None = None
    validation: float = 0.1
    rows_on_device: int = 20_000_000
    random_state: Any = 0
    verbose: bool = True

    conditional: ClassVar[bool] = True
    """Whether the density is given the immutable features."""
    any_given: ClassVar[bool] = False
    """Whether it can be given any columns."""

    def fit(self, X: Frame, y: object = None) -> Self:
        """Learns the density of the free features given the immutable ones; `y` is not used."""
        self._check()
        check_not_forked("training an autoencoder")
        schema, values = self._read(X)
        check_enough(values, schema.free_columns)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        training, held = _split(len(values), self.validation, seed)
        columns = self._columns(schema, values[training])
        rows = columns.prepare(values)
        checked = self._compact(columns, values[held], schema)
        components, estimator = self._mixture(len(training))
        objective = self._objective(columns)
        found: list[tuple[Mixture, Trained]] = []
        for hidden in self._widths(len(training)):
            model = Mixture.initial(
                columns,
                jax.random.key(seed),
                latent_dim=self._latent_dim(len(schema.free_columns)),
                components=components,
                hidden=hidden,
                estimator=estimator,
                complete=not (self.any_given or np.isnan(rows[:, : columns.width]).any()),
                objective=objective,
            )
            found.append((model, self._train(model, rows[training], checked, seed)))
        model, trained = max(found, key=lambda one: max(one[1].history["validation"]))
        self._history = trained.history
        # What depends on the data alone is left out of training, so that it costs no float32 digits.
        for name, part in (("reconstruction", training), ("validation", held)):
            constant = float(columns.log_base(values[part]).mean())
            self._history[name] = [value + constant for value in self._history[name]]
        self.best_epoch_ = trained.best_epoch
        # Rows without missing cells need no masks in training; a query may have missing cells.
        self._set(columns, replace(model, weights=trained.weights, complete=False))
        some = self._compact(columns, values[training][:50_000], schema)
        self._active = np.asarray(self._network.displacement(some).var(axis=0) > ACTIVE)
        self.schema_, self.n_features_in_ = schema, values.shape[1]
        return self

    def encode(self, X: Frame) -> Codes:
        """The latent code of each row: the posterior mean under its most probable mixture component.

        The context is that component, in the first column, and the immutable features as network inputs.
        """
        values = self._values(X)
        rows = self._compact(self.columns_, values, self.schema_)
        z, component = self._network.encode(rows)
        return Codes(z, np.column_stack([component, self._network.conditions(rows)]))

    def decode(self, codes: Codes) -> np.ndarray:
        """Typical free cells (n, f) in original units; see `decode_rows` for complete rows."""
        self._check_fitted()
        z, context = (np.asarray(part, dtype=np.float64) for part in codes)
        return self._free(self._network.decode(z, context[:, 1:], context[:, 0].astype(np.intp)))

    def log_components(self, z: np.ndarray) -> np.ndarray:
        """log p(c | z) of each mixture component, (n, L), but for a constant of each row."""
        self._check_fitted()
        return self._network.log_components(np.asarray(z, dtype=np.float64))

    def decode_vjp(self, codes: Codes, gradient: np.ndarray) -> np.ndarray:
        """gradient · ∂decode/∂z: a gradient in the typical free cells (n, f) as one in the codes (n, k)."""
        self._check_fitted()
        columns = self._sloped.columns
        if not columns.free:
            return np.zeros(codes.z.shape, np.float32)
        at = np.isin(self.columns_.modelled, columns.modelled)
        arrays = [*_network_inputs(codes), np.asarray(self._of_modelled(gradient)[:, at], np.float32)]
        return in_tiles(lambda *tiles: compiled.decode_vjp(self._sloped, *tiles), arrays, _GRADIENT_TILE)

    def decode_rows(self, codes: Codes, X: Frame) -> np.ndarray:
        """Typical rows (n, d) of the matrix: decoded cells within their bounds, immutable cells copied from `X`."""
        values = self._values(X)
        if not len(codes.z) == len(codes.context) == len(values):
            raise DataError(
                f"z has {len(codes.z)} rows, context {len(codes.context)}, X {len(values)}; they must be equal"
            )
        return completed(self.decode(codes), values, self.schema_)

    def draw(self, codes: Codes, seed: int) -> np.ndarray:
        """One random draw of the free cells (n, f) for each code; it depends on the seed and the number of rows."""
        self._check_fitted()
        drawn = np.asarray(compiled.draw(self.model_, *_network_inputs(codes), np.uint32(seed)))
        return self._free(self.columns_.in_units(drawn))

    def sample(self, conditions: Frame, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """`n` draws for each row of conditions, one after the other, as rows of the matrix within their bounds.

        Draws depend on the row and the seed alone; equal rows have equal draws.
        """
        values = self._values(conditions)
        rows = self._compact(self.columns_, values, self.schema_)
        return completed(
            self._free(self._drawn(values, rows, n, random_state)), np.repeat(values, n, axis=0), self.schema_
        )

    def _drawn(self, values: np.ndarray, rows: np.ndarray, n: int, random_state: Any) -> np.ndarray:
        """`n` draws for each compact row of the modelled columns, in original units."""
        seed = int(check_random_state(self.random_state if random_state is None else random_state).randint(2**31 - 1))
        keys = draw_keys(row_keys(values, seed), n).view(np.uint32).reshape(-1, 2)
        drawn = in_tiles(
            lambda *tiles: compiled.sample(self.model_, *tiles), [np.repeat(rows, n, axis=0), keys], _SAMPLE_TILE
        )
        return self.columns_.in_units(drawn)

    def log_density(self, X: Frame, samples: int = 100) -> np.ndarray:
        """The importance-weighted lower bound of log p(free | immutable) of each row (n,), in original units.

        `samples` are draws of z per row and component; more are tighter.
        """
        return self.log_density_with_error(X, samples)[0]

    def log_density_with_error(self, X: Frame, samples: int = 100) -> tuple[np.ndarray, np.ndarray]:
        """`log_density`, and the standard error (n,) that each figure has from the number of samples."""
        values = self._values(X)
        return self._bounded(
            self._compact(self.columns_, values, self.schema_), self.columns_.log_base(values), samples
        )

    def _bounded(self, rows: np.ndarray, log_base: np.ndarray, samples: int) -> tuple[np.ndarray, np.ndarray]:
        """The bound of compact rows and its standard error, both (n,)."""
        if samples < 1:
            raise DataError(f"samples must be an integer ≥ 1, got {samples!r}")
        shape = (samples, self.model_.components, self.model_.latent_dim)
        noise = np.random.default_rng(_BOUND_SEED).standard_normal(shape).astype(np.float32)
        parts = [
            in_tiles(lambda tile, some=some: compiled.importance_bound(self.model_, tile, some), [rows], _BOUND_TILE)
            for some in (noise[start : start + _DRAWS] for start in range(0, samples, _DRAWS))
        ]
        bounds, errors = (np.stack(part) for part in zip(*parts, strict=True))
        bound, error = parts[0] if len(parts) == 1 else _averaged(bounds, errors, samples)
        return bound.astype(np.float64) + log_base, error.astype(np.float64)

    @property
    def plot(self) -> DensityPlots:
        """Plots of the fitted model: `plot.history()`, `plot.distances(X)`, `plot.distribution(X, feature)`."""
        self._check_fitted()
        return DensityPlots(self)

    @property
    def history(self) -> dict[str, list[float]]:
        """Per epoch, in nats per row and original units: reconstruction, kl_latent, kl_component, validation.

        `validation` is the bound of held-out rows. Of `WAE` and `AAE` it is their reconstruction without noise, less
        the weighted discrepancy of codes and prior; `kl_latent` is the weighted distance between these in training.
        """
        self._check_fitted()
        return self._history

    @property
    def active_units(self) -> np.ndarray:
        """For each latent dimension whether the posterior uses it; all False is a collapsed model."""
        self._check_fitted()
        return self._active

    def state(self) -> State:
        """Sizes and history as JSON; weights and constants as arrays, in the fixed order of the model's tree."""
        self._check_fitted()
        model = self.model_
        facts = {
            "latent_dim": model.latent_dim,
            "components": model.components,
            "hidden": [int(layer.bias.shape[0]) for layer in model.weights.encoder],
            "estimator": model.estimator,
            "flagged": list(self.columns_.flagged),
            "history": self._history,
            "best_epoch": self.best_epoch_,
        }
        arrays = state.leaves("model", model) | state.leaves("columns", self.columns_)
        return facts, arrays | {"active": np.asarray(self._active)}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Takes back what `state` gave; sizes and arrays that do not fit the schema are refused."""
        form = self._columns(self.schema, np.full((2, len(self.schema)), np.nan))
        columns, model = state.rebuilt(form, self._objective(form), facts, arrays)
        active = arrays["active"]
        if active.shape != (model.latent_dim,) or active.dtype != np.bool_:
            raise FileError("the file does not have a flag for each latent unit")
        self._set(columns, model)
        self._active = active
        self._history = {name: facts["history"][name] for name in _HISTORY}
        self.best_epoch_ = facts["best_epoch"]
        self.schema_, self.n_features_in_ = self.schema, len(self.schema)
        return self

    def _set(self, columns: Columns, model: Mixture) -> None:
        self.columns_, self.model_, self._network = columns, model, Network.of(model, columns)
        self._sloped = model.with_outputs(*model.columns.with_slope())

    def _train(self, model: Mixture, rows: np.ndarray, held: np.ndarray, seed: int) -> Trained:
        plan = self._plan(len(rows))
        bar = track(plan.epochs, f"training {type(self).__name__}", unit="epochs") if self.verbose else None

        def advance(done: int, planned: int, bound: float) -> None:
            if bar is not None:
                bar.update(1)

        try:
            labels = {"reconstruction": model.columns.names}
            return train(
                model.weights, model.loss, model.validate, rows, held, plan, seed=seed, labels=labels, progress=advance
            )
        finally:
            if bar is not None:
                bar.close()

    def _columns(self, schema: Schema, values: np.ndarray) -> Columns:
        """The columns that are modelled, and those that are given."""
        return Columns.fit(schema, values, given=None if self.conditional else (), likelihoods=self.likelihoods)

    def _compact(self, columns: Columns, values: np.ndarray, schema: Schema) -> np.ndarray:
        """Compact rows as the model is asked about them."""
        return columns.prepare(values)

    def _objective(self, columns: Columns) -> Objective:
        """What training minimises."""
        return Bound(weight=self.beta)

    def _free(self, cells: np.ndarray) -> np.ndarray:
        """The free cells (n, f) among those of the modelled columns."""
        return cells

    def _of_modelled(self, gradient: np.ndarray) -> np.ndarray:
        """A gradient in the free cells as one in those of the modelled columns."""
        return gradient

    def _mixture(self, rows: int) -> tuple[int, Estimator]:
        """The number of components, and how their expectation is taken in training."""
        return 1, "exact"

    def _latent_dim(self, free: int) -> int:
        return self.latent_dim or min(free, max(6, round(free / 4)), 16)

    def _widths(self, rows: int) -> list[tuple[int, ...]]:
        """The hidden layers that are tried: the network with the best bound on the validation rows is kept."""
        if self.hidden is None:
            return [_HIDDEN] if rows >= _BEARS_HIDDEN else [(), _HIDDEN]
        widths = (self.hidden,) if isinstance(self.hidden, int) else tuple(self.hidden)
        return [tuple(width for width in widths if width)]

    def _plan(self, rows: int) -> Plan:
        """What the parameters say, and for those left open what the number of rows suggests."""
        batch_size = self.batch_size or int(np.clip(2 ** round(np.log2(max(rows / 100, 1))), 32, 512))
        steps = -(-rows // min(batch_size, rows))
        epochs = self.epochs or int(np.clip(_STEPS // steps, 30, 200))
        return Plan(
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=self.learning_rate,
            warm_up=self.warm_up,
            free_bits=self.free_bits,
            patience=self.patience or max(10, epochs // 5),
            rows_on_device=self.rows_on_device,
        )

    def _check(self) -> None:
        self._check_schema()
        for name in ("latent_dim", "epochs", "batch_size", "patience"):
            check_size(name, getattr(self, name))
        if self.likelihoods not in ("binned", "paper"):
            raise DataError(f"likelihoods must be 'binned' or 'paper', got {self.likelihoods!r}")
        if not 0 < self.learning_rate < np.inf:
            raise DataError(f"learning_rate must be a number > 0, got {self.learning_rate!r}")
        check_number("beta", self.beta, least=0.0)
        if not 0 < self.validation < 1:
            raise DataError(f"validation must be a number between 0 and 1, got {self.validation!r}")


def check_size(name: str, value: object) -> None:
    """Refuses what is neither None nor an integer ≥ 1."""
    if value is not None and (not isinstance(value, int | np.integer) or value < 1):
        raise DataError(f"{name} must be an integer ≥ 1 or None, got {value!r}")


def _averaged(bounds: np.ndarray, errors: np.ndarray, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """The bound and its error (n,) over all draws, from those of each part of them (parts, n).

    A bound is the logarithm of an average weight, and its error is that of the average, relative to it.
    """
    draws = np.full((len(bounds), 1), _DRAWS)
    draws[-1] = samples - _DRAWS * (len(bounds) - 1)
    largest = bounds.max(axis=0).astype(np.float64)
    means = np.exp(bounds - largest)
    mean = (draws * means).sum(axis=0) / samples
    squares = (errors * means) ** 2 * np.maximum(draws - 1, 1) * draws + draws * (means - mean) ** 2
    return largest + np.log(mean), np.sqrt(squares.sum(axis=0) / (samples - 1) / samples) / mean


def _network_inputs(codes: Codes) -> list[np.ndarray]:
    """z, encoded conditions and component number, as the compiled functions take them."""
    context = np.asarray(codes.context, np.float32)
    return [np.asarray(codes.z, np.float32), context[:, 1:], context[:, 0].astype(np.int32)]


def completed(
    free: np.ndarray, values: np.ndarray, schema: Schema, positions: Sequence[int] | None = None
) -> np.ndarray:
    """Complete rows: cells of the free columns, or of those at some positions, within their bounds; others copied."""
    rows = values.copy()
    for column, position in enumerate(schema.free_columns if positions is None else positions):
        feature = schema.features[position]
        cells = free[:, column].astype(np.float64)
        low, high = (np.inf * sign if b is None else b for b, sign in zip(feature.bounds, (-1, 1), strict=True))
        rows[:, position] = np.where(np.isin(cells, list(feature.special)), cells, np.clip(cells, low, high))
    return with_derived(rows, schema)


def _split(rows: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers for training and for validation; very small data serve as both."""
    if rows < 20:
        return np.arange(rows), np.arange(rows)
    held = int(np.clip(round(share * rows), 1, 20_000))
    order = np.random.default_rng(seed).permutation(rows)
    return np.sort(order[held:]), np.sort(order[:held])
