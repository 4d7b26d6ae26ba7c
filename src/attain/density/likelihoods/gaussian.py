"""Real-valued columns: a Gaussian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from attain.density.likelihoods.base import Array, Standardised, column_constants, namespace, register
from attain.density.likelihoods.numerics import HALF_LOG_TWO_PI, inverse_softplus, softplus
from attain.schema import Feature


class Normal(NamedTuple):
    """Location and scale, in units of the column's standard deviation about its mean."""

    location: Array
    scale: Array


@register
class Gaussian(Standardised):
    """A Gaussian on standardised values, whose scale never falls below a stored floor.

    The floor is 1 % of the column's standard deviation, or half its step where that is more: without it, the density of
    a column of integers grows without limit. The typical value is the mean.
    """

    name: ClassVar[str] = "gaussian"
    kinds: ClassVar[tuple[str, ...]] = ("real", "positive", "count", "interval")

    floor: np.ndarray

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        mean, deviation, half_step = column_constants(values, features)
        return cls(mean, deviation, np.maximum(0.01, half_step / deviation))

    def initial(self) -> np.ndarray:
        return np.concatenate([np.zeros(self.columns), inverse_softplus(np.maximum(1 - self.floor, 0.01))])

    def parameters(self, raw: Array) -> Normal:
        location, scale = namespace(raw).split(raw, 2, axis=-1)
        return Normal(location, softplus(scale) + self.floor)

    def log_density(self, parameters: Normal, t: Array) -> Array:
        return normal_log_density(parameters, t)

    @property
    def typical_outputs(self) -> int:
        return self.columns

    def typical(self, raw: np.ndarray) -> np.ndarray:
        return self.original(raw)

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return gradient * self.deviation

    def quantile(self, parameters: Normal, u: np.ndarray) -> np.ndarray:
        return self.original(parameters.location + parameters.scale * ndtri(u))


def normal_log_density(parameters: Normal, t: Array) -> Array:
    """log N(t; location, scale²)."""
    z = (t - parameters.location) / parameters.scale
    return -0.5 * z * z - namespace(t).log(parameters.scale) - HALF_LOG_TWO_PI
