import numpy as np
from numpy.typing import ArrayLike

from attain.engine.score import States, Sums

class TreeSums(Sums):
    def __init__(
        self,
        states: States,
        refused: np.ndarray,
        nodes: tuple[ArrayLike, ArrayLike, ArrayLike],
        trees: tuple[ArrayLike, ArrayLike],
        leaves: np.ndarray,
        start: np.ndarray,
        single: bool,
    ) -> None: ...
    def leaves_of(self, rows: np.ndarray) -> np.ndarray: ...
    def shapley(self, rows: np.ndarray, others: np.ndarray, weights: np.ndarray) -> np.ndarray: ...
