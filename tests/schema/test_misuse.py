"""Features, schemas, constraints and rules that cannot be understood: the message says where and why."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attain.schema import Constraints, Feature, Schema
from tests.misuse import calls, check_call
from tests.schema.columns import parsed

SCHEMA = Schema(
    (
        Feature("income", "positive"),
        Feature("house", "categorical", levels=("rents", "owns")),
        Feature("grade", "ordinal", levels=("low", "mid", "high")),
    )
)


def resolved(constraints: Any, labels: tuple[str, ...] = ("p", "q", "q")) -> list[Any]:
    return list(Constraints.of(constraints).resolved(SCHEMA, labels))


NAMES = {
    **{"Feature": Feature, "Schema": Schema, "resolved": resolved, "parsed": parsed},
    **{"nan": float("nan"), "inf": float("inf")},
}


@pytest.mark.parametrize(("call", "message"), calls(Path(__file__).with_name("misuse.txt")))
def test_what_cannot_be_understood_is_refused_with_a_message(call: str, message: str) -> None:
    check_call(call, message, NAMES)


def test_each_set_of_constraints_comes_with_the_people_it_holds_for() -> None:
    given = {"max_changes": np.int64(2), "range": {"income": (np.float32(-1), 2)}, "people": {"q": {"max_changes": 1}}}
    sets = resolved(given)
    assert [people.tolist() for people, _ in sets] == [[0, 1, 2], [1, 2]]
    assert [own.max_changes for _, own in sets] == [2, 1]
    assert Constraints.of(None) == Constraints()
