"""One verdict on an answer, and which of its features nobody has reviewed, wherever people read about it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attain import Counterfactuals, Feature, Schema
from attain.core.errors import AttainError
from attain.desk.audit import AuditLog, read_lines
from attain.desk.report import write_report
from attain.results.details import Related
from attain.results.exports import table_frame
from attain.results.status import Verdict
from tests.results import test_counterfactuals as world
from tests.results.handmade import result_of

SCHEMA = Schema(
    (
        Feature("income", "positive", reviewed="Ada, 2026-11-19"),
        Feature("PAY_2", "count", label="delay in July"),
        Feature("debt", "positive", direction="decrease"),
        Feature("age", "count", immutable=True),
        Feature("limit", "positive"),
        Feature("share", "real", derived="debt / limit"),
    )
)
PERSON = {"income": 10.0, "PAY_2": 3, "debt": 5.0, "age": 40, "limit": 20.0, "share": 0.25}


def result(*options: Mapping[str, float], **figures: Sequence[float]) -> Counterfactuals:
    return result_of(SCHEMA, pd.DataFrame([PERSON]), {0: options}, **figures)


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ({"typicality": 0}, Verdict.TYPICAL),
        ({"typicality": 1, "outlier": 0, "connected": 1}, Verdict.UNUSUAL),
        ({"typicality": 2, "outlier": 0, "connected": 1}, Verdict.UNLIKE),
        ({"typicality": math.nan, "outlier": 0, "connected": 1}, Verdict.TYPICAL),
        ({"outlier": 0, "connected": 0}, Verdict.UNUSUAL),
        ({"outlier": 1, "connected": 1}, Verdict.UNUSUAL),
        ({"outlier": 1, "connected": 0}, Verdict.UNLIKE),
        ({"outlier": math.nan, "connected": 1}, None),
        ({}, None),
    ],
)
def test_the_guard_decides_or_else_both_figures_together(figures: dict[str, float], verdict: Verdict | None) -> None:
    known = result({"income": 20.0}, **{name: [value] for name, value in figures.items()})
    assert known.option(0).verdict is verdict
    assert known.verdict.tolist() == [verdict]
    assert Counterfactuals.from_json(known.to_json()).verdicts == (verdict,)
    words = "debt does not go with income"
    broken = replace(known, related=Related(np.zeros(known.rows.shape, bool), (words,)))
    assert broken.option(0).verdict is Verdict.CONTRADICTORY
    assert f"That record contradicts itself: {words}." in broken.sentences[0]


def test_nothing_that_people_read_says_two_things_about_one_answer(tmp_path: Path) -> None:
    known = result({"income": 20.0}, typicality=[2], outlier=[0], connected=[1], total_shift=[0.5], max_shift=[0.5])
    write_report(known, tmp_path / "r.html")
    report = (tmp_path / "r.html").read_text(encoding="utf-8")
    for text in (str(known), known.describe(0), known._repr_html_(), report):
        assert "unlike anybody" in text
        assert "connected" not in text
        assert "local outliers" not in text


def test_features_that_nobody_has_reviewed_are_named(tmp_path: Path) -> None:
    figures = {"total_shift": [0.5, 0.2], "max_shift": [0.5, 0.2]}
    known = result({"income": 20.0, "PAY_2": 1, "debt": 4.0, "limit": 40.0, "share": 0.1}, {"income": 30.0}, **figures)
    assert [option.unreviewed for option in known.all_options] == [("PAY_2", "limit"), ()]
    assert known.unreviewed == {"PAY_2": 1, "limit": 1}
    write_report(known, tmp_path / "r.html")
    report = (tmp_path / "r.html").read_text(encoding="utf-8")
    for text in (known.sentences[0], known.describe(0), report):
        assert "Not reviewed: delay in July and limit." in text
    assert known.describe(0).count("Not reviewed") == 1
    assert "not reviewed, with how many answers change it: PAY_2 (1), limit (1)" in str(known)
    assert "`attain review`" in " ".join(str(known).split())
    assert table_frame(known, "answers")["unreviewed"].fillna("").tolist() == ["PAY_2, limit", ""]
    reviewed = dict(zip(known.changes["feature"], known.changes["reviewed"], strict=True))
    assert reviewed == {"income": True, "PAY_2": False, "debt": True, "limit": False, "share": True}
    again = Counterfactuals.from_json(known.to_json())
    assert again.sentences.tolist() == known.sentences.tolist()
    assert known.option(0).as_json()["unreviewed"] == ("PAY_2", "limit")


def test_that_unreviewed_changes_are_allowed_is_recorded(tmp_path: Path) -> None:
    people = world.people()
    asked = world.explainer().explain(world.MODEL, people, target="good", allow_unreviewed=True)
    assert world.explain(people).settings["allow_unreviewed"] is False
    assert Counterfactuals.from_json(asked.to_json()).settings["allow_unreviewed"] is True
    AuditLog(tmp_path / "log.jsonl", inputs="plain").append(asked)
    assert all(line["settings"]["allow_unreviewed"] for line in read_lines(tmp_path / "log.jsonl"))
    with pytest.raises(AttainError, match="allow_unreviewed must be True or False, got 'yes'"):
        world.explainer().explain(world.MODEL, people, target="good", allow_unreviewed="yes")  # type: ignore[arg-type]
