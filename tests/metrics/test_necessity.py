"""Necessity and sufficiency: known answers for planes and boxes, and who is counted."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from attain import Feature, GrowingSpheres, Schema
from attain.core.errors import ConstraintError, DataError
from attain.metrics import necessity_and_sufficiency

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


def figures(model, people=PEOPLE, **more) -> pd.DataFrame:  # type: ignore[no-untyped-def]
    explainer = GrowingSpheres(SCHEMA, laws=None, figures=False).fit(X)
    return necessity_and_sufficiency(explainer, model, people, target=1, **more).set_index(["group", "feature"])


def test_where_either_is_enough_each_is_necessary_and_none_sufficient() -> None:
    frame = figures(either)
    assert list(frame.index) == [("everybody", "a"), ("everybody", "b")]
    assert (frame["n"] == 4).all()  # one has the decision already
    assert (frame["answered"] == 4).all()
    assert (frame["necessity"] == 1).all()
    assert (frame["sufficiency"] == 0).all()
    interval = binomtest(4, 4).proportion_ci(method="wilson")
    assert frame["necessity_low"].iloc[0] == pytest.approx(interval.low)
    assert frame["sufficiency_high"].iloc[0] == pytest.approx(1 - interval.low)


def test_where_both_are_needed_each_is_sufficient_for_those_who_lack_it() -> None:
    frame = figures(both).loc["everybody"]
    # (0, 0) and (3, 3) need both, (0, 5) needs a, (8, 0) needs b
    assert frame["necessity"].to_dict() == {"a": 0.25, "b": 0.25}
    assert frame["sufficiency"].to_dict() == {"a": 0.75, "b": 0.75}


def test_groups_and_constraints() -> None:
    frame = figures(both, groups=PEOPLE["c"].map({1: "one", 2: None}), confidence=0.9)
    assert [group for group, _ in frame.index] == ["everybody", "everybody", "missing", "missing", "one", "one"]
    assert frame.loc[("missing", "a"), "n"] == 2
    assert frame.loc[("missing", "a"), "necessity"] == 0.5
    assert frame.loc[("one", "b"), "sufficiency"] == 1.0
    held = figures(both, constraints={"immutable": ["b"]}).loc["everybody"]
    assert list(held.index) == ["a"]
    assert held.loc["a", ["n", "answered", "necessity", "sufficiency"]].tolist() == [4, 1, 0.25, 1.0]


def test_time_belongs_to_a_change_that_takes_it_and_waiting_is_none() -> None:
    schema = Schema((Feature("months", "count", clock=True), Feature("debt", "count", pace=1), Feature("c", "count")))
    train = pd.DataFrame(RANDOM.integers(0, 30, (200, 3)), columns=["months", "debt", "c"])
    people = pd.DataFrame({"months": [5, 5], "debt": [9, 20], "c": [0, 0]})

    def old_or_free(rows: pd.DataFrame) -> np.ndarray:
        return np.asarray((rows["months"] >= 12) | (rows["debt"] <= 4)).astype(int)

    explainer = GrowingSpheres(schema, laws=None, figures=False).fit(train)
    frame = necessity_and_sufficiency(explainer, old_or_free, people, target=1).set_index("feature")
    assert frame["necessity"].to_dict() == {"debt": 1.0, "c": 0.0}
    # with debt held one waits
    assert frame["sufficiency"].to_dict() == {"debt": 0.0, "c": 0.0}


def test_what_cannot_be_asked_is_said() -> None:
    with pytest.raises(DataError, match="features names 'c'; those that may change are 'a', 'b'"):
        figures(either, features=["c"])
    with pytest.raises(ConstraintError, match="same for all"):
        figures(either, constraints={"people": {0: {"immutable": ["a"]}}})
    with pytest.raises(DataError, match="one group for each of the 5 rows"):
        figures(either, groups=["x"])


def test_nobody_to_help() -> None:
    frame = figures(either, PEOPLE.tail(1))
    assert (frame["n"] == 0).all()
    assert frame[["necessity", "sufficiency_low"]].isna().all().all()
