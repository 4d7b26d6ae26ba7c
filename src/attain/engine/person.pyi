from collections.abc import Mapping

import numpy as np

from attain.engine.price import Price
from attain.engine.score import Score
from attain.engine.settle import Settler
from attain.engine.typical import Crowd, Relations

class People:
    settler: Settler
    price: Price
    crowd: Crowd
    known: Crowd
    score: Score | None
    columns: int
    cells: int
    most_starts: int
    def __init__(
        self,
        settler: Settler,
        price: Price,
        crowd: Crowd,
        known: Crowd,
        score: Score | None,
        relations: Relations,
        together: np.ndarray,
        region: Mapping[str, np.ndarray],
        free: np.ndarray,
        grid: np.ndarray,
        values: np.ndarray,
        ordered: np.ndarray,
        limits: np.ndarray,
        settings: Mapping[str, float],
    ) -> None: ...

class Person:
    people: People
    owner: int
    asked: int
    level: int
    found: int
    def __init__(self, people: People) -> None: ...
