"""Linear scores equal the model's own decision_function, or are refused with a reason."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from attain.models import Goal
from attain.models.goal import StructureError
from attain.models.scores import linear_score
from attain.schema import Feature, Schema
from attain.tables import Table
from attain.testing import people

X = people.frame()
Y = people.labels(X)
TABLE = Table.read(X, people.schema())
LEVELS = ["housing", "sex", "mortgage"]
NUMBERS = [name for name in X.columns if name not in (*LEVELS, "education")]

CLASSIFIERS = [LogisticRegression(max_iter=1000), LinearSVC(), SGDClassifier(random_state=0)]
CLASSIFIERS += [SGDClassifier(loss="log_loss", random_state=0), RidgeClassifier(), Perceptron(random_state=0)]
CLASSIFIERS += [LinearDiscriminantAnalysis(), SVC(kernel="linear")]


def _pipeline(classifier, scaler=None, encoder=None, **imputing):
    scale = StandardScaler() if scaler is None else scaler
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median", **imputing), scale), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False) if encoder is None else encoder, LEVELS),
        (OrdinalEncoder(categories=[["none", "school", "college"]]), ["education"]),
    )
    return make_pipeline(prepared, classifier).fit(X, Y)


def _fold(model, target="granted", **asked):
    return linear_score(Goal(model, TABLE.layout, target=target, probe=TABLE.values[:50], **asked), TABLE.values)


def _score(model, frame, features, target):
    table = Table.read(frame, Schema(tuple(features)))
    return linear_score(Goal(model, table.layout, target=target, probe=table.values[:50]), table.values)


def _check(model) -> None:
    others = Table.read(people.frame(200, seed=4), people.schema())
    sign = 1 if model.classes_[1] == "granted" else -1
    expected = sign * model.decision_function(others.layout.frame(others.values))
    np.testing.assert_allclose(_fold(model).score(others.values), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(_fold(model, "refused").score(others.values), -expected, rtol=1e-8, atol=1e-8)


GRID = {"logisticregression__C": [0.1, 1.0]}
EXACT = [
    *((model, {}) for model in CLASSIFIERS),
    *((CLASSIFIERS[6], {"scaler": scale}) for scale in (MinMaxScaler(), RobustScaler(), MaxAbsScaler(), "passthrough")),
    (CLASSIFIERS[0], {"encoder": OneHotEncoder(drop="first")}),
    (CLASSIFIERS[0], {"add_indicator": True}),
    (CLASSIFIERS[0], {"scaler": make_pipeline(StandardScaler(), PCA(2))}),
]


@pytest.mark.parametrize(("classifier", "steps"), EXACT, ids=str)
def test_every_linear_classifier_scaler_encoder_and_projection_is_read_exactly(classifier, steps) -> None:
    _check(_pipeline(classifier, **steps))


def test_a_search_over_parameters_is_read_exactly() -> None:
    _check(GridSearchCV(_pipeline(CLASSIFIERS[0]), GRID).fit(X, Y))


def test_weights_are_the_coefficients_in_original_units() -> None:
    plain = X[["score", "cards", "age"]]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(plain, Y)
    score = _score(model, plain, (people.schema()[name] for name in plain.columns), "refused")
    np.testing.assert_allclose(score.slopes, model[-1].coef_[0] / model[0].scale_, rtol=1e-9)
    offset = model[-1].intercept_[0] - (model[-1].coef_[0] * model[0].mean_ / model[0].scale_).sum()
    assert score.leads.constant[0] == pytest.approx(offset)


@pytest.mark.parametrize("model", [CLASSIFIERS[0], CLASSIFIERS[3], CLASSIFIERS[6]], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("probability", [None, 0.3, 0.9])
def test_the_threshold_is_where_the_goal_is_met(model, probability) -> None:
    fitted = _pipeline(model)
    goal = Goal(fitted, TABLE.layout, target="granted", probability=probability, margin=1e-6, probe=TABLE.values[:50])
    score = linear_score(goal, TABLE.values)
    met = score.score(TABLE.values) >= score.threshold
    assert np.array_equal(met, goal.score_rows(TABLE.values).met)
    wanted = (1 + 1e-6) / 2 if probability is None else probability + 1e-6
    assert score.threshold == pytest.approx(np.log(wanted / (1 - wanted)), abs=1e-9)


def _ending(frame, *steps):
    return make_pipeline(*steps, LogisticRegression(max_iter=3000)).fit(frame, Y)


SQUARES = make_pipeline(StandardScaler(), PolynomialFeatures(2))
REFUSED = [
    (lambda: _pipeline(DecisionTreeClassifier()), "not a linear classifier"),
    (lambda: _pipeline(SVC(kernel="rbf")), "not a linear classifier"),
    (lambda: _pipeline(CLASSIFIERS[0], MinMaxScaler(clip=True)), "decision_function is not a sum"),
    (lambda: _pipeline(LogisticRegression(max_iter=3000), SQUARES), "bends or mixes"),
    (lambda: _ending(X.drop(columns="savings"), OneHotEncoder(handle_unknown="ignore")), "bends or mixes"),
    (lambda: _ending(X[["cards"]], SimpleImputer(missing_values=0)), "bends or mixes"),
]


@pytest.mark.parametrize(("model", "words"), REFUSED)
def test_what_is_not_linear_is_refused_with_a_reason(model, words) -> None:
    with pytest.raises(StructureError, match=words):
        _fold(model())


def test_columns_of_a_thousand_levels_are_read_by_trying_each_once() -> None:
    random = np.random.default_rng(0)
    levels = tuple(f"l{k}" for k in range(1000))
    frame = pd.DataFrame({name: random.permutation(levels) for name in "abcde"} | {"x": random.normal(size=1000)})
    label = (frame["a"] < "l5") ^ (frame["x"] > 0)
    coder = make_column_transformer((StandardScaler(), ["x"]), (OneHotEncoder(), list("abcde")))
    model = make_pipeline(coder, LogisticRegression()).fit(frame, label)
    calls = []
    monitored = model[0].transform
    model[0].transform = lambda rows: calls.append(len(rows)) or monitored(rows)
    features = [*(Feature(name, "categorical", levels=levels) for name in "abcde"), Feature("x", "real")]
    score = _score(model, frame, features, True)
    coefficients = model[-1].coef_[0]
    for place in range(5):
        weights = score.weight(place, np.arange(1000.0))
        order = [list(model[0].transformers_[1][1].categories_[place]).index(level) for level in levels]
        expected = coefficients[1 + 1000 * place : 1001 + 1000 * place][order]
        np.testing.assert_allclose(weights - weights[0], expected - expected[0], atol=1e-9)
    assert max(calls) == 5_002
    assert sum(calls) - 5_002 < 1_200  # the probe, and rows that the sum is compared on
    assert len(calls) < 12


def test_a_level_that_the_encoder_does_not_know_has_no_weight() -> None:
    job = Feature("job", "categorical", levels=("clerk", "nurse", "pilot"))
    frame = pd.DataFrame({"job": ["clerk", "pilot"] * 20})
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(frame, frame["job"] == "pilot")
    weights = _score(model, frame, [job], True).weight(0, np.arange(3.0))
    assert np.isnan(weights).tolist() == [False, True, False]
    assert weights[2] - weights[0] == pytest.approx(2 * model[-1].coef_[0, 1])


def test_special_codes_have_weights_of_their_own_where_an_imputer_replaces_them() -> None:
    late = X[["months_late"]]
    model = make_pipeline(SimpleImputer(missing_values=-9), SimpleImputer(missing_values=-8), LogisticRegression())
    model.fit(late, Y)
    score = _score(model, late, [people.schema()["months_late"]], "granted")
    replaced = pd.DataFrame({"months_late": [-8, -9, 0, 3]})
    sign = 1 if model.classes_[1] == "granted" else -1
    expected = sign * model.decision_function(replaced)
    np.testing.assert_allclose(score.score(replaced.to_numpy(dtype=float)), expected, atol=1e-9)
