"""Columns between two bounds: a Beta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from attain.density.likelihoods.base import Array, namespace, register
from attain.density.likelihoods.numerics import HALF_LOG_TWO_PI, deviance_term, inverse_softplus, stirling_error
from attain.density.likelihoods.truncated_normal import IntervalLikelihood, interval_constants
from attain.schema import Feature

_SMALLEST_MEAN = 1e-4


class MeanAndConcentration(NamedTuple):
    """The mean m, as a share of the widened interval, and the sum of the usual a = m(a + b) and b = (1 − m)(a + b)."""

    mean: jax.Array
    concentration: jax.Array


@register
class Beta(IntervalLikelihood):
    """A Beta on the bounds widened a little on either side, by half the step, or by half a percent of their distance.

    A Beta is 0 or infinite at its ends; on the widened interval a value on a bound is an ordinary one. The margin is
    stored, and the density integrates to one over the widened interval. The typical value is the mean, kept within the
    bounds.
    """

    name: ClassVar[str] = "beta"
    kinds: ClassVar[tuple[str, ...]] = ("interval",)

    margin: np.ndarray

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        margin = np.array([_margin(feature) for feature in features])
        return cls(margin=margin, **interval_constants(features, values, margin))

    def initial(self) -> np.ndarray:
        mean = np.clip(self.mean, 0.01, 0.99)
        concentration = np.clip(mean * (1 - mean) / self.deviation**2 - 1, 0.2, 1e4)
        return np.concatenate([np.log(mean / (1 - mean)), inverse_softplus(concentration - 0.1)])

    def log_base(self, x: np.ndarray) -> np.ndarray:
        t = self.normalise(x)
        return -np.log(self.width) - np.log(t) - np.log1p(-t)

    def parameters(self, raw: jax.Array) -> MeanAndConcentration:
        mean, concentration = jnp.split(raw, 2, axis=-1)
        mean = _SMALLEST_MEAN + (1 - 2 * _SMALLEST_MEAN) * jax.nn.sigmoid(mean)
        largest = jnp.maximum(mean * (1 - mean) / self.floor**2, 0.2)
        return MeanAndConcentration(mean, jnp.minimum(0.1 + jax.nn.softplus(concentration), largest))

    def log_density(self, parameters: MeanAndConcentration, t: jax.Array) -> jax.Array:
        mean, total = parameters
        a, b = mean * total, (1 - mean) * total
        fit = a * deviance_term(t / mean, (t - mean) / mean)
        fit += b * deviance_term((1 - t) / (1 - mean), (mean - t) / (1 - mean))
        errors = stirling_error(total) - stirling_error(a) - stirling_error(b)
        return errors - fit + 0.5 * jnp.log(a * (1 - mean)) - HALF_LOG_TWO_PI

    @property
    def typical_outputs(self) -> int:
        return self.columns

    def typical(self, raw: Array) -> Array:
        xp = namespace(raw)
        share = _SMALLEST_MEAN + (1 - 2 * _SMALLEST_MEAN) * (0.5 + 0.5 * xp.tanh(0.5 * raw))
        return xp.clip(self.low + self.width * share, self.low + self.margin, self.low + self.width - self.margin)

    def sample(self, key: jax.Array, parameters: MeanAndConcentration) -> jax.Array:
        mean, total = parameters
        return self.low + self.width * jax.random.beta(key, mean * total, (1 - mean) * total)


def _margin(feature: Feature) -> float:
    low, high = feature.bounds
    if feature.step is not None:
        return feature.step / 2
    return 0.005 * ((high - low) or 1.0) if low is not None and high is not None else 0.0
