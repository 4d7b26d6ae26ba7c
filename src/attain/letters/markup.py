"""The markup of letters: what a template writes, as plain text and as HTML in which everything is escaped.

Blocks are separated by blank lines: `# title`, `## heading`, `### smaller heading`; `- item` for each line of a list;
`| line` for each line that stays a line of its own, as in an address; anything else is a paragraph. Within a block, a
line without a mark continues the one before.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from html import escape
from typing import Final, NamedTuple

_MARK: Final = re.compile(r"(#{1,3}|-|\|) +")
_UNDERLINE: Final = {"#": "=", "##": "-"}
_WIDTH: Final = 76
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=\S)")
"""The space behind a number, at which no line ends: what follows is most often its unit."""
_NO_BREAK: Final = "\u00a0"


class Block(NamedTuple):
    """A title or heading (`#`, `##`, `###`), a list (`-`), lines (`|`) or a paragraph (empty)."""

    mark: str
    lines: list[str]


def blocks(source: str) -> Iterator[Block]:
    """The blocks of a text, in order."""
    for part in re.split(r"\n\s*\n", source):
        block: Block | None = None
        for line in filter(str.strip, part.splitlines()):
            found = _MARK.match(line)
            if found is None and block is not None:
                block.lines[-1] += f" {line.strip()}"
                continue
            mark, text = (found[1], line[found.end() :]) if found else ("", line)
            if block is None or block.mark != mark:
                if block is not None:
                    yield block
                block = Block(mark, [])
            block.lines.append(text.strip())
        if block is not None:
            yield block


def as_text(source: str) -> str:
    """Plain text of 76 columns."""
    return "\n\n".join(_text(block) for block in blocks(source)) + "\n"


def _text(block: Block) -> str:
    mark, lines = block
    if mark == "|":
        return "\n".join(lines)
    if mark == "-":
        return "\n".join(_wrapped(f"- {line}", "  ") for line in lines)
    body = "\n".join(_wrapped(line) for line in lines)
    line = _UNDERLINE.get(mark, "")
    return f"{body}\n{line * max(map(len, body.splitlines()))}" if line else body


def _wrapped(line: str, indent: str = "") -> str:
    whole = _BEFORE_UNIT.sub(_NO_BREAK, line)
    text = textwrap.fill(whole, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return text.replace(_NO_BREAK, " ")


def as_html(source: str) -> str:
    """The same as HTML, without a page around it; what is under a smaller heading is a section."""
    parts, within = [], False
    for block in blocks(source):
        if within and block.mark.startswith("#"):
            parts.append("</section>")
            within = False
        if block.mark == "###":
            parts.append("<section>")
            within = True
        parts.append(_html(block))
    return "\n".join([*parts, "</section>"] if within else parts)


def _html(block: Block) -> str:
    mark, lines = block
    shown = [escape(_BEFORE_UNIT.sub(_NO_BREAK, line)) for line in lines]
    if mark == "|":
        return f"<p class='lines'>{'<br>'.join(shown)}</p>"
    if mark == "-":
        return f"<ul>{''.join(f'<li>{line}</li>' for line in shown)}</ul>"
    name = f"h{len(mark)}" if mark else "p"
    return "\n".join(f"<{name}>{line}</{name}>" for line in shown)
