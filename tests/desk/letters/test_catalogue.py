"""The catalogues of the package's own sentences, against the code that writes them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import attain
from attain.desk.letters.texts import LANGUAGES
from attain.methods.guarded import guard_context
from attain.results.status import Status

GERMAN = LANGUAGES["de"]
SOURCES = Path(attain.__file__).parent
COMPOSED = {
    "Nothing in this record may change: {}.",  # the status without its full stop, and why
    "The rule {} is broken by {} of training rows; check that it says what you mean.",
    "The rule {} is broken by all training rows; check that it says what you mean.",
}
"""What code puts together from smaller parts."""


def templates(tree: ast.AST) -> Iterator[str]:
    """Every text in code, with `{}` for what is filled in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)


@cache
def written() -> set[str]:
    return {text for path in SOURCES.rglob("*.py") for text in templates(ast.parse(path.read_text(encoding="utf-8")))}


def test_every_entry_is_what_the_code_says() -> None:
    assert set(GERMAN.sentences) - written() - COMPOSED == set()


@pytest.mark.parametrize("status", list(Status))
def test_how_a_search_ended_is_known_in_german(status: Status) -> None:
    assert GERMAN.translated(status.reason) not in (None, status.reason)


def test_what_the_service_refuses_is_known_in_german() -> None:
    calls = [
        node.args[1]
        for path in (SOURCES / "desk" / "service").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "HttpError" and len(node.args) > 1
    ]
    said = [next(iter(templates(one))) for one in calls if isinstance(one, ast.Constant | ast.JoinedStr)]
    assert len(said) > 15
    assert [text for text in said if text not in GERMAN.sentences] == []


@pytest.mark.parametrize(("text", "given"), GERMAN.sentences.items())
def test_both_sides_fill_in_the_same(text: str, given: str) -> None:
    def places(one: str) -> int:
        return sum(name is not None for _, name, _, _ in Formatter().parse(one))

    assert places(given) <= places(text)


def test_sentences_are_found_with_what_is_filled_in() -> None:
    note = guard_context.TOO_FEW_HELD_OUT.format(25)
    assert (GERMAN.translated(note) or "").startswith("Weniger als 25 echte Personen")
    assert GERMAN.translated("records has 1,001 rows; at most 1,000 are taken.") == (
        "Das sind 1.001 Datensätze; höchstens 1.000 sind möglich."
    )
    fewer = "{} fewer than the 3 options asked for: no others were found."
    assert [GERMAN.translated(fewer.format(who)) for who in ("1 person has", "1,204 people have")] == [
        "1 Person hat weniger als die 3 gewünschten Möglichkeiten: andere wurden nicht gefunden.",
        "1.204 Personen haben weniger als die 3 gewünschten Möglichkeiten: andere wurden nicht gefunden.",
    ]
    lacking = "record lacks 'a', 'b' and 3 more; send null for what is missing."
    assert GERMAN.translated(lacking) == "Es fehlt: 'a', 'b' und 3 weitere."
    inner = "column 'age', row 3: found 'x'; the schema says count, so it must be a number; correct the cell, or the"
    assert GERMAN.translated(f"{inner} schema's kind") == (
        "Spalte 'age', Zeile 3: 'x' gefunden; hier muss eine Zahl stehen"
    )


@pytest.mark.parametrize("text", ["", "Nothing of ours.", "the value is missing", "{} {0} {name}", "x" * 10_000])
def test_other_texts_are_not_translated(text: str) -> None:
    assert GERMAN.translated(text) is None


def test_what_is_filled_in_is_never_a_template_itself() -> None:
    lacking = "record lacks {0.__class__}; send null for what is missing."
    assert GERMAN.translated(lacking) == "Es fehlt: {0.__class__}."


def test_english_is_the_package_s_own() -> None:
    assert LANGUAGES["en"].said("If {}, then {}", "a", "b") == "If a, then b"
    assert LANGUAGES["en"].translated("The body is not JSON.") is None
