"""scikit-learn's classifiers, asked through a goal, against their own methods on the training frame."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from attain.core.errors import ModelError
from attain.models import Model
from tests.models.conftest import Data, check_lead


def mixed_pipeline(*first, of=Pipeline):
    encode = ColumnTransformer([("n", StandardScaler(), ["income", "visits"]), ("c", OneHotEncoder(), ["job"])])
    return of(make_pipeline(*first, encode, LogisticRegression()).steps)


class Sharper(Pipeline):
    """A pipeline of another class, which has to be asked as a whole."""

    def predict_proba(self, X):
        squares = super().predict_proba(X) ** 2
        return squares / squares.sum(axis=1, keepdims=True)


class Step(BaseEstimator, TransformerMixin):
    """Changes nothing, and counts how often it is called and with which library's frames."""

    calls, seen = 0, set()

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        Step.calls += 1
        Step.seen.add(type(X).__module__.partition(".")[0])
        return X

    def __sklearn_is_fitted__(self):
        return True


class Picks(Step):
    """Hides which columns it takes."""

    def transform(self, X):
        return np.asarray(super().transform(X)[["income"]])


@pytest.mark.parametrize(
    "model", [mixed_pipeline(), mixed_pipeline(of=Sharper), make_pipeline(Picks(), LogisticRegression())]
)
def test_a_pipeline_on_a_raw_mixed_frame_is_scored_by_the_lead_of_the_target(model, mixed):
    model.fit(mixed.frame, mixed.y)
    decided = model.predict(mixed.frame) == "good"
    check_lead(
        mixed.goal(model), mixed.rows, model.predict_proba(mixed.frame), None if type(model) is Sharper else decided
    )


def test_the_steps_of_a_pipeline_are_taken_once_for_all_kinds_of_answers(mixed):
    goal = mixed.goal(mixed_pipeline(Step(), "passthrough").fit(mixed.frame, mixed.y))
    before = Step.calls
    goal.confirm_rows(mixed.rows)
    assert Step.calls == before + 1
    check_lead(
        goal, mixed.rows, goal.model.model.predict_proba(mixed.frame), goal.model.model.predict(mixed.frame) == "good"
    )


def test_a_target_probability_is_met_from_that_probability_upward(mixed):
    model = mixed_pipeline().fit(mixed.frame, mixed.y)
    probability = model.predict_proba(mixed.frame)[:, 1]
    for least in (0.2, 0.7, 1.0):
        goal = mixed.goal(model, probability=least)
        for judgement in (goal.score_rows(mixed.rows), goal.confirm_rows(mixed.rows)):
            np.testing.assert_array_equal(judgement.score, probability)
            np.testing.assert_array_equal(judgement.met, probability >= min(least + 1e-6, 1.0))


def test_the_margin_keeps_rows_near_the_boundary_out(numbers):
    model = LogisticRegression().fit(numbers.frame, numbers.y)
    lead = 2 * model.predict_proba(numbers.frame)[:, 1] - 1
    clear = np.abs(lead - 0.25) > 1e-12
    np.testing.assert_array_equal(
        numbers.goal(model, margin=0.25).score_rows(numbers.rows).met[clear], (lead >= 0.25)[clear]
    )


def test_a_forest_with_ties_and_no_margin_breaks_them_as_the_forest_does(numbers):
    model = RandomForestClassifier(n_estimators=2, max_depth=8, random_state=0).fit(numbers.frame, numbers.y)
    assert (model.predict_proba(numbers.frame)[:, 0] == 0.5).any()
    for target in ("good", "bad"):
        met = numbers.goal(model, target, margin=0.0).score_rows(numbers.rows).met
        np.testing.assert_array_equal(met, model.predict(numbers.frame) == target)


def test_boosting_on_a_categorical_dtype_gets_that_dtype(mixed):
    data = Data(mixed.frame.assign(job=mixed.frame["job"].astype("category")))
    model = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype").fit(data.frame, data.y)
    assert model.is_categorical_.sum() == 1
    check_lead(data.goal(model), data.rows, model.predict_proba(data.frame), model.predict(data.frame) == "good")


