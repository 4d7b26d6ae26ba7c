"""Any number of people: one function that answers a batch of them, run by processes of a machine, by Ray or by Spark.

answer = attain.scale.ExplainBatch(explainer, model, target="good")
answer(frame)                                               # a frame of people in, a frame of answers out
attain.scale.explain("people.parquet", "answers/", answer)  # in slices, on all cores; can be stopped and resumed
attain.scale.ray.explain(dataset, answer)
attain.scale.spark.explain(frame, answer)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attain.scale import ray, spark
    from attain.scale.batch import ExplainBatch
    from attain.scale.local import explain
    from attain.scale.shards import Summary

__all__ = ["ExplainBatch", "Summary", "explain", "ray", "spark"]

_HOMES = {"ExplainBatch": "batch", "Summary": "shards", "explain": "local"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'attain.scale' has no attribute {name!r}")
    home = import_module(f"attain.scale.{_HOMES.get(name, name)}")
    return getattr(home, name) if name in _HOMES else home
