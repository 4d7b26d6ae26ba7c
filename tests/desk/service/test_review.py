"""The review of the schema: what the service says is what `Review` says, and the decisions are in the schema."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from attain import Guarded, Review, Schema
from attain.testing import people
from tests.desk.service.world import app_of, client_of, trained


@cache
def unreviewed() -> Guarded:
    X, schema = people.frame(200), people.schema()
    return Guarded(schema.change(schema.names, reviewed=""), random_state=0).fit(X, people.labels(X))


def client() -> TestClient:
    return client_of(app_of(explainer=unreviewed()))


def decided(client: TestClient, asked: dict[str, Any], key: str, by: str = "Ada", **more: Any) -> dict[str, Any]:
    answer = client.post("/review/decide", json={"id": asked["question"]["id"], "key": key, "by": by, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_scripted_reviewer_decides_as_in_python(tmp_path: Path) -> None:
    own, page = Review(unreviewed(), trained()[1], target=people.DESIRED), client()
    state = page.get("/review").json()
    script = iter([("d", ["debt"]), ("c", ["share_used"])])
    while not state["done"]:
        asked = own.questions()[0]
        key, columns = next(script, ("n", None))
        assert state["questions"][0]["question"]["id"] == asked.question.id
        assert (state["questions"][0]["answers"], state["questions"][0]["example"]) == (asked.answers, asked.example)
        for choice in state["questions"][0]["question"]["choices"]:
            if choice["key"] not in "emr":
                own.outlook(asked.question.id, choice["key"], columns=choice["columns"])  # is not refused
        assert state["unreviewed"] == own.share_unreviewed > 0
        own.decide(asked.question.id, key, "Ada", columns=columns)
        state = decided(page, state["questions"][0], key, columns=columns)
    assert own.done
    assert (state["questions"], state["unreviewed"]) == ([], 0)
    assert state["found"] == own.result.found.sum()
    assert all(one["by"] == "Ada" and one["reviewed"].startswith("Ada, 20") for one in state["decisions"])
    answer = page.get("/review/schema")
    assert 'filename="schema.toml"' in answer.headers["content-disposition"]
    (tmp_path / "schema.toml").write_bytes(answer.content)
    assert Schema.from_toml(tmp_path / "schema.toml") == own.schema
    assert own.schema["debt"].direction == "decrease"


def test_what_a_choice_would_do_is_what_it_does() -> None:
    page = client()
    before = page.get("/review").json()
    first = before["questions"][0]
    told = page.post("/review/outlook", json={"id": first["question"]["id"], "key": "n", "columns": ["debt"]}).json()
    assert page.get("/review").json() == before  # nothing is decided
    assert "debt from" not in told["example"]
    after = decided(page, first, "n", columns=["debt"])
    assert (after["found"], after["total_shift"]) == (told["found"], told["total_shift"])
    assert told["lost"] == before["found"] - after["found"] > 0
    assert told["others"] > 0
    same = page.post("/review/outlook", json={"id": after["questions"][0]["question"]["id"], "key": "c"}).json()
    assert (same["lost"], same["others"], same["example"]) == (0, 0, None)


def test_levers_say_how_many_answers_change_what() -> None:
    state = client().get("/review").json()
    levers = Review(unreviewed(), trained()[1], target=people.DESIRED).result.levers()
    assert [(one["feature"], one["answers"], one["up"], one["down"]) for one in state["levers"]] == list(
        levers[["feature", "answers", "up", "down"]].itertuples(index=False, name=None)
    )


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ({"id": "change: nothing"}, "no open question is called 'change: nothing'"),
        ({"key": "z"}, "has no choice 'z'"),
        ({"columns": ["age"]}, "columns must be some of"),
        ({"by": " "}, "by must be the name"),
        ({"by": ""}, "by: "),
    ],
)
def test_what_cannot_be_decided_gets_a_sentence(question: dict[str, Any], told: str) -> None:
    page = client()
    before = page.get("/review").json()
    asked = {"id": before["questions"][0]["question"]["id"], "key": "n", "by": "Ada"}
    answer = page.post("/review/decide", json=asked | question)
    assert answer.status_code == 422
    assert told in answer.json()["error"]["message"]
    assert page.get("/review").json() == before
