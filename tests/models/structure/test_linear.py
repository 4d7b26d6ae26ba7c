"""Folded linear models say what the model's own decision_function says, or are refused in words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
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
from attain.models.structure.linear import NotLinearError, linear_score
from attain.tables import Table
from attain.testing import people

X = people.frame()
Y = people.labels(X)
TABLE = Table.read(X, people.schema())
LEVELS = ["housing", "sex", "mortgage"]
NUMBERS = [name for name in X.columns if name not in (*LEVELS, "education")]

CLASSIFIERS = [
    LogisticRegression(max_iter=1000),
    LinearSVC(),
    SGDClassifier(random_state=0),
    SGDClassifier(loss="log_loss", random_state=0),
    RidgeClassifier(),
    Perceptron(random_state=0),
    LinearDiscriminantAnalysis(),
    SVC(kernel="linear"),
]


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


def _check(model) -> None:
    others = Table.read(people.frame(200, seed=4), people.schema())
    sign = 1 if model.classes_[1] == "granted" else -1
    expected = sign * model.decision_function(others.layout.frame(others.values))
    np.testing.assert_allclose(_fold(model)(others.values), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(_fold(model, "refused")(others.values), -expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda model: f"{type(model).__name__}")
def test_every_linear_classifier_is_folded_exactly(classifier) -> None:
    _check(_pipeline(classifier))


@pytest.mark.parametrize("scaler", [MinMaxScaler(), RobustScaler(), MaxAbsScaler(), "passthrough"], ids=str)
def test_every_scaler_is_folded_exactly(scaler) -> None:
    _check(_pipeline(LinearDiscriminantAnalysis(), scaler))


def test_encoders_that_drop_levels_and_imputers_with_indicators_are_folded() -> None:
    _check(_pipeline(LogisticRegression(max_iter=1000), encoder=OneHotEncoder(drop="first")))
    _check(_pipeline(LogisticRegression(max_iter=1000), add_indicator=True))


def test_weights_are_the_coefficients_in_original_units() -> None:
    plain = X[["score", "cards", "age"]]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(plain, Y)
    table = Table.read(plain, people.schema().__class__(tuple(people.schema()[n] for n in plain.columns)))
    score = linear_score(Goal(model, table.layout, target="refused", probe=table.values), table.values)
    np.testing.assert_allclose(score.slopes, model[-1].coef_[0] / model[0].scale_, rtol=1e-9)
    offset = model[-1].intercept_[0] - (model[-1].coef_[0] * model[0].mean_ / model[0].scale_).sum()
    assert score.intercept == pytest.approx(offset)


@pytest.mark.parametrize("model", [CLASSIFIERS[0], CLASSIFIERS[3], CLASSIFIERS[6]], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("probability", [None, 0.3, 0.9])
def test_the_threshold_is_where_the_goal_is_met(model, probability) -> None:
    fitted = _pipeline(model)
    goal = Goal(fitted, TABLE.layout, target="granted", probability=probability, margin=1e-6, probe=TABLE.values[:50])
    score = linear_score(goal, TABLE.values)
    met = score(TABLE.values) >= score.threshold
    assert np.array_equal(met, goal.judge(TABLE.values).met)
    wanted = (1 + 1e-6) / 2 if probability is None else probability + 1e-6
    assert score.threshold == pytest.approx(np.log(wanted / (1 - wanted)), abs=1e-9)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: _pipeline(DecisionTreeClassifier()), "no linear classifier"),
        (lambda: _pipeline(SVC(kernel="rbf")), "no linear classifier"),
        (lambda: _pipeline(LogisticRegression(max_iter=1000), MinMaxScaler(clip=True)), "MinMaxScaler"),
        (
            lambda: _pipeline(
                LogisticRegression(max_iter=3000), make_pipeline(StandardScaler(), PolynomialFeatures(2))
            ),
            "PolynomialFeatures",
        ),
        (
            lambda: make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(
                X.drop(columns="savings"), Y
            ),
            "columns of numbers",
        ),
        (
            lambda: make_pipeline(SimpleImputer(missing_values=0), LogisticRegression()).fit(X[["cards"]], Y),
            "SimpleImputer",
        ),
    ],
)
def test_what_is_not_straight_is_refused_in_words(model, words) -> None:
    with pytest.raises(NotLinearError, match=words):
        _fold(model())


def test_special_codes_have_weights_of_their_own_where_an_imputer_replaces_them() -> None:
    schema = people.schema()
    late = X[["months_late"]]
    table = Table.read(late, schema.__class__((schema["months_late"],)))
    model = make_pipeline(SimpleImputer(missing_values=-9), SimpleImputer(missing_values=-8), LogisticRegression())
    model.fit(late, Y)
    score = linear_score(Goal(model, table.layout, target="granted", probe=table.values), table.values)
    replaced = pd.DataFrame({"months_late": [-8, -9, 0, 3]})
    sign = 1 if model.classes_[1] == "granted" else -1
    rows = replaced.to_numpy(dtype=float)
    np.testing.assert_allclose(score(rows), sign * model.decision_function(replaced), atol=1e-9)
