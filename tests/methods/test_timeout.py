"""A model that is slow, or hangs, for one person: their status, and nobody else is concerned."""

import os
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain import AttainError, Feature, GrowingSpheres, Guarded, Model, Schema, Status, methods
from attain.density import CHVAE
from attain.methods import NearestUnlike
from attain.methods.search.clock import Clock
from attain.methods.search.problem import Ledger
from attain.models import Judgement
from attain.testing.explainer import digest
from benchmarks.limits import LINES, Line, World

SCHEMA = Schema((Feature("income", "positive"), Feature("score", "real"), Feature("age", "count", immutable=True)))
OLD = 95
PATIENT = 60.0
"""Seconds that nobody needs here."""


def frame(rows: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": np.round(random.lognormal(7, 0.5, rows), 1),
            "score": np.round(random.normal(size=rows), 2),
            "age": random.integers(18, 70, rows),
        }
    )


class Slow:
    """A model that takes some seconds more whenever it is asked about an old person, alone or among others."""

    classes_ = np.array(["bad", "good"])

    def __init__(self, seconds: float = 0.0, only_changed: pd.DataFrame | None = None) -> None:
        self.seconds, self.only_changed, self.slept = seconds, only_changed, 0.0

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        old = X[X["age"] == OLD]
        if self.only_changed is not None:
            old = old[~old["income"].isin(self.only_changed["income"]) | ~old["score"].isin(self.only_changed["score"])]
        if len(old) and self.seconds:
            self.slept += self.seconds
            time.sleep(self.seconds)
        return np.where(X["income"].to_numpy(float) / 1000 + X["score"].to_numpy(float) > 2, "good", "bad")


def refused(number: int = 8, old: int = 3) -> pd.DataFrame:
    X = frame(60, seed=1)
    X = X[Slow().predict(X) == "bad"].iloc[:number].copy()
    X.iloc[old, X.columns.get_loc("age")] = OLD
    return X


def fitted(explainer: Any = GrowingSpheres, **parameters: Any) -> Any:
    X = frame(200)
    return explainer(SCHEMA, budget=500, figures=False, **parameters).fit(X, Slow().predict(X))


@pytest.mark.parametrize(("explainer", "changed"), [(GrowingSpheres, True), (NearestUnlike, False)])
def test_a_person_on_whose_rows_the_model_hangs_runs_out_of_time(explainer, changed):
    X, method = refused(4), fitted(explainer)
    model = Slow(20.0, X if changed else None)
    started = time.perf_counter()
    result = method.explain(model, X, target="good", timeout=0.5)
    assert time.perf_counter() - started < 15
    assert [status is Status.TIME_SPENT for status in result.statuses] == [False, False, False, True]
    assert "ran out of time" in result.reasons.iloc[3]
    assert not result.unreadable
    expected = method.explain(Slow(), X.drop(X.index[3]), target="good")
    assert digest(result, range(3)) == digest(expected)


def test_a_person_whose_rows_are_slow_runs_out_of_time_alone():
    class Strict(Slow):
        """Nothing that an old person changes helps, so that the search goes on."""

        def predict(self, X: pd.DataFrame) -> np.ndarray:
            return np.where(X["age"] == OLD, "bad", super().predict(X))

    X, method = refused(4), fitted(samples=10)
    model = Strict(0.1)
    result = method.explain(model, X, target="good", timeout=0.35)
    assert [status is Status.TIME_SPENT for status in result.statuses] == [False, False, False, True]
    assert model.slept < 2.5
    assert digest(result, range(3)) == digest(method.explain(Strict(), X.iloc[:3], target="good"))


@pytest.mark.parametrize("n", [1, 3])
def test_with_time_enough_the_bytes_are_the_same(n):
    X = refused()
    for method in (fitted(), fitted(Guarded)):
        with_clock = method.explain(Slow(), X, target="good", n=n, timeout=PATIENT)
        assert digest(with_clock) == digest(method.explain(Slow(), X, target="good", n=n))


