from typing import Any

import numpy as np

class Space:
    columns: int
    cells: int
    states: int
    def __init__(
        self,
        stated: np.ndarray,
        first: np.ndarray,
        state: np.ndarray,
        scaled: np.ndarray,
        mean: np.ndarray,
        scale: np.ndarray,
        complete: np.ndarray,
        codes: np.ndarray,
        first_code: np.ndarray,
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
    def __init__(self, *given: Any) -> None: ...
    def offs(self, rows: np.ndarray) -> np.ndarray: ...
