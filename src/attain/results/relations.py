"""What relations say of each option: which changes follow others, and what contradicts itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Related(NamedTuple):
    """What relations say of m options.

    Attributes
    ----------
    follows
        Which changes are there to keep a relation with others, (m, d).
    contradictions
        What contradicts itself, in words: “mean area does not go with mean radius”; empty where nothing does, (m,).
    """

    follows: np.ndarray
    contradictions: tuple[str, ...]

    def state(self) -> dict[str, Any]:
        """For JSON: the positions of the columns that follow, and the words, for each option."""
        return {
            "follows": [np.flatnonzero(row).tolist() for row in self.follows],
            "contradictions": list(self.contradictions),
        }
