"""Compiled scores are the model's own, or are not used."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from attain.models import Goal, JointGoal
from attain.models.compiled import compile_score
from attain.models.encoding import states_of
from attain.models.trees import single_bounds, unverified_ensemble
from attain.schema import Feature, Schema
from attain.tables import Table

JOBS, SCHOOLS = ("clerk", "nurse", "pilot", "cook"), ("none", "some", "all")
JOB, SCHOOL = Feature("job", "categorical", levels=JOBS), Feature("school", "ordinal", levels=SCHOOLS)
INCOME = Feature("income", "real", special=(-9.0, -8.0))
SCHEMA = Schema((INCOME, Feature("visits", "count"), Feature("debt", "real"), JOB, SCHOOL))
NUMBERS = ["income", "visits", "debt"]
LEVELS = ["job", "school"]


def _frame(n: int = 400, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    income = np.round(random.normal(3, 1, n), 4)
    return pd.DataFrame(
        {
            "visits": random.integers(0, 9, n),
            "job": random.choice(JOBS, n),
            "income": np.where(random.random(n) < 0.1, random.choice([-9.0, -8.0], n), income),
            "debt": np.where(random.random(n) < 0.1, np.nan, np.round(random.lognormal(0, 1, n), 3)),
            "school": random.choice(SCHOOLS, n),
        }
    )


X = _frame()
NOISE = np.random.default_rng(1).normal(0, 0.5, len(X))
Y = (X["income"] + (X["job"] == "pilot") - X["debt"].fillna(1) + NOISE > 1.5).to_numpy().astype(int)
THREE = Y + (X["visits"] > 4).to_numpy()
TABLE = Table.read(X, SCHEMA)


def _pipeline(classifier, scaler=None, y=Y, **imputing):
    scale = StandardScaler() if scaler is None else scaler
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median", **imputing), scale), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore"), LEVELS),
    )
    return make_pipeline(prepared, classifier).fit(X, y)


def _goal(model, target=1, **asked) -> Goal:
    return Goal(model, TABLE.layout, target=target, probe=TABLE.values[:100], tolerant=True, **asked)


def _compiled(goal: Goal):
    judged = goal.score_rows(TABLE.values)
    return compile_score(goal, TABLE.values, lambda: (judged.met, judged.score))


def _shuffled(n: int = 300) -> np.ndarray:
    """Rows of the matrix that no training row equals."""
    return np.random.default_rng(3).permuted(TABLE.values[:n], axis=0)


def test_states_are_numbered_column_by_column() -> None:
    states = states_of(TABLE.layout)
    assert list(states.first) == [0, 3, 4, 5, 10, 14]
    rows = np.array([[-8.0, 2.0, np.nan, 3.0, 1.0], [np.nan, -9.0, 0.5, 4.0, 0.5]])
    found = [states.of_column(j, rows[:, j]).tolist() for j in range(5)]
    assert found == [[1, 2], [-1, -1], [4, -1], [8, -2], [11, -2]]
    more = states_of(replace(TABLE.layout, unseen={"job": ("baker",)}))
    assert more.of_column(3, rows[:, 3]).tolist() == [8, 9]


LINEAR = {"LogisticRegression": LogisticRegression(max_iter=1000), "LinearSVC": LinearSVC()}


@pytest.mark.parametrize(("y", "target"), [(Y, 0), (Y, 1), (THREE, 0), (THREE, 1), (THREE, 2)])
@pytest.mark.parametrize(
    ("name", "asked"), [("LogisticRegression", {}), ("LogisticRegression", {"probability": 0.7}), ("LinearSVC", {})]
)
def test_linear_models_are_scored_without_them(name, asked, y, target) -> None:
    goal, rows = _goal(_pipeline(LINEAR[name], y=y), target, **asked), _shuffled()
    np.testing.assert_allclose(_compiled(goal)(rows), goal.score_rows(rows).score, rtol=1e-9, atol=1e-12)


def _boosting(**parameters):
    return GradientBoostingClassifier(n_estimators=8, random_state=0, **parameters)


TREES = {
    "DecisionTree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "RandomForest": lambda: RandomForestClassifier(7, max_depth=7, random_state=0),
    "ExtraTrees": lambda: ExtraTreesClassifier(7, random_state=0),
    "GradientBoosting": _boosting,
    "GradientBoosting, other loss": lambda: _boosting(loss="exponential"),
    "GradientBoosting from zero": lambda: _boosting(init="zero"),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(max_iter=8),
    "XGBoost": lambda: _xgboost(n_estimators=8, max_depth=4),
    "XGBoost, few rounds": lambda: _xgboost(n_estimators=3, base_score=0.2, num_parallel_tree=2),
    "LightGBM": lambda: _lightgbm(n_estimators=8, min_child_samples=5),
    "LightGBM, steep": lambda: _lightgbm(n_estimators=8, min_child_samples=5, sigmoid=1.7),
    "LightGBM, random forest": lambda: _lightgbm(n_estimators=5, boosting="rf", bagging_freq=1, bagging_fraction=0.5),
}
"""Small models of each kind, made when a test needs them."""


def _xgboost(**parameters):
    return pytest.importorskip("xgboost").XGBClassifier(n_jobs=1, **parameters)


def _lightgbm(**parameters):
    return pytest.importorskip("lightgbm").LGBMClassifier(n_jobs=1, verbose=-1, **parameters)


def _near_thresholds(goal: Goal, random_rows: np.ndarray) -> np.ndarray:
    """Rows with numbers at the ends of the sides of splits, and next to them."""
    nodes = unverified_ensemble(goal, TABLE.values).nodes
    rows = random_rows.copy()
    random = np.random.default_rng(5)
    for j in range(3):
        ends = nodes["threshold"][(nodes["column"] == j) & np.isfinite(nodes["threshold"])]
        if len(ends):
            chosen = random.choice(ends, len(rows))
            towards = random.choice([-np.inf, np.inf], len(rows))
            rows[:, j] = np.where(random.random(len(rows)) < 0.5, chosen, np.nextafter(chosen, towards))
    rows[np.abs(rows) < 1e-30] = 0.0  # as which LightGBM reads numbers up to 1e-35
    return rows


@pytest.mark.parametrize("scaler", [StandardScaler(), FunctionTransformer(np.negative)], ids=["scaled", "falling"])
@pytest.mark.parametrize("name", TREES)
def test_trees_are_scored_without_them(name, scaler) -> None:
    goal = _goal(_pipeline(TREES[name](), scaler))
    score, rows = _compiled(goal), _shuffled()
    rows = np.concatenate((rows, _near_thresholds(goal, rows)))
    found = score(rows)
    single = 2e-7 if name.startswith("XGBoost") else 1e-14
    np.testing.assert_allclose(found, goal.score_rows(rows).score, rtol=0, atol=single)
    again = np.concatenate([score(rows[i : i + 7]) for i in range(0, len(rows), 7)])
    assert len(score(rows[:0])) == 0
    assert again.tobytes() == found.tobytes(), "a row's score does not depend on the rows beside it"


@pytest.mark.parametrize("target", [0, 2])
@pytest.mark.parametrize("name", ["RandomForest", "GradientBoosting", "HistGradientBoosting", "XGBoost", "LightGBM"])
def test_so_are_trees_with_three_classes(name, target) -> None:
    goal, rows = _goal(_pipeline(TREES[name](), y=THREE), target), _shuffled()
    np.testing.assert_allclose(_compiled(goal)(rows), goal.score_rows(rows).score, rtol=0, atol=2e-7)


@pytest.mark.parametrize("name", ["HistGradientBoosting", "XGBoost", "LightGBM", "RandomForest"])
def test_trees_that_take_missing_cells_and_no_pipeline(name) -> None:
    model = TREES[name]().fit(X[NUMBERS], Y)
    table = Table.read(X[NUMBERS], Schema(SCHEMA.features[:3]))
    for target, probability in ((0, None), (1, 0.7)):
        goal = Goal(model, table.layout, target=target, probability=probability, probe=table.values, tolerant=True)
        judged = goal.score_rows(table.values)
        score = compile_score(goal, table.values, lambda judged=judged: (judged.met, judged.score))
        rows = np.random.default_rng(3).permuted(table.values, axis=0)
        np.testing.assert_allclose(score(rows), goal.score_rows(rows).score, rtol=0, atol=2e-7)
        rows[:, 1] = np.nan  # which no training row has
        assert np.isnan(score(rows)).all(), "only the model knows"


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=5))
def test_bounds_of_single_precision_are_the_largest_doubles(thresholds) -> None:
    given_, bound = np.array(thresholds), single_bounds(np.array(thresholds))
    assert (bound.astype(np.float32).astype(np.float64) <= given_).all()
    assert (np.nextafter(bound, np.inf).astype(np.float32).astype(np.float64) > given_).all()


class Overridden(LogisticRegression):
    pass


def _with_own_method():
    model = _pipeline(LogisticRegression())
    model.predict_proba = model.predict_proba
    return model


OTHERS = {
    "function": lambda: _pipeline(LogisticRegression()).predict_proba,
    "class of its own": lambda: _pipeline(Overridden()),
    "method of its own": _with_own_method,
    "bent": lambda: _pipeline(LogisticRegression(), FunctionTransformer(np.cbrt)),
    "bent beyond the training range": lambda: _pipeline(LogisticRegression(), MinMaxScaler(clip=True)),
    "start depends on the row": lambda: _pipeline(_boosting(init=LogisticRegression())),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_are_not_compiled(name) -> None:
    assert _compiled(_goal(OTHERS[name]())) is None


def test_one_training_row_that_disagrees_is_enough_to_refuse() -> None:
    goal = _goal(_pipeline(LogisticRegression()))
    met, score, *_ = goal.score_rows(TABLE.values)
    other = np.arange(len(met)) == 17
    for pair in ((met ^ other, score), (met, score + other * goal.margin)):
        assert compile_score(goal, TABLE.values, lambda pair=pair: pair) is None


def test_judge_asks_the_model_only_about_rows_that_are_not_compiled(monkeypatch) -> None:
    frame = X.fillna({"debt": 1.0})
    table = Table.read(frame, SCHEMA)
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), LEVELS))
    model = make_pipeline(encode, LogisticRegression()).fit(frame, Y)
    goal = Goal(model, table.layout, target=1, probe=table.values, tolerant=True)
    judged = goal.score_rows(table.values)
    goal.compiled = compile_score(goal, table.values, lambda: (judged.met, judged.score))
    read, seen = goal.reader.read, []
    monkeypatch.setattr(goal.reader, "read", lambda rows, kinds: seen.append(len(rows)) or read(rows, kinds))
    before = goal.rows_asked, goal.model.rows
    again = goal.score_rows(table.values)
    assert not seen
    assert (goal.rows_asked, goal.model.rows) == (before[0] + len(X), before[1] + len(X))
    np.testing.assert_array_equal(again.met, judged.met)
    rows = table.values[:6].copy()
    rows[2, 2] = np.nan  # which the model cannot take
    judged, plain = goal.score_rows(rows), goal.confirm_rows(rows)
    assert set(judged.failures) == set(plain.failures) == {2}
    np.testing.assert_array_equal(judged.met, plain.met)
    np.testing.assert_allclose(judged.score, plain.score)
    assert seen
    assert (judged.asked == 1).all()
    assert len(goal.score_rows(rows[:0]).met) == 0


def test_the_engine_decides_like_judge_and_for_several_models_only_if_all_are_compiled() -> None:
    goals = [_goal(_pipeline(model)) for model in (LogisticRegression(), HistGradientBoostingClassifier(max_iter=5))]
    joint, rows = JointGoal(goals[0], goals[1:]), _shuffled()
    assert joint.compiled_score() is None
    for goal in goals:
        goal.compiled = _compiled(goal)
        np.testing.assert_array_equal(goal.compiled_score().leads(rows) >= 0, goal.confirm_rows(rows).met)
    np.testing.assert_array_equal(joint.compiled_score().leads(rows) >= 0, joint.confirm_rows(rows).met)
    goals[1].compiled = None
    assert joint.compiled_score() is None


@pytest.mark.parametrize("asked", [{}, {"target": 0}, {"probability": 0.7}], ids=str)
@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), HistGradientBoostingClassifier(max_iter=20), RandomForestClassifier(15, random_state=0)],
)
def test_leads_along_columns_decide_like_the_model_about_every_value(model, asked) -> None:
    goal, rows = _goal(_pipeline(model), **asked), _shuffled(60)
    score = _compiled(goal).score
    grids = ([-9.0, 0.0, 2.0, 2.5, 3.0, 4.0], [0.0, 3.0, 8.0], [0.1, 0.5, np.nan, 3.0], range(4), range(3))
    for j, values in enumerate(grids):
        leads = score.leads_along(rows, j, values)
        for k, value in enumerate(values):
            changed = rows.copy()
            changed[:, j] = value
            np.testing.assert_array_equal(leads[:, k] >= 0, goal.confirm_rows(changed).met)
