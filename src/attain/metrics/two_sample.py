"""Whether a classifier can tell answers from real rows of the desired class with the same immutables.

Answers keep the immutable columns of refused rows, whose distribution differs from that of accepted rows. A plain
two-sample test would find that difference and blame the answers. So real rows are weighted to have the answers'
immutables, and what the weighting leaves is reported beside the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from attain.core.arrays import BoolArray, FloatArray, IndexArray
from attain.core.errors import AttainError, DataError
from attain.core.intervals import (
    CONFIDENCE,
    NOTHING,
    RESAMPLES,
    Interval,
    checked_confidence,
    quantile_interval,
    resampled,
    times_drawn,
)
from attain.population.measuring import answered, positive_integer
from attain.population.percentiles import as_matrix
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


def two_sample_test(
    answers: ArrayLike,
    real: ArrayLike,
    space: MeasuringSpace,
    *,
    immutable: ArrayLike | None = None,
    folds: int = 5,
    owners: ArrayLike | None = None,
    real_owners: ArrayLike | None = None,
    found: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
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
    owners, real_owners
        Labels of the rows' owners: rows with the same label, in either, stay in one fold and are resampled together.
        By default every row has an owner of its own.
    """
    width = len(space.schema)
    folds, confidence = positive_integer("folds", folds), checked_confidence(confidence)
    if folds < 2:
        raise AttainError("folds must be an integer ≥ 2, got 1")
    rows, others = as_matrix(answers, width), as_matrix(real, width)
    present = answered(rows, found)
    whose = _owners(owners, real_owners, len(rows), len(others))
    kept = np.concatenate((present, np.ones(len(others), dtype=np.bool_)))
    is_answer, whose = np.repeat([True, False], [present.sum(), len(others)]), whose[kept]
    counts = int(is_answer.sum()), int((~is_answer).sum())
    sides = [len(np.unique(whose[is_answer == side])) for side in (True, False)]
    if min(sides) < folds:
        return TwoSample(np.nan, NOTHING, np.nan, np.nan, *counts)
    points = space.transform(np.concatenate((rows[present], others)))
    fold = _folds(whose, is_answer, folds, random_state)
    seen = _coordinates(space, space.schema.immutable_columns if immutable is None else np.asarray(immutable, np.intp))
    scores, alone, weights = _cross_fitted(points, seen, is_answer, fold, random_state)
    compared = _auc_within(scores, is_answer, fold)
    interval = _interval(compared, weights, whose, is_answer, confidence, resamples, random_state)
    return TwoSample(
        auc=float(compared(weights[None])[0]),
        interval=interval,
        floor=float(_auc_within(alone, is_answer, fold)(weights[None])[0]),
        effective_size=float(weights[~is_answer].sum() ** 2 / (weights[~is_answer] ** 2).sum()),
        n_answers=counts[0],
        n_real=counts[1],
    )


def _owners(owners: ArrayLike | None, real_owners: ArrayLike | None, answers: int, real: int) -> IndexArray:
    """A number for each owner, over the answers and then the real rows."""
    parts = []
    for name, given, number in (("owners", owners, answers), ("real_owners", real_owners, real)):
        if given is None:
            parts.append([(name, row) for row in range(number)])
            continue
        labels = np.asarray(given, dtype=object)
        if labels.shape != (number,):
            raise DataError(f"{name} must hold one label for each of the {number} rows, got shape {labels.shape}")
        parts.append([("owner", label) for label in labels.tolist()])
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in (*parts[0], *parts[1])], dtype=np.intp)


def _folds(owners: IndexArray, is_answer: BoolArray, folds: int, seed: int) -> IndexArray:
    """The fold of each row: owners are assigned in random order, so that each fold gets its share of both kinds."""
    generator = np.random.default_rng(seed)
    asked, real = np.unique(owners[is_answer]), np.unique(owners[~is_answer])
    both = np.intersect1d(asked, real)
    dealt = np.empty(owners.max() + 1, dtype=np.intp)
    for group, start in ((both, 0), (np.setdiff1d(asked, both), len(both)), (np.setdiff1d(real, both), len(both))):
        dealt[generator.permutation(group)] = (start + np.arange(len(group))) % folds
    return dealt[owners]


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
    auc: Callable[[FloatArray], FloatArray],
    weights: FloatArray,
    owners: IndexArray,
    is_answer: BoolArray,
    confidence: float,
    resamples: int,
    seed: int,
) -> Interval:
    """The percentile interval of the AUC over resampled owners, those with answers and the others separately."""
    asked = np.unique(owners[is_answer])
    rest = np.setdiff1d(owners, asked)
    drawn = [
        resampled(len(group), resamples, seed + place, rows=_DRAWN_AT_ONCE) for place, group in enumerate((asked, rest))
    ]
    replicates = []
    for first, second in zip(*drawn, strict=True):
        times = np.zeros((len(first), owners.max() + 1))
        times[:, asked], times[:, rest] = times_drawn(first), times_drawn(second)
        replicates.append(auc(weights * times[:, owners]))
    tail = (1.0 - confidence) / 2.0
    return quantile_interval(np.concatenate(replicates), tail, 1.0 - tail)
