"""Files as a user of the command line has them, and commands run as users run them."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from attain import GrowingSpheres
from attain.cli import main
from attain.testing import people

EXPLAIN = "explain e.attain refused.csv --index who --model mine:classifier --target granted"


class Ended(NamedTuple):
    """What a command wrote; `said` and `noted` are its two streams without line breaks."""

    out: str
    err: str

    @property
    def said(self) -> str:
        return " ".join(self.out.split())

    @property
    def noted(self) -> str:
        return " ".join(self.err.split())

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run: TypeAlias = Callable[..., Ended]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a line of arguments, which must end with the exit code."""

    def ended(line: str, code: int = 0) -> Ended:
        capsys.readouterr()
        assert main(shlex.split(line)) == code
        return Ended(*capsys.readouterr())

    return ended


@pytest.fixture(scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    X = people.frame(150)
    y = people.labels(X)
    model = people.linear_model(X, y)
    others = people.frame(80, seed=7)
    refused = others[model.predict(others) == people.REFUSED].iloc[:6]
    X.assign(decision=y).to_csv(folder / "train.csv", index_label="who")
    X.assign(decision=y).to_parquet(folder / "train.parquet")
    refused.to_csv(folder / "refused.csv", index_label="who")
    refused.to_parquet(folder / "refused.parquet")
    (folder / "schema.toml").write_text(people.schema().to_toml(), encoding="utf-8")
    (folder / "mine.py").write_text(
        "from attain.testing import people\nX = people.frame(150)\n"
        "classifier = people.linear_model(X, people.labels(X))\nnothing = 7\n"
    )
    GrowingSpheres(people.schema(), budget=3000).fit(X, y).save(folder / "e.attain")
    return folder


@pytest.fixture
def files(_made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all of them, in which the test runs."""
    for path in _made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path
