"""Frames of three libraries in, the one matrix between, the same frames out."""

import decimal
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from attain.core.errors import DataError
from attain.core.frames import library_of
from attain.schema import Feature, Schema
from attain.tables import Layout, Table

NUMBER = Schema((Feature("x", "real"),))
TEXT = Schema((Feature("x", "categorical", levels=("a", "b", "c")),))
YES_NO = Schema((Feature("x", "categorical", levels=(False, True)),))
HALVES = [decimal.Decimal("0.50"), decimal.Decimal("1.50"), None]

COLUMNS: dict[str, tuple[Any, Schema, list[float]]] = {
    # column, schema, the matrix it must give
    **{
        f"pandas {dtype}": (pd.Series([1, 2, 3]).astype(dtype), NUMBER, [1, 2, 3])
        for dtype in ("int64", "uint8", "int8", "float64", "float32", "float16", "object", "Int64", "UInt8", "Float32")
    },
    **{
        f"pandas {dtype}": (pd.Series([1, 2, None], dtype=dtype), NUMBER, [1, 2, math.nan])
        for dtype in ("Int16", "Float64", "int64[pyarrow]", "double[pyarrow]", "object", "float")
    },
    **{
        f"pandas {dtype} of strings": (pd.Series(["a", "b", None], dtype=dtype), TEXT, [0, 1, math.nan])
        for dtype in ("object", "str", "string", pd.CategoricalDtype(["a", "b", "c"]), "string[pyarrow]")
    },
    "pandas ordered category": (pd.Series(pd.Categorical(["a", "b", "a"], list("cba"), ordered=True)), TEXT, [0, 1, 0]),
    "pandas bool": (pd.Series([True, False, True]), YES_NO, [1, 0, 1]),
    "pandas boolean": (pd.Series([True, None, False], dtype="boolean"), YES_NO, [1, math.nan, 0]),
    "pandas bool as object": (pd.Series([True, None, False], dtype=object), YES_NO, [1, math.nan, 0]),
    "pandas sparse": (pd.Series(pd.arrays.SparseArray([0, 0, 3])), NUMBER, [0, 0, 3]),
    "pandas decimals": (pd.Series(HALVES, dtype=object), NUMBER, [0.5, 1.5, math.nan]),
    "pandas arrow decimals": (
        pd.Series(HALVES, dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
        NUMBER,
        [0.5, 1.5, math.nan],
    ),
    **{
        f"polars {dtype}": (pl.Series([1, None, 3], dtype=dtype), NUMBER, [1, math.nan, 3])
        for dtype in (pl.Int64, pl.UInt8, pl.Int128, pl.Float64, pl.Float32)
    },
    **{
        f"polars {dtype}": (pl.Series(["a", None, "b"], dtype=dtype), TEXT, [0, math.nan, 1])
        for dtype in (pl.String, pl.Categorical, pl.Enum(["a", "b", "c"]))
    },
    "polars Boolean": (pl.Series([True, None, False]), YES_NO, [1, math.nan, 0]),
    "polars Decimal": (pl.Series(HALVES, dtype=pl.Decimal(9, 2)), NUMBER, [0.5, 1.5, math.nan]),
    **{
        f"pyarrow {dtype}": (pa.array([1, None, 3], dtype), NUMBER, [1, math.nan, 3])
        for dtype in (pa.int64(), pa.uint8(), pa.float64(), pa.float32())
    },
    **{
        f"pyarrow {dtype}": (pa.array(["a", None, "b"]).cast(dtype), TEXT, [0, math.nan, 1])
        for dtype in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()))
    },
    "pyarrow bool": (pa.array([True, None, False]), YES_NO, [1, math.nan, 0]),
    "pyarrow decimal": (pa.array(HALVES, pa.decimal128(9, 2)), NUMBER, [0.5, 1.5, math.nan]),
}


def framed(column: Any) -> Any:
    if isinstance(column, pd.Series):
        return column.to_frame("x")
    return pl.DataFrame({"x": column}) if isinstance(column, pl.Series) else pa.table({"x": column})


def dtype_of(frame: Any) -> Any:
    return frame.schema.field("x").type if isinstance(frame, pa.Table) else frame["x"].dtype


def cells_of(frame: Any) -> list[Any]:
    column = frame["x"]
    items = column.to_pylist() if isinstance(frame, pa.Table) else list(column)
    return [None if pd.isna(item) else item for item in items]


