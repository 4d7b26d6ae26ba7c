"""Levers: known answers for planes and boxes, what a summary asks, and who would lose an answer."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attain import Counterfactuals, Feature, GrowingSpheres, Schema
from attain.desk.report import write_report
from attain.desk.scale.answers import Summary
from attain.metrics import levers
from attain.results.status import Status
from attain.results.text import summary_lines

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.integers(0, 10, (200, 3)), columns=["a", "b", "c"])
SCHEMA = Schema((Feature("a", "count"), Feature("b", "count"), Feature("c", "count", immutable=True)))
PEOPLE = pd.DataFrame({"a": [0, 0, 8, 3, 9], "b": [0, 5, 0, 3, 9], "c": [1, 2, 1, 2, 1]})


def either(rows: pd.DataFrame) -> np.ndarray:
    """a + b of 9 and more: each is enough, b up to 9 and a up to 9."""
    return np.asarray(rows["a"] + rows["b"] >= 9).astype(int)


def both(rows: pd.DataFrame) -> np.ndarray:
    """a and b of 5 and more."""
    return np.asarray((rows["a"] >= 5) & (rows["b"] >= 5)).astype(int)


def explained(model: Any, people: pd.DataFrame = PEOPLE) -> tuple[GrowingSpheres, Counterfactuals]:
    explainer = GrowingSpheres(SCHEMA, laws=None).fit(X)
    return explainer, explainer.explain(model, people, target=1)


def held(model: Any, people: pd.DataFrame = PEOPLE, **more: Any) -> pd.DataFrame:
    explainer, result = explained(model, people)
    return levers(explainer, model, result, **more).set_index("feature")


def test_where_both_are_needed_the_answers_say_who_changes_what() -> None:
    frame = explained(both)[1].levers().set_index("feature")
    # (0, 0) and (3, 3) need both, (0, 5) needs a, (8, 0) needs b
    assert frame["answers"].to_dict() == {"a": 3, "b": 3}
    assert frame["share"].to_dict() == {"a": 0.75, "b": 0.75}
    assert (frame["up"] == frame["answers"]).all()
    assert (frame["down"] == 0).all()
    assert (frame["shift"] > 0).all()
    assert frame.loc["a", "example"].startswith("For class 1, increase a from 0 to ")
    assert " b " not in frame.loc["a", "example"], "the example changes the fewest other features"


def test_where_both_are_needed_nobody_who_lacks_one_keeps_an_answer() -> None:
    frame = held(both)
    assert frame["lost"].to_dict() == {"a": 3, "b": 3}
    assert frame["further"].isna().all()


def test_where_either_is_enough_nobody_loses_an_answer_but_some_go_further() -> None:
    frame = held(either)
    assert (frame["lost"] == 0).all()
    assert frame["further"].notna().all()


def test_those_whose_answer_does_not_change_the_feature_are_not_searched_for_again() -> None:
    asked: list[int] = []

    def counted(rows: pd.DataFrame) -> np.ndarray:
        asked.append(len(rows))
        return both(rows)

    explainer, result = explained(counted, PEOPLE.iloc[[2]])
    assert result.levers()["feature"].tolist() == ["b"]
    before = len(asked)
    frame = levers(explainer, counted, result, features=["b"])
    assert len(asked) > before
    assert frame[["answers", "alone", "lost"]].to_numpy().tolist() == [[1, 1, 1]]


def test_levels_codes_and_what_follows() -> None:
    schema = Schema(
        (
            Feature("home", "categorical", ("rents", "owns"), reviewed="Ada, 2026-11-19"),
            Feature("debt", "count", special={99: "unknown"}, unit="€"),
            Feature("twice", "count", derived="2 * debt"),
        )
    )
    train = pd.DataFrame({"home": ["rents", "owns"] * 20, "debt": range(40), "twice": range(0, 80, 2)})

    def owns_and_owes_little(rows: pd.DataFrame) -> np.ndarray:
        return np.asarray((rows["home"] == "owns") & (rows["debt"] <= 5)).astype(int)

    people = pd.DataFrame({"home": ["rents"] * 6, "debt": [25] * 6, "twice": [50] * 6})
    result = GrowingSpheres(schema, laws=None).fit(train).explain(owns_and_owes_little, people, target=1)
    frame = result.levers().set_index("feature")
    assert sorted(frame.index) == ["debt", "home"]
    assert frame.loc["home", ["common", "reviewed"]].tolist() == ["owns", "Ada, 2026-11-19"]
    assert np.isnan(frame.loc["home", "change"])
    assert frame.loc["debt", ["down", "unit"]].tolist() == [6, "€"]
    assert frame.loc["debt", "change"] <= -20


def asked_in_summary(schema: Schema) -> list[str]:
    repeated = pd.concat([PEOPLE.head(1)] * 6, ignore_index=True)
    result = GrowingSpheres(schema, laws=None).fit(X).explain(both, repeated, target=1)
    return [line for line in str(result).splitlines() if "can people change it?" in line]


def test_what_most_answers_rest_on_is_asked_until_somebody_has_reviewed_it() -> None:
    lines = [f"6 of 6 answers change {name}: can people change it?" for name in "ab"]
    assert asked_in_summary(SCHEMA) == lines
    assert asked_in_summary(SCHEMA.change("a", direction="increase")) == lines, "a direction does not answer it"
    assert asked_in_summary(SCHEMA.change("a", reviewed="Ada, 2026-11-19")) == lines[1:]


def test_reports_and_folders_of_answers_ask_the_same(tmp_path: Path) -> None:
    repeated = pd.concat([PEOPLE.head(1)] * 6, ignore_index=True)
    result = explained(both, repeated)[1]
    write_report(result, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    total = Summary.of(result)
    total.add(Summary.of(result))
    assert total.changed == {"a": 12, "b": 12}
    statuses = {Status[name]: count for name, count in total.status.items()}
    lines = summary_lines(result, statuses, total.verdict, total.changed, total.unreviewed, total.means)
    for name in "ab":
        assert f"6 of 6 answers change {name}: can people change it?" in page
        assert f"12 of 12 answers change {name}: can people change it?" in lines


def test_few_answers_are_no_reason_to_ask() -> None:
    assert "can people change it?" not in str(explained(both)[1])


def test_nobody_to_help() -> None:
    assert held(either, PEOPLE.tail(1)).empty
    assert explained(either, PEOPLE.tail(1))[1].levers().empty
