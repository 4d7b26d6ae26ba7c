"""Counts: a Poisson."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy import stats

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
        bare = [Feature(name=f.name, kind="real") for f in features]
        mean, deviation, _ = column_constants(np.log1p(values), bare)
        log_rate = np.log(np.maximum(np.nanmean(values, axis=0), 0.5 / present))
        return cls(log_rate, np.log(1000.0 * (1.0 + np.nanmax(values, axis=0))), mean, deviation)

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
        found: np.ndarray = self.expected(raw)
        return found

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        inside = (raw > -20.0) & (raw < self.largest_log_rate)
        return np.where(inside, gradient * self.typical(raw), 0.0)

    def support(self) -> Support:
        return Support(np.zeros(self.columns), np.full(self.columns, np.inf), True)

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