@pytest.mark.parametrize(("column", "schema", "expected"), COLUMNS.values(), ids=COLUMNS)
class TestEveryDtype:
    def test_is_read_as_the_matrix(self, column: Any, schema: Schema, expected: list[float]) -> None:
        table = Table.read(framed(column), schema)
        assert table.values.dtype == np.float64
        np.testing.assert_array_equal(table.values[:, 0], expected)

    def test_is_written_with_the_same_dtype_and_values(
        self, column: Any, schema: Schema, expected: list[float]
    ) -> None:
        frame = framed(column)
        layout = Table.read(frame, schema).layout
        rows = np.array(expected, dtype=np.float64)[~np.isnan(expected), None]
        made = layout.frame(rows)
        assert type(made) is type(frame)
        assert dtype_of(made) == dtype_of(frame)
        np.testing.assert_array_equal(Table.read(made, schema).values, rows)

    def test_one_changed_cell_keeps_the_others_and_the_dtype(
        self, column: Any, schema: Schema, expected: list[float]
    ) -> None:
        frame = framed(column)
        table = Table.read(frame, schema)
        rows = table.values.copy()
        rows[0, 0] = 1.0 if schema is not NUMBER else 2.0
        made = table.replaced(rows)
        assert dtype_of(made) == dtype_of(frame)
        assert cells_of(made)[1:] == cells_of(frame)[1:]
        np.testing.assert_array_equal(Table.read(made, schema).values, rows)

    def test_the_source_is_left_alone(self, column: Any, schema: Schema, expected: list[float]) -> None:
        frame = framed(column)
        before = cells_of(frame)
        table = Table.read(frame, schema)
        table.replaced(np.full((3, 1), 1.0))
        assert cells_of(frame) == before


@pytest.mark.parametrize("frame", [pd.DataFrame({"x": [1, 2]}), pl.DataFrame({"x": [1, 2]}), pa.table({"x": [1, 2]})])
def test_whole_numbers_get_the_step_one_and_stay_whole(frame: Any) -> None:
    table = Table.read(frame, NUMBER)
    assert table.schema["x"].step == 1.0
    made = table.replaced(np.array([[3.0], [2.0]]))
    assert dtype_of(made) == dtype_of(frame)
    assert cells_of(made) == [3, 2]


@pytest.mark.parametrize(("step", "common"), [(0.01, 1), (2.5, 5), (0.3, 3), (10, 10), (1 / 3, 1)])
def test_new_whole_numbers_are_multiples_of_the_step_and_stay_whole(step: float, common: float) -> None:
    frame = pd.DataFrame({"x": [1, 2]})
    assert Table.read(frame, Schema((Feature("x", "real", step=step),))).schema["x"].step == pytest.approx(common)


@pytest.mark.parametrize("dtype", [pl.Decimal(9, 2), pa.decimal128(9, 2)])
def test_decimals_get_their_last_digit_as_step(dtype: Any) -> None:
    column = pl.Series(HALVES, dtype=dtype) if isinstance(dtype, pl.Decimal) else pa.array(HALVES, dtype)
    assert Table.read(framed(column), NUMBER).schema["x"].step == 0.01


@pytest.mark.parametrize("cell", [300.0, 2.5, -1.0, 2.0**62])
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": np.array([1, 2], np.uint8)}),
        pd.DataFrame({"x": pd.array([1, 2], "UInt8")}),
        pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.UInt8)}),
        pa.table({"x": pa.array([1, 2], pa.uint8())}),
    ],
    ids=["pandas", "nullable", "polars", "pyarrow"],
)
def test_a_dtype_that_cannot_hold_a_value_is_widened(frame: Any, cell: float) -> None:
    table = Table.read(frame, Schema((Feature("x", "real", step=0.5),)))
    assert cells_of(table.replaced(np.array([[cell], [2.0]]))) == [cell, 2]
    assert cells_of(table.layout.frame(np.array([[cell], [2.0]]))) == [cell, 2]


def test_a_short_float_that_cannot_hold_a_value_is_widened() -> None:
    for frame in (
        pd.DataFrame({"x": np.array([1, 2], np.float32)}),
        pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.Float32)}),
        pa.table({"x": pa.array([1, 2], pa.float32())}),
    ):
        assert cells_of(Table.read(frame, NUMBER).layout.frame(np.array([[1e100]]))) == [1e100]


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, -(2**62) - 1])
def test_numbers_beyond_a_floats_digits_keep_every_bit_where_they_do_not_change(number: int) -> None:
    for frame in (
        pd.DataFrame({"x": [number, 5]}),
        pd.DataFrame({"x": pd.array([number, 5], "Int64")}),
        pl.DataFrame({"x": [number, 5]}),
        pa.table({"x": [number, 5]}),
    ):
        table = Table.read(frame, NUMBER)
        assert cells_of(table.replaced(np.array([table.values[0], [6.0]]))) == [number, 6]


