"""What a caller may pass as constraints, and what is refused in words."""

from typing import Any

import numpy as np
import pytest

from attain.core.errors import ConstraintError
from attain.schema import Constraints, Feature, Schema

SCHEMA = Schema(
    (
        Feature("income", "positive"),
        Feature("house", "categorical", levels=("rents", "owns")),
        Feature("grade", "ordinal", levels=("low", "mid", "high")),
    )
)
LABELS = ["p", "q", "q"]


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ("income", "got str"),
        (["income"], "got list"),
        ({"imutable": ["income"]}, "'imutable'"),
        ({"immutable": "income"}, "list of names"),
        ({"immutable": 3}, "list of names"),
        ({"immutable": ["height"]}, "'height'"),
        ({"direction": ["income"]}, "must be a dictionary"),
        ({"direction": {"income": "up"}}, "'up'"),
        ({"direction": {"house": "increase"}}, "not ordered"),
        ({"range": None}, "must be a dictionary"),
        ({"range": {"income": 3}}, "pair"),
        ({"range": {"income": (1, 2)}}, "must include 0"),
        ({"range": {"income": ("a", 2)}}, "pair"),
        ({"bounds": {"income": (3, 2)}}, "lower bound is above the upper one: (3.0, 2.0)"),
        ({"bounds": {"income": (float("nan"), 2)}}, "pair"),
        ({"bounds": {"grade": (None, "top")}}, "'top'"),
        ({"bounds": {"grade": ("high", "low")}}, "the lower end of reach is above"),
        ({"cost": {"income": -1}}, "cost"),
        ({"cost": {"income": "much"}}, "cost"),
        ({"cost": {"height": 1}}, "'height', which the schema does not have; it has"),
        ({"cost": {"incme": 1}}, "'incme', which the schema does not have; did you mean 'income'?"),
        ({"imutable": ["income"]}, "'imutable'; did you mean 'immutable'?"),
        ({"xyz": []}, "'xyz'; its keys are immutable, direction"),
        ({"max_changes": 0}, "max_changes"),
        ({"max_changes": 1.5}, "max_changes"),
        ({"max_changes": True}, "max_changes"),
        ({"max_months": -1}, "max_months'] must be an integer ≥ 0, got -1"),
        ({"max_months": 1.5}, "got 1.5"),
        ({"max_months": 6}, "no feature of the schema has a clock or a pace"),
        ({"max_months": 10**400}, "of 1329 bits"),
        ({"max_changes": 10**400}, "of 1329 bits"),
        ({"range": {"income": (0, 10**400)}}, "range of 'income' must be a pair"),
        ({"bounds": {"income": (None, 10**400)}}, "bounds of 'income' must be a pair"),
        ({"cost": {"income": 10**400}}, "cost must be a finite number"),
        ({"people": ["p"]}, "must be a dictionary"),
        ({"people": {"z": {}}}, "'z'"),
        ({"people": {"p": {"people": {"q": {}}}}}, "must not contain"),
        ({"people": {"p": {"immutable": ["height"]}}}, "'height'"),
    ],
)
def test_constraints_that_cannot_be_understood_are_refused(constraints: Any, words: str) -> None:
    with pytest.raises(ConstraintError) as caught:
        list(Constraints.of(constraints).resolved(SCHEMA, LABELS))
    assert words in str(caught.value)


def test_each_set_comes_with_the_people_it_holds_for() -> None:
    given = {"max_changes": np.int64(2), "range": {"income": (np.float32(-1), 2)}, "people": {"q": {"max_changes": 1}}}
    sets = list(Constraints.of(given).resolved(SCHEMA, LABELS))
    assert [people.tolist() for people, _ in sets] == [[0, 1, 2], [1, 2]]
    assert [own.max_changes for _, own in sets] == [2, 1]
    assert Constraints.of(None) == Constraints()
