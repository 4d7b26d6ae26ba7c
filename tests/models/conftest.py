"""A small table of mixed columns, and the outcome that models of these tests learn."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain.models import Goal
from attain.schema import Feature, Schema
from attain.tables import Table

JOBS = ("clerk", "nurse", "pilot")
SCHEMA = Schema((Feature("income", "real"), Feature("visits", "count"), Feature("job", "categorical", levels=JOBS)))
NUMBERS = Schema(SCHEMA.features[:2])


def people(seed: int = 0, size: int = 240) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    job, income = random.choice(JOBS, size), np.round(random.normal(3, 1, size), 4)
    return pd.DataFrame({"job": job, "income": income, "visits": random.integers(0, 9, size)})


def outcome(frame: pd.DataFrame) -> np.ndarray:
    """Two classes with noise, so that no probability is 0 or 1."""
    noise = np.random.default_rng(7).normal(0, 0.8, len(frame))
    return np.where(frame["income"] + (frame["job"] == "pilot") - 0.2 * frame["visits"] + noise > 2.4, "good", "bad")


@dataclass
class Data:
    """A frame whose columns are in another order than the schema's, as a table; outcomes of two and three classes."""

    frame: Any
    schema: Schema = SCHEMA

    def __post_init__(self) -> None:
        self.table = Table.read(self.frame, self.schema)
        self.layout, self.rows, self.probe = self.table.layout, self.table.values, self.table.values[:60]
        self.y, self.three = outcome(people()), np.digitize(people()["income"], [2.5, 3.5])

    @property
    def array(self) -> np.ndarray:
        """The cells in the frame's order, which is not the schema's."""
        return self.frame.to_numpy()

    def goal(self, model: Any, target: Any = "good", probe: Any = None, **asked: Any) -> Goal:
        return Goal(model, self.layout, target=target, probe=self.probe if probe is None else probe, **asked)


@pytest.fixture
def mixed() -> Data:
    return Data(people())


@pytest.fixture
def numbers() -> Data:
    return Data(people()[["visits", "income"]].astype(float), NUMBERS)


def check_lead(
    goal: Goal, rows: np.ndarray, probability: np.ndarray, decided: Any = None, k: int = 1, atol: float = 0.0
) -> None:
    """Asserts that rows are scored by class k's lead in the probabilities, (n, K) or (n,), and which meet the goal."""
    values = probability.astype(np.float64)
    values = np.column_stack((1 - values, values)) if values.ndim == 1 else values
    expected = values[:, k] - np.delete(values, k, axis=1).max(axis=1)
    for judged in (goal.score_rows(rows), goal.confirm_rows(rows)):
        np.testing.assert_allclose(judged.score, expected, rtol=0, atol=atol)
        assert (judged.met.dtype, judged.score.dtype) == (np.bool_, np.float64)
        if decided is not None:
            np.testing.assert_array_equal(judged.met, decided)
