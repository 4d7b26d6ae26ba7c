"""Frames as they come: each gives a result, or a sentence that names the column or the parameter.

Never an error from inside pandas, polars, pyarrow or numpy.
"""

import datetime
import decimal
import math
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attain import Counterfactuals, Feature, GrowingSpheres, Model, Schema, Status
from attain.core.errors import DataError
from attain.core.frames import library_of
from attain.results import text
from attain.tables import Table
from attain.testing.explainer import digest
from tests.misuse import calls, check_call

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


@pytest.mark.parametrize(("call", "message"), calls(Path(__file__).with_name("hostile_frames.txt")))
def test_a_hostile_frame_gives_a_result_or_a_sentence(call: str, message: str) -> None:
    modules = {"math": math, "decimal": decimal, "datetime": datetime, "pl": pl, "pa": pa}
    check_call(call, message, {**globals(), **modules})
