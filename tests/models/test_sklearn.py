"""scikit-learn's classifiers, asked through a goal, against their own methods on the training frame."""

import warnings

import numpy as np
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
from attain.models import Goal, Model
from attain.tables import Table


def mixed_pipeline():
    encode = ColumnTransformer([("n", StandardScaler(), ["income", "visits"]), ("c", OneHotEncoder(), ["job"])])
    return make_pipeline(encode, LogisticRegression())


def test_a_pipeline_on_a_raw_mixed_frame_is_scored_by_the_lead_of_the_target(mixed):
    model = mixed_pipeline().fit(mixed.frame, mixed.y)
    goal = Goal(model, mixed.layout, target="good", probe=mixed.probe)
    met, score, *_ = goal.score_rows(mixed.rows)
    probability = model.predict_proba(mixed.frame)
    np.testing.assert_array_equal(score, probability[:, 1] - probability[:, 0])
    np.testing.assert_array_equal(met, model.predict(mixed.frame) == "good")
    assert met.dtype == bool
    assert score.dtype == np.float64


class Counted(BaseEstimator, TransformerMixin):
    """Changes nothing, and counts how often it is called."""

    calls = 0

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        Counted.calls += 1
        return X


def test_the_steps_of_a_pipeline_are_taken_once_for_all_kinds_of_answers(mixed):
    model = make_pipeline(Counted(), "passthrough", *(step for _, step in mixed_pipeline().steps))
    model.fit(mixed.frame, mixed.y)
    goal = Goal(model, mixed.layout, target="good", probe=mixed.probe)
    before = Counted.calls
    met, score, *_ = goal.confirm_rows(mixed.rows)
    assert Counted.calls == before + 1
    probability = model.predict_proba(mixed.frame)
    np.testing.assert_array_equal(score, probability[:, 1] - probability[:, 0])
    np.testing.assert_array_equal(met, model.predict(mixed.frame) == "good")


def test_a_pipeline_of_another_class_is_asked_as_a_whole(mixed):
    class Sharper(Pipeline):
        def predict_proba(self, X):
            squares = super().predict_proba(X) ** 2
            return squares / squares.sum(axis=1, keepdims=True)

    model = Sharper(mixed_pipeline().steps).fit(mixed.frame, mixed.y)
    score = Goal(model, mixed.layout, target="good", probe=mixed.probe).score_rows(mixed.rows).score
    probability = model.predict_proba(mixed.frame)
    np.testing.assert_array_equal(score, probability[:, 1] - probability[:, 0])


def test_a_target_probability_is_met_from_that_probability_upward(mixed):
    model = mixed_pipeline().fit(mixed.frame, mixed.y)
    probability = model.predict_proba(mixed.frame)[:, 1]
    for least in (0.2, 0.7, 1.0):
        goal = Goal(model, mixed.layout, target="good", probability=least, probe=mixed.probe)
        for judgement in (goal.score_rows(mixed.rows), goal.confirm_rows(mixed.rows)):
            np.testing.assert_array_equal(judgement.score, probability)
            np.testing.assert_array_equal(judgement.met, probability >= min(least + 1e-6, 1.0))


def test_the_margin_keeps_rows_near_the_boundary_out(numbers):
    model = LogisticRegression().fit(numbers.frame, numbers.y)
    lead = 2 * model.predict_proba(numbers.frame)[:, 1] - 1
    goal = Goal(model, numbers.layout, target="good", margin=0.25, probe=numbers.probe)
    clear = np.abs(lead - 0.25) > 1e-12
    np.testing.assert_array_equal(goal.score_rows(numbers.rows).met[clear], (lead >= 0.25)[clear])


def test_a_forest_with_ties_and_no_margin_breaks_them_as_the_forest_does(numbers):
    model = RandomForestClassifier(n_estimators=2, max_depth=8, random_state=0).fit(numbers.frame, numbers.y)
    assert (model.predict_proba(numbers.frame)[:, 0] == 0.5).any()
    for target in ("good", "bad"):
        goal = Goal(model, numbers.layout, target=target, margin=0.0, probe=numbers.probe)
        np.testing.assert_array_equal(goal.score_rows(numbers.rows).met, model.predict(numbers.frame) == target)


