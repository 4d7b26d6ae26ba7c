"""A small table of mixed columns, and the outcome that models of these tests learn."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attain.schema import Feature, Schema
from attain.tables import Table

SCHEMA = Schema(
    (
        Feature("income", "real"),
        Feature("visits", "count"),
        Feature("job", "categorical", levels=("clerk", "nurse", "pilot")),
    )
)
NUMBERS = Schema((Feature("income", "real"), Feature("visits", "count")))


def people(seed: int = 0, size: int = 240) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "job": random.choice(["clerk", "nurse", "pilot"], size),
            "income": np.round(random.normal(3, 1, size), 4),
            "visits": random.integers(0, 9, size),
        }
    )


def outcome(frame: pd.DataFrame) -> np.ndarray:
    """Two classes with noise, so that no probability is 0 or 1."""
    noise = np.random.default_rng(7).normal(0, 0.8, len(frame))
    return np.where(frame["income"] + (frame["job"] == "pilot") - 0.2 * frame["visits"] + noise > 2.4, "good", "bad")


@pytest.fixture
def mixed() -> SimpleNamespace:
    """A frame whose columns are in another order than the schema's, as a table, with its outcome."""
    frame = people()
    table = Table.read(frame, SCHEMA)
    return SimpleNamespace(
        frame=frame, y=outcome(frame), table=table, layout=table.layout, rows=table.values, probe=table.values[:60]
    )


@pytest.fixture
def numbers() -> SimpleNamespace:
    """The columns of numbers alone; `array` is in the frame's order, which is not the schema's."""
    frame = people()[["visits", "income"]].astype(float)
    table = Table.read(frame, NUMBERS)
    return SimpleNamespace(
        frame=frame,
        array=frame.to_numpy(),
        y=outcome(people()),
        three=np.digitize(frame["income"], [2.5, 3.5]),
        table=table,
        layout=table.layout,
        rows=table.values,
        probe=table.values[:60],
    )
