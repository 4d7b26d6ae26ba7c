"""Questions about columns: each with its evidence, its choices, and what a choice does."""

import numpy as np
import pandas as pd
import pytest

import attain
from attain.core.errors import DataError, SchemaError
from attain.datasets import load_german
from attain.review import Question, questions
from attain.schema import Feature, Schema

RANDOM = np.random.default_rng(0)


def asked(frame: pd.DataFrame, y: object = None, **kinds: str) -> dict[str, Question]:
    """The questions about the inferred schema of a frame, by their ids."""
    schema = Schema.infer(frame, laws=False, kinds=kinds)
    return {question.id: question for question in questions(schema, frame, y)}


def test_what_may_happen_is_asked_of_every_column_until_somebody_decides() -> None:
    frame = pd.DataFrame({"income": RANDOM.integers(0, 900, 300), "job": ["cook", "clerk", "nurse"] * 100})
    schema = Schema.infer(frame)
    income, job = questions(schema, frame)
    assert (income.id, job.id) == ("change: income", "change: job")
    schema = income.apply(schema, income["u"], "Ada, 2026-11-19")
    assert (schema["income"].direction, schema["income"].reviewed) == ("increase", "Ada, 2026-11-19")
    assert [question.id for question in questions(schema, frame)] == ["change: job"]
    schema = job.apply(schema, job["m"].after(6), "Ada, 2026-11-19")
    assert schema["job"].pace == pytest.approx(1 / 6)
    assert questions(schema, frame) == ()
    assert Schema.from_toml(schema.to_toml()) == schema
    with pytest.raises(SchemaError, match="has no choice 'u'; it has c, p, n"):
        job["u"]
    with pytest.raises(SchemaError, match="needs the months"):
        job.apply(schema, job["m"], "Ada")


def test_a_column_that_must_leave_leaves_the_schema_with_its_rules_and_laws() -> None:
    features = (Feature("a", "count"), Feature("b", "count"), Feature("c", "count"))
    schema = Schema(features, ("a <= b", "b <= c"), ("a <= c",))
    frame = pd.DataFrame({name: RANDOM.integers(0, 9, 50) for name in "abc"})
    question = questions(schema, frame)[0]
    left = question.apply(schema, question["o"], "Ada")
    assert left == Schema(features[1:], ("b <= c",), ())


def test_a_family_of_one_stem_is_asked_once() -> None:
    first = RANDOM.integers(0, 9, 400)
    frame = pd.DataFrame({f"PAY_{i}": first + RANDOM.integers(0, 3, 400) for i in (2, 3, 4)})
    frame["PAY_9"] = RANDOM.integers(0, 9, 400)  # the same stem, and nothing to do with the others
    frame[["x0", "x1"]] = RANDOM.integers(0, 9, (400, 2))
    schema = Schema.infer(frame, laws=False)
    family, *others = questions(schema, frame)
    assert family.columns == ("PAY_2", "PAY_3", "PAY_4")
    assert [question.columns for question in others] == [("PAY_9",), ("x0",), ("x1",)]
    past = family.apply(schema, family["p"], "Ada")
    assert past.immutable == family.columns
    assert past.unreviewed == ("PAY_9", "x0", "x1")
    assert family["e"].asks == "parts"
    assert family.apply(schema, family["e"], "Ada") == schema
    assert [part.columns for part in family.parts] == [("PAY_2",), ("PAY_3",), ("PAY_4",)]


def test_names_with_a_word_in_common_are_asked_about_together_unless_a_choice_is_likelier() -> None:
    names = [
        "worst radius",
        "worst area",
        "worstTexture",
        "mean_radius",
        "mean_area",
        "NetDebt Old",
        "NetDebt New",
        "age",
    ]
    frame = pd.DataFrame(RANDOM.random((300, len(names))), columns=names)
    frame["worst sex"] = ["male", "female"] * 150
    found = questions(Schema.infer(frame, laws=False), frame)
    assert [question.columns for question in found] == [
        ("worst radius", "worst area", "worstTexture"),
        *(("mean_radius",), ("mean_area",), ("NetDebt Old", "NetDebt New"), ("age",), ("worst sex",)),
    ]
    assert found[0].evidence == "Their names have “worst” in common."
    assert found[0].about(["worst area"]).columns == ("worst area",)
    with pytest.raises(SchemaError, match="columns must be some of worst radius, worst area, worstTexture, got 'age'"):
        found[0].about(["age"])


