"""XGBoost and LightGBM, by scikit-learn's methods and as boosters."""

import numpy as np
import pytest

from attain.core.errors import ModelError
from attain.models import Model
from attain.schema import Feature, Schema
from tests.models.conftest import Data, check_lead

xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")


@pytest.fixture
def categories(mixed):
    return Data(mixed.frame.assign(job=mixed.frame["job"].astype("category")))


def small_xgb(**options):
    return xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1, **options)


def small_lgbm(**options):
    return lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1, **options)


def test_xgboost_classifier_and_its_booster_on_a_categorical_frame_agree(categories):
    model = small_xgb(enable_categorical=True).fit(categories.frame, categories.y == "good")
    expected = model.predict_proba(categories.frame)[:, 1]
    check_lead(categories.goal(model, True), categories.rows, expected, atol=1e-6)
    decided = model.predict(categories.frame) == 1
    check_lead(categories.goal(model.get_booster(), 1), categories.rows, expected, decided)


def test_xgboost_without_names_gets_arrays_and_its_booster_takes_class_names(numbers):
    model = small_xgb().fit(numbers.array, numbers.y == "good")
    expected = model.predict_proba(numbers.array)[:, 1].astype(np.float64)
    for asked, target in ((model, 1), (Model(model.get_booster(), classes=["bad", "good"]), "good")):
        goal = numbers.goal(asked, target, probability=0.6)
        np.testing.assert_array_equal(goal.score_rows(numbers.rows).score, expected)


def test_an_xgboost_booster_of_three_classes(numbers):
    model = small_xgb().fit(numbers.frame, numbers.three)
    goal = numbers.goal(model.get_booster(), 2)
    assert goal.classes == (0, 1, 2)
    check_lead(goal, numbers.rows, model.predict_proba(numbers.frame), k=2)


@pytest.mark.parametrize("objective", ["binary:logitraw", "binary:hinge", "multi:softmax"])
def test_xgboost_boosters_that_give_labels_or_margins_are_scored_by_margins(numbers, objective):
    several = objective.startswith("multi")
    data = xgboost.DMatrix(numbers.frame, numbers.three if several else (numbers.y == "good").astype(int))
    booster = xgboost.train({"objective": objective, **({"num_class": 3} if several else {})}, data, 5)
    raw = booster.predict(data)
    met, score, *_ = numbers.goal(booster, 1).score_rows(numbers.rows)
    np.testing.assert_array_equal(met, raw > 0 if objective == "binary:logitraw" else raw == 1)
    assert len(np.unique(score)) > 2


def test_boosters_of_no_classification_are_refused_unless_returns_is_given(numbers):
    y = (numbers.y == "good").astype(float)
    data = xgboost.DMatrix(numbers.frame, y)
    regression = xgboost.train({"objective": "reg:squarederror", "max_depth": 2}, data, 3)
    tree = lightgbm.train({"objective": "regression", "verbose": -1}, lightgbm.Dataset(numbers.frame, y), 3)
    for booster, objective in ((regression, "reg:squarederror"), (tree, "regression")):
        with pytest.raises(ModelError, match=f"objective '{objective}', which is not a classification"):
            Model(booster)
    score = numbers.goal(Model(regression, returns="scores"), 1).score_rows(numbers.rows).score
    np.testing.assert_array_equal(score, regression.predict(data).astype(np.float64))


def test_lightgbm_classifier_and_its_booster_on_a_categorical_frame_agree(categories):
    model = small_lgbm().fit(categories.frame, categories.y)
    classifier, booster = categories.goal(model), categories.goal(Model(model.booster_, classes=["bad", "good"]))
    decided = model.predict(categories.frame) == "good"
    check_lead(classifier, categories.rows, model.predict_proba(categories.frame), decided, atol=1e-12)
    scores = [goal.score_rows(categories.rows).score for goal in (classifier, booster)]
    np.testing.assert_array_equal(*scores)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # LightGBM 4.6 makes up names and warns
def test_lightgbm_without_names_gets_arrays(numbers):
    model = small_lgbm().fit(numbers.array, numbers.three)
    for asked in (model, model.booster_):
        check_lead(numbers.goal(asked, 0), numbers.rows, model.predict_proba(numbers.array), k=0, atol=1e-12)


def test_lightgbm_spells_blanks_in_names_as_underscores(numbers):
    schema = Schema((Feature("net income", "real"), Feature("visits", "count")))
    data = Data(numbers.frame.rename(columns={"income": "net income"}), schema)
    model = small_lgbm().fit(data.frame[["net income", "visits"]], data.y)
    assert list(model.feature_names_in_) == ["net_income", "visits"]
    for asked, target in ((model, "good"), (model.booster_, 1)):
        expected = model.predict_proba(data.frame[["net income", "visits"]])
        check_lead(data.goal(asked, target), data.rows, expected, atol=1e-12)
