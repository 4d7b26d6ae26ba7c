"""What is to be decided about a schema: each item with its reason and the line that does it."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import attain
from attain.core.errors import DataError
from attain.datasets import load_german
from attain.schema import Feature, Schema
from attain.schema.advice import advise, columns_to_decide, words_of
from attain.schema.text import advice_text
from attain.testing import people

RANDOM = np.random.default_rng(0)
AMOUNTS = RANDOM.integers(0, 60, 500)


def topics(values: Any, name: str = "x", **properties: Any) -> dict[str, Any]:
    """The open items about one column, by topic: the properties that decide it."""
    frame = pd.DataFrame({name: values})
    schema = Schema.infer(frame, laws=False)
    schema = schema.change(name, **properties) if properties else schema
    return {item.about: dict(item.changes) for item in schema.advise(frame)}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("yearsAtCompany", "years at company"),
        ("MSinceOldestTradeOpen", "m since oldest trade open"),
        ("NumberOfTime30-59DaysPastDue", "number of time 30 59 days past due"),
        ("personal_status_sex", "personal status sex"),
        ("DOB", "dob"),
        ("Übermaß", "übermaß"),
    ],
)
def test_names_are_split_into_words(name: str, words: str) -> None:
    assert words_of(name) == words


CHOICE = ["age", "Age", "applicant_age", "ageYears", "dob", "DateOfBirth", "Alter", "Geburtsdatum", "sex", "Gender"]
CHOICE += ["Geschlecht", "race", "Ethnicity", "nationality", "Staatsangehörigkeit", "foreign_worker", "native-country"]
CHOICE += ["marital-status", "MaritalStatus", "Familienstand", "relationship", "NumberOfDependents", "dependants"]
CHOICE += ["Kinderzahl", "people_liable", "religion", "Konfession", "is_disabled", "Schwerbehinderung"]
PAST = ["ever_late", "NumberOfTimes90DaysLate", "days past due", "credit_history", "MaxDelqEver", "Vorstrafen"]
PAST += ["NumTrades60Ever2DerogPubRec", "priors_count", "juv_fel_count", "previous_defaults", "Zahlungsverzug"]
CLOCK: dict[str, float | None] = {
    "months since last claim": 1,
    "MSinceMostRecentDelq": 1,
    "AverageMInFile": 1,
    "Monate_seit_Anfrage": 1,
    "YearsAtCompany": 0.0833,
    "YearsInCurrentRole": 0.0833,
    "DaysSinceLastOrder": 30.4167,
    "seit_Wochen": 4.3333,
    **dict.fromkeys(("tenure", "account_age", "employment_since", "kunde_seit", "vehicle_age", "age_of_loan")),
    "Betriebszugehörigkeit": None,
}
"""Clocks, and how many units a month has, if the name says so."""
NEITHER = ["message", "mortgage", "package", "average", "essex", "savings", "duration_months", "plate", "income"]
NEITHER += ["related", "whatever", "sincerity", "relationship_manager", "employment", "hours-per-week", "NumBank2Natl"]


@pytest.mark.parametrize(
    ("name", "about"),
    [(n, "choice") for n in CHOICE]
    + [(n, "past") for n in PAST]
    + [(n, "clock") for n in CLOCK]
    + [(n, None) for n in NEITHER],
)
def test_names_say_what_people_do_not_choose_what_is_past_and_what_is_a_clock(name: str, about: str | None) -> None:
    found = topics(AMOUNTS, name)
    decisive: dict[str, Any] = {"immutable": True}
    if about == "clock":
        decisive = {"direction": "increase"} if CLOCK[name] is None else {"clock": CLOCK[name]}
    assert found == ({} if about is None else {about: decisive})
    assert list(columns_to_decide(Schema((Feature(name, "count"),)))) == ([] if about is None else [name])
    if about is not None:
        assert topics(AMOUNTS, name, **decisive) == {}


@pytest.mark.parametrize("name", ["ExternalRiskEstimate", "credit_score", "FICO", "schufa", "decile_score"])
def test_a_score_that_others_compute_cannot_be_changed_by_itself(name: str) -> None:
    assert topics(AMOUNTS, name) == {"score": {"immutable": True}}


@pytest.mark.parametrize(
    "properties",
    [
        *({"immutable": True}, {"direction": "increase"}, {"range": (0, 5)}, {"reach": (18, 99)}, {"cost": 9}),
        *({"clock": 1 / 12}, {"pace": 1}),
    ],
)
def test_what_the_schema_decides_is_not_repeated(properties: dict[str, Any]) -> None:
    schema = Schema((Feature("age", "count"), Feature("past_due", "count"))).change("age", **properties)
    frame = pd.DataFrame({"age": AMOUNTS, "past_due": AMOUNTS})
    assert [item.column for item in schema.advise(frame)] == ["past_due"]
    assert columns_to_decide(schema) == {"past_due": "It is about the past, which nobody can change."}


SPREAD = RANDOM.permutation(np.arange(100_000))[:500]


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("x", np.arange(500) + 7000, True),
        ("x", 3 * RANDOM.permutation(500), True),
        ("customer_id", SPREAD, True),
        ("Kundennummer", SPREAD, True),
        ("income", SPREAD, False),
        ("x", np.arange(20), False),
        ("id", AMOUNTS, False),
        ("customer_id", SPREAD + 0.5, False),
    ],
)
def test_integers_that_differ_in_every_row_by_no_accident_identify(name: str, values: np.ndarray, found: bool) -> None:
    assert ("identifier" in topics(values, name)) == found


@pytest.mark.parametrize(
    ("codes", "found"),
    [
        ([96] * 5 + [98] * 9, {96: "code 96", 98: "code 98"}),
        ([999] * 5, {999: "code 999"}),
        ([9999] * 4, None),
        ([9999] * 3 + [9998], None),
        ([9999, 9998] * 3, {9998: "code 9998", 9999: "code 9999"}),
        ([77] * 9, None),
        ([500] * 9, None),
        ([-1] * 9, {-1: "code -1"}),
        ([-1] * 9 + [99999] * 9, {-1: "code -1", 99999: "code 99999"}),
    ],
)
def test_codes_stand_beyond_a_gap_and_several_rows_have_them(codes: list[int], found: dict[int, str] | None) -> None:
    items = topics([*(AMOUNTS % 40), *codes])
    assert items.get("code", {}).get("special") == found
    if found:
        assert topics([*(AMOUNTS % 40), *codes], kind="count", bounds=(0, None), special=found) == {}


def test_codes_among_negative_numbers_stand_beyond_a_gap_too() -> None:
    around = RANDOM.integers(-20, 20, 300)
    assert topics([*around, *[-999] * 6])["code"] == {"special": {-999: "code -999"}}
    assert topics([*around, *[-9] * 6]) == {}


def test_a_level_that_says_nothing_is_known_is_avoided() -> None:
    found = topics(["a", "b", "?"] * 9, "job")
    assert found == {"unknown": {"avoid": ("?",)}}
    for level in ("Unknown", "n/a", "NA", "unbekannt", "k.A.", "unknown or none", "-", "no account", "kein Konto"):
        assert "unknown" in topics(["a", "b", level] * 9)
    for level in ("none", "nobody", "other", "no", "A-", "accountant"):
        assert "unknown" not in topics(["a", "b", level] * 9)
    frame = pd.DataFrame({"job": ["a", "b", "?", "unknown"] * 9})
    schema = Schema.infer(frame)
    assert schema.advise(frame)[0].changes == {"avoid": ("?", "unknown")}
    assert "(18 rows) seem to mean" in schema.advise(frame)[0].reason
    assert schema.change("job", avoid=("b", "?")).advise(frame)[0].changes == {"avoid": ("b", "?", "unknown")}
    assert schema.change("job", avoid=("?", "unknown")).advise(frame) == ()
    assert schema.change("job", transitions={"a": ["b"], "b": ["a"]}).advise(frame) == ()


def test_a_clock_in_words_does_not_change_unless_its_levels_are_ordered() -> None:
    levels = ("under 1 year", "1 to 4 years", "4 years or more")
    assert topics(list(levels) * 9, "employed_since") == {"clock": {"immutable": True}}
    ordered = topics(list(levels) * 9, "employed_since", kind="ordinal", levels=levels)
    assert ordered == {"clock": {"direction": "increase"}}


def test_fractions_get_a_step_that_a_person_can_aim_at() -> None:
    assert topics(RANDOM.random(500)) == {"step": {"step": 0.01}}
    assert topics(RANDOM.normal(0, 20_000, 500)) == {"step": {"step": 100.0}}
    assert topics([0.0] * 400 + [0.123456, 0.2, 0.3]) == {"step": {"step": 0.001}}
    assert topics(RANDOM.random(500), step=0.05) == {}
    assert topics(AMOUNTS) == {}


def test_a_column_that_another_doubles_is_named() -> None:
    levels = RANDOM.integers(0, 4, 900)
    names = np.array(["one", "two", "three", "four"])
    frame = pd.DataFrame({"tier": names[levels], "years": np.array([1, 9, 13, 16])[levels]})
    frame["again"] = frame["years"]
    schema = Schema.infer(frame, laws=False, kinds={"years": "count", "again": "count"})
    assert schema.advise(frame) == ()
    there = "tier = table(years, {1: one, 9: two, 13: three, 16: four})"
    back = "years = table(tier, {one: 1, two: 9, three: 13, four: 16})"
    found = schema.with_laws([there, back, "again = years"]).advise(frame)
    assert [(item.column, item.about) for item in found] == [("years", "double"), ("again", "double")]
    assert "tier" in found[0].reason
    assert "years" in found[1].reason
    assert schema.with_laws([there]).advise(frame) == ()


FRAME = pd.DataFrame(
    {
        "age": RANDOM.integers(18, 80, 300),
        "score": RANDOM.random(300),
        "tenure": AMOUNTS[:300],
        "late": [*AMOUNTS[:280] % 9, *[98] * 20],
        "job": RANDOM.permutation(["?", "clerk", "cook"] * 100),
        "risk": ["low", "medium", "high"] * 100,
    }
)


def test_the_lines_do_what_they_say() -> None:
    schema = Schema.infer(FRAME)
    advice = schema.advise(FRAME)
    assert [item.about for item in advice] == ["choice", "step", "clock", "past", "code", "unknown"]
    for item in advice:
        decided = eval(item.python, {"schema": schema})
        assert item not in decided.advise(FRAME)
        assert item.python in str(item)
        assert item.reason in str(item)
        schema = decided
    assert schema.advise(FRAME) == ()


def test_uncommenting_the_lines_of_a_file_decides() -> None:
    schema = Schema.infer(FRAME)
    text = schema.to_toml(advice=schema.advise(FRAME))
    assert Schema.from_toml(text) == schema
    head, *sections = text.split("[[feature]]\n")
    decided = [head]
    for section in sections:
        lines = re.sub(r"^# (?=\w+ = )", "", section, flags=re.MULTILINE).splitlines()
        # an uncommented line replaces the property that the feature has already
        decided.append("\n".join({line.partition(" = ")[0]: line for line in lines}.values()) + "\n")
    assert '# avoid = ["?"]' in text
    assert Schema.from_toml("[[feature]]\n".join(decided)).advise(FRAME) == ()


def test_hand_made_schemas_need_no_advice_about_people() -> None:
    german = load_german()
    assert german.schema.advise(german.X) == ()
    assert columns_to_decide(german.schema) == {}


def test_a_frame_without_a_column_is_refused() -> None:
    with pytest.raises(DataError, match="lacks columns that the schema has: 'age'"):
        advise(Schema.infer(FRAME), FRAME.drop(columns="age"))


@pytest.mark.parametrize("width", [40, 60, 100])
def test_shared_advice_is_shown_once_and_fits(width: int) -> None:
    frame = FRAME.assign(sooner=FRAME["late"] + 0).rename(columns={"sooner": "times_past_due"})
    text = advice_text(Schema.infer(frame).advise(frame), width)
    assert max(map(len, text.splitlines())) <= width
    assert " ".join(text.split()).count("nobody can change") == 1
    assert "late, times_past_due" in text


def test_results_say_how_many_answers_change_what_people_cannot() -> None:
    X = people.frame(150)
    y = people.labels(X)
    model = people.linear_model(X, y)
    refused = X[model.predict(X) == people.REFUSED].iloc[:6]
    fixed = {"immutable": [name for name in X.columns if name not in ("age", "months_late")]}
    explainer = attain.GrowingSpheres(budget=2000).fit(X, y)
    inferred = explainer.explain(model, refused, target=people.DESIRED, constraints=fixed)
    changed = inferred.changes["feature"].value_counts()
    notes = " ".join(inferred.notes)
    assert "No schema was given, so one was inferred in which everything may change." in notes
    assert set(changed.index) <= {"age", "months_late"}
    for name, count in changed.items():
        verb = "changes" if count == 1 else "change"
        assert f"{count} of {len(inferred.rows)} answers {verb} {name}" in notes
    assert ", which people may not be able to change. " in notes
    decided = people.schema().change("months_late", immutable=True)
    result = attain.GrowingSpheres(decided, budget=500).fit(X, y).explain(model, refused, target=people.DESIRED)
    assert not any("people may not be able to change" in note for note in result.notes)
