"""Frames of one row, and a frame library that neither this package nor narwhals knows, registered from outside."""

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from attain import Counterfactuals, Feature, GrowingSpheres, Model, Schema
from attain.core import frames
from attain.core.errors import DataError
from attain.core.frames import Library, library_of, one_row, register
from attain.tables import Table
from attain.testing import people


class Records:
    """A table as a list of dictionaries."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows


class RecordLibrary(Library):
    name, backend = "records", "polars"

    def recognises(self, frame: Any) -> bool:
        return isinstance(frame, Records)

    def read(self, frame: Any) -> nw.DataFrame[Any]:
        return nw.from_native(pl.from_dicts(frame.rows), eager_only=True)

    def write(self, frame: nw.DataFrame[Any]) -> Any:
        return Records(list(frame.iter_rows(named=True)))


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_LIBRARIES", dict(frames._LIBRARIES))
    register(RecordLibrary())


def records(n: int = 60) -> Records:
    return Records(pl.from_pandas(people.frame(n).reset_index(drop=True)).to_dicts())


def decide(X: Any) -> np.ndarray:
    return np.array([int(row["income"] > 2500) for row in X.rows])


def test_a_dictionary_or_a_series_is_a_frame_of_one_row() -> None:
    cells = {"age": 33, "income": 1200.5, "sex": "f", "savings": None}
    expected = pd.DataFrame([cells])
    pd.testing.assert_frame_equal(one_row(cells), expected)
    pd.testing.assert_frame_equal(one_row(pd.Series(cells)), expected)
    frame = pd.DataFrame([cells, cells], index=["ann", "bob"])
    pd.testing.assert_frame_equal(one_row(frame.loc["bob"]), frame.loc[["bob"]])
    assert one_row(frame) is frame
    with pytest.raises(DataError, match=r"X is a dictionary of columns; .* pandas\.DataFrame\(X\)"):
        one_row({"age": [33, 34]})
    with pytest.raises(DataError, match="X is a Series labelled with 0, 1, which are not names of columns"):
        one_row(frame["age"].reset_index(drop=True))


def test_a_registered_library_goes_all_the_way_round() -> None:
    X = records()
    schema = Schema.infer(X)
    assert schema.names == tuple(X.rows[0])
    np.testing.assert_array_equal(Table.read(X, schema).values, Table.read(pl.from_dicts(X.rows), schema).values)
    result = GrowingSpheres(schema, random_state=0).fit(X).explain(decide, X, target=1, n=2)
    assert result.share_found == 1
    for frame in (result.frame, result.options, result.changes, result.figures):
        assert isinstance(frame, Records)
    found = np.flatnonzero(result.found)
    assert all(decide(Records([result.frame.rows[i] for i in found])) == 1)
    assert all(result.frame.rows[i] == X.rows[i] for i in np.flatnonzero(~result.found))
    again = Counterfactuals.from_json(result.to_json())
    assert again.frame.rows == result.frame.rows


def test_a_model_can_ask_for_frames_of_a_registered_library() -> None:
    X = people.frame(60)
    schema = Schema.infer(X.reset_index(drop=True))
    model = Model(decide, accepts="records", classes=[0, 1])
    result = GrowingSpheres(schema, random_state=0).fit(X).explain(model, X, target=1)
    assert result.share_found == 1


def test_only_a_library_with_a_name_can_be_registered() -> None:
    for given in (Library(), "polars", RecordLibrary):
        with pytest.raises(DataError, match="register takes an instance"):
            register(given)  # type: ignore[arg-type]


def test_an_unknown_object_is_refused_with_the_known_libraries() -> None:
    with pytest.raises(DataError, match="X is a dict; pass a pandas, pyarrow, polars, records table"):
        library_of({"a": [1]})


def test_the_columns_of_a_wide_frame_are_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    original = Schema.__post_init__
    monkeypatch.setattr(Schema, "__post_init__", lambda self: (built.append(1), original(self))[1])
    frame = pl.DataFrame({f"x{j}": [j, j + 1] for j in range(300)})
    schema = Schema.infer(frame).change([f"x{j}" for j in range(300)], kind="real", levels=(), step=None)
    built.clear()
    assert Table.read(frame, schema).schema["x7"].step == 1
    assert len(built) == 1


@pytest.mark.parametrize(
    ("dtype", "held", "beyond"),
    [
        ("int64", [-(2.0**63), 2.0**63 - 1024], [2.0**63, 0.5, np.nan]),
        ("uint64", [0.0, 2.0**64 - 2048], [2.0**64, -1.0]),
        ("int8", [-128.0, 127.0], [128.0, -129.0, 384.0]),
        ("float32", [1.5, np.nan, -3e38], [1e39]),
        ("float16", [0.5, 65504.0], [70000.0]),
        ("float64", [1e300, np.nan], []),
    ],
)
def test_a_pandas_column_keeps_its_dtype_where_that_holds_the_cells(
    dtype: str, held: list[float], beyond: list[float]
) -> None:
    pandas, feature = frames.library_named("pandas"), Feature("x", "real")
    made = pandas.build({"x": (np.array(held), feature, np.dtype(dtype))}, len(held))["x"]
    assert made.dtype == dtype
    np.testing.assert_array_equal(made.to_numpy().astype(float), np.array(held).astype(dtype).astype(float))
    for cell in beyond:
        made = pandas.build({"x": (np.array([1.0, cell]), feature, np.dtype(dtype))}, 2)["x"]
        assert made.dtype == "float64"
        np.testing.assert_array_equal(made, [1.0, cell])


def test_columns_of_several_dtypes_are_built_as_they_were() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan], "c": ["x", "y"], "d": np.array([3, 4], dtype="int8")})
    table = Table.read(frame, Schema.infer(frame))
    for columns in (["a", "b", "c", "d"], ["a", "d"], ["a"], ["b"]):
        pd.testing.assert_frame_equal(table.layout.frame(table.values, columns=columns), frame[columns])
