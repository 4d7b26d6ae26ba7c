"""One training loop for every autoencoder: a whole epoch is one compiled call.

The rows live on the device; where they do not fit, an epoch streams them in chunks through the same compiled call. The
same seed gives the same weights, bit for bit, on one platform. A second fit of the same shapes compiles nothing. To
keep compiled programs between processes, set JAX's own JAX_COMPILATION_CACHE_DIR.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from attain.core.errors import DataError, listed


class Parts(Protocol):
    """What a loss is made of, row by row."""

    reconstruction: Any
    kl_latent: Any
    kl_component: Any


class Trainable(Protocol):
    """What the loop needs: weights to change, and the parts of the bound for a batch."""

    weights: Any

    def terms(self, rows: jax.Array, key: jax.Array, temperature: jax.Array) -> Any:
        """The parts of the training objective, row by row."""
        ...

    def bound(self, rows: jax.Array, noise: jax.Array) -> Any:
        """The parts of the bound at β = 1, for validation."""
        ...

    @property
    def latent_dim(self) -> int: ...


Model = TypeVar("Model", bound=Trainable)
Progress: TypeAlias = Callable[[int, int, float], None]
"""Called after each epoch with the number of epochs done, the number planned and the validation bound."""


@dataclass(frozen=True)
class Plan:
    """How to train.

    Parameters
    ----------
    epochs, batch_size, learning_rate
        Adam on shuffled batches; the learning rate falls along a cosine from `learning_rate` to a hundredth of it.
    warm_up
        The share of the epochs over which the weight of the KL over z rises to 1, against posterior collapse.
    free_bits
        Nats per latent dimension that the KL over z may use for free; 0 leaves the bound as it is.
    patience
        Stop when the validation bound has not improved for so many epochs; the best weights are kept.
    clip
        The largest norm of a gradient.
    rows_on_device
        Where there are more training rows than this, they stream through the device in chunks.
    """

    epochs: int = 50
    batch_size: int = 128
    learning_rate: float = 8e-3
    warm_up: float = 0.1
    free_bits: float = 0.0
    patience: int = 10
    clip: float = 10.0
    rows_on_device: int = 20_000_000


class Knobs(NamedTuple):
    """What changes from epoch to epoch without a new compilation."""

    learning_rate: jax.Array
    beta: jax.Array
    temperature: jax.Array
    free_bits: jax.Array
    clip: jax.Array


@dataclass(frozen=True)
class History:
    """One entry per epoch: means per row in nats; the training terms without data-only constants."""

    reconstruction: list[float] = field(default_factory=list)
    kl_latent: list[float] = field(default_factory=list)
    kl_component: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)


class Trained(NamedTuple):
    """The model with its best weights, what happened, and the epoch (from 0) the weights are from."""

    model: Any
    history: History
    best_epoch: int


def train(
    model: Model,
    rows: np.ndarray,
    validation: np.ndarray,
    plan: Plan,
    *,
    seed: int,
    names: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> Trained:
    """The model with the weights that gave the best validation bound.

    Parameters
    ----------
    model
        The autoencoder to train; it is not changed.
    rows, validation
        Compact float32 rows.
    names
        The feature of each column of the reconstruction, for messages.
    """
    generator = np.random.default_rng(seed)
    noise_key, step_key = jax.random.split(jax.random.key(seed))
    chunks = _Chunks.of(len(rows), plan)
    held = jax.device_put(validation)
    noise = jax.random.normal(noise_key, (len(validation), model.latent_dim), jnp.float32)
    resident = jax.device_put(rows) if chunks.count == 1 else None

    moments = _initial_moments(model.weights)
    history, best, best_epoch, best_bound = History(), model, -1, -math.inf
    for epoch in range(plan.epochs):
        knobs = _knobs(plan, epoch)
        order = chunks.order(generator, len(rows))
        sums = np.zeros(3)
        for number, places in enumerate(order):
            key = jax.random.fold_in(jax.random.fold_in(step_key, epoch), number)
            if resident is None:
                here = jax.device_put(rows[places.ravel()])
                places = np.arange(places.size, dtype=np.int32).reshape(places.shape)
            else:
                here = resident
            model, moments, report = _epoch(model, moments, here, places, key, knobs)
            _refuse_divergence(report, names, epoch)
            sums += np.array(report.means, np.float64) / chunks.count
        bound = float(_validate(model, held, noise))
        for series, value in zip((history.reconstruction, history.kl_latent, history.kl_component), sums, strict=True):
            series.append(float(value))
        history.validation.append(bound)
        if bound > best_bound:
            best, best_epoch, best_bound = model, epoch, bound
        if progress is not None:
            progress(epoch + 1, plan.epochs, bound)
        if epoch - best_epoch >= plan.patience and epoch >= plan.warm_up * plan.epochs + plan.patience:
            break
    return Trained(best, history, best_epoch)


@dataclass(frozen=True)
class _Chunks:
    """How an epoch is cut: so many chunks of so many batches of so many rows, all of one shape."""

    count: int
    steps: int
    batch_size: int

    @classmethod
    def of(cls, rows: int, plan: Plan) -> _Chunks:
        batch_size = min(plan.batch_size, rows)
        steps = math.ceil(rows / batch_size)
        count = math.ceil(steps * batch_size / max(plan.rows_on_device, batch_size))
        return cls(count, math.ceil(steps / count), batch_size)

    def order(self, generator: np.random.Generator, rows: int) -> np.ndarray:
        """Row numbers (chunks, steps, batch): a permutation, whose start is repeated to fill the last batch."""
        shuffled = generator.permutation(rows).astype(np.int32)
        return np.resize(shuffled, (self.count, self.steps, self.batch_size))


def _knobs(plan: Plan, epoch: int) -> Knobs:
    done = epoch / max(plan.epochs - 1, 1)
    warm = plan.warm_up * plan.epochs
    figures = (
        plan.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done))),
        1.0 if warm <= 0 else min(1.0, (epoch + 1) / (warm + 1)),
        max(0.1, 0.1 ** (done / 0.7)),
        plan.free_bits,
        plan.clip,
    )
    return Knobs(*(jnp.asarray(figure, jnp.float32) for figure in figures))


class _Report(NamedTuple):
    """Means of the three terms over an epoch, and for the first step that was not finite its terms by column."""

    means: jax.Array
    failed: jax.Array
    columns: jax.Array


_ADAM = optax.scale_by_adam()


def _initial_moments(weights: Any) -> Any:
    return _ADAM.init(weights)


@eqx.filter_jit
def _epoch(
    model: Model, moments: Any, rows: jax.Array, places: jax.Array, key: jax.Array, knobs: Knobs
) -> tuple[Model, Any, _Report]:
    """One pass over the batches that `places` (steps, batch) names."""

    def loss_of(weights: Any, batch: jax.Array, key: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        terms = eqx.tree_at(lambda m: m.weights, model, weights).terms(batch, key, knobs.temperature)
        columns = terms.reconstruction.mean(axis=0)
        latent = terms.kl_latent.mean(axis=0)
        component = terms.kl_component.mean()
        paid = jnp.maximum(latent, knobs.free_bits).sum()
        # Only the KL over z is warmed up: while c is free of charge, rows settle in components for no good reason.
        loss = -columns.sum() + knobs.beta * paid + component
        return loss, (columns, jnp.stack([columns.sum(), latent.sum(), component]))

    def step(carry: Any, given: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
        weights, moments, means, failed, blamed = carry
        chosen, key = given
        (_, (columns, sums)), gradient = jax.value_and_grad(loss_of, has_aux=True)(weights, rows[chosen], key)
        norm = jnp.sqrt(sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(gradient)))
        gradient = jax.tree.map(lambda g: g * jnp.minimum(1.0, knobs.clip / (norm + 1e-6)), gradient)
        updates, moments = _ADAM.update(gradient, moments)
        weights = jax.tree.map(lambda w, u: w - knobs.learning_rate * u, weights, updates)
        fails = ~jnp.isfinite(norm)
        blamed = jnp.where(fails & ~failed, columns, blamed)
        return (weights, moments, means + sums, failed | fails, blamed), None

    steps = places.shape[0]
    width = jax.eval_shape(lambda: loss_of(model.weights, rows[places[0]], key)[1][0]).shape[0]
    start = (model.weights, moments, jnp.zeros(3), jnp.asarray(False), jnp.zeros(width))
    (weights, moments, sums, failed, blamed), _ = jax.lax.scan(step, start, (places, jax.random.split(key, steps)))
    return eqx.tree_at(lambda m: m.weights, model, weights), moments, _Report(sums / steps, failed, blamed)


@eqx.filter_jit
def _validate(model: Model, rows: jax.Array, noise: jax.Array) -> jax.Array:
    terms = model.bound(rows, noise)
    return (terms.reconstruction.sum(axis=-1) - terms.kl_latent.sum(axis=-1) - terms.kl_component).mean()


def _refuse_divergence(report: _Report, names: tuple[str, ...], epoch: int) -> None:
    """Raises, with the features to blame, if a step of the epoch was not finite."""
    if not bool(report.failed):
        return
    columns = np.asarray(report.columns)
    named = np.array(names or [f"column {i}" for i in range(len(columns))])
    broken = ~np.isfinite(columns)
    if broken.all() or not broken.any():
        # The gradient broke, not the value: the least likely column is the best guess.
        broken = columns == np.min(columns[~broken], initial=np.inf)
    blamed = listed(dict.fromkeys(named[broken].tolist()))
    raise DataError(
        f"training diverged in epoch {epoch + 1}: the log-likelihood of {blamed} is not finite any more; "
        f"look at its values (outliers, kind, likelihood), or lower learning_rate"
    )
