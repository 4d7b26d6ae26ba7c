"""Letters to people about whom a model has decided: written, and saved as files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attain.core.errors import DataError, FileError, check_integer
from attain.core.files import check_ending, read_text, write_atomically
from attain.core.text import plain
from attain.desk.letters.content import Content, contents
from attain.desk.letters.rendering import PAGE, as_html, as_text, blocks, builtin_templates, rendered
from attain.desk.letters.texts import Texts, language_of

if TYPE_CHECKING:
    from attain.methods import Explainer
    from attain.results.counterfactuals import Counterfactuals

ENDINGS: Final = (".html", ".txt")
_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
"""Labels that are names of files as they are, on every system."""


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
        The most of each.
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
    for content in contents(result, explainer, model, read, positions, max_reasons=reasons, max_options=options):
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
    """One page of HTML that prints each letter on a new sheet."""
    first = letters[0]
    title = next((block.lines[0] for block in blocks(first._source) if block.mark == "#"), "")
    values = {"language": first.language, "title": title, "letters": [as_html(letter._source) for letter in letters]}
    return rendered(first._page, PAGE, values, escape=True)


def save(letters: Sequence[Letter], path: str | os.PathLike[str]) -> None:
    """Writes letters into one file, .html or .txt, each on a new page."""
    check_ending(path, *ENDINGS)
    if not letters:
        raise DataError("there are no letters to write")
    page = Path(path).suffix.lower() == ".html"
    text = html_page(letters) if page else "\f".join(letter.text for letter in letters)
    write_atomically(path, text.encode())


def save_each(letters: Sequence[Letter], path: str | os.PathLike[str]) -> list[Path]:
    """Writes one file per letter, named after `path` and the person: `letter-17.html`.

    Different people have different files, also where capitals do not count: labels of other characters than lower-case
    letters, digits, `_` and `-`, or of more than 60, are cut and followed by a digest. A label that several people
    have is counted: `letter-17.2.html`.
    """
    base, places, seen = Path(path), list[Path](), Counter[str]()
    for letter in letters:
        name = _file_name(str(letter.person))
        seen[name] += 1
        number = f".{seen[name]}" if seen[name] > 1 else ""
        places.append(base.with_name(f"{base.stem}-{name}{number}{base.suffix}"))
        save([letter], places[-1])
    return places


def _file_name(label: str) -> str:
    """A name for a file, another one for every label."""
    if _PLAIN.fullmatch(label):
        return label
    readable = re.sub(r"[^a-z0-9_-]+", "-", label.lower())[:40].strip("-")
    return f"{readable or '_'}.{sha256(label.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def save_templates(folder: str | os.PathLike[str]) -> list[Path]:
    """Writes the built-in templates into a folder, to be edited: the words of each language, and the page of HTML."""
    places = {Path(folder) / name: text for name, text in builtin_templates().items()}
    if existing := [place for place in places if place.exists()]:
        raise FileError(f"{str(existing[0])!r} exists already; name another folder")
    for place, text in places.items():
        write_atomically(place, text.encode())
    return list(places)
