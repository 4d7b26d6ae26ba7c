"""What explainers need of an autoencoder, and the package's own as estimators: trained by JAX, asked in NumPy.

Any class with the members of `Autoencoder`, a few functions from arrays to arrays, can be passed to an explainer as
`autoencoder=`, whatever it is built with; `attain.testing.check_autoencoder` tests them. `values` are rows (n, d) of
the float64 matrix in the order of the schema: numbers in original units, levels by their position, NaN for a missing
cell. *Free* columns, `f` of them, are `schema.free_columns`: neither immutable nor derived.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeAlias, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from attain.core.errors import DataError, FileError, MissingExtraError, check_choice, check_integer, check_number
from attain.core.frames import Frame
from attain.core.progress import ProgressBar
from attain.density.columns import Columns
from attain.density.likelihoods import Family
from attain.density.network import Network, Sizes, draw_keys, row_keys
from attain.schema import Schema
from attain.schema.formulas import evaluate
from attain.tables import Table

if TYPE_CHECKING:
    from attain.density.mixture import Mixture, Objective
    from attain.density.training import Plan, Trained


State: TypeAlias = tuple[dict[str, Any], dict[str, np.ndarray]]
"""What a model has learned: facts that JSON can hold, and arrays by name."""


class Codes(NamedTuple):
    """Rows in latent space: what a search moves, and what it leaves alone.

    Attributes
    ----------
    z
        Latent codes (n, k).
    context
        Whatever else `decode` needs to know of each row, (n, c): its immutable cells, a mixture component. A search
        decodes many z with the context of one row; c may be 0.
    """

    z: np.ndarray
    context: np.ndarray


class Autoencoder(Protocol):
    """A density model of the free columns given the immutable ones, with a latent space.

    A fitted autoencoder has `schema_`, the schema it was fitted with. One that is to be fitted by an explainer is a
    scikit-learn estimator with a parameter `schema`: it is cloned, gets the explainer's schema, and is fitted.

    A row's results must not depend on the other rows of the call, to the last bit; `attain.density.row_product` is a
    matrix product of which that is true. An optional method `decode_vjp(codes, gradient)` gives gradient · ∂decode/∂z,
    (n, f) to (n, k): REVISE needs it for exact gradients. An autoencoder with a mixture of L components may have
    another, `log_components(z)`: log p(c | z) but for a constant of each row, (n, k) to (n, L). The first column of
    `Codes.context` is then the number of the component that a code is decoded with.
    """

    schema_: Schema

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learns from rows (n, d)."""
        ...

    def encode(self, X: np.ndarray) -> Codes:
        """The codes of rows (n, d)."""
        ...

    def decode(self, codes: Codes) -> np.ndarray:
        """Typical free cells (n, f) for codes, in original units: deterministic; levels are valid positions.

        Bounds, steps and rules between columns are the explainer's concern.
        """
        ...

    def log_density(self, X: np.ndarray, samples: int = 100) -> np.ndarray:
        """log p(free | immutable) of rows, (n,), or a bound of it.

        `samples` is the number of draws per row where a bound is estimated by sampling; a closed form ignores it.
        """
        ...

    @property
    def active_units(self) -> np.ndarray:
        """For each latent dimension (k,) whether it matters to `decode`; searches leave the others alone."""
        ...

    def state(self) -> State:
        """What was learned, for a file."""
        ...

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Takes back what `state` gave, on an unfitted autoencoder with the same parameters; `schema` is its schema."""
        ...


Estimator: TypeAlias = Literal["exact", "relaxed"]
"""How the expectation over components is taken in training."""

ACTIVE = 0.01
"""A latent unit is active if the variance over rows of its posterior mean, relative to its prior mean, exceeds this."""
_BOUND_SEED = 0
"""A constant: every call of `log_density` uses the same noise, so that a row's figure never changes."""
_HISTORY = ("reconstruction", "kl_latent", "kl_component", "validation")
_STEPS = 4_000
"""About how many steps of Adam training takes by default."""
_HIDDEN, _BEARS_HIDDEN = (64,), 5_000
"""The default hidden layers, and the number of rows from which a linear network is not tried as well."""


