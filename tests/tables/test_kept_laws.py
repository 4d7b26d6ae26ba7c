"""Laws in a region: kept by answers, followed by computed columns, and not asked of rows that break them themselves."""

import math
from typing import Any

import numpy as np
import pandas as pd

from attain.schema import Constraints, Feature, Schema
from attain.schema.laws import Law
from attain.tables import Region, RuleBook, Table

NAN = math.nan
SCHEMA = Schema(
    (
        Feature("a", "count", bounds=(0, 20)),
        Feature("b", "count", bounds=(0, 20), special={-9: "none"}),
        Feature("total", "count"),
        Feature("school", "categorical", levels=("none", "basic", "high")),
        Feature("years", "count", bounds=(0, 20)),
        Feature("job", "categorical", levels=("no", "yes")),
    )
)
YEARS = "years = table(school, {none: 0, basic: 9, high: 12})"


def region(rows: list[list[float]], *laws: str, schema: Schema = SCHEMA, **constraints: Any) -> Region:
    values = np.array(rows, dtype=np.float64)
    frame = pd.DataFrame(values, columns=list(schema.names))
    for name in ("school", "job"):
        if name in schema.names:
            frame[name] = [schema[name].levels[int(code)] for code in frame[name]]
    book = RuleBook(schema, [Law(law) for law in laws])
    return Region.of(Table.read(frame, schema), Constraints.of(constraints), book=book)


def final(made: Region, *rows: list[float]) -> list[list[float]]:
    return made.final_form(np.array(rows, dtype=np.float64), np.zeros(len(rows), dtype=np.intp)).tolist()


def test_an_order_pulls_its_partner_along() -> None:
    made = region([[3, 5, 0, 0, 0, 0]], "a <= b")
    assert final(made, [8, 5, 0, 0, 0, 0], [3, 1, 0, 0, 0, 0]) == [[8, 8, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]]


def test_a_partner_that_may_not_move_stops_the_move() -> None:
    made = region([[3, 5, 0, 0, 0, 0]], "a <= b", immutable=["b"])
    assert final(made, [8, 5, 0, 0, 0, 0]) == [[5, 5, 0, 0, 0, 0]]


def test_a_column_that_a_law_determines_follows() -> None:
    made = region([[0, 0, 0, 0, 0, 0]], YEARS)
    assert final(made, [0, 0, 0, 2, 5, 0], [0, 0, 0, 0, 9, 0]) == [[0, 0, 0, 2, 12, 0], [0, 0, 0, 0, 0, 0]]
    assert made.frozen.tolist() == [[False, False, False, False, True, False]]


def test_an_immutable_column_holds_what_its_parts_are_computed_from() -> None:
    chain = (Feature("a", "count"), Feature("b", "count", derived="2 * a"), Feature("c", "count", derived="2 * b"))
    assert region([[1, 2, 4]], schema=Schema(chain), immutable=["c"]).frozen.all()


def test_a_sum_follows_its_parts() -> None:
    made = region([[1, 2, 3, 0, 0, 0]], "total = a + b")
    assert final(made, [4, 2, 3, 0, 0, 0]) == [[4, 2, 6, 0, 0, 0]]
    assert final(made, [4, -9, 3, 0, 0, 0])[0][2] == 6  # into a special code is not allowed, so b stays


def test_a_column_follows_a_rounded_product_on_its_own_grid() -> None:
    steps = {"debt": 1, "income": 1, "ratio": 0.01}
    schema = Schema(tuple(Feature(name, "positive", step=step) for name, step in steps.items()))
    made = region([[50, 300, 0.17]], "abs(ratio - debt / income) <= 0.005", schema=schema)
    (row,) = final(made, [40, 300, 0.17])
    assert row == [40, 300, 0.13]
    assert made.allows(np.array([row]), np.zeros(1, dtype=int))[0]
    exact = region([[50, 300, 1 / 6]], "ratio = debt / income", schema=schema.change("ratio", step=None))
    (row,) = final(exact, [40, 300, 1 / 6])
    assert row == [40, 300, 0.133333]  # six digits, as every new value without a step
    assert exact.allows(np.array([row]), np.zeros(1, dtype=int))[0]


def test_what_follows_an_immutable_column_or_may_not_move_itself_holds_what_it_follows() -> None:
    fixed = SCHEMA.change("years", immutable=True)
    made = region([[0, 0, 0, 1, 9, 0]], YEARS, schema=fixed)
    moved = np.array([[0, 0, 0, 2, 9, 0.0]])
    assert not made.allows(made.final_form(moved, np.zeros(1, dtype=int)), np.zeros(1, dtype=int))[0] or (
        final(made, [0, 0, 0, 2, 9, 0]) == [[0, 0, 0, 1, 9, 0]]
    )
    held = region([[0, 0, 0, 1, 9, 0]], YEARS, immutable=["years"])
    assert final(held, [0, 0, 0, 2, 9, 0]) == [[0, 0, 0, 1, 9, 0]]


