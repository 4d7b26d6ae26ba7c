"""A result as text: within the window, complete, undisturbed by any value."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from attain import Counterfactuals, Feature, Schema, Status
from attain.core.errors import DataError
from attain.core.text import points
from attain.results.text import description, overview, paragraphs, people_table, summary
from tests.golden import check_golden
from tests.results.handmade import result_of, reviewed


def test_percentile_points_are_integers_from_one_up() -> None:
    assert [points(x) for x in (None, 0.0, 0.04, 0.5, 12.6)] == ["–", "0", "0.0", "0.5", "13"]


SCHEMA = reviewed(
    (
        Feature("amount", "positive", step=1, label="credit amount", unit="DM"),
        Feature("savings", "categorical", levels=("below 100 DM", "100 to 500 DM")),
        Feature("age", "count", immutable=True),
    )
)
PEOPLE = pd.DataFrame(
    {"amount": [6110, 900, 70], "savings": ["below 100 DM"] * 3, "age": [33, 20, 71]}, index=["ann", "bob", "eve"]
)


@pytest.fixture
def loans() -> Counterfactuals:
    options = {0: [{"amount": 4448}, {"savings": "100 to 500 DM", "amount": 6000}], 2: [{"savings": "100 to 500 DM"}]}
    figures = {"typicality": [0, 2, 1], "total_shift": [0.25, 0.5, 1], "outlier": [0, 1, 0], "connected": [1, 0, 1]}
    return result_of(SCHEMA, PEOPLE, options, statuses={1: Status.BUDGET_SPENT}, **figures)


def test_texts_of_people_are_those_reviewed(loans: Counterfactuals) -> None:
    parts = [loans.describe("ann", width=60), loans.describe("bob", width=60)]
    parts += [people_table(loans, range(3), width=80), paragraphs(loans, width=80), overview(loans, width=100)]
    check_golden("\n\n----\n\n".join(parts) + "\n", Path(__file__).parent / "golden" / "texts.txt")
    assert overview(loans, width=100).startswith(people_table(loans, range(3), width=100))
    assert repr(loans) == "<Counterfactuals by Guarded for target 'good': 2 of 3 people have an answer>"


def test_an_unknown_person_is_named_with_the_known_ones(loans: Counterfactuals) -> None:
    with pytest.raises(DataError, match="no row has the label 'joe'; the labels are 'ann', 'bob', 'eve'"):
        loans.describe("joe")


def test_people_with_the_same_label_are_all_described() -> None:
    people = PEOPLE.set_axis([7, 7, 8])
    text = result_of(SCHEMA, people, {0: [{"amount": 5}]}).describe(7, width=60)
    assert text.count("Person 7") == 2
    assert Status.OUT_OF_REACH.reason.split()[0] in text


def test_a_summary_counts_and_gives_reasons_and_remedies(loans: Counterfactuals) -> None:
    text = summary(loans)
    assert f"1 × BUDGET_SPENT: {Status.BUDGET_SPENT.reason} Raise `budget` to search longer." in text
    assert "total shift, on average: 62.5 percentile points" in text


def test_a_summary_of_people_who_are_accepted_already_says_that_nobody_needed_an_answer() -> None:
    people = pd.DataFrame({"x": [1.0, 2.0]})
    statuses = dict.fromkeys(range(2), Status.ALREADY_DESIRED)
    made = result_of(Schema((Feature("x", "real"),)), people, {}, statuses=statuses)
    assert summary(made).startswith("Nobody needed an answer (Guarded, target 'good').\n2 × ALREADY_DESIRED: ")


WORDS = st.text(min_size=1, max_size=40).filter(lambda text: text.strip() != "")


@given(WORDS, WORDS, st.lists(WORDS, min_size=2, max_size=2, unique=True), WORDS, st.integers(20, 120))
def test_no_line_is_wider_than_the_window(name: str, label: str, levels: list[str], unit: str, width: int) -> None:
    schema = Schema((Feature("x", "categorical", levels=levels, label=label), Feature("y", "real", unit=unit)))
    people = pd.DataFrame({"x": [levels[0]] * 3, "y": [0.0] * 3}, index=[name, "b", "c"])
    made = result_of(schema, people, {0: [{"x": levels[1], "y": 123456.78}, {"y": 1}], 2: [{"y": 2}]}, target=name)
    shown = [description(made, i, width) for i in range(3)]
    shown += [people_table(made, range(3), width), paragraphs(made, width)]
    for text in shown:
        assert all(cell_len(line) <= width for line in text.splitlines())
