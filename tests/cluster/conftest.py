"""Ray and Spark on two cores of this machine; skipped without ATTAIN_CLUSTER, run by `make test-cluster`."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attain.desk.scale import ExplainBatch
from attain.methods import Guarded, NearestUnlike
from attain.testing import people
from tests.cluster.java import provide_java

PEOPLE = 205


FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # of the engines, about themselves
            if not os.environ.get("ATTAIN_CLUSTER"):
                item.add_marker(pytest.mark.skip(reason="needs ATTAIN_CLUSTER; see `make test-cluster`"))


@pytest.fixture(autouse=True, scope="session")
def _importable() -> None:
    """Lets workers import from this folder."""
    sys.path.insert(0, str(FOLDER))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])


@pytest.fixture(scope="session")
def batch() -> ExplainBatch:
    X = people.frame(150)
    y = people.labels(X)
    explainer = NearestUnlike(people.schema(), laws=people.LAWS).fit(X, y)
    return ExplainBatch(explainer, people.linear_model(X, y), target=people.DESIRED, n=2, index="who")


@pytest.fixture(scope="session")
def guarded() -> Guarded:
    X = people.frame(150)
    return Guarded(people.schema(), laws=people.LAWS).fit(X, people.labels(X))


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    people.frame(PEOPLE, seed=7).rename_axis("who").to_parquet(path, row_group_size=30)
    return path


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    provide_java(tmp_path_factory.mktemp("java"))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()
