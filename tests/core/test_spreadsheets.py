"""Tables for spreadsheets: texts come back, numbers are numbers, and nothing is a formula."""

import csv
import io
import math
import sys
from decimal import Decimal
from typing import Any

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.core import spreadsheets
from attain.core.errors import FileError, MissingExtraError
from attain.core.spreadsheets import csv_bytes, escaped, excel_bytes, unescaped

STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
TEXTS = st.text(st.sampled_from("=+-@\t\r\n'\";,|ax1_#N/A＝ é")) | st.text()
CELLS = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats() | st.decimals(allow_nan=False) | TEXTS


def sheet_of(content: bytes, name: str = "answers") -> Any:
    return openpyxl.load_workbook(io.BytesIO(content))[name]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("-1", "'-1"),
        ("+49 30", "'+49 30"),
        ("@sum", "'@sum"),
        ("\tx", "'\tx"),
        ("\r=x", "'\r'=x"),
        ("'=x", "''=x"),
        ("a;=cmd()", "a;'=cmd()"),
        ("<0 DM", "<0 DM"),
        ("'quoted'", "'quoted'"),
        ("5 - 3, or -1", "5 - 3, or -1"),
        ("", ""),
    ],
)
def test_what_could_be_a_formula_gets_an_apostrophe(text: str, written: str) -> None:
    assert escaped(text) == written
    assert unescaped(written) == text


@given(TEXTS)
def test_every_text_comes_back_and_none_begins_like_a_formula(text: str) -> None:
    assert unescaped(escaped(text)) == text
    assert not escaped(text).startswith(STARTS)


@given(st.lists(st.tuples(TEXTS, CELLS), min_size=1))
def test_csv_has_the_texts_and_the_numbers_that_it_was_given(rows: list[tuple[str, Any]]) -> None:
    frame = pd.DataFrame(
        {"=name": [text for text, _ in rows], "cell": pd.Series([cell for _, cell in rows], dtype=object)}
    )
    text = csv_bytes(frame).decode().encode("utf-8", "replace").decode()
    header, *read = list(csv.reader(io.StringIO(text, newline="")))
    assert header == ["'=name", "cell"]
    assert [unescaped(name) for name, _ in read] == [text.encode("utf-8", "replace").decode() for text, _ in rows]
    for (_, cell), (_, written) in zip(rows, read, strict=True):
        if isinstance(cell, str):
            assert not written.startswith(STARTS)
        elif isinstance(cell, int | float | Decimal) and not math.isnan(cell):
            assert written == str(cell)


@given(st.lists(st.tuples(TEXTS, CELLS), min_size=1, max_size=5))
def test_no_cell_of_a_sheet_is_a_formula(rows: list[tuple[str, Any]]) -> None:
    frame = pd.DataFrame(
        {"=name": [text for text, _ in rows], "cell": pd.Series([cell for _, cell in rows], dtype=object)}
    )
    sheet = sheet_of(excel_bytes({"answers": frame}))
    for row in sheet.iter_rows():
        for cell in row:
            assert cell.data_type in "snb"
            assert not (cell.data_type == "s" and cell.value.startswith(STARTS))
    cells = sheet.iter_rows(2, len(rows) + 1, max_col=2, values_only=True)
    for (_, given_cell), (_, read) in zip(rows, cells, strict=True):
        if isinstance(given_cell, bool | int) and abs(given_cell) < 10**15:
            assert read == given_cell
        elif isinstance(given_cell, float) and abs(given_cell) < 9.99e307:
            assert read == pytest.approx(given_cell, rel=1e-14)
        elif (isinstance(given_cell, float) and not math.isnan(given_cell)) or isinstance(given_cell, int):
            assert read.lstrip("'") == str(given_cell)


def test_sheets_are_read_easily_and_are_the_same_bytes_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"who": ["a", "b"], "amount": [-1.5, 2.0], "level": pd.Categorical(["-x", "#N/A"])})
    content = excel_bytes({"answers": frame, "changes": frame})
    sheet = sheet_of(content)
    assert (sheet.freeze_panes, sheet.auto_filter.ref, sheet["A1"].font.bold) == ("A2", "A1:C3", True)
    assert [cell.value for cell in sheet[2]] == ["a", -1.5, "'-x"]
    assert [cell.value for cell in sheet[3]] == ["b", 2, "#N/A"]
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("zipfile.time.time", lambda: 2e9)
    assert excel_bytes({"answers": frame, "changes": frame}) == content


def test_a_table_that_excel_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreadsheets, "_MOST_ROWS", 2)
    with pytest.raises(FileError, match="'answers' would have 2 rows, but Excel takes 1; write CSV"):
        excel_bytes({"answers": pd.DataFrame({"a": [1, 2]})})


def test_excel_files_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'attain\[report\]'"):
        excel_bytes({})
