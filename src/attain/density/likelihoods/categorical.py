"""Levels without an order: a multinomial logit."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np

from attain.density.likelihoods.base import Array, Likelihood, Support, namespace, register
from attain.density.likelihoods.numerics import log_softmax
from attain.density.likelihoods.tree import static
from attain.schema import Feature

IMPOSSIBLE = -1e9
"""The logit of a padded level: its probability is exactly 0 in float32 and float64."""


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

    def support(self) -> Support:
        return Support(np.zeros(self.columns), self.exists.sum(axis=1) - 1.0, True)

    def _one_hot(self, t: Array) -> Array:
        return t[..., None] == namespace(t).arange(self.levels, dtype=t.dtype)

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
        xp = namespace(raw)
        raw = raw.reshape(*raw.shape[:-1], self.columns, self.levels - 1)
        first = xp.zeros((*raw.shape[:-1], 1), raw.dtype)
        return Logits(xp.where(self.exists > 0, xp.concatenate([first, raw], axis=-1), IMPOSSIBLE))

    def log_density(self, parameters: Logits, t: Array) -> Array:
        return self._chosen(log_softmax(parameters.logits), t)

    def typical(self, raw: np.ndarray) -> np.ndarray:
        seen = self.seen > 0
        raw = raw.reshape(*raw.shape[:-1], self.columns, self.levels - 1)
        others = np.where(seen[:, 1:], raw, 2 * IMPOSSIBLE)
        first = np.where(seen[:, 0], 0.0, 2 * IMPOSSIBLE)
        return np.where(first >= others.max(axis=-1), 0, 1 + others.argmax(axis=-1)).astype(raw.dtype)

    def quantile(self, parameters: Logits, u: np.ndarray) -> np.ndarray:
        return self._level(log_softmax(parameters.logits), u)
