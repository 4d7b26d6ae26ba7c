"""The result: frames, statuses, figures, JSON and HTML."""

import decimal
import json
import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attain import Counterfactuals, Feature, GrowingSpheres, Model, Schema, Status
from attain.core.errors import FileError

EVIL = "<script>alert('x')</script>"
SCHEMA = Schema(
    (
        Feature("age", "count", immutable=True),
        Feature("income", "positive", step=0.01, unit="€ & more"),
        Feature(EVIL, "categorical", levels=("<b>", "b")),
        Feature("late", "count", special={-8: "<i>never</i>"}, transitions={-8: ("value",)}),
    )
)
TABLE_1 = (
    "person option feature label unit current counterfactual current_percentile counterfactual_percentile shift "
    "total_shift outlier connected verdict reviewed follows method"
)


def people(n: int = 12) -> pd.DataFrame:
    random = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "late": np.where(np.arange(n) % 4 == 0, -8, random.poisson(2, n)),
            EVIL: random.choice(["<b>", "b"], n),
            "income": np.round(random.lognormal(3, 1, n), 2),
            "age": random.integers(18, 80, n),
        }
    )


def decide(X: pd.DataFrame) -> np.ndarray:
    """Nobody under thirty; else income, another level and no late payments."""
    merit = X["income"].to_numpy(float) / 20 + (X[EVIL] == "b").to_numpy() - X["late"].to_numpy(float) / 4
    return np.where((merit > 2.5) & (X["age"].to_numpy() >= 30), "good", "bad")


@cache
def explainer() -> GrowingSpheres:
    X = people(150)
    return GrowingSpheres(SCHEMA, samples=60, budget=3000).fit(X, decide(X))


MODEL = Model(decide, accepts="pandas", classes=["bad", "good"])


def explain(X: Any, n: int = 2) -> Counterfactuals:
    return explainer().explain(MODEL, X, target="good", n=n)


FRAMES = {
    "pandas": people(),
    "pandas nullable": people().convert_dtypes(),
    "pandas categories": people().astype({EVIL: pd.CategoricalDtype(["b", "<b>"], ordered=True), "age": "uint8"}),
    "pandas arrow": people().convert_dtypes(dtype_backend="pyarrow"),
    "pandas short": people().astype({"income": "float32", EVIL: object}),
    "pandas objects": people().astype(object).assign(income=[decimal.Decimal(repr(x)) for x in people()["income"]]),
    "several index levels": people().set_index(
        pd.MultiIndex.from_product([["a", "b"], pd.date_range("2020", periods=6)], names=["k", "day"])
    ),
    "dates with a zone": people().set_index(pd.date_range("2020-03-26", periods=12, tz="Europe/Berlin", name="day")),
    "periods": people().set_index(pd.period_range("2020-01", periods=12, freq="M")),
    "spans": people().set_index(pd.to_timedelta(range(12), unit="h")),
    "repeated labels": people().set_axis([3, 3, *range(10)]),
    "categories as labels": people().set_index(pd.CategoricalIndex(list("abcabcabcabc"))),
    "fractions as labels": people().set_axis(np.arange(12) / 8),
    "polars": pl.from_pandas(people()),
    "polars Enum and Decimal": pl.from_pandas(people()).with_columns(
        pl.col(EVIL).cast(pl.Enum(["b", "<b>"])), pl.col("income").cast(pl.Decimal(12, 2)), pl.col("age").cast(pl.UInt8)
    ),
    "polars Categorical": pl.from_pandas(people()).with_columns(pl.col(EVIL).cast(pl.Categorical)),
    "pyarrow": pa.Table.from_pandas(people(), preserve_index=False),
    "pyarrow dictionary and decimal": pa.table(
        {
            "age": pa.array(people()["age"], pa.uint8()),
            EVIL: pa.array(people()[EVIL]).dictionary_encode(),
            "income": pa.array(people()["income"]).cast(pa.decimal128(20, 2), safe=False),
            "late": pa.array(people()["late"], pa.int16()),
        }
    ),
}


def equal(left: Any, right: Any) -> bool:
    if isinstance(left, pd.DataFrame):
        pd.testing.assert_frame_equal(left, right, check_freq=False)
        return True
    pd.testing.assert_frame_equal(left.to_pandas(), right.to_pandas())
    return type(left) is type(right) and left.schema == right.schema


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_result_comes_back_from_json_as_it_was(frame: Any) -> None:
    result = explain(frame)
    assert 0 < result.found.sum() < len(result)
    again = Counterfactuals.from_json(result.to_json())
    for name in ("frame", "options", "changes", "figures"):
        assert equal(getattr(again, name), getattr(result, name)), name
    assert list(again.status) == list(result.status)
    assert again.rows.tobytes() == result.rows.tobytes()
    for name in ("method", "target", "probability", "statuses", "notes", "rows_asked"):
        assert getattr(again, name) == getattr(result, name), name
    assert result.rows_asked > len(result)
    assert again.to_json() == result.to_json()


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_people_without_an_answer_keep_their_own_record_and_every_column_its_dtype(frame: Any) -> None:
    result = explain(frame, n=1)
    made, without = result.frame, np.flatnonzero(~result.found)
    assert type(made) is type(frame)
    assert 0 < len(without) < len(result)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_series_equal(made.dtypes, frame.dtypes)
        pd.testing.assert_frame_equal(made.iloc[without], frame.iloc[without])
    else:
        assert made.schema == frame.schema
        rows = without.tolist()
        assert (
            made[rows].equals(frame[rows])
            if isinstance(frame, pl.DataFrame)
            else made.take(rows).equals(frame.take(rows))
        )
    young = (people()["age"] < 30).to_numpy()
    assert not result.found[young].any()


