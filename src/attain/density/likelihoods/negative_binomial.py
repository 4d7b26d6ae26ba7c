"""Counts that vary more than a Poisson: a negative binomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from attain.density.likelihoods.base import Array, register
from attain.density.likelihoods.numerics import deviance_term, inverse_softplus, stirling_error
from attain.density.likelihoods.poisson import CountLikelihood, count_constants
from attain.schema import Feature


class MeanAndSize(NamedTuple):
    """The expected count m and the size r; the variance is m + m²/r."""

    mean: jax.Array
    size: jax.Array


@register
class NegativeBinomial(CountLikelihood):
    """A Poisson whose rate is gamma-distributed. The typical value is the mean, which final form rounds."""

    name: ClassVar[str] = "negative_binomial"
    kinds: ClassVar[tuple[str, ...]] = ("count",)

    log_size: np.ndarray

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        mean, variance = np.nanmean(values, axis=0), np.nanvar(values, axis=0)
        excess = np.maximum(variance - mean, 1e-3 * np.maximum(mean, 1e-3))
        return cls(log_size=np.log(np.clip(mean**2 / excess, 0.02, 1e3)), **count_constants(features, values))

    def initial(self) -> np.ndarray:
        return np.concatenate([self.log_rate, inverse_softplus(np.exp(self.log_size) - 0.01)])

    def parameters(self, raw: jax.Array) -> MeanAndSize:
        mean, size = jnp.split(raw, 2, axis=-1)
        return MeanAndSize(self.expected(mean), 0.01 + jax.nn.softplus(size))

    def log_density(self, parameters: MeanAndSize, t: jax.Array) -> jax.Array:
        mean, size = parameters
        total = size + mean
        inside = jnp.where(t > 0, t, 1.0)
        expected = (size + inside) * mean / total
        of_count = inside * deviance_term(expected / inside, size * (mean - inside) / (inside * total))
        of_size = size * deviance_term((size + t) / total, (t - mean) / total)
        of_count = jnp.where(t > 0, of_count, size * mean / total)
        return stirling_error(size + t) - stirling_error(size) - 0.5 * jnp.log1p(t / size) - of_size - of_count

    @property
    def typical_outputs(self) -> int:
        return self.columns

    def typical(self, raw: Array) -> Array:
        return self.expected(raw)

    def sample(self, key: jax.Array, parameters: MeanAndSize) -> jax.Array:
        rate_key, count_key = jax.random.split(key)
        rate = jax.random.gamma(rate_key, parameters.size) * parameters.mean / parameters.size
        return jax.random.poisson(count_key, rate, dtype=jnp.int32).astype(rate.dtype)
