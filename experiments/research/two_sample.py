"""Whether a classifier can tell answers from real rows of the desired class with the same immutables.

Answers keep the immutable columns of refused rows, whose distribution differs from that of accepted rows. A plain
two-sample test would find that difference and blame the answers. So real rows are weighted to have the answers'
immutables, and what the weighting leaves is reported beside the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.core.intervals import CONFIDENCE, NOTHING, RESAMPLES, Interval, quantile_interval, resampled, times_drawn
from attain.metrics import Evaluation
from attain.population.measuring import answered
from attain.population.space import MeasuringSpace

LARGEST_WEIGHT: Final = 20.0
_FARTHEST: Final = 30.0
"""Log odds are clipped here, so that the odds do not overflow."""
_DRAWN_AT_ONCE: Final = 50
_PER_COEFFICIENT: Final = 10
"""Rows on either side per coefficient from which on the propensity model has squares and products."""


@dataclass(frozen=True)
class TwoSample:
    """How well answers can be told from real rows.

    Attributes
    ----------
    auc
        The probability that a classifier ranks an answer above a real row with the answers' immutables: .5 if nothing
        tells them apart, 1 if everything does. NaN if there are too few of either.
    interval
        Its bootstrap interval over rows, with the classifiers as fitted. With fewer than 100 answers it is too narrow,
        because other rows would give other classifiers.
    floor
        The AUC of the immutables alone after weighting: near .5 if the weighting worked. What `auc` has beyond it is
        due to the answers.
    effective_size
        The effective number of real rows after weighting, (Σw)² / Σw²; small if few real rows have immutables like the
        answers'.
    n_answers, n_real
        The number of rows compared.
    """

    auc: float
    interval: Interval
    floor: float
    effective_size: float
    n_answers: int
    n_real: int

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"AUC {self.auc:.3f} ({low:.3f} to {high:.3f}), by immutables alone {self.floor:.3f}; {self.n_answers} "
            f"answers against {self.n_real} real rows, {self.effective_size:.0f} effective ones after weighting"
        )


def evaluated(evaluation: Evaluation, **options: Any) -> TwoSample:
    """The test of an evaluation's answers, against held-out people if there are any, at most 5,000 of them."""
    c = evaluation.context
    return two_sample_test(c.answers[c.found], c.drawn(c.real), c.reference.space, **options)


def two_sample_test(
    answers: FloatArray,
    real: FloatArray,
    space: MeasuringSpace,
    *,
    immutable: ArrayLike | None = None,
    folds: int = 5,
    resamples: int = RESAMPLES,
    random_state: int = 0,
) -> TwoSample:
    """How well a classifier tells answers from real rows with the same immutables, on rows it was not fitted on.

    Real rows are weighted by the odds p / (1 − p) of their propensity p = P(answer | immutables): a ridge logistic
    regression, with squares and products if there are ten rows on either side for each of its coefficients, fitted
    without the fold it is used on. Odds are divided by their mean and then clipped at 20. The score of a row is the
    mean log odds of a ridge logistic regression and of gradient-boosted trees, both weighted so that answers and real
    rows have the same total weight. Pairs are compared within a fold only, since scores of different fits have no
    common scale.

    Parameters
    ----------
    answers, real
        Rows in original units; rows of answers without any value are left out. Use held-out real rows if there are
        some: answers that copy training rows cannot be told from those very rows.
    space
        The measuring space: its coordinates are what the classifier sees.
    immutable
        The positions of the columns that rows are weighted by; by default the schema's immutable ones. Without any, all
        weights are 1 and the floor is .5.
    """
    answers = answers[answered(answers, None)]
    is_answer = np.repeat([True, False], [len(answers), len(real)])
    if min(len(answers), len(real)) < folds:
        return TwoSample(np.nan, NOTHING, np.nan, np.nan, len(answers), len(real))
    points = space.transform(np.concatenate((answers, real)))
    generator = np.random.default_rng(random_state)
    fold = np.concatenate([generator.permutation(np.arange(len(part)) % folds) for part in (answers, real)])
    seen = _coordinates(space, space.schema.immutable_columns if immutable is None else np.asarray(immutable, np.intp))
    scores, alone, weights = _cross_fitted(points, seen, is_answer, fold, random_state)
    compared = _auc_within(scores, is_answer, fold)
    return TwoSample(
        auc=float(compared(weights[None])[0]),
        interval=_interval(compared, weights, is_answer, resamples, random_state),
        floor=float(_auc_within(alone, is_answer, fold)(weights[None])[0]),
        effective_size=float(weights[~is_answer].sum() ** 2 / (weights[~is_answer] ** 2).sum()),
        n_answers=len(answers),
        n_real=len(real),
    )


def _coordinates(space: MeasuringSpace, columns: IndexArray) -> IndexArray:
    """The coordinates of the measuring space that belong to some columns."""
    return np.flatnonzero(np.isin(np.concatenate((space.scaled, space.indicated)), columns))