def test_boosting_on_a_categorical_dtype_gets_that_dtype(mixed):
    frame = mixed.frame.assign(job=mixed.frame["job"].astype("category"))
    table = Table.read(frame, mixed.table.schema)
    model = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype").fit(frame, mixed.y)
    assert model.is_categorical_.sum() == 1
    met, score, *_ = Goal(model, table.layout, target="good", probe=table.values[:50]).confirm_rows(table.values)
    probability = model.predict_proba(frame)
    np.testing.assert_array_equal(score, probability[:, 1] - probability[:, 0])
    np.testing.assert_array_equal(met, model.predict(frame) == "good")


def test_three_classes_lead_the_best_of_the_others(numbers):
    model = RandomForestClassifier(n_estimators=20, max_depth=3, random_state=0).fit(numbers.frame, numbers.three)
    probability = model.predict_proba(numbers.frame)
    goal = Goal(model, numbers.layout, target=np.int64(1), probe=numbers.probe)
    met, score, *_ = goal.score_rows(numbers.rows)
    np.testing.assert_array_equal(score, probability[:, 1] - np.maximum(probability[:, 0], probability[:, 2]))
    np.testing.assert_array_equal(met, score >= 1e-6)
    assert goal.target == 1


def test_a_model_with_only_a_decision_function_is_scored_by_its_sign(numbers):
    for model in (SVC(), LinearSVC(), RidgeClassifier()):
        model.fit(numbers.frame, numbers.y)
        value = model.decision_function(numbers.frame)
        good = Goal(model, numbers.layout, target="good", probe=numbers.probe).score_rows(numbers.rows)
        bad = Goal(model, numbers.layout, target="bad", probe=numbers.probe).score_rows(numbers.rows)
        np.testing.assert_allclose(good.score, value, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(good.score, -bad.score)
        np.testing.assert_array_equal(good.met, model.predict(numbers.frame) == "good")


def test_one_column_for_each_pair_of_classes_is_no_score(numbers):
    model = SVC(decision_function_shape="ovo").fit(numbers.frame, numbers.three)
    assert model.decision_function(numbers.frame).shape == (len(numbers.frame), 3)
    met, score, *_ = Goal(model, numbers.layout, target=2, probe=numbers.probe).score_rows(numbers.rows)
    np.testing.assert_array_equal(met, model.predict(numbers.frame) == 2)
    np.testing.assert_array_equal(score, met.astype(float))


def test_a_model_with_labels_only_scores_one_or_zero(numbers):
    class Rule(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            self.n_features_in_ = X.shape[1]
            return self

        def predict(self, X):
            return np.where(X[:, 1] > 3, "good", "bad")

    model = Rule().fit(numbers.array, numbers.y)
    goal = Goal(model, numbers.layout, target="good", probe=numbers.probe)
    met, score, *_ = goal.score_rows(numbers.rows)
    np.testing.assert_array_equal(met, numbers.frame["income"] > 3)
    np.testing.assert_array_equal(score, met.astype(float))
    with pytest.raises(ModelError, match=r"probability is 0.7, but the Rule model gives only labels.*Calibrated"):
        Goal(model, numbers.layout, target="good", probability=0.7, probe=numbers.probe)


def fitted_svc_with_probability(numbers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # deprecated, and in use all the same
        return SVC(probability=True, random_state=1, C=0.2).fit(numbers.frame[:80], numbers.y[:80] == "good")


def test_where_probabilities_contradict_predict_the_decision_function_guides(numbers):
    model = fitted_svc_with_probability(numbers)
    by_probability = model.predict_proba(numbers.frame)[:, 1] > 0.5
    assert (by_probability != model.predict(numbers.frame)).any()
    wrapped = Model(model)
    goal = Goal(wrapped, numbers.layout, target=True, probe=numbers.rows)
    before = wrapped.calls
    met, score, *_ = goal.score_rows(numbers.rows)
    assert wrapped.calls == before + 1
    np.testing.assert_allclose(score, model.decision_function(numbers.frame))
    np.testing.assert_array_equal(met, model.predict(numbers.frame))


@pytest.mark.parametrize("threshold", [0.3, 0.7])
def test_a_threshold_of_the_model_is_the_boundary(numbers, threshold):
    model = FixedThresholdClassifier(LogisticRegression(), threshold=threshold, pos_label="good")
    model.fit(numbers.frame, numbers.y)
    for target in ("good", "bad"):
        goal = Goal(model, numbers.layout, target=target, probe=numbers.rows)
        met, score, *_ = goal.score_rows(numbers.rows)
        sign = 1 if target == "good" else -1
        np.testing.assert_allclose(score, sign * (model.predict_proba(numbers.frame)[:, 1] - threshold), atol=1e-12)
        np.testing.assert_array_equal(met, model.predict(numbers.frame) == target)


def test_a_threshold_on_the_first_class_flips_the_sign(numbers):
    for method in ("predict_proba", "decision_function"):
        model = FixedThresholdClassifier(
            LogisticRegression(), threshold=0.2, pos_label="bad", response_method=method
        ).fit(numbers.frame, numbers.y)
        goal = Goal(model, numbers.layout, target="good", probe=numbers.rows)
        np.testing.assert_array_equal(goal.score_rows(numbers.rows).met, model.predict(numbers.frame) == "good")


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
    wrapped = Model(model)
    probability = model.predict_proba(numbers.frame)[:, 1]
    goal = Goal(wrapped, numbers.layout, target=1, probe=numbers.rows)
    before = wrapped.calls
    met, score, *_ = goal.score_rows(numbers.rows)
    assert wrapped.calls == before + 2
    np.testing.assert_array_equal(met, probability >= 0.8)
    np.testing.assert_allclose(score, 2 * probability - 1)
    low = Goal(model, numbers.layout, target=0, probe=numbers.rows).score_rows(numbers.rows)
    np.testing.assert_array_equal(low.met, probability < 0.8)


def test_decide_asks_predict_even_where_the_probe_agreed(numbers):
    model = Strict().fit(numbers.frame, (numbers.y == "good").astype(int))
    probability = model.predict_proba(numbers.frame)[:, 1]
    harmless = numbers.rows[(probability < 0.45) | (probability > 0.85)]
    wrapped = Model(model)
    goal = Goal(wrapped, numbers.layout, target=1, probe=harmless)
    before = wrapped.calls
    np.testing.assert_array_equal(goal.score_rows(numbers.rows).met, probability > 0.5)
    assert wrapped.calls == before + 1
    np.testing.assert_array_equal(goal.confirm_rows(numbers.rows).met, probability >= 0.8)
    assert wrapped.calls == before + 3


def test_names_select_and_order_the_columns(mixed):
    model = LogisticRegression().fit(mixed.frame[["visits", "income"]], mixed.y)
    goal = Goal(model, mixed.layout, target="good", probe=mixed.probe)
    expected = model.predict_proba(mixed.frame[["visits", "income"]])
    np.testing.assert_array_equal(goal.score_rows(mixed.rows).score, expected[:, 1] - expected[:, 0])
    given = Goal(Model(model, accepts="pandas"), mixed.layout, target="good", probe=mixed.probe)
    np.testing.assert_array_equal(given.score_rows(mixed.rows).score, expected[:, 1] - expected[:, 0])


def test_an_array_of_objects_reaches_an_encoder_as_at_training(mixed):
    array = mixed.frame.to_numpy(dtype=object)
    encode = ColumnTransformer([("c", OneHotEncoder(), [0]), ("n", StandardScaler(), [1, 2])])
    model = make_pipeline(encode, LogisticRegression()).fit(array, mixed.y)
    score = Goal(model, mixed.layout, target="good", probe=mixed.probe).score_rows(mixed.rows).score
    expected = model.predict_proba(array)
    np.testing.assert_allclose(score, expected[:, 1] - expected[:, 0], atol=1e-12)


def test_a_pipeline_that_hides_its_columns_gets_a_frame(mixed):
    class Picks(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            return self

        def __sklearn_is_fitted__(self):
            return True

        def transform(self, X):
            return X[["income"]].to_numpy()

    model = make_pipeline(Picks(), LogisticRegression()).fit(mixed.frame, mixed.y)
    met = Goal(model, mixed.layout, target="good", probe=mixed.probe).confirm_rows(mixed.rows).met
    np.testing.assert_array_equal(met, model.predict(mixed.frame) == "good")


def test_a_polars_pipeline_gets_polars_and_a_pyarrow_table_becomes_pandas(mixed):
    class Notes(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.feature_names_in_ = np.array(X.columns, dtype=object)
            return self

        def transform(self, X):
            seen.add(type(X).__module__.partition(".")[0])
            return np.asarray(X[["income", "visits"]])

    polars = pl.from_pandas(mixed.frame)
    model = make_pipeline(Notes(), LogisticRegression())
    for frame, library in ((polars, "polars"), (pa.Table.from_pandas(mixed.frame), "pandas"), (mixed.frame, "pandas")):
        seen: set[str] = set()
        model.fit(polars if library == "polars" else mixed.frame, mixed.y)
        table = Table.read(frame, mixed.table.schema)
        seen.clear()
        met = Goal(model, table.layout, target="good", probe=table.values[:20]).confirm_rows(table.values).met
        np.testing.assert_array_equal(met, model.predict(mixed.frame) == "good")
        assert library in seen
    given = Model(model, accepts="polars")
    seen.clear()
    Goal(given, mixed.layout, target="good", probe=mixed.probe)
    assert seen == {"polars"}


def test_an_outlier_detector_is_a_classifier_with_given_classes(numbers):
    model = IsolationForest(n_estimators=10, random_state=0, contamination=0.2).fit(numbers.frame)
    with pytest.raises(ModelError, match="IsolationForest model has no classes_"):
        Model(model)
    goal = Goal(Model(model, classes=[-1, 1]), numbers.layout, target=1, probe=numbers.probe)
    np.testing.assert_array_equal(goal.confirm_rows(numbers.rows).met, model.predict(numbers.frame) == 1)


def test_classes_rename_those_of_an_encoded_target(numbers):
    model = LogisticRegression().fit(numbers.frame, (numbers.y == "good").astype(int))
    goal = Goal(Model(model, classes=["bad", "good"]), numbers.layout, target="good", probe=numbers.probe)
    np.testing.assert_array_equal(goal.confirm_rows(numbers.rows).met, model.predict(numbers.frame) == 1)
    swapped = Goal(Model(model, classes=[1, 0]), numbers.layout, target=1, probe=numbers.probe)
    np.testing.assert_array_equal(swapped.confirm_rows(numbers.rows).met, model.predict(numbers.frame) == 1)
    with pytest.raises(ModelError, match=r"classes= names 3 classes, but the LogisticRegression model has 2"):
        Model(model, classes=["a", "b", "c"])


def test_returns_chooses_among_the_answers(numbers):
    model = LogisticRegression().fit(numbers.frame, numbers.y)
    scores = Goal(Model(model, returns="scores"), numbers.layout, target="good", probe=numbers.probe)
    np.testing.assert_allclose(scores.score_rows(numbers.rows).score, model.decision_function(numbers.frame))
    labels = Goal(Model(model, returns="labels"), numbers.layout, target="good", probe=numbers.probe)
    assert set(labels.score_rows(numbers.rows).score) == {0.0, 1.0}
    with pytest.raises(ModelError, match=r"returns='probabilities', but the LinearSVC model gives only scores and la"):
        Model(LinearSVC().fit(numbers.frame, numbers.y), returns="probabilities")


def test_columns_the_table_lacks_are_named(mixed, numbers):
    model = LogisticRegression().fit(mixed.frame[["income"]].assign(age=1.0), mixed.y)
    with pytest.raises(ModelError, match=r"needs the columns 'age', which the table does not have"):
        Goal(model, mixed.layout, target="good", probe=mixed.probe)
    wide = LogisticRegression().fit(np.ones((4, 3)), [0, 1, 0, 1])
    with pytest.raises(ModelError, match=r"fitted on 3 columns without names, but the table has 2: 'visits', 'income'"):
        Goal(wide, numbers.layout, target=1, probe=numbers.probe)


def test_what_is_not_a_classifier_is_refused(numbers):
    with pytest.raises(ModelError, match="LinearRegression model is a regressor"):
        Model(LinearRegression().fit(numbers.array, numbers.array[:, 0]))
    with pytest.raises(ModelError, match="is the class LogisticRegression itself; pass a fitted instance"):
        Model(LogisticRegression)
    with pytest.raises(ModelError, match="has no classes_; fit it first"):
        Model(LogisticRegression())
    both = RandomForestClassifier(n_estimators=2).fit(numbers.array, np.column_stack([numbers.three, numbers.three]))
    with pytest.raises(ModelError, match="has 2 outputs"):
        Model(both)
