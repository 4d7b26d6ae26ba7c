"""Slopes of scores: against the models' own decision functions and against finite differences."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, QuantileTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from attain import Feature, Schema
from attain.core.errors import ModelError
from attain.models import Goal, Model
from attain.models.scores import smooth_score
from attain.tables import Table
from attain.testing import people

TABLE = Table.read(people.frame(), people.schema())
LABELS = people.labels(people.frame())
NUMBERS = Schema(tuple(Feature(name, "real") for name in "abc"))


def ending_in(estimator):
    """The pipeline of the synthetic people, with another classifier at its end."""
    pipeline = clone(people.linear_model(people.frame(), LABELS))
    pipeline.steps[-1] = ("last", estimator)
    return pipeline.fit(people.frame(), LABELS)


def smooth(model, table=TABLE, target=people.DESIRED, **wrapping):
    goal = Goal(Model(model, **wrapping), table.layout, target=target, probe=table.values[:50])
    return smooth_score(goal, table.schema, table.values)


def numbers(n=120, classes=2, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(n, 3)) * [1.0, 10.0, 0.1], columns=list("abc"))
    merit = X["a"] + X["b"] / 10 - 10 * X["c"] + X["a"] ** 2 / 3
    return X, pd.qcut(merit, classes, labels=False).to_numpy()


CLASSIFIERS = [LogisticRegression(max_iter=1000), LinearSVC(), SGDClassifier(random_state=0)]
CLASSIFIERS += [SVC(), SVC(kernel="linear"), SVC(gamma=0.05, C=10.0), NuSVC(nu=0.3)]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("target", [people.DESIRED, people.REFUSED])
def test_the_score_is_the_models_own_decision_function(estimator, target):
    model = ending_in(estimator)
    sign = 1 if model.classes_[1] == target else -1
    expected = sign * model.decision_function(people.frame())
    np.testing.assert_allclose(smooth(model, target=target).score(TABLE.values), expected, atol=1e-9)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_the_slope_is_that_of_finite_differences(estimator):
    score = smooth(ending_in(estimator))
    rows = TABLE.values[:40].copy()
    education = people.schema().position("education")
    rows[:, education] = np.random.default_rng(0).uniform(0.1, 0.9, 40) + np.tile([0.0, 1.0], 20)
    values, slope = score.slope(rows)
    np.testing.assert_allclose(values, score.score(rows), atol=1e-12)
    for j, feature in enumerate(people.schema()):
        step = 1e-5 * np.nanstd(TABLE.values[:, j])
        above, below = rows.copy(), rows.copy()
        above[:, j] += step
        below[:, j] -= step
        ordinary = ~np.isnan(rows[:, j]) & ~np.isin(rows[:, j], list(feature.special))
        if feature.ordered:
            expected = (score.score(above) - score.score(below)) / (2 * step)
            np.testing.assert_allclose(slope[ordinary, j], expected[ordinary], rtol=1e-4, atol=1e-7)
        assert (slope[~ordinary, j] == 0).all()
        assert feature.ordered or (slope[:, j] == 0).all()


def test_the_lead_over_the_best_other_class_where_there_are_several():
    X, y = numbers(classes=3)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    table = Table.read(X, NUMBERS)
    scores = model.decision_function(X)
    for target in (0, 1, 2):
        expected = scores[:, target] - np.delete(scores, target, axis=1).max(axis=1)
        score = smooth(model, table, target)
        np.testing.assert_allclose(score.score(table.values), expected, atol=1e-10)
        step = np.array([1e-6, 0.0, 0.0])
        differences = (score.score(table.values + step) - score.score(table.values - step)) / 2e-6
        slope = score.slope(table.values)[1][:, 0]
        assert np.mean(np.abs(differences - slope) < 1e-5) > 0.95  # except where the best other class changes


REFUSED = [
    (make_pipeline(QuantileTransformer(n_quantiles=20), LogisticRegression()), 2, "bends"),
    (make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression()), 2, "bends"),
    (RandomForestClassifier(5), 2, "not known"),
    (SVC(kernel="poly"), 2, "poly"),
    (SVC(), 3, "pairs"),
]


@pytest.mark.parametrize(("model", "classes", "word"), REFUSED)
def test_models_without_a_known_slope_are_refused_with_a_reason(model, classes, word):
    X, y = numbers(classes=classes)
    with pytest.raises(ModelError, match=word):
        smooth(model.fit(X, y), Table.read(X, NUMBERS), 1)


def test_a_jax_function_is_differentiated():
    jax = pytest.importorskip("jax")
    X, _ = numbers()
    table = Table.read(X, NUMBERS)
    weights = np.array([1.0, -0.2, 3.0])
    score = smooth(lambda x: jax.nn.sigmoid(x @ weights + 0.5), table, 1, accepts="numpy")
    values, slope = score.slope(table.values)
    np.testing.assert_allclose(values, table.values @ weights + 0.5, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(slope, np.tile(weights, (len(X), 1)), rtol=1e-3)
    opposite = smooth(lambda x: jax.nn.sigmoid(x @ weights + 0.5), table, 0, accepts="numpy")
    np.testing.assert_allclose(opposite.score(table.values), -values, rtol=1e-4, atol=1e-4)
    with pytest.raises(ModelError, match="cannot be differentiated"):
        smooth(lambda x: 1 / (1 + np.exp(-(np.asarray(x) @ weights))), table, 1, accepts="numpy")


def test_a_torch_module_is_differentiated():
    torch = pytest.importorskip("torch")
    X, _ = numbers()
    table = Table.read(X, NUMBERS)
    module = torch.nn.Linear(3, 1).double().eval()
    values, slope = smooth(module, table, 1).slope(table.values)
    weights, bias = module.weight.detach().numpy().ravel(), module.bias.item()
    np.testing.assert_allclose(values, table.values @ weights + bias, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(slope, np.tile(weights, (len(X), 1)), rtol=1e-4)


@pytest.mark.slow
def test_gradients_are_counted_batched_and_checked():
    jax = pytest.importorskip("jax")
    X, _ = numbers(50)
    table = Table.read(X, NUMBERS)
    sizes = []

    def model(x):
        sizes.append(len(x))
        return jax.nn.sigmoid(jax.numpy.sqrt(abs(x)).sum(axis=1) - 3)

    goal = Goal(Model(model, accepts="numpy", batch_rows=20), table.layout, target=1, probe=table.values[:20])
    score = smooth_score(goal, NUMBERS, table.values)
    asked = goal.rows_asked
    sizes.clear()
    score.slope(table.values)
    assert sizes == [20, 20, 10]
    assert goal.rows_asked == asked + 50 == goal.model.rows
    flat = table.values[:10].copy()
    flat[2, 0] = 0.0  # where the root has no slope
    with pytest.raises(ModelError, match="NaN or infinite gradients for 1 of 10 rows"):
        score.slope(flat)