COUNTS = RANDOM.poisson(3, 1000)
SIZES = RANDOM.lognormal(8, 1, 1000).round(-1)
EVEN = RANDOM.permutation(np.arange(1000) % 2)
CODE = RANDOM.integers(0, 4, 1000)
UNEVEN = (RANDOM.random(1000) < np.array([0.1, 0.6, 0.2, 0.5])[CODE]).astype(int)
WORDS = np.array(["cook", "clerk", "nurse", "smith"])[CODE]
LENGTHS = ["4 years or more", "under 1 year", "1 to 4 years"]


def held(values: object, y: object = None, name: str = "x") -> list[str]:
    """What is asked about what a column holds."""
    frame = pd.DataFrame({name: values})
    return [question.topic for question in questions(Schema.infer(frame), frame, y) if question.topic != "change"]


@pytest.mark.parametrize(
    ("values", "y", "topics"),
    [
        pytest.param(np.where(EVEN == 1, "yes", "no"), EVEN, ["outcome"], id="alive beside survived"),
        pytest.param(np.where(EVEN == 1, "yes", "no"), [None, *EVEN[1:]], ["outcome"], id="a label is missing"),
        pytest.param(CODE, [*UNEVEN[:-1], np.nan], ["code"], id="the effect of codes, and a label is missing"),
        pytest.param(CODE * 10 + EVEN, EVEN, ["outcome", "code"], id="the outcome in the last digit"),
        pytest.param(np.where(RANDOM.random(1000) < 0.2, EVEN, 1 - EVEN), EVEN, [], id="tells 80 % of the outcomes"),
        pytest.param(CODE, UNEVEN, ["code"], id="codes whose effect goes up and down"),
        pytest.param(CODE, RANDOM.random(1000) < 0.1 + 0.2 * CODE, [], id="a count whose effect rises"),
        pytest.param(CODE, EVEN, [], id="a count without effect"),
        pytest.param(np.array([3, 6, 7])[CODE % 3], None, ["code"], id="3, 6, 7"),
        pytest.param(COUNTS, None, [], id="counts, with rare ones at the end"),
        pytest.param(np.array([5, 10, 15, 20])[CODE], None, [], id="multiples of five"),
        pytest.param([*COUNTS, *[98] * 9], None, ["missing"], id="98"),
        pytest.param([*COUNTS, *[-1] * 9], None, ["missing"], id="−1"),
        pytest.param([*COUNTS, *[99, 98] * 5], None, ["missing"], id="98 and 99"),
        pytest.param([*COUNTS, 98], None, [], id="98 once"),
        pytest.param([*RANDOM.integers(0, 60, 900), *[77] * 9], None, [], id="77 among numbers up to 60"),
        pytest.param([*RANDOM.integers(20, 300, 394), *[0] * 374], None, ["missing"], id="insulin of 0"),
        pytest.param([*SIZES, *[0] * 50], None, [], id="no money"),
        pytest.param([*RANDOM.exponential(1, 900), *[0] * 50], None, [], id="nothing of what may be very little"),
        pytest.param(["?", "cook", "clerk"] * 20, None, ["missing"], id="?"),
        pytest.param(["n/a", "Unknown", "clerk", "k.A.", "cook"] * 20, None, ["missing"], id="unknown"),
        pytest.param(["none", "nobody", "other", "accountant", "A-"] * 20, None, [], id="levels that say something"),
        pytest.param(["1,021", "13", " ", "7"] * 20, None, ["text"], id="numbers with blanks"),
        pytest.param(["1021.00 €", "€ 7", "-2.5"] * 20, None, ["text"], id="numbers with a currency"),
        pytest.param(["1.021,50", "7,25"] * 20, None, ["text"], id="German numbers"),
        pytest.param(["A11", "A12", "2020-01-02", "10A"] * 20, None, [], id="codes with digits"),
        pytest.param(["fair", "very good", "good"] * 20, None, ["order"], id="fair to very good"),
        pytest.param(["third", "first", "second"] * 20, None, ["order"], id="first to third"),
        pytest.param(["Low", "High", "Medium"] * 20, None, ["order"], id="low to high"),
        pytest.param(["25 - 45", "Less than 25", "Greater than 45"] * 20, None, ["order"], id="ranges"),
        pytest.param(["1 to 4 years", "under 1 year", "over 4 years"] * 20, None, ["order"], id="lengths of time"),
        pytest.param(["over 1 year", "1-3 months", "4-11 months"] * 20, None, ["order"], id="months and years"),
        pytest.param(["1 year", "< 1 year", "2 years", "10+ years"] * 20, None, ["order"], id="single years"),
        pytest.param(["1 day", "2 weeks", "3 months"] * 20, None, ["order"], id="numbers of different things"),
        pytest.param(["7 €", "7 $", "8 $"] * 20, None, [], id="two currencies"),
        pytest.param(["high", "cook", "low", "nurse"] * 20, None, [], id="some words of a scale"),
        pytest.param(["male", "female"] * 20, None, [], id="words without an order"),
        pytest.param(np.arange(500) + 7000, None, ["identifier"], id="numbers of rows"),
        pytest.param(RANDOM.permutation(100_000)[:500], None, [], id="numbers that differ by accident"),
        pytest.param(RANDOM.integers(0, 100, 500) * 10_000, None, [], id="multiples of 10,000"),
        pytest.param(RANDOM.random(500), None, [], id="fractions"),
        pytest.param(WORDS, UNEVEN, [], id="words"),
    ],
)
def test_what_a_column_holds_is_asked_where_the_data_leave_it_open(
    values: object, y: object, topics: list[str]
) -> None:
    assert held(values, y) == topics


