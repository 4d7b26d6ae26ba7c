"""Tables as CSV and Excel files, in which a spreadsheet program finds data and never a formula.

A text that such a program could take for a formula gets an apostrophe in front; `unescaped` removes it again. Numbers
stay numbers, negative ones too.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.core.arrays import as_python, is_missing
from attain.core.errors import FileError, MissingExtraError

# A program that splits cells at another separator than the file's own, as spreadsheets in some countries do, would find
# a formula behind it.
_FORMULA: Final = "'*[=+\\-@＝＋－＠]"
_STARTS: Final = rf"(?:^(?='*[\t\r\n]|{_FORMULA})|(?<=[\t\r\n;,|])(?={_FORMULA}))"
_UNESCAPED: Final = re.compile(_STARTS)
_ESCAPED: Final = re.compile(_STARTS.replace("(?=", "'(?="))
_NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_XML_ESCAPE: Final = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
"""What Excel reads as the beginning of a character's code."""
_LARGEST: Final = 9.99e307
"""Excel has no larger number."""
_EXACT: Final = 10**15
"""Excel shows 15 digits of a number: larger integers, such as account numbers, are written as text."""
_MOST_ROWS: Final = 1_048_576
_WIDEST: Final = 60
_SAMPLED: Final = 200
"""How many rows the width of a column is taken from."""
_NO_TIME: Final = datetime(1980, 1, 1)


def escaped(text: str) -> str:
    """The text with an apostrophe before what a spreadsheet could take for a formula: `=1+1` becomes `'=1+1`.

    Such texts that begin with apostrophes already get one more, so that `unescaped` gives every text back.
    """
    return _UNESCAPED.sub("'", text)


def unescaped(text: str) -> str:
    """The text that `escaped` was given."""
    return _ESCAPED.sub("", text)


def csv_bytes(frame: pd.DataFrame, separator: str = ",", float_format: str | None = None) -> bytes:
    """The frame without its index as CSV in UTF-8, with its texts escaped; missing cells are empty."""
    safe = frame.set_axis([escaped(str(name)) for name in frame.columns], axis=1)
    for j, dtype in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            cells = [_csv_cell(value) for value in frame.iloc[:, j].tolist()]
            safe.isetitem(j, np.array(cells, dtype=object))
    text = safe.to_csv(sep=separator, index=False, lineterminator="\n", float_format=float_format)
    if "\r" in text:  # Python's writer quotes only the characters that end lines
        text = safe.to_csv(sep=separator, index=False, lineterminator="\r\n", float_format=float_format)
    return text.encode("utf-8", "replace")


def _csv_cell(value: Any) -> Any:
    value = as_python(value)
    return value if is_missing(value) or isinstance(value, bool | int | float | Decimal) else escaped(str(value))


def excel_bytes(sheets: Mapping[str, pd.DataFrame]) -> bytes:
    """An Excel file with one sheet for each frame, without its index; equal frames give equal bytes.

    Texts are escaped. Integers of 16 digits and more, and numbers that Excel does not have, are written as text.
    """
    openpyxl = excel_module()
    book = openpyxl.Workbook(write_only=True)
    book.properties.creator, book.properties.created = "attain", _NO_TIME
    for title, frame in sheets.items():
        if len(frame) >= _MOST_ROWS:
            raise FileError(
                f"the sheet {title!r} would have {len(frame):,} rows, but Excel takes {_MOST_ROWS - 1:,}; write CSV"
            )
        _add_sheet(openpyxl, book.create_sheet(title), frame)
    content = io.BytesIO()
    book.save(content)
    return _without_time(content)


def excel_module() -> Any:
    """openpyxl, or an error that says how to install it."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError(
            "Excel files need openpyxl, which is not installed: pip install 'attain[report]', or write CSV"
        ) from None
    return openpyxl


def _add_sheet(openpyxl: Any, sheet: Any, frame: pd.DataFrame) -> None:
    """The names of the columns in bold, which stay in view, then the rows."""
    columns = [[_excel_cell(value) for value in frame.iloc[:, j].tolist()] for j in range(frame.shape[1])]
    names = [_excel_cell(str(name)) for name in frame.columns]
    sheet.freeze_panes = "A2"
    for j, (name, cells) in enumerate(zip(names, columns, strict=True), start=1):
        longest = max(len(str(cell)) for cell in (name, *cells[:_SAMPLED]))
        sheet.column_dimensions[openpyxl.utils.get_column_letter(j)].width = min(longest, _WIDEST) + 2
    if names:
        sheet.auto_filter.ref = f"A1:{openpyxl.utils.get_column_letter(len(names))}{len(frame) + 1}"

    def text_cell(text: str, bold: bool = False) -> Any:
        made = openpyxl.cell.WriteOnlyCell(sheet, text)
        made.data_type = "s"
        if bold:
            made.font = openpyxl.styles.Font(bold=True)
        return made

    sheet.append([None if name is None else text_cell(name, bold=True) for name in names])
    for row in zip(*columns, strict=True):
        # a text such as `#N/A` would become an error
        sheet.append([text_cell(v) if isinstance(v, str) and v.startswith("#") else v for v in row])


def _excel_cell(value: Any) -> Any:
    value = as_python(value)
    if is_missing(value):
        return None
    number = isinstance(value, int | float | Decimal) and math.isfinite(value)
    if number and abs(value) < (_LARGEST if isinstance(value, float) else _EXACT):
        return value
    text = _NOT_IN_XML.sub("�", escaped(str(value)).replace("\r\n", "\n").replace("\r", "\n"))
    return _XML_ESCAPE.sub("_x005F_", text) or None


def _without_time(content: io.BytesIO) -> bytes:
    """The same archive without the time at which it was written."""
    whole = io.BytesIO()
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = old.read(name)
            if name == "docProps/core.xml":
                part = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>1980-01-01T00:00:00Z", part)
            new.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), part, zipfile.ZIP_DEFLATED)
    return whole.getvalue()
