"""Texts for reading: tables and paragraphs that fit the terminal, and numbers in English and German."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Final

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
NONE: Final = "–"
"""For a number that is not there."""
_MONEY: Final = ("$", "€", "£", "¥", "₹")
"""Units that English writes before the number."""
_GROUPED, _GROUPED_WITH_UNIT = 10_000, 1_000
_DIGITS: Final = 4
"""Significant digits of a number without a step."""
_USUAL_DECIMALS: Final = 6
_MOST_DECIMALS, _LARGEST = 12, 1e15
"""Numbers that need more decimals, or are this large, are shown with an exponent, and not printed in letters."""


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


def joined(parts: Iterable[str], last: str = " and ") -> str:
    """`a`, `a and b`, `a, b and c`."""
    items = list(parts)
    return last.join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


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


def folded(text: str, width: int | None = None) -> str:
    """A paragraph of at most `width` columns, measured in the terminal; words that are longer are broken."""
    return _rendered(width or window(), Text(plain(text)))


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


@dataclass(frozen=True)
class Numbers:
    """How a language writes numbers, and the few words used with them."""

    code: str
    decimal: str
    thousands: str
    percent: str
    """What stands before the sign `%`."""
    money_first: bool
    """Whether signs of currencies stand before the number."""
    about: str
    """What stands before a new value that is rounded."""
    missing: str
    month: str
    months: str
    yes: str
    no: str

    def number(self, value: float, unit: bool = False) -> str:
        """All digits of a number: `1.234,5` in German. `unit` says whether a unit follows."""
        return self._written(Decimal(repr(float(value))), is_grouped(value, unit))

    def quantity(self, value: float, unit: str) -> str:
        """All digits of a number with its unit, which may be empty: `$1,200` in English, `1.200 $` in German."""
        return self.with_unit(self.number(value, bool(unit)), unit)

    def duration(self, months: float) -> str:
        """`1 month`, `6 months`."""
        return f"{self.number(months)} {self.month if months == 1 else self.months}"

    def with_unit(self, shown: str, unit: str) -> str:
        """A number that is written out, with its unit, which may be empty: `$1,200`, `5%`, `about 12 months`."""
        bare = shown.removeprefix(self.about)
        about = shown[: len(shown) - len(bare)]
        if self.leads(unit):
            return f"{about}-{unit}{bare[1:]}" if bare.startswith("-") else f"{about}{unit}{bare}"
        return f"{shown}{self.percent}%" if unit == "%" else f"{shown} {unit}".rstrip()

    def leads(self, unit: str) -> bool:
        """Whether a unit stands before its number."""
        return self.money_first and unit in _MONEY

    def first(self, shown: str, unit: str) -> str:
        """The first of two numbers: without its unit, which stands behind the second, unless units stand in front."""
        return self.with_unit(shown, unit) if self.leads(unit) else shown

    def pair(self, before: float, after: float, step: float | None, unit: str = "") -> tuple[str, str]:
        """Two numbers with enough digits to distinguish them; the unit is written once.

        Each has the digits of `own_number`, but as many as it takes to show two digits of the difference. A new value
        without a step is rounded away from the old one, so that the change is never understated, and is called
        `about` where that alters it.
        """
        least = _decimals(abs(after - before), 2)
        if least > _MOST_DECIMALS or max(abs(before), abs(after)) >= _LARGEST:
            return self.first(f"{before:.12g}", unit), self.with_unit(f"{after:.12g}", unit)
        exact = Decimal(repr(after))
        outward = ROUND_CEILING if after > before else ROUND_FLOOR if after < before else ROUND_HALF_EVEN
        new = exact if step is not None else exact.quantize(_place(after, step, least), outward)
        grouped = is_grouped(max(abs(before), abs(after)), bool(unit))
        shown = f"{'' if new == exact else self.about}{self._written(new, grouped)}"
        return self.first(self._written(own_number(before, step, least), grouped), unit), self.with_unit(shown, unit)

    def inward(self, end: float, other: float, step: float | None, unit: str = "") -> str:
        """An end of a range without its unit, rounded inwards so that it stays within the range."""
        least = _decimals(abs(end - other), 2)
        if least > _MOST_DECIMALS or abs(end) >= _LARGEST:
            return repr(end)
        exact = Decimal(repr(end))
        place = Decimal(1).scaleb(-max(least, min(_decimals(abs(end), _DIGITS), _USUAL_DECIMALS)))
        rounded = exact.quantize(place, ROUND_FLOOR if end > other else ROUND_CEILING)
        return self._written(exact if step is not None else rounded, is_grouped(end, bool(unit)))

    def _written(self, value: Decimal, grouped: bool) -> str:
        text = f"{value + 0:,f}" if grouped else f"{value + 0:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.translate({ord(","): self.thousands, ord("."): self.decimal})


ENGLISH: Final = Numbers("en", ".", ",", "", True, "about ", "no entry", "month", "months", "yes", "no")
GERMAN: Final = Numbers("de", ",", ".", " ", False, "etwa ", "keine Angabe", "Monat", "Monate", "ja", "nein")


def number(value: float | int | None, grouped: bool = False) -> str:
    """Six significant digits, or from 10,000 to 1e15 two decimals, without trailing zeros; a dash for None and NaN."""
    comma = "," if grouped else ""
    if value is None or value != value:
        return NONE
    if float(value).is_integer() and abs(value) < _LARGEST:
        return f"{int(value):{comma}d}"
    return f"{value:{comma}.2f}".rstrip("0").rstrip(".") if 1e4 <= abs(value) < _LARGEST else f"{value:{comma}.6g}"


def points(value: float | None) -> str:
    """Percentile points, rounded to integers; below one, to a tenth."""
    if value is None or value != value:
        return NONE
    return f"{value:.0f}" if value >= 1 or value == 0 else f"{value:.1f}"


def is_grouped(value: float, unit: bool) -> bool:
    """Whether digits are written in groups of three: a number without a unit may be a year."""
    return abs(value) >= (_GROUPED_WITH_UNIT if unit else _GROUPED)


def printable(value: float) -> bool:
    """Whether every digit of a number can be shown."""
    exponent = Decimal(repr(float(value))).normalize().as_tuple().exponent
    return abs(value) < _LARGEST and isinstance(exponent, int) and -exponent <= _MOST_DECIMALS


def own_number(value: float, step: float | None, least: int = 0) -> Decimal:
    """A person's own number for reading, here and in letters.

    It has four significant digits, but at most six decimals, and at least those of the step and `least`.
    """
    return Decimal(repr(float(value))).quantize(_place(value, step, least))


def _place(value: float, step: float | None, least: int) -> Decimal:
    """The last digit that is shown."""
    usual = min(_decimals(abs(value), _DIGITS), _USUAL_DECIMALS)
    of_step = 0 if step is None else max(0, -int(Decimal(repr(step)).normalize().as_tuple().exponent))
    return Decimal(1).scaleb(-max(least, usual, of_step))


def _decimals(size: float, digits: int) -> int:
    """How many decimals a number has if it is shown with some significant digits; integers are not rounded."""
    return max(0, digits - 1 - Decimal(size).adjusted()) if size else 0
