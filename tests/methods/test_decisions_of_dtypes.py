"""A person's recorded decision is that of the model about the user's own row, whatever the frame's dtypes are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from attain import Feature, GrowingSpheres, Model, Schema, Status

SCHEMA = Schema(
    (
        Feature("cards", "count", fillable=True),
        Feature("share", "real"),
        Feature("owner", "categorical", levels=(False, True)),
        Feature("job", "categorical", levels=("clerk", "nurse", "pilot")),
        Feature("area", "categorical", levels=("north", "south")),
    )
)
ARROW = {
    "cards": "int64[pyarrow]",
    "share": "float[pyarrow]",
    "owner": "bool[pyarrow]",
    "job": "string[pyarrow]",
    "area": "dictionary",
}
BACKINGS: dict[str, dict[str, Any]] = {
    "numpy": {"cards": "float64", "share": "float64", "owner": "bool", "job": "object", "area": "object"},
    "float32": {"cards": "float32", "share": "float32", "owner": "bool", "job": "category", "area": "category"},
    "nullable": {"cards": "Int16", "share": "Float32", "owner": "boolean", "job": "string", "area": "category"},
    "pyarrow": ARROW,
    **{f"{name} of pyarrow": {name: dtype} for name, dtype in ARROW.items()},
}


def _frame(backing: str, people: int = 80) -> pd.DataFrame:
    """People, some of them without a number of cards, in columns of these dtypes."""
    random = np.random.default_rng(0)
    cards = pd.Series(random.integers(0, 9, people), dtype="Int64")
    cards[random.random(people) < 0.15] = pd.NA
    share = np.round(random.random(people), 3).astype(np.float32)
    columns = {
        "cards": cards,
        "share": pd.Series(share),
        "owner": pd.Series(random.random(people) < 0.5),
        "job": pd.Series(random.choice(["clerk", "nurse", "pilot"], people)),
        "area": pd.Series(random.choice(["north", "south"], people)),
    }
    dtypes = {**BACKINGS["numpy"], **BACKINGS[backing]}
    if dtypes["area"] == "dictionary":
        arrow = pytest.importorskip("pyarrow")
        dtypes["area"] = pd.ArrowDtype(arrow.dictionary(arrow.int32(), arrow.string()))
    if any("pyarrow" in str(dtype) for dtype in dtypes.values()):
        pytest.importorskip("pyarrow")
    return pd.DataFrame({name: column.astype(dtypes[name]) for name, column in columns.items()})


def _merit(frame: pd.DataFrame) -> np.ndarray:
    """A score by the cells' own Python values; a missing number of cards counts like none."""
    cards = [0 if pd.isna(value) else int(value) for value in frame["cards"].tolist()]
    levels = zip(frame["owner"].tolist(), frame["job"].tolist(), frame["area"].tolist(), strict=True)
    bonus = [0.3 * bool(owner) + 0.2 * (job == "pilot") - 0.1 * (area == "south") for owner, job, area in levels]
    return np.array(cards) / 8 + np.array([float(value) for value in frame["share"].tolist()]) + np.array(bonus) - 1


def _recorded() -> tuple[Any, list[pd.DataFrame]]:
    """A model's probabilities, and the frames that it is asked about."""
    seen: list[pd.DataFrame] = []

    def probabilities(frame: Any) -> np.ndarray:
        seen.append(frame.copy() if isinstance(frame, pd.DataFrame) else frame.to_pandas())
        chance = 1 / (1 + np.exp(-4 * _merit(seen[-1])))
        return np.column_stack((1 - chance, chance))

    return probabilities, seen


