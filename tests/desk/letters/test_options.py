"""What a letter prints holds as it is printed: rounded, re-scored, within rules, laws and constraints."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain import Feature, Guarded, Schema
from attain.answers.recheck import assess
from attain.desk.letters import Letter, LetterOption, write
from attain.desk.letters.content import call_constraints
from attain.desk.letters.rounding import candidates, inward, shown
from attain.results.details import Ranges
from attain.tables import Table, on_grid
from tests.desk.letters import world

EXPLAINER = world.explainer()
ONE = world.people({})


def letter(
    accepts: Any, option: dict[str, Any], *, language: str = "en", ranges: Ranges | None = None, **fields: Any
) -> Letter:
    """The letter to somebody with one option, by a model that accepts where `accepts` is true."""
    schema = fields.get("schema")
    method = EXPLAINER if schema is None else world.explainer(features=schema.features, rules=schema.rules)
    made = replace(world.result(ONE, {0: [option]}, [{"amount": -1}], **fields), intervals=ranges)
    return write(made, method, world.model(accepts), world.TEXTS, language=language)[0]


def with_amount(**properties: Any) -> Schema:
    """The schema of the world, with other properties of the amount."""
    return Schema((replace(world.SCHEMA["amount"], **properties), *world.SCHEMA.features[1:]), laws=())


def words(found: Letter) -> str:
    """The text on one line."""
    return " ".join(found.text.split())


def only(found: Letter) -> LetterOption:
    assert len(found.content.options) == 1
    return found.content.options[0]


def number(text: str, decimal: str = ".", thousands: str = ",") -> float:
    """The number in a printed value, read as a reader would."""
    found = re.match(r"€?(-?[\d.,]+)", text)
    assert found is not None
    return float(found[1].replace(thousands, "").replace(decimal, "."))


@pytest.mark.parametrize(
    ("low", "printed"),
    [
        (4500.0, "€4,520"),  # two digits fewer than the answer, rounded away from 5,000
        (4523.0, "€4,523"),
        (4523.65, "€4,523.7"),
        (4523.715, "€4,523.72"),  # nothing but the answer itself holds
    ],
)
def test_less_is_rounded_where_the_rounded_value_would_undo_the_decision(low: float, printed: str) -> None:
    found = only(letter(lambda frame: (frame["amount"] >= low) & (frame["amount"] <= 4523.72), {"amount": 4523.72}))
    assert [change.after for change in found.changes] == [printed]
    assert [change.before for change in found.changes] == ["€5,000"]


@given(
    st.floats(1, 9999).map(lambda x: float(f"{x:.6g}")),
    st.floats(0, 400),
    st.sampled_from([("en", ".", ","), ("de", ",", ".")]),
)
def test_the_model_accepts_every_printed_number(answer: float, width: float, language: tuple[str, str, str]) -> None:
    own = 5000.0
    if answer == own:
        return
    low, high = (answer - width, answer) if answer < own else (answer, answer + width)
    code, decimal, thousands = language
    found = letter(lambda f: (f["amount"] >= low) & (f["amount"] <= high), {"amount": answer}, language=code)
    [change] = only(found).changes
    assert low <= number(change.after, decimal, thousands) <= high
    assert change.after in words(found)


def test_an_option_that_does_not_hold_is_not_printed() -> None:
    found = letter(lambda frame: frame["amount"] < 100, {"amount": 4000.0})
    assert found.content.options == ()
    assert found.content.absence == "not found"
    assert "We found none that we could suggest" in words(found)


def test_a_number_that_cannot_be_shown_with_all_digits_is_not_printed() -> None:
    tiny = 1.23456e-20
    found = letter(lambda frame: (frame["amount"] > 0) & (frame["amount"] <= tiny), {"amount": tiny})
    assert found.content.options == ()


def test_rounding_keeps_the_constraints_of_the_call() -> None:
    settings = {"constraints": {"people": [{"person": "p0", "bounds": {"amount": [4523.0, None]}}]}}
    found = only(letter(lambda frame: frame["amount"] < 4900, {"amount": 4523.72}, settings=settings))
    assert number(found.changes[0].after) >= 4523


def test_constraints_of_people_are_found_by_labels_of_any_kind() -> None:
    frame = ONE.set_index(pd.MultiIndex.from_tuples([("a", 1)]))
    settings = {"constraints": {"max_changes": 2, "people": [{"person": ["a", 1], "immutable": ["home"]}]}}
    made = world.result(frame, {0: [{"amount": 4000.0}]}, settings=settings)
    assert call_constraints(made) == {"max_changes": 2, "people": {("a", 1): {"immutable": ["home"]}}}


def test_rounding_keeps_the_rules() -> None:
    ruled = replace(world.SCHEMA, rules=("amount >= 4523",))
    found = letter(lambda frame: frame["amount"] < 4900, {"amount": 4523.72}, schema=ruled)
    assert only(found).changes[0].after == "€4,523"


ROBUST = {"robust": [{"library": "sklearn"}]}


def test_answers_that_hold_under_other_models_are_not_rounded() -> None:
    found = letter(lambda frame: frame["amount"] < 4900, {"amount": 4523.72}, settings=ROBUST)
    assert only(found).changes[0].after == "€4,523.72"


def test_rounding_does_not_make_an_option_less_typical() -> None:
    random = np.random.default_rng(1)
    # nobody has between 4,000 and 4,523 €
    amounts = np.round(np.concatenate([random.uniform(4523, 4600, 150), random.uniform(5000, 6000, 150)]), 2)
    rows = [{"amount": amount} for amount in amounts]
    train = world.people(*rows).reset_index(drop=True)
    schema = world.SCHEMA.change(["months", "home", "rating"], immutable=True)
    accepts = world.model(lambda frame: frame["amount"] < 4900)
    guarded = Guarded(schema, figures=False).fit(train, accepts.model(train))
    made = world.result(ONE, {0: [{"amount": 4601.23}]}, [{"amount": -1}], schema=schema)
    [found] = write(made, guarded, accepts, world.TEXTS)
    [exact] = write(replace(made, settings=ROBUST), guarded, accepts, world.TEXTS)
    session = guarded.session(accepts, target="good")
    amounts = [number(only(one).changes[0].after) for one in (found, exact)]
    printed = pd.concat([ONE.assign(amount=amount, ratio=amount / 50) for amount in amounts])
    verdicts = [known.verdict for known in assess(session, Table.read(printed, schema))]
    assert verdicts[0] == verdicts[1]
    assert only(found).changes[0].after != only(exact).changes[0].after


def test_the_same_option_is_printed_once_and_at_most_three() -> None:
    options = [{"amount": value} for value in (4001.0, 4002.0, 3000.0, 2000.0, 1000.0)]
    made = world.result(ONE, {0: options}, [{"amount": -1}])
    accepts = world.model(lambda frame: frame["amount"] < 4100)
    [found] = write(made, EXPLAINER, accepts, world.TEXTS)
    assert [option.changes[0].after for option in found.content.options] == ["€4,000", "€3,000", "€2,000"]
    [found] = write(made, EXPLAINER, accepts, world.TEXTS, options=1)
    assert len(found.content.options) == 1


def test_a_change_that_the_decision_does_not_need_is_marked() -> None:
    found = only(letter(lambda frame: frame["amount"] < 4600, {"home": "owned", "amount": 4500.0}))
    assert [(change.label, change.needed) for change in found.changes] == [
        ("Amount of the loan", True),
        ("Home", False),
    ]


def test_of_two_changes_either_of_which_suffices_none_is_marked() -> None:
    found = only(letter(lambda f: (f["amount"] < 4600) | (f["home"] == "owned"), {"home": "owned", "amount": 4500.0}))
    assert [change.needed for change in found.changes] == [True, True]


def test_what_follows_is_named_apart() -> None:
    found = only(letter(lambda frame: frame["months"] <= 30, {"months": 30}))
    assert [(change.label, change.after) for change in found.changes] == [("Term", "30 months")]
    assert [(change.label, change.before, change.after) for change in found.follows] == [("ratio", "100", "167")]


def ranges_of(low: list[float], high: list[float], columns: list[int], levels: Any = None) -> Ranges:
    """The ranges of one option."""
    nothing: tuple[tuple[int, ...], ...] = ((),) * len(columns)
    return Ranges(
        option=np.zeros(len(columns), dtype=int),
        column=np.array(columns),
        low=np.array(low),
        high=np.array(high),
        low_percentile=np.zeros(len(columns)),
        high_percentile=np.ones(len(columns)),
        levels=levels or nothing,
        checked=np.full(len(columns), 20.0),
    )


def test_ranges_are_printed_where_they_were_checked_and_contain_what_is_printed() -> None:
    def with_range(low: float, least: float = 0.0) -> LetterOption:
        def accepts(frame: pd.DataFrame) -> Any:
            return frame["amount"].between(least, 4523.72) & (frame["rating"] != "low")

        ranges = ranges_of([low, 1.0], [4523.72, 2.0], [0, 3])
        return only(letter(accepts, {"amount": 4523.72, "rating": "middle"}, ranges=ranges))

    amount, rating = with_range(1234.56).changes
    assert amount.after == "€4,520"
    assert 1234.56 <= number(amount.low) <= 4520 <= number(amount.high) <= 4523.72
    assert rating.levels == ("high",)
    amount, rating = with_range(1234.56, least=2000.0).changes
    assert not amount.low, "the model decides otherwise about values in it"
    assert rating.levels == ("high",)
    assert not with_range(4522.0).changes[0].low, "the printed value is outside"


def test_both_ends_of_a_range_are_asked_about_as_printed() -> None:
    asked: set[float] = set()

    def accepts(frame: pd.DataFrame) -> Any:
        asked.update(frame["amount"])
        return frame["amount"] <= 4600

    [change] = only(letter(accepts, {"amount": 4500.0}, ranges=ranges_of([1234.56], [4567.89], [0]))).changes
    assert (change.low, change.high) == ("€1,300", "€4,500")
    assert {1300.0, 4500.0} <= asked


@pytest.mark.parametrize(
    ("reach", "language", "told"),
    [
        ((1200, None), "en", "€4,500 (now: €5,000). We checked €4,500 or less: it would do as well."),
        (
            *((1200, None), "de"),
            "4.500 € (heute: 5.000 €). Wir haben andere Werte geprüft: Auch bis 4.500 € reicht es.",
        ),
        ((None, 4500), "en", "We checked €1,200 or more: it would do as well."),
        ((None, 4500), "de", "Wir haben andere Werte geprüft: Auch ab 1.200 € reicht es."),
        ((1000, 6000), "en", "We checked values from €1,200 to €4,500: they would do as well."),
        ((1000, 6000), "de", "Wir haben andere Werte geprüft: Auch 1.200 bis 4.500 € reicht."),
    ],
)
def test_an_end_beyond_which_nothing_is_suggested_is_not_printed(reach: Any, language: str, told: str) -> None:
    given = {"ranges": ranges_of([1200.0], [4500.0], [0]), "schema": with_amount(reach=reach), "language": language}
    assert told in words(letter(lambda frame: frame["amount"] <= 4500, {"amount": 4500.0}, **given))


def test_of_several_changes_other_values_are_for_one_at_a_time() -> None:
    def accepts(frame: pd.DataFrame) -> Any:
        return frame["amount"].between(2000, 4500) & (frame["rating"] != "low")

    ranges = ranges_of([3000.0, 1.0], [4500.0, 2.0], [0, 3])
    for language, told in (("en", "one point at a time"), ("de", "für jeden Punkt einzeln")):
        option = {"amount": 4500.0, "rating": "middle"}
        assert told in words(letter(accepts, option, ranges=ranges, language=language))


def test_a_range_takes_no_longer_than_what_is_printed() -> None:
    given = {"ranges": ranges_of([2000.0], [4500.0], [0]), "schema": with_amount(pace=100.0)}
    found = only(letter(lambda frame: frame["amount"] <= 4500, {"amount": 4100.0}, **given))
    assert (found.takes, found.changes[0].low) == ("9 months", "€4,100")


def test_a_range_with_todays_value_in_it_is_not_printed() -> None:
    def either(frame: pd.DataFrame) -> Any:
        return (frame["amount"] < 4600) | (frame["home"] == "owned")

    ranges = ranges_of([1000.0, np.nan], [6000.0, np.nan], [0, 2])
    assert not only(letter(either, {"amount": 4500.0, "home": "owned"}, ranges=ranges)).changes[0].low


def test_the_same_number_is_rounded_alike_in_reasons_and_options() -> None:
    frame = world.people({"amount": 5018.836279})
    made = world.result(frame, {0: [{"amount": 4000.0}]}, [{"amount": -1, "ratio": -0.5}])
    [found] = write(made, EXPLAINER, world.model(lambda frame: frame["amount"] < 4100), world.TEXTS)
    assert "€5,019 is a lot of money." in found.text
    assert "The rate is 100.4." in found.text
    assert only(found).changes[0].before == "€5,019"
    cent = replace(world.SCHEMA["amount"], step=0.01)
    assert [shown(cent, x) for x in (1.018836279, 0.9999999, 12.0, math.nan)][:3] == [1.019, 1.0, 12.0]
    assert [shown(cent, x) for x in (0.905, np.float64(0.905))] == [0.905, 0.905]
    assert [shown(world.SCHEMA["amount"], x) for x in (1.018836279, 0.9999999, 0.00123456)] == [1.019, 1.0, 0.001235]


@given(st.integers(2, 40), st.integers(0, 60), st.integers(0, 60), st.integers(1, 120))
def test_every_value_that_would_do_is_accepted(answer: int, below: int, above: int, hole: int) -> None:
    def accepts(frame: pd.DataFrame) -> Any:
        return (frame["months"] <= 49) & (frame["months"] != hole) & (frame["home"] == "owned")

    if answer == hole:
        return
    low, high = max(1, answer - below), min(49, answer + above)
    ranges = ranges_of([low, np.nan], [high, np.nan], [1, 2], ((), (2,)))
    months, home = only(letter(accepts, {"months": answer, "home": "owned"}, ranges=ranges)).changes
    assert home.levels == (), "free homes are not accepted"
    whole = low < high and not low <= hole <= high
    assert (bool(months.low), bool(months.high)) == (whole and low > 1, whole)  # a term cannot be less than 1
    if whole:
        assert low <= number(months.low or "1") <= answer <= number(months.high) <= high


def test_other_levels_are_checked_with_the_printed_values() -> None:
    def levels(accepts: Any, *others: int) -> tuple[str, ...]:
        ranges = ranges_of([np.nan] * 2, [np.nan] * 2, [0, 2], ((), others))
        return only(letter(accepts, {"amount": 4523.72, "home": "owned"}, ranges=ranges)).changes[1].levels

    def both(frame: pd.DataFrame) -> Any:
        return (frame["amount"] < 4900) & (frame["home"] != "rented")

    def exact(frame: pd.DataFrame) -> Any:
        return both(frame) & ((frame["home"] == "owned") | (frame["amount"] == 4523.72))

    assert levels(both, 2) == ("free",)
    assert levels(exact, 2) == ()
    assert levels(both, 0, 2) == (), "the person's own would do"


def test_how_long_an_option_takes() -> None:
    found = letter(lambda frame: frame["amount"] <= 4970, {"amount": 4970.0}, schema=with_amount(pace=10.0))
    assert (only(found).takes, only(found).wait) == ("3 months", "")
    assert "This will take you about 3 months." in words(found)


TIMED = tuple(
    replace(
        feature, **{"amount": {"pace": 10.0}, "months": {"clock": 1.0}, "age": {"clock": 1 / 12}}.get(feature.name, {})
    )
    for feature in world.SCHEMA.features
)


@pytest.mark.parametrize(
    "option",
    [{"amount": 4970.0, "months": 53}, {"amount": 4850.0, "months": 65, "age": 31}, {"months": 80, "age": 32}],
)
@pytest.mark.parametrize("language", ["en", "de"])
def test_what_is_printed_and_said_about_time_gives_the_record_that_was_checked(
    option: dict[str, Any], language: str
) -> None:
    frame, schema = ONE, Schema(TIMED, laws=())
    wanted = frame.assign(**option)[["amount", "months", "age"]].iloc[0]

    def accepts(rows: pd.DataFrame) -> Any:
        return (rows[wanted.index] == wanted).all(axis=1)

    found = letter(accepts, option, schema=schema, settings=ROBUST, language=language)
    text = words(found)
    record = frame.copy()
    for change in only(found).changes:
        assert change.label == {"en": "Amount of the loan", "de": "Höhe des Kredits"}[language]
        record["amount"] = number(change.after, *((".", ",") if language == "en" else (",", ".")))
    months = re.search(r"(?:about|etwa) (\d+) (?:months|Monate)", text)
    assert months is not None
    named = re.search(r"(?:will be then|sein (?:wird|werden)): (.*?)\.", text)
    labels = {"term": "months", "Laufzeit": "months", "age": "age", "Alter": "age"}
    for label in named[1].split("; ") if named else ():
        name = labels[label]
        record[name] += int(int(months[1]) * (schema[name].clock or 0))
    assert accepts(record).all()
    assert any(word in text for word in ("apart from those that grow with time", "Nur einige wachsen mit der Zeit"))


@pytest.mark.parametrize(("purpose", "told"), [(0, ""), (1, ""), (2, "This is the smallest change that we found")])
def test_a_letter_says_what_an_option_is_for_and_counts_the_months_that_the_decision_needs(
    purpose: int, told: str
) -> None:
    schema = world.SCHEMA.change("rating", pace=0.1).change("home", pace=0.5)
    found = letter(
        lambda frame: (frame["amount"] <= 4000) & (frame["home"] == "owned"),
        {"amount": 4000.0, "home": "owned", "rating": "middle"},
        schema=schema,
        purpose=[purpose],
    )
    assert (only(found).takes, only(found).longer) == ("2 months", "10 months")
    text = words(found)
    assert "This will take you about 2 months. With all points, this takes about 10 months." in text
    assert told in text
    single = letter(lambda frame: frame["amount"] <= 4000, {"amount": 4000.0}, purpose=[1])
    assert "This way asks for more than the smallest change that is enough." in words(single)
    assert ("smallest change" in text) == bool(told)


def test_waiting_is_a_point_of_its_own() -> None:
    schema = world.SCHEMA.change("months", clock=1.0)
    found = letter(lambda frame: frame["months"] >= 56, {"months": 56}, schema=schema)
    assert (only(found).wait, only(found).takes, only(found).changes) == ("6 months", "", ())
    assert "- Wait about 6 months and then ask us again." in found.text
    assert "We counted this detail as it will be then: term." in words(found)


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=5),
    st.sampled_from([None, 1.0, 0.05, 50.0]),
)
def test_rounding_away_adds_a_fifth_to_a_change_at_most(pairs: list[tuple[float, float]], step: float | None) -> None:
    own, rows = (on_grid(np.array(part)[:, None], step) for part in zip(*pairs, strict=True))
    schema = Schema((Feature("x", "real", step=step),))
    chosen = rows != own
    versions = candidates(rows, own, chosen, schema)
    np.testing.assert_array_equal(versions[-1], rows)
    size = np.abs(rows - own)
    for away in versions[:-1:2]:
        assert (np.abs(away - own) >= size * (1 - 1e-9)).all()
        assert (np.abs(away - own) <= size * 1.2 + 1e-9).all()
        assert (away[~chosen] == rows[~chosen]).all()


def test_round_ends_lie_within() -> None:
    assert inward(1234.56, 4523.72, None) == (1300, 4500)
    assert inward(0.031, 0.099, None) == (0.031, 0.099)
    assert inward(12, 120, 12) == (12, 120)
    assert inward(3, 7, 1) == (3, 7)


def test_the_model_is_asked_about_nobody_else() -> None:
    frame = world.people({}, {"amount": 6000.0})
    made = world.result(frame, {0: [{"amount": 4000.0}], 1: [{"amount": 4000.0}]}, [{"amount": -1}] * 2)
    asked: list[pd.DataFrame] = []

    def accepts(rows: pd.DataFrame) -> Any:
        asked.append(rows)
        return rows["amount"] < 4100

    model = world.model(accepts)
    write(made, EXPLAINER, model, world.TEXTS, people=["p0"])
    assert not any((rows["amount"] == 6000).any() for rows in asked)
