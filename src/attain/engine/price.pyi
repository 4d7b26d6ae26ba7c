import numpy as np

class Price:
    columns: int
    def __init__(
        self,
        points: np.ndarray,
        shares: np.ndarray,
        first: np.ndarray,
        codes: np.ndarray,
        first_code: np.ndarray,
        priced: np.ndarray,
        counted: np.ndarray,
        max_shift_weight: float,
        change_weight: float,
    ) -> None: ...
    def ranks(self, rows: np.ndarray) -> np.ndarray: ...
    def costs(self, rows: np.ndarray, own: np.ndarray, weights: np.ndarray) -> np.ndarray: ...
