"""The paper's likelihoods of numbers: a Gaussian, a log-normal, a Poisson and a truncated normal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy import stats
from scipy.special import ndtri, ndtri_exp

from attain.density.likelihoods.base import (
    HALF_LOG_TWO_PI,
    Array,
    Likelihood,
    Standardised,
    column_scales,
    count_log_base,
    deviance_term,
    half_steps,
    inverse_softplus,
    namespace,
    refuse_outside,
    register,
    scaled_log_ndtr,
    softplus,
)
from attain.schema import Feature

LARGEST_SCALE = 4.0


class Normal(NamedTuple):
    """Location and scale, in units of the column's standard deviation about its mean."""

    location: Array
    scale: Array


class Located(Likelihood):
    """A likelihood with a location, which alone determines the typical value, and a scale, in this order."""

    def log_density(self, parameters: Normal, t: Array) -> Array:
        z = (t - parameters.location) / parameters.scale
        return -0.5 * z * z - namespace(t).log(parameters.scale) - HALF_LOG_TWO_PI

    @property
    def typical_outputs(self) -> int:
        return self.columns

    def quantile(self, parameters: Normal, u: np.ndarray) -> np.ndarray:
        return self.typical(parameters.location + parameters.scale * ndtri(u))


@register
class Gaussian(Located, Standardised):
    """A Gaussian on standardised values, whose scale never falls below a stored floor.

    The floor is 1 % of the column's standard deviation, or half its step where that is more: without it, the density of
    a column of integers grows without limit. The typical value is the mean.
    """

    name: ClassVar[str] = "gaussian"
    kinds: ClassVar[tuple[str, ...]] = ("real", "positive", "count", "interval")

    floor: np.ndarray

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        half = half_steps(features)
        mean, deviation = column_scales(values, half)
        return cls(mean, deviation, np.maximum(0.01, half / deviation))

    def initial(self) -> np.ndarray:
        return np.concatenate([np.zeros(self.columns), inverse_softplus(np.maximum(1 - self.floor, 0.01))])

    def parameters(self, raw: Array) -> Normal:
        location, scale = namespace(raw).split(raw, 2, axis=-1)
        return Normal(location, softplus(scale) + self.floor)

    def typical(self, raw: np.ndarray) -> np.ndarray:
        return self.original(raw)

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return gradient * self.deviation


@register
class LogNormal(Located):
    """A Gaussian on the standardised log(x + shift), with a stored shift and a scale that keeps off 0.

    The shift is 0 where the column's minimum is above 0, else half its smallest positive value, or 1 if all are 0. The
    scale's floor is 1 % of the standard deviation of the logs, or, for a column with a step, half a step at the
    predicted median. The typical value is the median, exp(location) − shift.
    """

    name: ClassVar[str] = "lognormal"
    kinds: ClassVar[tuple[str, ...]] = ("positive", "count", "interval")

    shift: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    half_step: np.ndarray
    smallest: np.ndarray
    largest: np.ndarray

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        refuse_outside(features, values < 0, values, "values ≥ 0")
        positive = np.where(values > 0, values, np.inf).min(axis=0)
        half = np.where(np.isfinite(positive), positive / 2, 1.0)
        shift = np.where(np.nanmin(values, axis=0) > 0, 0.0, half)
        logs = np.log(values + shift)
        # A query may hold a 0 where training had none: it is read as far below everything seen, not as −∞.
        smallest = 1e-6 * np.exp(np.nanmin(logs, axis=0))
        return cls(shift, *column_scales(logs), half_steps(features), smallest, np.nanmax(logs, axis=0))

    def initial(self) -> np.ndarray:
        return np.concatenate([np.zeros(self.columns), np.full(self.columns, inverse_softplus(0.99))])

    def normalise(self, x: np.ndarray) -> np.ndarray:
        return (np.log(np.maximum(x + self.shift, self.smallest)) - self.mean) / self.deviation

    def log_base(self, x: np.ndarray) -> np.ndarray:
        return -np.log(self.deviation) - np.log(np.maximum(x + self.shift, self.smallest))

    def parameters(self, raw: Array) -> Normal:
        xp = namespace(raw)
        location, scale = xp.split(raw, 2, axis=-1)
        # Half a step at the predicted median, seen on the log scale; the clip keeps the median from underflowing.
        median = xp.exp(xp.clip(self.mean + self.deviation * location, -30.0, 60.0))
        floor = xp.maximum(0.01, xp.log1p(self.half_step / median) / self.deviation)
        return Normal(location, floor + softplus(scale))

    def typical(self, raw: np.ndarray) -> np.ndarray:
        return np.exp(np.minimum(self.mean + self.deviation * raw, self.largest + 20.0)) - self.shift

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        inside = self.mean + self.deviation * raw < self.largest + 20.0
        return np.where(inside, gradient * self.deviation * (self.typical(raw) + self.shift), 0.0)


class Rate(NamedTuple):
    """The expected count."""

    rate: Array


@register
class Poisson(Likelihood):
    """A Poisson with exact log-factorials. The typical value is the mean, which final form rounds.

    The mean moves smoothly with the latent code where the mode jumps, so a search can follow it. The raw count is the
    internal scale, its standardised log the network's input.
    """

    name: ClassVar[str] = "poisson"
    kinds: ClassVar[tuple[str, ...]] = ("count",)
    outputs_per_column: ClassVar[int] = 1

    log_rate: np.ndarray
    largest_log_rate: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        broken = (values < 0) | (values != np.round(values)) & ~np.isnan(values)
        refuse_outside(features, broken, values, "integers ≥ 0")
        present = np.maximum((~np.isnan(values)).sum(axis=0), 1)
        log_rate = np.log(np.maximum(np.nanmean(values, axis=0), 0.5 / present))
        return cls(log_rate, np.log(1000.0 * (1.0 + np.nanmax(values, axis=0))), *column_scales(np.log1p(values)))

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

    def typical(self, raw: np.ndarray) -> np.ndarray:
        return np.asarray(self.expected(raw))

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        inside = (raw > -20.0) & (raw < self.largest_log_rate)
        return np.where(inside, gradient * self.typical(raw), 0.0)

    def initial(self) -> np.ndarray:
        return self.log_rate

    def parameters(self, raw: Array) -> Rate:
        return Rate(self.expected(raw))

    def log_density(self, parameters: Rate, t: Array) -> Array:
        return -count_deviance(t, parameters.rate)

    def quantile(self, parameters: Rate, u: np.ndarray) -> np.ndarray:
        return np.asarray(stats.poisson.ppf(u, parameters.rate))


def count_deviance(x: Array, rate: Array) -> Array:
    """rate − x − x log(rate / x), which is the rate at x = 0."""
    xp = namespace(x)
    inside = xp.where(x > 0, x, 1.0)
    return xp.where(x > 0, inside * deviance_term(rate / inside, (rate - inside) / inside), rate)


@register
class TruncatedNormal(Located):
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
        mean, deviation = column_scales((values - low) / width)
        deviation = np.minimum(deviation, 0.3)
        return cls(low, width, mean, deviation, np.maximum(0.01 * deviation, half_steps(features) / width))

    def normalise(self, x: np.ndarray) -> np.ndarray:
        return (x - self.low) / self.width

    def encode(self, t: Array) -> Array:
        return (t - self.mean) / self.deviation

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
