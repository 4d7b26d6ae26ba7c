"""A first guess at a schema."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attain.core.errors import DataError
from attain.datasets import load_german
from attain.schema import Feature, Schema
from attain.tables import Table

RANDOM = np.random.default_rng(0)
MANY = RANDOM.integers(0, 60, 500)
ORDERED = pd.Categorical(["low", "high"], ["low", "mid", "high"], ordered=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([True, False], Feature("x", "categorical", levels=(False, True)), id="booleans"),
        pytest.param([0, 1, 1], Feature("x", "categorical", levels=(0, 1)), id="0 and 1"),
        pytest.param(["yes", "no"], Feature("x", "categorical", levels=("no", "yes")), id="yes and no"),
        pytest.param([1, 2, 3, 4], Feature("x", "ordinal", levels=(1, 2, 3, 4)), id="few from 1 upward"),
        pytest.param(MANY, Feature("x", "count"), id="integers ≥ 0"),
        pytest.param([0, 2, 9], Feature("x", "count"), id="few with gaps"),
        pytest.param([5, 12_345, 7], Feature("x", "positive", step=1), id="large integers"),
        pytest.param(MANY * 100, Feature("x", "positive", step=100), id="hundreds"),
        pytest.param([-3, 4, 5], Feature("x", "real", step=1), id="negative integers"),
        pytest.param([0.25, 0.5, 1.0], Feature("x", "interval", bounds=(0, 1)), id="shares"),
        pytest.param([0.25, 0.5, 0.75], Feature("x", "positive"), id="fractions that may exceed 1"),
        pytest.param([0.5, 7.25, 31], Feature("x", "positive"), id="fractions from 0 upward"),
        pytest.param(np.arange(500) / 10, Feature("x", "positive", step=0.1), id="one decimal"),
        pytest.param([-0.5, 0.25], Feature("x", "real"), id="negative fractions"),
        pytest.param([-9, -8, *MANY], Feature("x", "count", special={-9: "", -8: ""}), id="codes among integers"),
        pytest.param([-9, -8, -3, 5, 70], Feature("x", "real", step=1), id="negative numbers are not codes"),
        pytest.param([1.0, np.nan, 2.0], Feature("x", "ordinal", levels=(1, 2)), id="integers with missing cells"),
        pytest.param(["b", None, "a"], Feature("x", "categorical", levels=("a", "b")), id="strings with missing cells"),
        pytest.param(ORDERED, Feature("x", "ordinal", levels=("low", "high")), id="ordered categories"),
        pytest.param(pd.Categorical([7, 9]), Feature("x", "categorical", levels=(7, 9)), id="categories of numbers"),
        pytest.param(pd.array([1, None, 2], "Int64"), Feature("x", "ordinal", levels=(1, 2)), id="nullable"),
        pytest.param(["a", 2, True], Feature("x", "categorical", levels=(True, 2, "a")), id="mixed"),
    ],
)
def test_a_column_is_guessed(values: Any, expected: Feature) -> None:
    frame = pd.DataFrame({"x": values})
    schema = Schema.infer(frame)
    assert schema["x"] == expected
    Table.read(frame, schema)


def test_a_name_can_say_percent() -> None:
    frame = pd.DataFrame({"percent_used": [0, 40, 100], "used %": [0.5, 99.5, 3], "pct": [1, 0, 1]})
    kinds = {feature.name: (feature.kind, feature.bounds) for feature in Schema.infer(frame)}
    assert kinds["percent_used"] == kinds["used %"] == ("interval", (0.0, 100.0))
    assert kinds["pct"][0] == "categorical"


def test_all_libraries_are_guessed_alike() -> None:
    frame = pd.DataFrame({"a": [1.5, -2.0, None], "b": ["x", "y", None], "c": [True, False, True], "d": [0, 5, 400]})
    expected = Schema.infer(frame, immutable=["a"])
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert Schema.infer(other, immutable="a") == expected
    enumerated = pl.DataFrame({"x": pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"]))})
    assert Schema.infer(enumerated)["x"].levels == ("b", "a")
    ordered = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["lo", "hi"]), ordered=True)
    assert Schema.infer(pa.table({"x": ordered}))["x"] == Feature("x", "ordinal", levels=("lo", "hi"))


def test_a_kind_that_is_given_is_used() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 0.25, 0.5], "c": ["lo", "hi", "lo"], "d": [0, 3, 50]})
    schema = Schema.infer(frame, kinds={"a": "count", "b": "real", "c": "ordinal", "d": "categorical"})
    assert [feature.kind for feature in schema] == ["count", "real", "ordinal", "categorical"]
    assert schema["d"].levels == (0, 3, 50)
    with pytest.raises(DataError, match=r"kinds\['c'\] is 'count', but the column holds 'lo'"):
        Schema.infer(frame, kinds={"c": "count"})


def test_an_array_gets_names_and_rules_are_taken_over() -> None:
    schema = Schema.infer(np.array([[1.5, 2.5], [0.5, 3.5]]), rules=["x0 <= x1"])
    assert schema.names == ("x0", "x1")
    assert schema.rules == ("x0 <= x1",)


def test_german_credit_is_guessed_as_a_person_would() -> None:
    X = load_german().X
    guessed = Schema.infer(X)
    for name in X.columns:
        if not pd.api.types.is_numeric_dtype(X[name]):
            assert not guessed[name].numeric, name
        elif X[name].nunique() > 10:
            assert guessed[name].kind in ("count", "positive"), name


def test_laws_are_found_and_held_unless_they_are_not_asked_for() -> None:
    random = np.random.default_rng(0)
    total = random.integers(0, 50, 900)
    frame = pd.DataFrame({"total": total, "part": random.binomial(total, 0.5), "other": random.integers(0, 50, 900)})
    laws = Schema.infer(frame).laws
    assert laws is not None
    assert [law.text for law in laws] == ["part <= total"]
    assert (laws[0].applies, laws[0].broken) == (900, 0)
    assert Schema.infer(frame, laws=False).laws is None
    assert Schema.infer(frame.head(50)).laws == ()


def test_a_text_that_differs_in_every_row_is_a_name_and_refused() -> None:
    people = pd.DataFrame({"id": [f"p{i}" for i in range(40)], "income": range(40)})
    with pytest.raises(DataError, match="column 'id' has a different string in every row, such as 'p0'"):
        Schema.infer(people)
    assert Schema.infer(people, kinds={"id": "categorical"})["id"].kind == "categorical"


def test_the_step_is_a_divisor_of_all_but_a_few_values_however_many_there_are() -> None:
    def step(values: Any) -> float | None:
        return Schema.infer(pd.DataFrame({"x": values}), laws=False)["x"].step

    values = 5.0 * np.arange(120_001)
    assert step(values) == 5
    values[-600:] += 1
    assert step(values) == 5
    values[-1200:] += 1
    assert step(values) == 1
    limits = RANDOM.integers(1, 60, 3000) * 10_000
    limits[:3] = 125_440
    assert step(limits) == 10_000
    incomes = RANDOM.integers(20_000, 90_000, 3000).astype(float)
    incomes[:6] = 94_774.36
    assert step(incomes) == 1
    assert step(np.where(RANDOM.random(3000) < 0.999, 0, incomes + 0.25)) is None  # zeros say nothing
    assert step(np.append(incomes[:100], 0.5)) == 0.01  # one of a hundred is not a few


def test_numbers_written_as_text_are_named_with_the_line_that_converts_them() -> None:
    prices = pd.DataFrame({"price": [f"{value:,} €" for value in range(900, 1000)]})
    with pytest.raises(DataError, match="'price' holds numbers written as text, such as '900 €'; convert them first: "):
        Schema.infer(prices)
