"""The products of `attain.density.network`, compiled; see `attain.core.compiled`."""

from __future__ import annotations

from attain.core.arrays import FloatArray
from attain.core.compiled import kernel

_BLOCK = 1_024
"""Columns at a time, so that all rows are multiplied with a part of the matrix that is in the processor's cache."""


@kernel("void(f8[:, ::1], f8[:, ::1], f8[:, ::1])")
def add_product(x: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Adds x (n, inputs) times a matrix (inputs, m) to out (n, m), one input after the other."""
    for start in range(0, matrix.shape[1], _BLOCK):
        for i in range(x.shape[0]):
            part = out[i, start : start + _BLOCK]
            for j in range(matrix.shape[0]):
                value = x[i, j]
                factors = matrix[j, start : start + _BLOCK]
                for m in range(part.shape[0]):
                    part[m] += value * factors[m]
