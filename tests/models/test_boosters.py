"""XGBoost and LightGBM, by scikit-learn's methods and as boosters."""

import numpy as np
import pytest

from attain.core.errors import ModelError
from attain.models import Goal, Model
from attain.schema import Feature, Schema
from attain.tables import Table

xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")


def with_category(mixed):
    frame = mixed.frame.assign(job=mixed.frame["job"].astype("category"))
    return frame, Table.read(frame, mixed.table.schema)


def lead(probability):
    return 2 * probability.astype(np.float64) - 1


def small_xgb(**options):
    return xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1, **options)


def small_lgbm(**options):
    return lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1, **options)


def test_xgboost_classifier_and_its_booster_on_a_categorical_frame_agree(mixed):
    frame, table = with_category(mixed)
    model = small_xgb(enable_categorical=True).fit(frame, mixed.y == "good")
    expected = lead(model.predict_proba(frame)[:, 1])
    classifier = Goal(model, table.layout, target=True, probe=table.values[:50])
    booster = Goal(model.get_booster(), table.layout, target=1, probe=table.values[:50])
    np.testing.assert_allclose(classifier.score_rows(table.values).score, expected, atol=1e-6)
    np.testing.assert_array_equal(booster.score_rows(table.values).score, expected)
    np.testing.assert_array_equal(booster.confirm_rows(table.values).met, model.predict(frame) == 1)


def test_xgboost_without_names_gets_arrays_and_its_booster_takes_class_names(numbers):
    model = small_xgb().fit(numbers.array, numbers.y == "good")
    expected = model.predict_proba(numbers.array)[:, 1]
    goal = Goal(model, numbers.layout, target=1, probability=0.6, probe=numbers.probe)
    np.testing.assert_array_equal(goal.score_rows(numbers.rows).score, expected.astype(np.float64))
    named = Model(model.get_booster(), classes=["bad", "good"])
    booster = Goal(named, numbers.layout, target="good", probability=0.6, probe=numbers.probe)
    np.testing.assert_array_equal(booster.score_rows(numbers.rows).score, expected.astype(np.float64))


def test_an_xgboost_booster_of_three_classes(numbers):
    model = small_xgb().fit(numbers.frame, numbers.three)
    probability = model.predict_proba(numbers.frame).astype(np.float64)
    goal = Goal(model.get_booster(), numbers.layout, target=2, probe=numbers.probe)
    assert goal.classes == (0, 1, 2)
    np.testing.assert_array_equal(
        goal.score_rows(numbers.rows).score, probability[:, 2] - probability[:, :2].max(axis=1)
    )


@pytest.mark.parametrize("objective", ["binary:logitraw", "binary:hinge", "multi:softmax"])
def test_xgboost_boosters_that_give_labels_or_margins_are_scored_by_margins(numbers, objective):
    several = objective.startswith("multi")
    y = numbers.three if several else (numbers.y == "good").astype(int)
    data = xgboost.DMatrix(numbers.frame, y)
    booster = xgboost.train({"objective": objective, **({"num_class": 3} if several else {})}, data, 5)
    raw = booster.predict(data)
    decided = raw > 0 if objective == "binary:logitraw" else raw == 1
    goal = Goal(booster, numbers.layout, target=1, probe=numbers.probe)
    np.testing.assert_array_equal(goal.score_rows(numbers.rows).met, decided)
    assert len(np.unique(goal.score_rows(numbers.rows).score)) > 2


def test_boosters_of_no_classification_are_refused_unless_returns_is_given(numbers):
    y = (numbers.y == "good").astype(float)
    data = xgboost.DMatrix(numbers.frame, y)
    regression = xgboost.train({"objective": "reg:squarederror", "max_depth": 2}, data, 3)
    with pytest.raises(ModelError, match=r"objective 'reg:squarederror', which is not a classification"):
        Model(regression)
    shifted = Goal(Model(regression, returns="scores"), numbers.layout, target=1, probe=numbers.probe)
    np.testing.assert_array_equal(shifted.score_rows(numbers.rows).score, regression.predict(data).astype(np.float64))
    tree = lightgbm.train({"objective": "regression", "verbose": -1}, lightgbm.Dataset(numbers.frame, y), 3)
    with pytest.raises(ModelError, match=r"objective 'regression', which is not a classification"):
        Model(tree)


def test_lightgbm_classifier_and_its_booster_on_a_categorical_frame_agree(mixed):
    frame, table = with_category(mixed)
    model = small_lgbm().fit(frame, mixed.y)
    expected = lead(model.predict_proba(frame)[:, 1])
    classifier = Goal(model, table.layout, target="good", probe=table.values[:50])
    booster = Goal(Model(model.booster_, classes=["bad", "good"]), table.layout, target="good", probe=table.values[:50])
    np.testing.assert_allclose(classifier.score_rows(table.values).score, expected, atol=1e-12)
    np.testing.assert_array_equal(booster.score_rows(table.values).score, classifier.score_rows(table.values).score)
    np.testing.assert_array_equal(classifier.confirm_rows(table.values).met, model.predict(frame) == "good")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # LightGBM 4.6 makes up names and warns
def test_lightgbm_without_names_gets_arrays(numbers):
    model = small_lgbm().fit(numbers.array, numbers.three)
    probability = model.predict_proba(numbers.array)
    for asked in (model, model.booster_):
        goal = Goal(asked, numbers.layout, target=0, probe=numbers.probe)
        expected = probability[:, 0] - probability[:, 1:].max(axis=1)
        np.testing.assert_allclose(goal.score_rows(numbers.rows).score, expected, atol=1e-12)


def test_lightgbm_spells_blanks_in_names_as_underscores(numbers):
    frame = numbers.frame.rename(columns={"income": "net income"})
    schema = Schema((Feature("net income", "real"), Feature("visits", "count")))
    table = Table.read(frame, schema)
    model = small_lgbm().fit(frame[["net income", "visits"]], numbers.y)
    assert list(model.feature_names_in_) == ["net_income", "visits"]
    expected = lead(model.predict_proba(frame[["net income", "visits"]])[:, 1])
    for asked, target in ((model, "good"), (model.booster_, 1)):
        goal = Goal(asked, table.layout, target=target, probe=table.values[:50])
        np.testing.assert_allclose(goal.score_rows(table.values).score, expected, atol=1e-12)
