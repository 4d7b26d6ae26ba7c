"""Terms of log-densities that keep their digits where the textbook form cancels them.

`deviance_term` and `count_log_base` are the two pieces of C. Loader's saddle-point form of the Poisson (2000): with
them a log-probability near its mode is a sum of small terms, no difference of large ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from attain.density.likelihoods.base import Array, namespace

HALF_LOG_TWO_PI = 0.5 * float(np.log(2 * np.pi))
_SERIES_FROM = 15.0
_MILLS_FROM = -10.0


def special(array: Array) -> Any:
    """The special functions of the library of an array: those of SciPy, or of JAX."""
    if namespace(array) is np:
        return scipy.special
    import jax.scipy.special

    return jax.scipy.special


def softplus(x: Array) -> Array:
    """log(1 + eˣ)."""
    return namespace(x).logaddexp(x, 0.0)


def log_softmax(x: Array) -> Array:
    """x less the logarithm of the sum of its exponentials, over the last axis."""
    if namespace(x) is np:
        return x - logsumexp(x)[..., None]
    import jax

    return jax.nn.log_softmax(x, axis=-1)


def logsumexp(x: Array) -> Array:
    """The logarithm of the sum of exponentials over the last axis."""
    if namespace(x) is not np:
        return special(x).logsumexp(x, axis=-1)
    largest = x.max(axis=-1)
    return largest + np.log(np.exp(x - largest[..., None]).sum(axis=-1))


def deviance_term(ratio: Array, excess: Array) -> Array:
    """r − 1 − log r for a ratio r and r − 1, each as exact as the caller has it.

    x times it at r = mean / x is the deviance of x from the mean.
    """
    v = excess / (2 + excess)
    square = v * v
    series = 1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9 + square / 11)))
    xp = namespace(ratio)
    return xp.where(xp.abs(excess) < 0.1, excess * v - 2 * v * square * series, excess - xp.log(ratio))


def _stirling_series(a: Any) -> Any:
    square = 1 / (a * a)
    return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / a


def count_log_base(x: np.ndarray) -> np.ndarray:
    """x log x − x − log x!, the log-probability of x under a Poisson of mean x, in float64; 0 at 0."""
    inside = np.where(x > 0, x, 1.0)
    small = np.minimum(inside, _SERIES_FROM)
    direct = small * np.log(small) - small - scipy.special.gammaln(small + 1)
    series = -0.5 * np.log(inside) - HALF_LOG_TWO_PI - _stirling_series(np.maximum(inside, _SERIES_FROM))
    return np.where(np.isnan(x), np.nan, np.where(x > 0, np.where(inside > _SERIES_FROM, series, direct), 0.0))


def scaled_log_ndtr(u: Array) -> Array:
    """log Φ(u) + ½ min(u, 0)²: the normal tail without its Gaussian factor, for tails of any depth."""
    xp = namespace(u)
    near = xp.maximum(u, _MILLS_FROM)
    far = xp.minimum(u, _MILLS_FROM)
    inverse = 1 / (far * far)
    mills = xp.ones_like(far)
    for order in range(12, 0, -1):
        mills = 1 - (2 * order - 1) * inverse * mills
    tail = xp.log(mills) - xp.log(-far) - HALF_LOG_TWO_PI
    return xp.where(u < _MILLS_FROM, tail, special(u).log_ndtr(near) + 0.5 * xp.minimum(near, 0) ** 2)


def inverse_softplus(y: np.ndarray | float) -> np.ndarray:
    """The x with softplus(x) = y, for y > 0."""
    y = np.asarray(y, dtype=np.float64)
    return y + np.log(-np.expm1(-y))