def test_categories_that_lack_a_level_are_widened() -> None:
    for frame in (
        pd.DataFrame({"x": pd.Categorical(["a", "b"])}),
        pl.DataFrame({"x": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"]))}),
        pa.table({"x": pa.array(["a", "b"]).dictionary_encode()}),
    ):
        table = Table.read(frame, TEXT)
        assert cells_of(table.replaced(np.array([[2.0], [1.0]]))) == ["c", "b"]
        assert cells_of(table.layout.frame(np.array([[2.0], [0.0]]))) == ["c", "a"]


INDEXES = [
    pd.MultiIndex.from_tuples([("a", 1), ("b", 2), ("b", 2)], names=["k", None]),
    pd.date_range("2020-03-28", periods=3, tz="Europe/Berlin", name="day"),
    pd.Index([7, 7, 7]),
    pd.Index([None, "b", 3.5], dtype=object),
    pd.CategoricalIndex(["u", "v", "u"]),
    pd.period_range("2020-01", periods=3, freq="M"),
]


@pytest.mark.parametrize("index", INDEXES, ids=[type(index).__name__ for index in INDEXES])
def test_any_index_comes_back(index: pd.Index) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=index)
    table = Table.read(frame, NUMBER)
    made = table.replaced(table.values + np.array([[1], [1], [0]]))
    pd.testing.assert_index_equal(made.index, index)
    assert made["x"].tolist() == [2.0, 3.0, 3.0]


def test_columns_come_back_in_the_frames_own_order_and_the_matrix_is_in_the_schemas() -> None:
    schema = Schema((Feature("a", "real"), Feature("b", "categorical", levels=("n", "m"))))
    table = Table.read(pd.DataFrame({"b": ["m", "n"], "a": [1.5, 2.5]}), schema)
    np.testing.assert_array_equal(table.values, [[1.5, 1], [2.5, 0]])
    assert list(table.layout.frame(table.values).columns) == ["b", "a"]
    assert table.layout.array(table.values).tolist() == [["m", 1.5], ["n", 2.5]]
    for library in ("pandas", "polars", "pyarrow"):
        made = table.layout.frame(table.values, library=library, columns=["a"])
        assert library_of(made).name == library
        assert list(library_of(made).columns(made)) == ["a"]


def test_an_array_takes_the_schemas_names_and_numeric_levels_stay_numbers() -> None:
    schema = Schema((Feature("a", "real"), Feature("g", "ordinal", levels=(1, 2, 3))))
    table = Table.read(np.array([[0.5, 3], [1.5, math.nan]]), schema)
    np.testing.assert_array_equal(table.values, [[0.5, 2], [1.5, math.nan]])
    np.testing.assert_array_equal(table.layout.array(table.values), [[0.5, 3], [1.5, math.nan]])


@pytest.mark.parametrize("marker", [None, np.nan, pd.NA, pd.NaT], ids=str)
@pytest.mark.parametrize(("schema", "present"), [(TEXT, "a"), (YES_NO, False), (NUMBER, 0.0)])
def test_a_missing_cell_in_a_column_of_objects_is_written_as_it_was_read(
    schema: Schema, present: Any, marker: Any
) -> None:
    layout = Table.read(pd.DataFrame({"x": pd.Series([present, marker], dtype=object)}), schema).layout
    again = layout.library.dtype_named(layout.library.dtype_text(layout.dtypes["x"]))
    for dtype in (layout.dtypes["x"], again):
        made = Layout(schema, layout.library, ("x",), {"x": dtype}).frame(np.array([[0.0], [math.nan]]))["x"]
        assert made.dtype == object
        assert made.iloc[0] == present
        assert made.iloc[1] is marker or (isinstance(made.iloc[1], float) and isinstance(marker, float))


# pandas 2 knows no dtype "str": it would write a missing cell as the string "None".
@pytest.mark.parametrize("dtype", ["object", *(["str"] if pd.__version__ >= "3" else []), "string", "category"])
def test_a_missing_level_in_an_array_is_what_the_frame_itself_gives(dtype: str) -> None:
    for marker in (None, np.nan, pd.NA):
        frame = pd.DataFrame({"x": pd.Series(["a", marker], dtype=object).astype(dtype)})
        made = Table.read(frame, TEXT).layout.array(np.array([[0.0], [math.nan]]))
        expected = frame.astype(object).to_numpy()
        assert made[0, 0] == expected[0, 0]
        assert type(made[1, 0]) is type(expected[1, 0])


@pytest.mark.parametrize("missing", [None, math.nan])
def test_decimals_in_a_column_of_objects_stay_decimals(missing: Any) -> None:
    tenth, half = decimal.Decimal("0.1"), decimal.Decimal("0.50")
    table = Table.read(pd.DataFrame({"x": pd.Series([half, half, missing], dtype=object)}), NUMBER)
    changed = table.replaced(np.array([[0.1], [0.5], [math.nan]]))["x"]
    written = table.layout.frame(np.array([[0.1], [0.5], [math.nan]]))["x"]
    for column in (changed, written):
        assert column.dtype == object
        assert column.tolist()[:2] == [tenth, half]
        assert [type(cell) for cell in column] == [decimal.Decimal, decimal.Decimal, type(missing)]


def test_a_float_among_decimals_makes_new_cells_floats() -> None:
    table = Table.read(pd.DataFrame({"x": pd.Series([decimal.Decimal("0.5"), 0.5], dtype=object)}), NUMBER)
    changed = table.replaced(np.array([[0.1], [0.5]]))["x"]
    assert [type(cell) for cell in changed] == [float, float]


def test_a_message_names_the_column_the_row_the_value_and_the_remedy() -> None:
    frame = pd.DataFrame({"x": ["a", "d"]}, index=["ann", "bob"])
    with pytest.raises(DataError, match=r"column 'x', row 'bob': found 'd'; the levels are 'a', 'b', 'c'; correct"):
        Table.read(frame, TEXT)
