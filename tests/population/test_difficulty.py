"""Shifts and counts of changes over free features."""

import numpy as np
import pytest

from attain.metrics import changed, max_shift, total_shift
from attain.population.measuring import Percentiles
from attain.schema import Feature, Schema

NAN = float("nan")
SCHEMA = Schema(
    (
        Feature("income", "real"),
        Feature("home", "categorical", levels=("rents", "owns")),
        Feature("age", "count", immutable=True),
        Feature("ratio", "real", derived="income / age"),
        Feature("savings", "real", fillable=True),
    )
)
TRAIN = np.array([[10, 0, 1, 10, 1], [20, 1, 1, 20, 2], [30, 0, 1, 30, 3], [40, 1, 1, 40, 4]], dtype=float)
PERCENTILES = Percentiles.fit(SCHEMA, TRAIN)
FACTUALS = np.array([[10, 0, 1, 10, 1], [10, 0, 1, 10, NAN], [20, 1, 1, 20, 2], [10, 0, 1, 10, 1]], dtype=float)
ANSWERS = np.array([[30, 0, 1, 30, 2], [40, 1, 1, 40, 4], [20, 1, 1, 20, 2], [NAN] * 5], dtype=float)


def test_shifts_are_summed_over_free_features_and_the_largest_is_taken() -> None:
    np.testing.assert_allclose(total_shift(ANSWERS, FACTUALS, PERCENTILES), [0.75, 2.75, 0, NAN])
    np.testing.assert_allclose(max_shift(ANSWERS, FACTUALS, PERCENTILES), [0.5, 1, 0, NAN])
    fixed = Percentiles.fit(Schema((Feature("age", "real", immutable=True),)), TRAIN[:, [2]])
    assert max_shift([[2.0]], [[1.0]], fixed) == 0


def test_changes_are_counted_over_free_features() -> None:
    np.testing.assert_array_equal(changed(ANSWERS, FACTUALS, SCHEMA), [2, 3, 0, NAN])


@pytest.mark.parametrize("measure", [total_shift, max_shift])
def test_who_has_no_answer_can_be_told(measure: object) -> None:
    found = np.array([False, True, True, False])
    result = measure(ANSWERS, FACTUALS, PERCENTILES, found)  # type: ignore[operator]
    np.testing.assert_array_equal(np.isnan(result), ~found)
    np.testing.assert_array_equal(np.isnan(changed(ANSWERS, FACTUALS, SCHEMA, found)), ~found)
