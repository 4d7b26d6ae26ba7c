"""Pages as one HTML file that needs no network: headings, texts, tables, figures, and data that a script shows.

Every value is escaped, and the page's own policy lets a browser run and load nothing but what this package wrote.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

from attain.core.errors import MissingExtraError
from attain.core.files import write_atomically

Tone: TypeAlias = Literal["plain", "good", "fair", "bad", "muted"]


@dataclass(frozen=True)
class Mark:
    """A number from 0 to 1, drawn as a bar; with both ends of an interval, as a dot between them."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Cell:
    """A table cell with a tone, and perhaps a drawn number beside the text."""

    text: str
    tone: Tone = "plain"
    mark: Mark | None = None


@dataclass(frozen=True, eq=False)
class Heading:
    """A heading, by default of level 2."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Bullets:
    """A list of plain texts."""

    items: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Lines to be copied, with what they are for."""

    text: str
    caption: str = ""


@dataclass(frozen=True)
class TableBlock:
    """A table; the columns at the positions in `right` are aligned right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    right: Sequence[int] = ()
    caption: str = ""


@dataclass(frozen=True)
class Facts:
    """Names with their values."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Tile:
    """A large figure: its value, its name, and what is to be known about it."""

    value: str
    name: str
    about: str = ""


@dataclass(frozen=True)
class Tiles:
    """A row of large figures."""

    tiles: Sequence[Tile]


@dataclass(frozen=True)
class Part:
    """A part of a whole: its name, how many there are of it, and a tone."""

    name: str
    count: int
    tone: Tone


@dataclass(frozen=True)
class Whole:
    """Parts of a whole as one bar, each with its name and count below."""

    parts: Sequence[Part]
    label: str


@dataclass(frozen=True)
class Picture:
    """A PNG image, embedded in the page, with a caption; `alt` says what it shows, by default what the caption says."""

    image: Path | bytes
    caption: str
    alt: str = ""


@dataclass(frozen=True)
class Details:
    """Blocks that are shown on demand, and printed."""

    summary: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Data:
    """Data that a script shows.

    Attributes
    ----------
    name
        The `id` of the element with the data.
    content
        What `JSON.parse` gives the script.
    markup, script
        HTML and JavaScript of this package, which are not escaped: no value of anybody's data may be in them.
    without
        What is shown where scripts do not run.
    """

    name: str
    content: Any
    markup: str
    script: str
    without: Sequence[Block]


Block: TypeAlias = (
    Heading | Paragraph | Bullets | Code | TableBlock | Facts | Tiles | Whole | Picture | Details | Data
)  # fmt: skip


def write(path: str | Path, title: str, blocks: Sequence[Block], *, about: str = "", style: str = "") -> None:
    """Writes the page; equal contents give equal bytes.

    Parameters
    ----------
    path, title
        The file, and the page's title.
    blocks
        What is on it, in order.
    about
        A line below the title.
    style
        Further CSS of this package.
    """
    write_atomically(path, html(title, blocks, about=about, style=style).encode("utf-8", "replace"))


def html(title: str, blocks: Sequence[Block], *, about: str = "", style: str = "") -> str:
    """The page as text; see `write`."""
    css = asset("attain.core.page", "page.css") + style
    scripts = [block.script for block in blocks if isinstance(block, Data)]
    return str(
        template().render(
            title=title,
            about=about,
            blocks=blocks,
            sections=[block for block in blocks if isinstance(block, Heading) and block.level == 2],
            style=css,
            scripts=scripts,
            policy=_policy(css, scripts),
        )
    )


def template() -> Any:
    """The template of all pages; an error that says what to install where Jinja2 is missing."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingExtraError("pages need Jinja2, which is not installed: pip install 'attain[report]'") from None
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"kind": lambda block: type(block).__name__, "cell": _cell, "base64": _base64}
    environment.filters |= {"json": _json, "percent": lambda share: f"{100 * share:.2f}".rstrip("0").rstrip(".")}
    return environment.from_string(asset("attain.core.page", "page.html"))


def asset(package: str, name: str) -> str:
    """A text file of the package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, scripts: Sequence[str]) -> str:
    """Allows what is in the page by its hash, embedded images, and nothing else."""
    hashes = " ".join(_hash(text) for text in scripts) or "'none'"
    only = f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {hashes}"
    return f"{only}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _cell(cell: str | Cell) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def _base64(image: Path | bytes) -> str:
    return base64.b64encode(image if isinstance(image, bytes) else image.read_bytes()).decode()


def _json(content: Any) -> Any:
    """JSON in which nothing can end the element that it is in."""
    from markupsafe import Markup

    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