def test_an_answer_that_was_found_in_time_is_given():
    X, method = refused(1, old=0), fitted()
    quick = method.explain(Slow(), X, target="good")

    class Tiring(Slow):
        """Slow from the first record that flips the decision on."""

        def predict(self, X: pd.DataFrame) -> np.ndarray:
            labels = super().predict(X)
            if (labels[X["age"] == OLD] == "good").any():
                self.seconds = 0.3
            return labels

    result = method.explain(Tiring(), X, target="good", timeout=0.5)
    assert result.statuses == (Status.FOUND,) == quick.statuses


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "5", True])
def test_a_timeout_is_a_positive_number(timeout):
    with pytest.raises(AttainError, match="timeout must be a number > 0"):
        fitted(NearestUnlike).explain(Slow(), refused(), target="good", timeout=timeout)


class FakeGoal:
    """Takes 0.12 seconds for calls with rows of person 2, and usually none."""

    lowest = -5.0

    def __init__(self) -> None:
        self.calls: list[list[int]] = []

    def usual_seconds(self, rows: int) -> float:
        return 0.0

    def allow(self, seconds: float) -> None:
        assert seconds > 0

    def judge(self, rows: np.ndarray, owners: np.ndarray) -> Judgement:
        self.calls.append(np.unique(owners).tolist())
        time.sleep(0.12 if 2 in owners else 0.0)
        return Judgement(np.ones(len(rows), bool), rows[:, 0], np.ones(len(rows), np.int64))

    decide = judge


def test_slow_people_are_soon_asked_about_alone_and_charged_by_themselves():
    goal, clock = FakeGoal(), Clock(4, timeout=0.3)
    ledger = Ledger(4, 1_000, clock)
    rows, owners = np.arange(8.0)[:, None], np.repeat(np.arange(4), 2)
    for _ in range(6):
        judged = ledger.judge(goal, rows, owners)
        np.testing.assert_array_equal(judged.met[owners != 2], True)
        np.testing.assert_array_equal(judged.score[owners != 2], rows[owners != 2, 0])
    assert goal.calls[:3] == [[0, 1, 2, 3], [0, 1], [2, 3]]
    assert [2] in goal.calls
    assert goal.calls[-1] != [2]
    assert ledger.late.tolist() == [False, False, True, False]
    assert not judged.met[4:6].any()
    assert (judged.score[4:6] == goal.lowest).all()
    assert ledger.left[2] == 0
    assert ledger.left[0] == 1_000 - 12
    assert clock.seconds[[0, 1, 3]].max() < 0.2
    part = ledger.subset(np.array([2, 3]))
    assert part.late.tolist() == [True, False]
    assert part.affordable(np.array([0, 1, 1])).tolist() == [False, True, True]
    assert part.decide(goal, rows[:1], np.array([0])).met.all()  # the last check is made in any case


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_every_method_ends_within_a_second_of_its_timeout(line: Line, wide: World) -> None:
    """On 100 columns of up to 50 levels with 200 rules; longer on a busy machine, by the processes for each core."""
    models = {kind: wide.model(kind) for kind in {"linear", line.model}}
    model = Model(models["function"], classes=["no", "yes"]) if line.model == "function" else models[line.model]
    settings, rows = {}, len(wide.X)
    if line.method in ("CCHVAE", "REVISE"):
        rows, settings = 200, {"autoencoder": CHVAE(wide.schema, hidden=64, random_state=0, epochs=1, verbose=False)}
    explainer = getattr(methods, line.method)(wide.schema, figures=False, **settings).fit(wide.X[:rows], wide.y[:rows])
    told = models["forest" if line.model == "forest" else "linear"].predict(wide.X)
    people = wide.X[told == "no"].iloc[:2]
    explainer.warm_up().explain(model, people.iloc[:1], target="yes")
    started = time.perf_counter()
    explainer.explain(model, people.iloc[1:], target="yes", timeout=0.3)
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert time.perf_counter() - started < 0.3 + busy


@pytest.fixture(scope="module")
def wide() -> World:
    return World(100, 50, 200)
