from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

class Space:
    columns: int
    cells: int
    states: int
    def __init__(
        self,
        states: tuple[np.ndarray, np.ndarray, np.ndarray],
        numbers: tuple[np.ndarray, np.ndarray, np.ndarray],
        complete: np.ndarray,
        codes: tuple[np.ndarray, np.ndarray],
    ) -> None: ...
    def points(self, rows: np.ndarray) -> np.ndarray: ...

class Crowd:
    space: Space
    rows: int
    sizes: int
    widest: int
    def __init__(
        self, space: Space, values: np.ndarray, points: np.ndarray, reaches: np.ndarray, neighbours: np.ndarray
    ) -> None: ...

class Relations:
    columns: int
    number: int
    def __init__(
        self,
        curves: Sequence[ArrayLike],
        terms: ArrayLike,
        subjects: tuple[ArrayLike, ArrayLike],
        constant: ArrayLike,
        scale: ArrayLike,
    ) -> None: ...
    def offs(self, rows: np.ndarray) -> np.ndarray: ...
