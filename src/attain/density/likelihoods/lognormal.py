"""Positive columns: a log-normal of x + shift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from scipy.special import ndtri

from attain.density.likelihoods.base import (
    Array,
    Likelihood,
    Support,
    column_constants,
    namespace,
    refuse_outside,
    register,
)
from attain.density.likelihoods.gaussian import Normal, normal_log_density
from attain.density.likelihoods.numerics import inverse_softplus, softplus
from attain.schema import Feature


@register
class LogNormal(Likelihood):
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
        bare = [Feature(name=f.name, kind="real") for f in features]
        mean, deviation, _ = column_constants(logs, bare)
        half_step = np.array([0.0 if f.step is None else f.step / 2 for f in features])
        # A query may hold a 0 where training had none: it is read as far below everything seen, not as −∞.
        smallest = 1e-6 * np.exp(np.nanmin(logs, axis=0))
        return cls(shift, mean, deviation, half_step, smallest, np.nanmax(logs, axis=0))

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

    def log_density(self, parameters: Normal, t: Array) -> Array:
        return normal_log_density(parameters, t)

    @property
    def typical_outputs(self) -> int:
        return self.columns

    def typical(self, raw: np.ndarray) -> np.ndarray:
        return np.exp(np.minimum(self.mean + self.deviation * raw, self.largest + 20.0)) - self.shift

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        inside = self.mean + self.deviation * raw < self.largest + 20.0
        return np.where(inside, gradient * self.deviation * (self.typical(raw) + self.shift), 0.0)

    def quantile(self, parameters: Normal, u: np.ndarray) -> np.ndarray:
        return self.typical(parameters.location + parameters.scale * ndtri(u))

    def support(self) -> Support:
        return Support(-self.shift, np.full(self.columns, np.inf), False)
