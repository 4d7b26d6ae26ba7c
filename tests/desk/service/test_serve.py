"""`attain serve`: the address that is printed opens the service."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import joblib
import pytest

from attain.cli import main
from attain.testing import people
from tests.counting import PATIENCE
from tests.desk.service.world import trained


def test_the_printed_address_opens_the_service(tmp_path: Path) -> None:
    explainer, model, others = trained()
    explainer.save(tmp_path / "e.attain")
    joblib.dump(model, tmp_path / "model.joblib")
    others.to_csv(tmp_path / "people.csv")
    command = [sys.executable, "-m", "attain.cli", "serve", "e.attain", "--model", "model.joblib", "--trust-pickle"]
    command += ["--target", people.DESIRED, "--people", "people.csv", "--index", "who", "--port", "0", "--no-open"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as server:
        try:
            assert server.stdout is not None
            printed = "".join(iter(server.stdout.readline, "\n")) + server.stdout.readline()
            found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=\S{40,}", printed)
            assert found is not None, printed
            with httpx2.Client(base_url=found[1], timeout=PATIENCE) as client:
                assert client.get("/health").json()["status"] == "ok"
                assert client.get("/people").status_code == 401
                assert client.get(found[0]).status_code == 303
                assert client.get("/people").json()["total"] == len(others)
                assert "server" not in client.get("/people").headers
        finally:
            server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=PATIENCE)
    assert errors == ""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "serve needs E.attain, --model, --target"),
        (["--demo", "--port", "70000"], "70000 is not in the range 0<=x<=65535"),
        (["--demo", "--host", "no.such.host.invalid"], "cannot listen"),
    ],
)
def test_wrong_arguments_get_a_sentence(given: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--no-open", *(given or ["--port", "0"])]) == 1
    assert told in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--demo", "--no-open", "--port", str(port)]) == 1
    assert f"port {port}" in capsys.readouterr().err