@dataclass(eq=False, repr=False)
class MixtureEstimator(BaseEstimator):
    """What all members of the family share; parameters are documented by `CHVAE`.

    It takes frames, or float64 rows of the matrix as they are.
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
    patience: int | None = None
    validation: float = 0.1
    random_state: Any = 0
    verbose: bool = True

    conditional: ClassVar[bool] = True
    """Whether the density is given the immutable features."""
    any_given: ClassVar[bool] = False
    """Whether it can be given any columns."""

    def fit(self, X: Frame, y: object = None) -> Self:
        """Learns the density of the free features given the immutable ones; `y` is not used."""
        self._check()
        try:
            import jax

            from attain.density.mixture import Mixture
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("jax", "jaxlib", "equinox", "optax"):
                raise
            raise MissingExtraError(
                f"training a {type(self).__name__} needs JAX, which is not installed: "
                "pip install 'attain[autoencoders]'"
            ) from None
        schema, values = self._read(X)
        if len(values) < 2:
            raise DataError(f"X has {len(values)} rows; an autoencoder needs at least 2")
        if not len(schema.free_columns):
            raise DataError("no feature is free, so there is nothing to model; see immutable and derived in the schema")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        training, held = _split(len(values), self.validation, seed)
        columns = self._columns(schema, values[training])
        rows = columns.prepare(values)
        checked = self._compact(columns, values[held], schema.immutable_columns)
        components, estimator = self._mixture(len(training))
        free = len(schema.free_columns)
        latent_dim = self.latent_dim or min(free, max(6, round(free / 4)), 16)
        found: list[tuple[Mixture, Trained]] = []
        for hidden in self._widths(len(training)):
            sizes = Sizes(latent_dim, components, hidden)
            model = Mixture.initial(
                columns,
                jax.random.key(seed),
                sizes,
                self._objective(columns),
                estimator=estimator,
                complete=not (self.any_given or np.isnan(rows[:, : columns.width]).any()),
            )
            found.append((model, self._train(model, rows[training], checked, self._plan(len(training), seed))))
        model, trained = max(found, key=lambda one: max(one[1].history["validation"]))
        self._history = trained.history
        # What depends on the data alone is left out of training, so that it costs no float32 digits.
        for name, part in (("reconstruction", training), ("validation", held)):
            constant = float(columns.log_base(values[part]).mean())
            self._history[name] = [value + constant for value in self._history[name]]
        self.best_epoch_ = trained.best_epoch
        self.network_ = Network(columns, model.sizes, model.arrays(trained.weights))
        sample = self._compact(columns, values[training][:50_000], schema.immutable_columns)
        self._active = np.asarray(self.network_.displacement(sample).var(axis=0) > ACTIVE)
        self.schema_, self.n_features_in_ = schema, values.shape[1]
        return self

    def encode(self, X: Frame) -> Codes:
        """The latent code of each row: the posterior mean under its most probable mixture component.

        The context is that component, in the first column, and the immutable features as network inputs.
        """
        values = self._values(X)
        rows = self._compact(self.network_.columns, values, self.schema_.immutable_columns)
        z, component = self.network_.encode(rows)
        return Codes(z, np.column_stack([component, self.network_.conditions(rows)]))

    def decode(self, codes: Codes) -> np.ndarray:
        """Typical free cells (n, f) in original units; see `decode_rows` for complete rows."""
        self._check_fitted()
        return self.network_.decode(*_network_inputs(codes))[:, self._free]

    def log_components(self, z: np.ndarray) -> np.ndarray:
        """log p(c | z) of each mixture component, (n, L), but for a constant of each row."""
        self._check_fitted()
        return self.network_.log_components(np.asarray(z, dtype=np.float64))

    def decode_vjp(self, codes: Codes, gradient: np.ndarray) -> np.ndarray:
        """gradient · ∂decode/∂z: a gradient in the typical free cells (n, f) as one in the codes (n, k)."""
        self._check_fitted()
        whole = np.zeros((len(gradient), len(self._free)))
        whole[:, self._free] = gradient
        return self.network_.decode_vjp(*_network_inputs(codes), whole)

    def decode_rows(self, codes: Codes, X: Frame) -> np.ndarray:
        """Typical rows (n, d) of the matrix: decoded cells within their bounds, immutable cells copied from `X`."""
        values = self._values(X)
        if not len(codes.z) == len(codes.context) == len(values):
            raise DataError(
                f"z has {len(codes.z)} rows, context {len(codes.context)}, X {len(values)}; they must be equal"
            )
        return completed(self.decode(codes), values, self.schema_)

    def sample(self, conditions: Frame, n: int = 1, *, random_state: Any = None) -> np.ndarray:
        """`n` draws for each row of conditions, one after the other, as rows of the matrix within their bounds.

        Draws depend on the row and the seed alone; equal rows have equal draws.
        """
        return self._sampled(self._values(conditions), self.schema_.immutable_columns, n, random_state)

    def _sampled(self, values: np.ndarray, given: Iterable[int], n: int, random_state: Any) -> np.ndarray:
        """`n` draws for each row (n, d), in which these columns are given and copied."""
        seed = int(check_random_state(self.random_state if random_state is None else random_state).randint(2**31 - 1))
        compact, modelled = self._compact(self.network_.columns, values, given), self.network_.columns.modelled
        drawn = self.network_.sample(np.repeat(compact, n, axis=0), draw_keys(row_keys(values, seed), n))
        free = ~np.isin(modelled, list(given))
        return completed(drawn[:, free], np.repeat(values, n, axis=0), self.schema_, modelled[free])

    def log_density(self, X: Frame, samples: int = 100) -> np.ndarray:
        """The importance-weighted lower bound of log p(free | immutable) of each row (n,), in original units.

        `samples` are draws of z per row and component; more are tighter.
        """
        return self._bounded(self._values(X), self.schema_.immutable_columns, samples)

    def _bounded(self, values: np.ndarray, given: Iterable[int], samples: int) -> np.ndarray:
        """The bound of the log-density of the other columns given these, (n,)."""
        check_integer("samples", samples, 1)
        columns, sizes = self.network_.columns, self.network_.sizes
        noise = np.random.default_rng(_BOUND_SEED).standard_normal((samples, sizes.components, sizes.latent_dim))
        bound = self.network_.bound(self._compact(columns, values, given), noise)
        values = values.copy()
        values[:, list(given)] = np.nan
        return bound + columns.log_base(values)

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
        """Sizes and history as JSON; weights and constants as arrays."""
        self._check_fitted()
        facts = {**self.network_.facts(), "history": self._history, "best_epoch": self.best_epoch_}
        return facts, {**self.network_.arrays(), "active": np.asarray(self._active)}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Takes back what `state` gave; sizes and arrays that do not fit the schema are refused."""
        form = self._columns(self.schema, np.full((2, len(self.schema)), np.nan))
        network, active = Network.restored(form, facts, arrays), arrays["active"]
        if active.shape != (network.sizes.latent_dim,) or active.dtype != np.bool_:
            raise FileError("the file does not have a flag for each latent unit")
        self.network_, self._active = network, active
        self._history = {name: facts["history"][name] for name in _HISTORY}
        self.best_epoch_ = facts["best_epoch"]
        self.schema_, self.n_features_in_ = self.schema, len(self.schema)
        return self

    def _train(self, model: Mixture, rows: np.ndarray, held: np.ndarray, plan: Plan) -> Trained:
        from attain.density.training import train  # needs JAX

        labels = {"reconstruction": model.columns.names}
        with closing(ProgressBar(plan.epochs, f"training {type(self).__name__}", unit="epochs")) as bar:
            progress = bar.update if self.verbose else None
            return train(model.weights, model.loss, model.validate, rows, held, plan, labels=labels, progress=progress)

    def _columns(self, schema: Schema, values: np.ndarray) -> Columns:
        """The columns that are modelled, and those that are given."""
        return Columns.fit(schema, values, given=None if self.conditional else (), likelihoods=self.likelihoods)

    def _compact(self, columns: Columns, values: np.ndarray, given: Iterable[int]) -> np.ndarray:
        """Compact rows as the model is asked about them, where these columns are given."""
        return columns.prepare(values)

    def _objective(self, columns: Columns) -> Objective:
        """What training minimises."""
        from attain.density.mixture import Bound  # needs JAX

        return Bound(weight=self.beta)

    @property
    def _free(self) -> np.ndarray:
        """Which of the modelled columns are free."""
        return np.isin(self.network_.columns.modelled, self.schema_.free_columns)

    def _mixture(self, rows: int) -> tuple[int, Estimator]:
        """The number of components, and how their expectation is taken in training."""
        return 1, "exact"

    def _widths(self, rows: int) -> list[tuple[int, ...]]:
        """The hidden layers that are tried: the network with the best bound on the validation rows is kept."""
        if self.hidden is None:
            return [_HIDDEN] if rows >= _BEARS_HIDDEN else [(), _HIDDEN]
        widths = (self.hidden,) if isinstance(self.hidden, int) else tuple(self.hidden)
        return [tuple(width for width in widths if width)]

    def _plan(self, rows: int, seed: int) -> Plan:
        """The parameters, with those left open chosen by the number of rows."""
        from attain.density.training import Plan  # needs JAX

        batch_size = self.batch_size or int(np.clip(2 ** round(np.log2(max(rows / 100, 1))), 32, 512))
        steps = -(-rows // min(batch_size, rows))
        epochs = self.epochs or int(np.clip(_STEPS // steps, 30, 200))
        return Plan(
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=self.learning_rate,
            warm_up=self.warm_up,
            patience=self.patience or max(10, epochs // 5),
            seed=seed,
        )

    def _check(self) -> None:
        if not isinstance(self.schema, Schema):
            raise DataError(f"schema must be an attain.Schema, got a {type(self.schema).__name__}")
        for name in ("latent_dim", "epochs", "batch_size", "patience"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1)
        check_choice("likelihoods", self.likelihoods, get_args(Family))
        check_number("learning_rate", self.learning_rate, above=0.0)
        check_number("beta", self.beta, least=0.0)
        check_number("validation", self.validation, above=0.0, below=1.0)

    def _read(self, X: Frame) -> tuple[Schema, np.ndarray]:
        if isinstance(X, np.ndarray) and X.dtype == np.float64 and X.ndim == 2 and X.shape[1] == len(self.schema):
            return self.schema, X
        table = Table.read(X, self.schema)
        return table.schema, table.values

    def _values(self, X: Frame) -> np.ndarray:
        self._check_fitted()
        return self._read(X)[1]

    def _check_fitted(self) -> None:
        if not hasattr(self, "schema_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")


def _network_inputs(codes: Codes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """z, encoded conditions and component numbers."""
    z, context = (np.asarray(part, dtype=np.float64) for part in codes)
    return z, context[:, 1:], context[:, 0].astype(np.intp)


def completed(
    free: np.ndarray, values: np.ndarray, schema: Schema, positions: Iterable[int] | None = None
) -> np.ndarray:
    """Complete rows: cells of the free columns, or of those at some positions, within their bounds; others copied."""
    rows = values.copy()
    for column, position in enumerate(schema.free_columns if positions is None else positions):
        feature, cells = schema.features[position], free[:, column].astype(np.float64)
        low, high = (np.inf * sign if b is None else b for b, sign in zip(feature.bounds, (-1, 1), strict=True))
        rows[:, position] = np.where(np.isin(cells, list(feature.special)), cells, np.clip(cells, low, high))
    return with_derived(rows, schema)


def with_derived(rows: np.ndarray, schema: Schema) -> np.ndarray:
    """The rows with their computed columns computed, in place."""
    for position, expression in schema.derivations:
        rows[:, [position]] = evaluate(schema.features, rows, expression)
    return rows


def _split(rows: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers for training and for validation; very small data serve as both."""
    if rows < 20:
        return np.arange(rows), np.arange(rows)
    held = int(np.clip(round(share * rows), 1, 20_000))
    order = np.random.default_rng(seed).permutation(rows)
    return np.sort(order[held:]), np.sort(order[:held])
