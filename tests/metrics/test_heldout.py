"""Outliers among held-out people, against scikit-learn."""

import numpy as np
import pytest
from sklearn.neighbors import LocalOutlierFactor

from attain.metrics import local_outlier_factor, outlier
from attain.population.reference import Reference
from attain.population.space import MeasuringSpace
from attain.schema import Feature, Schema

NAN = float("nan")
SCHEMA = Schema(tuple(Feature(f"x{j}", "real") for j in range(3)))


@pytest.mark.parametrize("k", [1, 5, 20])
def test_factor_and_verdict_are_scikit_learns_in_the_training_space(k: int) -> None:
    rng = np.random.default_rng(k)
    train, test = rng.normal(size=(150, 3)) * [1, 5, 20] + 3, rng.normal(size=(200, 3)) * [1, 5, 20] + 3
    met, desired = test[:, 0] > 2.5, rng.random(200) < 0.8
    reference = Reference.build(SCHEMA, test, desired_labels=desired, met=met, space=MeasuringSpace.fit(SCHEMA, train))
    assert set(reference.rows) == set(np.flatnonzero(met & desired))
    answers = rng.normal(size=(60, 3)) * [2, 8, 30] + 3
    answers[4] = NAN
    there = np.arange(60) != 4
    scaled = [(rows - train.mean(axis=0)) / train.std(axis=0) for rows in (test[met & desired], answers[there])]
    judge = LocalOutlierFactor(n_neighbors=k, contamination=0.01, novelty=True).fit(scaled[0])
    factor = local_outlier_factor(answers, reference, k)
    np.testing.assert_allclose(factor[there], -judge.score_samples(scaled[1]), rtol=1e-7)
    verdict = outlier(answers, reference, k)
    np.testing.assert_array_equal(verdict[there], judge.predict(scaled[1]) == -1)
    assert np.isnan(verdict[4])
    assert np.isnan(factor[4])
    assert 0 < verdict[there].mean() < 1


def test_copies_of_training_rows_are_no_longer_flattered() -> None:
    """Rows of a training outlier's cluster are inliers among training rows, and outliers among held-out ones."""
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
    train[:30] += 12
    everybody = np.ones(200, dtype=bool)
    own = Reference.build(SCHEMA, train, met=everybody)
    held_out = Reference.build(SCHEMA, test, met=everybody, space=own.space)
    assert not held_out.labelled
    assert outlier(train[:30], own, 20).mean() < 0.2
    assert outlier(train[:30], held_out, 20).mean() == 1
