"""Frames as they come: each gives a result, or a sentence that names the column or the parameter.

Never an error from inside pandas, polars, pyarrow or numpy.
"""

import datetime
import decimal
import math
from collections.abc import Callable
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attain import AttainError, Counterfactuals, Feature, GrowingSpheres, Model, Schema, Status
from attain.core.errors import DataError
from attain.core.frames import library_of
from attain.results import text
from attain.tables import Table
from attain.testing.explainer import digest

SCHEMA = Schema(
    (
        Feature("income", "positive"),
        Feature("cards", "count", bounds=(0, 20)),
        Feature("housing", "categorical", levels=("rents", "owns")),
        Feature("owner", "categorical", levels=(False, True)),
        Feature("score", "real", special={-9: "none"}),
    )
)


def people(rows: int = 6) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "income": np.round(random.lognormal(7, 0.5, rows), 1),
            "cards": random.integers(0, 9, rows),
            "housing": random.choice(["rents", "owns"], rows),
            "owner": random.random(rows) < 0.5,
            "score": np.round(random.normal(size=rows), 2),
        }
    )


def decide(X: pd.DataFrame) -> np.ndarray:
    merit = X["income"].to_numpy(float, na_value=0.0) / 1000 + X["score"].fillna(0).to_numpy(float)
    return np.where(merit > 2, "good", "bad")


@cache
def fitted() -> GrowingSpheres:
    X = people(60)
    return GrowingSpheres(SCHEMA, budget=300, samples=40).fit(X, decide(X))


def explain(X: Any, **arguments: Any) -> Counterfactuals:
    model = Model(decide, accepts="pandas", classes=["bad", "good"])
    result = fitted().explain(model, X, target="good", **arguments)
    assert len(result) == len(result.table.values)
    bad = list(result.unreadable)
    assert bad == [i for i, status in enumerate(result.statuses) if status is Status.UNREADABLE]
    for made in (result.frame, result.options, result.changes, result.status, result.figures):
        assert made is not None
    with patch.object(text, "_DRAWN", 1):  # drawing takes most of the time
        assert result._repr_html_()
    again = Counterfactuals.from_json(result.to_json())
    assert list(again.reasons) == list(result.reasons)
    if not bad:
        return result
    # everybody else is answered as if the bad rows were not there, and errors="raise" says what is wrong with them
    others = result.table.readable
    alone = fitted().explain(
        model, library_of(result.table.source).take(result.table.source, others), target="good", **arguments
    )
    assert digest(alone) == digest(result, others)
    with pytest.raises(DataError) as caught:
        fitted().explain(model, X, target="good", errors="raise", **arguments)
    assert str(caught.value).startswith(result.unreadable[bad[0]])
    raise caught.value


def with_column(name: str, values: Any, rows: int = 6) -> pd.DataFrame:
    return people(rows).assign(**{name: values})


def with_cell(name: str, value: Any) -> pd.DataFrame:
    """People; the second one has this value in this column."""
    frame = people().astype({name: object})
    frame.iat[1, frame.columns.get_loc(name)] = value  # noqa: PD009
    return frame


def infer(frame: Any, **arguments: Any) -> Schema:
    schema = Schema.infer(frame, **arguments)
    assert len(Table.read(frame, schema)) >= 1
    assert str(schema)
    return schema


def fit(X: Any, y: Any = None, schema: Schema | None = SCHEMA) -> GrowingSpheres:
    return GrowingSpheres(schema, budget=300).fit(X, y)


def fit_and_explain(X: pd.DataFrame, name: str) -> None:
    """A whole round with a schema that was guessed, on a model that looks at one column of numbers."""
    middle = float(X[name].median())
    model = Model(lambda frame: np.where(frame[name] > middle, 1, 0), accepts="pandas", classes=[0, 1])
    result = GrowingSpheres(budget=300, samples=40).fit(X).explain(model, X, target=1)
    assert result.frame.shape == X.shape
    assert str(result)


