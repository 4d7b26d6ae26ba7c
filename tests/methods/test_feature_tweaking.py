"""Feature tweaking against answers found by hand and by trying every leaf."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from attain.methods import FeatureTweaking
from attain.methods.feature_tweaking import outward
from attain.results.status import Status
from attain.schema import Feature, Schema

REAL = Schema(tuple(Feature(name, "real") for name in "abc"))


def numbers(size=300, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(np.round(random.normal(0, 1, (size, 3)), 3), columns=list("abc"))
    y = ((X["a"] + X["b"] ** 2 - X["c"] + random.normal(0, 0.3, size)) > 1).astype(int)
    return X, y


def paths_of(tree, node=0, conditions=()):
    """Every leaf with the conditions on its way: an independent reading of scikit-learn's tree."""
    if tree.children_left[node] < 0:
        yield node, conditions
        return
    column, threshold = tree.feature[node], tree.threshold[node]
    yield from paths_of(tree, tree.children_left[node], (*conditions, (column, "<=", threshold)))
    yield from paths_of(tree, tree.children_right[node], (*conditions, (column, ">", threshold)))


def cheapest(models, whole, row, spread, epsilon):
    """The least cost over all positive leaves of all negative trees, each tried on the whole ensemble."""
    best = np.inf
    for model in models:
        if model.tree_.value[model.tree_.apply(row[None].astype(np.float32))[0], 0].argmax() == 1:
            continue
        for leaf, conditions in paths_of(model.tree_):
            if model.tree_.value[leaf, 0].argmax() != 1:
                continue
            low, high = np.full(3, -np.inf), np.full(3, np.inf)
            for column, sign, threshold in conditions:
                if sign == "<=":
                    high[column] = min(high[column], threshold)
                else:
                    low[column] = max(low[column], threshold)
            tweaked = row.copy()
            for j in range(3):
                if not low[j] < row[j] <= high[j]:
                    step = epsilon * spread[j]
                    near = low[j] + step if row[j] <= low[j] else high[j] - step
                    tweaked[j] = (low[j] + high[j]) / 2 if high[j] - low[j] < 2 * step else near
            if whole.predict(pd.DataFrame([tweaked], columns=list("abc")))[0] == 1:
                best = min(best, float(np.sqrt((((tweaked - row) / spread) ** 2).sum())))
    return best


@pytest.mark.parametrize("trees", [1, 7])
def test_the_answer_is_the_cheapest_of_all_leaves_of_all_trees(trees):
    X, y = numbers()
    forest = (
        RandomForestClassifier(trees, max_depth=4, random_state=0) if trees > 1 else DecisionTreeClassifier(max_depth=5)
    )
    forest.fit(X, y)
    people = numbers(40, seed=5)[0]
    result = FeatureTweaking(REAL, figures=False, margin=0.0).fit(X, y).explain(forest, people, target=1)
    spread = X.to_numpy().std(axis=0)
    members = forest.estimators_ if trees > 1 else [forest]
    asked = 0
    for i, status in enumerate(result.statuses):
        if status is Status.ALREADY_DESIRED:
            continue
        asked += 1
        row = people.to_numpy()[i]
        expected = cheapest(members, forest, row, spread, 0.1)
        if np.isinf(expected):
            assert status is Status.OUT_OF_REACH
        else:
            got = np.sqrt((((result.answers[i] - row) / spread) ** 2).sum())
            assert got == pytest.approx(expected, abs=2e-5)
    assert asked > 10


def stump(values, y, kind="real", **settings):
    schema = Schema((Feature("x", kind, **settings),))
    X = pd.DataFrame({"x": values})
    return schema, X, DecisionTreeClassifier(max_depth=1).fit(X, y)


def test_a_value_goes_epsilon_standard_deviations_beyond_the_threshold():
    values = np.array([1.0, 2.0, 3.0, 4.0])
    schema, X, model = stump(values, [0, 0, 1, 1])
    fitted = FeatureTweaking(schema, epsilon=0.2, figures=False).fit(X)
    result = fitted.explain(model, X.iloc[[0]], target=1)
    assert result.answers[0, 0] == pytest.approx(2.5 + 0.2 * values.std(), rel=1e-5)
    back = fitted.explain(model, X.iloc[[3]], target=0)
    assert back.answers[0, 0] == pytest.approx(2.5 - 0.2 * values.std(), rel=1e-5)


