"""A fitted explainer, a model and people in files, for all tests of this folder."""

from pathlib import Path
from typing import Any

import pytest

from attain.desk.scale import ExplainBatch
from attain.methods import NearestUnlike
from attain.testing import people


@pytest.fixture(scope="session")
def classifier() -> Any:
    X = people.frame(150)
    return people.linear_model(X, people.labels(X))


@pytest.fixture(scope="session")
def batch(classifier: Any) -> ExplainBatch:
    X = people.frame(150)
    explainer = NearestUnlike(people.schema(), laws=people.LAWS).fit(X, people.labels(X))
    return ExplainBatch(explainer, classifier, target=people.DESIRED, n=2)


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 205 people as CSV and Parquet, named by the column `who`, and in three Parquet files."""
    folder = tmp_path_factory.mktemp("people")
    X = people.frame(205, seed=7)
    X.to_csv(folder / "people.csv", index_label="who")
    X.rename_axis("who").to_parquet(folder / "people.parquet", row_group_size=30)
    (folder / "parts").mkdir()
    for k, (start, stop) in enumerate(((0, 100), (100, 103), (103, 205))):
        X.rename_axis("who").iloc[start:stop].to_parquet(folder / "parts" / f"{k}.parquet")
    return folder
