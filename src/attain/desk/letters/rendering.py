"""The words of letters: templates that are filled in, and the blocks of text that come out, as plain text and HTML.

A template writes blocks, separated by blank lines: `# title`, `## heading`, `### smaller heading`; `- item` for each
line of a list; `| line` for each line that stays a separate line, as in an address; anything else is a paragraph.
Within a block, a line without a mark continues the one before. Blocks become plain text, or HTML in which everything is
escaped. Templates run in a sandbox, for a limited time and with limited memory.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from html import escape
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from attain.core.errors import AttainError, MissingExtraError
from attain.core.files import memory_limit
from attain.desk.letters.texts import LANGUAGES

if TYPE_CHECKING:
    from types import FrameType

    from jinja2 import Template

PAGE: Final = "page.html"
_SECONDS: Final = 10.0
"""How long a template may take to write one letter."""
_MEMORY: Final = 2**30
"""How many bytes it may take, where the system can hold it to that."""
_MARK: Final = re.compile(r"(#{1,3}|-|\|) +")
_UNDERLINE: Final = {"#": "=", "##": "-"}
_WIDTH: Final = 76
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=\S)")
"""The space behind a number, at which no line ends: what follows is most often its unit."""
_NO_BREAK: Final = "\u00a0"


def builtin_templates() -> dict[str, str]:
    """The templates that come with the package, by the name of their file: one for each language, and the page."""
    folder = files("attain.desk.letters").joinpath("templates")
    names = [*(f"letter.{code}.txt" for code in LANGUAGES), PAGE]
    return {name: folder.joinpath(name).read_text(encoding="utf-8") for name in names}


def rendered(template: str, title: str, values: Mapping[str, Any], *, escape: bool) -> str:
    """The template with these values; `title` is what messages call it."""
    try:
        from jinja2 import TemplateError
    except ImportError:
        raise MissingExtraError("letters need Jinja2, which is not installed: pip install 'attain[report]'") from None
    try:
        with _limits():
            text: str = _compiled(template, escape).render(values)
    except MemoryError:
        raise AttainError(f"{title}: the template takes too much memory; make it simpler") from None
    except RecursionError:
        raise AttainError(f"{title}: the template is nested too deeply; make it simpler") from None
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, TimeoutError) as error:
        line = getattr(error, "lineno", None)
        raise AttainError(f"{title}{f', line {line}' if line else ''}: {error}") from None
    return text


@contextmanager
def _limits() -> Iterator[None]:
    """Ends what takes too long, with TimeoutError, and on Linux what takes too much memory, with MemoryError."""
    end, before = monotonic() + _SECONDS, sys.gettrace()

    def watch(frame: FrameType, event: str, given: Any) -> Any:
        if monotonic() > end:
            raise TimeoutError(f"the template takes longer than {_SECONDS:g} seconds; make it simpler")
        return watch

    with memory_limit(_MEMORY):
        sys.settrace(watch)
        try:
            yield
        finally:
            sys.settrace(before)


@lru_cache(maxsize=8)
def _compiled(template: str, escape: bool) -> Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"**"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            raise ArithmeticError("powers are not computed in letters")

    return Sandbox(autoescape=escape, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(
        template
    )


class Block(NamedTuple):
    """A title or heading (`#`, `##`, `###`), a list (`-`), lines (`|`) or a paragraph (empty)."""

    mark: str
    lines: list[str]


def blocks(source: str) -> Iterator[Block]:
    """The blocks of a text, in order."""
    for part in re.split(r"\n\s*\n", source):
        lines: list[list[str]] = []
        for line in filter(str.strip, part.splitlines()):
            mark = _MARK.match(line)
            if mark or not lines:
                lines.append([mark[1] if mark else "", line[mark.end() if mark else 0 :].strip()])
            else:
                lines[-1][1] += f" {line.strip()}"
        for kind, group in groupby(lines, key=itemgetter(0)):
            yield Block(kind, [text for _, text in group])


def as_text(source: str) -> str:
    """Plain text of 76 columns."""
    return "\n\n".join(_text(block) for block in blocks(source)) + "\n"


def _text(block: Block) -> str:
    mark, lines = block
    if mark == "|":
        return "\n".join(lines)
    begin, indent = ("- ", "  ") if mark == "-" else ("", "")
    body = "\n".join(_wrapped(begin + line, indent) for line in lines)
    rule = _UNDERLINE.get(mark, "")
    return f"{body}\n{rule * max(map(len, body.splitlines()))}" if rule else body


def _wrapped(line: str, indent: str) -> str:
    whole = _BEFORE_UNIT.sub(_NO_BREAK, line)
    text = textwrap.fill(whole, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return text.replace(_NO_BREAK, " ")


def as_html(source: str) -> str:
    """A text as HTML without a page around it; each smaller heading begins a section."""
    parts, section = [], ""
    for block in blocks(source):
        if block.mark.startswith("#"):
            parts += [section] if section else []
            section = "</section>" if block.mark == "###" else ""
            parts += ["<section>"] if section else []
        parts.append(_html(block))
    return "\n".join([*parts, section] if section else parts)


def _html(block: Block) -> str:
    mark, lines = block
    shown = [escape(_BEFORE_UNIT.sub(_NO_BREAK, line)) for line in lines]
    if mark == "|":
        return f"<p class='lines'>{'<br>'.join(shown)}</p>"
    if mark == "-":
        return f"<ul>{''.join(f'<li>{line}</li>' for line in shown)}</ul>"
    name = f"h{len(mark)}" if mark else "p"
    return "\n".join(f"<{name}>{line}</{name}>" for line in shown)
