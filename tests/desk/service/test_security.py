"""Who may ask, and how much."""

import json
import logging
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from attain import AttainError, Feature, Guarded, Schema
from attain.desk.service import ServiceLimits, create_app
from tests.desk.service.world import TOKEN, app_of, client_of, record_of, refused, shared, trained

PATHS = ["/schema", "/people", "/people/p1", "/openapi.json"]
POSTS = ["/predict", "/explain", "/evaluate", "/compare", "/letter", "/report"]


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "ü", TOKEN.upper()])
def test_nothing_is_told_without_the_token(token: str | None) -> None:
    client = client_of(shared(), None)
    headers = {} if token is None else {b"Authorization": f"Bearer {token}".encode()}
    for path in PATHS:
        assert client.get(path, headers=headers).status_code == 401, path
    for path in POSTS:
        answer = client.post(path, headers=headers, json={})
        assert answer.status_code == 401, path
        assert answer.json()["error"]["field"] == "Authorization"


def test_the_token_of_the_address_becomes_a_strict_cookie() -> None:
    client = client_of(shared(), None)
    answer = client.get("/", params={"token": TOKEN}, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.get("/schema").status_code == 200
    assert client_of(shared(), None).get("/", params={"token": "wrong"}, follow_redirects=False).status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.", "127.0.0.1@evil", "", "[::2]"]
)
def test_foreign_hosts_are_refused(host: str) -> None:
    """DNS rebinding: another name that leads to this machine."""
    answer = client_of(shared()).get("/schema", headers={"Host": host})
    assert (answer.status_code, answer.json()["error"]["field"]) == (403, "Host")


FOREIGN = ("http://evil.example", "null", "http://127.0.0.1:9999", "https://localhost:8765", "x")


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, *({"Origin": origin} for origin in FOREIGN)])
def test_foreign_origins_are_refused(headers: dict[str, str]) -> None:
    assert client_of(shared()).post("/predict", headers=headers, json={}).status_code == 403


OWN = [{"Host": host} for host in ("127.0.0.1:8765", "localhost:1", "LOCALHOST", "[::1]:8765")]


