"""Terms of log-densities that keep their digits where the textbook form cancels them.

`deviance_term` and `stirling_error` are the two pieces of C. Loader's saddle-point form of the Poisson, binomial and
beta densities (2000): with them a log-probability near its mode is a sum of small terms, no difference of large ones.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, log_ndtr, ndtri
from scipy.special import gammaln as host_gammaln

HALF_LOG_TWO_PI = 0.5 * float(np.log(2 * np.pi))
_SERIES_FROM = 15.0
_MILLS_FROM = -10.0


def deviance_term(ratio: jax.Array, excess: jax.Array) -> jax.Array:
    """r − 1 − log r for a ratio r and r − 1, each as exact as the caller has it.

    x times it at r = mean / x is the deviance of x from the mean.
    """
    v = excess / (2 + excess)
    square = v * v
    series = 1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9 + square / 11)))
    return jnp.where(jnp.abs(excess) < 0.1, excess * v - 2 * v * square * series, excess - jnp.log(ratio))


def _stirling_series(a: Any) -> Any:
    square = 1 / (a * a)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / a


def stirling_error(a: jax.Array) -> jax.Array:
    """What Stirling's formula misses: log Γ(a+1) − (a+½) log a + a − ½ log 2π, for a > 0."""
    small = jnp.minimum(a, _SERIES_FROM)
    direct = gammaln(small + 1) - (small + 0.5) * jnp.log(small) + small - HALF_LOG_TWO_PI
    return jnp.where(a > _SERIES_FROM, _stirling_series(jnp.maximum(a, _SERIES_FROM)), direct)


def count_log_base(x: np.ndarray) -> np.ndarray:
    """x log x − x − log x!, the log-probability of x under a Poisson of mean x, in float64; 0 at 0."""
    inside = np.where(x > 0, x, 1.0)
    small = np.minimum(inside, _SERIES_FROM)
    direct = small * np.log(small) - small - host_gammaln(small + 1)
    series = -0.5 * np.log(inside) - HALF_LOG_TWO_PI - _stirling_series(np.maximum(inside, _SERIES_FROM))
    return np.where(np.isnan(x), np.nan, np.where(x > 0, np.where(inside > _SERIES_FROM, series, direct), 0.0))


def scaled_log_ndtr(u: jax.Array) -> jax.Array:
    """log Φ(u) + ½ min(u, 0)²: the normal tail without its Gaussian factor, for tails of any depth."""
    near = jnp.maximum(u, _MILLS_FROM)
    far = jnp.minimum(u, _MILLS_FROM)
    inverse = 1 / (far * far)
    mills = jnp.ones_like(far)
    for order in range(12, 0, -1):
        mills = 1 - (2 * order - 1) * inverse * mills
    tail = jnp.log(mills) - jnp.log(-far) - HALF_LOG_TWO_PI
    return jnp.where(u < _MILLS_FROM, tail, log_ndtr(near) + 0.5 * jnp.minimum(near, 0) ** 2)


def inverse_log_ndtr(target: jax.Array) -> jax.Array:
    """The u with log Φ(u) = target, for target < 0; deep tails by Newton's method on the log scale."""
    shallow = ndtri(jnp.exp(jnp.maximum(target, -20.0)))
    depth = jnp.maximum(-target, 20.0)
    deep = -jnp.sqrt(2 * depth - jnp.log(4 * jnp.pi * depth))
    u = jnp.where(target > -20.0, shallow, deep)
    for _ in range(4):
        log_mass = scaled_log_ndtr(u) - 0.5 * jnp.minimum(u, 0) ** 2
        log_hazard = -0.5 * u * u - HALF_LOG_TWO_PI - log_mass
        step = (log_mass - target) * jnp.exp(-log_hazard)
        u = jnp.where(target > -20.0, u, u - step)
    return u


def inverse_softplus(y: np.ndarray | float) -> np.ndarray:
    """The x with softplus(x) = y, for y > 0."""
    y = np.asarray(y, dtype=np.float64)
    return y + np.log(-np.expm1(-y))
