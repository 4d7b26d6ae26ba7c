"""A deadline for a call: who is done before it is answered as without it, and who is not has the status TIME_SPENT."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain import GrowingSpheres, Guarded, Model, Status, methods
from attain.density import CHVAE
from attain.methods import HillClimbingLocalSearch
from attain.models import Judgement, reader
from attain.models.reader import OutOfTime
from attain.search import problem
from attain.search.problem import Deadline, Ledger, Problem
from attain.testing.explainer import digest
from benchmarks.limits import LINES, Line, World
from tests.counting import counted
from tests.methods import incomes
from tests.methods.incomes import SCHEMA, decide, frame

PATIENT = 1e9
"""Seconds that nobody needs here."""


class Clock:
    """Seconds that only the calls of a slow model take."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    for module in (problem, reader):
        monkeypatch.setattr(module, "time", found)
    return found


class Slow:
    """A model whose every call takes some seconds of a clock."""

    classes_ = np.array(["bad", "good"])

    def __init__(self, clock: Clock | None = None, seconds: float = 0.0) -> None:
        self.clock, self.seconds = clock or Clock(), seconds

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        self.clock.now += self.seconds
        return decide(frame)


def refused(number: int = 8) -> pd.DataFrame:
    """People whom a model knows by their ages, which no training row has."""
    X = frame(60, seed=1)
    return X[Slow().predict(X) == "bad"].iloc[:number].assign(age=np.arange(number) + 90)


def fitted(explainer: Any = GrowingSpheres, **parameters: Any) -> Any:
    return incomes.fitted(explainer, figures=False, **parameters)


@pytest.mark.parametrize(
    ("explainer", "parameters"), [(GrowingSpheres, {"samples": 10}), (Guarded, {}), (HillClimbingLocalSearch, {})]
)
def test_a_slow_model_is_not_asked_after_the_deadline(explainer, parameters, clock):
    class Strict(Slow):
        """Nothing helps, so that the search goes on."""

        def predict(self, frame: pd.DataFrame) -> np.ndarray:
            return np.where(frame["age"] >= 90, "bad", super().predict(frame))

    people, method, model = refused(3), fitted(explainer, **parameters), Strict(clock)
    method.explain(model, people.iloc[:1], target="good")
    model.seconds = 1.0
    result = method.explain(model, people, target="good", timeout=1, n=3, ranges=True, importance=True)
    probing = 2  # before anybody's time begins to run
    assert clock.now <= probing + 3 * 1 + 2
    assert set(result.statuses) == {Status.TIME_SPENT}
    assert "before the time was up" in result.reasons.iloc[0]
    assert not result.unreadable


def test_who_is_done_before_the_deadline_is_answered_as_without_it(clock, monkeypatch):
    monkeypatch.setattr(GrowingSpheres, "_batch_size", lambda *_: 1)
    people, method = refused(5), fitted()
    fourth = people["age"].iloc[3]

    class Hesitant(Slow):
        """Slow when it is asked about changes of the fourth person alone."""

        def predict(self, frame: pd.DataFrame) -> np.ndarray:
            self.seconds = 1e6 if (frame["age"] == fourth).all() else 0.0
            return super().predict(frame)

    result = method.explain(Hesitant(clock), people, target="good", timeout=1)
    assert result.statuses[4] is Status.TIME_SPENT
    assert set(result.statuses[:3]) == {Status.FOUND, Status.BUDGET_SPENT}
    assert digest(result, range(3)) == digest(method.explain(Slow(), people.iloc[:3], target="good"))
    assert (Slow().predict(result.frame[result.found]) == "good").all()


class Plodding(Slow):
    """Takes as long for each row; one of the training rows can fail after as long."""

    fails = False

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        self.clock.now += self.seconds * len(frame)
        if self.fails and (frame["age"] == FAILING_AGE).any():
            raise TimeoutError("no answer")
        return Slow().predict(frame)


class Sure(Plodding):
    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        good = 0.25 + 0.5 * (self.predict(frame) == "good")
        return np.column_stack((1 - good, good))


FAILING_AGE = 99


@pytest.mark.parametrize("explainer", [GrowingSpheres, Guarded])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("kind", [Plodding, Sure])
def test_learning_about_a_slow_model_ends_in_time_or_names_the_timeout_to_give(explainer, fails, kind, clock):
    X, people = frame(500), refused(2)
    X.loc[250, "age"] = FAILING_AGE
    method = explainer(SCHEMA, budget=500).fit(X, Slow().predict(X))
    model = kind(clock, 0.02)
    model.fails = fails
    expected = digest(method.explain(model, people, target="good", timeout=None))
    needed = clock.now
    method, timeout, tries = explainer(SCHEMA, budget=500).fit(X, Slow().predict(X)), 1, 0
    while tries < 9:
        before = clock.now
        try:
            result = method.explain(model, people, target="good", timeout=timeout)
            break
        except OutOfTime as error:
            assert clock.now - before <= 2 * timeout + 0.02 * len(X), "at most the call that was begun in time"
            timeout, tries = int(str(error).partition("pass timeout=")[2].partition(" ")[0]), tries + 1
    assert 1 <= tries <= 4
    assert timeout <= needed
    assert digest(result) == expected


