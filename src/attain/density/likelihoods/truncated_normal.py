"""Columns between two bounds: a normal truncated to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import ndtri_exp

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
    inverse_softplus,
    scaled_log_ndtr,
    softplus,
)
from attain.schema import Feature

LARGEST_SCALE = 4.0


@register
class TruncatedNormal(Likelihood):
    """A normal truncated to the bounds, which belong to it: its density there is finite and positive.

    Location and scale are in units of the interval's width. The scale's floor is 1 % of the column's standard
    deviation, or half its step. The typical value is the mode: the location, moved onto the nearest bound if it lies
    outside, so that a bound with many values is decoded exactly.
    """

    name: ClassVar[str] = "truncated_normal"
    kinds: ClassVar[tuple[str, ...]] = ("interval",)

    low: np.ndarray
    width: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    floor: np.ndarray

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        bounds = np.array([[np.nan if side is None else side for side in f.bounds] for f in features])
        refuse_outside(features, np.broadcast_to(np.isnan(bounds).any(axis=1), values.shape), values, "both bounds")
        refuse_outside(features, (values < bounds[:, 0]) | (values > bounds[:, 1]), values, "values within the bounds")
        low, span = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
        width = np.where(span > 0, span, 1.0)
        bare = [Feature(name=f.name, kind="real") for f in features]
        mean, deviation, _ = column_constants((values - low) / width, bare)
        deviation = np.minimum(deviation, 0.3)
        half_step = np.array([0.0 if f.step is None else f.step / 2 for f in features])
        return cls(low, width, mean, deviation, np.maximum(0.01 * deviation, half_step / width))

    def normalise(self, x: np.ndarray) -> np.ndarray:
        return (x - self.low) / self.width

    def encode(self, t: Array) -> Array:
        return (t - self.mean) / self.deviation

    def support(self) -> Support:
        return Support(self.low, self.low + self.width, False)

    def initial(self) -> np.ndarray:
        scale = np.maximum(1 - self.floor / self.deviation, 0.01)
        return np.concatenate([np.zeros(self.columns), inverse_softplus(scale)])

    def log_base(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(x), np.nan, -np.log(self.width))

    def parameters(self, raw: Array) -> Normal:
        xp = namespace(raw)
        location, scale = xp.split(raw, 2, axis=-1)
        return Normal(
            self.mean + self.deviation * location,
            xp.minimum(self.floor + self.deviation * softplus(scale), LARGEST_SCALE),
        )

    def log_density(self, parameters: Normal, t: Array) -> Array:
        xp, (location, scale) = namespace(t), parameters
        tails = _tails(parameters)
        # A location outside the bounds: the Gaussian factor of the mass cancels that of the density, so leave it out of
        # both. What remains is the distance of t from the near bound.
        z = (t - location) / scale
        from_bound = xp.where(tails.mirrored, t, 1 - t) / scale
        square = xp.where(tails.near < 0, from_bound * (from_bound - 2 * tails.near), z * z)
        return -0.5 * square - xp.log(scale) - HALF_LOG_TWO_PI - scaled_log_ndtr(tails.near) - tails.log_share

    @property
    def typical_outputs(self) -> int:
        return self.columns

    def typical(self, raw: np.ndarray) -> np.ndarray:
        return self.low + self.width * np.clip(self.mean + self.deviation * raw, 0.0, 1.0)

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        share = self.mean + self.deviation * raw
        return np.where((share > 0) & (share < 1), gradient * self.width * self.deviation, 0.0)

    def quantile(self, parameters: Normal, u: np.ndarray) -> np.ndarray:
        location, scale = parameters
        tails = _tails(parameters)
        # the mass on the far side of the quantile, as seen from the near bound
        share = np.where(tails.mirrored, u, 1 - u)
        log_mass = scaled_log_ndtr(tails.near) - 0.5 * np.minimum(tails.near, 0.0) ** 2
        z = ndtri_exp(np.minimum(log_mass + np.log1p(share * np.expm1(tails.log_ratio)), -1e-16))
        t = location + scale * np.where(tails.mirrored, -z, z)
        return np.asarray(self.low + self.width * np.clip(t, 0.0, 1.0))


class _Tails(NamedTuple):
    """The interval, mirrored if need be so that most of it lies left of the location, by its standardised ends."""

    mirrored: Array
    near: Array
    log_ratio: Array
    """log Φ(far) − log Φ(near)."""
    log_share: Array
    """log(1 − Φ(far) / Φ(near))."""


def _tails(parameters: Normal) -> _Tails:
    xp, (location, scale) = namespace(parameters.location), parameters
    mirrored = location < 0.5
    near = xp.where(mirrored, location, 1 - location) / scale
    far = xp.where(mirrored, location - 1, -location) / scale
    depth = xp.minimum(near, 0.0)
    log_ratio = scaled_log_ndtr(far) - scaled_log_ndtr(near) - 0.5 * (far - depth) * (far + depth)
    return _Tails(mirrored, near, log_ratio, xp.log(-xp.expm1(log_ratio)))
