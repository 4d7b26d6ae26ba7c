"""What people see in a terminal: aligned, within the window, undisturbed by any value."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain import Counterfactuals, Feature, GrowingSpheres, Model, Schema
from attain.results.text import (
    changes_table,
    number,
    plain,
    points,
    schema_table,
    shortened,
    table,
    width_of,
    with_unit,
)
from attain.testing import people


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("日本", 4), ("é", 1), ("e\u0301", 1), ("💶", 2), ("", 0), ("ｆｗ", 4)]
)
def test_wide_characters_take_two_columns_and_combining_ones_none(text: str, width: int) -> None:
    assert width_of(text) == width


@given(st.text(max_size=40))
def test_no_value_can_disturb_the_terminal(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable()
    assert len(shown.splitlines()) <= 1


def test_escape_sequences_are_disarmed() -> None:
    assert "\x1b" not in plain("\x1b[31mred\x1b[0m")
    assert plain("a\n\tb") == "a b"
    assert plain("\u202egnp.exe") == "�gnp.exe"


@given(st.lists(st.lists(st.text(max_size=30), min_size=3, max_size=3), max_size=6), st.integers(30, 200))
def test_a_table_fits_its_width_and_its_columns_align(rows: list[list[str]], width: int) -> None:
    lines = table(("one", "two", "three"), rows, width=width, right=(1,)).split("\n")
    assert len(lines) == len(rows) + 2
    assert all(width_of(line) <= width for line in lines)


@given(st.text(max_size=30), st.integers(1, 20))
def test_a_shortened_text_fits(text: str, size: int) -> None:
    assert width_of(shortened(text, size)) <= max(size, 1)


def test_numbers_read_as_people_write_them() -> None:
    assert [number(x) for x in (3.0, 0.1, 1234567, 1e20, -0.0, None, float("nan"))] == [
        *("3", "0.1", "1234567", "1e+20", "0", "–", "–")
    ]
    assert [points(x) for x in (None, 0.0, 0.04, 0.5, 12.6)] == ["–", "0", "0.0", "0.5", "13"]
    coded = Feature("x", "count", special={-9: "no record"}, unit="€")
    assert [with_unit(x, coded) for x in (-9, 3, None)] == ["no record", "3 €", "missing"]
    assert with_unit(True, Feature("f", "categorical", levels=(False, True))) == "True"


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_schema_is_shown_within_the_window(width: int) -> None:
    text = schema_table(people.schema(), width=width)
    lines = text.splitlines()
    assert all(width_of(line) <= width for line in lines if not line.startswith("rule:"))
    if width == 160:
        for words in (
            "only up",
            "= debt / income",
            "none < school < college",
            "codes -8, -9",
            "fillable",
            "rents, owns",
        ):
            assert words in text
    assert "rule: cards <= 10" in text


def result() -> Counterfactuals:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"年収": random.normal(0, 1, 60), "b\x1b[2J": random.normal(0, 1, 60)})
    schema = Schema(
        (Feature("年収", "real", label="収入 (とても長い名前のとても長い説明)"), Feature("b\x1b[2J", "real"))
    )
    model = Model(lambda X: (X.sum(axis=1) > 1).astype(int), accepts="numpy", classes=[0, 1])
    return GrowingSpheres(schema, samples=50).fit(X).explain(model, X.head(6), target=1, n=2)


@pytest.mark.parametrize("width", [30, 60, 130, 200])
def test_changes_fit_narrow_and_wide_windows(width: int) -> None:
    text = changes_table(result(), [0, 1, 2], width=width)
    assert all(width_of(line) <= width for line in text.splitlines())
    assert "\x1b" not in text
    assert ("counterfactual" in text) == (width >= 130)


def test_a_summary_counts_and_explains() -> None:
    made = result()
    text = str(made)
    assert f"{made.found.sum()} of 6 people have an answer (GrowingSpheres, target 1)." in text
    assert "total shift, on average:" in text
    for status in set(made.outcome):
        assert status.name == "FOUND" or status.value in text
