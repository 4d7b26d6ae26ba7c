"""One measure a function: answers in, one number per person out, NaN for a person without an answer.

Answers are a matrix in original units; each is measured by itself, never together with the others. `found` says who has
one; by default everybody whose row is not entirely missing. Two rooms differ: `likeness` has figures of all answers
together, `diversity` of a person's options.
"""

from attain.metrics.comparison import compare, holm
from attain.metrics.density import LogDensity, density_rank, log_density, log_density_with_error
from attain.metrics.distances import (
    distance,
    gower_distance,
    heom_distance,
    latent_distance,
    mad_distance,
    range_distance,
)
from attain.metrics.evaluation import Evaluation, evaluate
from attain.metrics.groups import RecourseGap, bands, recourse_gap
from attain.metrics.intervals import Interval, bootstrap_interval, mean_intervals, share_interval, wilson_interval
from attain.metrics.justification import justification_score, justified
from attain.metrics.likeness import correlation, mean_correlation, median_spread, spread
from attain.metrics.neighbourhood import (
    held_out_outlier,
    held_out_outlier_factor,
    held_out_reference,
    relative_distance,
    y_nearest,
)
from attain.metrics.privacy import Copied, closest_training_distance, copies
from attain.metrics.robustness import retrained, valid_after_inexact_execution, valid_after_retraining
from attain.metrics.two_sample import TwoSample, two_sample_test, weighted_auc
from attain.metrics.validity import redundant, success, type_valid, valid, violations
from attain.population.connectedness import connected, connected_over, connecting_distance, in_largest_component
from attain.population.difficulty import changed, max_shift, total_shift
from attain.population.diversity import count_diversity, determinant_diversity, distinct_changes, mean_pairwise_distance
from attain.population.faithfulness import local_outlier_factor, nearest_distance, outlier, proximity

__all__ = [
    "Copied",
    "Evaluation",
    "Interval",
    "LogDensity",
    "RecourseGap",
    "TwoSample",
    "bands",
    "bootstrap_interval",
    "changed",
    "closest_training_distance",
    "compare",
    "connected",
    "connected_over",
    "connecting_distance",
    "copies",
    "correlation",
    "count_diversity",
    "density_rank",
    "determinant_diversity",
    "distance",
    "distinct_changes",
    "evaluate",
    "gower_distance",
    "held_out_outlier",
    "held_out_outlier_factor",
    "held_out_reference",
    "heom_distance",
    "holm",
    "in_largest_component",
    "justification_score",
    "justified",
    "latent_distance",
    "local_outlier_factor",
    "log_density",
    "log_density_with_error",
    "mad_distance",
    "max_shift",
    "mean_correlation",
    "mean_intervals",
    "mean_pairwise_distance",
    "median_spread",
    "nearest_distance",
    "outlier",
    "proximity",
    "range_distance",
    "recourse_gap",
    "redundant",
    "relative_distance",
    "retrained",
    "share_interval",
    "spread",
    "success",
    "total_shift",
    "two_sample_test",
    "type_valid",
    "valid",
    "valid_after_inexact_execution",
    "valid_after_retraining",
    "violations",
    "weighted_auc",
    "wilson_interval",
    "y_nearest",
]
