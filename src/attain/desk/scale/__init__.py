"""Any number of people: one function that answers a batch of them, run by processes of a machine, by Ray or by Spark.

answer = attain.scale.ExplainBatch(explainer, model, target="good")
answer(frame)                                               # a frame of people in, a frame of answers out
attain.scale.explain("people.parquet", "answers/", answer)  # in slices, on all cores; can be stopped and resumed
attain.scale.ray.explain(dataset, answer)
attain.scale.spark.explain(frame, answer)
"""

from attain.desk.scale import ray, spark
from attain.desk.scale.answers import Summary
from attain.desk.scale.batch import ExplainBatch
from attain.desk.scale.local import explain

__all__ = ["ExplainBatch", "Summary", "explain", "ray", "spark"]
