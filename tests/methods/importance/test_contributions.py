"""Contributions: closed forms for linear models, brute force over all coalitions, and who gets any."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import attain
from attain import AttainError, Counterfactuals, Feature, GrowingSpheres, Schema
from attain.answers import importance
from attain.answers.importance import coalitions, exact_values

RANDOM = np.random.default_rng(0)
SCHEMA = Schema(
    (
        Feature("age", "count", immutable=True),
        Feature("debt", "real"),
        Feature("late", "count", special={-9: "never"}),
        Feature("home", "categorical", levels=("rents", "owns", "parents")),
        Feature("sex", "categorical", levels=("f", "m"), immutable=True),
        Feature("saved", "real", fillable=True),
    )
)
X = pd.DataFrame(
    {
        "age": RANDOM.integers(20, 70, 300),
        "debt": np.round(RANDOM.normal(0, 1, 300), 2),
        "late": np.where(RANDOM.random(300) < 0.1, -9, RANDOM.integers(0, 9, 300)),
        "home": RANDOM.choice(["rents", "owns", "parents"], 300),
        "sex": RANDOM.choice(["f", "m"], 300),
        "saved": np.where(RANDOM.random(300) < 0.1, np.nan, np.round(RANDOM.normal(0, 1, 300), 2)),
    }
)
MERIT = X["age"] / 20 - X["debt"] * (X["home"] == "owns") - X["late"].clip(0) / 4 + X["saved"].fillna(0)
Y = (MERIT.median() < MERIT).astype(int)
LEVELS = ["home", "sex"]


@cache
def fitted(kind: str) -> Any:
    model = {
        "boosting": HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5, random_state=0),
        "gradient boosting": GradientBoostingClassifier(n_estimators=10, random_state=0),
        "forest": RandomForestClassifier(8, max_depth=6, random_state=0),
        "neighbours": KNeighborsClassifier(15),
        "linear": LogisticRegression(max_iter=500),
    }[kind]
    numbers = "passthrough" if kind == "boosting" else SimpleImputer()
    rest = [name for name in X.columns if name not in LEVELS]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((numbers, rest), (encoder, LEVELS)), model).fit(X, Y)


def explained(model: Any, rows: pd.DataFrame, **request: Any) -> Counterfactuals:
    explainer = GrowingSpheres(SCHEMA, laws=None, figures=False, samples=20, budget=50).fit(X, Y)
    return explainer.explain(model, rows, **{"target": 1, "contributions": True, **request})


def wide(result: Counterfactuals, value: str) -> pd.DataFrame:
    """One row for each person, one column for each input."""
    return result.contributions.set_index(["person", "feature"])[value].unstack()  # noqa: PD010


def lead(model: Any, rows: pd.DataFrame) -> np.ndarray:
    """What the scores are on: the decision function, or the lead in probability."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(rows))
    return np.asarray(model.predict_proba(rows)) @ [-1.0, 1.0]


def by_all_coalitions(score: Any, person: pd.Series, others: pd.DataFrame) -> dict[str, float]:
    members = coalitions(X.shape[1])
    values = np.zeros(X.shape[1])
    for k in range(len(others)):
        rows = pd.concat([others.iloc[[k]]] * len(members), ignore_index=True)
        for j, name in enumerate(X.columns):
            rows[name] = rows[name].where(~members[:, j], person[name])
        values += exact_values(score(rows)) / len(others)
    return dict(zip(X.columns, values, strict=True))


def compared(model: Any) -> pd.DataFrame:
    """Those whom everybody is compared with."""
    values = np.arange(len(X), dtype=float)[:, None]
    met = np.asarray(model.predict(X)) == 1
    return X.iloc[importance.compared_with(values, met, 0).ravel().astype(int)]


def test_a_linear_model_is_a_closed_form() -> None:
    model = LogisticRegression(max_iter=500).fit(X[["age", "debt", "late"]], Y)
    schema = Schema(SCHEMA.features[:3])
    numbers = X[["age", "debt", "late"]]
    explainer = GrowingSpheres(schema, laws=None, figures=False, samples=20).fit(numbers, Y)
    result = explainer.explain(model, numbers.head(10), target=1, contributions=True)
    others = numbers.loc[compared(_Columns(model)).index]
    assert len(others) == importance.PEOPLE == result.attributions.people
    expected = (numbers.head(10) - others.mean()) * model.coef_[0]
    frame = wide(result, "contribution")
    np.testing.assert_allclose(frame[list(numbers)], expected, atol=1e-6)
    np.testing.assert_allclose(
        frame.sum(axis=1),
        model.decision_function(numbers.head(10)) - model.decision_function(others).mean(),
        atol=1e-5,
    )
    spread = 1.96 * np.abs(model.coef_[0]) * others.std() / 10
    np.testing.assert_allclose(wide(result, "error")[list(numbers)], np.tile(spread, (10, 1)), atol=1e-6)
    assert result.attributions.scale == "decision function"


