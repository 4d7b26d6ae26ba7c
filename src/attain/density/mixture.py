"""The paper's density model (section 4.2): a conditional mixture of latent Gaussians with heterogeneous likelihoods.

p(c) = 1/L, p(z|c) = N(μ(c), I), p(x_free | z, c, x_immutable) = Π p(x_d | z, c, x_immutable), and
q(c|x), q(z|x, c) for x = (x_free, x_immutable). One component is a CVAE; without conditions it is a VAE. No hidden
width is the linear model. All methods are pure functions of the weights, rows and keys. This is the model as it is
trained; `attain.density.network` is the trained one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from attain.density.bounds import (
    Posterior,
    Terms,
    exact_terms,
    relaxed_terms,
)
from attain.density.columns import Columns
from attain.density.likelihoods.base import Tree, tree_classes
from attain.density.network import LOG_SCALES
from attain.density.objective import BOUND, Objective
from attain.density.training import Metrics, Schedule

_KNOWN: set[type[Tree]] = set()
"""The classes of trees that JAX knows."""


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

    def arrays(self) -> dict[str, np.ndarray]:
        """All but `extra`, by the names of `attain.density.network.Sizes.shapes`."""
        layers = {"shared": self.shared, "separate": self.separate}
        for name, several in (("encoder", self.encoder), ("decoder", self.decoder)):
            layers |= {f"{name}.{i}": layer for i, layer in enumerate(several)}
        found = {f"{name}.matrix": layer.matrix for name, layer in layers.items() if layer is not None}
        found |= {f"{name}.bias": layer.bias for name, layer in layers.items() if layer is not None}
        names = ("prior", "from_latent", "from_component", "from_conditions")
        found |= {name: array for name in names if (array := getattr(self, name)) is not None}
        return {name: np.asarray(array) for name, array in found.items()}


class Mixture(eqx.Module):
    """Weights, columns and sizes of the model."""

    weights: Weights
    columns: Columns
    latent_dim: int = eqx.field(static=True)
    components: int = eqx.field(static=True)
    estimator: str = eqx.field(static=True)
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
        estimator: str = "exact",
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
        return cls(weights, in_single_precision(columns), latent_dim, components, estimator, complete, objective)

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
        return Posterior(log_share, mean, jnp.exp(jnp.clip(log_scale, *LOG_SCALES)))

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


@eqx.filter_jit
def _validated(model: Mixture, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Metrics]:
    return model.objective.held_out(model, rows, key)


def in_single_precision(columns: Columns) -> Columns:
    """The same columns with float32 constants, for compiled functions."""
    for kind in set(tree_classes()) - _KNOWN:
        jax.tree_util.register_dataclass(kind, *kind.parts())
        _KNOWN.add(kind)
    single: Columns = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), columns)
    return single


def layer_of(key: jax.Array, inputs: int, outputs: int, gain: float = 1.0) -> Layer:
    """An affine map with random weights of variance gain² / inputs."""
    scale = gain * np.sqrt(1.0 / max(inputs, 1))
    return Layer(scale * jax.random.normal(key, (inputs, outputs), jnp.float32), jnp.zeros(outputs, jnp.float32))


def _activation(x: jax.Array) -> jax.Array:
    return jnp.tanh(x)