@pytest.mark.parametrize(
    ("name", "values", "topics"),
    [
        ("customer_id", RANDOM.permutation(100_000)[:500], ["identifier"]),
        ("Kundennummer", RANDOM.permutation(100_000)[:500], ["identifier"]),
        ("postcode", RANDOM.integers(10_000, 99_999, 500), ["identifier"]),
        ("e_mail", [f"{k}@example.org" for k in range(50)] * 2, ["identifier"]),
        ("telephone", ["yes", "no"] * 50, []),
        ("savings_balance", SIZES, []),
        ("idle", COUNTS, []),
    ],
)
def test_names_that_tell_people_apart_are_asked_about(name: str, values: object, topics: list[str]) -> None:
    assert held(values, name=name) == topics


def first_choice(frame: pd.DataFrame, name: str) -> str:
    """What comes first among what may happen to a column."""
    return asked(frame)[f"change: {name}"].choices[0].key


def test_words_that_are_certain_put_a_choice_first_and_nothing_else_does() -> None:
    age = RANDOM.integers(18, 90, 1000)
    frame = pd.DataFrame(
        {
            "age": age,
            "account_age": COUNTS,
            "sex": ["male", "female"] * 500,
            "race": WORDS,
            "times_past_due": COUNTS,
            "balance": SIZES,
            "years": RANDOM.integers(0, age - 15),
            "late": RANDOM.integers(0, 20, 1000),
        }
    )
    assert {name: first_choice(frame, name) for name in frame} == {
        **{"age": "y", "account_age": "c", "sex": "n", "race": "n", "times_past_due": "c", "balance": "c"},
        **{"years": "y", "late": "c"},
    }
    assert "It never exceeds age" in asked(frame)["change: years"].evidence


