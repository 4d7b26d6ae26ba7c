"""Pages as one HTML file that needs no network: Jinja templates that extend `page.html`, or lists of blocks.

Every value is escaped, and the page's own policy lets a browser run no script and load nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from attain.core.errors import MissingExtraError
from attain.core.files import write_atomically

Tone: TypeAlias = Literal["plain", "good", "fair", "bad", "muted"]
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Cell:
    """A table cell with a tone."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Heading:
    """A heading, by default of level 2."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of plain texts."""

    texts: Sequence[str]


@dataclass(frozen=True)
class TableBlock:
    """A table; the columns at the positions in `right` are aligned right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    right: Sequence[int] = ()
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A PNG image, embedded in the page, with a caption that says what it shows."""

    image: Path | bytes
    caption: str


Block: TypeAlias = Heading | Paragraph | Bullets | TableBlock | Picture


def write(path: str | Path, title: str, blocks: Sequence[Block]) -> None:
    """Writes a page of blocks, in their order; equal blocks give equal bytes."""
    write_page(path, FOLDER / "blocks.html", title=title, blocks=blocks)


def write_page(path: str | Path, template: Path, **content: Any) -> None:
    """Writes what a template makes of the content; equal contents give equal bytes.

    The template extends `page.html` and fills in its block `main`; `parts.html` has macros for it. It may set `style`,
    a text of this package, which `source` reads from a file beside it; no value of anybody's data may be in it.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise MissingExtraError("pages need Jinja2, which is not installed: pip install 'attain[report]'") from None
    loader = FileSystemLoader([template.parent, FOLDER])
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=loader
    )
    environment.globals["source"] = lambda name: Markup(loader.get_source(environment, name)[0])
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "base64": lambda image: base64.b64encode(image if isinstance(image, bytes) else image.read_bytes()).decode(),
        "sha256": _hash,
        "percent": lambda share: f"{100 * share:.2f}".rstrip("0").rstrip("."),
    }
    text = environment.get_template(template.name).render(sections=[], **content)
    write_atomically(path, text.encode("utf-8", "replace"))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
