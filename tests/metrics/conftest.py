"""Made-up people, and a model of them, for evaluations and comparisons."""

from typing import Any

import pandas as pd
import pytest

from attain.testing import people

TRAIN, TEST = people.frame(150), people.frame(80, seed=7)
LABELS, TEST_LABELS = people.labels(TRAIN), people.labels(TEST)


@pytest.fixture(scope="session")
def model() -> Any:
    return people.linear_model(TRAIN, LABELS)


def asked(model: Any, refused: int, granted: int) -> pd.DataFrame:
    """Some people of each decision."""
    desired = model.predict(TEST) == people.DESIRED
    return pd.concat((TEST[~desired].iloc[:refused], TEST[desired].iloc[:granted]))
