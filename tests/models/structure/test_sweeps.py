"""Sweeps: which values of single columns meet a goal, beside asking about every row."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from attain.models import Goal
from attain.models.structure.compiled import compile_score
from attain.models.structure.sweeps import Grid, Sweep
from attain.schema import Feature, Schema
from attain.tables import Table
from tests.both_paths import same_bytes

SCHEMA = Schema(
    (
        Feature("income", "real", special=(-9.0,)),
        Feature("debt", "real"),
        Feature("job", "categorical", levels=("clerk", "nurse", "pilot", "cook")),
        Feature("visits", "count"),
    )
)
RANDOM = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "income": np.where(RANDOM.random(300) < 0.1, -9.0, np.round(RANDOM.normal(3, 1, 300), 3)),
        "debt": np.where(RANDOM.random(300) < 0.1, np.nan, np.round(RANDOM.lognormal(0, 1, 300), 3)),
        "job": RANDOM.choice(["clerk", "nurse", "pilot", "cook"], 300),
        "visits": RANDOM.integers(0, 9, 300),
    }
)
Y = (X["income"] + (X["job"] == "pilot") - X["debt"].fillna(1) + RANDOM.normal(0, 0.5, 300) > 1.5).astype(int)
TABLE = Table.read(X, SCHEMA)
VALUES = ([-9.0, 0.0, 2.0, 2.5, 3.0, 4.0], [0.1, 0.5, 1.0, 3.0], [0.0, 1.0, 2.0, 3.0], [0.0, 3.0, 8.0])
GRID = Grid.of(np.arange(4), [np.array(some) for some in VALUES])
MODELS = {
    "linear": LogisticRegression(max_iter=1000),
    "boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "forest": RandomForestClassifier(15, random_state=0),
}


def _goal(kind, **asked):
    prepared = make_column_transformer(
        (SimpleImputer(), ["income", "debt", "visits"]), (OneHotEncoder(sparse_output=False), ["job"])
    )
    model = make_pipeline(prepared, MODELS[kind]).fit(X, Y)
    goal = Goal(model, TABLE.layout, probe=TABLE.values[:100], **{"target": 1, **asked})
    judged = goal.judge(TABLE.values)
    goal.compiled = compile_score(goal, TABLE.values, lambda: (judged.met, judged.score))
    assert goal.compiled is not None
    return goal


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("asked", [{}, {"target": 0}, {"probability": 0.7}])
def test_a_sweep_decides_like_the_model_about_every_value(kind, asked) -> None:
    goal = _goal(kind, **asked)
    sweep = Sweep.of(goal, GRID)
    rows = np.random.default_rng(1).permuted(TABLE.values[:60], axis=0)
    met = same_bytes(lambda: sweep.met(rows))
    same_bytes(lambda: sweep.along(rows))
    for k, values in enumerate(VALUES):
        for v, value in enumerate(values):
            changed = rows.copy()
            changed[:, k] = value
            np.testing.assert_array_equal(met[:, k, v], goal.decide(changed).met)
        assert not met[:, k, len(values) :].any()


def test_no_value_is_known_to_flip_where_a_level_is_unknown() -> None:
    sweep = Sweep.of(_goal("boosting"), GRID)
    rows = TABLE.values[:3].copy()
    rows[1, 2] = 4.0
    met = same_bytes(lambda: sweep.met(rows))
    assert not met[1].any()
    assert met[[0, 2]].any()


def test_a_model_without_a_compiled_score_has_no_sweep() -> None:
    goal = _goal("linear")
    goal.compiled = None
    assert Sweep.of(goal, GRID) is None
