"""Records that cannot be read, and rows that the model fails on: one status each, and nobody else is concerned."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from attain import Counterfactuals, Feature, GrowingSpheres, Model, Schema, Status
from attain.core.errors import DataError, ModelError
from attain.methods import NearestUnlike
from attain.testing.explainer import digest
from tests.methods.incomes import decide, fitted, frame


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


def test_a_model_that_works_again_is_learned_about():
    model = Fragile(lambda X: np.zeros(len(X)))
    explainer, people = fitted(), refused(6)
    explainer.explain(model, people, target="good")
    for fails in (lambda X: np.ones(len(X)), lambda X: X["age"] > 60):
        model.fails = fails
        with suppress(ModelError):
            result = explainer.explain(model, people, target="good")
    assert digest(result) == digest(fitted().explain(Fragile(model.fails), people, target="good"))


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


TOWNS = Schema(
    (
        Feature("income", "positive"),
        Feature("score", "real"),
        Feature("town", "categorical", levels=("Bonn", "Ulm"), immutable=True),
        Feature("grade", "ordinal", levels=("low", "high"), immutable=True),
        Feature("job", "categorical", levels=("none", "some")),
    )
)


def towns(rows: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return frame(rows, seed)[["income", "score"]].assign(
        town=random.choice(["Bonn", "Ulm"], rows),
        grade=random.choice(["low", "high"], rows),
        job=random.choice(["none", "some"], rows),
    )


def pipeline(handle_unknown: str) -> Any:
    X = towns(200)
    encoder = OneHotEncoder(handle_unknown=handle_unknown)
    prepared = make_column_transformer((StandardScaler(), ["income", "score"]), (encoder, ["town", "grade", "job"]))
    return make_pipeline(prepared, LogisticRegression()).fit(X, decide(X))


def people_of(model: Any, **cells: str) -> pd.DataFrame:
    """Four refused people; these cells of the third are replaced."""
    X = towns(200, seed=1)
    X = X[model.predict(X) == "bad"].iloc[:4].reset_index(drop=True)
    for name, cell in cells.items():
        X.loc[2, name] = cell
    return X


def explainer_of_towns() -> GrowingSpheres:
    X = towns(200)
    return GrowingSpheres(TOWNS, budget=2000).fit(X, decide(X))


@pytest.mark.parametrize(
    "convert", [lambda X: X, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_an_unseen_level_of_an_immutable_column_is_kept_and_passed_to_the_model(convert: Any) -> None:
    model = pipeline("ignore")
    X = people_of(model, town="Köln")
    result = explainer_of_towns().explain(model, convert(X), target="good")
    assert result.found.all()
    frame = result.frame if isinstance(result.frame, pd.DataFrame) else result.frame.to_pandas()
    assert frame["town"].tolist() == X["town"].tolist()
    assert (model.predict(frame) == "good").all()
    assert type(result.frame) is type(convert(X))
    again = Counterfactuals.from_json(result.to_json())
    assert again.table.layout.unseen == {"town": ("Köln",)}
    assert digest(again) == digest(result)


@pytest.mark.parametrize("dtype", ["object", "category"])
def test_rows_with_an_unseen_level_are_asked_about_apart_from_the_others(dtype: str) -> None:
    seen: list[tuple[set[str], Any]] = []

    def model(frame: pd.DataFrame) -> np.ndarray:
        seen.append((set(frame["town"]), frame["town"].dtype))
        return decide(frame)

    X = towns(200).astype({"town": dtype})
    explainer = GrowingSpheres(TOWNS, budget=2000).fit(X, decide(X))
    rows = pd.DataFrame(people_of(pipeline("ignore"), town="Köln")).astype({"town": dtype})
    result = explainer.explain(Model(model, accepts="pandas", classes=["bad", "good"]), rows, target="good")
    assert result.found.all()
    assert {"Köln"} in [towns for towns, _ in seen]
    assert all(towns == {"Köln"} or "Köln" not in towns for towns, _ in seen)
    assert {str(known) for towns, known in seen if "Köln" not in towns} == {str(X["town"].dtype)}
    if dtype == "category":
        assert all(list(known.categories) == ["Bonn", "Ulm"] for towns, known in seen if "Köln" not in towns)


def test_an_unseen_level_that_the_model_does_not_take_is_unreadable() -> None:
    model = pipeline("error")
    X = people_of(model, town="Köln")
    result = explainer_of_towns().explain(model, X, target="good")
    assert [i for i, status in enumerate(result.statuses) if status is Status.UNREADABLE] == [2]
    assert "Found unknown categories ['Köln']" in result.troubles[2]
    others = explainer_of_towns().explain(model, X.drop(index=2), target="good")
    assert digest(result, (0, 1, 3)) == digest(others)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"job": "pilot"}, "the levels are 'none', 'some'"),  # may change, so that it must be among the levels
        ({"grade": "middle"}, "the levels are 'low', 'high'"),  # has no place in the order
        ({"town": "bonn "}, "the schema has 'Bonn'; write the level as the schema does"),
    ],
)
def test_other_unseen_levels_are_unreadable(cells: dict[str, str], words: str) -> None:
    model = pipeline("ignore")
    result = explainer_of_towns().explain(model, people_of(model, **cells), target="good")
    assert [i for i, status in enumerate(result.statuses) if status is Status.UNREADABLE] == [2]
    assert words in result.troubles[2]


def test_errors_raise_refuses_every_unseen_level() -> None:
    model = pipeline("ignore")
    with pytest.raises(DataError, match="column 'town', row 2: found 'Köln'"):
        explainer_of_towns().explain(model, people_of(model, town="Köln"), target="good", errors="raise")
