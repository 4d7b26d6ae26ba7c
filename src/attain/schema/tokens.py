"""The tokens of rules and expressions, a cursor over them, and messages that say what cannot be parsed, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from attain.core.arrays import as_python
from attain.core.errors import SchemaError, did_you_mean
from attain.schema.feature import Feature, Level

RESERVED: Final = ("if", "then", "and", "or", "not", "in", "is")
"""Words that cannot be a column or a level without backticks or quotes."""
_KEYWORDS: Final = (*RESERVED, "missing", "true", "false")
BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}
_ADVICE: Final = {
    **dict.fromkeys(("&", "&&"), "write `and`"),
    **dict.fromkeys(("|", "||"), "write `or`"),
    "!": "write `not`, or `≠` to compare",
    "~": "write `not`",
    "=>": "did you mean `>=`, or `if … then …`?",
    "->": "did you mean `if … then …`?",
    "=<": "did you mean `<=`?",
    "^": "write `**` for a power",
    "//": "write `floor(a / b)`",
    "%": "there is no remainder; write `a - b * floor(a / b)`",
    **dict.fromkeys(("×", "·"), "write `*`"),
    "÷": "write `/`",
    "−": "write `-`",
    "between": "write a range as `18 <= age <= 65`",
    "else": "write a second rule for the other case, with `not` before its condition",
    "then": "`then` needs an `if` before its condition",
    **dict.fromkeys("'\"", "a quote is not closed"),
    "`": "a backtick is not closed, or there is no name in it",
    "[": "only `in` takes a list, as in `score in [1, 2]`",
    "{": "only `table` takes braces, as in `table(job, {clerk: 1000, manager: 2000})`",
}
_MAX_DEPTH: Final = 40
"""The largest number of parentheses inside each other: the parser is recursive, and Python's stack has a limit."""

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:[^']|'')*+'|"(?:[^"]|"")*+")
    |(?P<name>`(?:[^`]|``)++`)
    |(?P<number>(?>[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?+(?!\w))
    |(?P<word>[^\W0-9]\w*)
    |(?P<neither>\w+)
    |(?P<symbol><=|>=|==|!=|<>|=>|=<|->|&&|\|\||\*\*|//|.)""",
    re.DOTALL | re.VERBOSE,
)
_WORD: Final = re.compile(r"[^\W0-9]\w*")


def quoted_name(name: str) -> str:
    """A column name as rules write it: in backticks unless it is one word; a backtick in it is written twice."""
    return name if _WORD.fullmatch(name) and name.lower() not in _KEYWORDS else backticked(name)


def quoted_level(level: Level) -> str:
    """A level as rules write it: text in quotes unless it is one word; a quote in it is written twice."""
    level = as_python(level)
    if isinstance(level, bool):
        return "true" if level else "false"
    if not isinstance(level, str):
        return repr(level)
    plain = _WORD.fullmatch(level) and level.lower() not in _KEYWORDS
    return level if plain else '"' + level.replace('"', '""') + '"'


class Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def content(self) -> str:
        """The text without its backticks or quotes."""
        if self.kind not in ("name", "string"):
            return self.text
        return self.text[1:-1].replace(self.text[0] * 2, self.text[0])


def _tokens(text: str) -> list[Token]:
    found = [Token(str(match.lastgroup), match[0], match.start()) for match in _TOKEN.finditer(text)]
    return [*(token for token in found if token.kind != "space"), Token("end", "", len(text))]


class Part(NamedTuple):
    """A part of the text, from `start` to `end`, and what it is."""

    start: int
    end: int
    content: Any


class LevelIndex:
    """The positions of a column's levels: by level, and for those that are not text by their text."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        self._by_level = {level: k for k, level in enumerate(levels)}
        self._by_text = {str(level).lower(): k for k, level in enumerate(levels) if not isinstance(level, str)}

    def position(self, part: Part, text: str) -> int | None:
        """The position of the level that a part of the text names, such as `yes`, `"self employed"`, `true` or `1`."""
        content = part.content
        if isinstance(content, int | float):
            return self._by_level.get(content, self._by_level.get(text))
        if not isinstance(content, Token) or content.kind == "name":
            return None
        exact, loose = self._by_level.get(content.content), self._by_text.get(content.content.lower())
        first, second = (exact, loose) if content.kind == "string" else (loose, exact)
        return second if first is None else first


class Cursor:
    """A place among the tokens of one text."""

    def __init__(self, text: str, columns: Mapping[str, Feature] | None, kind: str) -> None:
        self._text, self._kind = text, kind
        self._columns = columns or {}
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _advance(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, *texts: str) -> Token | None:
        """The current token, and on to the next, if it is one of these words or symbols."""
        return self._advance() if self._token.text in texts else None

    def _part(self, start: int, content: Any) -> Part:
        """The text from `start` to the end of the token that was read last."""
        return Part(start, self._tokens[self._at - 1].end, content)

    def _span(self, part: Part) -> str:
        return self._text[part.start : part.end]

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(self._token, f"more than {_MAX_DEPTH} parentheses, functions or powers inside each other")
        yield
        self._depth -= 1

    def _unexpected(self, expected: str) -> SchemaError:
        """The error for a current token that cannot stand where it is."""
        token = self._token
        before = self._tokens[self._at - 1].text if self._at else ""
        advice = ""
        if token.kind == "neither":
            advice = "; this is neither a number nor a name"
        elif token.text.lower() in _ADVICE and not (token.text == "then" and self._tokens[0].text == "if"):
            advice = f"; {_ADVICE[token.text.lower()]}"
        elif before.lower() in RESERVED and before not in RESERVED:
            advice = f"; did you mean `{before.lower()}` instead of `{before}`?"
        elif token.kind == "word" and token.text not in RESERVED:
            advice = did_you_mean(token.text, {word: f"`{word}`" for word in RESERVED})
        return self._error(token, f"expected {expected}", advice)

    def _error(self, at: Token | Part, complaint: str, advice: str = "") -> SchemaError:
        start, end = at.start, at.end
        if not self._text.strip():
            return SchemaError(f"the {self._kind} is empty; write one like {_EXAMPLES[self._kind]}")
        where = f"at “{cut(self._text[start:end])}” (character {start + 1})" if start < end else "at the end"
        shown = cut(self._text, around=start, most=200)
        return SchemaError(f"in the {self._kind} “{shown}”, {where}: {complaint}{self._unquoted(start) or advice}")

    def _unquoted(self, at: int) -> str:
        """Advice where the text around a position is a column name or level that lacks its backticks or quotes."""
        levels = (level for column in self._columns.values() for level in column.levels if isinstance(level, str))
        candidates = [(name, quoted_name(name), "column name", "backticks") for name in self._columns]
        candidates += [(level, quoted_level(level), "level", "quotes") for level in levels]
        ends = {token.end for token in self._tokens}
        starts = [token.start for token in self._tokens if token.start <= at and token.kind not in ("name", "string")]
        for plain, written, what, marks in sorted(candidates, key=lambda candidate: -len(candidate[0])):
            if written == plain or plain.lower() in _KEYWORDS:
                continue
            for start in starts[-20:]:
                end = start + len(plain)
                if at < end and end in ends and self._text.startswith(plain, start):
                    return f"; a {what} that is not one word goes in {marks}: {written}"
        return ""


_EXAMPLES: Final = {"rule": "`debt <= income` or `if owner = no then mortgage = 0`", "expression": "`debt / income`"}


def closing(opened: Token) -> str:
    """The closing bracket for a message, with where it was opened."""
    return f"`{BRACKETS[opened.text]}` for the `{opened.text}` at character {opened.start + 1}"


def backticked(name: str) -> str:
    """A column name for a message, as it can always be written."""
    return "`" + name.replace("`", "``") + "`"


def cut(text: str, around: int = 0, most: int = 60) -> str:
    """The text, or its part around a position where it is long."""
    start = max(0, min(around - most // 2, len(text) - most))
    part = text[start : start + most]
    return f"{'…' if start else ''}{part}{'…' if start + most < len(text) else ''}"
