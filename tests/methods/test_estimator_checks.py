"""scikit-learn's own estimator checks, where they apply."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from attain import methods
from attain.methods import Explainer, GrowingSpheres, Guarded
from tests.methods.test_base_promises import METHODS

IN_FULL = (GrowingSpheres(), Guarded())
OTHERS = tuple(getattr(methods, name)() for name in METHODS if name not in ("GrowingSpheres", "Guarded"))
OF_OTHERS = {
    "check_estimator_cloneable",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
}
"""What depends on a method's own parameters; the rest is done by `Explainer` for all methods alike."""

DOES_NOT_APPLY = {
    "check_complex_data": "asks for scikit-learn's own words; complex numbers are refused in ours (hostile frames)",
    "check_dtype_object": "asks for scikit-learn's own words; dictionaries are refused in ours (hostile frames)",
    "check_estimators_empty_data_messages": "asks for scikit-learn's own words; no columns are refused in ours",
    "check_fit2d_1sample": "asks for scikit-learn's own words; a single row is refused in ours",
}
"""Checks of scikit-learn that cannot pass, and why."""


def _name(check: Any) -> str:
    return getattr(check, "func", check).__name__


CHECKS = [
    pytest.param(explainer, check, id=f"{type(explainer).__name__}-{_name(check)}")
    for chosen in (*IN_FULL, *OTHERS)
    for explainer, check in estimator_checks_generator(chosen, mark=None)
    if chosen in IN_FULL or _name(check) in OF_OTHERS
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_a_check_of_scikit_learn(estimator: Explainer, check: Callable[[Any], None]) -> None:
    if _name(check) in DOES_NOT_APPLY:
        pytest.skip(DOES_NOT_APPLY[_name(check)])
    check(estimator)


def test_every_exception_names_a_check_that_exists() -> None:
    assert {*DOES_NOT_APPLY, *OF_OTHERS} <= {_name(check) for _, check in estimator_checks_generator(GrowingSpheres())}
