"""Wachter et al.: closed forms of linear models, every record there is on a small grid, and the parts by hand."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import median_abs_deviation
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from attain import Feature, Model, Schema
from attain.methods import Wachter
from attain.methods.wachter import absolute_deviation
from attain.search.climb import boundary

SCHEMA = Schema(tuple(Feature(name, "real", cost=cost) for name, cost in zip("abc", (1.0, 2.0, 1.0), strict=True)))


def frame(n=400, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(n, 3)) * [1.0, 50.0, 0.02], columns=list("abc"))
    return X, (X["a"] + X["b"] / 40 + 30 * X["c"] + random.normal(0, 0.3, n) > 0).astype(int)


def closed_form(model, X, people):
    """One feature turns a linear score with the least distance: that with the largest |w|·MAD per cost."""
    weights = model[-1].coef_[0] / model[0].scale_
    strength = np.abs(weights) * median_abs_deviation(X) / [1.0, 2.0, 1.0]
    return -model.decision_function(people) / strength.max(), int(strength.argmax())


@pytest.mark.parametrize("method", ["gradient", "search"])
def test_answers_for_a_linear_model_are_the_closed_form(method):
    X, y = frame()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    people = X[model.predict(X) == 0]
    people = people[model.decision_function(people) > -3].iloc[:40]
    result = Wachter(SCHEMA, method=method, figures=False).fit(X, y).explain(model, people, target=1)
    expected, column = closed_form(model, X, people)
    room = (X.max() - people).to_numpy()[:, column] / median_abs_deviation(X)[column]
    enough = room > 1.1 * expected * [1.0, 0.5, 1.0][column]
    assert result.found.all()
    assert enough.sum() >= 15
    distance = result.option_figures["distance"]
    assert (distance >= expected * (1 - 1e-4) - 1e-3).all()
    np.testing.assert_allclose(distance[enough], expected[enough], rtol=0.1, atol=0.05)


def test_the_gradient_leaves_cells_that_do_not_matter_exactly_as_they_are():
    X, y = frame()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    people = X[model.predict(X) == 0].iloc[:30]
    result = (
        Wachter(SCHEMA, method="gradient", sparsity=False, figures=False).fit(X, y).explain(model, people, target=1)
    )
    assert np.median(result.option_figures["features_changed"]) == 1


def test_a_probability_asked_for_is_reached_and_hardly_exceeded():
    X, y = frame()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    people = X[model.predict(X) == 0].iloc[:30]
    result = Wachter(SCHEMA, figures=False).fit(X, y).explain(model, people, target=1, probability=0.8)
    chance = model.predict_proba(result.frame[result.found])[:, 1]
    assert result.found.all()
    assert (chance >= 0.8).all()
    assert np.median(chance) < 0.83


@pytest.mark.parametrize("labels_only", [False, True])
def test_the_search_comes_near_the_nearest_of_all_records(labels_only):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.integers(0, 10, (300, 3)), columns=list("abc"))
    y = ((X["a"] > 4) & (X["b"] + X["c"] > 9)).astype(int)
    schema = Schema(tuple(Feature(name, "count", bounds=(0, 9)) for name in "abc"))
    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    people = X[tree.predict(X) == 0].iloc[:40]
    asked = tree.predict if labels_only else tree
    result = Wachter(schema, figures=False).fit(X, y).explain(asked, people, target=1)
    every = pd.DataFrame(list(itertools.product(range(10), repeat=3)), columns=list("abc"))
    good = every[tree.predict(every) == 1].to_numpy()
    scale = median_abs_deviation(X)
    least = (np.abs(good[None] - people.to_numpy()[:, None]) / scale).sum(axis=2).min(axis=1)
    assert result.found.all()
    distance = result.option_figures["distance"]
    assert (distance >= least - 1e-9).all()
    assert distance.mean() <= 1.2 * least.mean()


def test_people_whom_the_gradient_misses_are_searched_for():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.uniform(-1, 1, (300, 2)) * 3, columns=list("ab"))
    y = (np.hypot(X["a"] - 2, X["b"] - 2) < 0.7).astype(int)
    schema = Schema((Feature("a", "real"), Feature("b", "real")))
    model = SVC(gamma=2.0, C=100.0).fit(X, y)
    people = X[model.predict(X) == 0].iloc[:30]
    fitted = Wachter(schema, figures=False).fit(X, y)
    assert fitted.explain(model, people, target=1).found.all()
    alone = fitted.set_params(method="gradient").explain(model, people, target=1)
    assert not alone.found.all()


@pytest.mark.slow
def test_a_jax_function_is_followed_by_its_gradient():
    jax = pytest.importorskip("jax")
    X, y = frame()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    weights, bias = model[-1].coef_[0] / model[0].scale_, model[-1].intercept_[0]
    bias = bias - weights @ model[0].mean_
    function = Model(lambda x: jax.nn.sigmoid(x @ weights + bias), accepts="numpy")
    people = X[model.predict(X) == 0].iloc[:10]
    explainer = Wachter(SCHEMA, method="gradient", figures=False).fit(X, y)
    result = explainer.explain(function, people, target=1)
    assert result.found.all()
    same = explainer.explain(model, people, target=1).option_figures["distance"]
    np.testing.assert_allclose(result.option_figures["distance"], same, rtol=0.05, atol=0.02)


def test_the_deviation_is_the_median_one_and_never_zero():
    cells = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    assert absolute_deviation(cells) == median_abs_deviation(cells) == 1.0
    assert absolute_deviation(np.array([0.0, 0.0, 0.0, 4.0])) == 1.0  # the mean of 0, 0, 0 and 4
    assert absolute_deviation(np.array([0.0, 0.0, 0.0, 8.0])) == 2.0
    assert absolute_deviation(np.array([5.0, 5.0])) == 1.0
    assert absolute_deviation(np.empty(0)) == 1.0


def test_the_boundary_is_0_where_that_fits_and_else_between():
    score = np.array([-2.0, -1.0, 1.0, 2.0])
    assert boundary(score, score > 0) == 0.0
    assert boundary(score, score > 1.5) == 1.5
    assert boundary(score, np.zeros(4, dtype=bool)) == 2.0
    assert boundary(score, np.ones(4, dtype=bool)) == -2.0


@pytest.mark.parametrize("method", ["gradient", "search"])
def test_the_score_aimed_at_does_not_depend_on_the_order_of_the_training_rows(method):
    X, y = frame(6000)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    order = np.argsort(model.decision_function(X))
    _, smooth_aim, aim = inspected(Wachter(SCHEMA, method=method).fit(X.iloc[order], y.iloc[order]), model)
    _, expected_smooth, expected = inspected(Wachter(SCHEMA, method=method).fit(X, y), model)
    np.testing.assert_allclose((smooth_aim, aim), (expected_smooth, expected), rtol=0.05)


def inspected(explainer, model):
    return explainer.session(model, target=1).inspected
