"""Batches of people answered by Ray Data, on one machine or a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING

from attain.core.errors import AttainError, MissingExtraError
from attain.desk.scale.batch import PEOPLE_AT_ONCE, ExplainBatch, arrow, pickled

if TYPE_CHECKING:
    import pyarrow
    from ray.data import Dataset


def explain(
    dataset: Dataset, batch: ExplainBatch, *, people_per_batch: int = PEOPLE_AT_ONCE, workers: int | None = None
) -> Dataset:
    """The answers to the people of a dataset, as a dataset with the columns `batch.columns`.

    `batch` must name the column with people's names as `index`, because a dataset has no order. Explainer and model are
    sent to each worker once. A worker that fails is started again by Ray, and its batch is answered again.

    Parameters
    ----------
    dataset
        People, one row each; columns that the explainer does not know are ignored.
    batch
        Explainer, model and request.
    people_per_batch
        How many people a worker answers at once; the answers do not depend on it.
    workers
        The number of workers, one CPU each; by default as many as the cluster has.
    """
    try:
        import ray
        from ray.data import ActorPoolStrategy
    except ImportError:
        raise MissingExtraError("this needs Ray: pip install 'attain[ray]'") from None
    if batch.index is None:
        raise AttainError("a dataset has no order: name the column with people's names, ExplainBatch(..., index=...)")
    schema = dataset.schema()
    types = dict(zip(schema.names, schema.types, strict=True))
    integers = batch.index in types and arrow().types.is_integer(types[batch.index])
    resources: Callable[[], dict[str, float]] = ray.cluster_resources  # Ray does not annotate it
    return dataset.map_batches(
        _Answers,
        batch_size=people_per_batch,
        batch_format="pyarrow",
        # as bytes: arrays that Ray itself sends are read-only
        fn_constructor_args=(pickled(batch.named_by(batch.index, integers=integers)),),
        # at least one worker, so that reading the dataset has room
        compute=ActorPoolStrategy(min_size=1, max_size=workers or int(resources()["CPU"])),
        num_cpus=1,
    )


class _Answers:
    """A worker that answers batches."""

    def __init__(self, state: bytes) -> None:
        self.batch: ExplainBatch = pickle.loads(state)

    def __call__(self, people: pyarrow.Table) -> pyarrow.Table:
        answers: pyarrow.Table = self.batch(people)
        return answers
