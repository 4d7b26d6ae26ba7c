import numpy as np

from attain.engine.sums import Sums

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
