"""The changes that laws ask for, and what follows by a law."""

from dataclasses import replace

import pandas as pd

from attain import Counterfactuals, Feature, Schema
from attain.schema.laws import Law
from tests.results.handmade import result_of

SCHEMA = Schema(
    (
        Feature("all_inquiries", "count"),
        Feature("older_inquiries", "count"),
        Feature("school", "categorical", levels=("basic", "high")),
        Feature("years", "count"),
    )
)
LAWS = (
    Law("older_inquiries <= all_inquiries", "older_inquiries is never larger than all_inquiries."),
    Law("years = table(school, {basic: 9, high: 12})", "years follows from school."),
)
PEOPLE = pd.DataFrame(
    {"all_inquiries": [5, 5], "older_inquiries": [4, 1], "school": ["basic", "basic"], "years": [9, 9]}
)


def result() -> Counterfactuals:
    options = {
        0: [{"all_inquiries": 2, "older_inquiries": 2}],
        1: [{"all_inquiries": 2, "school": "high", "years": 12}],
    }
    return replace(result_of(SCHEMA, PEOPLE, options), laws=LAWS)


def test_a_change_that_a_law_asks_for_is_named() -> None:
    named = result().law_changes
    assert named[["person", "option", "feature", "law"]].values.tolist() == [
        [0, 1, "older_inquiries", LAWS[0].text],
        [1, 1, "years", LAWS[1].text],
    ]
    assert named["sentence"].tolist() == [LAWS[0].sentence, LAWS[1].sentence]


def test_what_follows_by_a_law_is_not_asked_of_the_person() -> None:
    assert "This brings years from 9 to 12." in result().sentences[1]
    assert "years" not in result().sentences[1].split(".")[0]


def test_laws_survive_json() -> None:
    back = Counterfactuals.from_json(result().to_json())
    assert back.laws == LAWS
    assert back.laws[0].sentence == LAWS[0].sentence
    assert back.law_changes.equals(result().law_changes)


def test_without_laws_nothing_is_named() -> None:
    assert len(replace(result(), laws=()).law_changes) == 0
