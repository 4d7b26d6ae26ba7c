"""Ray and Spark give the bytes that one process gives, also where a worker is killed."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from attain import Guarded, scale
from attain.core.errors import AttainError
from attain.scale import ExplainBatch
from attain.testing import people

FEW = 40
ORDER = [("who", "ascending"), ("option", "ascending")]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


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
def test_files_are_the_same_where_a_worker_is_killed(
    engine: str, batch: ExplainBatch, guarded: Guarded, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(engine)
    from mortal import Mortal  # type: ignore[import-not-found]

    path, model = tmp_path / "people.parquet", Mortal(batch.model.model, tmp_path / "died")
    people.frame(FEW, seed=7).rename_axis("who").to_parquet(path)
    mortal = ExplainBatch(guarded, model, target=people.DESIRED)
    scale.explain(path, tmp_path / "local", mortal, people_per_file=10, workers=1)
    assert not model.died.exists()
    scale.explain(path, tmp_path / engine, mortal, people_per_file=10, workers=2, engine=engine)
    assert model.died.exists()
    assert contents(tmp_path / engine) == contents(tmp_path / "local")
