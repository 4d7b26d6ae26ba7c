"""Tables in a terminal: within the window, aligned, complete, undisturbed by any value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from attain.core.text import number, plain, table, wrapped

HEADER = ("one", "two", "three")


@given(st.text(max_size=40))
def test_no_value_can_disturb_the_terminal(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable()
    assert len(shown.splitlines()) <= 1


def test_escape_sequences_are_disarmed() -> None:
    assert "\x1b" not in plain("\x1b[31mred\x1b[0m")
    assert plain("a\n\tb") == "a b"
    assert plain("\u202egnp.exe") == "�gnp.exe"
    assert "[bold]" in table(HEADER, [("[bold]", ":smile:", "[/x]")])
    assert ":smile:" in table(HEADER, [("[bold]", ":smile:", "[/x]")])


@given(st.lists(st.lists(st.text(max_size=30), min_size=3, max_size=3), max_size=6), st.integers(12, 200))
def test_a_table_fits_any_width(rows: list[list[str]], width: int) -> None:
    assert all(cell_len(line) <= width for line in table(HEADER, rows, width=width, right=(1,)).splitlines())


WORDS = st.lists(st.text("abcdefgh日本", min_size=1, max_size=9), min_size=1, max_size=6).map(" ".join)


@given(st.lists(st.tuples(WORDS, st.integers(0, 10**6), WORDS), min_size=1, max_size=5), st.integers(20, 120))
def test_nothing_is_cut_off_and_no_word_is_broken(rows: list[tuple[str, int, str]], width: int) -> None:
    shown = table(HEADER, rows, width=width, right=(1,)).replace(";", " ").split()
    for row in rows:
        for cell in row:
            assert set(str(cell).split()) <= set(shown)


def test_columns_are_aligned_by_the_width_of_characters() -> None:
    lines = table(HEADER, [("日本", 5, "x"), ("é", 1000, "y"), ("e\u0301", 20, "z")], width=60, right=(1,)).splitlines()
    assert [cell_len(line) for line in lines[2:]] == [cell_len(lines[2])] * 3
    assert lines[3].split() == ["é", "1000", "y"]
    assert lines[2].index("5") == lines[2].index("x") - 3


def test_rows_become_paragraphs_where_columns_do_not_fit() -> None:
    text = table(("name", "alpha", "beta"), [("first", "a" * 12, "b" * 12), ("second", "", "c")], width=24)
    assert text.splitlines() == ["first", "  alpha aaaaaaaaaaaa;", "  beta bbbbbbbbbbbb", "second", "  beta c"]


def test_paragraphs_wrap_between_words_and_leave_paths_whole() -> None:
    assert wrapped("one two a/long/path-name", 8, " ") == " one two\n a/long/path-name"


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (0.1, "0.1"), (1234567, "1234567"), (1e20, "1e+20"), (-0.0, "0"), (None, "–"), (float("nan"), "–")],
)
def test_numbers_have_no_needless_digits(value: float | None, text: str) -> None:
    assert number(value) == text
