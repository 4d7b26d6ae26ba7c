"""scikit-learn's own estimator checks, where they apply."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from attain import GrowingSpheres

DOES_NOT_APPLY = {
    "check_complex_data": "asks for scikit-learn's own words; complex numbers are refused in ours (hostile frames)",
    "check_dtype_object": "asks for scikit-learn's own words; dictionaries are refused in ours (hostile frames)",
    "check_estimators_empty_data_messages": "asks for scikit-learn's own words; no columns are refused in ours",
    "check_fit2d_1sample": "asks for scikit-learn's own words; a single row is refused in ours",
}
"""Checks of scikit-learn that cannot pass, and why."""


def _checks() -> list[Any]:
    generated = estimator_checks_generator(GrowingSpheres(), mark=None)
    return [pytest.param(estimator, check, id=getattr(check, "func", check).__name__) for estimator, check in generated]


@pytest.mark.parametrize(("estimator", "check"), _checks())
def test_a_check_of_scikit_learn(estimator: GrowingSpheres, check: Callable[[Any], None]) -> None:
    name = getattr(check, "func", check).__name__
    if name in DOES_NOT_APPLY:
        pytest.skip(DOES_NOT_APPLY[name])
    check(estimator)


def test_every_exception_names_a_check_that_exists() -> None:
    names = {getattr(check, "func", check).__name__ for _, check in estimator_checks_generator(GrowingSpheres())}
    assert set(DOES_NOT_APPLY) <= names
