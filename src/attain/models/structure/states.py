"""The cells of the matrix that are states rather than numbers: levels, special codes, missing cells."""

from __future__ import annotations

import numpy as np

from attain.engine.score import States
from attain.tables import Layout


def states_of(layout: Layout) -> States:
    """The states of a layout's columns, with the levels that the schema does not have behind its own."""
    codes = []
    for feature in layout.schema:
        levels = range(len(feature.levels) + len(layout.unseen.get(feature.name, ())))
        codes.append(np.array([*(feature.special if feature.numeric else levels), np.nan]))
    first = np.cumsum([0, *map(len, codes)])
    return States([feature.numeric for feature in layout.schema], first, np.concatenate(codes))
