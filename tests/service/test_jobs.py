"""Whole files: progress, cancelling, results."""

import json
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from attain.service import Limits
from attain.service.work import Job
from attain.testing import people
from tests.service.world import MANY, app_of, client_of, refused, trained


@pytest.fixture(scope="module")
def client() -> TestClient:
    return client_of(app_of())


def csv_of(number: int) -> bytes:
    _, _, others = trained()
    return others.loc[refused()[:number]].to_csv().encode()


def started(client: TestClient, body: bytes, **query: Any) -> str:
    answer = client.post("/jobs", params={"format": "csv", **query}, content=body)
    assert answer.status_code == 202, answer.text
    name: str = answer.json()["id"]
    return name


def ended(client: TestClient, name: str) -> dict[str, Any]:
    for _ in range(600):
        answer = client.get(f"/jobs/{name}").json()
        if answer["state"] not in ("waiting", "running"):
            return dict(answer)
        time.sleep(0.05)
    raise AssertionError("the job did not end")


def test_a_file_is_answered_as_by_the_library(client: TestClient, tmp_path: Path) -> None:
    explainer, model, others = trained()
    name = started(client, csv_of(10), index="who", n=2)
    state = ended(client, name)
    chosen = others.loc[refused()[:10]]
    result = explainer.explain(model, chosen, target=people.DESIRED, n=2)
    assert state["state"] == "done"
    assert (state["done"], state["total"], state["found"]) == (10, 10, int(result.found.sum()))
    answer = client.get(f"/jobs/{name}/result", params={"format": "csv"})
    result.to_csv(tmp_path / "answers.csv")
    assert answer.content == (tmp_path / "answers.csv").read_bytes()
    whole = client.get(f"/jobs/{name}/result", params={"format": "json"}).json()
    assert whole["rows"] == json.loads(result.to_json())["rows"]
    report = client.get(f"/jobs/{name}/result", params={"format": "report"})
    assert report.text.startswith("<!doctype html>")
    assert client.get(f"/jobs/{name}/result", params={"format": "xlsx"}).content.startswith(b"PK")


def test_parquet_files_are_read(client: TestClient, tmp_path: Path) -> None:
    _, _, others = trained()
    others.loc[refused()[:2]].to_parquet(tmp_path / "people.parquet")
    name = started(client, (tmp_path / "people.parquet").read_bytes(), format="parquet")
    assert ended(client, name)["state"] == "done"
    read = client.get(f"/jobs/{name}/result", params={"format": "json"}).json()
    assert len(read["statuses"] if "statuses" in read else read["status"]) == 2


def test_how_far_a_job_is_can_be_asked(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, looked, report = threading.Event(), threading.Event(), Job.report

    def slowly(job: Job, done: int, total: int, found: int) -> None:
        report(job, done, total, found)
        if 0 < done < total:
            asked.set()
            assert looked.wait(20)

    monkeypatch.setattr(Job, "report", slowly)
    name = started(client, csv_of(12), index="who")
    assert asked.wait(20)
    state = client.get(f"/jobs/{name}").json()
    looked.set()
    assert state["state"] == "running"
    assert 0 < state["done"] < state["total"] == 12
    assert ended(client, name)["done"] == 12


def test_a_job_can_be_cancelled(client: TestClient) -> None:
    body = pd.concat([trained()[2].loc[refused()]] * 20, ignore_index=True).to_csv(index=False).encode()
    name = started(client, body)
    while client.get(f"/jobs/{name}").json()["done"] == 0:
        time.sleep(0.02)
    early = client.get(f"/jobs/{name}/result")
    assert early.status_code == 422
    client.delete(f"/jobs/{name}")
    state = ended(client, name)
    assert state["state"] == "cancelled"
    assert 0 < state["done"] < state["total"]
    answers = client.get(f"/jobs/{name}/result", params={"format": "csv"}).text
    assert "INTERRUPTED" in answers
    assert "FOUND" in answers
    assert client.delete(f"/jobs/{name}").status_code == 200
    assert client.get(f"/jobs/{name}").status_code == 404


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n", "lacks columns"),
        (b"\xff\xfe\x00", "file"),
        (b"PAR1nothing", "columns"),
        (b"a,a\n1,2\n", "same name"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(client: TestClient, body: bytes, told: str) -> None:
    name = started(client, body)
    state = ended(client, name)
    assert state["state"] == "failed"
    assert told in state["message"]
    assert "/" not in state["message"]
    assert "--" not in state["message"]
    answer = client.get(f"/jobs/{name}/result")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == state["message"]


def broken(number: int, of: int) -> bytes:
    """A file whose first rows have a word where a number must be."""
    _, _, others = trained()
    chosen = others.loc[refused()[:of]].astype({"income": object})
    chosen.iloc[:number, list(chosen.columns).index("income")] = "much"
    return chosen.to_csv().encode()


def test_a_file_with_nobody_readable_fails(client: TestClient) -> None:
    state = ended(client, started(client, broken(5, 5), index="who"))
    assert state["state"] == "failed"
    assert "None of the 5 rows could be read" in state["message"]
    assert "income" in state["message"]
    assert "Keine der 5 Zeilen" in state["messages"]["de"]


def test_a_file_with_some_unreadable_rows_says_how_many(client: TestClient) -> None:
    state = ended(client, started(client, broken(2, 5), index="who"))
    assert state["state"] == "done"
    assert "2 of 5 rows could not be read" in state["message"]
    assert state["found"] == 3


def test_a_parquet_file_that_is_none_says_so(client: TestClient) -> None:
    assert "Parquet" in ended(client, started(client, b"no", format="parquet"))["message"]


def bomb(path: Path, name: str) -> bytes:
    """A small file of Parquet with a column of a gigabyte and more: one long text in every row."""
    cells = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), ["x" * 100_000])
    columns = {column: pa.array([0.0] * 20_000) for column in people.schema().names} | {name: cells}
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=False)
    return path.read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold a process to a limit of memory")