def test_a_slow_model_that_is_known_is_asked_about_few_rows_whether_it_is_the_same(clock):
    method, model, people = fitted(), Plodding(clock, 0.02), refused(1)
    method.explain(model, people, target="good", timeout=None)
    method.explain(model, people, target="good", timeout=None)
    before = clock.now
    assert method.session(model, target="good").holds_for(Model(model))
    assert clock.now - before <= 2 * 0.5


def test_a_quick_model_is_learned_about_however_short_the_time_is():
    assert set(fitted().explain(Slow(), refused(), target="good", timeout=1e-6).statuses) == {Status.TIME_SPENT}


@pytest.mark.parametrize("n", [1, 3])
def test_with_time_enough_the_bytes_are_the_same(n, monkeypatch):
    methods = [fitted(), fitted(Guarded)]
    timed = [digest(method.explain(Slow(), refused(), target="good", n=n, timeout=PATIENT)) for method in methods]
    monkeypatch.setattr(problem, "time", None)  # without a timeout no clock is looked at
    plain = [digest(method.explain(Slow(), refused(), target="good", n=n, timeout=None)) for method in methods]
    assert timed == plain


def test_an_answer_that_was_found_in_time_is_given(clock):
    class Tiring(Slow):
        """Slow from the first record of the person that flips the decision on."""

        def predict(self, frame: pd.DataFrame) -> np.ndarray:
            labels = super().predict(frame)
            if (labels[frame["age"] >= 90] == "good").any():
                self.seconds = 1e6
            return labels

    result = fitted().explain(Tiring(clock), refused(1), target="good", timeout=1)
    assert result.statuses == (Status.FOUND,)
    assert (Slow().predict(result.frame) == "good").all()


class Fake:
    """A goal that every row meets, and that counts the rows."""

    lowest, rows = -5.0, 0

    def score_rows(self, rows: np.ndarray) -> Judgement:
        self.rows += len(rows)
        return Judgement(np.ones(len(rows), bool), rows[:, 0], np.ones(len(rows), np.int64))

    confirm_rows = score_rows


def test_after_the_deadline_nobody_has_a_budget_and_no_model_is_asked():
    goal, rows, owners = Fake(), np.arange(4.0)[:, None], np.array([0, 0, 1, 1])
    ledger = Ledger(2, 100, Deadline(PATIENT))
    assert Problem(goal, None, ledger, 1, 0).score(rows, owners).tolist() == rows[:, 0].tolist()
    assert ledger.left.tolist() == [98, 98]
    late = Ledger(2, 100, Deadline(1e-9))
    for part in (late, late.subset(np.array([1, 0]))):
        assert not part.left.any()
        assert not part.affordable(owners[:2]).any()
        assert not Problem(goal, None, part, 1, 0).examine(rows[:2]).met.any()
        assert (Problem(goal, None, part, 1, 0).score(rows[:2], owners[:2]) == goal.lowest).all()
    assert goal.rows == 4
    assert not late.spent.any()


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
def test_every_method_ends_soon_after_its_timeout(line: Line, wide: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 100 columns of up to 50 levels with 200 rules, by a clock that counts calls of functions."""
    models = {kind: wide.model(kind) for kind in {"linear", line.model}}
    model = Model(models["function"], classes=["no", "yes"]) if line.model == "function" else models[line.model]
    settings, rows = {}, len(wide.X)
    if line.method in ("CCHVAE", "REVISE"):
        rows, settings = 200, {"autoencoder": CHVAE(wide.schema, hidden=64, random_state=0, epochs=1, verbose=False)}
    explainer = getattr(methods, line.method)(wide.schema, figures=False, **settings).fit(wide.X[:rows], wide.y[:rows])
    told = models["forest" if line.model == "forest" else "linear"].predict(wide.X)
    people = wide.X[told == "no"].iloc[:2]
    explainer.explain(model, people.iloc[:1], target="yes")
    with counted() as clock:
        for module in (problem, reader):
            monkeypatch.setattr(module, "time", clock)
        explainer.explain(model, people.iloc[1:], target="yes", timeout=0.3)
    assert clock.perf_counter() < 0.3 + 1.0


@pytest.fixture(scope="module")
def wide() -> World:
    return World(100, 50, 200)
