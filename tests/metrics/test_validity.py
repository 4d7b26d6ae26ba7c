"""Validity, redundancy and violations, on a small model whose decisions are known."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain.metrics import redundant, type_valid, valid, violations
from attain.models import Goal, Model
from attain.schema import Constraints, Feature, Schema
from attain.tables import Region, Table
from attain.testing import people as made_up
from tests.changes import faults

NAN = float("nan")
SCHEMA = Schema(
    (
        Feature("income", "count", direction="increase"),
        Feature("debt", "count", bounds=(0, 100), range=(-20, 5)),
        Feature("home", "categorical", levels=("rents", "owns", "parents"), transitions={"owns": ("rents",)}),
        Feature("age", "count", immutable=True),
        Feature("net", "real", derived="income - debt"),
        Feature("school", "ordinal", levels=("none", "some", "all"), direction="increase"),
    ),
    rules=("debt <= income",),
)


def setting(people: int) -> tuple[Region, Goal, np.ndarray]:
    frame = pd.DataFrame([[40, 30, "owns", 20, 10, "some"]] * people, columns=list(SCHEMA.names))
    frame = frame.astype({"net": float})
    table = Table.read(frame, SCHEMA)
    calls.clear()
    goal = Goal(Model(decision, classes=["no", "yes"]), table.layout, target="yes", probe=table.values[:1])
    calls.clear()
    return Region.of(table, Constraints(max_changes=3)), goal, table.values


calls: list[int] = []


def decision(frame: pd.DataFrame) -> Any:
    """Yes to a net of 20 or more, and to owners with all of school."""
    calls.append(len(frame))
    return np.where((frame["net"] >= 20) | ((frame["home"] == "owns") & (frame["school"] == "all")), "yes", "no")


# income, debt, home, age, net, school; everybody starts from 40, 30, owns, 20, 10, some
ANSWERS = np.array(
    [
        [50, 30, 1, 20, 20, 1],  # as it should be
        [50.5, 30, 1, 20, 20.5, 1],  # off the grid
        [45, 30, 1, 20, 15, 1],  # not enough
        [50, 30, 1, 21, 20, 1],  # age changed
        [NAN] * 6,
        [30, 40, 1, 20, -10, 2],  # less income, too much more debt, and the rule broken; yes by school
        [50, 30, 2, 20, 20, 1],  # from owns to parents
        [50, 30, 1, 20, 33, 1],  # net does not follow
        [51, 29, 0, 20, 22, 2],  # four changes
        [40, 30, 1, 20, 10, 7],  # no such level
    ]
)


def test_verdicts_by_hand() -> None:
    region, goal, _ = setting(10)
    known = ANSWERS.copy()
    known[9, 5] = 0
    np.testing.assert_array_equal(valid(known, goal), [1, 1, 0, 1, NAN, 1, 1, 1, 1, 0])
    np.testing.assert_array_equal(type_valid(known, region, goal), [1, 0, 0, 0, NAN, 0, 0, 0, 0, 0])
    found = np.arange(10) < 2
    np.testing.assert_array_equal(type_valid(known, region, goal, found), [1, 0] + [NAN] * 8)


def test_violations_by_hand() -> None:
    region, _, _ = setting(10)
    frame = violations(ANSWERS, region)
    expected = {1: ["grid"], 3: ["immutable"], 5: ["bounds", "debt <= income"]}
    expected |= {6: ["transition"], 7: ["derived"], 8: ["max_changes"], 9: ["level"]}
    for row in range(10):
        if row == 4:
            assert frame.loc[row].isna().all()
        else:
            assert frame.columns[frame.loc[row] == 1].tolist() == expected.get(row, []), row
    assert frame["grid"].mean() == pytest.approx(1 / 9)


def test_redundant_changes_by_hand() -> None:
    region, goal, own = setting(6)
    answers = np.array(
        [
            [50, 30, 1, 20, 20, 1],  # income is needed
            [60, 20, 1, 20, 40, 1],  # either is enough
            [50, 20, 1, 20, 30, 2],  # net is 20 without either number, and yes by school without both
            [40, 30, 1, 20, 10, 2],  # school is needed
            [NAN] * 6,
            [40, 30, 1, 20, 10, 1],  # nothing changed
        ]
    )
    np.testing.assert_array_equal(redundant(answers, own, goal, region), [0, 2, 3, 0, NAN, 0])
    assert calls == [1 + 2 + 3 + 1], "all resets are asked about at once"


def test_a_reset_that_breaks_a_rule_is_not_to_spare() -> None:
    region, goal, own = setting(1)
    np.testing.assert_array_equal(redundant([[60, 35, 1, 20, 25, 2]], own, goal, region), [3])
    # Without the new income the debt breaks the rule, and school is needed; the debt itself can be reset.
    np.testing.assert_array_equal(redundant([[60, 45, 1, 20, 15, 2]], own, goal, region), [1])


@pytest.mark.parametrize("seed", [0, 1])
def test_violations_agree_with_the_plain_check(seed: int) -> None:
    """Cells mixed from other people: both checks refuse the same answers, and for the same moves."""
    # The plain check does not count digits, so all values have few.
    table = Table.read(made_up.frame(120, seed).round({"score": 3}), made_up.schema())
    schema, rng = table.schema, np.random.default_rng(seed)
    region = Region.of(table, Constraints())
    answers = table.values[rng.permutation(120)]
    answers = np.where(rng.random(answers.shape) < 0.8, table.values, answers)
    result = violations(answers, region)
    single = result[["immutable", "bounds", "level", "transition", "grid"]].any(axis=1)
    for row in range(120):
        before, after = (
            {name: table.layout.value(name, rows[row, j]) for j, name in enumerate(schema.names)}
            for rows in (table.values, answers)
        )
        found = faults(schema, before, after)
        assert bool(found) == bool(single[row]), found
