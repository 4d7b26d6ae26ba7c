"""A service of made-up people and a logistic regression, and clients of it."""

from functools import cache
from typing import Any

import pandas as pd
from fastapi import FastAPI
from starlette.testclient import TestClient

from attain import Guarded
from attain.desk.service import ServiceLimits, create_app
from attain.testing import people
from tests.counting import PATIENCE

TOKEN = "a-token-of-the-tests"
MANY = ServiceLimits(rate=1e6, burst=1_000_000, seconds=PATIENCE)
"""Limits under which tests may ask as fast as they can."""


@cache
def trained() -> tuple[Guarded, Any, pd.DataFrame]:
    """An explainer, a model, and people who were not seen."""
    X = people.frame(260)
    y = people.labels(X)
    train = X.iloc[:200]
    model = people.linear_model(train, y[train.index])
    explainer = Guarded(people.schema(), random_state=0).fit(train, y[train.index])
    # what is read out of a model is kept: the first answer asks it about training rows, later ones do not
    explainer.explain(model, X.iloc[200:], target=people.DESIRED, contributions=True)
    return explainer, model, X.iloc[200:]


def app_of(**changed: Any) -> FastAPI:
    """A service, with some arguments changed."""
    explainer, model, others = trained()
    given = {"target": people.DESIRED, "people": others, "token": TOKEN, "limits": MANY, **changed}
    return create_app(given.pop("explainer", explainer), given.pop("model", model), **given)


@cache
def shared() -> FastAPI:
    """A service that tests share, because they do not change it."""
    return app_of()


def client_of(app: FastAPI, token: str | None = TOKEN, **given: Any) -> TestClient:
    """A client that knows the token."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return TestClient(app, base_url="http://127.0.0.1:8765", headers=headers, **given)


def refused() -> list[str]:
    """The ids of people whom the model refuses."""
    _, model, others = trained()
    return others.index[model.predict(others) == people.REFUSED].tolist()


def record_of(person: str) -> dict[str, Any]:
    """Somebody's record as JSON has it."""
    row = trained()[2].loc[person]
    return {name: None if row[name] != row[name] else _plain(row[name]) for name in row.index}


def _plain(cell: Any) -> Any:
    return cell.item() if hasattr(cell, "item") else cell
