"""Letters to people about whom a model has decided.

A template writes blocks, separated by blank lines: `# title`, `## heading`, `### smaller heading`; `- item` for each
line of a list; `| line` for each line that stays a line of its own, as in an address; anything else is a paragraph.
Within a block, a line without a mark continues the one before. Blocks become plain text, or HTML in which everything is
escaped.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from attain.core.checks import check_integer
from attain.core.errors import AttainError, DataError, FileError, MissingExtraError
from attain.core.files import check_ending, read_text, write_atomically
from attain.core.text import plain
from attain.letters.content import Content, contents
from attain.letters.texts import LANGUAGES, Texts, language_of

if TYPE_CHECKING:
    from jinja2 import Template

    from attain.methods import Explainer
    from attain.results.counterfactuals import Counterfactuals


PAGE: Final = "page.html"


def builtin_templates() -> dict[str, str]:
    """The templates that come with the package, by the name of their file: one for each language, and the page."""
    folder = files("attain.letters").joinpath("templates")
    names = [*(f"letter.{code}.txt" for code in LANGUAGES), PAGE]
    return {name: folder.joinpath(name).read_text(encoding="utf-8") for name in names}


def rendered(template: str, title: str, values: Mapping[str, Any], *, escape: bool) -> str:
    """The template with these values; `title` is what messages call it."""
    try:
        from jinja2 import TemplateError
    except ImportError:
        raise MissingExtraError("letters need Jinja2, which is not installed: pip install 'attain[report]'") from None
    try:
        text: str = _compiled(template, escape).render(values)
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        line = getattr(error, "lineno", None)
        raise AttainError(f"{title}{f', line {line}' if line else ''}: {error}") from None
    return text


@lru_cache(maxsize=8)
def _compiled(template: str, escape: bool) -> Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(
        autoescape=escape, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(template)


ENDINGS: Final = (".html", ".txt")
_MARK: Final = re.compile(r"(#{1,3}|-|\|) +")
_UNDERLINE: Final = {"#": "=", "##": "-"}
_WIDTH: Final = 76
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=\S)")
"""The space behind a number, at which no line ends: what follows is most often its unit."""
_NO_BREAK: Final = "\u00a0"


@dataclass(frozen=True)
class Letter:
    """A letter to one person.

    Attributes
    ----------
    person
        The label of their row.
    content
        What the letter says, as data: the decision, the reasons, the options.
    text
        The letter as plain text.
    html
        The letter as a page of HTML, which prints on A4.
    """

    person: Any
    content: Content = field(repr=False)
    language: str
    _source: str = field(repr=False)
    _page: str = field(repr=False)

    @property
    def text(self) -> str:
        return as_text(self._source)

    @property
    def html(self) -> str:
        return html_page([self])


def write(
    result: Counterfactuals,
    explainer: Explainer,
    model: Any,
    texts: str | os.PathLike[str] | Mapping[str, Any],
    *,
    language: str = "en",
    people: Iterable[Any] | None = None,
    reasons: int = 4,
    options: int = 3,
    sender: str = "",
    date: str = "",
    reference: str = "{person}",
    template: str | os.PathLike[str] | None = None,
    page: str | os.PathLike[str] | None = None,
) -> list[Letter]:
    """A letter to each person of a result: the decision, why it was made, and what would lead to another one.

    Values are rounded for reading, and every option is checked as it is printed: in final form, against rules, laws and
    the constraints of the call, and by the model. Where a rounded value does not hold, fewer digits are taken away; an
    option that does not hold as it would be printed is left out.

    Parameters
    ----------
    result
        What `explain(..., contributions=True)` returned. With `ranges=True`, letters also say between which values an
        option was checked and holds.
    explainer, model
        Those that the result was made with.
    texts
        The reasons for each input, and names for inputs and levels: a TOML file, or a dictionary; see
        `attain.letters.texts_template`. An input that counts against a person and has no text is an error.
    language
        "en" or "de".
    people
        The labels of the people to write to; None is everybody.
    reasons, options
        At most so many of each.
    sender
        Who writes, in one or more lines.
    date
        The date as it should be printed.
    reference
        The reference of the letter; `{person}` in it is the label of the person's row.
    template
        A file with your own words instead of the built-in template of the language; `save_templates` writes those.
    page
        A file with your own page of HTML around the letters.
    """
    read = Texts.read(texts, language_of(language), result.table.schema)
    check_integer("reasons", reasons, 1)
    check_integer("options", options, 1)
    words, title = _template(template, f"letter.{language}.txt")
    frame, _ = _template(page, PAGE)
    positions: Sequence[int] = range(len(result))
    if people is not None:
        positions = sorted({position for person in people for position in result.positions(person)})
    letters = []
    for content in contents(result, explainer, model, read, positions, reasons, options):
        label = plain(content.person)
        values = {
            **vars(content),
            "words": read.words,
            "sender": [plain(line) for line in sender.splitlines()],
            "date": plain(date),
            "reference": plain(reference.replace("{person}", label)),
            "person": label,
        }
        source = rendered(words, title, values, escape=False)
        letters.append(Letter(content.person, content, language, source, frame))
    return letters


def _template(path: str | os.PathLike[str] | None, name: str) -> tuple[str, str]:
    """The text of a template, and what messages call it."""
    return (builtin_templates()[name], name) if path is None else (read_text(path), repr(str(path)))


def html_page(letters: Sequence[Letter]) -> str:
    """Letters as one page of HTML, each on a sheet of its own."""
    first = letters[0]
    title = next((block.lines[0] for block in blocks(first._source) if block.mark == "#"), "")
    values = {"language": first.language, "title": title, "letters": [as_html(letter._source) for letter in letters]}
    return rendered(first._page, PAGE, values, escape=True)


def save(letters: Sequence[Letter], path: str | os.PathLike[str]) -> None:
    """Writes letters into one file, .html or .txt, each on a page of its own."""
    check_ending(path, *ENDINGS)
    if not letters:
        raise DataError("there are no letters to write")
    page = Path(path).suffix.lower() == ".html"
    text = html_page(letters) if page else "\f".join(letter.text for letter in letters)
    write_atomically(path, text.encode())


def save_each(letters: Sequence[Letter], path: str | os.PathLike[str]) -> list[Path]:
    """Writes each letter into a file of its own, named after `path` and the person: `letter-17.html`."""
    base, places = Path(path), dict[str, Path]()
    for number, letter in enumerate(letters):
        name = re.sub(r"[^\w-]+", "_", str(letter.person)) or "_"
        name = f"{name}_{number}" if name.lower() in places else name
        places[name.lower()] = base.with_name(f"{base.stem}-{name}{base.suffix}")
        save([letter], places[name.lower()])
    return list(places.values())


def save_templates(folder: str | os.PathLike[str]) -> list[Path]:
    """Writes the built-in templates into a folder, to be edited: the words of each language, and the page of HTML."""
    places = {Path(folder) / name: text for name, text in builtin_templates().items()}
    if existing := [place for place in places if place.exists()]:
        raise FileError(f"{str(existing[0])!r} exists already; name another folder")
    for place, text in places.items():
        write_atomically(place, text.encode())
    return list(places)


# the markup


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
    """The same as HTML, without a page around it; what is under a smaller heading is a section."""
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
