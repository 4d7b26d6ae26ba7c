"""Batches of people answered by Spark, on one machine or a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from attain.core.errors import AttainError
from attain.desk.scale.batch import ExplainBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    sent = frame.sparkSession.sparkContext.broadcast(batch)

    def answered(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield from map(sent.value, frames)

    return frame.mapInPandas(answered, columns)
