"""Batches of people answered by Ray Data, on one machine or a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attain.core.errors import AttainError, MissingExtraError
from attain.scale.batch import ExplainBatch, arrow
from attain.scale.shards import Summary
from attain.scale.slices import PEOPLE_PER_FILE, SliceWork
from attain.scale.workers import pickled

if TYPE_CHECKING:
    import pyarrow
    from ray.data import Dataset

_MOST_BLOCKS = 10_000
"""The most tasks that slices are divided into."""


def explain(
    dataset: Dataset, batch: ExplainBatch, *, people_per_batch: int = PEOPLE_PER_FILE, workers: int | None = None
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
    if batch.index is None:
        raise AttainError("a dataset has no order: name the column with people's names, ExplainBatch(..., index=...)")
    schema = dataset.schema()
    types = dict(zip(schema.names, schema.types, strict=True))
    integers = batch.index in types and arrow().types.is_integer(types[batch.index])
    # one worker at least, so that reading the dataset has room beside them
    pool = {"min_size": 1, "max_size": workers or _cpus()}
    return _mapped(dataset, _Answers, batch.named_by(batch.index, integers=integers), people_per_batch, pool)


def answered(work: SliceWork, numbers: Sequence[int], address: str | None, workers: int | None) -> Iterator[Summary]:
    """The summaries of slices, in any order; each is read and written by the worker that answers it."""
    ray = _connected(address, workers)
    slices = ray.data.from_items(
        [{"number": number} for number in numbers], override_num_blocks=min(len(numbers), _MOST_BLOCKS)
    )
    for row in _mapped(slices, _Slices, work, 1, {"size": workers or _cpus()}).iter_rows():
        yield Summary.read_text(row["summary"])


def _mapped(dataset: Dataset, worker: type, state: Any, batch_size: int, pool: dict[str, int]) -> Dataset:
    return dataset.map_batches(
        worker,
        batch_size=batch_size,
        batch_format="pyarrow",
        # as bytes: arrays that Ray itself sends are read-only, which compiled kernels do not take
        fn_constructor_args=(pickled(state),),
        compute=_ray().data.ActorPoolStrategy(**pool),
        num_cpus=1,
    )


def _cpus() -> int:
    return int(_ray().cluster_resources()["CPU"])


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtraError("this needs Ray: pip install 'attain[ray]'") from None
    return ray


def _connected(address: str | None, workers: int | None) -> Any:
    ray = _ray()
    if not ray.is_initialized():
        local = {} if address else {"num_cpus": workers, "include_dashboard": False}
        ray.init(address=address, log_to_driver=False, **local)
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray


class _Answers:
    """A worker that answers batches."""

    def __init__(self, state: bytes) -> None:
        self.batch: ExplainBatch = pickle.loads(state)
        self.batch.warm_up()

    def __call__(self, people: pyarrow.Table) -> pyarrow.Table:
        answers: pyarrow.Table = self.batch(people)
        return answers


class _Slices:
    """A worker that answers slices of files."""

    def __init__(self, state: bytes) -> None:
        self.work: SliceWork = pickle.loads(state)
        self.work.batch.warm_up()

    def __call__(self, slices: pyarrow.Table) -> pyarrow.Table:
        done = [self.work(number).text for number in slices["number"].to_pylist()]
        return arrow().table({"summary": done})
