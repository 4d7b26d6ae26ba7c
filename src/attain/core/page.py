"""Reports as one HTML file of headings, paragraphs, tables and figures, which needs no network. Values are escaped."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from attain.core.errors import MissingExtraError
from attain.core.files import write_atomically

Tone: TypeAlias = Literal["plain", "good", "bad", "muted"]


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
class TableBlock:
    """A table; the columns at the positions in `right` are aligned right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    right: Sequence[int] = ()
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A PNG file, embedded in the page, with a caption."""

    path: Path
    caption: str


Block: TypeAlias = Heading | Paragraph | TableBlock | Picture

_TEMPLATE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
:root { color-scheme: light; --ink: #1d2430; --faint: #667085; --line: #d9dee7; --good: #006b4d; --bad: #a63a00; }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); max-width: 62rem; margin: 0 auto;
       padding: 2rem 1.25rem 4rem; background: #fff; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .6rem; border-top: 1px solid var(--line); padding-top: 1.2rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
p { max-width: 46rem; margin: .5rem 0; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--faint); padding: 0 0 .4rem; }
th, td { padding: .32rem .7rem .32rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
.number { text-align: right; white-space: nowrap; }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.muted { color: var(--faint); }
figure { margin: 1.2rem 0; }
figure img { max-width: 100%; height: auto; }
figcaption { color: var(--faint); font-size: .9rem; max-width: 46rem; }
</style>
</head>
<body>
<main>
<h1>{{ title }}</h1>
{% for block in blocks -%}
{% if block.kind == "heading" %}<h{{ block.level }}>{{ block.text }}</h{{ block.level }}>
{% elif block.kind == "paragraph" %}<p>{{ block.text }}</p>
{% elif block.kind == "picture" %}<figure><img src="data:image/png;base64,{{ block.data }}" alt="{{ block.caption }}">
<figcaption>{{ block.caption }}</figcaption></figure>
{% else %}<div class="wide"><table>{% if block.caption %}<caption>{{ block.caption }}</caption>{% endif %}
<thead><tr>{% for name in block.header %}<th scope="col"{% if loop.index0 in block.right %} class="number"{% endif %}>
{{- name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in block.rows %}<tr>{% for cell in row %}<td class="{{ cell.tone }}
{%- if loop.index0 in block.right %} number{% endif %}">{{ cell.text }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
{% endif %}{% endfor %}
</main>
</body>
</html>
"""


def write(path: Path, title: str, blocks: Sequence[Block]) -> None:
    """Writes the page; equal contents give equal bytes."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingExtraError("pages need Jinja2, which is not installed: pip install 'attain[report]'") from None
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(_TEMPLATE)
    html = template.render(title=title, blocks=[_plain(block) for block in blocks])
    write_atomically(path, html.encode())


def _plain(block: Block) -> dict[str, Any]:
    match block:
        case Heading(text, level):
            return {"kind": "heading", "text": text, "level": level}
        case Paragraph(text):
            return {"kind": "paragraph", "text": text}
        case Picture(path, caption):
            return {"kind": "picture", "data": base64.b64encode(path.read_bytes()).decode(), "caption": caption}
        case TableBlock(header, rows, right, caption):
            cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
            return {"kind": "grid", "header": header, "rows": cells, "right": right, "caption": caption}
