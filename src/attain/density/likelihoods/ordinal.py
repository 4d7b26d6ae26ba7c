"""Levels with an order: a cumulative logit."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from attain.density.likelihoods.base import Array, namespace, register
from attain.density.likelihoods.categorical import IMPOSSIBLE, LevelLikelihood
from attain.density.likelihoods.numerics import inverse_softplus, softplus

SMALLEST_GAP = 1e-3


class Thresholds(NamedTuple):
    """The first threshold (..., columns) and the positive gaps between neighbours (..., columns, levels − 2)."""

    first: Array
    gaps: Array


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

    def parameters(self, raw: Array) -> Thresholds:
        raw = raw.reshape(*raw.shape[:-1], self.columns, self.levels - 1)
        return Thresholds(raw[..., 0], SMALLEST_GAP + softplus(raw[..., 1:]))

    def log_density(self, parameters: Thresholds, t: Array) -> Array:
        return self._chosen(self._log_probabilities(parameters), t)

    def typical(self, raw: np.ndarray) -> np.ndarray:
        raw = raw.reshape(*raw.shape[:-1], self.columns, self.levels - 1)
        rest = raw[..., 1:].astype(np.float32)  # several times faster, and thresholds are only compared with 0
        gaps = SMALLEST_GAP + np.maximum(rest, 0.0) + np.log(1.0 + np.exp(-np.abs(rest)))
        thresholds = np.cumsum(np.concatenate([raw[..., :1], gaps], axis=-1), axis=-1)
        median = ((thresholds < 0) & (self.exists[:, 1:] > 0)).sum(axis=-1)
        return self._nearest_seen()[np.arange(self.columns), median].astype(raw.dtype)

    def _nearest_seen(self) -> np.ndarray:
        """For each level the nearest that occurred in training, (columns, levels); of two equally near, the lower."""
        levels, seen, far = np.arange(self.seen.shape[1]), self.seen > 0, 2 * self.seen.shape[1]
        below = np.maximum.accumulate(np.where(seen, levels, -far), axis=1)
        above = np.minimum.accumulate(np.where(seen, levels, far)[:, ::-1], axis=1)[:, ::-1]
        return np.where(levels - below <= above - levels, below, above)

    def quantile(self, parameters: Thresholds, u: np.ndarray) -> np.ndarray:
        return self._level(self._log_probabilities(parameters), u)

    def _log_probabilities(self, parameters: Thresholds) -> Array:
        """log(σ(b) − σ(a)) as log σ(b) + log σ(−a) + log(1 − e^(a−b)), which cancels nowhere."""
        xp, first = namespace(parameters.first), parameters.first[..., None]
        thresholds = xp.concatenate([first, first + xp.cumsum(parameters.gaps, axis=-1)], axis=-1)
        inner = self.exists[:, 1:] > 0
        edge = xp.zeros_like(first)
        upper = xp.concatenate([xp.where(inner, -softplus(-thresholds), 0.0), edge], axis=-1)
        lower = xp.concatenate([edge, -softplus(thresholds)], axis=-1)
        between = xp.where(inner[:, 1:], xp.log(-xp.expm1(-parameters.gaps)), 0.0)
        width = xp.concatenate([edge, between, edge], axis=-1)
        return xp.where(self.exists > 0, upper + lower + width, IMPOSSIBLE)
