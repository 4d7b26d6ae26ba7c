"""One training loop for any model with a loss: a whole epoch is one compiled call.

The same seed gives the same weights, bit for bit, on one platform. A second fit of the same shapes compiles nothing. To
keep compiled programs between processes, set JAX's own JAX_COMPILATION_CACHE_DIR.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from attain.core.errors import AttainError, DataError, listed

_IMPORTED_IN = os.getpid()
Weights: TypeAlias = Any
"""A pytree of arrays: everything that training changes."""
Metrics: TypeAlias = dict[str, jax.Array]
"""Terms of an objective, averaged over rows: one number each, or one per column or latent dimension."""


@dataclass(frozen=True)
class Plan:
    """How to train.

    Parameters
    ----------
    epochs, batch_size, learning_rate
        Adam on shuffled batches; the learning rate falls along a cosine from `learning_rate` to a hundredth of it.
    warm_up
        The share of the epochs over which the weight of the KL over z rises to 1, against posterior collapse.
    patience
        Stop when the validation bound has not improved for this many epochs; the best weights are kept.
    seed
        Of the order of the rows, and of what the loss draws.
    """

    epochs: int = 50
    batch_size: int = 128
    learning_rate: float = 8e-3
    warm_up: float = 0.1
    patience: int = 10
    seed: int = 0


class Schedule(NamedTuple):
    """What changes from epoch to epoch without a new compilation."""

    learning_rate: jax.Array
    beta: jax.Array
    """The weight of the KL over z."""
    temperature: jax.Array
    """Of a Gumbel-softmax."""


Loss: TypeAlias = Callable[[Weights, jax.Array, jax.Array, Schedule], tuple[jax.Array, Metrics]]
"""Weights, a batch (b, columns), a random key and the schedule, to the scalar to minimise and its terms.