@pytest.mark.parametrize("backing", BACKINGS)
def test_the_model_is_asked_about_the_users_own_rows(backing: str) -> None:
    X = _frame(backing)
    probabilities, seen = _recorded()
    explainer = GrowingSpheres(SCHEMA, figures=False, laws=None, budget=300).fit(X)
    result = explainer.explain(Model(probabilities, classes=["no", "yes"]), X, target="yes")
    desired = probabilities(X)[:, 1] > 0.5
    assert 10 < desired.sum() < 70
    assert [status is Status.ALREADY_DESIRED for status in result.statuses] == desired.tolist()
    asked = [frame for frame in seen[:-1] if len(frame) == len(X)]
    assert any(frame.reset_index(drop=True).equals(X) for frame in asked)
    assert all((frame.dtypes == X.dtypes).all() for frame in seen)


@pytest.mark.parametrize("backing", BACKINGS)
def test_the_decision_is_that_of_predict(backing: str) -> None:
    X = _frame(backing)
    y = np.where(_merit(X) + np.random.default_rng(1).normal(0, 0.2, len(X)) > 0, "yes", "no")
    coder = make_column_transformer(
        (SimpleImputer(), ["cards", "share"]), (OneHotEncoder(handle_unknown="ignore"), ["owner", "job", "area"])
    )
    try:
        model = make_pipeline(coder, LogisticRegression()).fit(X, y)
    except (TypeError, ValueError) as error:
        pytest.skip(f"scikit-learn does not take these columns: {error}")
    told = [model.predict(X.iloc[[i]])[0] for i in range(len(X))]
    result = GrowingSpheres(SCHEMA, figures=False, laws=None, budget=300).fit(X, y).explain(model, X, target="yes")
    assert [status is Status.ALREADY_DESIRED for status in result.statuses] == [label == "yes" for label in told]


@pytest.mark.parametrize("backing", ["numpy", "float32", "nullable", "pyarrow"])
def test_arrow_tables_are_decided_about_as_the_frames_they_become(backing: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    # without the names of pandas dtypes, of which pandas cannot read its own for a dictionary
    table = arrow.Table.from_pandas(_frame(backing), preserve_index=False).replace_schema_metadata(None)
    X = table.to_pandas()
    probabilities, seen = _recorded()
    explainer = GrowingSpheres(SCHEMA, figures=False, laws=None, budget=300).fit(table)
    result = explainer.explain(Model(probabilities, classes=["no", "yes"]), table, target="yes")
    desired = probabilities(X)[:, 1] > 0.5
    assert [status is Status.ALREADY_DESIRED for status in result.statuses] == desired.tolist()
    own = [tuple(row) for row in X.astype(object).where(X.notna(), None).to_numpy()]
    asked = [frame.astype(object).where(frame.notna(), None) for frame in seen[:-1] if len(frame) == len(X)]
    assert any([tuple(row) for row in frame.to_numpy()] == own for frame in asked)


@pytest.mark.parametrize("dtype", ["object", "string", "category", "string[pyarrow]"])
def test_people_are_decided_about_in_the_dtypes_of_the_training_data(dtype: str) -> None:
    """To an encoder that learned NaN as a level, `pd.NA` is another value: asked as it is, the model would see it."""
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    random = np.random.default_rng(2)
    job = np.where(random.random(200) < 0.3, None, random.choice(["clerk", "nurse"], 200))
    X = pd.DataFrame({"share": np.round(random.random(200), 2), "job": pd.Series(job, dtype=object).fillna(np.nan)})
    y = np.where(X["share"] + 0.8 * X["job"].isna() + random.normal(0, 0.1, 200) > 0.8, "yes", "no")
    coder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["job"]), remainder="passthrough")
    model = make_pipeline(coder, LogisticRegression()).fit(X, y)
    schema = Schema((Feature("share", "real"), Feature("job", "categorical", levels=("clerk", "nurse"))))
    people = X.assign(job=X["job"].astype(dtype))
    result = GrowingSpheres(schema, figures=False, laws=None, budget=300).fit(X, y).explain(model, people, target="yes")
    told = model.predict(people.assign(job=people["job"].astype(object).where(people["job"].notna(), np.nan)))
    assert (told == model.predict(X)).all()
    assert [status is Status.ALREADY_DESIRED for status in result.statuses] == [label == "yes" for label in told]
