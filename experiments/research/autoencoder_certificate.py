"""A certificate of connectedness that rests on an autoencoder alone.

For an answer x̃ and a real row a, with codes z̃ and z_a and the decoder g, the triangle inequality gives

    d(x̃, a) ≤ ‖x̃ − g(z̃)‖ + ‖g(z̃) − g(z_a)‖ + ‖g(z_a) − a‖,

where the middle term is at most the length of g along any line from z̃ to z_a. So x̃ is within ε of a real row wherever
the least right side over real rows is at most ε. A larger latent space makes the reconstruction errors smaller and the
decoded rows lie further apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.density import Autoencoder, Codes
from attain.density.estimator import with_derived
from attain.population.measuring import measured
from attain.population.population import Reference
from attain.tables import without_unseen


def certified_distance(
    answers: ArrayLike,
    autoencoder: Autoencoder,
    reference: Reference,
    *,
    steps: int = 1,
    nearest: int = 10,
    found: ArrayLike | None = None,
) -> FloatArray:
    """A bound of each answer's distance to the nearest reference row, by the autoencoder; NaN without an answer.

    Parameters
    ----------
    autoencoder
        A fitted one.
    reference
        The real rows of the desired class, in whose measuring space distances are taken.
    steps
        1 takes the distance between the two decoded rows, the closest bound. More steps follow the line between the
        codes, decoded at so many points, towards the length of that curve; where the immutable cells of answer and real
        row differ, they change in the first step.
    nearest
        How many real rows, those with the least bound at one step, are tried with more; the least bound counts.
    """
    decoder = _Decoder(autoencoder, reference)

    def measure(rows: FloatArray, _: BoolArray) -> FloatArray:
        if not len(reference):
            return np.full(len(rows), np.nan)
        return np.array([decoder.bound(row, nearest, steps) for row in rows])

    return measured(answers, found, len(reference.schema), measure)


class _Decoder:
    """Rows and decoded rows of an autoencoder as points of the measuring space."""

    def __init__(self, autoencoder: Any, reference: Reference) -> None:
        self.autoencoder, self.reference = autoencoder, reference
        self.real = without_unseen(autoencoder.schema_, reference.values)
        self.codes = autoencoder.encode(self.real)
        self.decoded = self.points(self.codes.z, np.arange(len(self.real)))
        self.error = np.linalg.norm(self.decoded - reference.space.transform(reference.values), axis=1)

    def points(self, z: FloatArray, owners: IndexArray) -> FloatArray:
        """Codes decoded beside the other cells of some reference rows."""
        return self._decoded(z, self.codes.context[owners], self.real[owners])

    def _decoded(self, z: FloatArray, context: FloatArray, rows: FloatArray) -> FloatArray:
        whole = rows.copy()
        schema = self.autoencoder.schema_
        whole[:, schema.free_columns] = self.autoencoder.decode(Codes(z, context))
        return self.reference.space.transform(with_derived(whole, schema))

    def bound(self, row: FloatArray, nearest: int, steps: int) -> float:
        """The least bound of one answer over the real rows."""
        answer = without_unseen(self.autoencoder.schema_, row[None])
        own = self.autoencoder.encode(answer)
        begin = self._decoded(own.z, own.context, answer)
        error = float(np.linalg.norm(self.reference.space.transform(row[None]) - begin))
        rest = np.linalg.norm(self.decoded - begin, axis=1) + self.error
        if steps == 1:
            return error + float(rest.min())
        chosen = np.argsort(rest, kind="stable")[:nearest]
        shares = (np.arange(1, steps + 1) / steps)[None, :, None]
        line = own.z[0] + shares * (self.codes.z[chosen] - own.z[0])[:, None, :]
        path = self.points(line.reshape(-1, line.shape[-1]), np.repeat(chosen, steps)).reshape(len(chosen), steps, -1)
        path = np.concatenate([np.broadcast_to(begin, (len(chosen), 1, begin.shape[1])), path], axis=1)
        length = np.linalg.norm(np.diff(path, axis=1), axis=2).sum(axis=1)
        return error + float((length + self.error[chosen]).min())
