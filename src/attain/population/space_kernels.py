"""The points of one row after the other: the kernel beside `MeasuringSpace.transform`."""

from __future__ import annotations

import numpy as np

from attain.core.compiled import kernel


@kernel("void(f8[:, ::1], i8[::1], f8[::1], f8[::1], i8[::1], f8[::1], i8[::1], f8[::1], i8[::1], f8[:, ::1])")
def transformed(
    rows: np.ndarray,
    scaled: np.ndarray,
    mean: np.ndarray,
    scale: np.ndarray,
    code_starts: np.ndarray,
    codes: np.ndarray,
    indicated: np.ndarray,
    states: np.ndarray,
    complete: np.ndarray,
    points: np.ndarray,
) -> None:
    """`MeasuringSpace.transform` of rows (n, d) into points (n, dimension)."""
    for i in range(len(rows)):
        for place in range(len(scaled)):
            cell = rows[i, scaled[place]]
            known = cell == cell
            for c in range(code_starts[place], code_starts[place + 1]):
                known = known and cell != codes[c]
            points[i, place] = (cell - mean[place]) / scale[place] if known else 0.0
        for k in range(len(indicated)):
            cell, state = rows[i, indicated[k]], states[k]
            points[i, len(scaled) + k] = 1.0 if cell == state or (cell != cell and state != state) else 0.0
        missing = 0
        for k in range(len(complete)):
            missing += rows[i, complete[k]] != rows[i, complete[k]]
        points[i, points.shape[1] - 1] = np.sqrt(missing)
