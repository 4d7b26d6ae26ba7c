"""Clocks and paces: known durations, and any final form against a second check that shares no code with it."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.schema import Constraints, Feature, Schema
from attain.tables import Region, RuleBook, Table
from attain.tables.rules import on_grid_below, on_grid_beyond
from tests.changes import faults

YEARS = Feature("years", "count", clock=1 / 12, bounds=(0, 90))
SINCE = Feature("since", "count", clock=True, special={-9: "never", 98: "unknown"})
USED = Feature("used", "interval", bounds=(0, 1), step=0.01, pace=0.05)
JOB = Feature("job", "categorical", levels=("none", "clerk"), pace=0.5)
GRADE = Feature("grade", "ordinal", levels=("low", "mid", "high"), pace=0.25)
FREE = Feature("free", "real", step=0.5)
SCHEMA = Schema((YEARS, SINCE, USED, JOB, GRADE, FREE))
PERSON = {"years": 33, "since": 3, "used": 0.8, "job": "none", "grade": "low", "free": 0.0}


def region(own: dict[str, Any] | None = None, schema: Schema = SCHEMA, **constraints: Any) -> Region:
    frame = pd.DataFrame([{**PERSON, **(own or {})}])[list(schema.names)]
    return Region.of(Table.read(frame, schema), Constraints.of(constraints))


def became(made: Region, months: float = 0, **changes: float) -> tuple[dict[str, float], float, int]:
    """The final form of a change after some months, how long it takes, and how many changes it counts as."""
    made = made.at(months)
    row = made.factuals.copy()
    for name, cell in changes.items():
        row[0, made.schema.position(name)] = cell
    row = made.final_form(row, np.array([0]))
    assert made.allows(row, np.array([0]))[0]
    differs = row[0] != made.factuals[0]
    differs &= ~(np.isnan(row[0]) & np.isnan(made.factuals[0]))
    cells = {name: float(row[0, j]) for j, name in enumerate(made.schema.names) if differs[j]}
    return cells, float(made.months(row, np.array([0]))[0]), int(made.changed(row, np.array([0])).sum())


@pytest.mark.parametrize(
    ("months", "changes", "cells", "number"),
    [
        (0, {}, {}, 0),
        (0, {"free": 1}, {"free": 1}, 1),
        (0, {"used": 0.5, "job": 1, "grade": 2}, {}, 0),
        (6, {"used": 0.5}, {"used": 0.5, "since": 9}, 1),
        (6, {"used": 0.49}, {"used": 0.5, "since": 9}, 1),
        (2, {"job": 1}, {"job": 1, "since": 5}, 1),
        (1, {"job": 1}, {"since": 4}, 0),
        (8, {"grade": 2}, {"grade": 2, "since": 11}, 1),
        (8, {"grade": 2, "job": 1, "used": 0.7}, {"grade": 2, "job": 1, "used": 0.7, "since": 11}, 3),
        (6, {}, {"since": 9}, 0),
        (12, {}, {"since": 15, "years": 34}, 0),
        (6, {"since": 90, "years": 40}, {"since": 9}, 0),
    ],
)
def test_clocks_stand_where_they_do_then_and_changes_go_as_far_as_there_is_time(
    months: float, changes: dict[str, float], cells: dict[str, float], number: int
) -> None:
    assert became(region(), months, **changes) == (cells, months, number)


def test_a_row_takes_the_least_months_that_are_right_for_its_clocks_and_changes() -> None:
    only_years = {"since": -9}  # 33 years until the twelfth month
    assert became(region(only_years), 11, used=0.7) == ({"used": 0.7}, 2, 1)
    assert became(region(only_years), 11, used=0.3) == ({"used": 0.3}, 10, 1)
    assert became(region(only_years), 13, used=0.7) == ({"used": 0.7, "years": 34}, 12, 1)
    assert became(region(only_years | {"years": None}), 30, used=0.7) == ({"used": 0.7}, 2, 1)


@pytest.mark.parametrize("since", [-9, 98])
def test_a_clock_in_a_special_state_stays(since: int) -> None:
    assert region({"since": since}).at(24).start[0, :2].tolist() == [35, since]
    assert np.isnan(region({"years": None}).at(24).start[0, 0])


def test_rows_may_have_months_of_their_own() -> None:
    frame = pd.DataFrame([PERSON, PERSON, {**PERSON, "since": 90}])
    made = Region.of(Table.read(frame, SCHEMA), Constraints()).at(np.array([0, 12, 12]))
    assert made.max_months.tolist() == [0, 12, 7]
    assert made.start[:, :2].tolist() == [[33, 3], [34, 15], [33, 97]]
    assert made.low[:, 2] == pytest.approx([0.8, 0.2, 0.45], abs=1e-5)
    rows, owners = made.start[[2, 1]], np.array([2, 1])
    assert made.after(rows, owners).max_months.tolist() == [7, 12]


def test_whoever_waits_has_a_clock_that_advanced_and_is_not_immutable() -> None:
    made = region(schema=Schema((YEARS, Feature("age", "count", clock=1 / 12, immutable=True))), own={"age": 40})
    rows, owners = np.array([[33.0, 40], [33, 41], [34, 41]]), np.zeros(3, dtype=np.intp)
    assert made.waits(rows, owners).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("own", "constraints", "longest"),
    [
        ({}, {}, 94),  # then the clock would show the code 98
        ({"since": -9}, {}, 57 * 12 + 11),
        ({"since": -9, "years": None}, {}, math.inf),
        ({}, {"max_months": 7}, 7),
        ({}, {"people": {0: {"max_months": 3}}}, 3),
        ({}, {"bounds": {"since": (None, 20)}}, 17),
        ({}, {"range": {"since": (None, 5)}}, 5),
        ({}, {"immutable": ["since"]}, 0),
        ({}, {"immutable": ["years"]}, 11),
        ({"years": 90}, {}, 11),
        ({}, {"direction": {"since": "decrease"}}, 0),
    ],
)
def test_a_change_takes_no_longer_than_every_clock_may_advance(
    own: dict[str, Any], constraints: dict[str, Any], longest: float
) -> None:
    made = region(own, **constraints)
    assert made.max_months.tolist() == [longest]
    assert became(made, math.inf, used=0, job=1, grade=2)[1] <= longest
    if longest < math.inf:
        assert made.start[0].tolist() == pytest.approx(made.at(longest + 5).start[0].tolist(), nan_ok=True)
        broken = made.violations(*(np.append(part, part, axis=0) for part in (made.start, np.array([0]))))
        assert not broken["months"].any()


def test_changes_that_cannot_be_done_in_time_are_out_of_reach() -> None:
    made = region(max_months=3)
    assert made.low[0, 2] == pytest.approx(0.65)
    assert made.high[0, 2] == pytest.approx(0.95)
    assert made.frozen[0].tolist() == [True, True, False, False, True, False]
    assert region(max_months=1).frozen[0, 3]
    assert region(max_months=0).frozen[0].tolist() == [True, True, True, True, True, False]


def test_rows_out_of_step_and_rows_that_take_too_long_are_refused() -> None:
    made, own = region(max_months=6), region().factuals
    wrong = np.repeat(own, 4, axis=0)
    wrong[0, 2] = 0.7  # the clock stands still
    wrong[1, :2] = 34, 9  # a year in six months
    wrong[2, 1:3] = 10, 0.5  # seven months
    wrong[3, 1:3] = 9, 0.5
    owners = np.zeros(4, dtype=np.intp)
    assert made.violations(wrong, owners)["months"].tolist() == [True, True, True, False]
    assert made.allows(wrong, owners).tolist() == [False, False, False, True]


def test_without_clocks_the_changes_alone_say_how_long_it_takes() -> None:
    schema = Schema((USED, JOB, FREE))
    assert became(region(schema=schema), math.inf, used=0.5, job=1) == ({"used": 0.5, "job": 1}, 6, 2)
    assert region(schema=schema, max_months=2).low[0, 0] == pytest.approx(0.7)
    plain = region(schema=Schema((FREE,)))
    assert became(plain, free=1) == ({"free": 1}, 0, 1)


def test_a_filled_cell_and_a_change_to_a_code_take_no_time() -> None:
    debt = Feature("debt", "real", pace=1, step=1, special={-1: "none"}, transitions={"value": (-1,)}, fillable=True)
    schema = Schema((SINCE, debt))
    for own, cell in ((8.0, -1.0), (math.nan, 5.0)):
        made = region({"debt": own}, schema)
        assert became(made, debt=cell) == ({"debt": cell}, 0, 1)
        assert became(region({"debt": 8.0}, schema), 3, debt=5) == ({"since": 6, "debt": 5}, 3, 1)


def test_what_is_computed_from_a_clock_advances_with_it() -> None:
    share = Feature("share", "real", derived="since / 10")
    made = region({"share": 0.3}, Schema((SINCE, USED, share))).at(6)
    assert made.start[0].tolist() == [9, 0.8, 0.9]
    row = made.factuals.copy()
    row[0, 1] = 0.5
    assert made.final_form(row, np.array([0]))[0].tolist() == [9, 0.5, 0.9]


def test_rules_hold_for_clocks_that_have_advanced() -> None:
    made = region(schema=Schema((SINCE, FREE), ("if since >= 6 then free >= 1",)))
    assert became(made, 2, free=-1)[0] == {"since": 5, "free": -1}
    row = np.array([[3, -1.0]])
    assert made.at(3).final_form(row, np.array([0])).tolist() == [[6, 1]]
    assert made.at(3).violations(made.at(3).start, np.array([0]))["if since >= 6 then free >= 1"].all()


def test_a_column_that_follows_a_law_has_time_to_do_so() -> None:
    schema = Schema((SINCE, Feature("a", "count"), Feature("b", "count", pace=2)))
    table = Table.read(pd.DataFrame({"since": [3], "a": [1], "b": [10]}), schema)
    law = "b = 10 * a"
    made = Region.of(table, Constraints(), book=RuleBook(schema, schema.with_laws([law]).laws))
    row = np.array([[3.0, 2.0, 10.0]])
    assert not made.at(4).admits(made.at(4).final_form(row, np.array([0])), np.array([0]))[0]
    made = made.at(5)
    final = made.final_form(row, np.array([0]))
    assert final.tolist() == [[8, 2, 20]]
    assert made.admits(final, np.array([0]))[0]
    assert made.allows(final, np.array([0]))[0]
    assert made.months(final, np.array([0])).tolist() == [5]


def test_a_clock_follows_no_law() -> None:
    schema = Schema((SINCE, Feature("a", "count")))
    book = RuleBook(schema, schema.with_laws(["since = 3 * a"]).laws)
    assert book.derivations == ()


def test_the_last_level_of_a_clock_has_no_end() -> None:
    lives = Feature("lives", "ordinal", levels=("new", "a year", "years"), clock=1 / 12)
    schema = Schema((lives, USED, FREE))
    assert became(region({"lives": "new"}, schema), 30) == ({"lives": 2}, 24, 0)
    assert became(region({"lives": "a year"}, schema), math.inf, used=0) == ({"lives": 2, "used": 0}, 16, 1)
    assert region({"lives": "years"}, schema).max_months.tolist() == [math.inf]
    assert became(region({"lives": "years"}, schema), math.inf, used=0, lives=0) == ({"used": 0}, 16, 1)
    assert region({"lives": "new"}, schema, bounds={"lives": (None, "a year")}).max_months.tolist() == [23]


def test_a_number_without_a_limit_goes_on_for_a_century() -> None:
    made = region(schema=Schema((Feature("since", "count", clock=True), USED)))
    assert made.start[0].tolist() == [1203, 0.8]


@pytest.mark.parametrize("months", [0, 2, 4, 7, 30])
def test_less_time_is_the_same_as_a_limit_on_it(months: int) -> None:
    for own in ({}, {"since": -9}, {"job": "clerk", "grade": "mid"}):
        less, limited = region(own).at(months), region(own, max_months=months)
        for name in ("start", "frozen", "max_months"):
            assert np.array_equal(getattr(less, name), getattr(limited, name)), name
        assert np.array_equal(less.low[:, 2:], limited.low[:, 2:])
        assert np.array_equal(less.high[:, 2:], limited.high[:, 2:])
        assert all(np.array_equal(less.states[j], limited.states[j]) for j in limited.states)
    assert region().at(months).months(region().factuals, np.array([0])).tolist() == [0]


CELLS = st.floats(-20, 120).map(lambda x: round(x, 3)) | st.integers(-10, 100).map(float) | st.just(math.nan)
DECIMALS = {high: st.floats(0, high).map(lambda x: round(x, 3)) for high in (1, 90, 1e5)}
OWN = st.fixed_dictionaries(
    {
        "years": st.none() | st.integers(0, 90) | DECIMALS[90],
        "since": st.integers(0, 110) | st.sampled_from([-9, 98]) | st.none(),
        "days": st.none() | DECIMALS[1e5],
        "used": DECIMALS[1],
        "job": st.sampled_from(["none", "clerk"]),
        "grade": st.sampled_from(["low", "mid", "high"]),
        "free": st.floats(-100, 100),
    }
)
RATES = st.sampled_from([1 / 12, 1.0, 0.3, 30.4, 1 / 7, 2.0])
PACES = st.sampled_from([0.01, 0.3, 1.0, 7.0])


@given(OWN, st.lists(CELLS, min_size=14, max_size=14), st.tuples(RATES, RATES, RATES, PACES, PACES), st.data())
def test_any_final_form_has_all_clocks_in_step_and_no_change_faster_than_its_pace(
    own: dict[str, Any], cells: list[float], rates: tuple[float, ...], data: st.DataObject
) -> None:
    schema = Schema(
        (
            Feature("years", "positive", clock=rates[0], step=data.draw(st.sampled_from([None, 1.0, 0.25]))),
            Feature("since", "count", clock=rates[1], special={-9: "never", 98: "unknown"}),
            Feature("days", "positive", clock=rates[2]),
            Feature("used", "interval", bounds=(0, 1), step=0.01, pace=rates[3]),
            Feature("job", "categorical", levels=("none", "clerk"), pace=rates[4]),
            Feature("grade", "ordinal", levels=("low", "mid", "high"), clock=0.3),
            FREE,
        ),
        max_months=data.draw(st.sampled_from([3, 40])),
    )
    table = Table.read(pd.DataFrame([own]).astype({"years": float, "since": float, "days": float}), schema)
    made, owners = Region.of(table, Constraints()).at(data.draw(st.integers(0, 45))), np.zeros(2, dtype=np.intp)
    rows = np.array(cells).reshape(2, 7)
    final = made.final_form(rows, owners)
    assert np.array_equal(made.final_form(final, owners), final, equal_nan=True)
    assert not any(broken.any() for broken in made.violations(final, owners).values())
    assert (made.months(final, owners) <= made.max_months).all()
    before = {
        name: table.layout.value(name, float(cell)) for name, cell in zip(schema.names, table.values[0], strict=True)
    }
    for row in final:
        after = {name: table.layout.value(name, float(cell)) for name, cell in zip(schema.names, row, strict=True)}
        assert not faults(schema, before, after), (before, after)
    again = made.after(final, owners)
    assert (again.max_months == made.months(final, owners)).all()
    assert np.array_equal(again.final_form(final, np.arange(2)), final, equal_nan=True)
    assert np.array_equal(made.final_form(table.values, owners[:1]), made.start, equal_nan=True)


@given(st.floats(1e-3, 1e9), st.none() | st.sampled_from([1.0, 0.01, 0.3, 25.0]))
def test_the_grid_has_a_value_below_and_one_beyond(value: float, step: float | None) -> None:
    below, beyond = (float(side(np.array([value]), step)[0]) for side in (on_grid_below, on_grid_beyond))
    spacing = step if step is not None else 10.0 ** (math.floor(math.log10(value)) - 5)
    assert below <= value + 1e-5 * spacing
    assert beyond > value
    assert beyond - below <= 1.01 * spacing


def test_an_immutable_clock_advances_unless_a_call_holds_it() -> None:
    aged = Schema((Feature("age", "count", clock=1 / 12, immutable=True), SINCE, USED, FREE))
    assert became(region({"age": 40}, aged), 12, used=0.2, age=45)[0] == {"age": 41, "since": 15, "used": 0.2}
    held = region({"age": 40}, aged, immutable=["age"])
    assert held.max_months.tolist() == [11]
    assert became(held, 12, used=0.2) == ({"since": 14, "used": 0.25}, 11, 1)
    by_months = Schema((Feature("age", "real", clock=1, immutable=True), USED, FREE))
    made = region({"age": 40.5}, by_months, immutable=["age"])
    assert made.max_months.tolist() == [0]
    assert became(made, 12, used=0.2, free=1) == ({"free": 1}, 0, 1)


def test_a_pace_is_not_passed_by_rounding_to_six_digits() -> None:
    """24 months at this pace are 9.999996: 10, the next number of six digits, takes a 25th."""
    debt = Schema((Feature("debt", "real", pace=9.999996 / 24),))
    made = region({"debt": 0.0}, debt)
    assert became(made, 24, debt=12) == ({"debt": 9.99999}, 24, 1)
    assert became(made, 25, debt=10) == ({"debt": 10}, 25, 1)
