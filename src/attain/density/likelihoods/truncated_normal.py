"""Columns between two bounds: a normal truncated to them."""

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
from attain.density.likelihoods.gaussian import Normal
from attain.density.likelihoods.numerics import (
    HALF_LOG_TWO_PI,
    inverse_log_ndtr,
    inverse_softplus,
    scaled_log_ndtr,
)
from attain.schema import Feature

LARGEST_SCALE = 4.0


class IntervalLikelihood(Likelihood):
    """What interval likelihoods share: values as a share of the (possibly widened) interval."""

    low: np.ndarray
    width: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    floor: np.ndarray

    def normalise(self, x: np.ndarray) -> np.ndarray:
        return (x - self.low) / self.width

    def encode(self, t: Array) -> Array:
        return (t - self.mean) / self.deviation

    def support(self) -> Support:
        return Support(self.low, self.low + self.width, False)


def interval_constants(
    features: Sequence[Feature], values: np.ndarray, margin: np.ndarray | float = 0.0
) -> dict[str, np.ndarray]:
    """The constants of an `IntervalLikelihood` on the bounds widened by `margin` on either side."""
    bounds = np.array([[np.nan if side is None else side for side in f.bounds] for f in features])
    refuse_outside(features, np.broadcast_to(np.isnan(bounds).any(axis=1), values.shape), values, "both bounds")
    refuse_outside(features, (values < bounds[:, 0]) | (values > bounds[:, 1]), values, "values within the bounds")
    low = bounds[:, 0] - margin
    span = bounds[:, 1] - bounds[:, 0]
    width = np.where(span > 0, span, 1.0) + 2 * np.asarray(margin)
    bare = [Feature(name=f.name, kind="real") for f in features]
    mean, deviation, _ = column_constants((values - low) / width, bare)
    deviation = np.minimum(deviation, 0.3)
    half_step = np.array([0.0 if f.step is None else f.step / 2 for f in features])
    floor = np.maximum(0.01 * deviation, half_step / width)
    return {"low": low, "width": width, "mean": mean, "deviation": deviation, "floor": floor}


@register
class TruncatedNormal(IntervalLikelihood):
    """A normal truncated to the bounds, which belong to it: its density there is finite and positive.

    Location and scale are in units of the interval's width. The scale's floor is 1 % of the column's standard
    deviation, or half its step. The typical value is the mode: the location, moved onto the nearest bound if it lies
    outside, so that a bound with many values is decoded exactly.
    """

    name: ClassVar[str] = "truncated_normal"
    kinds: ClassVar[tuple[str, ...]] = ("interval",)

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        return cls(**interval_constants(features, values))

    def initial(self) -> np.ndarray:
        scale = np.maximum(1 - self.floor / self.deviation, 0.01)
        return np.concatenate([np.zeros(self.columns), inverse_softplus(scale)])

    def log_base(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(x), np.nan, -np.log(self.width))

    def parameters(self, raw: jax.Array) -> Normal:
        location, scale = jnp.split(raw, 2, axis=-1)
        return Normal(
            self.mean + self.deviation * location,
            jnp.minimum(self.floor + self.deviation * jax.nn.softplus(scale), LARGEST_SCALE),
        )

    def log_density(self, parameters: Normal, t: jax.Array) -> jax.Array:
        location, scale = parameters
        tails = _tails(parameters)
        # A location outside the bounds: the Gaussian factor of the mass cancels that of the density, so leave it out of
        # both. What remains is the distance of t from the near bound.
        z = (t - location) / scale
        from_bound = jnp.where(tails.mirrored, t, 1 - t) / scale
        square = jnp.where(tails.near < 0, from_bound * (from_bound - 2 * tails.near), z * z)
        return -0.5 * square - jnp.log(scale) - HALF_LOG_TWO_PI - scaled_log_ndtr(tails.near) - tails.log_share

    @property
    def typical_outputs(self) -> int:
        return self.columns

    def typical(self, raw: Array) -> Array:
        return self.low + self.width * namespace(raw).clip(self.mean + self.deviation * raw, 0.0, 1.0)

    def sample(self, key: jax.Array, parameters: Normal) -> jax.Array:
        location, scale = parameters
        tails = _tails(parameters)
        u = jax.random.uniform(key, location.shape, location.dtype)
        log_mass = scaled_log_ndtr(tails.near) - 0.5 * jnp.minimum(tails.near, 0.0) ** 2
        z = inverse_log_ndtr(jnp.minimum(log_mass + jnp.log1p(u * jnp.expm1(tails.log_ratio)), -1e-7))
        t = location + scale * jnp.where(tails.mirrored, -z, z)
        return self.low + self.width * jnp.clip(t, 0.0, 1.0)


class _Tails(NamedTuple):
    """The interval, mirrored if need be so that most of it lies left of the location, by its standardised ends."""

    mirrored: jax.Array
    near: jax.Array
    log_ratio: jax.Array
    """log Φ(far) − log Φ(near)."""
    log_share: jax.Array
    """log(1 − Φ(far) / Φ(near))."""


def _tails(parameters: Normal) -> _Tails:
    location, scale = parameters
    mirrored = location < 0.5
    near = jnp.where(mirrored, location, 1 - location) / scale
    far = jnp.where(mirrored, location - 1, -location) / scale
    depth = jnp.minimum(near, 0.0)
    log_ratio = scaled_log_ndtr(far) - scaled_log_ndtr(near) - 0.5 * (far - depth) * (far + depth)
    return _Tails(mirrored, near, log_ratio, jnp.log(-jnp.expm1(log_ratio)))
