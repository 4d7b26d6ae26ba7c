"""scikit-learn's own estimator checks, where they apply."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from attain import CCHVAE, GrowingSpheres, Guarded
from attain.methods import (
    FACE,
    REVISE,
    ActionableRecourse,
    BudgetedInverseClassification,
    Explainer,
    FeatureTweaking,
    HillClimbingLocalSearch,
    NearestUnlike,
    Russell,
    Wachter,
)

FAST = (
    GrowingSpheres(),
    ActionableRecourse(),
    BudgetedInverseClassification(),
    FACE(),
    FeatureTweaking(),
    HillClimbingLocalSearch(),
    NearestUnlike(),
    Russell(),
    Wachter(),
    Guarded(),
)
SLOW = (CCHVAE(), REVISE())
"""Those that train an autoencoder in every check."""

DOES_NOT_APPLY = {
    "check_complex_data": "asks for scikit-learn's own words; complex numbers are refused in ours (hostile frames)",
    "check_dtype_object": "asks for scikit-learn's own words; dictionaries are refused in ours (hostile frames)",
    "check_estimators_empty_data_messages": "asks for scikit-learn's own words; no columns are refused in ours",
    "check_fit2d_1sample": "asks for scikit-learn's own words; a single row is refused in ours",
}
"""Checks of scikit-learn that cannot pass, and why."""


def _checks(explainer: Explainer, *marks: Any) -> list[Any]:
    generated = estimator_checks_generator(explainer, mark=None)
    name = type(explainer).__name__
    return [
        pytest.param(explainer, check, id=f"{name}-{getattr(check, 'func', check).__name__}", marks=marks)
        for explainer, check in generated
    ]


CHECKS = [check for explainer in FAST for check in _checks(explainer)]
CHECKS += [check for explainer in SLOW for check in _checks(explainer, pytest.mark.slow)]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_a_check_of_scikit_learn(estimator: Explainer, check: Callable[[Any], None]) -> None:
    name = getattr(check, "func", check).__name__
    if name in DOES_NOT_APPLY:
        pytest.skip(DOES_NOT_APPLY[name])
    check(estimator)


def test_every_exception_names_a_check_that_exists() -> None:
    names = {getattr(check, "func", check).__name__ for _, check in estimator_checks_generator(GrowingSpheres())}
    assert set(DOES_NOT_APPLY) <= names
