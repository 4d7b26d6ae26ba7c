"""Scores over products of cells: what the model itself says, and the least and largest by brute force."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from attain.models import Goal
from attain.models.structure import products
from attain.models.structure.encoding import StructureError
from attain.models.structure.products import ProductScore, product_score
from attain.tables import Table
from attain.testing import people

X = people.frame(300)
Y = people.labels(X)
TABLE = Table.read(X, people.schema())
LEVELS = ["housing", "sex", "education", "mortgage"]
NUMBERS = [name for name in X.columns if name not in LEVELS]
COLUMNS = [TABLE.schema.position(name) for name in ("income", "education", "months_late")]
CELLS = [np.linspace(500, 6000, 12), np.arange(3.0), np.array([-9.0, 0.0, 1.0, 2.0, 5.0])]

MODELS = {
    "linear": LogisticRegression(max_iter=500),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(15, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=15, random_state=0),
    "neighbours": KNeighborsClassifier(),
}
READ = [kind for kind in MODELS if kind != "neighbours"]


@cache
def fitted(kind: str) -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_pipeline(make_column_transformer((numbers, NUMBERS), (OneHotEncoder(), LEVELS)), MODELS[kind]).fit(X, Y)


def scored(model: Any, **request: Any) -> tuple[Goal, ProductScore]:
    goal = Goal(model, TABLE.layout, target=people.DESIRED, probe=TABLE.values[:100], **request)
    return goal, product_score(goal, TABLE.values)


def rows_of(row: np.ndarray) -> np.ndarray:
    choices = np.array([*product(*CELLS)])
    rows = np.repeat(row[None], len(choices), axis=0)
    rows[:, COLUMNS] = choices
    return rows


@pytest.mark.parametrize("probability", [None, 0.7])
@pytest.mark.parametrize("kind", READ)
def test_a_score_of_at_least_zero_is_a_decision_of_the_model(kind: str, probability: float | None) -> None:
    goal, score = scored(fitted(kind), probability=probability)
    rows = np.random.default_rng(0).permuted(TABLE.values, axis=0)
    met = goal.judge(rows).met
    assert 0 < met.mean() < 1
    np.testing.assert_array_equal(score.score(rows) >= 0, met)
    np.testing.assert_array_equal(score.score(rows) >= -score.doubt, met)


@pytest.mark.parametrize("kind", READ)
def test_a_product_has_the_score_of_each_of_its_rows(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, score = scored(fitted(kind))
    random = np.random.default_rng(1)
    for row in TABLE.values[:5]:
        expected = score.score(rows_of(row)).reshape([len(cells) for cells in CELLS])
        found = score.axes(row, dict(zip(COLUMNS, CELLS, strict=True))).product(COLUMNS)
        assert found.exact
        np.testing.assert_allclose(found.table(), expected, atol=1e-9)
        monkeypatch.setattr(products, "_MOST_CELLS", 1)
        bounded = score.axes(row, dict(zip(COLUMNS, CELLS, strict=True))).product(COLUMNS)
        monkeypatch.undo()
        assert bounded.most() >= expected.max() - 1e-9
        for _ in range(20):
            first, last = np.sort(random.integers(expected.shape, size=(2, 3)), axis=0).tolist()
            part = expected[tuple(slice(a, b + 1) for a, b in zip(first, last, strict=True))]
            assert found.least(first, last) == pytest.approx(part.min(), abs=1e-9)
            assert bounded.least(first, last) <= part.min() + 1e-9
        assert found.most() == pytest.approx(expected.max(), abs=1e-9)
        some = score.axes(row, dict(zip(COLUMNS, CELLS, strict=True))).product(COLUMNS[1:])
        rows = rows_of(row)
        rows[:, COLUMNS[0]] = row[COLUMNS[0]]
        np.testing.assert_allclose(some.table(), score.score(rows).reshape(expected.shape)[0], atol=1e-9)


def test_a_product_of_nothing_is_the_row() -> None:
    for kind in ("linear", "forest"):
        _, score = scored(fitted(kind))
        (own,) = score.score(TABLE.values[:1])
        found = score.axes(TABLE.values[0], {}).product([])
        assert found.least([], []) == pytest.approx(own) == pytest.approx(found.most())


def test_breaks_are_the_thresholds_of_a_tree_in_the_units_of_the_table() -> None:
    model = fitted("tree")
    _, score = scored(model)
    numbers, tree = model[0].named_transformers_["pipeline"], model[-1].tree_
    scaler, j = numbers[-1], NUMBERS.index("income")
    used = tree.threshold[tree.feature == j] * scaler.scale_[j] + scaler.mean_[j]
    np.testing.assert_allclose(score.breaks(TABLE.schema.position("income")), np.unique(used), rtol=1e-6)
    assert not len(score.breaks(TABLE.schema.position("education")))


def test_other_models_are_refused() -> None:
    with pytest.raises(StructureError):
        scored(fitted("neighbours"))
    three = X["education"].to_numpy()
    model = make_pipeline(make_column_transformer((SimpleImputer(), NUMBERS)), RandomForestClassifier(5)).fit(X, three)
    goal = Goal(model, TABLE.layout, target="college", probe=TABLE.values[:100])
    with pytest.raises(StructureError, match="3 classes"):
        product_score(goal, TABLE.values)
