"""Tables in files: what is read is what was written, and what cannot be read is an error in plain words."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain import Feature, Schema
from attain.core.errors import AttainError, DataError, FileError, MissingExtraError
from attain.tables import files as frames
from attain.testing import people

SCHEMA = Schema(
    (
        Feature("plan", "categorical", levels=("none", "NA", "None", "full")),
        Feature("grade", "ordinal", levels=(1, 2, 3)),
        Feature("code", "categorical", levels=("01", "1", "x")),
        Feature("owner", "categorical", levels=(False, True)),
        Feature("mixed", "categorical", levels=("yes", 0, True)),
        Feature("amount", "real"),
        Feature("visits", "count"),
    )
)


@pytest.fixture(autouse=True, params=["pyarrow", "csv"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of reading CSV: with pyarrow, and without."""
    if request.param == "csv":
        monkeypatch.setitem(sys.modules, "pyarrow.csv", None)


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_levels_that_look_like_missing_cells_stay_levels(tmp_path: Path) -> None:
    text = "plan,grade,code,owner,mixed,amount,visits\nnone,1,01,True,yes,0.1,3\nNA,2,1,false,0,NA,4\n"
    text += "None,3,x,TRUE,True,1e-3,5\n,2,NA,False,,nan,6\nNULL,1,1,True,yes,7,8\n"
    frame = frames.read_people(write(tmp_path / "a.csv", text), SCHEMA).frame
    assert frame["plan"].tolist()[:3] == ["none", "NA", "None"]
    assert frame["plan"].isna().tolist() == [False, False, False, True, True]
    assert frame["code"].tolist()[:3] == ["01", "1", "x"]
    assert pd.isna(frame["code"][3])
    assert frame["owner"].tolist() == [True, False, True, False, True]
    assert frame["mixed"].tolist()[:3] == ["yes", 0, True]
    assert frame["amount"].isna().tolist() == [False, True, False, True, False]
    assert frame["grade"].dtype == np.int64
    assert frame["visits"].dtype == np.int64


def test_csv_gives_back_every_bit_and_the_dtypes_that_pandas_would_give(tmp_path: Path) -> None:
    X = people.frame(200)
    X["score"] = np.random.default_rng(0).normal(size=200) * 10.0 ** np.arange(-100, 100)
    X.to_csv(tmp_path / "a.csv", index_label="who")
    frame = frames.read_people(str(tmp_path / "a.csv"), people.schema(), index="who").frame
    pd.testing.assert_frame_equal(frame, X, check_exact=True)


@pytest.mark.parametrize("library", ["csv", "parquet"])
def test_what_is_written_is_read_again(library: str, tmp_path: Path) -> None:
    path, X = str(tmp_path / f"a.{library}"), people.frame(40)
    frames.written(path, X.reset_index())
    read = frames.read_people(path, people.schema(), index="who")
    pd.testing.assert_frame_equal(read.frame, X, check_exact=True)
    assert read.left_out == []


def test_parquet_keeps_the_index_it_was_written_with(tmp_path: Path) -> None:
    X = people.frame(10)
    X.to_parquet(tmp_path / "named.parquet")
    X.rename_axis(None).to_parquet(tmp_path / "unnamed.parquet")
    for name in ("named", "unnamed"):
        read = frames.read_people(str(tmp_path / f"{name}.parquet"), people.schema())
        assert read.frame.index.tolist() == X.index.tolist()
        assert read.left_out == []
    again = frames.read_people(str(tmp_path / "named.parquet"), people.schema(), index="who")
    assert again.frame.index.tolist() == X.index.tolist()


def test_people_are_named_by_a_column_as_it_stands(tmp_path: Path) -> None:
    schema = Schema((Feature("a", "real"),))
    path = write(tmp_path / "a.csv", "id,a\n007,1\n008,2\n")
    assert frames.read_people(path, schema, index="id").frame.index.tolist() == ["007", "008"]
    path = write(tmp_path / "b.csv", "id,a\n7,1\n8,2\n")
    assert frames.read_people(path, schema, index="id").frame.index.tolist() == [7, 8]
    path = write(tmp_path / "c.csv", ",a\nx,1\ny,2\n")
    assert frames.read_people(path, schema).frame.index.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["1", "0"], [1, 0]),
        (["good", "NA"], ["good", "NA"]),
        (["true", "False"], [True, False]),
        (["1.5", "a"], ["1.5", "a"]),
    ],
)
def test_labels_are_read_as_they_are_meant(cells: list[str], labels: list[Any], tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))
    read = frames.read_people(path, Schema((Feature("a", "real"),)), label="y")
    assert read.labels is not None
    assert read.labels.tolist() == labels


def test_columns_that_the_schema_lacks_are_left_out_and_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b,c\n1,2,3\n")
    assert frames.read_people(path, Schema((Feature("a", "real"),)), index="c").left_out == ["b"]


