"""Files as a user of the command line has them: made-up people, a schema, models, a saved explainer."""

from pathlib import Path

import pytest

from attain import GrowingSpheres
from attain.testing import people


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
