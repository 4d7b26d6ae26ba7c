"""One measure a function: answers in, one number per person out, NaN for a person without an answer.

Answers are a matrix in original units; each is measured by itself, never together with the others. `found` says who has
one; by default everybody whose row is not entirely missing.
"""

from attain.metrics.connectedness import connected
from attain.metrics.difficulty import changed, max_shift, total_shift
from attain.metrics.evaluation import Evaluation, evaluate
from attain.metrics.faithfulness import local_outlier_factor, nearest_distance, outlier, proximity

__all__ = [
    "Evaluation",
    "changed",
    "connected",
    "evaluate",
    "local_outlier_factor",
    "max_shift",
    "nearest_distance",
    "outlier",
    "proximity",
    "total_shift",
]
