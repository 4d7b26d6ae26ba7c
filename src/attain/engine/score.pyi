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

class Score:
    columns: int
    def leads(self, rows: np.ndarray) -> np.ndarray: ...
    def leads_along(self, rows: np.ndarray, column: int, values: np.ndarray) -> np.ndarray: ...

class SumScore(Score):
    sums: Sums
    scale: float
    least: float
    target: int
    weight: float
    def __init__(self, sums: Sums, scale: float, least: float, target: int = -1, weight: float = 0.0) -> None: ...

class LeastScore(Score):
    one: Score
    other: Score
    def __init__(self, one: Score, other: Score) -> None: ...
