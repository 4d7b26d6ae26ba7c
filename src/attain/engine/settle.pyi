import numpy as np

from attain.engine.rules import Rules

class Settler:
    rows_settled: int
    def __init__(
        self,
        rules: Rules,
        cells: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray],
        states: np.ndarray,
        excused: np.ndarray,
        counted: np.ndarray,
        max_changes: np.ndarray,
    ) -> None: ...
    def settled(
        self, rows: np.ndarray, owners: np.ndarray, guides: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def kept(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray: ...
