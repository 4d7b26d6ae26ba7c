import numpy as np

OPERATIONS: dict[str, int]
INSTRUCTION: np.dtype[np.void]
DERIVATION: np.dtype[np.void]
RULE: np.dtype[np.void]

class Rules:
    def __init__(
        self,
        column: np.ndarray,
        code: np.ndarray,
        derivations: np.ndarray,
        rules: np.ndarray,
        lists: np.ndarray,
        numbers: np.ndarray,
        depth: int,
    ) -> None: ...
    def values(self, rows: np.ndarray, spans: np.ndarray) -> np.ndarray: ...
    def computed(self, rows: np.ndarray, factuals: np.ndarray, rounds: bool) -> np.ndarray: ...
