"""Distances between answers and factuals, against SciPy and by hand, and copies of training rows."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from attain.metrics import changed, copies, distance
from attain.population.space import MeasuringSpace
from attain.schema import Feature, Schema
from tests.coordinates import real_schema

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


@pytest.mark.parametrize(("norm", "metric"), [("l1", "cityblock"), ("l2", "euclidean"), ("linf", "chebyshev")])
def test_norms_of_numbers_are_scipys_on_standardised_data(norm: Any, metric: str) -> None:
    rng = np.random.default_rng(4)
    train = rng.gamma(2, size=(80, 4)) * np.arange(1, 5)
    before, after = rng.normal(size=(2, 12, 4))
    scaled = [(rows - train.mean(axis=0)) / train.std(axis=0) for rows in (before, after)]
    result = distance(after, before, MeasuringSpace.fit(real_schema(4), train), norm=norm)
    np.testing.assert_allclose(result, np.diag(cdist(*scaled, metric)), rtol=1e-12)


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


def test_copies_by_hand() -> None:
    schema = Schema(
        (
            Feature("a", "real"),
            Feature("home", "categorical", levels=("rents", "owns")),
            Feature("age", "real", immutable=True),
        )
    )
    train = np.array([[1, 0, 20], [2, 1, 30], [NAN, 1, 40], [0.0, 0, 50]])
    answers = np.array([[1, 0, 20], [1, 0, 30], [2, 0, 30], [NAN, 1, 40], [NAN] * 3, [-0.0, 0, 50], [NAN, 1, 20]])
    np.testing.assert_array_equal(copies(answers, train, schema), [1, 0, 0, 1, NAN, 1, 0])
    np.testing.assert_array_equal(copies(answers, train, schema, free=True), [1, 1, 0, 1, NAN, 1, 1])
    told = copies(answers, train, schema, found=np.arange(7) == 1, free=True)
    np.testing.assert_array_equal(told, [NAN, 1, NAN, NAN, NAN, NAN, NAN])
    np.testing.assert_array_equal(copies(train, np.empty((0, 3)), schema), [0, 0, 0, 0])
