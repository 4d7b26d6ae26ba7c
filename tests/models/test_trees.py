"""Trees read in cells of the matrix: they predict what the model predicts, whichever library trained them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from attain.core.errors import ModelError
from attain.models import Goal, encoding
from attain.models.goal import StructureError
from attain.models.trees import read_ensemble
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


TREE = make_pipeline(scaled(), DecisionTreeClassifier(max_depth=4, random_state=0))


def test_leaves_are_those_of_scikit_learn_and_paths_lead_to_them():
    model = make_pipeline(scaled(), RandomForestClassifier(8, random_state=1)).fit(X, Y)
    ensemble = read(model)
    found, theirs = ensemble.leaves(TABLE.values), model[-1].apply(model[:-1].transform(X))
    for tree in range(8):
        pairs = {*zip(found[:, tree].tolist(), theirs[:, tree].tolist(), strict=True)}
        assert len(pairs) == len(np.unique(found[:, tree])) == len(np.unique(theirs[:, tree]))
        assert (ensemble.tree[found[:, tree]] == tree).all()
    leaf, node, second = ensemble.steps()
    for some in (3, 40):
        at = ensemble.roots[ensemble.tree[some]]
        passed = {n: s for n, s in zip(node[leaf == some].tolist(), second[leaf == some].tolist(), strict=True)}
        for _ in range(len(passed)):
            at = ensemble.nodes["child"][at] + passed[at]
        assert (ensemble.nodes["column"][at], ensemble.nodes["child"][at]) == (-1, some)


def test_splits_compare_columns_of_the_table_in_their_own_units():
    ensemble = read(TREE.fit(X, Y))
    tree, names = TREE[-1].tree_, TREE[:-1].get_feature_names_out()
    scaler = TREE[0].named_transformers_["standardscaler"]
    inner = tree.feature >= 0
    expected = sorted(
        (TABLE.schema.position(NUMBERS[k]), scaler.mean_[k] + threshold * scaler.scale_[k])
        for k, threshold in zip(tree.feature[inner], tree.threshold[inner], strict=True)
        if k < len(NUMBERS)
    )
    numeric = [feature.numeric for feature in TABLE.schema]
    nodes = ensemble.nodes[ensemble.nodes["column"] >= 0]
    found = sorted((node["column"], node["threshold"]) for node in nodes if numeric[node["column"]])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    levels = sorted(names[k].split("__")[1].rsplit("_", 1)[0] for k in tree.feature[inner] if k >= len(NUMBERS))
    assert sorted(TABLE.schema.names[j] for j in nodes["column"] if not numeric[j]) == levels


def test_more_levels_than_can_be_held_are_refused(monkeypatch):
    monkeypatch.setattr(encoding, "_MOST_NUMBERS", 20)
    with pytest.raises(StructureError, match="cannot be followed back") as refused:
        read(TREE.fit(X, Y))
    assert "too many to read" in str(refused.value.__cause__)


def test_trees_are_found_in_searches_and_under_thresholds():
    search = GridSearchCV(TREE, {"decisiontreeclassifier__max_depth": [2, 3]}, cv=2).fit(X, Y)
    assert len(read(search).roots) == 1
    stricter = FixedThresholdClassifier(TREE, threshold=0.7, pos_label=people.DESIRED).fit(X, Y)
    assert len(read(stricter).roots) == 1


STARTED = GradientBoostingClassifier(n_estimators=3, init=DecisionTreeClassifier(max_depth=2))
REFUSED = {
    "LogisticRegression is not a tree ensemble.*GrowingSpheres": [StandardScaler(), LogisticRegression()],
    "made of several": [StandardScaler(), PCA(3), DecisionTreeClassifier()],
    "does not predict what the model itself predicts": [STARTED],
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_read_is_refused_with_a_reason(words):
    with pytest.raises(ModelError, match=words):
        read(make_pipeline(coded(), *REFUSED[words]).fit(X, Y))


def test_splits_on_sets_of_levels_are_refused_with_a_reason():
    frame = pd.DataFrame({"job": pd.Categorical(np.tile(["a", "b", "c"], 60)), "pay": np.arange(180.0)})
    schema = Schema((Feature("job", "categorical", levels=("a", "b", "c")), Feature("pay", "real")))
    table = Table.read(frame, schema)
    y = (frame["job"] == "b").astype(int)
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=3).fit(frame, y)
    with pytest.raises(ModelError, match="sets of categories"):
        read(model, table, 1)