def test_three_classes_lead_the_best_of_the_others(numbers):
    model = RandomForestClassifier(n_estimators=20, max_depth=3, random_state=0).fit(numbers.frame, numbers.three)
    goal = numbers.goal(model, np.int64(1))
    check_lead(goal, numbers.rows, model.predict_proba(numbers.frame), goal.score_rows(numbers.rows).score >= 1e-6)
    assert goal.target == 1


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), RidgeClassifier()])
def test_a_model_with_only_a_decision_function_is_scored_by_its_sign(model, numbers):
    value = model.fit(numbers.frame, numbers.y).decision_function(numbers.frame)
    good, bad = (numbers.goal(model, target).score_rows(numbers.rows) for target in ("good", "bad"))
    np.testing.assert_allclose(good.score, value, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(good.score, -bad.score)
    np.testing.assert_array_equal(good.met, model.predict(numbers.frame) == "good")


def test_one_column_for_each_pair_of_classes_is_no_score(numbers):
    model = SVC(decision_function_shape="ovo").fit(numbers.frame, numbers.three)
    assert model.decision_function(numbers.frame).shape == (len(numbers.frame), 3)
    met, score, *_ = numbers.goal(model, 2).score_rows(numbers.rows)
    np.testing.assert_array_equal(met, model.predict(numbers.frame) == 2)
    np.testing.assert_array_equal(score, met.astype(float))


class Rule(ClassifierMixin, BaseEstimator):
    """Gives labels only."""

    classes_, n_features_in_ = np.array(["bad", "good"]), 2

    def predict(self, X):
        return np.where(X[:, 1] > 3, "good", "bad")


def test_a_model_with_labels_only_scores_one_or_zero(numbers):
    met, score, *_ = numbers.goal(Rule()).score_rows(numbers.rows)
    np.testing.assert_array_equal(met, numbers.frame["income"] > 3)
    np.testing.assert_array_equal(score, met.astype(float))


def test_where_probabilities_contradict_predict_the_decision_function_guides(numbers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # deprecated, and in use all the same
        model = SVC(probability=True, random_state=1, C=0.2).fit(numbers.frame[:80], numbers.y[:80] == "good")
    assert ((model.predict_proba(numbers.frame)[:, 1] > 0.5) != model.predict(numbers.frame)).any()
    goal = numbers.goal(model, True, numbers.rows)
    before = goal.model.calls
    met, score, *_ = goal.score_rows(numbers.rows)
    assert goal.model.calls == before + 1
    np.testing.assert_allclose(score, model.decision_function(numbers.frame))
    np.testing.assert_array_equal(met, model.predict(numbers.frame))


THRESHOLDS = [(0.3, "good", "auto"), (0.7, "good", "auto")]
THRESHOLDS += [(0.2, "bad", method) for method in ("predict_proba", "decision_function")]


@pytest.mark.parametrize("target", ["good", "bad"])
@pytest.mark.parametrize(("threshold", "label", "method"), THRESHOLDS)
def test_a_threshold_of_the_model_is_the_boundary(numbers, threshold, label, method, target):
    options = {"threshold": threshold, "pos_label": label, "response_method": method}
    model = FixedThresholdClassifier(LogisticRegression(), **options).fit(numbers.frame, numbers.y)
    met, score, *_ = numbers.goal(model, target, numbers.rows).score_rows(numbers.rows)
    np.testing.assert_array_equal(met, model.predict(numbers.frame) == target)
    if method == "auto":
        above = model.predict_proba(numbers.frame)[:, 1] - threshold
        np.testing.assert_allclose(score, above if target == "good" else -above, atol=1e-12)


class Strict(ClassifierMixin, BaseEstimator):
    """Decides for 1 from a probability of 0.8 upward, which nothing in its answers tells."""

    def fit(self, X, y):
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_, self.feature_names_in_ = self.inner_.classes_, self.inner_.feature_names_in_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] >= 0.8).astype(int)


def test_where_no_score_decides_like_predict_that_alone_decides_and_the_score_guides(numbers):
    model = Strict().fit(numbers.frame, (numbers.y == "good").astype(int))
    probability = model.predict_proba(numbers.frame)[:, 1]
    goal = numbers.goal(model, 1, numbers.rows)
    before = goal.model.calls
    met, score, *_ = goal.score_rows(numbers.rows)
    assert goal.model.calls == before + 2
    np.testing.assert_array_equal(met, probability >= 0.8)
    np.testing.assert_allclose(score, 2 * probability - 1)
    np.testing.assert_array_equal(numbers.goal(model, 0, numbers.rows).score_rows(numbers.rows).met, probability < 0.8)


def test_confirm_rows_asks_predict_even_where_the_probe_agreed(numbers):
    model = Strict().fit(numbers.frame, (numbers.y == "good").astype(int))
    probability = model.predict_proba(numbers.frame)[:, 1]
    goal = numbers.goal(model, 1, numbers.rows[(probability < 0.45) | (probability > 0.85)])
    before = goal.model.calls
    np.testing.assert_array_equal(goal.score_rows(numbers.rows).met, probability > 0.5)
    assert goal.model.calls == before + 1
    np.testing.assert_array_equal(goal.confirm_rows(numbers.rows).met, probability >= 0.8)
    assert goal.model.calls == before + 3