DAY = datetime.date(2020, 1, 31)
NAMES = pd.Index([f"p{k}" for k in range(1_000_000)])
MILLION = pd.Categorical.from_codes(np.arange(1_000_000), NAMES)
Action = Callable[[], Any]

CASES: list[tuple[str, Action, tuple[str, ...] | None]] = [
    # shapes
    ("empty frame to explain", lambda: explain(people().iloc[:0]), None),
    ("empty polars frame to explain", lambda: explain(pl.from_pandas(people()).head(0)), None),
    ("empty arrow table to explain", lambda: explain(pa.Table.from_pandas(people()).slice(0, 0)), None),
    ("empty frame to fit", lambda: fit(people().iloc[:0]), ("X has 0 rows",)),
    ("empty frame to infer", lambda: infer(people().iloc[:0]), ("'income'", "no value")),
    ("one row to explain", lambda: explain(people(1)), None),
    ("one row to fit", lambda: fit(people(1)), ("X has 1 rows",)),
    ("no columns to infer", lambda: infer(pd.DataFrame(index=range(3))), ("no columns",)),
    ("no columns to explain", lambda: explain(pd.DataFrame(index=range(3))), ("X lacks", "'income'")),
    ("a series for a frame", lambda: explain(people()["income"]), ("X is a Series",)),
    ("a polars series for a frame", lambda: explain(pl.Series([1])), ("X is a Series",)),
    ("a lazy polars frame", lambda: explain(pl.from_pandas(people()).lazy()), ("X is a LazyFrame",)),
    ("a list for a frame", lambda: explain([[1, 2]]), ("X is a list",)),
    ("a dictionary for a frame", lambda: explain({"income": [1.0]}), ("X is a dict",)),
    ("None for a frame", lambda: explain(None), ("X is a NoneType",)),
    ("a text for a frame", lambda: infer("people.csv"), ("frame is a str",)),
    (
        "an array of one dimension",
        lambda: explain(np.ones(5)),
        (
            "X must be",
            "got 1 dimensions",
        ),
    ),
    (
        "an array of three dimensions",
        lambda: explain(np.ones((2, 5, 1))),
        (
            "X must be",
            "got 3 dimensions",
        ),
    ),
    ("an array without dimensions", lambda: infer(np.array(3.0)), ("got 0 dimensions",)),
    ("an array of too few columns", lambda: explain(np.ones((2, 4))), ("X has 4 columns", "5")),
    ("an array of objects", lambda: explain(people().to_numpy(dtype=object)), None),
    ("an array of objects to infer", lambda: infer(people().to_numpy(dtype=object)), None),
    ("an array of complex numbers", lambda: explain(np.ones((2, 5), complex)), ("X must hold real numbers",)),
    ("an array of strings for numbers", lambda: explain(np.full((2, 5), "a")), ("'income'", "'a'")),
    (
        "an array of records",
        lambda: explain(people().to_records(index=False)),
        (
            "X must be",
            "got 1 dimensions",
        ),
    ),
    # columns
    ("two columns of one name", lambda: explain(pd.concat([people(), people()[["cards"]]], axis=1)), ("'cards'",)),
    ("two columns of one name to infer", lambda: infer(pd.concat([people()] * 2, axis=1)), ("'income'",)),
    (
        "two columns of one name in arrow",
        lambda: explain(pa.Table.from_pandas(people()).append_column("cards", pa.array(range(6)))),
        ("'cards'",),
    ),
    ("columns in another order", lambda: explain(people()[sorted(people().columns)]), None),
    ("columns in another order in polars", lambda: explain(pl.from_pandas(people()[people().columns[::-1]])), None),
    ("a further column", lambda: explain(people().assign(extra=1)), ("'extra'", "drop them")),
    ("a column is not there", lambda: explain(people().drop(columns="cards")), ("X lacks", "'cards'")),
    ("columns called by numbers", lambda: explain(people().set_axis(range(5), axis=1)), ("0", "rename")),
    ("columns called by numbers to infer", lambda: infer(people().set_axis(range(5), axis=1)), ("0", "rename")),
    (
        "columns of several levels",
        lambda: explain(people().set_axis(pd.MultiIndex.from_product([["a"], people().columns]), axis=1)),
        ("('a', 'income')",),
    ),
    ("a column called None", lambda: infer(people().set_axis([None, *"abcd"], axis=1)), ("not strings",)),
    ("a column with an empty name", lambda: infer(people().rename(columns={"cards": ""})), ("''",)),
    ("immutable names nothing", lambda: infer(people(), immutable=["agee"]), ("immutable", "'agee'")),
    ("kinds name nothing", lambda: infer(people(), kinds={"agee": "real"}), ("kinds", "'agee'")),
    ("a kind there is not", lambda: infer(people(), kinds={"cards": "whole"}), ("kinds['cards']", "'whole'")),
    (
        "Unicode and HTML in names",
        lambda: fit_and_explain(
            people(30).rename(columns={"income": "Löhne 💶<b>", "cards": "'a' & \"b\""}), "Löhne 💶<b>"
        ),
        None,
    ),
    ("columns called person and option", lambda: person_and_option(), None),
    ("columns called like expressions", lambda: infer(people().rename(columns={"cards": "if", "score": "a+b"})), None),
    ("backticks and newlines in names", lambda: infer(people().rename(columns={"cards": "a`b\nc"})), None),
    # rows and labels
    ("an index with repetitions", lambda: explain(people().set_axis([0, 0, 1, 1, 1, 2])), None),
    (
        "an index of several levels",
        lambda: explain(people().set_index(pd.MultiIndex.from_product([[1, 2], list("abc")]))),
        None,
    ),
    (
        "an index of dates",
        lambda: explain(people().set_index(pd.date_range("2020-01-01", periods=6, tz="Asia/Tokyo"))),
        None,
    ),
    ("an index of missing labels", lambda: explain(people().set_axis([None, np.nan, 1, 2, 3, 4])), None),
    # missing
    ("a column all missing to explain", lambda: explain(with_column("income", np.nan)), None),
    ("a column all missing to infer", lambda: infer(with_column("income", np.nan)), ("'income'", "no value")),
    ("a column of None to infer", lambda: infer(with_column("income", None)), ("'income'", "no value")),
    ("a column of nulls in polars", lambda: explain(pl.from_pandas(people()).with_columns(score=pl.lit(None))), None),
    ("a column of nulls in arrow", lambda: explain(arrow_column("score", pa.nulls(6))), None),
    ("a column all missing to fit", lambda: fit(with_column("income", np.nan, 30).assign(cards=3)), None),
    ("a row all missing", lambda: explain(people().astype(object).where(pd.Series(range(6)) != 2, axis=0)), None),
    ("everything missing", lambda: explain(people().astype(object).where(people().isna())), None),
    ("NA in a column of objects", lambda: explain(with_cell("score", pd.NA)), None),
    ("NaT in a column of numbers", lambda: explain(with_cell("score", pd.NaT)), None),
    ("nullable types with NA", lambda: explain(people().convert_dtypes().mask(people()["cards"] > 6)), None),
    # numbers
    ("infinity", lambda: explain(with_cell("income", math.inf)), ("'income'", "row 1", "inf")),
    ("minus infinity", lambda: explain(with_column("score", -math.inf)), ("'score'", "row 0", "-inf", "5 more")),
    ("infinity to infer", lambda: infer(with_cell("income", math.inf)), ("'income'", "infinite")),
    ("a negative count", lambda: explain(with_cell("cards", -1)), ("'cards'", "row 1", "-1", "lower bound")),
    ("a fraction in a count", lambda: explain(with_cell("cards", 1.5)), ("'cards'", "row 1", "1.5", "integer")),
    ("a number above its bound", lambda: explain(with_cell("cards", 21)), ("'cards'", "21", "upper bound")),
    ("a special code where there is none", lambda: explain(with_cell("income", -9)), ("'income'", "-9", "special")),
    ("a special code", lambda: explain(with_cell("score", -9)), None),
    ("huge numbers", lambda: explain(with_column("income", 1e308)), ("'income'", "row 0", "1e+308", "larger unit")),
    ("huge numbers to fit", lambda: fit(with_column("income", 1e308)), ("'income'", "larger unit")),
    (
        "numbers as large as can be",
        lambda: fit_and_explain(pd.DataFrame({"a": 1e150 * np.linspace(-1, 1, 30)}), "a"),
        None,
    ),
    ("numbers beyond float", lambda: explain(with_cell("income", 10**400)), ("'income'", "row 1")),
    ("numbers beyond float to infer", lambda: infer(with_cell("income", 10**400)), ("'income'",)),
    ("tiny numbers", lambda: fit_and_explain(pd.DataFrame({"a": np.arange(30) * 5e-324}), "a"), None),
    ("negative zero", lambda: explain(with_column("score", -0.0)), None),
    ("a constant column", lambda: fit_and_explain(people(30).assign(cards=7), "income"), None),
    ("all columns constant", lambda: fit_and_explain(pd.DataFrame({"a": [1.5] * 9, "b": [2] * 9}), "a"), None),
    ("integers beyond 2**53", lambda: explain(with_column("income", 2**53 + np.arange(1, 7))), None),
    (
        "unsigned integers beyond 2**63",
        lambda: explain(with_column("income", np.full(6, 2**64 - 1, np.uint64))),
        None,
    ),
    ("decimals", lambda: explain(with_column("income", [decimal.Decimal("10.5")] * 6)), None),
    ("decimals to infer", lambda: infer(with_column("income", [decimal.Decimal("10.5")] * 6)), None),
    (
        "a decimal that is not a number",
        lambda: explain(with_cell("income", decimal.Decimal("sNaN"))),
        ("'income'", "row 1"),
    ),
    ("half precision", lambda: explain(people().astype({"income": "float16", "cards": "uint8"})), None),
    ("extended precision", lambda: explain(people().astype({"income": np.longdouble})), None),
    # types
    ("a text among numbers", lambda: explain(with_cell("income", "a lot")), ("'income'", "row 1", "'a lot'")),
    ("a number written as text", lambda: explain(with_column("cards", "1")), ("'cards'", "row 0", "'1'")),
    ("mixed types to infer", lambda: infer(with_cell("income", "a lot")), None),
    ("booleans for numbers", lambda: explain(with_column("cards", True)), ("'cards'", "boolean values", "categorical")),
    ("a boolean among numbers", lambda: explain(with_cell("cards", True)), ("'cards'", "row 1", "True")),
    ("numbers for booleans", lambda: explain(with_column("owner", 1)), None),
    ("strings for booleans", lambda: explain(with_column("owner", "true")), ("'owner'", "row 0", "'true'", "True")),
    ("dates", lambda: explain(with_column("income", pd.Timestamp("2020-01-31"))), ("'income'", "datetime")),
    ("dates to infer", lambda: infer(with_column("joined", pd.Timestamp("2020-01-31"))), ("'joined'", "datetime")),
    ("dates as objects to infer", lambda: infer(with_column("joined", DAY)), ("'joined'", "date")),
    ("dates as text to infer", lambda: infer(with_column("joined", "31.01.2020")), ("'joined'", "dates")),
    ("dates for levels", lambda: explain(with_column("housing", pd.Timestamp("2020-01-31"))), ("'housing'",)),
    ("polars dates", lambda: infer(pl.DataFrame({"joined": [DAY, None]})), ("'joined'", "date")),
    ("arrow dates", lambda: infer(pa.table({"joined": pa.array([DAY])})), ("'joined'", "date")),
    ("times of day", lambda: infer(pl.DataFrame({"at": [datetime.time(3, 4)]})), ("'at'", "time")),
    ("spans of time", lambda: explain(with_column("income", pd.Timedelta("3 days"))), ("'income'", "duration")),
    ("spans of time to infer", lambda: infer(with_column("wait", pd.Timedelta("3 days"))), ("'wait'", "duration")),
    ("periods", lambda: explain(with_column("income", pd.Period("2020-01", "M"))), ("'income'", "period")),
    ("periods to infer", lambda: infer(with_column("month", pd.Period("2020-01", "M"))), ("'month'", "Period")),
    ("intervals", lambda: explain(with_column("income", pd.Interval(0, 1))), ("'income'", "interval")),
    ("intervals to infer", lambda: infer(with_column("band", pd.Interval(0, 1))), ("'band'", "Interval")),
    ("complex numbers", lambda: explain(with_column("income", 1 + 2j)), ("'income'", "complex")),
    ("complex numbers to infer", lambda: infer(with_column("phase", 1 + 2j)), ("'phase'", "complex")),
    ("bytes", lambda: explain(with_cell("housing", b"rents")), ("'housing'", "row 1", "b'rents'")),
    ("bytes to infer", lambda: infer(with_column("raw", b"abc")), ("'raw'", "bytes")),
    ("lists in cells", lambda: explain(with_column("income", [[1]] * 6)), ("'income'", "row 0", "[1]")),
    ("lists for levels", lambda: explain(with_column("housing", [["rents"]] * 6)), ("'housing'", "row 0")),
    ("lists to infer", lambda: infer(with_column("tags", [["a"]] * 6)), ("'tags'", "list")),
    ("dictionaries in cells", lambda: infer(with_column("more", [{"a": 1}] * 6)), ("'more'", "dict")),
    ("arrays in cells", lambda: explain(with_column("income", [np.ones(2)] * 6)), ("'income'", "row 0")),
    ("arrays in cells to infer", lambda: infer(with_column("v", [np.ones(2)] * 6)), ("'v'", "ndarray")),
    ("sets for levels", lambda: explain(with_column("housing", [{"rents"}] * 6)), ("'housing'", "row 0")),
    ("nested polars lists", lambda: infer(pl.DataFrame({"tags": [["a"], ["b"]]})), ("'tags'", "list")),
    ("nested polars structs", lambda: infer(pl.DataFrame({"more": [{"a": 1}]})), ("'more'", "dict")),
    ("polars lists for numbers", lambda: explain(polars_column("income", [[1.0]] * 6)), ("'income'", "list")),
    ("polars objects", lambda: explain(polars_column("income", pl.Series([object()] * 6))), ("'income'",)),
    ("nested arrow lists", lambda: infer(pa.table({"tags": [["a"], ["b"]]})), ("'tags'", "list")),
    ("nested arrow structs", lambda: explain(arrow_column("income", pa.array([{"a": 1}] * 6))), ("'income'",)),
    ("arrow maps", lambda: infer(pa.table({"m": pa.array([[("a", 1)]], pa.map_("string", "int8"))})), ("'m'",)),
    ("sparse columns", lambda: explain(people().astype({"income": pd.SparseDtype(float)})), None),
    ("sparse columns to infer", lambda: infer(people().astype({"cards": pd.SparseDtype(int)})), None),
    ("categories of numbers for numbers", lambda: explain(people().astype({"cards": "category"})), ("'cards'",)),
    ("categories of numbers to infer", lambda: infer(people().astype({"cards": "category"})), None),
    # levels
    ("a level not seen before", lambda: explain(with_cell("housing", "castle")), ("'housing'", "row 1", "'castle'")),
    (
        "a level not seen before, in categories",
        lambda: explain(with_column("housing", pd.Categorical(["castle"] * 6))),
        ("'housing'", "'castle'", "'rents', 'owns'"),
    ),
    ("a level with blanks", lambda: explain(with_cell("housing", "rents ")), ("'housing'", "'rents '", "'rents'")),
    ("a level in capitals", lambda: explain(with_cell("housing", "RENTS")), ("'housing'", "'RENTS'", "'rents'")),
    ("an empty text", lambda: explain(with_cell("housing", "")), ("'housing'", "row 1", "''")),
    ("an empty text to infer", lambda: infer(with_cell("housing", "")), None),
    ("a very long text", lambda: explain(with_cell("housing", "x" * 10**6)), ("'housing'", "xxx…")),
    ("a number for a level", lambda: explain(with_cell("housing", 1)), ("'housing'", "row 1", "1")),
    ("'1' for the level 1", lambda: level_of_another_type(), ("'grade'", "'1'", "as int, not str")),
    ("a million levels", lambda: infer(pd.DataFrame({"id": MILLION})), ("'id'", "1,000,000")),
    ("a million different strings", lambda: infer(pd.DataFrame({"id": NAMES})), ("'id'", "1,000,000")),
    ("many numbers as text", lambda: infer(pd.DataFrame({"x": np.arange(2000).astype(str)})), ("'x'", "to_numeric")),
    ("categories that are not used", lambda: infer(with_column("c", pd.Categorical(["a"] * 6, ["b", "a"]))), None),
    # labels
    ("labels of the wrong number", lambda: fit(people(), ["good"] * 5), ("y has 5 labels", "6 rows")),
    ("labels all missing", lambda: fit(people(), [None] * 6), ("y has no label",)),
    ("labels of which some are missing", lambda: fit(people(), ["good", None, math.nan, pd.NA, "bad", "bad"]), None),
    ("labels of two columns", lambda: fit(people(), np.ones((6, 2))), ("y has 2 dimensions")),
    ("labels of different lengths", lambda: fit(people(), [[1], [1, 2]]), ("y must hold one label for each row",)),
    ("one label", lambda: fit(people(), "good"), ("y has 0 dimensions")),
    (
        "labels never the target",
        lambda: labels_never_the_target(),
        ("the target is 'good'", "the labels are 'no', 'yes'"),
    ),
    ("labels of another library", lambda: fit(people(), pl.Series(["good", "bad"] * 3)), None),
    ("labels in a frame of one column", lambda: fit(people(), pd.DataFrame({"y": ["good", "bad"] * 3})), None),
    # other arguments
    ("a target there is not", lambda: fitted().explain(decide, people(), target="best"), ("target", "'best'")),
    (
        "a schema that is none",
        lambda: fit(people(), schema={"income": "real"}),
        ("schema must be an attain.Schema", "got a dict"),
    ),  # type: ignore[arg-type]
    (
        "constraints that are none",
        lambda: explain(people(), constraints=["income"]),
        ("constraints must be a dictionary",),
    ),
    ("no answer to yes or no", lambda: explain(people(), ranges="yes"), ("ranges must be True or False, got 'yes'",)),
    ("no options", lambda: explain(people(), n=0), ("n must be an integer ≥ 1, got 0",)),
]


