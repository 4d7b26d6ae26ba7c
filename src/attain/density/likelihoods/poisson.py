"""Counts: a Poisson."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from attain.density.likelihoods.base import (
    Array,
    Likelihood,
    Support,
    column_constants,
    namespace,
    refuse_outside,
    register,
)
from attain.density.likelihoods.numerics import count_log_base, deviance_term
from attain.schema import Feature


class Rate(NamedTuple):
    """The expected count."""

    rate: jax.Array


class CountLikelihood(Likelihood):
    """What count likelihoods share: the raw count is the internal scale, its standardised log the network's input."""

    log_rate: np.ndarray
    largest_log_rate: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    def normalise(self, x: np.ndarray) -> np.ndarray:
        return x

    def log_base(self, x: np.ndarray) -> np.ndarray:
        return count_log_base(x)

    def encode(self, t: Array) -> Array:
        return (namespace(t).log1p(t) - self.mean) / self.deviation

    def expected(self, raw: Array) -> Array:
        """The rate for raw outputs around the column's log mean, kept within a thousandfold of what was seen."""
        xp = namespace(raw)
        return xp.exp(xp.clip(raw, -20.0, self.largest_log_rate))

    def support(self) -> Support:
        return Support(np.zeros(self.columns), np.full(self.columns, np.inf), True)


def count_constants(features: Sequence[Feature], values: np.ndarray) -> dict[str, np.ndarray]:
    """The constants of a `CountLikelihood`."""
    refuse_outside(features, (values < 0) | (values != np.round(values)) & ~np.isnan(values), values, "integers ≥ 0")
    present = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    bare = [Feature(name=f.name, kind="real") for f in features]
    mean, deviation, _ = column_constants(np.log1p(values), bare)
    return {
        "log_rate": np.log(np.maximum(np.nanmean(values, axis=0), 0.5 / present)),
        "largest_log_rate": np.log(1000.0 * (1.0 + np.nanmax(values, axis=0))),
        "mean": mean,
        "deviation": deviation,
    }


@register
class Poisson(CountLikelihood):
    """A Poisson with exact log-factorials. The typical value is the mean, which final form rounds.

    The mean moves smoothly with the latent code where the mode jumps, so a search can follow it.
    """

    name: ClassVar[str] = "poisson"
    kinds: ClassVar[tuple[str, ...]] = ("count",)
    outputs_per_column: ClassVar[int] = 1

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        return cls(**count_constants(features, values))

    def initial(self) -> np.ndarray:
        return self.log_rate

    def parameters(self, raw: jax.Array) -> Rate:
        return Rate(self.expected(raw))

    def log_density(self, parameters: Rate, t: jax.Array) -> jax.Array:
        return -count_deviance(t, parameters.rate)

    def typical(self, raw: Array) -> Array:
        return self.expected(raw)

    def sample(self, key: jax.Array, parameters: Rate) -> jax.Array:
        return jax.random.poisson(key, parameters.rate, dtype=jnp.int32).astype(parameters.rate.dtype)


def count_deviance(x: jax.Array, rate: jax.Array) -> jax.Array:
    """rate − x − x log(rate / x), which is the rate at x = 0."""
    inside = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, inside * deviance_term(rate / inside, (rate - inside) / inside), rate)
