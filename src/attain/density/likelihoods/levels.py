"""Levels: a multinomial logit, or with an order a cumulative logit."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np

from attain.density.likelihoods.base import (
    Array,
    Likelihood,
    inverse_softplus,
    log_softmax,
    namespace,
    register,
    softplus,
    static,
)
from attain.schema import Feature

IMPOSSIBLE = -1e9
"""The logit of a padded level: its probability is exactly 0 in float32 and float64."""
SMALLEST_GAP = 1e-3


class LevelLikelihood(Likelihood):
    """What likelihoods of levels share: blocks padded to the largest number of levels, and one-hot inputs.

    Columns are grouped by the next power of two of their number of levels, so that padding never doubles the work. A
    level that never occurred in training is encoded like a missing cell and never typical.
    """

    log_share: np.ndarray
    seen: np.ndarray
    exists: np.ndarray
    levels: int = static()

    @classmethod
    def fit(cls, features: Sequence[Feature], values: np.ndarray) -> Self:
        counts = [len(feature.levels) for feature in features]
        widest = cls.padded(max(counts))
        exists = np.arange(widest) < np.array(counts)[:, None]
        tally = (values[:, :, None] == np.arange(widest)).sum(axis=0)
        share = (tally + 0.5) / (tally + 0.5 * exists).sum(axis=1, keepdims=True)
        return cls(np.log(np.where(exists, share, 1.0)), tally > 0, exists, widest)

    @staticmethod
    def padded(levels: int) -> int:
        """The next power of two, at least 2."""
        return 1 << max(levels - 1, 1).bit_length()

    @classmethod
    def group(cls, feature: Feature) -> Hashable:
        return cls.padded(len(feature.levels))

    @property
    def outputs(self) -> int:
        return self.columns * (self.levels - 1)

    @property
    def inputs(self) -> int:
        return self.columns * self.levels

    def normalise(self, x: np.ndarray) -> np.ndarray:
        return x

    def log_base(self, x: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(x), np.nan, 0.0)

    def encode(self, t: Array) -> Array:
        chosen = self._one_hot(t) & (self.seen > 0)
        return chosen.reshape(*t.shape[:-1], self.inputs).astype(t.dtype)

    def _one_hot(self, t: Array) -> Array:
        return t[..., None] == namespace(t).arange(self.levels, dtype=t.dtype)

    def _by_column(self, raw: Array) -> Array:
        return raw.reshape(*raw.shape[:-1], self.columns, self.levels - 1)

    def _chosen(self, log_probabilities: Array, t: Array) -> Array:
        return namespace(t).where(self._one_hot(t), log_probabilities, 0.0).sum(axis=-1)

    def typical_vjp(self, raw: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return np.zeros(raw.shape)  # a level has no slope

    def _level(self, log_probabilities: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The level (n, columns) that has the share u of the levels below it."""
        reached = np.cumsum(np.exp(log_probabilities), axis=-1)
        return np.minimum((reached <= u[..., None]).sum(axis=-1), self.exists.sum(axis=1) - 1).astype(np.float64)


class Logits(NamedTuple):
    """Unnormalised log-probabilities (..., columns, levels), 0 for the first level."""

    logits: Array


@register
class Categorical(LevelLikelihood):
    """A softmax over levels with the first logit 0. The typical value is the most probable level seen in training."""

    name: ClassVar[str] = "categorical"
    kinds: ClassVar[tuple[str, ...]] = ("categorical", "ordinal")

    def initial(self) -> np.ndarray:
        relative = self.log_share - self.log_share[:, :1]
        return np.where(self.exists, relative, 0.0)[:, 1:].ravel()

    def parameters(self, raw: Array) -> Logits:
        xp, raw = namespace(raw), self._by_column(raw)
        first = xp.zeros((*raw.shape[:-1], 1), raw.dtype)
        return Logits(xp.where(self.exists > 0, xp.concatenate([first, raw], axis=-1), IMPOSSIBLE))

    def log_density(self, parameters: Logits, t: Array) -> Array:
        return self._chosen(log_softmax(parameters.logits), t)

    def typical(self, raw: np.ndarray) -> np.ndarray:
        seen, raw = self.seen > 0, self._by_column(raw)
        others = np.where(seen[:, 1:], raw, 2 * IMPOSSIBLE)
        first = np.where(seen[:, 0], 0.0, 2 * IMPOSSIBLE)
        return np.where(first >= others.max(axis=-1), 0, 1 + others.argmax(axis=-1)).astype(raw.dtype)

    def quantile(self, parameters: Logits, u: np.ndarray) -> np.ndarray:
        return self._level(log_softmax(parameters.logits), u)


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
        raw = self._by_column(raw)
        return Thresholds(raw[..., 0], SMALLEST_GAP + softplus(raw[..., 1:]))

    def log_density(self, parameters: Thresholds, t: Array) -> Array:
        return self._chosen(self._log_probabilities(parameters), t)

    def typical(self, raw: np.ndarray) -> np.ndarray:
        raw = self._by_column(raw)
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
