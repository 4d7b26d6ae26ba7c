"""Distances between answers and factuals, against SciPy, closed forms and examples worked by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import median_abs_deviation

from attain.core.errors import AttainError, DataError
from attain.density import CVAE
from attain.metrics import (
    changed,
    distance,
    gower_distance,
    latent_distance,
    mad_distance,
)
from attain.population.space import MeasuringSpace
from attain.schema import Feature, Schema

NAN = float("nan")
SCHEMA = Schema(
    (
        Feature("income", "real"),
        Feature("school", "ordinal", levels=("none", "some", "all")),
        Feature("home", "categorical", levels=("rents", "owns", "parents")),
        Feature("late", "count", special={-9: "no record"}),
        Feature("age", "count", immutable=True),
        Feature("ratio", "real", derived="income / age"),
        Feature("flat", "real"),
        Feature("savings", "real", fillable=True),
    )
)
TRAIN = np.array(
    [
        [10, 0, 0, 0, 20, 0.5, 7, 1],
        [20, 1, 1, 2, 20, 1.0, 7, 2],
        [30, 2, 0, -9, 20, 1.5, 7, NAN],
        [40, 1, 2, 4, 20, 2.0, 7, 4],
        [90, 1, 1, 6, 20, 4.5, 7, 9],
    ],
    dtype=float,
)
BEFORE = np.array([[20, 0, 0, 0, 20, 1.0, 7, 2]] * 4 + [[20, 0, 0, -9, 20, 1.0, 7, NAN]], dtype=float)
AFTER = np.array(
    [
        [60, 0, 0, 0, 20, 3.0, 7, 2],
        [20, 2, 1, 4, 20, 1.0, 8, 2],
        [20, 0, 0, -9, 20, 1.0, 7, 2],
        [NAN] * 8,
        [20, 0, 0, 4, 20, 1.0, 7, 6],
    ]
)
EVERY = (mad_distance, gower_distance)


def numbers(width: int) -> tuple[Schema, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(width)
    schema = Schema(tuple(Feature(f"x{j}", "real") for j in range(width)))
    train = rng.gamma(2, size=(80, width)) * np.arange(1, width + 1)
    return schema, train, rng.normal(size=(12, width)), rng.normal(size=(12, width))


def paired(before: np.ndarray, after: np.ndarray, metric: str) -> np.ndarray:
    return np.diag(cdist(before, after, metric))


@pytest.mark.parametrize(("norm", "metric"), [("l1", "cityblock"), ("l2", "euclidean"), ("linf", "chebyshev")])
def test_norms_of_numbers_are_scipys_on_standardised_data(norm: Any, metric: str) -> None:
    schema, train, before, after = numbers(4)
    scaled = [(rows - train.mean(axis=0)) / train.std(axis=0) for rows in (before, after)]
    result = distance(after, before, MeasuringSpace.fit(schema, train), norm=norm)
    np.testing.assert_allclose(result, paired(*scaled, metric), rtol=1e-12)


def test_norms_of_mixed_rows_by_hand() -> None:
    space = MeasuringSpace.fit(SCHEMA, TRAIN)
    income, school = TRAIN[:, 0].std(), TRAIN[:, 1].std()
    late, savings = np.array([0, 2, 4, 6.0]), np.array([1, 2, 4, 9.0])
    moves = [2 / school, 1, 1, 4 / late.std(), 1]  # school, two indicators of home, late, flat (constant: scale 1)
    # Out of a special state: its indicator, and from the mean (0) to the value; likewise a cell filled in.
    states = [1, (4 - late.mean()) / late.std(), 1, (6 - savings.mean()) / savings.std()]
    into = [1, (0 - late.mean()) / late.std()]
    every = [[40 / income], moves, into, [NAN], states]
    for norm, of in (("l1", lambda x: np.abs(x).sum()), ("l2", np.linalg.norm), ("linf", lambda x: np.abs(x).max())):
        expected = [of(np.array(x)) for x in every]
        np.testing.assert_allclose(distance(AFTER, BEFORE, space, norm=norm), expected, rtol=1e-12)  # type: ignore[arg-type]
    np.testing.assert_array_equal(distance(AFTER, BEFORE, space, norm="l0"), [1, 4, 1, NAN, 2])
    np.testing.assert_array_equal(distance(AFTER, BEFORE, space, norm="l0"), changed(AFTER, BEFORE, SCHEMA))


def test_only_free_features_count() -> None:
    space = MeasuringSpace.fit(SCHEMA, TRAIN)
    other = BEFORE[:1].copy()
    other[0, [4, 5]] = [60, NAN]
    for norm in ("l0", "l1", "l2", "linf"):
        assert distance(other, BEFORE[:1], space, norm=norm)[0] == 0  # type: ignore[arg-type]
    for measure in EVERY:
        assert measure(other, BEFORE[:1], SCHEMA, TRAIN)[0] == 0


def test_moves_in_median_deviations_are_scipys() -> None:
    schema, train, before, after = numbers(3)
    scale = median_abs_deviation(train, axis=0)
    expected = paired(before / scale, after / scale, "cityblock")
    np.testing.assert_allclose(mad_distance(after, before, schema, train), expected, rtol=1e-12)


def test_moves_in_ranges_are_scipys() -> None:
    schema, train, before, after = numbers(3)
    before, after = np.clip(before, train.min(axis=0), train.max(axis=0)), np.clip(after, train.min(axis=0), 3)
    scale = np.ptp(train, axis=0)
    total = paired(before / scale, after / scale, "cityblock")
    np.testing.assert_allclose(gower_distance(after, before, schema, train), total / 3, rtol=1e-12)


def test_mixed_distances_by_hand() -> None:
    # MADs: income 10, school 0 → 1, late 2 (3 ± 1 and ± 3), flat 0 → 1; ranges: 80, 2, 6, 0 → 1.
    np.testing.assert_allclose(mad_distance(AFTER, BEFORE, SCHEMA, TRAIN), [4, 2 + 1 + 2 + 1, 1, NAN, 2])
    # Six free features: everything but age and ratio.
    np.testing.assert_allclose(gower_distance(AFTER, BEFORE, SCHEMA, TRAIN), np.array([0.5, 11 / 3, 1, NAN, 2]) / 6)


def test_gower_does_not_compare_what_is_missing_on_both_sides_and_stays_below_one() -> None:
    before, after = BEFORE[[4]], BEFORE[[4]].copy()
    after[0, 0] = 60
    assert gower_distance(after, before, SCHEMA, TRAIN)[0] == pytest.approx(0.5 / 5)
    after[0, 0] = 1e6
    assert gower_distance(after, before, SCHEMA, TRAIN)[0] == pytest.approx(1 / 5)


def test_latent_distance_is_that_between_codes() -> None:
    linear = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 0.0]])
    schema = Schema(tuple(Feature(f"x{j}", "real") for j in range(3)))

    def encode(rows: np.ndarray) -> SimpleNamespace:
        return SimpleNamespace(z=(rows @ linear).astype(np.float32), component=np.zeros(len(rows)))

    model: Any = SimpleNamespace(schema_=schema, encode=encode)
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    after[3] = NAN
    expected = paired(before @ linear, after @ linear, "euclidean")
    np.testing.assert_allclose(latent_distance(after, before, model), expected, rtol=1e-5)


@pytest.mark.slow
def test_latent_distance_takes_an_autoencoder() -> None:
    schema, train, before, after = numbers(3)
    model = CVAE(schema, hidden=0, latent_dim=2, epochs=1, verbose=False).fit(train)
    expected = paired(model.encode(before).z, model.encode(after).z, "euclidean")
    np.testing.assert_allclose(latent_distance(after, before, model), expected, rtol=1e-5)


def test_misuse_is_told() -> None:
    space = MeasuringSpace.fit(SCHEMA, TRAIN)
    with pytest.raises(AttainError, match="norm must be one of l0, l1, l2, linf, got 'l3'"):
        distance(AFTER, BEFORE, space, norm="l3")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="factuals must have one row for each of the 5 answers, got 2 rows"):
        distance(AFTER, BEFORE[:2], space)
    with pytest.raises(DataError, match="got 2 rows"):
        changed(AFTER, BEFORE[:2], SCHEMA)
