"""Batches of people answered by Spark, on one machine or a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from attain.core.errors import AttainError, MissingExtraError
from attain.scale.batch import ExplainBatch
from attain.scale.shards import Summary
from attain.scale.slices import SliceWork

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES = {"int64": "bigint", "string": "string", "double": "double", "bool": "boolean"}
"""What Spark calls the types of answers."""
_INTEGERS = {"tinyint", "smallint", "int", "bigint"}


def explain(frame: DataFrame, batch: ExplainBatch) -> DataFrame:
    """The answers to the people of a frame, as a frame with the columns `batch.columns`, by `mapInPandas`.

    `batch` must name the column with people's names as `index`, because a frame has no order. Explainer and model are
    broadcast: each Python worker reads them once. A task that fails is repeated by Spark.

    Parameters
    ----------
    frame
        People, one row each; columns that the explainer does not know are ignored.
    batch
        Explainer, model and request.
    """
    if batch.index is None:
        raise AttainError("a frame has no order: name the column with people's names, ExplainBatch(..., index=...)")
    batch = batch.named_by(batch.index, integers=dict(frame.dtypes).get(batch.index) in _INTEGERS)
    columns = ", ".join(f"`{field.name.replace('`', '``')}` {_TYPES[str(field.type)]}" for field in batch.columns)
    return frame.mapInPandas(_mapping(frame.sparkSession, batch, _answers), columns)


def answered(work: SliceWork, numbers: Sequence[int], address: str | None, workers: int | None) -> Iterator[Summary]:
    """The summaries of slices, in any order; each is read and written by the worker that answers it."""
    session = _session(address, workers)
    slices = session.createDataFrame([(number,) for number in numbers], "number bigint").repartition(
        len(numbers), "number"
    )
    for row in slices.mapInPandas(_mapping(session, work, _summaries), "summary string").toLocalIterator():
        yield Summary.read_text(row["summary"])


def _mapping(
    session: SparkSession, state: Any, answer: Callable[[Any, pd.DataFrame], pd.DataFrame]
) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """A function over the frames of a partition, which finds `state` in its worker."""
    sent = session.sparkContext.broadcast(state)

    def mapped(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield answer(sent.value, frame)

    return mapped


def _answers(batch: ExplainBatch, people: pd.DataFrame) -> pd.DataFrame:
    answers: pd.DataFrame = batch(people)
    return answers


def _summaries(work: SliceWork, slices: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"summary": [work(number).text for number in slices["number"].tolist()]}, dtype="str")


def _session(address: str | None, workers: int | None) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("this needs Spark: pip install 'attain[spark]'") from None
    if address is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # or else workers run any Python that they find
    builder = SparkSession.builder.appName("attain").master(address or f"local[{workers or '*'},4]")
    return builder.config("spark.ui.enabled", "false").getOrCreate()
