from collections.abc import Sequence
from typing import Any

import numpy as np

class States:
    columns: int
    numeric: Sequence[int]
    first: Sequence[int]
    codes: Sequence[float]
    def __init__(self, numeric: Any, first: np.ndarray, codes: np.ndarray) -> None: ...
    def of_column(self, column: int, cells: np.ndarray) -> np.ndarray: ...

class Sums:
    states: States
    width: int
    def __call__(self, rows: np.ndarray) -> np.ndarray: ...

class LinearSums(Sums):
    def __init__(self, states: States, constant: np.ndarray, slopes: np.ndarray, terms: np.ndarray) -> None: ...
