"""The paper's density model (section 4.2): a conditional mixture of latent Gaussians with heterogeneous likelihoods.

p(c) = 1/L, p(z|c) = N(μ(c), I), p(x_free | z, c, x_immutable) = Π p(x_d | z, c, x_immutable), and
q(c|x), q(z|x, c) for x = (x_free, x_immutable). One component is a CVAE; without conditions it is a VAE. No hidden
width is the linear model. All methods are pure functions of the weights, rows and keys.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, Self, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from attain.density.bounds import (
    Posterior,
    Terms,
    exact_terms,
    log_importance_weights,
    relaxed_terms,
)
from attain.density.columns import Columns
from attain.density.objective import BOUND, Objective
from attain.density.training import Metrics, Schedule

Estimator: TypeAlias = Literal["exact", "relaxed"]
SMALLEST_LOG_SCALE, LARGEST_LOG_SCALE = -7.0, 2.0


class Layer(eqx.Module):
    """An affine map."""

    matrix: jax.Array
    bias: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return x @ self.matrix + self.bias


class Weights(eqx.Module):
    """Everything that training changes."""

    encoder: tuple[Layer, ...]
    shared: Layer
    """To the mean and log-scale of q(z|x, c) that all components share."""
    separate: Layer | None
    """To the logits of q(c|x), and to what each component adds; None for one component."""
    prior: jax.Array | None
    from_latent: jax.Array
    from_component: jax.Array
    from_conditions: jax.Array | None
    decoder: tuple[Layer, ...]
    extra: Any = None
    """What the objective trains beside the model."""


class Mixture(eqx.Module):
    """Weights, columns and sizes of the model."""

    weights: Weights
    columns: Columns
    latent_dim: int = eqx.field(static=True)
    components: int = eqx.field(static=True)
    estimator: Estimator = eqx.field(static=True)
    complete: bool = eqx.field(static=True)
    """Whether every cell of the training rows counts, so that training needs no masks."""
    objective: Objective = eqx.field(static=True)
    """What training minimises."""

    @classmethod
    def initial(
        cls,
        columns: Columns,
        key: jax.Array,
        *,
        latent_dim: int,
        components: int,
        hidden: tuple[int, ...],
        estimator: Estimator = "exact",
        complete: bool = False,
        objective: Objective = BOUND,
    ) -> Self:
        """The model before training: every column near its marginal, every posterior near its prior.

        Components start close together and share most of the encoder, so that they separate only where that helps.
        """
        keys = iter(jax.random.split(key, 8 + 2 * len(hidden)))
        conditions = columns.condition_inputs
        widths = (columns.inputs + conditions, *hidden)
        encoder = [layer_of(next(keys), before, after) for before, after in pairwise(widths)]
        prior, separate = None, None
        if components > 1:
            prior = 0.5 * jax.random.normal(next(keys), (components, latent_dim), jnp.float32)
            separate = layer_of(next(keys), widths[-1], components * (1 + 2 * latent_dim), gain=0.25)
            centres = jnp.zeros_like(separate.bias).at[components : components * (1 + latent_dim)].set(prior.ravel())
            separate = Layer(separate.matrix, centres)

        widths = (*reversed(hidden), columns.outputs)
        decoder = [layer_of(next(keys), before, after) for before, after in pairwise(widths)]
        from_component = 0.1 * jax.random.normal(next(keys), (components, widths[0]), jnp.float32)
        marginal = jnp.asarray(columns.initial(), jnp.float32)
        if decoder:
            decoder[-1] = Layer(0.3 * decoder[-1].matrix, marginal)
        else:
            from_component = from_component + marginal
        weights = Weights(
            encoder=tuple(encoder),
            shared=layer_of(next(keys), (columns.inputs + conditions, *hidden)[-1], 2 * latent_dim, gain=0.5),
            separate=separate,
            prior=prior,
            from_latent=layer_of(next(keys), latent_dim, widths[0], gain=1.0 if decoder else 0.3).matrix,
            from_component=from_component,
            from_conditions=layer_of(next(keys), conditions, widths[0], gain=0.3).matrix if conditions else None,
            decoder=tuple(decoder),
            extra=objective.initial(jax.random.fold_in(key, 1), latent_dim),
        )
        return cls(weights, columns.in_single_precision(), latent_dim, components, estimator, complete, objective)

    @property
    def prior_mean(self) -> jax.Array:
        """μ(c) for every component (L, k); 0 where there is one."""
        prior = self.weights.prior
        return jnp.zeros((1, self.latent_dim), jnp.float32) if prior is None else prior

    def posterior(self, rows: jax.Array) -> Posterior:
        """q(c|x) and q(z|x, c) of compact rows."""
        x = jnp.concatenate([self.columns.encode(rows), self.columns.encode_conditions(rows)], axis=-1)
        for layer in self.weights.encoder:
            x = _activation(layer(x))
        mean, log_scale = jnp.split(self.weights.shared(x)[..., None, :], 2, axis=-1)
        log_share = jnp.zeros((*x.shape[:-1], 1), x.dtype)
        if self.weights.separate is not None:
            own = self.weights.separate(x)
            size = self.components * self.latent_dim
            logits, own_mean, own_log_scale = jnp.split(own, [self.components, self.components + size], axis=-1)
            shape = (*x.shape[:-1], self.components, self.latent_dim)
            mean, log_scale = mean + own_mean.reshape(shape), log_scale + own_log_scale.reshape(shape)
            log_share = jax.nn.log_softmax(logits, axis=-1)
        return Posterior(log_share, mean, jnp.exp(jnp.clip(log_scale, SMALLEST_LOG_SCALE, LARGEST_LOG_SCALE)))

    def decode(self, codes: jax.Array, component: jax.Array, conditions: jax.Array) -> jax.Array:
        """Raw parameters (..., outputs) for codes (..., k), component weights (..., L) and encoded conditions."""
        weights = self.weights
        x = codes @ weights.from_latent + component @ weights.from_component
        if weights.from_conditions is not None:
            x = x + conditions @ weights.from_conditions
        for layer in weights.decoder:
            x = layer(_activation(x))
        return x

    def log_likelihood(self, rows: jax.Array, codes: jax.Array, component: jax.Array) -> jax.Array:
        """log p of each compact column (n, m, width) at m codes per row, without `log_base`."""
        conditions = self.columns.encode_conditions(rows)[:, None, :]
        raw = self.decode(codes, component, conditions)
        return self.columns.log_density(raw, rows[:, None, :], complete=self.complete)

    def terms(self, rows: jax.Array, key: jax.Array, temperature: jax.Array) -> Terms:
        """The parts of the bound for training rows, by this model's estimator."""
        posterior = self.posterior(rows)
        noise_key, gumbel_key = jax.random.split(key)
        noise = jax.random.normal(noise_key, (rows.shape[0], self.latent_dim), jnp.float32)

        def log_likelihood(codes: jax.Array, component: jax.Array) -> jax.Array:
            return self.log_likelihood(rows, codes, component)

        if self.estimator == "exact" or self.components == 1:
            return exact_terms(posterior, self.prior_mean, log_likelihood, noise)
        gumbel = jax.random.gumbel(gumbel_key, posterior.log_share.shape, jnp.float32)
        return relaxed_terms(posterior, self.prior_mean, log_likelihood, noise, gumbel, temperature)

    def loss(self, weights: Weights, batch: jax.Array, key: jax.Array, schedule: Schedule) -> tuple[jax.Array, Metrics]:
        """The objective on a batch, for `train`."""
        return self.objective.loss(self.with_weights(weights), batch, key, schedule)

    def validate(self, weights: Weights, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Metrics]:
        """What the kept epoch maximises on held-out rows, and its reconstruction by column, for `train`."""
        return _validated(self.with_weights(weights), rows, key)

    def bound(self, rows: jax.Array, noise: jax.Array) -> Terms:
        """The parts of the bound with c summed over, for given noise (n, k)."""

        def log_likelihood(codes: jax.Array, component: jax.Array) -> jax.Array:
            return self.log_likelihood(rows, codes, component)

        return exact_terms(self.posterior(rows), self.prior_mean, log_likelihood, noise)

    def with_weights(self, weights: Weights) -> Self:
        """The same model with other weights."""
        return eqx.tree_at(lambda model: model.weights, self, weights)

    def with_outputs(self, columns: Columns, outputs: np.ndarray) -> Self:
        """The model with a decoder that gives the raw outputs at these positions only, for these columns."""
        weights = self.weights
        if weights.decoder:
            *before, last = weights.decoder
            decoder = (*before, Layer(last.matrix[:, outputs], last.bias[outputs]))
            return replace(self, weights=replace(weights, decoder=decoder), columns=columns)
        conditions = weights.from_conditions
        first = replace(
            weights,
            from_latent=weights.from_latent[:, outputs],
            from_component=weights.from_component[:, outputs],
            from_conditions=None if conditions is None else conditions[:, outputs],
        )
        return replace(self, weights=first, columns=columns)

    def importance_bound(self, rows: jax.Array, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The importance-weighted bound of each row, without `log_base`, and its standard error.

        `noise` (samples, L, k) is shared by all rows, so that the bound of a row does not depend on the other rows.
        """
        posterior = self.posterior(rows)

        def log_likelihood(codes: jax.Array, component: jax.Array) -> jax.Array:
            return self.log_likelihood(rows, codes, component)

        def draw(carry: None, noise: jax.Array) -> tuple[None, jax.Array]:
            return None, log_importance_weights(posterior, self.prior_mean, log_likelihood, noise)

        _, log_weights = jax.lax.scan(draw, None, noise)
        return average_weight(log_weights)


@eqx.filter_jit
def _validated(model: Mixture, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Metrics]:
    return model.objective.held_out(model, rows, key)


def average_weight(log_weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """log of the mean over the first axis, and its standard error by the delta method."""
    samples = log_weights.shape[0]
    largest = log_weights.max(axis=0)
    weights = jnp.exp(log_weights - largest)
    mean = weights.mean(axis=0)
    spread = jnp.sqrt(((weights - mean) ** 2).sum(axis=0) / max(samples - 1, 1) / samples)
    return largest + jnp.log(mean), spread / mean


def layer_of(key: jax.Array, inputs: int, outputs: int, gain: float = 1.0) -> Layer:
    """An affine map with random weights of variance gain² / inputs."""
    scale = gain * np.sqrt(1.0 / max(inputs, 1))
    return Layer(scale * jax.random.normal(key, (inputs, outputs), jnp.float32), jnp.zeros(outputs, jnp.float32))


def _activation(x: jax.Array) -> jax.Array:
    return jnp.tanh(x)