def person_and_option() -> None:
    for convert in (pd.DataFrame, pl.from_pandas, pa.Table.from_pandas):
        X = convert(people(20)[["income", "cards"]].set_axis(["person", "option"], axis=1))
        model = Model(lambda frame: (frame["person"] > 1000).astype(int), accepts="pandas", classes=[0, 1])
        result = GrowingSpheres(budget=300, samples=40).fit(X).explain(model, X, target=1)
        names = list(getattr(result.options, "column_names", None) or result.options.columns)
        assert names == ["person_", "option_", "person", "option"]


def polars_column(name: str, values: Any) -> pl.DataFrame:
    return pl.from_pandas(people()).with_columns(pl.Series(name, values))


def arrow_column(name: str, values: pa.Array) -> pa.Table:
    table = pa.Table.from_pandas(people())
    return table.set_column(table.column_names.index(name), name, values)


def level_of_another_type() -> None:
    Table.read(pd.DataFrame({"grade": ["1", "2"]}), Schema((Feature("grade", "ordinal", levels=(1, 2)),)))


def labels_never_the_target() -> None:
    X = people(30)
    fit(X, np.where(decide(X) == "good", "yes", "no")).explain(decide, X, target="good")


@pytest.mark.parametrize(("action", "words"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_a_hostile_frame_gives_a_result_or_a_sentence(action: Action, words: tuple[str, ...] | None) -> None:
    if words is None:
        action()
        return
    with pytest.raises(AttainError) as caught:
        action()
    message = str(caught.value)
    assert len(message) < 1000
    for word in words:
        assert word in message
