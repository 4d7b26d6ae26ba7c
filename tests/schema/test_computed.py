"""Columns that look computed from others: formulas made here are found, with rounding and noise; nothing else is."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attain
from attain import Feature, Schema
from attain.schema.language import parse_expression
from tests.counting import calls_of

RANDOM = np.random.default_rng(0)
N = 1000
A, B, C = (np.round(RANDOM.gamma(2, 100, N), 2) for _ in range(3))
INCOME = np.round(RANDOM.lognormal(8, 0.5, N))
AMOUNT = np.round(INCOME * RANDOM.lognormal(0, 0.6, N))
HEIGHT = np.round(RANDOM.normal(1.72, 0.1, N), 2)
WEIGHT = np.round(22 * HEIGHT**2 * RANDOM.lognormal(0, 0.2, N), 1)
MONTHS = RANDOM.integers(0, 73, N)
CHARGE = np.round(RANDOM.uniform(18, 118, N), 2)
NOISE = RANDOM.lognormal(0, 0.02, N)
OTHERS = {"x": RANDOM.gamma(2, 100, N), "y": RANDOM.normal(size=N), "z": RANDOM.integers(0, 30, N)}


def proposed(columns: dict[str, Any], schema: Schema | None = None) -> dict[str, str]:
    return {one.column: one.line for one in attain.laws.propose(pd.DataFrame(OTHERS | columns), schema)}


@pytest.mark.parametrize(
    ("inputs", "value", "line"),
    [
        ({"amount": AMOUNT, "income": INCOME}, np.round(AMOUNT / INCOME, 3), 'derived = "amount / income"'),
        ({"weight": WEIGHT, "height": HEIGHT}, np.round(WEIGHT / HEIGHT**2, 1), 'derived = "weight / height ** 2"'),
        ({"a": A}, np.round(A**2, 1), 'derived = "a ** 2"'),
        ({"a": A, "b": B, "c": C}, A * B / C, 'derived = "a * b / c"'),
        ({"a": A, "b": B, "c": C}, np.round(A + B + C, 2), 'derived = "a + b + c"'),
        ({"a": A, "b": B, "c": C}, np.round((A + B + C) / 3, 2), 'derived = "(a + b + c) / 3"'),
        ({"a": A, "b": B}, np.round(A - B, 2), 'derived = "a - b"'),
        ({"a": A}, np.round(0.05 * A, 2), 'derived = "0.05 * a"'),
        ({"a": A, "b": B}, np.round(0.2 * (A + B), 2), 'derived = "0.2 * (a + b)"'),
        ({"my a": A, "b": B}, np.round(A * B, 2), 'derived = "`my a` * b"'),
        ({"months": MONTHS, "charge": CHARGE}, np.round(MONTHS * CHARGE * NOISE, 2), 'follows = "months * charge"'),
        ({"a": A, "b": B, "c": C}, np.round((A + B + C) * NOISE, 2), 'follows = "a + b + c"'),
        ({"a": A}, np.round(3.1 * A**2 * NOISE, 1), 'follows = "3.1 * a ** 2"'),
    ],
)
def test_what_a_column_is_put_together_from_is_proposed(inputs: dict[str, Any], value: Any, line: str) -> None:
    assert proposed({**inputs, "computed": value}) == {"computed": line}


def test_gaps_and_codes_are_no_numbers_and_the_figures_are_of_rows_that_were_not_fitted() -> None:
    total = np.round(A + B, 2)
    total[::5], a = -9.0, np.where(np.arange(N) % 7 == 0, np.nan, A)
    (one,) = attain.laws.propose(pd.DataFrame({"a": a, "b": B, "total": total}))
    assert (one.column, one.expression, one.exact, one.within) == ("total", "a + b", True, 1.0)
    assert 280 < one.rows < 400
    assert one.sentence == "total looks computed: a + b (100 % of people are equal to it up to rounding)."
    parse_expression(one.expression)


def test_the_shares_are_those_of_the_noise() -> None:
    value = np.where(np.arange(N) % 10 == 0, 0.7, 1.0) * A * B
    (one,) = attain.laws.propose(pd.DataFrame({"a": A, "b": B, "value": value}))
    assert not one.exact
    assert (one.column, one.line) == ("value", 'follows = "a * b"')
    assert one.close == pytest.approx(0.9, abs=0.03)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 0.9, 0.99]), st.sampled_from([60, 500]))
def test_nothing_is_proposed_for_columns_that_are_random_or_merely_correlated(seed: int, rho: float, n: int) -> None:
    random = np.random.default_rng(seed)
    z = np.sqrt(rho) * random.normal(size=(n, 1)) + np.sqrt(1 - rho) * random.normal(size=(n, 8))
    for values in (z, 100 + 10 * z, np.exp(z)):
        assert attain.laws.propose(pd.DataFrame(values).add_prefix("x")) == ()


def test_only_columns_that_a_search_may_change_are_proposed() -> None:
    columns = pd.DataFrame({"a": A, "b": B, "total": np.round(A + B, 2)})
    kinds = [Feature("a", "positive", immutable=True), Feature("b", "positive", pace=10)]
    for more in ({"immutable": True}, {"clock": 1}, {"pace": 1}, {"derived": "a + b"}, {"follows": "a"}):
        schema = Schema((*kinds, Feature("total", "positive", step=0.01, **more)))  # type: ignore[arg-type]
        assert attain.laws.propose(columns, schema) == ()
    schema = Schema((*kinds, Feature("total", "positive", step=0.01)))
    (one,) = attain.laws.propose(columns, schema)
    assert schema.change(one.column, derived=one.expression)["total"].computed == "a + b"


def test_the_order_of_rows_does_not_matter_and_no_proposal_depends_on_another_that_depends_on_it() -> None:
    columns = pd.DataFrame({"a": A, "b": B, "sum": A + B, "mean": (A + B) / 2, "twice": 2 * (A + B), **OTHERS})
    found = attain.laws.propose(columns)
    assert attain.laws.propose(columns[::-1]) == found
    assert len(found) == 3
    schema = Schema.infer(columns, laws=False)
    for one in found:
        schema = schema.change(one.column, derived=one.expression)  # refuses a cycle


@pytest.mark.parametrize("columns", [{"a": [1.0] * 90, "b": [1.0] * 90}, {"a": range(90)}, {"a": [1, 2], "b": [2, 4]}])
def test_tables_in_which_there_is_nothing_to_see(columns: dict[str, Any]) -> None:
    assert attain.laws.propose(pd.DataFrame(columns)) == ()


def test_columns_that_go_together_are_not_all_tried_with_each_other() -> None:
    values = np.exp(0.9 * RANDOM.normal(size=(2_000, 1)) + 0.1 * RANDOM.normal(size=(2_000, 25)))
    frame = pd.DataFrame(values).add_prefix("x")
    schema = Schema.infer(frame, laws=False)
    calls = [
        calls_of(lambda n=n: attain.laws.propose(frame.iloc[:, :n], Schema(schema.features[:n]))) for n in (12, 25)
    ]
    assert calls[1] < 3 * calls[0]  # in proportion to the columns, not to their pairs
