import numpy as np

from attain.engine.rules import Rules

class Settler:
    def __init__(
        self,
        rules: Rules,
        factuals: np.ndarray,
        start: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        frozen: np.ndarray,
        states: np.ndarray,
        excused: np.ndarray,
        counted: np.ndarray,
        max_changes: np.ndarray,
    ) -> None: ...
    def settled(
        self, rows: np.ndarray, owners: np.ndarray, guides: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def kept(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray: ...
    def unlawful(self, rows: np.ndarray, owners: np.ndarray) -> np.ndarray: ...
