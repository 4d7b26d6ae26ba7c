"""Schemathesis over every address: whatever is sent, the answer is one that the documentation has, and no failure."""

import os
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from sklearn.linear_model import LogisticRegression

from attain import Feature, Guarded, Schema
from attain.desk.service import create_app
from tests.desk.service.world import MANY, TOKEN, client_of

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SHARE = 1 if os.environ.get("ATTAIN_THOROUGH") else 20
"""In every run one case in so many."""
CASES = {"/predict": 250, "/evaluate": 250}
CASES |= dict.fromkeys(["/explain", "/compare", "/letter", "/report"], 25)
USUAL = 100
"""How many cases each address gets: fewer where each takes long."""


@cache
def app() -> Any:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=80).round(2), "b": random.integers(0, 5, 80)})
    X["c"] = random.choice(["x", "y"], 80)
    y = np.where(X["a"] + X["b"] > 2, "yes", "no")
    schema = Schema(
        (
            Feature("a", "real", bounds=(-5, 5)),
            Feature("b", "count", bounds=(0, 9), special={-1: "unknown"}),
            Feature("c", "categorical", levels=("x", "y")),
        ),
        rules=("if c = y then b <= 8",),
    )
    from attain import Model

    linear = LogisticRegression().fit(X[["a", "b"]].to_numpy(), y)
    model = Model(lambda frame: linear.predict_proba(frame[["a", "b"]].to_numpy()), classes=["no", "yes"])
    explainer = Guarded(schema, budget=300, random_state=0).fit(X, y)
    texts = {"inputs": {name: {"en": {"label": name, "text": f"{name} counts."}} for name in schema.names}}
    return create_app(explainer, model, target="yes", people=X.iloc[:20], texts=texts, token=TOKEN, limits=MANY)


@pytest.mark.hypothesis
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_question_makes_the_service_fail(mode: GenerationMode) -> None:
    client = client_of(app())
    api = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    asked = 0
    for found in api.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=max(2, CASES.get(operation.path, USUAL) // SHARE),
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: Any) -> None:
            nonlocal asked
            given = case.as_transport_kwargs(base_url="http://127.0.0.1:8765")
            given.pop("cookies", None)
            if "data" in given:
                given["content"] = given.pop("data")
            given["headers"] = {**given.get("headers", {}), "Authorization": f"Bearer {TOKEN}"}
            answer = client.request(**given)
            asked += 1
            case.validate_response(answer, checks=CHECKS)

        with suppress(Unsatisfiable):  # where nothing can be sent, nothing wrong can be
            ask()
    assert asked >= 1_000 / SHARE
