"""Why nothing in a record may change, from the record itself."""

from __future__ import annotations

import numpy as np

from attain.core.text import number, plain
from attain.schema import Schema


def why_nothing_is_free(schema: Schema, row: np.ndarray) -> str:
    """Why no cell of a row (d,) may change: all that could are missing, or special codes; empty for other reasons."""
    cells = [(feature, float(row[j])) for j, feature in enumerate(schema) if feature.searched]
    codes = {cell: feature.special[cell] for feature, cell in cells if cell in feature.special}
    missing = any(np.isnan(cell) for _, cell in cells)
    held = (
        not feature.fillable if np.isnan(cell) else cell in feature.special and cell not in feature.transitions
        for feature, cell in cells
    )
    if not cells or not all(held):
        return ""
    shown = ", ".join(f"{number(code)}: {plain(text)}" if text else number(code) for code, text in codes.items())
    coded = [f"recorded as a code ({shown}) rather than a number"] if codes else []
    return f"every value that could is {' or '.join(['missing'] * missing + coded)}"
