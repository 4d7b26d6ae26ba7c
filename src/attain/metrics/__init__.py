"""Measures of answers: `evaluate` takes many at once, and each is also a function.

A function takes the answers as a matrix in original units and gives one number per row, NaN without an answer. Each
answer is measured by itself. `found` marks the rows that have one; by default those that are not entirely missing.
"""

from attain.core.intervals import bands
from attain.metrics import measures
from attain.metrics.comparison import MethodComparison, compare_methods
from attain.metrics.differences import RecourseGap, holm, paired_comparison, recourse_gap
from attain.metrics.evaluation import Evaluation, RealPeople, evaluate
from attain.metrics.laws import possible
from attain.metrics.measures import DEFAULT, AnswerMatrix, EvaluationContext, Measure, register
from attain.metrics.validity import (
    levers,
    redundant,
    retrained,
    type_valid,
    valid,
    valid_after_inexact_execution,
    valid_after_retraining,
    violations,
)
from attain.population.faithfulness import connected, local_outlier_factor, nearest_distance, outlier, proximity
from attain.population.measuring import changed, copies, distance, max_shift, mean_pairwise_distance, total_shift

__all__ = [
    "DEFAULT",
    "AnswerMatrix",
    "Evaluation",
    "EvaluationContext",
    "Measure",
    "MethodComparison",
    "RealPeople",
    "RecourseGap",
    "bands",
    "changed",
    "compare_methods",
    "connected",
    "copies",
    "distance",
    "evaluate",
    "holm",
    "levers",
    "local_outlier_factor",
    "max_shift",
    "mean_pairwise_distance",
    "measures",
    "nearest_distance",
    "outlier",
    "paired_comparison",
    "possible",
    "proximity",
    "recourse_gap",
    "redundant",
    "register",
    "retrained",
    "total_shift",
    "type_valid",
    "valid",
    "valid_after_inexact_execution",
    "valid_after_retraining",
    "violations",
]
