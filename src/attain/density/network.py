"""A trained model's encoder and decoder in NumPy: what a search asks for again and again, without JAX.

Sums run over one input after the other, so that the bits of a row never depend on the rows beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

from attain.core.arrays import FloatArray
from attain.core.compiled import kernels
from attain.density.columns import Columns
from attain.density.mixture import Layer, Mixture

_TILE = 4096
"""Rows decoded at a time, so that they stay in the processor's cache."""

Affine: TypeAlias = tuple[FloatArray, FloatArray]
"""A matrix (inputs, outputs) and a bias (outputs,)."""


@dataclass(frozen=True)
class Network:
    """Encoder and decoder of typical values of a `Mixture`, in float64.

    Attributes
    ----------
    columns
        The columns that the model was fitted with, with constants in float64.
    encoder, shared, separate
        The layers of the encoder, as in `Weights`.
    prior
        μ(c) of each component, (L, k).
    from_latent, from_component, from_conditions
        The first layer of the decoder. Its outputs, if it is the only layer, are those that typical values depend on.
    decoder
        Its further layers; the last one has those outputs.
    """

    columns: Columns
    encoder: tuple[Affine, ...]
    shared: Affine
    separate: Affine | None
    prior: FloatArray
    from_latent: FloatArray
    from_component: FloatArray
    from_conditions: FloatArray | None
    decoder: tuple[Affine, ...]

    @classmethod
    def of(cls, model: Mixture, columns: Columns) -> Self:
        """The encoder and decoder of a model over these columns."""
        weights = model.with_outputs(columns, columns.typical_outputs).weights
        conditions = weights.from_conditions
        return cls(
            columns,
            encoder=tuple(_affine(layer) for layer in weights.encoder),
            shared=_affine(weights.shared),
            separate=None if weights.separate is None else _affine(weights.separate),
            prior=_array(model.prior_mean),
            from_latent=_array(weights.from_latent),
            from_component=_array(weights.from_component),
            from_conditions=None if conditions is None else _array(conditions),
            decoder=tuple(_affine(layer) for layer in weights.decoder),
        )

    def conditions(self, rows: FloatArray) -> FloatArray:
        """The immutable features of compact rows as network inputs."""
        return np.asarray(self.columns.encode_conditions(_array(rows)))

    def posterior(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The logits of q(c|x), (n, L), and the means of q(z|x, c), (n, L, k), of compact rows."""
        x = np.concatenate([self.columns.encode(_array(rows)), self.conditions(rows)], axis=-1)
        for matrix, bias in self.encoder:
            x = np.tanh(_sum(bias, (x, matrix)))
        components, k = self.prior.shape
        matrix, bias = self.shared
        mean = _sum(bias[:k], (x, np.ascontiguousarray(matrix[:, :k])))[:, None, :]
        if self.separate is None:
            return np.zeros((len(rows), 1)), mean
        matrix, bias = self.separate
        size = components * (1 + k)  # logits and means; the scales that follow are not needed
        own = _sum(bias[:size], (x, np.ascontiguousarray(matrix[:, :size])))
        return own[:, :components], mean + own[:, components:].reshape(-1, components, k)

    def encode(self, rows: FloatArray) -> tuple[FloatArray, np.ndarray]:
        """The posterior mean (n, k) of compact rows under their most probable component, and its number (n,)."""
        logits, mean = self.posterior(rows)
        component = logits.argmax(axis=1)
        return mean[np.arange(len(rows)), component], component

    def displacement(self, rows: FloatArray) -> FloatArray:
        """The posterior mean relative to the prior mean, averaged over components, (n, k)."""
        logits, mean = self.posterior(rows)
        share = np.exp(logits - logits.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        return np.asarray((share[:, :, None] * (mean - self.prior)).sum(axis=1))

    def decode(self, z: FloatArray, conditions: FloatArray, component: np.ndarray) -> FloatArray:
        """Typical free cells (n, f) in original units, for encoded conditions and component numbers (n,)."""
        if len(z) > _TILE:
            tiles = [slice(start, start + _TILE) for start in range(0, len(z), _TILE)]
            return np.concatenate([self.decode(z[at], conditions[at], component[at]) for at in tiles])
        terms = [(z, self.from_latent)]
        if self.from_conditions is not None:
            terms.append((conditions, self.from_conditions))
        one = len(self.from_component) == 1
        x = _sum(self.from_component[0] if one else self.from_component[component], *terms)
        for matrix, bias in self.decoder:
            x = _sum(bias, (np.tanh(x), matrix))
        return np.asarray(self.columns.typical(x))

    def log_components(self, z: FloatArray) -> FloatArray:
        """log p(c | z) but for a constant of each row, (n, L): −‖z − μ(c)‖² / 2, as p(c) is uniform."""
        return np.stack([-0.5 * _squares(z - mean) for mean in self.prior], axis=1)


def _sum(start: FloatArray, *terms: tuple[FloatArray, FloatArray]) -> FloatArray:
    """`start` (m,) or (n, m), plus the products of some x (n, inputs) and their matrices (inputs, m)."""
    rows = len(terms[0][0])
    out = np.array(np.broadcast_to(start, (rows, start.shape[-1])), order="C")
    compiled = kernels("attain.density.network_kernels")
    for x, matrix in terms:
        if compiled is not None:
            compiled.add_product(np.ascontiguousarray(x), matrix, out)
            continue
        for j in range(matrix.shape[0]):
            out += x[:, j, None] * matrix[j]
    return out


def _squares(vectors: FloatArray) -> FloatArray:
    total = np.zeros(len(vectors))
    for j in range(vectors.shape[1]):
        total += vectors[:, j] ** 2
    return total


def _array(leaf: object) -> FloatArray:
    return np.asarray(leaf, dtype=np.float64)


def _affine(layer: Layer) -> Affine:
    return _array(layer.matrix), _array(layer.bias)