def _cross_fitted(
    points: FloatArray, seen: IndexArray, is_answer: BoolArray, fold: IndexArray, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The score of each row by all coordinates and by the immutable ones, and its weight, by fits without its fold.

    A fold's weights and scores are fitted on the same rows. Training weights fitted with the fold would carry its
    chance differences into the scores, with the wrong sign: for two samples of one distribution the AUC would fall
    below .5.
    """
    scores, alone, weights = np.zeros(len(points)), np.zeros(len(points)), np.ones(len(points))
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # With so few rows threads cost more than they save.
    with threadpool_limits(1):
        for held_out in np.unique(fold):
            apart = fold == held_out
            known, labels = points[~apart], is_answer[~apart]
            odds = _odds(known[:, seen], labels, points[:, seen])
            own = np.where(is_answer, 1.0, np.minimum(odds / odds[~apart][~labels].mean(), LARGEST_WEIGHT))
            weights[apart] = own[apart]
            scores[apart] = _scored(known, labels, own[~apart], points[apart], seed)
            if len(seen):
                alone[apart] = _scored(known[:, seen], labels, own[~apart], points[apart][:, seen], seed)
    return scores, alone, weights


def _odds(known: FloatArray, is_answer: BoolArray, asked: FloatArray) -> FloatArray:
    """The odds of being an answer, by a ridge logistic regression; 1 without columns."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    width = known.shape[1]
    if not width:
        return np.ones(len(asked))
    fewer = min(int(is_answer.sum()), int((~is_answer).sum()))
    squared = [PolynomialFeatures(2, include_bias=False)] if fewer >= _PER_COEFFICIENT * width * (width + 3) / 2 else []
    model = make_pipeline(*squared, StandardScaler(), LogisticRegression(max_iter=1000)).fit(known, is_answer)
    return np.exp(np.clip(model.decision_function(asked), -_FARTHEST, _FARTHEST))


def _scored(known: FloatArray, is_answer: BoolArray, weights: FloatArray, asked: FloatArray, seed: int) -> FloatArray:
    """How much like an answer each row is: the mean log odds of a ridge logistic regression and of boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    totals = np.where(is_answer, weights[is_answer].sum(), weights[~is_answer].sum())
    balanced = weights / totals * (len(weights) / 2)
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    trees = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=15, l2_regularization=1.0, early_stopping=False, random_state=seed
    )
    linear.fit(known, is_answer, logisticregression__sample_weight=balanced)
    trees.fit(known, is_answer, sample_weight=balanced)
    return np.asarray(linear.decision_function(asked) + trees.decision_function(asked)) / 2


def _auc_within(scores: FloatArray, is_answer: BoolArray, fold: IndexArray) -> Callable[[FloatArray], FloatArray]:
    """The AUC over pairs of the same fold, as a function of weights: (draws, rows) to (draws,)."""
    order = np.lexsort((scores, fold))
    new_fold = np.diff(fold[order], prepend=-1) != 0
    new_score = new_fold | (np.diff(scores[order], prepend=np.nan) != 0)
    starts, first_of_fold = np.flatnonzero(new_score), np.flatnonzero(new_fold)
    fold_of_step = np.cumsum(new_fold)[starts] - 1
    ours = is_answer[order]

    def auc(weights: FloatArray) -> FloatArray:
        ordered = weights[:, order]
        real, answer = np.where(ours, 0.0, ordered), np.where(ours, ordered, 0.0)
        if not ordered.shape[1]:
            return np.full(len(weights), np.nan)
        real_step, answer_step = (np.add.reduceat(part, starts, axis=1) for part in (real, answer))
        real_fold, answer_fold = (np.add.reduceat(part, first_of_fold, axis=1) for part in (real, answer))
        earlier_folds = np.cumsum(real_fold, axis=1) - real_fold
        below = np.cumsum(real_step, axis=1) - real_step / 2 - earlier_folds[:, fold_of_step]
        pairs = (real_fold * answer_fold).sum(axis=1)
        won = (answer_step * below).sum(axis=1)
        return np.where(pairs > 0, won / np.where(pairs > 0, pairs, 1.0), np.nan)

    return auc


def _interval(
    auc: Callable[[FloatArray], FloatArray], weights: FloatArray, is_answer: BoolArray, resamples: int, seed: int
) -> Interval:
    """The percentile interval of the AUC over resampled rows, answers and real ones separately."""
    drawn = [
        resampled(int((is_answer == side).sum()), resamples, seed + place, rows=_DRAWN_AT_ONCE)
        for place, side in enumerate((True, False))
    ]
    replicates = [auc(weights * np.hstack([times_drawn(part) for part in both])) for both in zip(*drawn, strict=True)]
    tail = (1.0 - CONFIDENCE) / 2.0
    return quantile_interval(np.concatenate(replicates), tail, 1.0 - tail)
