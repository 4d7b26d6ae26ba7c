"""Kernels put to use by `explain`, and the same bytes with and without them."""

from __future__ import annotations

import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from attain import Counterfactuals, Guarded
from attain.core import compiled
from attain.datasets import load_german
from attain.testing.explainer import digest
from tests.both_paths import by

LEVELS = make_column_selector(dtype_exclude="number")
NUMBERS = make_column_selector(dtype_include="number")


@pytest.mark.parametrize("classifier", ["linear", "trees"])
@pytest.mark.parametrize("density", [None, "trees"])
def test_german_credit_has_the_same_answers_with_kernels_and_without(classifier: str, density: str | None) -> None:
    data = load_german()
    linear = classifier == "linear"
    model = LogisticRegression(max_iter=500) if linear else HistGradientBoostingClassifier(max_iter=20, random_state=0)
    encoder = make_column_transformer(
        (StandardScaler(), NUMBERS), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), LEVELS)
    )
    model = make_pipeline(encoder, model).fit(data.X, data.y)
    people = data.X[model.predict(data.X) != data.desired].iloc[:12]

    def answered() -> Counterfactuals:
        explainer = Guarded(data.schema, density=density).fit(data.X, data.y)
        return explainer.explain(model, people, target=data.desired, n=2)

    assert digest(by(False, answered)) == digest(by(True, answered))


@pytest.mark.parametrize(("cached", "expected"), [(True, [False, True, True]), (False, [False, False, True])])
def test_kernels_are_put_to_use_where_the_number_of_rows_is_worth_it(
    monkeypatch: pytest.MonkeyPatch, cached: bool, expected: list[bool]
) -> None:
    monkeypatch.setattr(compiled, "_cached", lambda: cached)
    used = []
    for rows in (99, 100, 3_000):
        monkeypatch.setattr(compiled, "_in_use", False)
        compiled.load_for(rows)
        used.append(compiled._in_use)
    assert used == expected
