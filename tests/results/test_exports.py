"""A result in files for spreadsheets: the tables of the result, safe to open, and read back as they were."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain import Counterfactuals, Feature, Schema, Status
from attain.cli.inputs import read_table
from attain.core.errors import AttainError, FileError
from attain.results.details import Ranges
from attain.results.exports import flattened
from attain.tables import Table
from tests.results.handmade import result_of

STARTS = ("=", "+", "-", "@", "\t", "\r")
SCHEMA = Schema(
    (
        Feature("=amount", "real", label="Amount", unit="€"),
        Feature("status", "categorical", levels=("-1", "'-1", "<0 DM", "=cmd()")),
        Feature("grade", "ordinal", levels=(-1, 0, 1), label="Amount", unit="€"),
    )
)
PEOPLE = pd.DataFrame(
    {"=amount": [-5.0, 3.0], "status": ["<0 DM", "-1"], "grade": [-1, 0]}, index=pd.Index(["+a", "b"], name="@who")
)
RESULT = result_of(
    SCHEMA,
    PEOPLE,
    {0: [{"=amount": -2.5, "status": "=cmd()"}, {"grade": 1}]},
    statuses={1: Status.OUT_OF_REACH},
    total_shift=[0.25, 0.5],
)


def read(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))


def test_the_answers_are_one_row_for_each_option_and_person_without_one(tmp_path: Path) -> None:
    RESULT.to_csv(tmp_path / "a.csv")
    header, *rows = read(tmp_path / "a.csv")
    assert header == [
        "'@who",
        "option",
        "status_",
        "sentence",
        "unreviewed",
        "'=amount",
        "status",
        "grade",
        "total_shift",
    ]
    assert [[row[0], row[1], row[2], *row[4:]] for row in rows] == [
        ["'+a", "1", "FOUND", "'=amount, status", "-2.5", "'=cmd()", "-1", "25.0"],
        ["'+a", "2", "FOUND", "grade", "-5.0", "<0 DM", "1", "50.0"],
        ["b", "", "OUT_OF_REACH", "", "3.0", "'-1", "0", ""],
    ]


def test_labels_and_units_are_in_the_header_where_asked(tmp_path: Path) -> None:
    RESULT.to_csv(tmp_path / "a.csv", labels=True, separator=";")
    assert read(tmp_path / "a.csv")[0][0].split(";")[5:8] == ["Amount (€)", "status", "Amount (€)_"]


def test_other_tables_are_the_frames_of_the_result(tmp_path: Path) -> None:
    RESULT.to_csv(tmp_path / "c.csv", "changes")
    header, *rows = read(tmp_path / "c.csv")
    assert header == ["'@who", *RESULT.changes.columns[1:]]
    assert [row[2] for row in rows] == ["'=amount", "status", "grade"]
    RESULT.to_csv(tmp_path / "f.csv", "figures")
    assert read(tmp_path / "f.csv") == [["'@who", "total_shift"], ["'+a", "25.0"], ["b", ""]]
    assert rows[0][header.index("total_shift")] == "25.0"
    with pytest.raises(AttainError, match="table must be one of 'answers', 'changes'"):
        RESULT.to_csv(tmp_path / "x.csv", "sheet")


def test_an_excel_file_has_a_sheet_for_each_table(tmp_path: Path) -> None:
    ranges = Ranges(np.array([0]), np.array([1]), *[np.array([np.nan])] * 4, ((0, 2),), np.array([3.0]))
    result = replace(RESULT, intervals=ranges, settings={"=x": {"seed": -1}, "laws": [1]})
    result.to_excel(tmp_path / "a.xlsx", labels=True)
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert book.sheetnames == ["answers", "changes", "ranges", "figures", "settings"]
    assert [row[:2] for row in book["settings"].values][1:] == [("'=x.seed", -1), ("laws", "[1]")]
    assert [cell.value for cell in book["answers"][2]][5:] == [-2.5, "'=cmd()", -1, 25]
    assert book["answers"]["F1"].value == "Amount (€)"
    assert "'-1, <0 DM" in [cell.value for cell in book["ranges"][2]]
    for sheet in book:
        cells = [cell for row in sheet.iter_rows() for cell in row]
        assert all(cell.data_type != "f" for cell in cells)
        assert not any(isinstance(cell.value, str) and cell.value.startswith(STARTS) for cell in cells)
    content = (tmp_path / "a.xlsx").read_bytes()
    Counterfactuals.from_json(result.to_json()).to_excel(tmp_path / "b.xlsx", labels=True)
    assert (tmp_path / "b.xlsx").read_bytes() == content


def test_a_file_is_what_its_name_says(tmp_path: Path) -> None:
    for name, write in {"x.csv": RESULT.to_excel, "x.xlsx": RESULT.to_csv}.items():
        with pytest.raises(FileError, match=f"{name}' must end with "):
            write(tmp_path / name)
        assert not (tmp_path / name).exists()
    with pytest.raises(AttainError, match="labels must be True or False, got 'yes'"):
        RESULT.to_csv(tmp_path / "x.csv", labels="yes")  # type: ignore[arg-type]
    with pytest.raises(FileError, match=r"takes the text of a file, got its name; pass Path\('a.json'\).read_text"):
        Counterfactuals.from_json("a.json")


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_results_of_other_libraries_are_written_the_same_way(library: str, tmp_path: Path) -> None:
    own = pytest.importorskip(library)
    plain = PEOPLE.reset_index(drop=True)
    frame = own.from_pandas(plain) if library == "polars" else own.Table.from_pandas(plain)
    pandas, other = (replace(RESULT, table=Table.read(people, SCHEMA)) for people in (plain, frame))
    for table in ("answers", "changes", "figures"):
        pandas.to_csv(tmp_path / "p.csv", table)
        other.to_csv(tmp_path / "o.csv", table)
        assert read(tmp_path / "o.csv") == read(tmp_path / "p.csv")
    other.to_excel(tmp_path / "o.xlsx")


LEVELS = st.lists(st.text(st.sampled_from("=+-@'\t\r\n;,<0 aé"), min_size=1), min_size=2, max_size=5, unique=True)


@given(LEVELS, st.text(st.sampled_from("=-+@'a"), min_size=1), st.data())
def test_answers_written_as_csv_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, levels: list[str], name: str, data: Any
) -> None:
    schema = Schema((Feature(name, "categorical", levels=tuple(levels)), Feature("amount", "real")))
    drawn = [data.draw(st.sampled_from(levels)) for _ in range(3)]
    amounts = data.draw(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3))
    people = pd.DataFrame({name: drawn, "amount": amounts}, index=["=p", "-1", "'q"])
    result = result_of(schema, people, {0: [{name: levels[0]}], 2: [{"amount": -7.25}]})
    path = tmp_path_factory.getbasetemp() / "answers.csv"
    result.to_csv(path)
    read_back = read_table(str(path), result.table, target="good", probability=None)
    np.testing.assert_array_equal(read_back.answers, result.answers)
    np.testing.assert_array_equal(read_back.found, result.found)


def test_settings_are_flattened_to_dotted_names() -> None:
    assert list(flattened({"a": 1, "b": {"c": [2], "d": {}}})) == [("a", 1), ("b.c", [2]), ("b.d", {})]
