"""Scores that a model adds up: their Shapley values sum to what the model itself says."""

from typing import Any

import numpy as np
import pytest
from scipy.special import logit
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from attain.models import Goal
from attain.models.encoding import StructureError
from attain.models.scores import AdditiveScore, additive_score
from attain.tables import Table
from attain.testing import people

X = people.frame(300)
Y = people.labels(X)
TABLE = Table.read(X, people.schema())
LEVELS = ["housing", "sex", "education", "mortgage"]
NUMBERS = [name for name in X.columns if name not in LEVELS]


def scored(estimator: Any, **request: Any) -> tuple[Any, AdditiveScore]:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    model = make_pipeline(make_column_transformer((numbers, NUMBERS), (OneHotEncoder(), LEVELS)), estimator).fit(X, Y)
    goal = Goal(model, TABLE.layout, target=people.DESIRED, probe=TABLE.values[:100], **request)
    return (model, goal), additive_score(goal, TABLE.values)


@pytest.mark.parametrize("probability", [None, 0.7])
@pytest.mark.parametrize(
    ("estimator", "scale"),
    [
        (LogisticRegression(max_iter=500), "decision function"),
        (DecisionTreeClassifier(max_depth=5, random_state=0), "lead in probability"),
        (RandomForestClassifier(15, random_state=0), "lead in probability"),
        (GradientBoostingClassifier(n_estimators=15, random_state=0), "log-odds"),
        (HistGradientBoostingClassifier(max_iter=15, random_state=0), "log-odds"),
    ],
    ids=["linear", "tree", "forest", "boosting", "histograms"],
)
def test_the_values_sum_to_the_difference_of_the_scores(estimator: Any, scale: str, probability: float | None) -> None:
    (model, goal), score = scored(estimator, probability=probability)
    assert score.scale == scale
    chance = model.predict_proba(X)[:, list(model.classes_).index(people.DESIRED)]
    worth = 2 * chance - 1 if scale == "lead in probability" else logit(chance)
    rows, others = np.arange(5), np.arange(5, 12)
    values = score.shapley(goal, TABLE.values[rows], TABLE.values[others])
    assert values.shape == (5, 7, len(TABLE.schema))
    np.testing.assert_allclose(values.sum(axis=2), worth[rows][:, None] - worth[others], atol=1e-6)


def test_other_models_are_refused() -> None:
    with pytest.raises(StructureError):
        scored(KNeighborsClassifier())
    three = X["education"].to_numpy()
    model = make_pipeline(make_column_transformer((SimpleImputer(), NUMBERS)), RandomForestClassifier(5)).fit(X, three)
    goal = Goal(model, TABLE.layout, target="college", probe=TABLE.values[:100])
    with pytest.raises(StructureError, match="3 classes"):
        additive_score(goal, TABLE.values)
