"""The products of `attain.density.network`, compiled; see `attain.core.compiled`."""

from __future__ import annotations

from attain.core.arrays import FloatArray
from attain.core.compiled import kernel


@kernel("void(f8[:, ::1], f8[:, ::1], f8[:, ::1])")
def add_product(x: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Adds x (n, inputs) times a matrix (inputs, m) to out (n, m), one input after the other."""
    for i in range(x.shape[0]):
        for j in range(matrix.shape[0]):
            value = x[i, j]
            for m in range(matrix.shape[1]):
                out[i, m] += value * matrix[j, m]
