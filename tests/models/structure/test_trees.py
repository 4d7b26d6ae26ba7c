"""Trees read into plain arrays: they predict what the model predicts, and boxes are the leaves."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from attain.core.errors import ModelError
from attain.models import Goal
from attain.models.structure import encoding, trees
from attain.models.structure.tree_readers import read_trees
from attain.models.structure.trees import boxes, read_ensemble
from attain.schema import Feature, Schema
from attain.tables import Table
from attain.testing import people

X = people.frame(240)
Y = people.labels(X)
TABLE = Table.read(X, people.schema())
LEVELS = ["housing", "sex", "education", "mortgage"]
NUMBERS = [name for name in X.columns if name not in LEVELS]


def read(model, table=TABLE, target=people.DESIRED):
    goal = Goal(model, table.layout, target=target, probe=table.values[:100])
    return read_ensemble(goal, table.values)


def scaled():
    return make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), LEVELS))


def coded():
    return make_column_transformer((SimpleImputer(), NUMBERS), (OrdinalEncoder(), LEVELS), sparse_threshold=0)


SCIKIT = [
    make_pipeline(scaled(), DecisionTreeClassifier(max_depth=4, random_state=0)),
    make_pipeline(coded(), MinMaxScaler(), RandomForestClassifier(15, random_state=0)),
    make_pipeline(scaled(), ExtraTreesClassifier(15, max_depth=6, random_state=0)),
]


@pytest.mark.parametrize("model", SCIKIT, ids=lambda model: type(model[-1]).__name__)
def test_the_mean_of_the_leaves_is_the_probability_of_a_forest(model):
    model = model.fit(X, Y)
    ensemble = read(model)
    mean = ensemble.nodes.scores(ensemble.encode(TABLE.values)) / len(ensemble.nodes.roots)
    np.testing.assert_allclose(mean, model.predict_proba(X), atol=1e-9)


def margins_of_scikit(model, rows):
    return model.decision_function(rows)


def boosted():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    return {
        "gradient": (GradientBoostingClassifier(n_estimators=12), coded, margins_of_scikit),
        "histograms": (HistGradientBoostingClassifier(max_iter=12), scaled, margins_of_scikit),
        "xgboost": (
            xgboost.XGBClassifier(n_estimators=12, n_jobs=1),
            scaled,
            lambda model, rows: model[-1].predict(model[:-1].transform(rows), output_margin=True),
        ),
        "lightgbm": (
            lightgbm.LGBMClassifier(n_estimators=12, verbose=-1, n_jobs=1),
            scaled,
            lambda model, rows: model[-1].booster_.predict(model[:-1].transform(rows), raw_score=True),
        ),
    }


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", ["gradient", "histograms", "xgboost", "lightgbm"])
def test_the_sum_of_the_leaves_is_the_margin_of_a_boosted_ensemble_up_to_its_start(name):
    last, prepared, margin = boosted()[name]
    model = make_pipeline(prepared(), last)
    y = (Y == people.DESIRED).astype(int)
    model.fit(X, y)
    ensemble = read(model, target=1)
    apart = margin(model, X) - ensemble.nodes.scores(ensemble.encode(TABLE.values))[:, 1]
    np.testing.assert_allclose(apart, apart[0], atol=1e-4)
    assert not ensemble.nodes.votes


@pytest.mark.parametrize(
    "last", [GradientBoostingClassifier(n_estimators=5), HistGradientBoostingClassifier(max_iter=5)]
)
def test_boosted_ensembles_of_three_classes_are_read_class_by_class(last):
    y = np.digitize(X["score"] - X["share_used"], [-1, 0.3])
    model = make_pipeline(coded(), last).fit(X, y)
    ensemble = read(model, target=2)
    own = ensemble.nodes.scores(ensemble.encode(TABLE.values))
    apart = model.decision_function(X) - own
    np.testing.assert_allclose(apart, np.tile(apart[0], (len(X), 1)), atol=1e-6)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_of_three_classes_are_read_class_by_class(library):
    module = pytest.importorskip(library)
    numbers = X[NUMBERS]
    schema = Schema(tuple(feature for feature in people.schema() if feature.name in NUMBERS and not feature.derived))
    numbers = numbers[list(schema.names)]
    y = np.digitize(X["score"] - X["share_used"], [-1, 0.3])
    quiet = {"verbosity": 0} if library == "xgboost" else {"verbose": -1}
    last = module.XGBClassifier if library == "xgboost" else module.LGBMClassifier
    model = last(n_estimators=5, n_jobs=1, **quiet).fit(numbers, y)
    table = Table.read(numbers, schema)
    ensemble = read(model, table, 2)
    own = ensemble.nodes.scores(ensemble.encode(table.values))
    said = np.log(model.predict_proba(numbers))
    apart = (said - said[:, :1]) - (own - own[:, :1])
    np.testing.assert_allclose(apart, np.tile(apart[0], (len(X), 1)), atol=1e-4)


def test_every_row_lies_in_exactly_one_box_of_each_tree_and_that_is_its_leaf():
    ensemble = read(make_pipeline(scaled(), RandomForestClassifier(8, random_state=1)).fit(X, Y))
    found = boxes(ensemble.nodes)
    rows = ensemble.encode(TABLE.values)
    inside = np.ones((len(rows), len(found.leaf)), dtype=bool)
    for column in range(rows.shape[1]):
        inside &= found.holds(rows[:, column, None], column)
    leaves = ensemble.nodes.leaves(rows)
    for tree in range(8):
        mine = found.tree == tree
        assert (inside[:, mine].sum(axis=1) == 1).all()
        np.testing.assert_array_equal(found.leaf[mine][inside[:, mine].argmax(axis=1)], leaves[:, tree])


def test_boxes_take_memory_for_the_conditions_on_paths_and_not_for_all_columns():
    random = np.random.default_rng(0)
    wide, y = random.normal(size=(300, 500)), random.integers(0, 2, 300)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(wide, y)
    found = boxes(read_trees(tree, 2))
    conditions = [len(parts[0]) for parts in found.conditions.values()]
    assert sum(conditions) <= 5 * len(found.leaf)
    assert sum(part.nbytes for parts in found.conditions.values() for part in parts) == 25 * sum(conditions)
    np.testing.assert_array_equal(found.used, np.unique(tree.tree_.feature[tree.tree_.feature >= 0]))


def test_boxes_are_the_same_however_many_paths_are_followed_at_once(monkeypatch):
    nodes = read(make_pipeline(scaled(), RandomForestClassifier(5, random_state=1)).fit(X, Y)).nodes
    expected = boxes(nodes)
    monkeypatch.setattr(trees, "_LEAVES_AT_ONCE", 7)
    found = boxes(nodes)
    np.testing.assert_array_equal(found.leaf, expected.leaf)
    np.testing.assert_array_equal(found.tree, expected.tree)
    for column in range(nodes.width):
        for ends, others in zip(found.interval(column), expected.interval(column), strict=True):
            np.testing.assert_array_equal(ends, others)


def test_a_tree_that_is_a_single_leaf_has_one_open_box():
    tree = DecisionTreeClassifier().fit(np.arange(6.0).reshape(3, 2), [1, 1, 1])
    found = boxes(read_trees(tree, 1))
    assert (len(found.leaf), found.used.tolist(), found.tree.tolist()) == (1, [], [0])
    assert found.holds(np.array([3.0, np.nan]), 1).all()


def test_columns_of_the_trees_are_traced_to_the_columns_of_the_table_with_their_units():
    ensemble = read(SCIKIT[0].fit(X, Y))
    names = SCIKIT[0][:-1].get_feature_names_out()
    schema = TABLE.schema
    for encoded, name in enumerate(names):
        source = schema.names[ensemble.sources[encoded]]
        assert name.split("__")[1].startswith(source)
    scaler = SCIKIT[0][0].named_transformers_["standardscaler"]
    for place, name in enumerate(NUMBERS):
        intercept, slope = ensemble.number_map(schema.position(name), place)
        assert slope == pytest.approx(1 / scaler.scale_[place], rel=1e-6)
        assert -intercept / slope == pytest.approx(scaler.mean_[place], rel=1e-6, abs=1e-6)
    housing = ensemble.encoded_levels(schema.position("housing"))[
        :, [list(names).index(f"onehotencoder__housing_{h}") for h in ("rents", "owns", "parents")]
    ]
    np.testing.assert_array_equal(housing, np.eye(3))


def test_trees_behind_many_levels_are_traced_alike(monkeypatch):
    expected = read(SCIKIT[0].fit(X, Y))
    monkeypatch.setattr(encoding, "_MOST_NUMBERS", 5_000)
    monkeypatch.setattr(encoding, "_moves", encoding._moves_at_once)
    found = read(SCIKIT[0])
    np.testing.assert_array_equal(found.sources, expected.sources)
    for j, feature in enumerate(TABLE.schema):
        if feature.levels:
            np.testing.assert_array_equal(found.encoded_levels(j), expected.encoded_levels(j))


def test_trees_are_found_in_searches_and_under_thresholds():
    search = GridSearchCV(SCIKIT[0], {"decisiontreeclassifier__max_depth": [2, 3]}, cv=2).fit(X, Y)
    assert len(read(search).nodes.roots) == 1
    stricter = FixedThresholdClassifier(SCIKIT[0], threshold=0.7, pos_label=people.DESIRED).fit(X, Y)
    assert len(read(stricter).nodes.roots) == 1


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            make_pipeline(coded(), StandardScaler(), LogisticRegression()),
            "LogisticRegression is not a tree ensemble.*GrowingSpheres",
        ),
        (make_pipeline(coded(), StandardScaler(), PCA(3), DecisionTreeClassifier()), "made of several"),
        (
            make_pipeline(
                coded(), GradientBoostingClassifier(n_estimators=3, init=DecisionTreeClassifier(max_depth=2))
            ),
            "does not predict what the model itself predicts",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(model, words):
    with pytest.raises(ModelError, match=words):
        read(model.fit(X, Y))


def test_splits_on_sets_of_levels_are_refused_with_a_reason():
    frame = pd.DataFrame({"job": pd.Categorical(np.tile(["a", "b", "c"], 60)), "pay": np.arange(180.0)})
    schema = Schema((Feature("job", "categorical", levels=("a", "b", "c")), Feature("pay", "real")))
    table = Table.read(frame, schema)
    y = (frame["job"] == "b").astype(int)
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=3).fit(frame, y)
    with pytest.raises(ModelError, match="sets of categories"):
        read(model, table, 1)
