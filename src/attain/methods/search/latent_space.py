"""The latent space of an autoencoder as a search sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from attain.methods.search.problem import Problem
from attain.methods.search.sphere import norm_of

Decode: TypeAlias = Callable[..., np.ndarray]
"""Codes (m, k) and the owner of each (m,), to candidate rows (m, d) of the matrix.

A third argument, where it is given, is the mixture component (m,) that each code is decoded with.
"""
DecodeVjp: TypeAlias = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Codes (m, k), their owners and a gradient in the decoded rows (m, d), to the gradient in the codes (m, k)."""
Measure: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Rows (m, d) in final form and the owner of each, to the distance of each from its owner."""


@dataclass(frozen=True)
class Latent:
    """The codes of a batch of rows, the range of the training codes, and the decoder.

    Attributes
    ----------
    codes
        The rows' own codes (n, k).
    low, high
        The box: the range of the training codes (k,).
    active
        Which units (k,) the decoder uses.
    decode
        From codes to candidate rows.
    measure
        What makes one hit better than another; None is the latent distance.
    decode_vjp
        The gradient of `decode`; None where the autoencoder has none.
    components
        How many mixture components each code is decoded with: more than one where all of them are tried.
    """

    codes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    active: np.ndarray
    decode: Decode
    measure: Measure | None = None
    decode_vjp: DecodeVjp | None = None
    components: int = 1

    @property
    def outside(self) -> np.ndarray:
        """Which of the rows' own codes lie outside the box (n,)."""
        return ~self.inside(self.codes)

    def inside(self, codes: np.ndarray) -> np.ndarray:
        """Which codes (..., k) lie in the box, in every active unit."""
        within: np.ndarray = ((codes >= self.low) & (codes <= self.high) | ~self.active).all(axis=-1)
        return within

    def farthest(self, norm: float) -> np.ndarray:
        """The distance from each of the rows' own codes to the farthest corner of the box (n,)."""
        reach = np.maximum(np.abs(self.codes - self.low), np.abs(self.codes - self.high))
        return norm_of(reach[:, self.active], norm)


class Tried(NamedTuple):
    """What became of n codes.

    Attributes
    ----------
    rows, hits
        The candidates that flip the decision, in final form, (m, d), and which of the codes each is decoded from, (m,).
    score
        The score of each code, (n,); NaN where the model was not asked about it.
    """

    rows: np.ndarray
    hits: np.ndarray
    score: np.ndarray


def tried(problem: Problem, latent: Latent, codes: np.ndarray, owners: np.ndarray, reserve: int) -> Tried:
    """Decodes codes (n, k), of each component if all are tried, and evaluates the candidates."""
    n, several = len(codes), latent.components
    if several == 1:
        evaluated = problem.evaluate(latent.decode(codes, owners), owners, reserve=reserve)
    else:
        codes, owners = np.repeat(codes, several, axis=0), np.repeat(owners, several)
        rows = latent.decode(codes, owners, np.tile(np.arange(several), n))
        evaluated = problem.evaluate(rows, owners, reserve=reserve)
    score = np.full(len(codes), np.nan)
    score[evaluated.asked] = evaluated.score
    hits = evaluated.hits
    return Tried(evaluated.rows[hits], hits // several, np.fmax.reduce(score.reshape(n, several), axis=1))
