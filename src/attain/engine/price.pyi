import numpy as np

class Price:
    columns: int
    def __init__(
        self,
        ranks: tuple[np.ndarray, np.ndarray, np.ndarray],
        codes: tuple[np.ndarray, np.ndarray],
        priced: np.ndarray,
        counted: np.ndarray,
        max_shift_weight: float,
        change_weight: float,
    ) -> None: ...
    def ranks(self, rows: np.ndarray) -> np.ndarray: ...
    def costs(self, rows: np.ndarray, own: np.ndarray, weights: np.ndarray) -> np.ndarray: ...