def test_the_frame_has_the_inputs_narrow_dtypes() -> None:
    X = people()[people()["age"] >= 30]
    X = X[decide(X) == "bad"].astype({"age": "uint8", "income": "float32"})
    result = explain(X)
    assert result.found.all()
    pd.testing.assert_series_equal(result.frame.dtypes, X.dtypes)
    assert result.frame.index.equals(X.index)
    assert result.frame["age"].tolist() == X["age"].tolist()


def test_json_has_sentences_and_changes_for_programs_without_the_package() -> None:
    result = explain(people())
    content = json.loads(result.to_json())
    assert content["sentences"] == result.sentences.tolist()
    assert pd.DataFrame(content["changes"])["feature"].tolist() == result.changes["feature"].tolist()
    assert {change["unit"] for change in content["changes"] if change["feature"] == "income"} == {"€ & more"}


def test_options_are_the_best_first_and_in_long_form() -> None:
    result = explain(people())
    assert list(result.options.columns) == ["person", "option", *people().columns]
    best = result.options[result.options["option"] == 1].set_index("person").drop(columns="option")
    pd.testing.assert_frame_equal(
        best.astype(float, errors="ignore"),
        result.frame[result.found].rename_axis("person").astype(best.dtypes),
        check_dtype=False,
    )
    assert (decide(result.options) == "good").all()


def test_changes_are_the_papers_table_1() -> None:
    result = explain(people(), n=1)
    changes = result.changes
    assert " ".join(changes.columns) == TABLE_1
    training = people(150)
    for row in changes.itertuples(index=False):
        before, after = people().loc[row.person, row.feature], result.frame.loc[row.person, row.feature]
        assert (row.current, row.counterfactual) == (before, after)
        assert before != after
        if row.feature == "income":
            ecdf = [100 * float((training["income"] <= value).mean()) for value in (before, after)]
            assert [row.current_percentile, row.counterfactual_percentile] == pytest.approx(ecdf, abs=1e-3)
            assert row.shift == pytest.approx(abs(ecdf[1] - ecdf[0]), abs=2e-3)
        if row.feature == EVIL:
            assert math.isnan(row.current_percentile)
            assert row.shift == 100.0
    totals = changes.groupby("person")["shift"].sum()
    np.testing.assert_allclose(totals, changes.groupby("person")["total_shift"].first(), atol=0.01)
    assert set(changes["outlier"]) | set(changes["connected"]) <= {True, False}


def test_status_and_figures_are_labelled_like_the_input() -> None:
    X = people().set_axis([f"p{i}" for i in range(12)])
    result = explain(X)
    assert result.status.index.equals(X.index)
    assert result.figures.index.equals(X.index)
    assert set(result.status) <= {status.name for status in Status}
    assert result.reasons.tolist() == [Status[name].reason for name in result.status]
    assert {"score_before", "rows_scored", "score_after", "features_changed", "total_shift", "max_shift"} <= set(
        result.figures.columns
    )
    figures = result.figures[result.found]
    assert (figures["max_shift"] <= figures["total_shift"] + 1e-12).all()
    assert result.figures["total_shift"][~result.found].isna().all()
    asked = sum(status is not Status.ALREADY_DESIRED for status in result.statuses)
    assert result.share_found == pytest.approx(result.found.sum() / asked)


def test_a_notebook_shows_only_changes_and_escapes_everything() -> None:
    X = people().set_axis([f"<img src={i}>" for i in range(12)])
    html = explain(X)._repr_html_()
    for text in ("<script>", "<b>", "<i>", "<img src=<", "<img src=0"):
        assert text not in html
    assert html.count("<img ") == html.count("<img src='data:image/png;base64,") == 3
    assert "&lt;script&gt;" in html
    assert "€ &amp; more" in html
    assert "<th>verdict</th>" in html
    assert "<td>age</td>" not in html
    assert html.count("<tr") == html.count("</tr>")
    assert html.count("<td") == html.count("</td>")
    many = explain(people(30))._repr_html_()
    assert "and 10 more people" in many


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "nonsense", '{"format": "attain-counterfactuals-0"}', '{"format": "attain-counterfactuals-1"}'],
)
def test_text_that_is_not_a_result_is_refused(text: str) -> None:
    with pytest.raises(FileError, match="to_json"):
        Counterfactuals.from_json(text)


def test_a_result_that_was_tampered_with_is_refused() -> None:
    content = json.loads(explain(people()).to_json())
    for key, value in (("status", ["FOUNDED"]), ("library", "excel"), ("rows", [[1.0]]), ("columns", {})):
        with pytest.raises(FileError):
            Counterfactuals.from_json(json.dumps({**content, key: value}))
    for dtype in ("int64", "bool"):
        content["columns"]["late"] = {"dtype": dtype, "cells": [1, None, *[1] * 10]}
        with pytest.raises(FileError, match=f"column 'late', row 1: null, but {dtype} has no missing cells"):
            Counterfactuals.from_json(json.dumps(content))
