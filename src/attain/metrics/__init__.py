"""Measures of answers: `evaluate` takes many at once, and each is a function of its own.

A function takes the answers as a matrix in original units and gives one number per row, NaN without an answer. Each
answer is measured by itself. `found` marks the rows that have one; by default those that are not entirely missing. Two
modules differ: `likeness` and `two_sample` have figures of all answers together.
"""

from attain.core.groups import bands
from attain.core.intervals import Interval, mean_interval, mean_intervals, share_interval
from attain.metrics import measures
from attain.metrics.capacity import Capacity, capacity
from attain.metrics.certificate import certified_distance
from attain.metrics.comparison import MethodComparison, compare_methods
from attain.metrics.context import AnswerMatrix, EvaluationContext
from attain.metrics.density import log_density
from attain.metrics.distances import distance, gower_distance, latent_distance, mad_distance
from attain.metrics.evaluation import Background, Evaluation, evaluate
from attain.metrics.groups import RecourseGap, recourse_gap
from attain.metrics.judge import Judged, judge
from attain.metrics.justification import justified
from attain.metrics.laws import possible
from attain.metrics.likeness import correlation, spread
from attain.metrics.measures import DEFAULT, Measure, register
from attain.metrics.necessity import necessity_and_sufficiency
from attain.metrics.neighbourhood import y_nearest
from attain.metrics.paired import holm, paired_comparison
from attain.metrics.privacy import Copied, closest_training_distance, copies
from attain.metrics.robustness import retrained, valid_after_inexact_execution, valid_after_retraining
from attain.metrics.two_sample import TwoSample, two_sample_test
from attain.metrics.validity import redundant, type_valid, valid, violations
from attain.population.connectedness import connected, connected_over, connecting_distance, in_largest_component
from attain.population.difficulty import changed, max_shift, total_shift
from attain.population.diversity import mean_pairwise_distance
from attain.population.faithfulness import local_outlier_factor, nearest_distance, outlier, proximity

__all__ = [
    "DEFAULT",
    "AnswerMatrix",
    "Background",
    "Capacity",
    "Copied",
    "Evaluation",
    "EvaluationContext",
    "Interval",
    "Judged",
    "Measure",
    "MethodComparison",
    "RecourseGap",
    "TwoSample",
    "bands",
    "capacity",
    "certified_distance",
    "changed",
    "closest_training_distance",
    "compare_methods",
    "connected",
    "connected_over",
    "connecting_distance",
    "copies",
    "correlation",
    "distance",
    "evaluate",
    "gower_distance",
    "holm",
    "in_largest_component",
    "judge",
    "justified",
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
    "spread",
    "total_shift",
    "two_sample_test",
    "type_valid",
    "valid",
    "valid_after_inexact_execution",
    "valid_after_retraining",
    "violations",
    "y_nearest",
]
