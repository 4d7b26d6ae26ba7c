"""One function for every engine: the answers of `explain`, with columns that are known before, whatever comes in."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from attain import Constraints, Feature, Schema
from attain.core.errors import AttainError
from attain.desk.scale import ExplainBatch
from attain.methods import NearestUnlike
from attain.results.exports import table_frame
from attain.testing import people


def test_the_answers_are_those_of_explain(batch: ExplainBatch) -> None:
    X = people.frame(40, seed=7).rename_axis(None)
    expected = table_frame(batch.explainer.explain(batch.model, X, target=people.DESIRED, n=2), "answers")
    table = batch.table(batch.explain(X))
    assert table.schema == batch.columns
    frame = table.to_pandas()
    assert list(expected.columns) == [name for name in frame.columns if name not in ("unreviewed", "problem")]
    pd.testing.assert_frame_equal(frame[expected.columns], expected, check_dtype=False)


def test_a_batch_without_an_answer_has_the_same_columns(batch: ExplainBatch) -> None:
    X = people.frame(40, seed=7)
    granted = X[batch.model.model.predict(X) == people.DESIRED]
    table = batch.table(batch.explain(granted))
    assert table.schema == batch.columns
    assert set(table["status"].to_pylist()) == {"ALREADY_DESIRED"}
    assert batch.table(batch.explain(X.iloc[:0])).schema == batch.columns


def test_types_of_columns_do_not_matter(batch: ExplainBatch) -> None:
    X = people.frame(40, seed=7)
    expected = batch.table(batch.explain(X))
    integers = [name for name in X.columns if pd.api.types.is_integer_dtype(X[name])]
    assert integers
    for frame in (
        X.astype(dict.fromkeys(integers, "float64")),
        X.astype(dict.fromkeys(integers, "Int64")),
        X.astype(object),
        X.astype({"housing": "category", "mortgage": object}),
        pa.Table.from_pandas(X).to_pandas(types_mapper=pd.ArrowDtype),
    ):
        assert batch.table(batch.explain(frame)).equals(expected)


def test_frames_come_out_as_they_went_in(batch: ExplainBatch) -> None:
    X = people.frame(10, seed=7).rename_axis("who").reset_index()
    named = batch.named_by("who", integers=False)
    table = named(pa.Table.from_pandas(X))
    assert table.schema == named.columns
    assert table.column_names[0] == "who"
    frame = named(X)
    assert isinstance(frame, pd.DataFrame)
    assert pa.Table.from_pandas(frame, schema=named.columns, preserve_index=False).equals(table)


def test_levels_keep_their_types_and_cells_that_cannot_be_read_are_missing() -> None:
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {"grade": random.integers(1, 5, 200), "flag": random.random(200) < 0.5, "size": random.random(200).round(2)}
    )
    schema = Schema(
        [
            Feature("grade", "ordinal", levels=(1, 2, 3, 4)),
            Feature("flag", "categorical", levels=(False, True)),
            Feature("size", "real"),
        ]
    )
    batch = ExplainBatch(
        NearestUnlike(schema).fit(X), lambda frame: (frame["grade"] + frame["size"] > 3).astype(int), target=1
    )
    assert [batch.columns.field(name).type for name in X.columns] == [pa.int64(), pa.bool_(), pa.float64()]
    odd = pd.DataFrame(
        {"grade": [1, 2.0, None, 9], "flag": [True, None, False, True], "size": [0.5, "small", 0.5, 0.5]}, dtype=object
    )
    table = batch.table(batch.explain(odd))
    assert table["status"].to_pylist() == ["FOUND", "UNREADABLE", "OUT_OF_REACH", "UNREADABLE"]
    assert "found 'small'" in table["problem"].to_pylist()[1]
    assert table["size"].to_pylist()[1] is None
    assert table["grade"].to_pylist()[1:] == [2, None, None]
    assert table["flag"].to_pylist()[1:] == [None, False, True]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"target": people.DESIRED, "contributions": True}, "batches do not take 'contributions'"),
        ({"target": people.DESIRED, "constraints": Constraints(people={"p1": {}})}, "constraints of single people"),
        ({"target": people.DESIRED, "index": "age"}, "index names 'age', which is a feature"),
    ],
)
def test_wrong_requests_are_refused(batch: ExplainBatch, request_: dict[str, Any], message: str) -> None:
    with pytest.raises(AttainError, match=message):
        ExplainBatch(batch.explainer, batch.model, **request_)
    with pytest.raises(AttainError, match="target is 'nothing'"):
        _ = ExplainBatch(batch.explainer, batch.model, target="nothing").columns
    with pytest.raises(AttainError, match=r"lacks columns: 'age'"):
        batch(people.frame(3).drop(columns="age"))