def test_names_select_and_order_the_columns(mixed):
    model = LogisticRegression().fit(mixed.frame[["visits", "income"]], mixed.y)
    expected = model.predict_proba(mixed.frame[["visits", "income"]])
    for asked in (model, Model(model, accepts="pandas")):
        check_lead(mixed.goal(asked), mixed.rows, expected)


def test_an_array_of_objects_reaches_an_encoder_as_at_training(mixed):
    array = mixed.frame.to_numpy(dtype=object)
    encode = ColumnTransformer([("c", OneHotEncoder(), [0]), ("n", StandardScaler(), [1, 2])])
    model = make_pipeline(encode, LogisticRegression()).fit(array, mixed.y)
    check_lead(mixed.goal(model), mixed.rows, model.predict_proba(array), atol=1e-12)


def test_a_polars_pipeline_gets_polars_and_a_pyarrow_table_becomes_pandas(mixed):
    class Notes(Step):
        def fit(self, X, y=None):
            self.feature_names_in_ = np.array(X.columns, dtype=object)
            return self

        def transform(self, X):
            return np.asarray(super().transform(X)[["income", "visits"]])

    polars = pl.from_pandas(mixed.frame)
    model = make_pipeline(Notes(), LogisticRegression())
    for frame, library in ((polars, "polars"), (pa.Table.from_pandas(mixed.frame), "pandas"), (mixed.frame, "pandas")):
        model.fit(polars if library == "polars" else mixed.frame, mixed.y)
        data = Data(frame)
        Step.seen.clear()
        met = data.goal(model).confirm_rows(data.rows).met
        np.testing.assert_array_equal(met, model.predict(mixed.frame) == "good")
        assert library in Step.seen
    Step.seen.clear()
    mixed.goal(Model(model, accepts="polars"))
    assert Step.seen == {"polars"}


def test_an_outlier_detector_is_a_classifier_with_given_classes(numbers):
    model = IsolationForest(n_estimators=10, random_state=0, contamination=0.2).fit(numbers.frame)
    goal = numbers.goal(Model(model, classes=[-1, 1]), 1)
    np.testing.assert_array_equal(goal.confirm_rows(numbers.rows).met, model.predict(numbers.frame) == 1)


@pytest.mark.parametrize(("classes", "target"), [(["bad", "good"], "good"), ([1, 0], 1)])
def test_classes_rename_those_of_an_encoded_target(numbers, classes, target):
    model = LogisticRegression().fit(numbers.frame, (numbers.y == "good").astype(int))
    goal = numbers.goal(Model(model, classes=classes), target)
    np.testing.assert_array_equal(goal.confirm_rows(numbers.rows).met, model.predict(numbers.frame) == 1)


def test_returns_chooses_among_the_answers(numbers):
    model = LogisticRegression().fit(numbers.frame, numbers.y)
    scores, labels = (numbers.goal(Model(model, returns=kind)) for kind in ("scores", "labels"))
    np.testing.assert_allclose(scores.score_rows(numbers.rows).score, model.decision_function(numbers.frame))
    assert set(labels.score_rows(numbers.rows).score) == {0.0, 1.0}


PLAIN = LogisticRegression().fit(np.ones((4, 3)), [0, 1, 0, 1])
AGED = LogisticRegression().fit(pd.DataFrame({"income": [1, 2], "age": [3, 4]}), ["bad", "good"])
REFUSED = {
    "probability is 0.7, but the Rule model gives only labels.*Calibrated": lambda d: d.goal(Rule(), probability=0.7),
    "IsolationForest model has no classes_": lambda d: Model(IsolationForest(n_estimators=2).fit(d.frame)),
    "classes= names 3 classes, but the LogisticRegression model has 2": lambda d: Model(PLAIN, classes=[*"abc"]),
    "'probabilities', but the LinearSVC model gives only scores and la": lambda d: Model(
        LinearSVC().fit(d.frame, d.y), returns="probabilities"
    ),
    "needs the columns 'age', which the table does not have": lambda d: d.goal(AGED),
    "fitted on 3 columns without names, but the table has 2: 'visits', 'income'": lambda d: d.goal(PLAIN, 1),
    "LinearRegression model is a regressor": lambda d: Model(LinearRegression().fit(d.array, d.array[:, 0])),
    "is the class LogisticRegression itself; pass a fitted instance": lambda d: Model(LogisticRegression),
    "has no classes_; fit it first": lambda d: Model(LogisticRegression()),
    "has 2 outputs": lambda d: Model(RandomForestClassifier(2).fit(d.array, np.column_stack([d.three] * 2))),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_misuse_is_refused_with_a_sentence(sentence, numbers):
    with pytest.raises(ModelError, match=sentence):
        REFUSED[sentence](numbers)
