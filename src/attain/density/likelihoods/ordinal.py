"""Levels with an order: a cumulative logit."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attain.density.likelihoods.base import Array, namespace, register
from attain.density.likelihoods.categorical import IMPOSSIBLE, LevelLikelihood
from attain.density.likelihoods.numerics import inverse_softplus

SMALLEST_GAP = 1e-3


class Thresholds(NamedTuple):
    """The first threshold (..., columns) and the positive gaps between neighbours (..., columns, levels − 2)."""

    first: jax.Array
    gaps: jax.Array


@register
class Ordinal(LevelLikelihood):
    """P(x ≤ k) = sigmoid(θₖ) with θ₀ < θ₁ < … by construction: gaps between thresholds are positive.

    The location of the usual form is −θ₀, so no parameter is redundant. The typical value is the median level, or the
    nearest level that occurred in training where the median never did.
    """

    name: ClassVar[str] = "ordinal"
    kinds: ClassVar[tuple[str, ...]] = ("ordinal", "categorical")

    def initial(self) -> np.ndarray:
        share = np.where(self.exists, np.exp(self.log_share), 0.0)
        below = np.clip(np.cumsum(share, axis=1)[:, :-1], 1e-6, 1 - 1e-6)
        thresholds = np.log(below / (1 - below))
        gaps = np.maximum(np.diff(thresholds, axis=1) - SMALLEST_GAP, SMALLEST_GAP)
        return np.concatenate([thresholds[:, :1], inverse_softplus(gaps)], axis=1).ravel()

    def parameters(self, raw: jax.Array) -> Thresholds:
        raw = raw.reshape(*raw.shape[:-1], self.columns, self.levels - 1)
        return Thresholds(raw[..., 0], SMALLEST_GAP + jax.nn.softplus(raw[..., 1:]))

    def log_density(self, parameters: Thresholds, t: jax.Array) -> jax.Array:
        return self._chosen(self._log_probabilities(parameters), t)

    def typical(self, raw: Array) -> Array:
        xp = namespace(raw)
        raw = raw.reshape(*raw.shape[:-1], self.columns, self.levels - 1)
        rest = raw[..., 1:].astype(xp.float32)  # several times faster, and thresholds are only compared with 0
        gaps = SMALLEST_GAP + xp.maximum(rest, 0.0) + xp.log(1.0 + xp.exp(-xp.abs(rest)))
        thresholds = xp.cumsum(xp.concatenate([raw[..., :1], gaps], axis=-1), axis=-1)
        median = ((thresholds < 0) & (self.exists[:, 1:] > 0)).sum(axis=-1)
        return self._nearest_seen(xp)[xp.arange(self.columns), median].astype(raw.dtype)

    def _nearest_seen(self, xp: Any) -> Array:
        """For each level the nearest one that occurred in training, (columns, levels); of two equally near, the lower.

        `xp` is the library that computes it.
        """
        levels, seen, far = xp.arange(self.seen.shape[1]), self.seen > 0, 2 * self.seen.shape[1]
        below = xp.maximum.accumulate(xp.where(seen, levels, -far), axis=1)
        above = xp.minimum.accumulate(xp.where(seen, levels, far)[:, ::-1], axis=1)[:, ::-1]
        return xp.where(levels - below <= above - levels, below, above)

    def sample(self, key: jax.Array, parameters: Thresholds) -> jax.Array:
        level = jax.random.categorical(key, self._log_probabilities(parameters), axis=-1)
        return level.astype(parameters.first.dtype)

    def _thresholds(self, parameters: Thresholds) -> jax.Array:
        first = parameters.first[..., None]
        return jnp.concatenate([first, first + jnp.cumsum(parameters.gaps, axis=-1)], axis=-1)

    def _log_probabilities(self, parameters: Thresholds) -> jax.Array:
        """log(σ(b) − σ(a)) as log σ(b) + log σ(−a) + log(1 − e^(a−b)), which cancels nowhere."""
        thresholds = self._thresholds(parameters)
        inner = self.exists[:, 1:] > 0
        edge = jnp.zeros_like(thresholds[..., :1])
        upper = jnp.concatenate([jnp.where(inner, jax.nn.log_sigmoid(thresholds), 0.0), edge], axis=-1)
        lower = jnp.concatenate([edge, jax.nn.log_sigmoid(-thresholds)], axis=-1)
        between = jnp.where(inner[:, 1:], jnp.log(-jnp.expm1(-parameters.gaps)), 0.0)
        width = jnp.concatenate([edge, between, edge], axis=-1)
        return jnp.where(self.exists > 0, upper + lower + width, IMPOSSIBLE)
