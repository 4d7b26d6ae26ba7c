"""Clients that stop in the middle, and models that never return, keep nobody else from an answer."""

import asyncio
import socket
import subprocess
import sys
import threading
from contextlib import AbstractContextManager, closing
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from attain.desk.service import ServiceLimits, server
from tests.counting import PATIENCE, wait_for
from tests.desk.service.world import TOKEN, app_of, client_of, record_of, refused, trained
from tests.serving import served

HEADERS = {"Authorization": f"Bearer {TOKEN}"}
HALF = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1"


def running(limits: ServiceLimits) -> AbstractContextManager[int]:
    """The port of a service."""
    return served(server(app_of(limits=limits), port=0, log_level="error"))


def half(port: int, sent: bytes = HALF) -> socket.socket:
    """A connection with the beginning of a request."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.sendall(sent)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed a connection by now."""
    connection.settimeout(0.02)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def test_many_half_requests_keep_nobody_out() -> None:
    with running(ServiceLimits(connections=20, patience=PATIENCE)) as port:
        half_open = [half(port) for _ in range(60)]
        try:
            assert httpx2.get(f"http://127.0.0.1:{port}/health", timeout=PATIENCE).status_code == 200
            open_ones = half_open
            while len(open_ones) > 20:
                open_ones = [connection for connection in open_ones if not is_closed(connection)]
            assert open_ones
            assert open_ones == half_open[-len(open_ones) :]  # those who waited longest went
        finally:
            for connection in half_open:
                connection.close()


def test_half_a_request_is_given_up() -> None:
    with running(ServiceLimits(patience=1.0)) as port:
        with closing(half(port)) as connection:
            assert connection.recv(1) == b""
        head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        with closing(half(port, f"{head}Content-Length: 100\r\n\r\n{{".encode())) as connection:
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"The rest of the question did not come" in answer


def test_a_connection_is_for_several_requests() -> None:
    with (
        running(ServiceLimits(patience=PATIENCE)) as port,
        httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=HEADERS, timeout=PATIENCE) as client,
    ):
        for _ in range(2):
            assert client.post("/predict", json={"record": record_of(refused()[0])}).status_code == 200


class Hanging:
    """A model that never returns when it is asked about few rows, while `hangs` is set."""

    def __init__(self) -> None:
        self.model, self.hangs, self.go_on = trained()[1], False, threading.Event()
        self.classes_, self.feature_names_in_ = self.model.classes_, self.model.feature_names_in_

    def predict_proba(self, frame: Any) -> Any:
        if self.hangs:
            self.go_on.wait(PATIENCE)
        return self.model.predict_proba(frame)

    def predict(self, frame: Any) -> Any:
        return self.classes_[self.predict_proba(frame).argmax(axis=1)]


def test_a_model_that_never_returns_is_waited_for_no_longer_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Hanging()
    client = client_of(app_of(model=model, limits=ServiceLimits(seconds=7.0, workers=1, queue=1)))
    waiting, limits = asyncio.wait_for, []

    async def until_it_hangs(answer: Any, seconds: float) -> Any:
        limits.append(seconds)
        return await waiting(answer, 0.1 if model.hangs else PATIENCE)

    monkeypatch.setattr(
        "attain.desk.service.work.asyncio", SimpleNamespace(**{**vars(asyncio), "wait_for": until_it_hangs})
    )
    question = {"person": refused()[0], "n": 1, "details": False}
    assert client.get("/people").status_code == 200
    model.hangs = True
    for _ in range(2):
        assert client.post("/explain", json=question).status_code == 429
    assert client.get("/schema").status_code == 200
    assert set(limits) == {7.0}
    model.hangs = False
    model.go_on.set()

    def answered() -> Any:
        answer = client.post("/explain", json=question)
        return answer if answer.status_code == 200 else None

    assert wait_for(answered).json()["status"] == "FOUND"


_ENDLESS = """
import threading
from attain.desk.service.work import Workers

Workers("slow", 1, 1, 1.0).submit(threading.Event().wait)
print("running", flush=True)
"""


def test_a_model_that_never_returns_does_not_keep_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ENDLESS], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout == "running\n"


def test_without_its_extra_the_service_says_what_to_install() -> None:
    code = "import sys; sys.modules['fastapi'] = None\nfrom attain.desk.service import create_app"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stderr.splitlines()[-1].endswith("the service needs FastAPI and uvicorn: pip install 'attain[serve]'")
