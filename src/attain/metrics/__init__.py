"""Measures of answers: `evaluate` takes many at once, and each is a function of its own.

A function takes the answers as a matrix in original units and gives one number per row, NaN without an answer. Each
answer is measured by itself. `found` marks the rows that have one; by default those that are not entirely missing.
"""

from attain.core.groups import bands
from attain.core.intervals import Interval, mean_interval, mean_intervals, share_interval
from attain.metrics import measures
from attain.metrics.comparison import MethodComparison, compare_methods
from attain.metrics.context import AnswerMatrix, EvaluationContext
from attain.metrics.density import log_density
from attain.metrics.distances import distance, gower_distance, latent_distance, mad_distance
from attain.metrics.evaluation import Background, Evaluation, evaluate
from attain.metrics.groups import RecourseGap, recourse_gap
from attain.metrics.laws import possible
from attain.metrics.measures import DEFAULT, Measure, register
from attain.metrics.necessity import necessity_and_sufficiency
from attain.metrics.paired import holm, paired_comparison
from attain.metrics.robustness import retrained, valid_after_inexact_execution, valid_after_retraining
from attain.metrics.training_rows import Copied, closest_training_distance, copies, y_nearest
from attain.metrics.validity import redundant, type_valid, valid, violations
from attain.population.connectedness import connected, connected_over, connecting_distance, in_largest_component
from attain.population.difficulty import changed, max_shift, total_shift
from attain.population.diversity import mean_pairwise_distance
from attain.population.faithfulness import local_outlier_factor, nearest_distance, outlier, proximity

__all__ = [
    "DEFAULT",
    "AnswerMatrix",
    "Background",
    "Copied",
    "Evaluation",
    "EvaluationContext",
    "Interval",
    "Measure",
    "MethodComparison",
    "RecourseGap",
    "bands",
    "changed",
    "closest_training_distance",
    "compare_methods",
    "connected",
    "connected_over",
    "connecting_distance",
    "copies",
    "distance",
    "evaluate",
    "gower_distance",
    "holm",
    "in_largest_component",
    "latent_distance",
    "local_outlier_factor",
    "log_density",
    "mad_distance",
    "max_shift",
    "mean_interval",
    "mean_intervals",
    "mean_pairwise_distance",
    "measures",
    "nearest_distance",
    "necessity_and_sufficiency",
    "outlier",
    "paired_comparison",
    "possible",
    "proximity",
    "recourse_gap",
    "redundant",
    "register",
    "retrained",
    "share_interval",
    "total_shift",
    "type_valid",
    "valid",
    "valid_after_inexact_execution",
    "valid_after_retraining",
    "violations",
    "y_nearest",
]