@pytest.mark.parametrize("headers", [*OWN, {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"}])
def test_own_hosts_and_the_own_origin_are_answered(headers: dict[str, str]) -> None:
    question = {"record": record_of(refused()[0])}
    assert client_of(shared()).post("/predict", headers=headers, json=question).status_code == 200


def test_every_answer_has_the_headers_of_safety() -> None:
    client = client_of(shared())
    for answer in (client.get("/schema"), client.get("/nothing"), client.get("/", headers={"Authorization": ""})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert client.get("/schema").headers["cache-control"] == "no-store"
    assert "server" not in client.get("/schema").headers


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff", b"[" * 100_000, b'{"record": ' * 50_000),
        *(b'{"person": ' + b"9" * 5_000 + b"}", b'{"record": {"a": NaN}}', b'{"record": {}, "person": "p1"}'),
        *(b'{"record": {"a": [1]}}', b'{"record": {"a": {"b": 1}}}', b"{}", b'{"record": null}', b'{"unknown": 1}'),
    ],
)
def test_malformed_questions_get_a_sentence(body: bytes) -> None:
    client = client_of(shared())
    for path in ("/predict", "/explain", "/evaluate"):
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (404, 422), (path, answer.text)
        assert answer.json()["error"]["message"].endswith((".", "?"))


@pytest.mark.parametrize("name", ["income", "education"])
def test_limits_that_no_float_holds_get_a_sentence(name: str) -> None:
    body = json.dumps({"person": refused()[0], "ranges": {name: [None, 10**400]}})
    answer = client_of(shared()).post("/explain", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert "constraints['bounds']" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "cell",
    [1e400, -1e400, float("nan"), 10**400, -1, "x", True, None, "\ud800", "\x00", 0.1, ""],
    ids=lambda cell: ascii(cell)[:9],
)
@pytest.mark.parametrize("name", ["income", "cards", "education", "mortgage", "months_late", "sex"])
def test_strange_cells_do_no_harm(name: str, cell: Any) -> None:
    body = json.dumps({"record": {**record_of(refused()[0]), name: cell}}).encode()
    client = client_of(shared())
    answer = client.post("/predict", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == (422 if cell == "\ud800" else 200), answer.text
    if answer.status_code == 422:
        return
    (one,) = answer.json()["answers"]
    assert (one["decision"] is None) == (one["unreadable"] is not None)


def test_large_questions_are_refused() -> None:
    client = client_of(app_of(limits=ServiceLimits(rate=1e6, burst=10**6, body=5_000, rows=2)))
    record = record_of(refused()[0])
    assert client.post("/predict", json={"records": [record] * 2}).status_code == 200
    many = client.post("/predict", json={"records": [record] * 3})
    assert many.status_code == 413
    assert many.json()["error"]["message"] == "records has 3 rows; at most 2 are taken."
    assert client.post("/predict", content=b" " * 5_001).status_code == 413

    def pieces() -> Any:
        for _ in range(60):
            yield b" " * 100

    answer = client.post("/predict", content=pieces(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


def test_too_many_questions_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attain.desk.service.security.time", SimpleNamespace(monotonic=lambda: 0.0))
    client = client_of(app_of(limits=ServiceLimits(rate=0.1, burst=3)))
    statuses = [client.get("/schema").status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    answer = client.get("/schema")
    assert answer.headers["retry-after"] == "11"
    assert client.get("/health").status_code == 200


def test_names_from_data_stay_data() -> None:
    """Column names, levels and ids that look like markup come back as the same JSON."""
    name, level, person = "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "../../etc/passwd"
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: random.normal(size=60), "b": random.choice([level, "x"], 60)})
    y = np.where(X[name] > 0, "yes", "no")
    schema = Schema((Feature(name, "real"), Feature("b", "categorical", levels=(level, "x"))))
    model = LogisticRegression().fit(X[[name]], y)

    def decide(frame: Any) -> Any:
        return model.predict(frame[[name]])

    explainer = Guarded(schema, laws=None).fit(X, y)
    from attain import Model

    someone = X[y == "no"].iloc[:1].set_axis([person])
    app = create_app(explainer, Model(decide, classes=["no", "yes"]), target="yes", people=someone, token=TOKEN)
    client = client_of(app)
    assert client.get("/schema").json()["features"][0]["name"] == name
    (found,) = client.get("/people").json()["people"]
    assert found["id"] == person
    answer = client.post("/explain", json={"person": person, "n": 1})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["options"][0]["changes"][0]["feature"] == name
    report = client.post("/report", json={"person": person})
    assert b"<img src=x" not in report.content
    assert b"<script>alert" not in report.content


@pytest.mark.parametrize("person", ["nobody", "..%252fp201", "p201%00", "p" * 900, "p" * 5000])
def test_unknown_people_are_not_found(person: str) -> None:
    assert client_of(shared()).get(f"/people/{person}").status_code in (404, 422)


def test_the_page_has_only_its_own_files() -> None:
    client = client_of(shared())
    for path in ("/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "/page/../app.py", "/service/app.py", "/__init__.py"):
        assert client.get(path).status_code in (404, 405), path


def test_the_log_has_nothing_that_was_sent(caplog: pytest.LogCaptureFixture) -> None:
    app = app_of()
    client = client_of(app)
    secret = "a secret of somebody"
    with caplog.at_level(logging.DEBUG):
        client.post("/predict", json={"record": {**record_of(refused()[0]), "education": secret}})
        client.get("/people", params={"search": secret})
        client.get(f"/people/{secret}")
    assert secret not in "".join(record.getMessage() for record in caplog.records if "attain" in record.name)


def test_a_failure_is_answered_and_logged_without_its_message(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from attain.desk.service.people import Roster

    def fail(*given: Any) -> Any:
        raise RuntimeError("a secret of somebody")

    app = app_of()
    monkeypatch.setattr(Roster, "page", fail)
    with caplog.at_level(logging.DEBUG):
        answer = client_of(app).get("/people")
    assert answer.status_code == 500
    assert answer.json()["error"]["message"].startswith("The service failed")
    assert re.search(r"RuntimeError at .*test_security.py:\d+", caplog.text)
    assert "secret" not in caplog.text


def test_a_short_token_is_refused() -> None:
    with pytest.raises(AttainError, match="at least 16"):
        client_of(app_of(token="short")).get("/health")


def test_people_need_ids_of_their_own() -> None:
    _, _, others = trained()
    with pytest.raises(AttainError, match="same label"):
        app_of(people=pd.concat([others, others]))