It is compiled. A second fit compiles nothing if it is a module-level function or the method of an `eqx.Module`.
"""
Validate: TypeAlias = Callable[[Weights, jax.Array, jax.Array], tuple[jax.Array, Metrics]]
"""Weights, validation rows and a random key, the same in each epoch, to the scalar to maximise and its terms."""


class Trained(NamedTuple):
    """The best weights, their epoch (from 0), and each metric and `validation` by epoch, summed over its entries."""

    weights: Weights
    history: dict[str, list[float]]
    best_epoch: int


def train(
    weights: Weights,
    loss: Loss,
    validate: Validate,
    rows: np.ndarray,
    validation: np.ndarray,
    plan: Plan,
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Trained:
    """Minimises a loss by Adam, and keeps the weights with the best validation bound.

    Parameters
    ----------
    weights
        Where to start.
    loss, validate
        The objective on a batch of training rows, and on the validation rows.
    rows, validation
        Float32 rows.
    labels
        For metrics with several entries, what each belongs to: named where it is no longer finite.
    progress
        Called after each epoch, with 1.
    """
    if os.getpid() != _IMPORTED_IN:
        raise AttainError(
            "training an autoencoder in a forked process would wait forever for JAX's threads, which a fork does not "
            "copy; do it before forking, or start processes by 'spawn'"
        )
    generator = np.random.default_rng(plan.seed)
    validation_key, step_key = jax.random.split(jax.random.key(plan.seed))
    held, resident = jax.device_put(validation), jax.device_put(rows)
    moments = OPTIMISER.init(weights)
    history: dict[str, list[float]] = {}
    best, best_epoch, best_bound = weights, -1, -math.inf
    for epoch in range(plan.epochs):
        places = _batches(generator, len(rows), plan.batch_size)
        key = jax.random.fold_in(jax.random.fold_in(step_key, epoch), 0)
        weights, moments, report = _epoch(loss, weights, moments, resident, places, key, _schedule(plan, epoch))
        if report.failed:
            raise _divergence(f"training diverged in epoch {epoch + 1}", report.first_failure, labels)
        bound, terms = validate(weights, held, validation_key)
        for name, total in report.means.items():
            history.setdefault(name, []).append(float(np.sum(total)))
        history.setdefault("validation", []).append(float(bound))
        if bound > best_bound:
            best, best_epoch, best_bound = weights, epoch, float(bound)
        if progress is not None:
            progress(1)
        if epoch - best_epoch >= plan.patience and epoch >= plan.warm_up * plan.epochs + plan.patience:
            break
    if best_epoch < 0:
        raise _divergence("the bound on the validation rows was not finite in any epoch", terms, labels)
    return Trained(best, history, best_epoch)


def _batches(generator: np.random.Generator, rows: int, batch_size: int) -> jax.Array:
    """Row numbers (steps, batch): a permutation, with its start repeated to fill the last batch."""
    batch_size = min(batch_size, rows)
    shuffled = generator.permutation(rows).astype(np.int32)
    return jnp.asarray(np.resize(shuffled, (math.ceil(rows / batch_size), batch_size)))


def _schedule(plan: Plan, epoch: int) -> Schedule:
    done = epoch / max(plan.epochs - 1, 1)
    warm = plan.warm_up * plan.epochs
    figures = (
        plan.learning_rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done))),
        1.0 if warm <= 0 else min(1.0, (epoch + 1) / (warm + 1)),
        max(0.1, 0.1 ** (done / 0.7)),
    )
    return Schedule(*(jnp.asarray(figure, jnp.float32) for figure in figures))


class _Report(NamedTuple):
    """Metrics averaged over the steps of an epoch, and those of the first step whose gradient was not finite."""

    means: Metrics
    failed: jax.Array
    first_failure: Metrics


OPTIMISER = optax.scale_by_adam()
_LARGEST_NORM = 10.0
"""Gradients with a larger norm are scaled down to it."""


@eqx.filter_jit
def _epoch(
    loss: Loss, weights: Weights, moments: Any, rows: jax.Array, places: jax.Array, key: jax.Array, schedule: Schedule
) -> tuple[Weights, Any, _Report]:
    """One pass over the batches of row numbers `places` (steps, batch)."""

    def step(carry: Any, given: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
        weights, moments, totals, failed, first = carry
        chosen, key = given
        (_, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(weights, rows[chosen], key, schedule)
        norm = jnp.sqrt(sum(jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(gradient)))
        gradient = jax.tree.map(lambda g: g * jnp.minimum(1.0, _LARGEST_NORM / (norm + 1e-6)), gradient)
        updates, moments = OPTIMISER.update(gradient, moments)
        weights = jax.tree.map(lambda w, u: w - schedule.learning_rate * u, weights, updates)
        fails = ~jnp.isfinite(norm)
        first = jax.tree.map(lambda old, new: jnp.where(fails & ~failed, new, old), first, metrics)
        return (weights, moments, jax.tree.map(jnp.add, totals, metrics), failed | fails, first), None

    steps = places.shape[0]
    shapes = jax.eval_shape(lambda: loss(weights, rows[places[0]], key, schedule)[1])
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    start = (weights, moments, zeros, jnp.asarray(False), zeros)
    (weights, moments, totals, failed, first), _ = jax.lax.scan(step, start, (places, jax.random.split(key, steps)))
    return weights, moments, _Report(jax.tree.map(lambda total: total / steps, totals), failed, first)


def _divergence(what: str, metrics: Metrics, labels: Mapping[str, Sequence[str]] | None) -> DataError:
    """The error that names the entries of a labelled metric that are not finite."""
    blamed: dict[str, None] = {}
    for name, names in (labels or {}).items():
        terms = np.asarray(metrics[name])
        broken = ~np.isfinite(terms)
        if broken.all() or not broken.any():
            # The gradient is not finite, or everything is: the smallest entry is the best guess.
            broken = terms == np.min(terms[~broken], initial=np.inf)
        blamed |= dict.fromkeys(np.array(names)[broken].tolist())
    about = f": the log-likelihood of {listed(blamed)} is not finite" if blamed else ""
    return DataError(f"{what}{about}; look at its values (outliers, kind, likelihood), or lower learning_rate")
