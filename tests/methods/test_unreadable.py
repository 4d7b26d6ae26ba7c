"""Records that cannot be read, and rows that the model fails on: one status each, and nobody else is concerned."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain import AttainError, Feature, GrowingSpheres, Model, Schema, Status
from attain.core.errors import DataError, ModelError
from attain.methods import NearestUnlike
from attain.testing.explainer import digest

SCHEMA = Schema((Feature("income", "positive"), Feature("score", "real"), Feature("age", "count", immutable=True)))


def frame(rows: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": np.round(random.lognormal(7, 0.5, rows), 1),
            "score": np.round(random.normal(size=rows), 2),
            "age": random.integers(18, 70, rows),
        }
    )


def decide(X: pd.DataFrame) -> np.ndarray:
    return np.where(X["income"].to_numpy(float) / 1000 + X["score"].to_numpy(float) > 2, "good", "bad")


class Fragile:
    """A model of labels that fails on the rows for which `fails` is true, and counts its calls."""

    classes_ = np.array(["bad", "good"])

    def __init__(self, fails: Any) -> None:
        self.fails = fails
        self.calls = 0

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        self.calls += 1
        wrong = np.asarray(self.fails(X), dtype=bool)
        if wrong.any():
            raise RuntimeError(f"{wrong.sum()} bad rows")
        return decide(X)


def fitted(explainer: Any = GrowingSpheres, **parameters: Any) -> Any:
    X = frame(200)
    return explainer(SCHEMA, budget=500, **parameters).fit(X, decide(X))


def refused(number: int) -> pd.DataFrame:
    X = frame(400, seed=1)
    return X[decide(X) == "bad"].iloc[:number]


def explain(model: Any, X: Any, explainer: Any = GrowingSpheres, **arguments: Any) -> Any:
    return fitted(explainer).explain(Model(model, accepts="pandas"), X, target="good", **arguments)


@pytest.mark.parametrize("explainer", [GrowingSpheres, NearestUnlike])
def test_candidates_on_which_the_model_fails_do_not_flip_the_decision_and_are_charged(explainer: Any) -> None:
    model = Fragile(lambda X: X["score"] > 1.0)
    result = explain(model, refused(6), explainer)
    assert result.found.any()
    assert (result.frame["score"] <= 1.0).all()
    assert (decide(result.frame[result.found]) == "good").all()
    assert (result.person_figures["rows_scored"] <= 500).all()
    assert any("The model failed on" in note for note in result.notes)
    # the answers do not depend on who else is in the batch
    alone = explain(model, refused(6).iloc[[3]], explainer)
    assert digest(alone) == digest(result, [3])


def test_training_rows_on_which_the_model_fails_are_nobodys_answer() -> None:
    X = frame(200)
    broken = set(X["income"].iloc[::7])  # some are in the probe
    result = explain(Fragile(lambda X: X["income"].isin(broken)), refused(4), NearestUnlike)
    assert result.found.all()
    assert not set(result.frame["income"]) & broken


def test_a_model_that_fails_on_everything_raises_its_own_error() -> None:
    with pytest.raises(ModelError, match="raised RuntimeError when asked for labels of 200 rows: 200 bad rows"):
        explain(Fragile(lambda X: np.ones(len(X))), refused(3))


def test_a_model_that_stops_to_work_raises_its_own_error_after_a_few_calls() -> None:
    model = Fragile(lambda X: np.zeros(len(X)))
    explainer = fitted()
    explainer.explain(model, refused(3), target="good")
    before = model.calls
    model.fails = lambda X: np.full(len(X), model.calls > before + 5)
    with pytest.raises(ModelError, match="bad rows"):
        explainer.explain(model, refused(3), target="good")
    assert model.calls < before + 10


def test_finding_the_rows_takes_few_calls() -> None:
    X = refused(64)
    model = Fragile(lambda X: np.zeros(len(X)))
    explainer = fitted(figures=False)
    explainer.set_params(budget=2).explain(model, X, target="good")
    plain = model.calls
    bad = X["income"].iloc[11]
    model = Fragile(lambda X: X["income"] == bad)
    result = explainer.explain(model, X, target="good")
    assert [i for i, status in enumerate(result.statuses) if status is Status.UNREADABLE] == [11]
    # a row of the probe again, the 64 rows again, and two halves at each of six levels
    assert model.calls <= plain + 2 + 2 * 6


def test_everybody_may_be_unreadable() -> None:
    X = refused(3).assign(income=-1.0)
    result = explain(decide, X)
    assert set(result.statuses) == {Status.UNREADABLE}
    assert np.isnan(result.person_figures["score_before"]).all()
    assert (result.person_figures["rows_scored"] == 0).all()
    assert str(result)
    pd.testing.assert_frame_equal(result.frame, X)
    with pytest.raises(DataError, match=r"column 'income', row \d+: found -1.0; .*\(2 more rows like it\)"):
        explain(decide, X, errors="raise")


def test_errors_takes_two_values() -> None:
    with pytest.raises(AttainError, match="errors must be one of 'raise', 'status', got 'ignore'"):
        explain(decide, refused(1), errors="ignore")


def test_a_text_among_integers_leaves_the_others_on_whole_numbers() -> None:
    X = refused(4).reset_index(drop=True)
    X["income"] = X["income"].astype(int)
    bad = X.astype({"income": object})
    bad.loc[2, "income"] = "a lot"
    result = explain(decide, bad)
    others = explain(decide, X.drop(index=2))
    assert digest(result, (0, 1, 3)) == digest(others)
    found = result.frame["income"][result.found]
    assert all(isinstance(value, int) for value in found)
