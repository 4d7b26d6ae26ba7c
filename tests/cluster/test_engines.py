"""Ray and Spark give the answers that one process gives, also where a worker is killed."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from attain import Guarded, scale
from attain.core.errors import AttainError
from attain.desk.scale import ExplainBatch
from attain.testing import people

FEW = 40
ORDER = [("who", "ascending"), ("option", "ascending")]


@pytest.fixture(scope="session")
def expected(batch: ExplainBatch, path: Path) -> pa.Table:
    return batch.table(batch.explain(pd.read_parquet(path))).sort_by(ORDER)


def test_a_dataset_of_ray(ray: Any, batch: ExplainBatch, path: Path, expected: pa.Table) -> None:
    dataset = ray.data.read_parquet(str(path), override_num_blocks=3)
    answers = scale.ray.explain(dataset, batch, people_per_batch=50, workers=2)
    assert pa.concat_tables(ray.get(answers.to_arrow_refs())).sort_by(ORDER).equals(expected)
    with pytest.raises(AttainError, match="a dataset has no order"):
        scale.ray.explain(dataset, batch.named_by(None, integers=True))


def test_a_frame_of_spark(spark: Any, batch: ExplainBatch, path: Path, expected: pa.Table) -> None:
    frame = spark.read.parquet(str(path)).repartition(3)
    assert scale.spark.explain(frame, batch).toArrow().sort_by(ORDER).equals(expected)
    with pytest.raises(AttainError, match="a frame has no order"):
        scale.spark.explain(frame, batch.named_by(None, integers=True))


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_answers_are_the_same_where_a_worker_is_killed(
    engine: str, batch: ExplainBatch, guarded: Guarded, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    session = request.getfixturevalue(engine)
    from mortal import Mortal  # type: ignore[import-not-found]

    path, model = tmp_path / "people.parquet", Mortal(batch.model.model, tmp_path / "died")
    X = people.frame(FEW, seed=7).rename_axis("who")
    X.to_parquet(path)
    mortal = ExplainBatch(guarded, model, target=people.DESIRED, index="who")
    expected = mortal.table(mortal.explain(X)).sort_by(ORDER)
    assert not model.died.exists()
    if engine == "ray":
        answers = scale.ray.explain(session.data.read_parquet(str(path)), mortal, people_per_batch=10, workers=2)
        table = pa.concat_tables(session.get(answers.to_arrow_refs()))
    else:
        table = scale.spark.explain(session.read.parquet(str(path)), mortal).toArrow()
    assert model.died.exists()
    assert table.sort_by(ORDER).equals(expected)
