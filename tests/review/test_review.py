"""The review: which question comes next, what a decision does to the answers, and when nothing is left to ask."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain import GrowingSpheres, Review, Schema
from attain.core.errors import AttainError, DataError, SchemaError

RANDOM = np.random.default_rng(0)
DAY = date(2026, 11, 19)
X = pd.DataFrame(RANDOM.integers(0, 10, (300, 6)), columns=["income", "debt", "late", "visits", "calls", "mails"])


def model(rows: pd.DataFrame) -> np.ndarray:
    """Income of 7 and more is enough, and so is nothing late; a point of income counts two of debt."""
    return np.asarray((rows["income"] - rows["debt"] / 2 >= 6) | (rows["late"] == 0)).astype(int)


PEOPLE = pd.DataFrame(
    {
        **{"income": [6, 5, 6, 0, 4, 6], "debt": [2, 0, 4, 9, 1, 2], "late": [9, 9, 9, 1, 9, 9]},
        **dict.fromkeys(("visits", "calls", "mails"), 3),
    }
)


def review(schema: Schema | None = None, people: pd.DataFrame | None = PEOPLE) -> Review:
    schema = Schema.infer(X, laws=False) if schema is None else schema
    return Review(GrowingSpheres(schema), model, people, target=1, train=X)


def answered(started: Review, decisions: Mapping[str, str]) -> list[str]:
    """Decides what is asked, by column, until nothing is; returns the columns of the questions in their order."""
    asked = []
    while not started.done:
        question = started.questions()[0].question
        asked.append(question.columns)
        key = decisions[question.columns[0]]
        columns = [name for name in question.columns if decisions[name] == key]
        started.decide(question.id, key, "Ada", columns=columns, when=DAY)
        assert len(asked) < 20
    return asked


def hanging(started: Review, *names: str) -> int:
    """How many answers change one of some columns."""
    before, after = (started.result.table.values, started.result.answers)
    columns = [started.schema.position(name) for name in names]
    return int((before != after)[started.result.found][:, columns].any(axis=1).sum())


def test_the_column_that_most_answers_change_comes_first_with_a_short_example() -> None:
    started = review()
    first, rest = started.questions()
    assert first.question.columns == ("income",)
    assert first.answers == hanging(started, "income") > 4
    assert first.example.startswith("For class 1, increase income from ")
    assert " and " not in first.example.split(".")[0]
    assert rest.question.columns == tuple(X)[1:], "none of them is changed by most answers"
    assert rest.answers == hanging(started, *tuple(X)[1:])
    assert started.share_unreviewed == 1


def test_answers_are_found_again_after_each_decision_until_all_rest_on_decisions() -> None:
    started = review()
    columns = answered(started, {"income": "u", "debt": "d", "late": "p", "visits": "n", "calls": "n", "mails": "n"})
    assert columns[0] == ("income",)
    assert started.schema["late"].immutable
    assert started.schema["late"].reviewed == "Ada, 2026-11-19"
    assert hanging(started, "late") == 0
    assert (started.share_unreviewed, started.result.unreviewed, started.questions()) == (0, {}, [])
    assert started.result.found.all(), "more income is enough for everybody"
    frame = started.frame()
    assert len(frame) == len(columns)
    assert set(frame["by"]) == {"Ada"}
    assert frame["unreviewed"].is_monotonic_decreasing
    assert frame["found"].iloc[-1] == 6


def test_a_review_goes_on_where_the_saved_schema_ends() -> None:
    started = review()
    first = started.questions()[0].question.id
    started.decide(first, "n", "Ada", when=DAY)
    resumed = review(Schema.from_toml(started.schema.to_toml()))
    assert resumed.schema == started.schema
    ids = [asked.question.id for asked in resumed.questions()]
    assert ids == [asked.question.id for asked in started.questions()]
    assert first not in ids
    assert resumed.result.rows.tolist() == started.result.rows.tolist()


def test_an_outlook_is_what_the_decision_leads_to_and_decides_nothing() -> None:
    started = review()
    question = started.questions()[0].question
    before = started.schema
    seen = started.outlook(question.id, "n")
    assert started.schema is before
    started.decide(question.id, "n", "Ada")
    assert seen.rows.tolist() == started.result.rows.tolist()
    assert date.fromisoformat(started.schema[question.columns[0]].reviewed.removeprefix("Ada, "))


def test_months_are_asked_for() -> None:
    started = review()
    question = started.questions()[0].question
    before = started.schema
    with pytest.raises(SchemaError, match="needs the months"):
        started.decide(question.id, "m", "Ada")
    with pytest.raises(AttainError, match="months must be a number > 0, got 0"):
        started.decide(question.id, "m", "Ada", months=0)
    assert started.schema is before
    started.decide(question.id, "m", "Ada", months=6)
    assert started.schema[question.columns[0]].pace == question["m"].after(6).changes[question.columns[0]]["pace"]


def any_visit(rows: pd.DataFrame) -> np.ndarray:
    """One of six columns is enough for each person: none is changed by many."""
    return np.asarray((rows[list(X)] >= 5).any(axis=1)).astype(int)


def test_where_answers_wait_it_is_asked_how_long_people_can() -> None:
    started = review(Schema.infer(X, laws=False).change("income", clock=1 / 12).change(list(X)[1:], immutable=True))
    asked = started.questions()[0]
    longest = started.result.months.max()
    assert (asked.question.topic, asked.question.columns, asked.answers) == (
        "time",
        ("income",),
        hanging(started, "income"),
    )
    assert longest > 24
    with pytest.raises(SchemaError, match="needs the months"):
        started.decide(asked.question.id, "m", "Ada")
    before = started.schema
    started.decide(asked.question.id, "m", "Ada", months=24)
    assert started.schema == before.with_max_months(24)
    assert 0 < started.result.months.max() <= 24
    assert started.done


def test_columns_that_few_answers_hang_on_are_asked_about_together_and_one_may_be_taken_out() -> None:
    people = pd.DataFrame(4 * np.eye(6, dtype=int), columns=list(X))
    started = Review(GrowingSpheres(Schema.infer(X, laws=False)), any_visit, people, target=1, train=X)
    (asked,) = started.questions()
    assert set(asked.question.columns) == set(X)
    assert asked.question.keys == ("n", "c", "u", "d", "p", "y", "r", "t", "e")
    assert asked.answers == 6
    started.decide(asked.question.id, "e", "Ada", columns=["income"])
    first, rest = started.questions()
    assert (first.question.columns, first.answers) == (("income",), 1)
    assert rest.question.columns == tuple(X)[1:]
    assert started.share_unreviewed == 1
    started.decide(first.question.id, "u", "Ada")
    started.decide(started.questions()[0].question.id, "n", "Ada")
    assert started.done
    assert started.schema.immutable == tuple(X)[1:]
    assert started.result.found.all()


def test_a_family_is_asked_once_or_in_parts() -> None:
    base = RANDOM.integers(0, 9, 300)
    train = pd.DataFrame({f"PAY_{k}": base + RANDOM.integers(0, 2, 300) for k in (1, 2, 3)})

    def paid(rows: pd.DataFrame) -> np.ndarray:
        return np.asarray(rows.sum(axis=1) <= 9).astype(int)

    def begun() -> Review:
        return Review(GrowingSpheres(Schema.infer(train, laws=False)), paid, None, target=1, train=train)

    started = begun()
    family = started.questions()[0].question
    assert family.columns == tuple(train)
    started.decide(family.id, "d", "Ada", columns=["PAY_1", "PAY_2"])
    assert started.schema["PAY_2"].direction == "decrease"
    assert [asked.question.columns for asked in started.questions()] in ([], [("PAY_3",)])
    started = begun()
    started.decide(family.id, "e", "Ada")
    assert all(len(asked.question.columns) == 1 for asked in started.questions())
    with pytest.raises(SchemaError, match="columns must be some of PAY_1, PAY_2, PAY_3, got 'late'"):
        begun().decide(family.id, "d", "Ada", columns=["late"])


def test_a_column_that_must_leave_or_be_converted_is_held_until_then() -> None:
    alive = np.where(RANDOM.random(300) < 0.5, "yes", "no")
    train = X[["income"]].assign(alive=alive, amount=[f"{value:,} €" for value in RANDOM.choice([5, 1000, 2500], 300)])

    def outcome(rows: pd.DataFrame) -> np.ndarray:
        known = (rows["alive"] == "yes") | (rows["income"] > 8) | (rows["amount"] == "2,500 €")
        return np.asarray(known).astype(int)

    started = Review(GrowingSpheres(), outcome, target=1, train=train, y=alive == "yes")
    while not started.done:
        question = started.questions()[0].question
        key = {"outcome": "o", "text": "t", "change": "u"}[question.topic]
        started.decide(question.id, key, "Ada", when=DAY)
    assert started.schema.immutable == ("alive", "amount")
    assert started.schema["alive"].reviewed == "Ada, 2026-11-19; it must leave the table"
    leave, convert = Review(GrowingSpheres(started.schema), outcome, target=1, train=train).to_do
    assert leave == "Leave alive out of the table and the schema."
    assert convert.startswith("Convert amount, and infer it anew: frame[")


def test_what_is_kept_is_not_asked_again_and_codes_lose_their_laws() -> None:
    code = np.repeat([1, 2, 5, 9], 75)
    train = pd.DataFrame({"code": code, "most": code + RANDOM.integers(0, 3, 300)})
    schema = Schema.infer(train)
    assert schema.laws

    def odd(rows: pd.DataFrame) -> np.ndarray:
        return np.asarray(rows["code"].astype(int) == 5).astype(int)

    people = train[train["code"] != 5].head(8)
    started = Review(GrowingSpheres(schema), odd, people, target=1, train=train)
    asked = started.questions()[0].question
    assert asked.id == "code: code"
    assert asked.keys == ("c", "k", "n")
    started.decide(asked.id, "c", "Ada")
    assert started.schema["code"].kind == "categorical"
    assert next(one.question.id for one in started.questions()) == "change: code"
    kept = Review(GrowingSpheres(schema), odd, people, target=1, train=train)
    kept.decide("code: code", "k", "Ada")
    assert "change: code" in [one.question.id for one in kept.questions()]
    assert kept.schema["code"].numeric


def test_people_and_training_rows_are_those_of_the_explainer_unless_others_are_given() -> None:
    fitted = GrowingSpheres(Schema.infer(X, laws=False)).fit(X)
    started = Review(fitted, model, target=1)
    assert len(started.result) == 40
    assert started.result.found.sum() > 0
    assert not model(started.result.table.source).any()
    question = started.questions()[0].question
    started.decide(question.id, "n", "Ada")
    assert fitted.population_.schema.unreviewed == tuple(X), "the explainer stays as it is"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"train": None}, "train is missing"),
        ({"y": [0, 1]}, "y has 2 labels, but train has 300 rows"),
        ({"model": lambda rows: np.ones(len(rows), dtype=int), "people": None}, "the model has the desired decision"),
    ],
)
def test_what_is_missing_is_said(wrong: dict[str, Any], message: str) -> None:
    given = {"model": model, "people": PEOPLE, "train": X, "y": None, **wrong}
    with pytest.raises((AttainError, DataError), match=message):
        Review(GrowingSpheres(Schema.infer(X)), given.pop("model"), given.pop("people"), target=1, **given)


def test_a_question_that_is_not_open_is_refused() -> None:
    started = review()
    with pytest.raises(SchemaError, match="no open question is called 'change: nothing'; open are "):
        started.decide("change: nothing", "n", "Ada")
    with pytest.raises(SchemaError, match="by must be the name"):
        started.decide(started.questions()[0].question.id, "n", " ")