def test_levels_as_categories_have_the_schemas_levels(tmp_path: Path) -> None:
    schema = Schema((Feature("a", "ordinal", levels=("low", "high")), Feature("b", "real")))
    path = write(tmp_path / "a.csv", "a,b\nhigh,1\nother,2\n")
    column = frames.read_people(path, schema, categories=True).frame["a"]
    assert column.cat.categories.tolist() == ["low", "high", "other"]
    assert column.cat.ordered


def test_without_a_schema_only_an_empty_text_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b,c\nNone,NA,true\nx,2,false\n,3,NA\n")
    frame, remarks = frames.read_any(path)
    assert frame["a"].tolist()[:2] == ["None", "x"]
    assert pd.isna(frame["a"][2])
    assert frame["b"].isna().tolist() == [True, False, False]
    assert frame["c"].tolist()[:2] == [True, False]
    assert len(remarks) == 1
    assert "'a'" in remarks[0]


WRONG = {
    "semicolons": ("a;b\n1;2\n", r"only one column, 'a;b'; .* --separator ';'"),
    "tabs": ("a\tb\n1\t2\n", r"--separator '\\t'"),
    "empty": ("", "is empty"),
    "short row": ("a,b\n1,2\n1\n", "line 3: it has 1 cells, but the header has 2"),
    "long row": ("a,b\n1,2,3\n", "line 2: it has 3 cells"),
    "column twice": ("a,a\n1,2\n", "same name: 'a'"),
    "open quote": ('a,b\n"1,2\n', "line 2: it has 1 cells|cannot be read as CSV"),
    "missing column": ("b\n1\n", "lacks columns that the schema has: 'a'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_cannot_be_read_is_an_error_in_plain_words(name: str, tmp_path: Path) -> None:
    text, sentence = WRONG[name]
    with pytest.raises(AttainError, match=sentence):
        frames.read_people(write(tmp_path / "a.csv", text), Schema((Feature("a", "real"),)))


def test_other_files_are_errors_in_plain_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = Schema((Feature("a", "real"),))
    with pytest.raises(FileError, match="there is no file"):
        frames.read_people(str(tmp_path / "none.csv"), schema)
    with pytest.raises(FileError, match="unknown file extension"):
        frames.read_people(str(tmp_path / "a.xlsx"), schema)
    (tmp_path / "latin.csv").write_bytes("a\nä\n".encode("latin-1"))
    with pytest.raises(FileError, match="not UTF-8 text"):
        frames.read_people(str(tmp_path / "latin.csv"), schema)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 rubbish")
    with pytest.raises(FileError, match="cannot be read as Parquet"):
        frames.read_people(str(tmp_path / "a.parquet"), schema)
    path = write(tmp_path / "a.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match="--label names 'a', which is a feature of the schema"):
        frames.read_people(path, schema, label="a")
    with pytest.raises(FileError, match=r"--index names 'z', which .* does not have; it has 'a', 'b'"):
        frames.read_people(path, schema, index="z")
    with pytest.raises(FileError, match="one character"):
        frames.read_people(path, schema, separator=";;")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"attain\[arrow\]"):
        frames.check_ending(str(tmp_path / "b.parquet"))


EXACT: dict[str, Any] = {} if pd.__version__ >= "3" else {"float_precision": "round_trip"}
"""Floats to the last bit, which is the default of pandas 3."""

AS_PANDAS = {
    "integers": ["1", "-2", "+3", "007"],
    "large integers": ["9223372036854775808", "1"],
    "integers and nothing": ["1", "", "NA"],
    "floats": ["0.1", "1e-3", "-inf", "123456789.123456789"],
    **({"too large": ["1e400"]} if pd.__version__ >= "3" else {}),  # a string in pandas 2
    "nothing": ["", "nan"],
    "booleans": ["True", "false", "TRUE"],
    "strings": ["1_000", "a", "0x10"],
    "digits of another script": ["\uff11\uff12", "1"],
    "quoted": ['"a,b"', '"1\n2"', '"say ""yes"""'],
}


@pytest.mark.parametrize("name", AS_PANDAS)
def test_columns_have_the_dtypes_and_values_that_pandas_reads(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b\n" + "".join(f"{cell},0\n" for cell in AS_PANDAS[name]))
    frame, _ = frames.read_any(path)
    missing = sorted(frames.MISSING)
    expected = pd.read_csv(path, keep_default_na=False, na_values=missing, **EXACT)
    pd.testing.assert_frame_equal(frame, expected)


def test_a_row_is_as_wide_as_the_header_whatever_its_position(tmp_path: Path) -> None:
    rows = ["1,2"] * 70_000
    rows[65_000] = "1,2,3"
    path = write(tmp_path / "a.csv", "a,b\n" + "\n".join(rows))
    with pytest.raises(FileError, match="line 65002: it has 3 cells, but the header has 2"):
        frames.read_any(path)


def test_a_byte_order_mark_and_other_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("\ufeffa;b\r\nx;1\r\n\r\ny;2".encode())
    frame, _ = frames.read_any(str(tmp_path / "a.csv"), separator=";")
    assert frame.to_dict("list") == {"a": ["x", "y"], "b": [1, 2]}
