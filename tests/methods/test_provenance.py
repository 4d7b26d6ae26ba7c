"""The settings of a result: JSON that names what the answers follow from, the same whenever they are the same."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import attain
from attain.core.files import as_json

SCHEMA = attain.Schema((attain.Feature("a", "real"), attain.Feature("b", "real"), attain.Feature("c", "count")))


def training() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=80), "b": random.normal(size=80), "c": random.integers(0, 9, 80)})
    return X, np.where(X["a"] + X["b"] > 0, "good", "bad")


X, Y = training()
MODEL = LogisticRegression().fit(X, Y)
REFUSED = X[MODEL.predict(X) == "bad"].iloc[:3]


def explainer(schema: attain.Schema = SCHEMA, **parameters: Any) -> attain.GrowingSpheres:
    return attain.GrowingSpheres(schema, laws=None, **parameters)


def settings(fitted: Any, model: Any = MODEL, **asked: Any) -> dict[str, Any]:
    return dict(fitted.explain(model, REFUSED, **{"target": "good", **asked}).settings)


@pytest.fixture(scope="module")
def fitted() -> attain.GrowingSpheres:
    return explainer(random_state=7).fit(X, Y)


def test_they_hold_what_was_asked_and_of_whom(fitted: Any) -> None:
    constraints = {
        "immutable": {"c"},
        "range": {"a": (0, np.float64(2))},
        "people": {REFUSED.index[0]: {"max_changes": 1}},
    }
    found = settings(fitted, n=2, probability=0.6, constraints=constraints)
    asked = {
        "target": "good",
        "probability": 0.6,
        "n": 2,
        "ranges": False,
        "importance": False,
        "errors": "status",
        "timeout": 60.0,
    }
    assert asked.items() <= found.items()
    assert found["constraints"] == {
        "immutable": ["c"],
        "range": {"a": [0, 2.0]},
        "people": [{"person": int(REFUSED.index[0]), "max_changes": 1}],
    }
    assert (found["method"], found["seed"], found["parameters"]["budget"]) == ("GrowingSpheres", 7, fitted.budget)
    assert found["versions"]["attain"] == attain.__version__
    assert found["model"]["class"] == "sklearn.linear_model._logistic.LogisticRegression"
    assert found["model"]["classes"] == ["bad", "good"]
    assert {"rows": 80, "columns": 3, "labels": True}.items() <= found["training"].items()


def test_they_are_json_and_survive_it(fitted: Any) -> None:
    result = fitted.explain(MODEL, REFUSED, target="good")
    assert json.loads(json.dumps(result.settings)) == result.settings
    assert attain.Counterfactuals.from_json(result.to_json()).settings == result.settings


def test_equal_fits_have_equal_settings(fitted: Any) -> None:
    assert settings(explainer(random_state=7).fit(X, Y)) == settings(fitted)


def test_a_drawn_seed_is_named(fitted: Any) -> None:
    drawn = explainer(random_state=None).fit(X, Y)
    assert settings(drawn)["seed"] == drawn.drawn_seed_


def test_one_cell_or_label_or_level_changes_the_training_digest_and_a_rule_does_not(fitted: Any) -> None:
    own = settings(fitted)
    cell, label = X.copy(), Y.copy()
    cell.loc[5, "a"] += 1e-9
    label[5] = "bad" if label[5] == "good" else "good"
    for other in (explainer().fit(cell, Y), explainer().fit(X, label), explainer().fit(X)):
        assert settings(other)["training"]["digest"] != own["training"]["digest"]
        assert settings(other)["explainer_digest"] != own["explainer_digest"]
    ruled = settings(explainer(attain.Schema(SCHEMA.features, rules=["a <= 100"])).fit(X, Y))
    assert ruled["training"] == own["training"]
    assert ruled["explainer_digest"] != own["explainer_digest"]


def test_parameters_of_the_search_are_no_part_of_what_was_learned(fitted: Any) -> None:
    assert (
        settings(explainer(random_state=7, budget=99).fit(X, Y))["explainer_digest"]
        == settings(fitted)["explainer_digest"]
    )


def test_a_model_is_known_by_its_answers(fitted: Any) -> None:
    def digest(model: Any, **asked: Any) -> str:
        return str(settings(fitted, model, **asked)["model"]["answers_digest"])

    again, other = LogisticRegression().fit(X, Y), LogisticRegression(C=0.9).fit(X, Y)
    assert digest(again) == digest(MODEL) == digest(MODEL, probability=0.7) == digest(MODEL, target="bad")
    assert digest(other) != digest(MODEL)


def test_a_function_is_named_and_gives_labels(fitted: Any) -> None:
    def of_module(name: str | None) -> Any:
        def decide(frame: pd.DataFrame) -> Any:
            return MODEL.predict(frame)

        decide.__module__ = name  # type: ignore[assignment]
        return settings(fitted, decide)["model"]

    assert of_module(None)["library"] == "unknown"  # as of a function that exec has made
    found = of_module("scoring.models")
    assert found["library"] == "scoring"
    assert found["class"].endswith("decide")
    assert found["classes"] == ["bad", "good"]


def test_no_training_rows_no_digest_of_them(fitted: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "e.attain", reference="none")
    found = settings(attain.load(tmp_path / "e.attain"))
    assert found["training"] == {"rows": None, "columns": 3, "labels": False, "digest": None}


def test_a_parameter_that_cannot_be_saved_is_named_by_its_class(fitted: Any) -> None:
    class Own:
        pass

    other = explainer().fit(X, Y).set_params(figures=Own())
    assert other.explain(MODEL, REFUSED, target="good").settings["parameters"]["figures"].endswith("Own")


def test_what_json_lacks_is_text() -> None:
    odd = {1: (np.int64(2), float("inf")), "x": pd.Timestamp("2026-01-02"), "s": {"b", "a"}, "m": np.eye(1)}
    assert as_json(odd) == {"1": [2, "inf"], "x": "2026-01-02 00:00:00", "s": ["a", "b"], "m": [[1.0]]}
