"""The paper's density model (section 4.2): a conditional mixture of latent Gaussians with heterogeneous likelihoods.

p(c) = 1/L, p(z|c) = N(μ(c), I), p(x_free | z, c, x_immutable) = Π p(x_d | z, c, x_immutable), and
q(c|x), q(z|x, c) for x = (x_free, x_immutable). One component is a CVAE; without conditions it is a VAE. No hidden
width is the linear model. All methods are pure functions of the weights, rows and keys. This is the model as it is
trained; `attain.density.network` is the trained one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from attain.density.bounds import Terms, exact_terms, relaxed_terms
from attain.density.columns import Columns
from attain.density.likelihoods.base import Tree, tree_classes
from attain.density.network import Posterior, Sizes, decoder_layers, posterior
from attain.density.training import Metrics, Schedule, Weights

if TYPE_CHECKING:
    from attain.density.objectives import Objective

_KNOWN: set[type[Tree]] = set()
"""The classes of trees that JAX knows."""


class Mixture(eqx.Module):
    """Weights, columns and sizes of the model."""

    weights: Weights
    """Everything that training changes: the arrays of `Sizes.shapes`, and under `extra` what the objective adds."""
    columns: Columns
    sizes: Sizes = eqx.field(static=True)
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
        sizes: Sizes,
        objective: Objective,
        *,
        estimator: str = "exact",
        complete: bool = False,
    ) -> Self:
        """The model before training: every column near its marginal, every posterior near its prior.

        Components start close together and share most of the encoder, so that they separate only where that helps.
        """
        (latent_dim, components, hidden), shapes = sizes, sizes.shapes(columns)
        weights = OrderedDict((name, jnp.zeros(shape, jnp.float32)) for name, shape in shapes.items())
        keys = iter(jax.random.split(key, 8 + 2 * len(hidden)))

        def draw(name: str, gain: float = 1.0) -> None:
            weights[name] = random_matrix(next(keys), shapes[name], gain)

        for i in range(len(hidden)):
            draw(f"encoder.{i}.matrix")
        if components > 1:
            weights["prior"] = 0.5 * jax.random.normal(next(keys), (components, latent_dim), jnp.float32)
            draw("separate.matrix", 0.25)
            centres = slice(components, components * (1 + latent_dim))
            weights["separate.bias"] = weights["separate.bias"].at[centres].set(weights["prior"].ravel())
        for i in range(len(hidden)):
            draw(f"decoder.{i}.matrix")
        marginal = jnp.asarray(columns.initial(), jnp.float32)
        weights["from_component"] = 0.1 * jax.random.normal(next(keys), shapes["from_component"], jnp.float32)
        if hidden:
            last = f"decoder.{len(hidden) - 1}"
            weights[f"{last}.matrix"], weights[f"{last}.bias"] = 0.3 * weights[f"{last}.matrix"], marginal
        else:
            weights["from_component"] = weights["from_component"] + marginal
        draw("shared.matrix", 0.5)
        draw("from_latent", 1.0 if hidden else 0.3)
        if "from_conditions" in shapes:
            draw("from_conditions", 0.3)
        weights["extra"] = objective.initial(jax.random.fold_in(key, 1), latent_dim)
        return cls(weights, in_single_precision(columns), sizes, estimator, complete, objective)

    def arrays(self, weights: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Trained weights for `Network`."""
        return {name: np.asarray(weights[name]) for name in self.sizes.shapes(self.columns)}

    @property
    def prior_mean(self) -> jax.Array:
        """μ(c) for every component (L, k); 0 where there is one."""
        none = jnp.zeros((1, self.sizes.latent_dim), jnp.float32)
        return jnp.asarray(self.weights.get("prior", none))

    def posterior(self, rows: jax.Array) -> Posterior:
        """q(c|x) and q(z|x, c) of compact rows."""
        x = jnp.concatenate([self.columns.encode(rows), self.columns.encode_conditions(rows)], axis=-1)
        return posterior(self.sizes, self.weights, x)

    def log_likelihood(self, rows: jax.Array, codes: jax.Array, component: jax.Array) -> jax.Array:
        """log p of each compact column (n, m, width) at m codes per row, without `log_base`."""
        conditions = self.columns.encode_conditions(rows)[:, None, :]
        raw = decoder_layers(self.weights, codes, component @ self.weights["from_component"], conditions)[-1]
        return self.columns.log_density(raw, rows[:, None, :], complete=self.complete)

    def terms(self, rows: jax.Array, key: jax.Array, temperature: jax.Array) -> Terms:
        """The parts of the bound for training rows, by this model's estimator."""
        noise_key, gumbel_key = jax.random.split(key)
        noise = jax.random.normal(noise_key, (rows.shape[0], self.sizes.latent_dim), jnp.float32)
        if self.estimator == "exact" or self.sizes.components == 1:
            return self.bound(rows, noise)
        posterior, log_likelihood = self.posterior(rows), partial(self.log_likelihood, rows)
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
        return exact_terms(self.posterior(rows), self.prior_mean, partial(self.log_likelihood, rows), noise)

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


def random_matrix(key: jax.Array, shape: tuple[int, ...], gain: float = 1.0) -> jax.Array:
    """Random weights (inputs, outputs) of variance gain² / inputs."""
    return gain * np.sqrt(1.0 / max(shape[0], 1)) * jax.random.normal(key, shape, jnp.float32)