def test_a_small_file_that_becomes_large_costs_neither_memory_nor_the_service(tmp_path: Path) -> None:
    client = client_of(app_of(limits=Limits(rate=1e6, burst=10**6, memory=300_000_000)))
    unknown, known = bomb(tmp_path / "a.parquet", "unknown"), bomb(tmp_path / "b.parquet", "education")
    assert len(unknown) < 10_000
    # a process begins with the most memory that the one had that started it
    before = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    state = ended(client, started(client, unknown, format="parquet"))
    assert "None of the 20,000 rows could be read" in state["message"]  # its column is not read
    state = ended(client, started(client, known, format="parquet"))
    assert state["message"] == "the file would become too large in memory; send fewer rows or columns"
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < before + 300_000  # kB


def test_an_upload_that_is_refused_leaves_nothing() -> None:
    app = app_of(limits=Limits(rate=1e6, burst=10**6, jobs=1))
    client, others = client_of(app), []

    def body() -> Any:
        yield csv_of(2)
        others.append(client_of(app).post("/jobs", params={"format": "csv"}, content=csv_of(1)))

    ended(client, client.post("/jobs", params={"format": "csv", "index": "who"}, content=body()).json()["id"])
    assert [other.status_code for other in others] == [429]
    assert list(Path(app.state.jobs._folder.name).iterdir()) == []


def test_files_have_limits() -> None:
    app = app_of(limits=Limits(rate=1e6, burst=10**6, upload=2_000, people=3, jobs=2))
    small = client_of(app)
    answer = small.post("/jobs", params={"format": "csv"}, content=b"x" * 2_001)
    assert answer.status_code == 413
    assert "2,000 bytes" in answer.json()["error"]["message"]

    def pieces() -> Any:
        for _ in range(30):
            yield b"x" * 100

    assert small.post("/jobs", params={"format": "csv"}, content=pieces()).status_code == 413
    assert list(Path(app.state.jobs._folder.name).iterdir()) == []  # nor does what came of it stay
    state = ended(small, started(small, csv_of(5), index="who"))
    assert state["message"] == "the file has 5 rows; at most 3 are taken"


def test_an_old_job_makes_room_for_a_new_one() -> None:
    small = client_of(app_of(limits=Limits(rate=1e6, burst=10**6, jobs=2)))
    first, second, third = (ended(small, started(small, b""))["id"] for _ in range(3))
    assert small.get(f"/jobs/{first}").status_code == 404
    assert small.get(f"/jobs/{second}").status_code == 200
    assert small.get(f"/jobs/{third}").status_code == 200


@pytest.mark.parametrize("name", ["..%2f..%2fetc%2fpasswd", "a" * 150, "%00", "*"])
def test_unknown_jobs_are_not_found(client: TestClient, name: str) -> None:
    for path in (f"/jobs/{name}", f"/jobs/{name}/result"):
        assert client.get(path).status_code == 404


def test_uploads_do_not_stay() -> None:
    app = app_of(limits=MANY)
    with client_of(app) as client:
        ended(client, started(client, csv_of(1), index="who"))
        folder = Path(app.state.jobs._folder.name)
        assert list(folder.iterdir()) == []
    assert not folder.exists()


def test_a_job_that_waits_is_cancelled_at_once(client: TestClient) -> None:
    body = pd.concat([trained()[2].loc[refused()]] * 5, ignore_index=True).to_csv(index=False).encode()
    first, second = started(client, body), started(client, body)
    assert client.delete(f"/jobs/{second}").json()["state"] == "cancelled"
    client.delete(f"/jobs/{first}")
    assert ended(client, first)["state"] == "cancelled"
    assert client.get(f"/jobs/{second}/result").status_code == 404