def test_choices_set_what_they_say() -> None:
    frame = pd.DataFrame(
        {
            "code": CODE,
            "insulin": np.where(EVEN == 1, RANDOM.integers(20, 300, 1000), 0),
            "late": np.where(RANDOM.random(1000) < 0.02, -1, COUNTS),
            "job": RANDOM.permutation(np.where(CODE == 0, "?", WORDS)),
            "since": np.array(LENGTHS)[CODE % 3],
            "employed": np.array([*LENGTHS, "unemployed"])[RANDOM.permutation(CODE)],
            "limit": np.where(RANDOM.random(1000) < 0.001, 125_440, RANDOM.integers(1, 60, 1000) * 10_000),
        }
    )
    schema = Schema.infer(frame, laws=False).change("limit", step=1)
    asked = {question.id: question for question in questions(schema, frame, UNEVEN)}
    for id in [id for id in asked if not id.startswith("change")]:
        schema = asked[id].apply(schema, asked[id].choices[0], "Ada")
    assert (schema["code"].kind, schema["code"].levels) == ("categorical", (0, 1, 2, 3))
    shares = " with {}, ".join(f"{100 * UNEVEN[code == CODE].mean():.0f} %" for code in range(4)).format(0, 1, 2)
    assert asked["code: code"].evidence.startswith(f"The outcome is 1 for {shares} with 3: ")
    assert schema["insulin"].special == {0: "not known"}
    late = schema["late"]
    assert (late.kind, late.special, late.bounds) == ("count", {-1: "not known"}, (0, None))
    assert schema["job"].avoid == ("?",)
    assert schema["since"].levels == ("under 1 year", "1 to 4 years", "4 years or more")
    assert schema["since"].clock == pytest.approx(1 / 36)
    assert schema["employed"].levels == ("unemployed", "under 1 year", "1 to 4 years", "4 years or more")
    assert (schema["employed"].direction, schema["employed"].pace) == ("increase", pytest.approx(1 / 36))
    assert schema["limit"].step == 10_000
    # lengths of time say what may happen; all others only what there is
    assert schema.unreviewed == ("code", "insulin", "late", "job", "limit")
    open_ids = {question.id for question in questions(schema, frame, UNEVEN)}
    assert open_ids == {f"change: {name}" for name in schema.unreviewed}


def test_a_level_to_avoid_joins_those_that_are_avoided_already() -> None:
    schema = Schema((Feature("job", "categorical", levels=("cook", "thief", "?"), avoid=("thief",)),))
    question = questions(schema, pd.DataFrame({"job": ["cook", "thief", "?"] * 9}))[0]
    assert question.apply(schema, question["a"], "Ada")["job"].avoid == ("thief", "?")


def test_lengths_of_time_are_ordered_and_advance_by_the_months_between_them() -> None:
    frame = pd.DataFrame({"since": ["over 1 year", "1-3 months", "4-6 months", "7-12 months"] * 20})
    question = asked(frame)["order: since"]
    ordered = "1-3 months, 4-6 months, 7-12 months, over 1 year"
    assert question.evidence == f"Its levels look ordered, from the lowest to the highest: {ordered}."
    changes = {"kind": "ordinal", "levels": tuple(ordered.split(", ")), "clock": pytest.approx(1 / 5)}
    assert question.choices[0].changes == {"since": changes}


def test_that_levels_are_ordered_and_go_up_only_is_one_decision() -> None:
    frame = pd.DataFrame({"size": ["low", "high", "medium"] * 20})
    question = asked(frame)["order: size"]
    schema = question.apply(Schema.infer(frame), question["u"], "Ada")
    assert (schema["size"].levels, schema["size"].direction) == (("low", "medium", "high"), "increase")
    assert schema.unreviewed == ()