def test_the_column_with_the_finest_grid_follows_whatever_side_it_is_on() -> None:
    schema = Schema(
        (Feature("debt", "positive", step=10), Feature("income", "positive", step=50), Feature("ratio", "positive"))
    )
    for law in ("debt = income * ratio", "ratio = debt / income", "income = debt / ratio"):
        made = region([[100, 1000, 0.1]], law, schema=schema)
        assert made.frozen.tolist() == [[False, False, True]]
        assert final(made, [200, 800, 0.7]) == [[200, 800, 0.25]]
    parts = Schema(tuple(Feature(name, "count") for name in ("total", "rent", "food")))
    assert final(region([[5, 3, 2]], "rent = total - food", schema=parts), [9, 3, 4]) == [[9, 5, 4]]


def test_levels_lead_and_numbers_follow() -> None:
    made = region([[0, 0, 0, 1, 9, 0]], "school = table(years, {0: none, 9: basic, 12: high})", YEARS)
    assert final(made, [0, 0, 0, 1, 12, 0], [0, 0, 0, 2, 9, 0]) == [[0, 0, 0, 1, 9, 0], [0, 0, 0, 2, 12, 0]]


def test_two_laws_that_determine_each_other_let_one_lead() -> None:
    made = region([[0, 0, 0, 1, 9, 0]], YEARS, "school = table(years, {0: none, 9: basic, 12: high})")
    assert final(made, [0, 0, 0, 2, 9, 0]) == [[0, 0, 0, 2, 12, 0]]
    laws = (YEARS, "school = table(years, {0: none, 9: basic, 12: high})")
    fixed = region([[0, 0, 0, 1, 9, 0]], *laws, schema=SCHEMA.change("years", immutable=True))
    assert final(fixed, [0, 0, 0, 2, 9, 0]) == [[0, 0, 0, 1, 9, 0]]


def test_a_row_that_breaks_a_law_itself_may_go_on_but_not_break_it_by_more() -> None:
    made = region([[9, 5, 0, 0, 0, 0]], "a <= b", "if job = no then school = none")
    owners = np.zeros(4, dtype=np.intp)
    rows = np.array([[9, 5, 1, 0, 0, 0], [8, 5, 0, 0, 0, 0], [10, 5, 0, 0, 0, 0], [9, 9, 0, 0, 0, 0]], dtype=float)
    assert made.tolerates(rows, owners).all(axis=1).tolist() == [True, True, False, True]
    assert made.allows(rows, owners).tolist() == [True, True, False, True]
    with_job = region([[0, 0, 0, 2, 0, 0]], "if job = no then school = none")
    rows = np.array([[5, 0, 0, 2, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1]], dtype=float)
    assert with_job.tolerates(rows, owners).all(axis=1).tolist() == [True, False, True, True]


def test_a_rule_is_asked_of_everybody() -> None:
    strict = Schema(SCHEMA.features, ("a <= b",))
    made = region([[9, 5, 0, 0, 0, 0]], schema=strict)
    assert not made.tolerates(np.array([[9, 5, 1, 0, 0, 0.0]]), np.zeros(1, dtype=int)).all()


def test_a_follower_keeps_its_own_limits() -> None:
    made = region([[0, 0, 0, 1, 9, 0]], YEARS, direction={"years": "increase"})
    owners = np.zeros(2, dtype=np.intp)
    rows = made.final_form(np.array([[0, 0, 0, 0, 9, 0], [0, 0, 0, 2, 9, 0]], dtype=float), owners)
    assert made.admits(rows, owners).tolist() == [False, True]
    assert made.allows(rows, owners).tolist() == [False, True]


def test_a_candidate_takes_what_a_broken_law_is_about_from_its_guide() -> None:
    made = region([[0, 0, 0, 0, 0, 0]], "if school = high then job = yes", "if job = yes then a >= 3")
    guide, rows = np.array([[4, 0, 0, 2, 0, 1.0]]), np.array([[0, 0, 0, 2, 0, 0.0]])
    assert made.final_form(rows, np.zeros(1, dtype=int), guide).tolist() == guide.tolist()
    assert final(made, [0, 0, 0, 2, 0, 0]) == [[3, 0, 0, 2, 0, 1]]  # without one, as little as the laws ask for


def test_taking_back_one_of_two_tied_changes_takes_back_both() -> None:
    made = region([[0, 0, 0, 0, 0, 0]], "if job = no then school not in (basic, high)")
    assert final(made, [0, 0, 0, 2, 0, 0]) == [[0, 0, 0, 0, 0, 0]]
