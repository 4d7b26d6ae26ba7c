"""A classifier that ends its process; workers of both engines import it."""

import os
from pathlib import Path
from typing import Any

import pandas as pd


class Mortal:
    """A classifier that ends its process, once."""

    def __init__(self, model: Any, died: Path) -> None:
        self.model, self.died, self.alive = model, died, os.getpid()
        self.classes_, self.feature_names_in_ = model.classes_, model.feature_names_in_

    def predict_proba(self, frame: pd.DataFrame) -> Any:
        if len(frame) < 100 and os.getpid() != self.alive and not self.died.exists():
            self.died.touch()
            os.kill(os.getpid(), 9)
        return self.model.predict_proba(frame)

    def predict(self, frame: pd.DataFrame) -> Any:
        return self.model.predict(frame)