def test_numbers_in_texts_are_converted_by_the_line_that_the_choice_has() -> None:
    for texts, numbers in ((["1,021", " ", "€ 7.5"], [1021, np.nan, 7.5]), (["1.021,50", "-7,25 €"], [1021.5, -7.25])):
        frame = pd.DataFrame({"x": texts})
        question = asked(frame)["text: x"]
        exec(question["t"].convert, {"pandas": pd, "frame": frame})
        np.testing.assert_array_equal(frame["x"], numbers)


def test_a_copy_may_leave_or_always_equal_the_other() -> None:
    frame = pd.DataFrame({"years": CODE, "tier": WORDS, "again": CODE, "other": RANDOM.permutation(CODE)})
    copies = {id: question for id, question in asked(frame).items() if question.topic == "copy"}
    assert list(copies) == ["copy: tier", "copy: again"]
    assert "years" in copies["copy: tier"].evidence
    assert copies["copy: tier"].keys == ("d", "k", "n")
    schema = Schema.infer(frame, laws=False)
    assert copies["copy: again"].apply(schema, copies["copy: again"]["d"], "Ada").names == ("years", "tier", "other")
    equal = copies["copy: again"].apply(schema, copies["copy: again"]["f"], "Ada")
    assert (equal["again"].derived, equal["again"].reviewed) == ("years", "Ada")


def test_a_column_that_looks_computed_may_follow() -> None:
    months, charge = RANDOM.integers(1, 70, 1000), RANDOM.uniform(20, 120, 1000).round(2)
    frame = pd.DataFrame({"months": months, "charge": charge, "total": (months * charge).round(2)})
    schema = Schema.infer(frame, laws=False)
    question = asked(frame)["change: total"]
    assert "total looks computed: months * charge" in question.evidence
    assert question.apply(schema, question.choices[0], "Ada")["total"].derived == "months * charge"


def test_a_family_is_asked_about_its_codes_once_if_they_are_the_same() -> None:
    odd = RANDOM.random(1000) < 0.02
    frame = pd.DataFrame({f"late_{k}": np.where(odd, 98, RANDOM.poisson(1 + COUNTS)) for k in (30, 60)})
    missing = [question for question in asked(frame).values() if question.topic == "missing"]
    assert [question.columns for question in missing] == [("late_30", "late_60")]
    schema = missing[0].apply(Schema.infer(frame), missing[0]["m"], "Ada")
    assert schema["late_30"].special == schema["late_60"].special == {98: "not known"}


def test_german_credit_needs_no_questions() -> None:
    german = load_german()
    assert questions(german.schema, german.X, german.y) == ()


def test_what_does_not_fit_the_frame_is_refused() -> None:
    frame = pd.DataFrame({"x": COUNTS})
    with pytest.raises(DataError, match="lacks columns that the schema has: 'x'"):
        questions(Schema.infer(frame), frame.rename(columns={"x": "z"}))
    with pytest.raises(DataError, match="y has 3 labels, but the frame has 1000 rows"):
        questions(Schema.infer(frame), frame, [0, 1, 0])


def test_fitting_warns_of_a_column_that_seems_to_be_the_outcome() -> None:
    frame = pd.DataFrame({"alive": np.where(EVEN == 1, "yes", "no"), "age": COUNTS})
    with pytest.warns(UserWarning, match="'alive' alone tells the labels of 100.0% of the training rows"):
        attain.GrowingSpheres().fit(frame, EVEN)
    decided = Schema.infer(frame).change("alive", reviewed="Ada")
    attain.GrowingSpheres(decided).fit(frame, EVEN)


def test_age_of_few_values_passes_with_time_too() -> None:
    frame = pd.DataFrame({"age": np.tile([15, 16, 17, 18], 50), "grade": np.tile(["low", "high"], 100)})
    schema = Schema.infer(frame, kinds={"age": "ordinal"})
    age, grade = (one for one in questions(schema, frame) if one.topic == "change")
    assert age.choices[0].key == "y"
    clock = age.apply(schema, age["y"], "Ada")["age"].clock
    assert clock == 1 / 12
    assert "y" not in grade.keys
