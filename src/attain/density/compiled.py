"""The compiled functions of a trained model, each over a tile of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from attain.density.forked import elsewhere, forked
from attain.density.mixture import Mixture


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a function of a model and arrays; a forked process has another one compute it."""
    here = eqx.filter_jit(function)

    @wraps(function)
    def call(model: Mixture, *arrays: Any) -> Any:
        return elsewhere(function.__name__, model, arrays) if forked() else here(model, *arrays)

    return call


@_compiled
def sample(model: Mixture, rows: jax.Array, keys: jax.Array) -> jax.Array:
    """One draw of the free cells (n, f) for each row, by a key of its own: two 32-bit words, (n, 2)."""

    def draw(row: jax.Array, key: jax.Array) -> jax.Array:
        component_key, latent_key, column_key = jax.random.split(jax.random.wrap_key_data(key), 3)
        component = jax.random.randint(component_key, (), 0, model.components)
        noise = jax.random.normal(latent_key, (model.latent_dim,), jnp.float32)
        weights = jax.nn.one_hot(component, model.components, dtype=jnp.float32)
        raw = model.decode(weights @ model.prior_mean + noise, weights, model.columns.encode_conditions(row))
        return model.columns.sample(column_key, raw)

    return jax.vmap(draw)(rows, keys)


@_compiled
def importance_bound(model: Mixture, rows: jax.Array, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
    return model.importance_bound(rows, noise)


@_compiled
def decode_vjp(
    model: Mixture, z: jax.Array, conditions: jax.Array, component: jax.Array, gradient: jax.Array
) -> jax.Array:
    """gradient · ∂decode/∂z, (n, f) to (n, k), of a model whose raw outputs are those of typical values."""
    weights = jax.nn.one_hot(component, model.components, dtype=jnp.float32)

    def decode(codes: jax.Array) -> jax.Array:
        return model.columns.typical(model.decode(codes, weights, conditions))

    _, pull = jax.vjp(decode, z)
    pulled: jax.Array = pull(gradient)[0]
    return pulled


@_compiled
def draw(model: Mixture, z: jax.Array, conditions: jax.Array, component: jax.Array, seed: jax.Array) -> jax.Array:
    """One random draw of the free cells (n, f) in original units, for encoded conditions and component numbers (n,)."""
    weights = jax.nn.one_hot(component, model.components, dtype=jnp.float32)
    return model.columns.sample(jax.random.key(seed), model.decode(z, weights, conditions))