class _Columns:
    """A model of three columns that takes all."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, rows: pd.DataFrame) -> Any:
        return self.model.predict(rows[["age", "debt", "late"]])


@pytest.mark.parametrize("kind", ["linear", "boosting", "gradient boosting", "forest"])
def test_models_that_can_be_read_are_exact(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "PEOPLE", 4)
    model, people = fitted(kind), X.head(4)
    result = explained(model, people)
    others = compared(model)
    frame = wide(result, "contribution")
    for label, person in people.iterrows():
        expected = by_all_coalitions(lambda rows: lead(model, rows), person, others)
        assert frame.loc[label].to_dict() == pytest.approx(expected, abs=2e-5)
    total = lead(model, people) - lead(model, others).mean()
    np.testing.assert_allclose(frame.sum(axis=1), total, atol=2e-5)
    words = {"linear": "decision function", "forest": "lead in probability"}
    assert result.attributions.scale == words.get(kind, "log-odds")


def test_any_other_model_is_drawn_with_an_exact_sum_and_an_honest_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "PEOPLE", 40)
    model, people = fitted("neighbours"), X.head(3)
    result = explained(model, people)
    others = compared(model)
    frame, error = wide(result, "contribution"), wide(result, "error")
    total = lead(model, people) - lead(model, others).mean()
    np.testing.assert_allclose(frame.sum(axis=1), total, atol=1e-5)
    for label, person in people.iterrows():
        expected = pd.Series(by_all_coalitions(lambda rows: lead(model, rows), person, others))
        # beside the people, who are the same here, only the orders differ: well within the interval
        assert (np.abs(frame.loc[label] - expected) <= error.loc[label]).all()
    plain = explained(model, people, contributions=False)
    extra = result.rows_asked - plain.rows_asked
    assert 40 < extra <= 300 + 40 + 3 * (2 * 40 * 5 + 1)  # which training rows have the decision, these, and steps


def test_everybody_who_can_be_read_has_them_and_immutable_inputs_are_marked() -> None:
    model = fitted("boosting")
    rows = X.head(6).assign(home=["rents", "castle", "owns", "owns", "rents", "rents"])
    result = explained(model, rows)
    frame = result.contributions
    assert "ALREADY_DESIRED" in set(result.status)
    assert result.status[1] == "UNREADABLE"
    assert sorted(set(frame["person"])) == [0, 2, 3, 4, 5]
    late = frame["feature"] == "late"
    never = frame["value"] == -9  # nobody leaves that state
    assert (frame["free"] == (~frame["feature"].isin(["age", "sex"]) & ~(late & never))).all()
    assert (frame.groupby("person")["rank"].apply(list).map(lambda ranks: ranks == [1, 2, 3, 4, 5, 6])).all()
    assert (frame.groupby("person")["contribution"].apply(lambda part: part.is_monotonic_increasing)).all()
    values = frame[frame["person"] == 0].set_index("feature")["value"]
    assert values["home"] == "rents"
    again = Counterfactuals.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    pd.testing.assert_frame_equal(again.contributions, frame)


@pytest.mark.parametrize("kind", ["linear", "boosting", "neighbours"])
def test_a_level_that_the_schema_does_not_have_is_a_value_like_any_other(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importance, "PEOPLE", 8)
    model, people = fitted(kind), X.head(2).assign(sex=["x", "y"])
    result = explained(model, people)
    assert "UNREADABLE" not in set(result.status)
    total = lead(model, people) - lead(model, compared(model)).mean()
    np.testing.assert_allclose(result.contributions.groupby("person")["contribution"].sum(), total, atol=2e-5)
    if kind == "linear":
        weights = model[-1].coef_[0][-2:]  # an unknown sex adds nothing, f and m what their weights say
        others = weights[(compared(model)["sex"] == "m").to_numpy(int)].mean()
        mine = result.contributions.set_index(["person", "feature"])["contribution"]
        assert mine[0, "sex"] == pytest.approx(-others, abs=1e-6)


def test_paths_may_ask_about_very_many_columns() -> None:
    names = [f"x{k}" for k in range(70)]
    rows = pd.DataFrame(np.vstack((1 - np.eye(70), np.ones((70, 70)))).astype(int), columns=names)
    y = rows.all(axis=1).astype(int)
    model = DecisionTreeClassifier(random_state=0).fit(rows, y)
    assert model.get_depth() > 63
    schema = Schema(tuple(Feature(name, "count") for name in names))
    explainer = GrowingSpheres(schema, laws=None, figures=False, samples=10, budget=20).fit(rows, y)
    result = explainer.explain(model, rows.head(1), target=1, contributions=True)
    frame = result.contributions.set_index("feature")["contribution"]
    assert frame["x0"] == pytest.approx(-2)  # the only one in which it differs from the others
    assert frame.drop("x0").abs().max() == 0


def test_people_with_whom_the_model_fails_on_a_composed_record_have_none() -> None:
    def picky(rows: pd.DataFrame) -> np.ndarray:
        if ((rows["late"] == 8) & (rows["home"] == "parents")).any():
            raise ValueError("nobody is like that")
        chance = 1 / (1 + np.exp(rows["late"] - 4 + rows["debt"]))
        return np.column_stack((1 - chance, chance))

    possible = X[(X["late"] != 8) | (X["home"] != "parents")]
    explainer = GrowingSpheres(SCHEMA, laws=None, figures=False, samples=20, budget=50).fit(possible)
    people = pd.concat([possible[possible["late"] == 8].head(2), possible[possible["late"] == 7].head(2)])
    result = explainer.explain(picky, people, target=1, contributions=True, importance=True)
    assert set(result.contributions["person"]) == set(people.index[2:])
    assert any("failed" in note for note in result.notes)


def test_nobody_to_compare_with_is_a_note() -> None:
    def never(rows: pd.DataFrame) -> np.ndarray:
        chance = 0.1 + 0.001 * np.asarray(rows["debt"])
        return np.column_stack((1 - chance, chance))

    result = explained(never, X.head(2))
    assert not len(result.contributions)
    assert any("no contributions" in note for note in result.notes)
    assert Counterfactuals.from_json(result.to_json()).to_json() == result.to_json()


def test_without_training_rows_they_are_refused(tmp_path: Path) -> None:
    explainer = GrowingSpheres(SCHEMA, laws=None, figures=False).fit(X, Y)
    explainer.save(tmp_path / "saved.attain", reference="none")
    with pytest.raises(AttainError, match="reference='rows'"):
        attain.load(tmp_path / "saved.attain").explain(fitted("linear"), X.head(1), target=1, contributions=True)
