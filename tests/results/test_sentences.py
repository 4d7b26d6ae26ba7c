"""Answers as sentences: exact words for results made by hand, and numbers that can be told apart."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attain import Counterfactuals, Feature, Schema, Status
from attain.core.text import ENGLISH
from attain.results.details import Importances, Ranges, Related
from attain.results.sentences import arrow
from attain.results.text import overview
from tests.golden import check_golden
from tests.results.handmade import result_of, reviewed

SCHEMA = reviewed(
    (
        Feature("age", "count", immutable=True),
        Feature("duration", "count", unit="months"),
        Feature("amount", "positive", step=0.01, label="credit amount", unit="€"),
        Feature("used", "positive", label="utilisation"),
        Feature("late", "count", special={-8: "no account", -9: ""}, transitions={-8: ("value",), -9: ("value",)}),
        Feature("savings", "categorical", levels=("below 100 DM", "100 to 500 DM")),
        Feature("rate", "ordinal", levels=(1, 2, 3, 4)),
        Feature("school", "ordinal", levels=("none", "college", "university")),
        Feature("phone", "categorical", levels=(False, True)),
        Feature("income", "positive", step=1.0, fillable=True, unit="€"),
        Feature("share", "real", derived="amount / duration", label="monthly share"),
    )
)
PERSON = {
    "age": 40,
    "duration": 48,
    "amount": 9960.0,
    "used": 0.923456789,
    "late": 3,
    "savings": "below 100 DM",
    "rate": 2,
    "school": "none",
    "phone": False,
    "income": math.nan,
    "share": 207.5,
}


GOLDEN = Path(__file__).parent / "golden"


def said(change: dict[str, Any], own: dict[str, Any] | None = None, **arguments: Any) -> str:
    result = result_of(SCHEMA, pd.DataFrame([{**PERSON, **(own or {})}]), {0: [change]}, **arguments)
    return str(result.sentences[0])


CHANGES: list[dict[str, Any]] = [
    {"duration": 24},
    *({"amount": amount} for amount in (12000.5, 9960.25)),
    *({"used": used} for used in (0.732451, 0.7, 0.923457)),
    {"savings": "100 to 500 DM"},
    {"rate": 1},
    {"school": "college"},
    {"phone": True},
    {"income": 2500},
    {"late": -8},
    {"duration": 24, "amount": 5000},
    {"duration": 24, "used": 1, "late": 0, "savings": "100 to 500 DM"},
    {"duration": 24, "late": 0, "amount": 4800, "share": 200.0},
]
REQUESTS: list[dict[str, Any]] = [
    *({"own": {"late": code}} for code in (-8, -9)),
    *({"target": target} for target in (1, True, 0.0)),
    {"probability": 0.7},
    *({"purpose": [purpose]} for purpose in (0, 1, 2)),
    *({"typicality": [level]} for level in (0, 1, 2, math.nan)),
]


def test_sentences_say_what_to_change() -> None:
    lines = [f"{change}\n  {said(change)}" for change in CHANGES]
    lines += [f"{request}\n  {said({'late': 0}, **request)}" for request in REQUESTS]
    check_golden("\n".join(lines) + "\n", GOLDEN / "changes.txt")


def test_a_class_is_called_by_its_name_in_all_texts() -> None:
    result = replace(result_of(SCHEMA, pd.DataFrame([PERSON]), {0: [{"late": 0}]}, target=1), target_name="granted")
    assert result.sentences[0] == "For the decision “granted”, reduce late from 3 to 0."
    assert result.describe(0).startswith("Person 0, for the decision “granted”")
    assert "(Guarded, target 1 “granted”)" in str(result)
    again = Counterfactuals.from_json(result.to_json())
    assert (again.target, again.target_name, again.sentences[0]) == (1, "granted", result.sentences[0])


def ranged(change: dict[str, Any], ends: dict[str, tuple[Any, ...]]) -> Counterfactuals:
    """A result with the range (low, high) of each changed feature, or with further levels."""
    result = result_of(SCHEMA, pd.DataFrame([PERSON]), {0: [change]})
    names = [name for name in SCHEMA.names if name in change]
    sides = [ends.get(name, (math.nan,) * 2) for name in names]
    sides = [(math.nan,) * 2 if isinstance(side[0], str) else side for side in sides]
    low, high = (np.array(side, dtype=float) for side in zip(*sides, strict=True))
    found = Ranges(
        option=np.zeros(len(names), dtype=np.intp),
        column=np.array([SCHEMA.position(name) for name in names]),
        low=low,
        high=high,
        low_percentile=np.full(len(names), 0.1),
        high_percentile=np.full(len(names), 0.9),
        levels=tuple(
            tuple(SCHEMA[name].levels.index(level) for level in ends.get(name, ()) if isinstance(level, str))
            for name in names
        ),
        checked=np.full(len(names), 20.0),
    )
    return replace(result, intervals=found)


RANGED: list[tuple[dict[str, Any], dict[str, tuple[Any, ...]]]] = [
    *(({"duration": 24}, {"duration": ends}) for ends in ((0, 30), (4, 30), (24, 24), (4, 48))),
    *(({"used": 0.7}, {"used": ends}) for ends in ((0.123456, 0.712399), (0.69999991, 0.7))),
    ({"amount": 30000}, {"amount": (12000.55, 31000)}),
    ({"rate": 1}, {"rate": (0, 1)}),
    ({"age": 50}, {"age": (45, 60)}),
    ({"income": 500.0}, {"income": (0, 900)}),
    ({"rate": 4}, {"rate": (2, 3)}),
    ({"duration": 24, "rate": 1}, {"duration": (0, 30), "rate": (0, 1)}),
    ({"duration": 24, "amount": 5000, "rate": 1}, {"duration": (0, 30), "amount": (0, 6000), "rate": (0, 1)}),
    ({"duration": 24, "amount": 4800, "share": 200.0}, {"duration": (0, 30), "amount": (0, 6000), "share": (0, 300)}),
    *(({"school": "college"}, {"school": levels}) for levels in (("university",), ("none", "university"))),
]


def test_sentences_say_which_other_values_would_do() -> None:
    lines = []
    for change, ends in RANGED:
        result = ranged(change, ends)
        rest = str(result.sentences[0]).removeprefix(said(change)).strip()
        assert rest in " ".join(result.describe(0).split())
        assert ("will do" in result.describe(0)) == bool(rest)
        lines.append(f"{change}, {ends}\n  {rest or '-'}")
    check_golden("\n".join(lines) + "\n", GOLDEN / "ranges.txt")


def test_a_change_on_one_line_has_the_words_of_the_sentence() -> None:
    schema = Schema((Feature("phone", "categorical", levels=(False, True)), Feature("income", "real", unit="$")))
    people = pd.DataFrame({"phone": [False], "income": [8600.04]})
    result = result_of(schema, people, {0: [{"phone": True, "income": 8700.0}, {"income": -8700.0}]})
    lines = [arrow(change) for option in result.all_options for change in option.changes]
    assert lines == ["phone: no → yes", "income: $8,600 → $8,700", "income: $8,600 → -$8,700"]


def test_many_changes_are_said_as_few() -> None:
    names = [f"x{i}" for i in range(8)]
    unreviewed = Schema((*(Feature(name, "real") for name in names), Feature("y", "real", derived="x0 + x1")))
    people = pd.DataFrame([dict.fromkeys([*names, "y"], 0.0)])
    made = result_of(reviewed(unreviewed), people, {0: [dict.fromkeys([*names, "y"], 1.0)]})
    shift = np.array([[0.9, 0.1, 0.8, 0.7, 0.1, 0.6, 0.5, 0.1, 0.2]])
    said = replace(made, percentiles=(*made.percentiles[:2], shift)).sentences[0]
    assert said == (
        "For the decision “good”, increase x0 from 0 to 1, x2 from 0 to 1, x3 from 0 to 1, x5 from 0 to 1 and x6 from "
        "0 to 1. 3 more changes are needed, too. This brings y from 0 to 1."
    )
    assert all(name in made.describe(0) for name in names)
    related = Related(np.array([[False] * 2 + [True] * 6 + [False]]), ("",))
    said = replace(made, related=related, table=result_of(unreviewed, people, {}).table).sentences[0]
    assert (
        "; with these go x2 from 0 to 1, x3 from 0 to 1, x4 from 0 to 1, x5 from 0 to 1, x6 from 0 to 1"
        " and one more change." in said
    )
    assert said.endswith("Not reviewed: x0, x1, x2, x3 and 4 more.")


def test_what_only_keeps_a_record_typical_comes_after_what_the_decision_needs() -> None:
    change = {"duration": 24, "amount": 5000, "late": 1}
    known = Importances(
        *(np.zeros(3, dtype=np.intp), np.array([SCHEMA.position(name) for name in change])),
        *(np.ones(3), np.array([1.0, 0, 0]), np.array([0.0, 1, 1])),
        only_typical=np.array([0.0, 1, 1]),
    )
    for level, aim in ((0, "stay typical"), (1, "be less unusual")):
        made = replace(result_of(SCHEMA, pd.DataFrame([PERSON]), {0: [change]}, typicality=[level]), importances=known)
        assert made.sentences[0].startswith(
            "For the decision “good”, reduce duration from 48 to 24 months. "
            f"To {aim}, also reduce credit amount from €9,960 to €5,000 and late from 3 to 1. "
        )
    one = replace(known, only_typical=np.zeros(3))
    assert "also" not in replace(made, importances=one).sentences[0]


def test_months_count_what_the_decision_needs() -> None:
    names, paced, lines = ("duration", "used", "late", "amount"), ("used", "late"), []
    schema = reviewed(Feature(name, "count", pace=1 if name in paced else None) for name in names)
    people = pd.DataFrame([dict(zip(names, (24, 9, 6, 5), strict=True))])
    made = result_of(schema, people, {0: [dict.fromkeys(names, 0)]}, typicality=[0], total_shift=[0.5])
    for typical in (("used",), ("used", "late"), ("amount",)):
        only = np.array([float(name in typical) for name in names])
        known = Importances(np.zeros(4, dtype=np.intp), np.arange(4), np.ones(4), 1 - only, only, only_typical=only)
        result = replace(made, importances=known)
        lines.append(f"{typical}\n  {result.sentences[0]}\n  {result.describe(0, width=200).splitlines()[2]}")
    check_golden("\n".join(lines) + "\n", GOLDEN / "months.txt")


@given(end=st.floats(-1e12, 1e12), other=st.floats(-1e12, 1e12))
def test_an_end_is_rounded_towards_the_other(end: float, other: float) -> None:
    assume(end != other)
    shown = float(ENGLISH.inward(end, other, None).replace(",", ""))
    assert min(end, other) <= shown <= max(end, other)
    assert abs(shown - end) <= max(1e-3 * abs(end), 1e-6)


def test_everybody_has_a_sentence_about_the_best_option_or_the_reason() -> None:
    people = pd.DataFrame([PERSON] * 3, index=["a", "b", "c"])
    options = {0: [{"late": 1}], 2: [{"late": 2}, {"phone": True}]}
    result = result_of(SCHEMA, people, options, statuses={1: Status.NO_RECOURSE})
    assert result.sentences.index.tolist() == ["a", "b", "c"]
    assert result.sentences.tolist() == [
        "For the decision “good”, reduce late from 3 to 1.",
        Status.NO_RECOURSE.reason,
        "For the decision “good”, reduce late from 3 to 2.",
    ]
    assert Counterfactuals.from_json(result.to_json()).sentences.equals(result.sentences)


def test_a_record_that_cannot_be_read_is_said_to_be_wrong() -> None:
    result = result_of(SCHEMA, pd.DataFrame([PERSON]), {}, statuses={0: Status.UNREADABLE})
    wrong = "column 'amount', row 0: found 'high'; the schema says positive"
    for told, said in ((wrong, "This record cannot be read; please check credit amount."), ("x", result.reasons[0])):
        result = replace(result, unreadable={0: told})
        assert result.sentences.tolist() == [said]
        assert result.problems["error"].tolist() == [told]


def test_sentences_are_a_column_of_the_frames_library() -> None:
    result = result_of(SCHEMA, pl.DataFrame([PERSON]).with_columns(income=pl.lit(None, pl.Float64)), {0: [{"late": 0}]})
    assert isinstance(result.sentences, pl.Series)
    assert result.sentences.to_list() == ["For the decision “good”, reduce late from 3 to 0."]


def test_no_value_disturbs_a_sentence() -> None:
    schema = reviewed((Feature("x", "categorical", levels=("a\n\x1b[2J", "b"), label="l\tx\x07"),))
    result = result_of(schema, pd.DataFrame({"x": ["a\n\x1b[2J"]}), {0: [{"x": "b"}]}, target="g\nood")
    assert result.sentences[0] == "For the decision “g ood”, change l x� from “a �[2J” to “b”."


NUMBERS = st.floats(-1e150, 1e150) | st.floats(-1000, 1000) | st.integers(-(10**6), 10**6)


def parsed(text: str) -> float:
    return float(text.removeprefix("about ").replace(",", ""))


@given(NUMBERS, NUMBERS)
def test_numbers_are_close_differ_and_are_rounded_away_from_the_old_one(before: float, after: float) -> None:
    old, new = ENGLISH.pair(before, after, None)
    size, change = max(abs(before), abs(after)), abs(after - before)
    if change > 1e-11 * max(size, 1):
        assert old.removeprefix("about ") != new.removeprefix("about ")
        assert (parsed(new) - after) * (after - before) >= -1e-9 * size * change
        assert abs(parsed(new) - after) <= max(0.1 * change, 1e-9 * size)
    assert abs(parsed(old) - before) <= max(1e-3 * abs(before), 5.1e-7)
    assert abs(parsed(new) - after) <= max(1e-3 * abs(after), 1.1e-6)
    assert "about" not in old


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.sampled_from([1, 0.5, 0.25, 0.1, 0.01, 0.001]))
def test_values_on_a_step_are_shown_exactly(first: int, second: int, step: float) -> None:
    scale = round(1 / step)
    before, after = first / scale, second / scale
    assert tuple(map(parsed, ENGLISH.pair(before, after, step))) == (before, after)


@pytest.mark.parametrize(
    ("before", "after", "step", "shown"),
    [
        (0.30000000000000004, 0.1, None, ("0.3", "0.1")),
        (0.30000000000000004, 0.1, 0.1, ("0.3", "0.1")),
        (1 / 3, 0.2, 0.01, ("0.3333", "0.2")),
        (9999, 10000, 1.0, ("9,999", "10,000")),
        (1998, 1999, 1.0, ("1998", "1999")),
        (0.0, -0.00001, None, ("0", "-0.00001")),
        (1143.25, 1.07654, None, ("1143", "about 1.076")),
        (2.5, 0.0000004, None, ("2.5", "about 0")),
        (-2.5, 0.0000004, None, ("-2.5", "about 0.000001")),
        (0, 1e20, None, ("0", "1e+20")),
        (7, 7, 1.0, ("7", "7")),
    ],
)
def test_numbers_by_example(before: float, after: float, step: float | None, shown: tuple[str, str]) -> None:
    assert ENGLISH.pair(before, after, step) == shown


TIMED = reviewed(
    (
        Feature("age", "count", clock=1 / 12, unit="years"),
        Feature("since", "count", clock=True, label="months since the last inquiry"),
        Feature("used", "interval", bounds=(0, 1), step=0.01, pace=0.05, label="utilisation"),
        Feature("purpose", "categorical", levels=("car", "house")),
    )
)


def test_how_long_an_answer_takes_is_said() -> None:
    person, lines = {"age": 33, "since": 3, "used": 0.8, "purpose": "car"}, []
    for change in (
        {"since": 9},
        {"since": 15, "age": 34},
        {"since": 4, "used": 0.78},
        {"since": 9, "used": 0.7, "purpose": "house"},
        {"purpose": "house"},
    ):
        result = result_of(TIMED, pd.DataFrame([person]), {0: [change]}, total_shift=[0.25])
        texts = (result.sentences[0], result.describe(0).splitlines()[2], overview(result, 200).splitlines()[2])
        lines.append("\n  ".join([str(change), *map(str, texts)]))
    check_golden("\n".join(lines) + "\n", GOLDEN / "waiting.txt")


def test_why_nothing_may_change_is_said_of_records_without_numbers() -> None:
    codes, lines = {-9: "no record", -8: ""}, []
    schema = Schema((Feature("age", "count", immutable=True), *(Feature(n, "count", special=codes) for n in "ab")))
    # where the code may be left, or the cell filled, something else holds the record
    able = schema.change("a", fillable=True, transitions={-9: ("value",), -8: ("value",)})
    for cells in ((-9, -9), (-8, -9), (None, None), (None, -8), (-9, 3), (None, 3)):
        people = pd.DataFrame([{"age": 33, "a": cells[0], "b": cells[1]}])
        result, other = (result_of(one, people, {}, statuses={0: Status.NOTHING_FREE}) for one in (schema, able))
        assert result.reasons[0] == result.sentences[0]
        assert other.reasons[0] == Status.NOTHING_FREE.reason
        lines.append(f"{cells}\n  {result.reasons[0]}")
    check_golden("\n".join(lines) + "\n", GOLDEN / "nothing-free.txt")
