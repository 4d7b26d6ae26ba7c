from typing import Any

import numpy as np

class Relations:
    columns: int
    number: int
    def __init__(self, *given: Any) -> None: ...
    def offs(self, rows: np.ndarray) -> np.ndarray: ...
