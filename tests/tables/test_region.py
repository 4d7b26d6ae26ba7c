"""What each person may reach: final form and violations, against a second check that shares no code with them."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attain.schema import Constraints, Feature, Schema
from attain.tables import KINDS_OF_VIOLATION, Region, Table
from attain.testing import people
from tests.changes import faults

SCHEMA = people.schema()
FRAME = people.frame(40)
TABLE = Table.read(FRAME, SCHEMA)
RULE_FREE = [kind for kind in KINDS_OF_VIOLATION if kind != "max_changes"]

CELLS = (
    st.floats(-1e4, 1e5).map(lambda x: round(x, 3))
    | st.integers(-10, 15).map(float)
    | st.just(math.nan)
    | st.sampled_from([-8.0, -9.0, 0.5])
)
ROWS = st.lists(st.tuples(st.integers(0, 39), *[CELLS] * len(SCHEMA)), min_size=1, max_size=8)


def unpacked(drawn: list[tuple[Any, ...]]) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(drawn, dtype=np.float64)
    return array[:, 1:], array[:, 0].astype(np.intp)


def record(values: np.ndarray) -> dict[str, Any]:
    return {name: TABLE.layout.value(name, float(cell)) for name, cell in zip(SCHEMA.names, values, strict=True)}


def same(left: np.ndarray, right: np.ndarray) -> bool:
    return np.array_equal(left, right, equal_nan=True)


@given(ROWS)
def test_final_form_is_a_record_that_could_exist(drawn: list[tuple[Any, ...]]) -> None:
    rows, owners = unpacked(drawn)
    region = Region.of(TABLE, Constraints())
    made = region.final_form(rows, owners)
    assert same(region.final_form(made, owners), made)
    broken = region.violations(made, owners)
    for kind in RULE_FREE:
        if kind != "derived":
            assert not broken[kind].any(), kind
    for i, owner in enumerate(owners):
        assert not faults(SCHEMA, record(TABLE.values[owner]), record(made[i]))


@given(st.lists(st.integers(0, 39), min_size=1, max_size=5))
def test_a_persons_own_record_is_in_final_form(owners: list[int]) -> None:
    region = Region.of(TABLE, Constraints())
    own = TABLE.values[owners]
    assert region.final_form(own, np.array(owners)).tobytes() == own.tobytes()
    assert not region.changed(own, np.array(owners)).any()


@given(ROWS)
def test_what_violations_allow_the_second_check_allows_and_no_more(drawn: list[tuple[Any, ...]]) -> None:
    rows, owners = unpacked(drawn)
    region = Region.of(TABLE, Constraints())
    for j, feature in enumerate(SCHEMA):
        cells = TABLE.values[owners].copy()
        cells[:, j] = rows[:, j]
        if feature.derived is not None:
            continue
        if not feature.numeric:
            cells[:, j] = np.clip(np.rint(cells[:, j]), 0, len(feature.levels) - 1)
        broken = np.logical_or.reduce(
            [region.violations(cells, owners)[kind] for kind in RULE_FREE if kind != "derived"]
        )
        for i, owner in enumerate(owners):
            found = faults(SCHEMA, record(TABLE.values[owner]), record(cells[i]))
            off_grid = feature.step is None and cells[i, j] != float(f"{cells[i, j]:.5e}")
            if not off_grid:
                assert broken[i] == bool(found), (feature.name, record(cells[i]), found)


CONSTRAINTS: list[dict[str, Any]] = [
    {"immutable": ["debt", "housing"]},
    {"direction": {"score": "increase", "income": "decrease", "education": "decrease"}},
    {"range": {"cards": (-1, 5), "score": (-0.5, None), "education": (0, 1)}},
    {"bounds": {"debt": (None, 500), "score": (0, 1), "education": (None, "school")}},
    {"max_changes": 2},
    {"people": {"p3": {"immutable": ["score"]}, "p4": {"max_changes": 1}}},
]


@pytest.mark.parametrize("given_", CONSTRAINTS, ids=[next(iter(given_)) for given_ in CONSTRAINTS])
def test_constraints_only_tighten(given_: dict[str, Any]) -> None:
    random = np.random.default_rng(0)
    owners = random.integers(0, 40, 3000)
    rows = TABLE.values[owners].copy()
    moves = random.random(rows.shape) < 0.2
    rows[moves] = TABLE.values[random.integers(0, 40, 3000)][moves]
    open_, tight = Region.of(TABLE, Constraints()), Region.of(TABLE, Constraints.of(given_))
    rows = open_.final_form(rows, owners)
    allowed, still = open_.allows(rows, owners), tight.allows(rows, owners)
    assert not (still & ~allowed).any()
    assert still.sum() < allowed.sum()
    made = tight.final_form(rows, owners)
    assert not any(tight.violations(made, owners)[kind].any() for kind in RULE_FREE if kind != "derived")
    fewer = tight.allows(made, owners)
    assert open_.allows(made, owners)[fewer].all()


def region(*features: Feature, rows: list[list[float]], rules: tuple[str, ...] = (), **constraints: Any) -> Region:
    schema = Schema(features, rules)
    frame = pd.DataFrame({f.name: [row[j] for row in rows] for j, f in enumerate(features)}).astype(float)
    return Region.of(Table.read(frame, schema), Constraints.of(constraints))


def test_a_person_off_the_grid_stays_there_until_moved() -> None:
    made = region(Feature("x", "real", step=1.0, direction="increase"), rows=[[10.4]])
    forms = made.final_form(np.array([[10.4], [10.6], [10.45], [9.0], [11.2]]), np.zeros(5, dtype=np.intp))
    assert forms[:, 0].tolist() == [10.4, 11.0, 10.4, 10.4, 11.0]


def test_a_number_that_rounds_to_a_special_code_does_not_become_it() -> None:
    made = region(Feature("x", "real", step=1.0, special={5: "five"}), rows=[[3.0]])
    forms = made.final_form(np.array([[5.2], [5.0], [6.2]]), np.zeros(3, dtype=np.intp))
    assert forms[:, 0].tolist() == [3.0, 3.0, 6.0]


def test_ranges_reach_as_far_as_they_say() -> None:
    made = region(Feature("x", "real", step=0.1, range=(-0.1, 0.1)), rows=[[0.7], [0.3]])
    far = made.final_form(np.array([[9.0], [-9.0], [9.0], [-9.0]]), np.array([0, 0, 1, 1]))
    assert far[:, 0].tolist() == [0.8, 0.6, 0.4, 0.2]
    assert made.allows(far, np.array([0, 0, 1, 1])).all()


def test_special_codes_are_left_only_by_their_transitions() -> None:
    feature = Feature("x", "count", special={-8: "no account", -9: "no record"}, transitions={-8: ("value", -9)})
    made = region(feature, rows=[[-8], [-9], [4]])
    rows, owners = np.array([[v] for v in (3.0, -9.0, -8.0)] * 3), np.repeat(np.arange(3), 3)
    assert made.final_form(rows, owners)[:, 0].tolist() == [3, -9, -8, -9, -9, -9, 3, 4, 4]
    assert made.frozen[:, 0].tolist() == [False, True, False]


def test_missing_cells_are_filled_only_where_they_may_be() -> None:
    nan = math.nan
    made = region(Feature("x", "real"), Feature("y", "real", fillable=True), rows=[[nan, nan], [1, 2]])
    forms = made.final_form(np.array([[5.0, 6.0], [nan, nan]]), np.array([0, 1]))
    assert same(forms, np.array([[nan, 6.0], [1.0, 2.0]]))


def test_derived_columns_follow_and_keep_their_bounds() -> None:
    made = region(
        Feature("a", "real"),
        Feature("b", "real"),
        Feature("r", "real", derived="a / b", bounds=(0, 2), step=0.01),
        Feature("s", "real", derived="r * 2"),
        rows=[[1.0, 3.0, 0.3333333, 9.0]],
    )
    rows, owners = np.array([[1.0, 3.0, 7, 7], [2.0, 3.0, 7, 7], [9.0, 3.0, 7, 7], [2.0, 0.0, 7, 7]]), np.zeros(4, int)
    forms = made.final_form(rows, owners)
    assert forms[0].tolist() == [1.0, 3.0, 0.3333333, 9.0]
    assert forms[1].tolist() == [2.0, 3.0, 0.67, 1.33333]
    assert made.allows(forms, owners).tolist() == [True, True, False, False]


def test_a_column_that_follows_keeps_its_ratio_or_else_its_difference() -> None:
    made = region(
        Feature("months", "count", special={98: "unknown"}, transitions={98: ("value",), "value": (98,)}),
        Feature("charge", "real", fillable=True),
        Feature("total", "real", follows="months * charge", step=0.01, bounds=(-500, 500)),
        Feature("tax", "real", follows="total / months"),
        rows=[[10, 5.0, 40.004, 4.0], [10, -5, 40, 4.0], [0, 5, 7, 4.0], [98, 5, 40, 4.0], [10, math.nan, 40, 4.0]],
    )

    def formed(i: int, months: float, charge: float) -> list[float]:
        row = made.final_form(np.array([[months, charge, 1e9, math.nan]]), np.array([i]))
        assert made.final_form(row, np.array([i])).tobytes() == row.tobytes()
        return [float(cell) for cell in row[0, 2:]]

    assert formed(0, 10, 5) == [40.004, 4.0]
    assert formed(0, 20, 5) == [80.01, 4.0]  # a discount of a fifth stays one; the tax follows what is not rounded
    assert formed(0, 10, 6) == [48.0, 4.8]
    assert formed(0, 5, 10) == [40.004, 8.0]
    assert formed(0, 10, -1) == [-20.0, -2.0]  # no ratio across zero: 60 less, and 6 less
    assert formed(1, 10, -4) == [50.0, 5.0]
    assert formed(2, 1, 5) == [12.0, 4.0]  # nothing is divided by no months: the tax stays
    assert formed(3, 10, 5) == formed(4, 10, 5) == [40.0, 4.0]
    assert formed(0, 98, 5) == [40.004, 4.0]
    rows = made.final_form(np.array([[11.0, 5, 0, 0], [200, 5, 0, 0]]), np.zeros(2, int))
    assert made.admits(rows, np.zeros(2, int)).tolist() == [True, False]  # 800 is out of bounds
    assert made.changed(rows, np.zeros(2, int)).sum(axis=1).tolist() == [1, 1]
    assert made.violations(rows, np.zeros(2, int))["derived"].tolist() == [False, True]
    rows[0, 2] += 0.01
    assert made.violations(rows, np.zeros(2, int))["derived"].tolist() == [True, True]


@pytest.mark.parametrize("how", ["derived", "follows"])
def test_a_computed_column_that_may_not_change_holds_what_it_is_computed_from(how: str) -> None:
    features = (Feature("a", "real"), Feature("b", "real"), Feature("c", "real", **{how: "2 * a"}))
    table = Table.read(pd.DataFrame({"a": [1.0], "b": [1.0], "c": [2.0]}), Schema(features))
    made = Region.of(table, Constraints(immutable=["c"]))
    assert made.frozen.tolist() == [[True, False, True]]
    assert made.final_form(np.array([[5.0, 5, 5]]), np.zeros(1, int)).tolist() == [[1, 5, 2]]


def test_outside_the_training_range_one_may_stay_and_come_back() -> None:
    table = Table.read(pd.DataFrame({"x": [12.5, 5.5]}), Schema((Feature("x", "real"),)))
    made = Region.of(table, Constraints(), (np.array([0.0]), np.array([10.0])))
    assert made.high[:, 0].tolist() == [12.5, 10.0]
    assert made.low[:, 0].tolist() == [0.0, 0.0]


def test_answers_stay_within_reach_and_a_row_beyond_it_may_stay_and_come_back() -> None:
    features = (
        Feature("x", "count", bounds=(0, 100), reach=(10, 50)),
        Feature("l", "ordinal", levels=("a", "b", "c", "d"), reach=("b", "c"), fillable=True),
        Feature("y", "real", derived="x / 2", reach=(None, 20)),
    )
    frame = pd.DataFrame({"x": [30, 80, 5], "l": ["b", "d", None], "y": [15.0, 40.0, 2.5]})
    made = Region.of(Table.read(frame, Schema(features)), Constraints())
    assert made.low[:, 0].tolist() == [10, 10, 5]
    assert made.high[:, 0].tolist() == [50, 80, 50]
    assert made.levels(1).tolist() == [[0, 1, 1, 0], [0, 1, 1, 1], [0, 1, 1, 0]]
    owners = np.array([0, 0, 1, 1, 2])
    rows = np.array([[90.0, 3, 0], [2, 0, 0], [80, 3, 0], [99, 0, 0], [0, 0, 0]])
    forms = made.final_form(rows, owners)
    assert forms[:, 0].tolist() == [50, 10, 80, 80, 5]
    assert made.admits(forms, owners).tolist() == [False, True, False, False, False]  # 50 / 2 is beyond 20


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_levels_to_avoid_are_kept_and_left_but_not_entered(kind: Any) -> None:
    level = Feature("l", kind, levels=("a", "?", "b"), avoid=("?",), transitions={"b": ("a", "?")}, fillable=True)
    table = Table.read(pd.DataFrame({"l": ["a", "?", "b", None]}), Schema((level,)))
    region = Region.of(table, Constraints())
    assert region.levels(0).tolist() == [[1, 0, 1], [1, 1, 1], [1, 0, 1], [1, 0, 1]]
    owners, rows = np.repeat(np.arange(4), 3), np.tile([0.0, 1, 2], 4)[:, None]
    for owner, row, broken in zip(owners, rows, region.violations(rows, owners)["transition"], strict=True):
        old, new = table.layout.value("l", table.values[owner, 0]), level.levels[int(row[0])]
        assert bool(faults(table.schema, {"l": old}, {"l": new})) == broken


def test_cells_with_nowhere_to_go_are_frozen() -> None:
    level = Feature("l", "categorical", levels=("a", "b"), transitions={"a": ()})
    schema = Schema((Feature("x", "count", direction="decrease"), level))
    table = Table.read(pd.DataFrame({"x": [0, 3], "l": ["a", "b"]}), schema)
    assert Region.of(table, Constraints()).frozen.tolist() == [[True, True], [False, False]]


@given(
    own=st.floats(0, 10).map(lambda x: round(x, 2)),
    low=st.floats(0, 2).map(lambda x: round(x, 2)),
    high=st.floats(0, 2).map(lambda x: round(x, 2)),
    step=st.sampled_from([1.0, 0.5, 0.25]),
)
def test_a_number_without_another_grid_value_within_its_range_is_stuck(
    own: float, low: float, high: float, step: float
) -> None:
    schema = Schema((Feature("x", "real", step=step, range=(-low, high)), Feature("y", "real")))
    region = Region.of(Table.read(pd.DataFrame({"x": [own], "y": [0.0]}), schema), Constraints())
    tried = np.arange(-10, 20, 0.05)
    rows = np.column_stack((tried, np.zeros_like(tried)))
    moves = region.final_form(rows, np.zeros(len(rows), dtype=np.intp))[:, 0] != own
    assert region.frozen[0, 0] == (not moves.any())
    unfrozen = replace(region, frozen=np.zeros_like(region.frozen))
    assert region.frozen[0, 0] == (unfrozen.final_form(rows, np.zeros(len(rows), dtype=np.intp))[:, 0] == own).all()


def test_a_pace_that_never_reaches_the_next_number_is_stuck() -> None:
    schema = Schema((Feature("loans", "count", pace=0.0088), Feature("cards", "count", pace=0.05)), max_months=24)
    table = Table.read(pd.DataFrame({"loans": [3], "cards": [3]}), schema)
    assert Region.of(table, Constraints()).frozen.tolist() == [[True, False]]


@pytest.mark.parametrize("kind", ["float32", "float16", "float32[pyarrow]"])
@given(own=st.floats(0.01, 6e4), goal=st.floats(0.01, 6e4), far=st.floats(0.01, 1e3), paced=st.booleans())
@example(own=1000.09, goal=6e4, far=100.0, paced=False)
def test_limits_hold_after_rounding_to_narrow_floats(
    own: float, goal: float, far: float, paced: bool, kind: str
) -> None:
    amount = Feature("amount", "real", bounds=(0, None), **({"pace": far / 3} if paced else {"range": (-far, far)}))
    frame = pd.DataFrame({"amount": [own]}).astype(kind)
    table = Table.read(frame, Schema((amount,)))
    region = Region.of(table, Constraints(max_months=3 if paced else None))
    row = region.final_form(np.array([[goal]]), np.array([0]))
    assert region.allows(row, np.array([0])).all()
    written = table.layout.frame(row)["amount"]
    assert written.dtype == frame["amount"].dtype
    assert abs(float(written[0]) - float(frame["amount"][0])) <= far * (1 + 1e-8)
