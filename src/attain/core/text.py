"""Text for terminals: tables that fit the window, whatever their cells contain."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]")
"""Control characters but tabs and line breaks, and those that change the direction of text."""
_READABLE = 10
"""Cells of several words are wrapped, but a column does not get narrower than this."""


def window() -> int:
    """The width of the terminal, 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def plain(value: object) -> str:
    """The value on one line, without control characters that could disturb a terminal."""
    text = " ".join(str(value).split())
    return "".join(character if character.isprintable() else "�" for character in text)


def disarmed(text: str) -> str:
    """The text with all its lines, without characters that could disturb a terminal or reorder what it shows."""
    return CONTROLS.sub("�", text)


def wrapped(text: str, width: int | None = None, indent: str = "") -> str:
    """A paragraph of at most `width` columns; longer words, such as paths, stay whole."""
    return textwrap.fill(
        text,
        width or window(),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def folded(text: str, width: int | None = None, indent: int = 0) -> str:
    """A paragraph of at most `width` columns, measured in the terminal; words that are longer are broken."""
    return _rendered(width or window(), Padding(Text(plain(text)), (0, 0, 0, indent)))


def table(
    header: Sequence[str], rows: Iterable[Sequence[object]], *, width: int | None = None, right: Iterable[int] = ()
) -> str:
    """The rows under a header, with nothing cut off.

    Columns in `right` hold numbers: they are aligned right and never wrapped. Cells of other columns wrap between
    words. Where even that does not fit into `width` (default: the terminal's), each row becomes a short paragraph.
    """
    limit, numbers = width or window(), set(right)
    names, *cells = [[plain(cell) for cell in row] for row in (header, *rows)]
    columns = list(zip(names, *cells, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    least = [size if j in numbers else _narrowest(columns[j], size) for j, size in enumerate(widths)]
    gaps = 2 * (len(widths) - 1)
    if sum(least) + gaps > limit:
        return _rendered(limit, *(part for row in cells for part in _paragraph(names, row)))
    while sum(widths) + gaps > limit:
        widest = max((j for j in range(len(widths)) if widths[j] > least[j]), key=widths.__getitem__)
        widths[widest] -= 1
    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="")
    for j, (name, size) in enumerate(zip(names, widths, strict=True)):
        shown.add_column(Text(name), width=size, justify="right" if j in numbers else "left", overflow="fold")
    for row in cells:
        shown.add_row(*map(Text, row))
    return _rendered(limit, shown)


def _narrowest(column: Sequence[str], size: int) -> int:
    words = (word for cell in column for word in cell.split())
    return max(min(size, _READABLE), max(map(cell_len, words), default=0))


def _paragraph(names: Sequence[str], row: Sequence[str]) -> tuple[RenderableType, RenderableType]:
    rest = "; ".join(f"{name} {cell}" for name, cell in zip(names[1:], row[1:], strict=True) if cell)
    return Text(row[0]), Padding(Text(rest), (0, 0, 0, 2))


def _rendered(width: int, *parts: RenderableType) -> str:
    console = Console(width=width, color_system=None, force_terminal=False, force_jupyter=False, legacy_windows=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