def test_whole_numbers_are_rounded_past_the_threshold():
    schema, X, model = stump(np.array([1, 2, 4, 5]), [0, 0, 1, 1], "count")
    fitted = FeatureTweaking(schema, epsilon=0.001, figures=False).fit(X)
    assert fitted.explain(model, X.iloc[[0]], target=1).answers[0, 0] == 4  # the threshold is 3: 3 itself goes left
    assert fitted.explain(model, X.iloc[[3]], target=0).answers[0, 0] == 2  # 3 − ε, rounded outward


def test_thresholds_behind_a_scaler_are_in_the_tables_own_units():
    X, y = numbers()
    raw = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    people = numbers(30, seed=3)[0]
    fitted = FeatureTweaking(REAL, figures=False).fit(X, y)
    one, two = (fitted.explain(model, people, target=1).answers for model in (raw, scaled))
    np.testing.assert_allclose(one, two, atol=1e-5)


def test_paths_that_need_an_immutable_or_a_forbidden_direction_are_left_out():
    values = np.array([1.0, 2.0, 3.0, 4.0])
    schema, X, model = stump(values, [0, 0, 1, 1])
    falling = FeatureTweaking(schema.change("x", direction="decrease"), figures=False).fit(X)
    assert falling.explain(model, X.iloc[[1]], target=1).statuses[0] is Status.OUT_OF_REACH
    near = FeatureTweaking(schema.change("x", range=(-1, 0.4)), figures=False).fit(X)
    assert near.explain(model, X.iloc[[1]], target=1).statuses[0] is Status.OUT_OF_REACH
    enough = FeatureTweaking(schema.change("x", range=(-1, 0.55)), epsilon=0.2, figures=False).fit(X)
    answer = enough.explain(model, X.iloc[[1]], target=1).answers[0, 0]
    assert 2.5 < answer <= 2.55  # ε would go beyond the range: the middle of what is left


@given(
    own=st.floats(-50, 50),
    low=st.floats(-20, 20),
    width=st.floats(0.01, 30),
    step_over=st.floats(0.001, 5),
    step=st.sampled_from([None, 1.0, 0.5, 3.0]),
)
def test_outward_values_lie_in_the_interval_and_on_the_grid(own, low, width, step_over, step):
    feature = Feature("x", "real", step=step)
    high = low + width
    value = outward(np.array([own]), np.array([low]), np.array([high]), step_over, feature)[0]
    grid = [] if step is None else [k * step for k in range(-200, 200) if low < k * step <= high]
    if step is not None and not grid:
        assert np.isnan(value) or low < value <= high
        return
    assert low < value <= high
    if step is not None:
        assert min(abs(value - point) for point in grid) < 1e-6
    elif width < 2 * step_over:
        assert value == pytest.approx(low + width / 2)


def test_several_tweaks_are_combined_where_one_does_not_turn_a_boosted_ensemble():
    X, _ = numbers(400)
    y = (X.sum(axis=1) > 1).astype(int)
    model = GradientBoostingClassifier(n_estimators=60, max_depth=1, random_state=0).fit(X, y)
    people = -numbers(60, seed=9)[0].abs()  # far from the boundary in every feature
    people = people[model.predict(people) == 0]
    shares = []
    for tweaks in (1, None):
        result = FeatureTweaking(REAL, tweaks=tweaks, figures=False).fit(X, y).explain(model, people, target=1)
        shares.append(result.share_found)
    assert (model.predict(result.frame) == 1).all()
    assert shares[1] == 1.0
    assert shares[0] < 0.5


def test_the_target_may_be_any_of_several_classes():
    X, _ = numbers()
    y = np.digitize(X["a"] + X["b"], [-0.7, 0.7])
    model = RandomForestClassifier(11, max_depth=5, random_state=0).fit(X, y)
    people = numbers(30, seed=2)[0]
    for target in (0, 1, 2):
        result = FeatureTweaking(REAL, figures=False).fit(X, y).explain(model, people, target=target)
        assert result.share_found > 0.5
        assert (model.predict(result.frame[result.found]) == target).all()
