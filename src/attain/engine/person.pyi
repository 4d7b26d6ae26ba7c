from collections.abc import Mapping

import numpy as np

from attain.engine.price import Price
from attain.engine.score import Score
from attain.engine.settle import Settler
from attain.engine.typical import Crowd, Relations

class People:
    versions_measured: int
    def __init__(
        self,
        settler: Settler,
        price: Price,
        guard: tuple[Crowd, Crowd, np.ndarray],
        score: Score | None,
        relations: Relations,
        region: Mapping[str, np.ndarray],
        columns: Mapping[str, np.ndarray],
        settings: Mapping[str, float],
    ) -> None: ...

class Person:
    owner: int
    asked: int
    level: int
